package limiters

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"fabemu/emu/base/errs"
	"fabemu/emu/base/spelling"
	"fabemu/emu/run/program"
	"fabemu/emu/study/limiters/bench"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire/unit"
)

// Subject is a rate limiter that is put on the bench.
type Subject struct {
	Name string
	Note string // remark on its parameters; may be empty
	New  bench.New

	algorithm func(s rp.Site) (rp.Reaction, error) // makes a reaction point; nil: it is a limiter
	row       rp.Algorithm                         // of an algorithm of this program
	program   *program.Program                     // the other program; nil: it is part of this one
	began     error                                // why no talk with the program has begun

	within  context.Context               // context of its talks, done when one of them has failed
	longest unit.Size                     // packet of the case
	first   atomic.Pointer[program.Fault] // first fault in those talks
}

// Ours returns the limiters of this program.
func Ours() []*Subject {
	return []*Subject{
		{Name: "inter-packet-delay", New: func(r unit.Rate) node.RateLimiter { return node.NewInterPacketDelay(r) }},
		{Name: "token-bucket", Note: "3000 bytes deep",
			New: func(r unit.Rate) node.RateLimiter { return node.NewTokenBucket(r, 3000) }},
	}
}

// Named returns the limiters and reaction points of this program with these names, or all limiters
// without names. Reaction points that take no feedback are only for a replay.
func Named(names []string, replay bool) (out []*Subject, err error) {
	if len(names) == 0 {
		return Ours(), nil
	}
	all := Ours()
	if replay {
		for _, l := range rp.Algorithms() {
			all = append(all, algorithmOf(l))
		}
	} else {
		all = append(all, Algorithms()...)
	}
	var known []string
	for _, s := range all {
		known = append(known, s.Name)
	}
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, errs.Errorf("there is no limiter %q%s: there are %s",
				name, spelling.DidYouMean(spelling.Nearest(name, known)), strings.Join(known, ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}

// InProgram returns the limiter of another program. The program gives its name.
func InProgram(p *program.Program) *Subject {
	s := &Subject{program: p}
	s.New = func(r unit.Rate) node.RateLimiter {
		if s.began != nil || s.within.Err() != nil {
			return silent{}
		}
		t, err := p.Begin(s.within, r, s.longest)
		switch {
		case err != nil:
		case t.Algorithm:
			err = errs.Errorf("the program is a reaction point, which takes feedback: it is tried with --replay FILE, or as algorithm exec in a scenario such as loop/storm")
		default:
			s.Name = t.Name
			return t.Limiter()
		}
		s.began = err
		return silent{}
	}
	return s
}

// begins begins a case whose longest packet has a length. All its talks end with the context, or
// with a fault: a case may have many of them, and
// waiting for each would take long.
func (s *Subject) begins(ctx context.Context, longest unit.Size) (within context.Context, done func()) {
	within, done = context.WithCancel(ctx)
	if s.program != nil {
		s.within, s.longest, s.began = within, longest, nil
		s.first.Store(nil)
		s.program.Fail = func(f *program.Fault) {
			s.first.CompareAndSwap(nil, f)
			done()
		}
	}
	return within, done
}

// ended ends the talks of a case. A mistake of the user is an error. The first fault of the program
// is a fault.
func (s *Subject) ended() (fault *program.Fault, err error) {
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
