package dump

import (
	"cmp"
	"fmt"
	"strings"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// pause is the time in which a port must not send, by priority, in ps.
type pause struct {
	from, until [8]int64
}

// instant returns when a packet was on the link (sent), or could be acted on, in ps.
func instant(p *Packet, out bool) int64 {
	switch {
	case p.Carried && out:
		return int64(p.Trailer.Head)
	case p.Carried:
		return int64(p.Trailer.Due)
	}
	return p.Time * 1000
}

// portEvent takes an event of a port. When a link goes down or comes up a pause is over, and the
// quanta of the next one are counted in bits of the rate that the link has then. With new routes a
// flow may come by another port, which has not seen the earlier frames.
func (c *Checker) portEvent(p *Packet, at where) {
	port := c.port(at)
	name, figure, _ := strings.Cut(p.Comment, " ")
	switch name {
	case "dropped:":
		if _, frame, found := strings.Cut(figure, " ("); found {
			var x packet
			if _, err := fmt.Sscanf(frame, "flow %d, psn %d)", &x.qp, &x.psn); err == nil {
				c.dropped[x] = true
			}
		}
	case "routes-change":
		for w, port := range c.ports {
			if w.seen {
				port.numbers = nil
			}
		}
	case "link-down", "link-up", "restart":
		port.history = history{numbers: port.numbers}
	case "rate-change":
		port.pause = nil
		if rate, err := unit.ParseRate(figure); err == nil {
			port.rate = rate
		}
	}
}

// pause takes a PAUSE or PFC frame.
func (c *Checker) pause(p *Packet, at where, out bool) {
	if p.Carried {
		at, out = at.peer(), false
	}
	if out {
		return // it stops the other end, where it arrives
	}
	f, port := &p.Frame, c.port(at)
	if port.pause == nil {
		port.pause = new(pause)
	}
	s, rate := port.pause, cmp.Or(port.rate, unit.Rate(p.Speed))
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

// checkPause checks that a frame was not sent while its port or priority was paused.
func (c *Checker) checkPause(p *Packet, at where) {
	f, s := &p.Frame, c.port(at).pause
	if s == nil || f.Kind == 0 || f.Lane > 7 || f.Delimiter() < wire.StartOfFrame {
		return
	}
	c.Checked[PauseKept]++
	// Time stamps of a capture are cut to nanoseconds.
	const cut = 1000
	if start := instant(p, true); start >= s.from[f.Lane] && start+cut < s.until[f.Lane] {
		c.exceeded(p, at, PauseKept, "priority %d is sent %v before its pause ends",
			f.Lane, unit.Duration(s.until[f.Lane]-start))
	}
}
