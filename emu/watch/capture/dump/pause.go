package dump

import (
	"cmp"
	"fmt"
	"strings"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// pause is the time in which a port must not send, by priority, in ps.
type pause struct {
	from, until [8]int64
	told        []told // what it does not have to obey yet
}

// told is what a PAUSE or PFC frame says.
type told struct {
	at      int64 // when it counts
	stop    int64 // for how long
	classes uint8
	stopped uint8
}

// responseOf reads the response of a port in the comment of its interface.
func responseOf(comment string) port.Response {
	text, found := strings.CutPrefix(comment, "response=")
	if !found {
		return port.Response{}
	}
	r, _ := port.ParseResponse(text)
	return r
}

// obey has a port do what it was told as long ago as its response.
func (s *pause) obey(now int64) {
	for ; len(s.told) > 0 && s.told[0].at <= now; s.told = s.told[1:] {
		x := &s.told[0]
		for n := range s.until {
			switch class := uint8(1) << n; {
			case x.classes&class == 0:
			case x.stopped&class == 0:
				s.from[n], s.until[n] = x.at, x.at
			default:
				s.from[n], s.until[n] = x.at, x.at+x.stop
			}
		}
	}
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
	c.disturbed = c.disturbed || strings.Contains(p.Comment, "repeat of") || strings.Contains(p.Comment, "overtake")
	if strings.Contains(p.Comment, "delay of") {
		if c.delayed == nil {
			c.delayed = map[int]bool{}
		}
		c.delayed[p.Interface] = true
	}
	switch name {
	case "dropped:":
		if _, frame, found := strings.Cut(figure, " ("); found {
			var x packet
			if _, err := fmt.Sscanf(frame, "flow %d, psn %d)", &x.qp, &x.psn); err == nil {
				c.dropped[x] = true
				c.droppedAt(p, figure, x.qp, x.psn)
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
	x := told{at: from + int64(p.response.At(rate)), stop: int64(float64(f.Pause().Quanta) * wire.Quantum * 1e12 / float64(rate)),
		classes: f.Pause().Classes, stopped: f.Pause().Stopped}
	if f.Kind == wire.Pause {
		x.classes, x.stopped = 0xFF, 0xFF
	}
	s.told = append(s.told, x)
	s.obey(from)
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
	start := instant(p, true)
	if s.obey(start + cut); start >= s.from[f.Lane] && start+cut < s.until[f.Lane] {
		c.exceeded(p, at, PauseKept, "priority %d is sent %v before its pause ends",
			f.Lane, unit.Duration(s.until[f.Lane]-start))
	}
}
