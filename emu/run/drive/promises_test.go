package drive

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"fabemu/emu/run/lookahead"
	"fabemu/emu/run/pace"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

func lookaheadOf(f *Setup) lookahead.Fabric {
	return lookahead.Fabric{Wires: f.Wires, Least: f.Least, Passing: f.Passing}
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

// promise is a message with a promise for one path.
func promise(at unit.Time) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(at)), 0, 0, 0, 0)
}

// promised has a part with one neighbour receive promises, each when it has read all frames that
// are there.
func (p *Part) promised(t *testing.T, f *Setup, state func([]byte) error, promises ...[]byte) {
	t.Helper()
	never := unit.Duration(unit.Never)
	f.Least, f.Passing = []unit.Duration{10, 10}, make([]unit.Duration, len(f.Nodes))
	for m := range f.Passing {
		f.Passing[m] = never
	}
	letters := &letters{all: promises}
	d, err := lookahead.NewDelegate(lookaheadOf(f), func(m int) bool { return m == 0 }, state, letters.Recv)
	if err != nil {
		t.Fatal(err)
	}
	p.Participant, p.Promises = d, letters
}

// silently takes in the reports of a part.
func silently([]byte) error { return nil }

// busy looks at all ends of a part, all the time.
type busy int

func (n busy) Wait(_ int64, came func(i int)) error {
	for i := range int(n) {
		came(i)
	}
	return nil
}

// A part whose neighbour breaks a promise, or takes one back, ends with an error that names the
// link, and so does one that is told what is no promise. One that keeps them continues to the end.
func TestPartIsToldNonsense(t *testing.T) {
	type frame struct{ due, promise unit.Time }
	for _, x := range []struct {
		name     string
		frames   []frame
		promises [][]byte
		want     string
	}{
		{"as it should be", []frame{{20, 25}, {30, 30}, {30, 60}}, [][]byte{promise(40), promise(unit.Never)}, ""},
		{"a frame before its promise", []frame{{20, 25}, {24, 30}}, nil, "wire 0, from node 1 to 0: a frame that is due at 24ps, and it was promised that none is before 25ps"},
		{"a promise that goes back", []frame{{20, 90}, {95, 80}}, nil, "wire 0, from node 1 to 0: a promise that goes back, from 90ps to 80ps"},
		{"a short promise", nil, [][]byte{{1, 2}}, "a promise of 2 bytes, and not of 12"},
		{"a long promise", nil, [][]byte{make([]byte, 40)}, "a promise of 13 bytes, and not of 12"},
		{"a promise of before", nil, [][]byte{promise(-5)}, "a promise of -5ps"},
	} {
		a, b, err := link.UDPPair(link.UDPOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close(); b.Close() })
		f := &Setup{
			Nodes: []Node{&player{story: &[]string{}}, nil}, Wires: [][2]port.End{{{Node: 0}, {Node: 1}}}, End: 100, Run: 7,
		}
		for n, y := range x.frames {
			tr := &port.Transmission{Frame: wire.Frame{Kind: wire.Data, Src: 1, Dst: 2}, Start: y.due - 10, Due: y.due, Length: 20}
			if err := b.Send(f.encode(nil, tr, wire.Body{}, &path{number: 1}, uint32(n), y.promise)); err != nil {
				t.Fatal(err)
			}
		}
		reports := 0
		p := &Part{
			Dilation: 1, Epoch: pace.Monotonic()(), Links: [][2]link.Link{{a, nil}}, Longest: []unit.Duration{unit.Microsecond},
			Poller: func(ends []link.File) Poller { return busy(len(ends)) },
		}
		if x.want != "" && x.promises == nil {
			x.promises = [][]byte{promise(0)}
		}
		p.promised(t, f, func([]byte) error { reports++; return nil }, x.promises...)
		timing, _, err := p.Run(context.Background(), f)
		switch {
		case x.want == "" && (err != nil || timing.Hops != 3 || reports == 0):
			t.Errorf("%s: %v; %d frames were handed over, %d reports", x.name, err, timing.Hops, reports)
		case x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)):
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
	if _, err := lookahead.NewDelegate(lookaheadOf(&Setup{End: 1}), nil, nil, nil); err == nil {
		t.Error("a fabric whose least times are not known has an order")
	}
}
