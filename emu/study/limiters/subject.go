package limiters

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"fabemu/emu/foreign"
	"fabemu/emu/mistake"
	"fabemu/emu/spelling"
	"fabemu/emu/study/bench"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire/unit"
)

// Subject is a rate limiter that is put on the bench.
type Subject struct {
	Name string
	Note string // what is to be known of how it is called; may be empty
	New  bench.New

	law     func(s rp.Site) (rp.Controller, error) // it is a reaction point; nil: it is none
	points  func(s cp.Site) (cp.Notifier, error)   // that it hears; nil: ACKs
	program *foreign.Program                       // that it is in; nil: it is in this one
	began   error                                  // why no talk with it has begun

	within context.Context               // of its talks: it is done when one of them has failed
	first  atomic.Pointer[foreign.Fault] // of those talks
}

// Ours returns the limiters of this program.
func Ours() []*Subject {
	return []*Subject{
		{Name: "inter-packet-delay", New: func(r unit.Rate) node.RateLimiter { return node.NewInterPacketDelay(r) }},
		{Name: "token-bucket", Note: "3000 bytes deep",
			New: func(r unit.Rate) node.RateLimiter { return node.NewTokenBucket(r, 3000) }},
	}
}

// Named returns the limiters and reaction points of this program that have these names; all
// limiters without any. Those that hear no feedback are there for a replay alone.
func Named(names []string, replay bool) (out []*Subject, err error) {
	if len(names) == 0 {
		return Ours(), nil
	}
	all := Ours()
	if replay {
		for _, l := range rp.Laws() {
			all = append(all, lawOf(l))
		}
	} else {
		all = append(all, Laws()...)
	}
	var known []string
	for _, s := range all {
		known = append(known, s.Name)
	}
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, mistake.Errorf("there is no limiter %q%s: there are %s",
				name, spelling.DidYouMean(spelling.Nearest(name, known)), list(known))
		}
		out = append(out, all[i])
	}
	return out, nil
}

// InProgram returns the limiter of another program. Its name is what the program says.
func InProgram(p *foreign.Program) *Subject {
	s := &Subject{program: p}
	s.New = func(r unit.Rate) node.RateLimiter {
		if s.began != nil || s.within.Err() != nil {
			return silent{}
		}
		t, err := p.Begin(s.within, r, 1500)
		switch {
		case err != nil:
		case t.Law:
			err = mistake.Errorf("the program is a reaction point, which takes feedback: it is tried with --replay FILE")
		default:
			s.Name = t.Name
			return t.Limiter()
		}
		s.began = err
		return silent{}
	}
	return s
}

// begins begins a case: with the context, or with a fault, all its talks end. A case has many
// of them at times, and each would have to be waited for.
func (s *Subject) begins(ctx context.Context) (within context.Context, done func()) {
	within, done = context.WithCancel(ctx)
	if s.program != nil {
		s.within, s.began = within, nil
		s.first.Store(nil)
		s.program.Fail = func(f *foreign.Fault) {
			s.first.CompareAndSwap(nil, f)
			done()
		}
	}
	return within, done
}

// ended ends the talks of a case. A mistake of the user's is an error, the first thing that the
// program has done wrong its fault.
func (s *Subject) ended() (fault *foreign.Fault, err error) {
	if s.program == nil {
		return nil, nil
	}
	_ = s.program.End() // the first fault was reported
	if s.began != nil && !errors.As(s.began, &fault) {
		return nil, s.began
	}
	return s.first.Load(), nil
}

// silent is a limiter that lets nothing start.
type silent struct{}

func (silent) Next(unit.Time, unit.Size) unit.Time { return unit.Never }
func (silent) Sent(unit.Time, unit.Size)           {}
func (silent) SetRate(unit.Time, unit.Rate)        {}
