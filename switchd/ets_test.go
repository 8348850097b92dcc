package switchd

import (
	"math"
	"testing"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// "Each queue is served in proportion to its quantum, in bytes" (Shreedhar and Varghese):
// whatever the weights and the lengths of frames, priorities that always have something
// are within a round and a frame of their part; those that are stopped or empty are
// passed over.
func TestRoundsKeepToWeights(t *testing.T) {
	random := unit.NewRandom(1, 3)
	for range 200 {
		var w Weights
		sum, can := 0, uint8(0)
		for lane := range w {
			if random.Below(2) == 0 {
				w[lane] = 1 + int(random.Below(100))
			}
			if w[lane] > 0 && random.Below(4) > 0 {
				can |= 1 << lane
				sum += w[lane]
			}
		}
		if can == 0 {
			continue
		}
		s, err := newScheduler(w)
		if err != nil {
			t.Fatal(err)
		}
		var r rounds
		var sent [port.Priorities]unit.Size
		var lengths [port.Priorities]unit.Size
		for lane := range lengths {
			lengths[lane] = unit.Size(64 + random.Below(9000))
		}
		total := unit.Size(0)
		for total < 50_000_000 {
			lane := r.next(&s, can, ^can, &lengths)
			if can>>lane&1 == 0 {
				t.Fatalf("%v: priority %d has nothing to send", w, lane)
			}
			sent[lane] += lengths[lane]
			total += lengths[lane]
			lengths[lane] = unit.Size(64 + random.Below(9000))
		}
		round := unit.Size(0)
		for _, q := range s.quantum {
			round += q
		}
		for lane := range w {
			if can>>lane&1 == 0 {
				continue
			}
			want := float64(total) * float64(w[lane]) / float64(sum)
			if got := float64(sent[lane]); math.Abs(got-want) > float64(round)+9064*8+0.002*want {
				t.Errorf("%v of %08b: priority %d has sent %v of %v, want %v", w, can, lane, got, total, want)
			}
		}
	}
}

// Without weights the order is that of strict priority: the highest first.
func TestStrictOrder(t *testing.T) {
	s, err := newScheduler(Weights{})
	if err != nil || s.strict != port.Priorities || s.order != [8]uint8{7, 6, 5, 4, 3, 2, 1, 0} {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = newScheduler(Weights{3: 70, 0: 30})
	if err != nil || s.strict != 6 || s.order != [8]uint8{7, 6, 5, 4, 2, 1, 3, 0} || s.quantum[3] != 1522*70/30 || s.quantum[0] != 1522 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := newScheduler(Weights{1: -1}); err == nil {
		t.Error("a negative weight is taken")
	}
}
