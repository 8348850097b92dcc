package propose

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fabemu/emu"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// Proposal is the smallest dilation that this machine sustained for a scenario, and the trials that
// show it.
type Proposal struct {
	Dilation  int64   `json:"dilation"`
	Sustained bool    `json:"sustained"`  // false: no trial was; Dilation is the smallest of the best level that kept its pace, or the last
	BusyAtPs  int64   `json:"busy_at_ps"` // where the busiest stretch begins
	Trials    []Trial `json:"trials"`     // by rising dilation
	Reason    string  `json:"reason"`     // sentences for people
}

// sensible is the highest dilation that is tried because frames are late. A disturbance that is
// longer than a packet time there is another program's work, and does not end at a higher dilation.
const sensible = 1000

// Dilation finds the smallest dilation that this machine sustains for a scenario with some options:
// Timing, Link, Placement, Pin, NewStack, Schemes and Version count, and for parts on other hosts
// or started by hand the trials are in this process. It takes some seconds and needs the machine
// for itself. A run at a dilation that is proposed takes no longer than longest: Longest unless the
// user gave a limit. A scenario with real guests, or one in which nothing is sent, is a
// *errs.Mistake.
func Dilation(ctx context.Context, s *scenario.Scenario, o emu.Options, longest time.Duration) (*Proposal, error) {
	t, err := newTrials(ctx, s, o)
	if err != nil {
		return nil, err
	}
	most := mostOf(s.Model.Duration, longest)
	p, err := search(t.try, most)
	if err != nil {
		return nil, err
	}
	p.BusyAtPs = int64(t.busyAt)
	if p.Reason = p.reason(most, longest); t.partly {
		p.Reason += " The trials were in one process on this machine. Other hosts, parts that are started by hand, and the network between them were not tried and may need a higher dilation."
	}
	return p, nil
}

// Sustains tries whether this machine sustains the dilation of a scenario. It is otherwise like
// Dilation.
func Sustains(ctx context.Context, s *scenario.Scenario, o emu.Options) (*Trial, error) {
	t, err := newTrials(ctx, s, o)
	if err != nil {
		return nil, err
	}
	return t.try(s.Wall.Dilation)
}

// Longest is how long a run may take at a dilation that is proposed, unless the user gives a limit.
const Longest = time.Hour

// mostTried is the highest dilation that is tried at all.
const mostTried = 5_000_000

// mostOf returns the highest dilation that may be proposed for a run of a model time.
func mostOf(d unit.Duration, longest time.Duration) int64 {
	return int64(min(longest.Seconds()/d.Seconds(), mostTried))
}

// ladder returns the dilations that are tried: 1, 2, 5, 10 and so on, up to the most.
func ladder(most int64) (all []int64) {
	for d := int64(1); d <= most; d *= 10 {
		all = append(all, d, 2*d, 5*d)
	}
	all = slices.DeleteFunc(all, func(d int64) bool { return d > most })
	if len(all) == 0 {
		return []int64{1}
	}
	return all
}

// search tries rising dilations until one is sustained. It leaves out those that the trial before
// shows to be too low, and returns to them if it ends right above them, because a stall may have
// made that trial slow.
func search(try func(dilation int64) (*Trial, error), most int64) (*Proposal, error) {
	all := ladder(most)
	var p Proposal
	attempt := func(d int64) (*Trial, error) {
		t, err := try(d)
		if err == nil {
			p.Trials = append(p.Trials, *t)
		}
		return t, err
	}
	paced, left := false, 0 // a trial kept its pace; how many dilations were left out right below the present one
	i, achieved := 0, 0.0
	for ; i < len(all); i++ {
		d := all[i]
		if float64(d)*(1+tolerance) < achieved && i < len(all)-1 {
			left++
			continue
		}
		if d > sensible && paced {
			break
		}
		t, err := attempt(d)
		if err != nil {
			return nil, err
		}
		p.Dilation, p.Sustained, achieved = d, t.Sustained, float64(t.Achieved)
		paced = paced || t.paced()
		if p.Sustained {
			break
		}
		left = 0
	}
	for ; p.Sustained && left > 0; left-- {
		i--
		t, err := attempt(all[i])
		if err != nil {
			return nil, err
		}
		if !t.Sustained {
			break
		}
		p.Dilation = all[i]
	}
	slices.SortFunc(p.Trials, func(a, b Trial) int { return cmp.Compare(a.Dilation, b.Dilation) })
	if !p.Sustained && paced {
		p.Dilation = slices.MinFunc(p.Trials, func(a, b Trial) int { return cmp.Compare(a.rank(), b.rank()) }).Dilation
	}
	return &p, nil
}

// reason gives the reasons in sentences: the trial at the proposed dilation, and the one below.
func (p *Proposal) reason(most int64, longest time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The busiest period starts at %v.", unit.Text(unit.Duration(p.BusyAtPs)))
	at := slices.IndexFunc(p.Trials, func(t Trial) bool { return t.Dilation == p.Dilation })
	for i := max(0, at-1); i <= at; i++ {
		b.WriteString(" " + p.Trials[i].String())
	}
	if !p.Sustained {
		last := p.Trials[len(p.Trials)-1].Dilation
		fmt.Fprintf(&b, " No dilation up to %d is sustained: end other work on this machine and try again", last)
		if all := ladder(most); last == all[len(all)-1] && most < mostTried {
			fmt.Fprintf(&b, ", or allow a longer run, such as --dilation auto:%v: above %d this one takes longer than %v", hours(4*longest), most, hours(longest))
		}
		b.WriteByte('.')
	}
	return b.String()
}

// hours prints a duration as people write it: 8h, 1h30m, 20m.
func hours(d time.Duration) string {
	s := d.String()
	if minutes, found := strings.CutSuffix(s, "m0s"); found {
		s = minutes + "m"
	}
	if all, found := strings.CutSuffix(s, "h0m"); found {
		s = all + "h"
	}
	return s
}
