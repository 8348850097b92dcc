package fault_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fabemu/wire"
	"fabemu/wire/fault"
	"fabemu/wire/unit"
)

// send passes n frames of a kind, one each microsecond, and returns the numbers of those with a
// fate, from 1.
func send(d *fault.Direction, kind wire.Kind, n int, fate fault.Fate) (hit []int) {
	for i := range n {
		head := unit.Time(i) * unit.Time(unit.Microsecond)
		if got, _ := d.Pass(kind, head, head+1000); got == fate {
			hit = append(hit, i+1)
		}
	}
	return hit
}

func TestSelection(t *testing.T) {
	for _, tc := range []struct {
		name string
		c    fault.Config
		want []int
	}{
		{"all", fault.Config{}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"the third", fault.Config{Nth: 3}, []int{3}},
		{"every third", fault.Config{Every: 3}, []int{3, 6, 9}},
		{"every fourth from the second", fault.Config{Nth: 2, Every: 4}, []int{2, 6, 10}},
		{"of another kind", fault.Config{Frames: wire.Pause}, nil},
		{"in a window", fault.Config{From: unit.Time(2 * unit.Microsecond), Until: unit.Time(5 * unit.Microsecond)}, []int{3, 4, 5}},
		{"the second in a window", fault.Config{Nth: 2, From: unit.Time(2 * unit.Microsecond)}, []int{4}},
	} {
		tc.c.Fate, tc.c.Share = fault.Lost, 1
		if tc.c.Until == 0 {
			tc.c.Until = unit.Never
		}
		var d fault.Direction
		d.Add(tc.c)
		if got := send(&d, wire.Data, 10, fault.Lost); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v; want %v", tc.name, got, tc.want)
		}
	}
}

// "Each fault sees all frames that it concerns": the third is the third, also when another fault
// hits the second. A frame that is lost is not corrupted.
func TestFaultsAreIndependent(t *testing.T) {
	var d fault.Direction
	d.Add(fault.Config{Until: unit.Never, Fate: fault.Corrupted, Share: 1, Nth: 3})
	d.Add(fault.Config{Until: unit.Never, Fate: fault.Lost, Share: 1, Every: 2})
	d.Add(fault.Config{Until: unit.Never, Fate: fault.Corrupted, Share: 1, Nth: 4})
	var got []fault.Fate
	for i := range 4 {
		fate, _ := d.Pass(wire.Data, unit.Time(i), unit.Time(i+1))
		got = append(got, fate)
	}
	want := []fault.Fate{fault.Carried, fault.Lost, fault.Corrupted, fault.Lost}
	if !slices.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
}

// The share of frames that are hit is the one that is asked for, within four standard errors: of
// bursts, whose frames depend on one another, by their number.
func TestShares(t *testing.T) {
	const n = 1_000_000
	for _, tc := range []struct {
		share, burst, within float64
	}{{0.001, 0, 1}, {0.3, 0, 1}, {0.01, 20, 1}, {0.01, 20, 0.5}, {0.5, 4, 1}} {
		var d fault.Direction
		d.Add(fault.Config{Until: unit.Never, Fate: fault.Lost, Share: tc.share, Burst: tc.burst, Within: tc.within, Seed: 1, Stream: 7})
		hit := send(&d, wire.Data, n, fault.Lost)
		draws := n / max(1, 2*tc.burst)
		if got := float64(len(hit)) / n; math.Abs(got-tc.share) > 4*math.Sqrt(tc.share*(1-tc.share)/draws) {
			t.Errorf("%+v: a share of %v", tc, got)
		}
		if tc.within < 1 || tc.burst == 0 {
			continue
		}
		bursts := 0
		for i, at := range hit {
			if i == 0 || hit[i-1] != at-1 {
				bursts++
			}
		}
		if mean := float64(len(hit)) / float64(bursts); math.Abs(mean/tc.burst-1) > 0.1 {
			t.Errorf("%+v: bursts of %v frames", tc, mean)
		}
	}
}

// "Share grows from 0 in so long": of two spans of the same length the later has three times the
// hits.
func TestRise(t *testing.T) {
	const n = 200_000
	var d fault.Direction
	d.Add(fault.Config{Until: unit.Never, Fate: fault.Corrupted, Share: 0.1, Rise: n * unit.Microsecond, Seed: 1})
	hit := send(&d, wire.Data, n, fault.Corrupted)
	early, _ := slices.BinarySearch(hit, n/2)
	if ratio := float64(len(hit)-early) / float64(early); ratio < 2.7 || ratio > 3.3 {
		t.Errorf("%d hits in the first half, %d in the second", early, len(hit)-early)
	}
}

// "A late frame holds up the frames behind it": frames keep their order and their length on the
// link.
func TestDelayKeepsOrder(t *testing.T) {
	var d fault.Direction
	d.Add(fault.Config{Until: unit.Never, Share: 1, Delay: 100, Jitter: 5000, Seed: 3})
	last, spread := unit.Time(0), map[unit.Duration]bool{}
	for i := range 1000 {
		head := unit.Time(i * 1200)
		fate, late := d.Pass(wire.Data, head, head+1000)
		if fate != fault.Carried || late < 100 {
			t.Fatalf("frame %d: %v, late by %v", i, fate, late)
		}
		if head.Add(late) < last {
			t.Fatalf("frame %d begins at %v, before the end of the last at %v", i, head.Add(late), last)
		}
		last = (head + 1000).Add(late)
		spread[late] = true
	}
	if len(spread) < 100 {
		t.Errorf("%d different delays of 1000 frames", len(spread))
	}
	var one fault.Direction
	one.Add(fault.Config{Until: unit.Never, Share: 1, Delay: 5000, Nth: 1})
	for i, want := range []unit.Duration{5000, 4800, 4600} {
		head := unit.Time(i * 1200)
		if _, late := one.Pass(wire.Data, head, head+1000); late != want {
			t.Errorf("frame %d is late by %v; want %v", i, late, want)
		}
	}
}

// Both ends of a link hold a copy, and agree; another stream gives other frames.
func TestCopiesAgree(t *testing.T) {
	c := fault.Config{Until: unit.Never, Fate: fault.Lost, Share: 0.1, Burst: 3, Within: 0.7, Seed: 5, Stream: 1}
	var a, b, other fault.Direction
	a.Add(c)
	b.Add(c)
	c.Stream++
	other.Add(c)
	x, y, z := send(&a, wire.Data, 10000, fault.Lost), send(&b, wire.Data, 10000, fault.Lost), send(&other, wire.Data, 10000, fault.Lost)
	if !slices.Equal(x, y) || slices.Equal(x, z) {
		t.Errorf("%d, %d and %d frames", len(x), len(y), len(z))
	}
}

// "The highest Share of a fault with bursts": the chance of a bad period is 1 after each good frame
// then.
func TestMostInBursts(t *testing.T) {
	const burst, within = 4, 0.5
	var d fault.Direction
	d.Add(fault.Config{Until: unit.Never, Fate: fault.Lost, Share: fault.MostInBursts(burst, within), Burst: burst, Within: within, Seed: 1})
	if got := float64(len(send(&d, wire.Data, 200_000, fault.Lost))) / 200_000; math.Abs(got-0.4) > 0.01 {
		t.Errorf("a share of %v; want 0.4", got)
	}
}

// Faults of a port decide by themselves, by the frames that its node starts; a frame that is to be
// overtaken is not repeated.
func TestLapse(t *testing.T) {
	var d fault.Direction
	d.Add(fault.Config{Until: unit.Never, Fate: fault.Overtaken, Share: 1, Every: 3, Delay: 70})
	d.Add(fault.Config{Until: unit.Never, Fate: fault.Repeated, Share: 1, Every: 2, Delay: 5, Frames: wire.Data})
	var got []string
	for i := range 6 {
		fate, later := d.Lapse(wire.Data, unit.Time(i))
		got = append(got, fmt.Sprintf("%d+%d", fate, later))
	}
	if fate, _ := d.Lapse(wire.Ack, 7); fate != fault.Carried {
		t.Errorf("an ACK: %v", fate)
	}
	want := []string{"0+0", "3+5", "4+70", "3+5", "0+0", "4+70"}
	if !slices.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
}
