package assemble_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"fabemu/emu/fabric"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// watched is a node that is watched: what it has said of its deadline, and when frames have
// come, bound when it sends.
type watched struct {
	drive.Node
	passing unit.Duration
	said    []claim // the last ones, each from an event on
	came    []come  // the last ones
	check   func(t *port.Transmission, bound unit.Time)
}

// claim is what a node has said of its deadline after an event.
type claim struct {
	after    int // so many arrivals
	deadline unit.Time
}

// come is when a frame has come, and by which port.
type come struct {
	at   unit.Time
	port port.ID
}

func (w *watched) Receive(now unit.Time, p port.ID, a *port.Arrival) {
	w.say()
	w.came = append(w.came, come{now, p})
	w.Node.Receive(now, p, a)
}

func (w *watched) Advance(now unit.Time) {
	w.say()
	w.Node.Advance(now)
}

// Apply forgets what was said: a change may do anything at its instant.
func (w *watched) Apply(now unit.Time, p port.ID, c port.Change) {
	w.Node.Apply(now, p, c)
	w.said, w.came = w.said[:0], w.came[:0]
}

// say notes the deadline, before it is called again.
func (w *watched) say() {
	const memory = 12
	if n := len(w.came); n > memory {
		w.came = slices.Delete(w.came, 0, n-memory)
		for i := range w.said {
			w.said[i].after -= n - memory
		}
	}
	w.said = append(w.said, claim{len(w.came), w.Node.Deadline()})
	if n := len(w.said); n > memory {
		w.said = slices.Delete(w.said, 0, n-memory)
	}
}

// Poll checks what is sent against all that was said before.
func (w *watched) Poll() (*port.Transmission, bool) {
	t, ok := w.Node.Poll()
	if ok && w.passing > 0 {
		var bound unit.Time
		for _, c := range w.said {
			if c.after < 0 {
				continue
			}
			least := c.deadline
			for _, x := range w.came[c.after:] {
				if x.port == t.Port {
					least = min(least, x.at)
				} else {
					least = min(least, x.at.Add(w.passing))
				}
			}
			bound = max(bound, least)
		}
		w.check(t, bound)
	}
	return t, ok
}

// No frame of any built-in scenario is due sooner than its link's least time after its start,
// and no node sends by a port sooner than it has said, or than its least time after a frame
// has come by another port. And the bounds are not far: there are links on which each is met.
func TestModelNothingIsSoonerThanItsBound(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	met, passed := 0, 0
	for _, entry := range builtin.List() {
		name := entry.Name
		src, err := builtin.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := resolve.Load(name, src, nil)
		if err != nil {
			t.Fatal(err)
		}
		if all, _ := s.Guests(); all > 0 || len(s.Endpoints) > 300 {
			continue
		}
		f, err := fabric.Build(s)
		if err != nil {
			t.Fatal(err)
		}
		run, err := assemble.New(f, assemble.Schemes{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		run.End, run.Watch = min(run.End, unit.Time(2*unit.Millisecond)), nil
		wrong := 0
		for i, m := range run.Nodes {
			w := &watched{Node: m, passing: run.Passing[i]}
			w.check = func(tr *port.Transmission, bound unit.Time) {
				p := f.Nodes[i].Ports[tr.Port]
				if least := run.Least[2*p.Wire+p.End]; least <= 0 || tr.Due < tr.Start.Add(least) {
					wrong++
					t.Errorf("%s: a frame that starts at %v is due at %v, and %v is the least", name, tr.Start, tr.Due, least)
				} else if tr.Due == tr.Start.Add(least) {
					met++
				}
				if tr.Start < bound {
					wrong++
					t.Errorf("%s: %s sends by port %d at %v, and no sooner than %v is what was said", name, f.Nodes[i].Name, tr.Port, tr.Start, bound)
				}
				for _, x := range w.came {
					if x.port != tr.Port && tr.Start == x.at.Add(w.passing) {
						passed++
					}
				}
				if wrong > 5 {
					t.Fatal("and so on")
				}
			}
			run.Nodes[i] = w
		}
		if _, err := (drive.Virtual{SkipCodec: true}).Run(context.Background(), run); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", name, err))
		}
	}
	if met == 0 || passed == 0 {
		t.Errorf("%d frames meet the bound of their link, %d that of their switch: the bounds are too low to be of use", met, passed)
	}
}
