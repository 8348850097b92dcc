package dump

import (
	"fmt"
	"maps"
	"strings"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// pause is how long a port must not send, by priority, in ps.
type pause struct {
	from, until [8]int64
}

// instant returns when a packet was on the line (sent), or could be acted on, in ps.
func instant(p *Packet, out bool) int64 {
	switch {
	case p.Carried && out:
		return int64(p.Trailer.Head)
	case p.Carried:
		return int64(p.Trailer.Due)
	}
	return p.Time * 1000
}

// changed takes in an event of a port. With a link that goes down or comes up a pause is
// over, and the quanta of the next one are counted in bits of the rate that it has then. With
// new routes a flow may come by another port, which has not seen the frames before.
func (c *Checker) changed(p *Packet, at where) {
	what, figure, _ := strings.Cut(p.Comment, " ")
	switch what {
	case "dropped:":
		if _, frame, found := strings.Cut(figure, " ("); found {
			var x packet
			if _, err := fmt.Sscanf(frame, "flow %d, psn %d)", &x.qp, &x.psn); err == nil {
				c.dropped[x] = true
			}
		}
	case "routes-change":
		maps.DeleteFunc(c.sequences, func(s sequence, _ uint32) bool { return s.seen })
	case "link-down", "link-up", "restart":
		delete(c.pauses, at)
		maps.DeleteFunc(c.lanes, func(l lane, _ *account) bool { return l.where == at })
	case "rate-change":
		delete(c.pauses, at)
		if rate, err := unit.ParseRate(figure); err == nil {
			c.rates[at] = rate
		}
	}
}

// paused takes in a PAUSE or PFC frame.
func (c *Checker) paused(p *Packet, at where, out bool) {
	if p.Carried {
		at, out = at.peer(), false
	}
	if out {
		return // it stops the other end, which sees it come
	}
	s, f := known(c.pauses, at), &p.Frame
	rate, changed := c.rates[at]
	if !changed {
		rate = unit.Rate(p.Speed)
	}
	if p.Carried && p.Trailer.Duration > 0 {
		rate = unit.Rate(float64(p.Trailer.Length) * 8e12 / float64(p.Trailer.Duration))
	}
	if rate <= 0 {
		return
	}
	from := instant(p, false)
	for n := range s.until {
		class := uint8(1) << n
		switch {
		case f.Kind == wire.Pause, f.Pause().Classes&f.Pause().Stopped&class != 0:
			s.from[n], s.until[n] = from, from+int64(float64(f.Pause().Quanta)*wire.Quantum*1e12/float64(rate))
		case f.Pause().Classes&class != 0:
			s.from[n], s.until[n] = from, from
		}
	}
}

// kept checks that a frame was not sent while its port or priority was paused.
func (c *Checker) kept(p *Packet, at where) {
	f := &p.Frame
	s := c.pauses[at]
	if s == nil || f.Kind == 0 || f.Lane > 7 || f.Delimiter() != wire.StartOfFrame {
		return
	}
	c.Checked[PauseKept]++
	// Stamps of a capture are cut to nanoseconds.
	const cut = 1000
	if start := instant(p, true); start >= s.from[f.Lane] && start+cut < s.until[f.Lane] {
		c.exceeded(p, at, PauseKept, "priority %d is sent %v before its pause ends",
			f.Lane, unit.Duration(s.until[f.Lane]-start))
	}
}
