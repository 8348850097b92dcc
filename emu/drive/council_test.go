package drive

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// ring returns a fabric of n machines in a ring, each with a port to the one before (0) and to the
// next (1): a frame takes 10 on each wire, and a machine passes one on after 5.
func ring(n int) *Fabric {
	f := &Fabric{Machines: make([]Machine, n)}
	for m := range n {
		f.Wires = append(f.Wires, [2]End{{m, 1}, {(m + 1) % n, 0}})
		f.Least = append(f.Least, 10, 10)
		f.Passing = append(f.Passing, 5)
	}
	return f
}

// stated is a statement of a part with two links: what could be due, and what it needs, on each.
func stated(claims, needs [2]unit.Time, sent, seen [2]uint32, due [2]unit.Time) []byte {
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

// In a cycle of parts of which each waits for the others, the one whose next event is the first of all
// is promised what it needs with one promise, however far off that is, and the others are not; what is
// under way to a part, and what it would cause elsewhere, counts.
func TestCouncilPromisesTheFirst(t *testing.T) {
	c, err := NewCouncil(ring(3), []int{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	told := map[int]int{}
	hear := func(part int, b []byte) {
		t.Helper()
		if err := c.Hear(part, b); err != nil {
			t.Fatal(err)
		}
		c.Promise(func(k int, _ []byte) { told[k]++ })
	}
	const far = 1 << 40
	hear(0, stated(at(far+10), at(far+1), [2]uint32{}, [2]uint32{}, nothing))
	hear(1, stated(at(far+1010), at(far+1001), [2]uint32{}, [2]uint32{}, nothing))
	if len(told) > 0 {
		t.Fatalf("part 2 has not spoken, and others are promised something: %v", told)
	}
	hear(2, stated(at(far+2010), at(far+2001), [2]uint32{}, [2]uint32{}, nothing))
	if len(told) != 1 || told[0] != 1 {
		t.Fatalf("promised: %v; the first event of all is that of part 0", told)
	}
	// It has sent to part 1, which has not seen that: nothing can be promised beyond what follows.
	hear(0, stated(at(far+5000), at(far+4000), [2]uint32{1}, [2]uint32{}, [2]unit.Time{far + 10, unit.Never}))
	if len(told) != 1 {
		t.Fatalf("promised: %v; a frame is under way to part 1", told)
	}
	hear(1, stated(at(far+25), [2]unit.Time{0, far + 10}, [2]uint32{}, [2]uint32{1}, nothing))
	if told[1] != 1 {
		t.Fatalf("promised: %v; part 1 has the first event", told)
	}
	hear(1, stated(at(far+1010), at(far+1001), [2]uint32{}, [2]uint32{1}, nothing))
	if told[1] != 2 || told[2] != 0 {
		t.Fatalf("promised: %v; nothing was sent on, and part 1 is still the first", told)
	}
}

// What a part may not state is an error that says why.
func TestCouncilIsToldNonsense(t *testing.T) {
	for _, x := range []struct {
		name string
		b    []byte
		want string
	}{
		{"nothing", nil, "not a statement"},
		{"cut off", make([]byte, 40), "not a statement"},
		{"of another version", append([]byte{2}, make([]byte, 80)...), "not a statement"},
		{"a negative claim", stated(at(-1), at(0), [2]uint32{}, [2]uint32{}, nothing), "not a statement"},
		{"a negative need", stated(at(1), at(-1), [2]uint32{}, [2]uint32{}, nothing), "not a statement"},
		{"frames without an instant", stated(at(1), at(0), [2]uint32{7, 0}, [2]uint32{}, nothing), "not a statement"},
		{"fewer frames than before", stated(at(1), at(0), [2]uint32{math.MaxUint32, 0}, [2]uint32{}, [2]unit.Time{5, unit.Never}), "not a statement"},
		{"fewer seen than before", stated(at(1), at(0), [2]uint32{}, [2]uint32{math.MaxUint32, 0}, nothing), "frames seen"},
		{"a promise that goes back", stated(at(1000), at(0), [2]uint32{1, 0}, [2]uint32{}, [2]unit.Time{50, unit.Never}), "it was promised that none is before 100ps"},
	} {
		c, err := NewCouncil(ring(3), []int{0, 1, 2})
		if err != nil {
			t.Fatal(err)
		}
		for part, claim := range []unit.Time{100, 200, 300} {
			if err := c.Hear(part, stated(at(claim), at(claim-9), [2]uint32{}, [2]uint32{}, nothing)); err != nil {
				t.Fatal(err)
			}
		}
		c.Promise(func(int, []byte) {})
		c.paths[c.parts[0].out[0]].promised = 100
		if err := c.Hear(0, x.b); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
}

// Nothing can be promised where something takes no time.
func TestCouncilWithoutLatency(t *testing.T) {
	f := ring(3)
	f.Least[3] = 0
	if _, err := NewCouncil(f, []int{0, 1, 2}); err == nil || !strings.Contains(err.Error(), "path 3 takes no time") {
		t.Error(err)
	}
}

func FuzzCouncil(f *testing.F) {
	f.Add(uint8(0), stated(at(5), at(3), [2]uint32{1, 0}, [2]uint32{}, [2]unit.Time{4, unit.Never}))
	f.Add(uint8(2), []byte{1})
	f.Fuzz(func(t *testing.T, part uint8, b []byte) {
		c, err := NewCouncil(ring(3), []int{0, 1, 2})
		if err != nil {
			t.Fatal(err)
		}
		for k := range 3 {
			if err := c.Hear(k, stated(at(20), at(15), [2]uint32{}, [2]uint32{}, nothing)); err != nil {
				t.Fatal(err)
			}
		}
		if c.Hear(int(part%3), b) == nil {
			c.Promise(func(_ int, promise []byte) {
				if len(promise) != 2*promiseSize {
					t.Errorf("a promise of %d bytes", len(promise))
				}
			})
		}
	})
}

// letters is a file of promises.
type letters struct {
	link.Link
	all [][]byte
}

func (l *letters) FD() int { return -1 }
func (l *letters) Recv(b []byte) (int, error) {
	if len(l.all) == 0 {
		return 0, nil
	}
	first := l.all[0]
	l.all = l.all[1:]
	return copy(b, first), nil
}

// busy looks at all ends of a part, all the time.
type busy int

func (n busy) Wait(_ int64, came func(i int)) error {
	for i := range int(n) {
		came(i)
	}
	return nil
}

// A part whose neighbour breaks a promise, or takes one back, ends with an error that names the
// link, and so does one that is told what is no promise. One that keeps them goes on to the end.
func TestPartIsToldNonsense(t *testing.T) {
	promise := func(at unit.Time) []byte { return append(binary.BigEndian.AppendUint64(nil, uint64(at)), 0, 0, 0, 0) }
	type frame struct{ due, promise unit.Time }
	for _, x := range []struct {
		name     string
		frames   []frame
		promises [][]byte
		want     string
	}{
		{"as it should be", []frame{{20, 25}, {30, 30}, {30, 60}}, [][]byte{promise(40), promise(unit.Never)}, ""},
		{"a frame before its promise", []frame{{20, 25}, {24, 30}}, nil, "wire 0, from machine 1 to 0: a frame that is due at 24ps, and it was promised that none is before 25ps"},
		{"a promise that goes back", []frame{{20, 90}, {95, 80}}, nil, "wire 0, from machine 1 to 0: a promise that goes back, from 90ps to 80ps"},
		{"a short promise", nil, [][]byte{{1, 2}}, "a promise of 2 bytes, and not of 12"},
		{"a long promise", nil, [][]byte{make([]byte, 40)}, "a promise of 13 bytes, and not of 12"},
		{"a promise of before", nil, [][]byte{promise(-5)}, "a promise of -5ps"},
	} {
		a, b, err := link.UDPPair(link.UDPOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close(); b.Close() })
		f := &Fabric{
			Machines: []Machine{&player{story: &[]string{}}, nil}, Wires: [][2]End{{{0, 0}, {1, 0}}}, End: 100, Run: 7,
			Least: []unit.Duration{10, 10}, Passing: []unit.Duration{unit.Duration(unit.Never), unit.Duration(unit.Never)},
		}
		for n, y := range x.frames {
			tr := &port.Transmission{Frame: wire.Frame{Kind: wire.Data, Src: 1, Dst: 2}, Start: y.due - 10, Due: y.due, Length: 20}
			if err := b.Send(f.encode(nil, tr, wire.Body{}, &path{number: 1}, 0, uint32(n), y.promise)); err != nil {
				t.Fatal(err)
			}
		}
		statements := 0
		p := &Part{
			Dilation: 1, Epoch: Monotonic()(), Links: [][2]link.Link{{a, nil}}, Longest: []unit.Duration{unit.Microsecond},
			Poller: func(ends []link.File) Poller { return busy(len(ends)) },
			Exact:  &Exact{Promises: &letters{all: x.promises}, State: func([]byte) error { statements++; return nil }},
		}
		if x.want != "" && x.promises == nil {
			p.Exact.Promises = &letters{all: [][]byte{promise(0)}}
		}
		timing, _, err := p.Run(context.Background(), f)
		switch {
		case x.want == "" && (err != nil || timing.Hops != 3 || statements == 0):
			t.Errorf("%s: %v; %d frames were handed over, %d statements", x.name, err, timing.Hops, statements)
		case x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)):
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
	if _, _, err := (&Part{Dilation: 1, Links: [][2]link.Link{}, Exact: &Exact{}}).Run(context.Background(), &Fabric{End: 1}); err == nil || errors.Is(err, context.Canceled) {
		t.Error("a fabric whose least times are not known has an exact order")
	}
}
