package lookahead

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// ring returns a fabric of n nodes in a ring, each with a port to the one before (0) and to the
// next (1): a frame takes 10 on each wire, and a node passes one on after 5.
func ring(n int) Fabric {
	f := Fabric{}
	for m := range n {
		f.Wires = append(f.Wires, [2]port.End{{Node: m, Port: 1}, {Node: (m + 1) % n}})
		f.Least = append(f.Least, 10, 10)
		f.Passing = append(f.Passing, 5)
	}
	return f
}

// reported is a report of a part with two links: what could be due, and what it needs, on each.
func reported(claims, needs [2]unit.Time, sent, seen [2]uint32, due [2]unit.Time) []byte {
	b := []byte{0}
	for k := range claims {
		b = binary.BigEndian.AppendUint64(b, uint64(claims[k]))
		b = binary.BigEndian.AppendUint64(b, 0)
		b = binary.BigEndian.AppendUint64(b, uint64(due[k]))
		b = binary.BigEndian.AppendUint32(b, sent[k])
	}
	for k := range needs {
		b = binary.BigEndian.AppendUint64(b, uint64(needs[k]))
		b = binary.BigEndian.AppendUint32(b, seen[k])
	}
	return b
}

// none is that nothing was sent.
var nothing = [2]unit.Time{unit.Never, unit.Never}

// at returns an instant for both links.
func at(t unit.Time) [2]unit.Time { return [2]unit.Time{t, t} }

// In a cycle of parts of which each waits for the others, the one whose next event is the first of
// all is promised what it needs with one promise, however far off that is, and the others are not;
// what is in flight to a part, and what it would cause elsewhere, counts.
func TestCoordinatorPromisesTheFirst(t *testing.T) {
	c, err := New(ring(3), []int{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	told := map[int]int{}
	hear := func(part int, b []byte) {
		t.Helper()
		if err := c.Receive(part, b); err != nil {
			t.Fatal(err)
		}
		c.Promise(func(k int, _ []byte) { told[k]++ })
	}
	const far = 1 << 40
	hear(0, reported(at(far+10), at(far+1), [2]uint32{}, [2]uint32{}, nothing))
	hear(1, reported(at(far+1010), at(far+1001), [2]uint32{}, [2]uint32{}, nothing))
	if len(told) > 0 {
		t.Fatalf("part 2 has not reported, and others are promised something: %v", told)
	}
	hear(2, reported(at(far+2010), at(far+2001), [2]uint32{}, [2]uint32{}, nothing))
	if len(told) != 1 || told[0] != 1 {
		t.Fatalf("promised: %v; the first event of all is that of part 0", told)
	}
	// It has sent to part 1, which has not seen that: nothing can be promised beyond what follows.
	hear(0, reported(at(far+5000), at(far+4000), [2]uint32{1}, [2]uint32{}, [2]unit.Time{far + 10, unit.Never}))
	if len(told) != 1 {
		t.Fatalf("promised: %v; a frame is under way to part 1", told)
	}
	hear(1, reported(at(far+25), [2]unit.Time{0, far + 10}, [2]uint32{}, [2]uint32{1}, nothing))
	if told[1] != 1 {
		t.Fatalf("promised: %v; part 1 has the first event", told)
	}
	hear(1, reported(at(far+1010), at(far+1001), [2]uint32{}, [2]uint32{1}, nothing))
	if told[1] != 2 || told[2] != 0 {
		t.Fatalf("promised: %v; nothing was sent on, and part 1 is still the first", told)
	}
}

// What a part may not state is an error that says why.
func TestCoordinatorRefusesNonsense(t *testing.T) {
	for _, x := range []struct {
		name string
		b    []byte
		want string
	}{
		{"nothing", nil, "not a report"},
		{"cut off", make([]byte, 40), "not a report"},
		{"of another version", append([]byte{2}, make([]byte, 80)...), "not a report"},
		{"a negative claim", reported(at(-1), at(0), [2]uint32{}, [2]uint32{}, nothing), "not a report"},
		{"a negative need", reported(at(1), at(-1), [2]uint32{}, [2]uint32{}, nothing), "not a report"},
		{"frames without an instant", reported(at(1), at(0), [2]uint32{7, 0}, [2]uint32{}, nothing), "not a report"},
		{"fewer frames than before", reported(at(1), at(0), [2]uint32{math.MaxUint32, 0}, [2]uint32{}, [2]unit.Time{5, unit.Never}), "not a report"},
		{"fewer seen than before", reported(at(1), at(0), [2]uint32{}, [2]uint32{math.MaxUint32, 0}, nothing), "frames seen"},
		{"a promise that goes back", reported(at(1000), at(0), [2]uint32{1, 0}, [2]uint32{}, [2]unit.Time{50, unit.Never}), "it was promised that none is before 100ps"},
	} {
		c, err := New(ring(3), []int{0, 1, 2})
		if err != nil {
			t.Fatal(err)
		}
		for part, claim := range []unit.Time{100, 200, 300} {
			if err := c.Receive(part, reported(at(claim), at(claim-9), [2]uint32{}, [2]uint32{}, nothing)); err != nil {
				t.Fatal(err)
			}
		}
		c.Promise(func(int, []byte) {})
		c.paths[c.parts[0].out[0]].promised = 100
		if err := c.Receive(0, x.b); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
}

// Nothing can be promised where something takes no time.
func TestCoordinatorWithoutLatency(t *testing.T) {
	f := ring(3)
	f.Least[3] = 0
	if _, err := New(f, []int{0, 1, 2}); err == nil || !strings.Contains(err.Error(), "path 3 takes no time") {
		t.Error(err)
	}
}

func FuzzCoordinator(f *testing.F) {
	f.Add(uint8(0), reported(at(5), at(3), [2]uint32{1, 0}, [2]uint32{}, [2]unit.Time{4, unit.Never}))
	f.Add(uint8(2), []byte{1})
	f.Fuzz(func(t *testing.T, part uint8, b []byte) {
		c, err := New(ring(3), []int{0, 1, 2})
		if err != nil {
			t.Fatal(err)
		}
		for k := range 3 {
			if err := c.Receive(k, reported(at(20), at(15), [2]uint32{}, [2]uint32{}, nothing)); err != nil {
				t.Fatal(err)
			}
		}
		if c.Receive(int(part%3), b) == nil {
			c.Promise(func(_ int, promise []byte) {
				if len(promise) != 2*PromiseSize {
					t.Errorf("a promise of %d bytes", len(promise))
				}
			})
		}
	})
}
