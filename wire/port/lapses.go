package port

import (
	"slices"

	"fabemu/wire"
	"fabemu/wire/fault"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// lapses are the faults of a port that sends frames twice, or not in their order. It keeps a frame,
// or its copy, and sends it by itself: as any frame, when flow control permits it and the link is
// idle. So a link never carries two frames at once, and both ends count the same frames in the same
// order.
type lapses struct {
	fault.Direction
	kept  []kept
	sends bool // one of them starts
}

// kept is a frame that a port sends later.
type kept struct {
	frame wire.Frame
	n     unit.Size
	note  Note
	at    unit.Time
}

// mostKept is the most frames that a port keeps. Further ones leave as they are.
const mostKept = 4096

// errs passes a frame that its node starts through the faults of the port, and reports whether the
// port keeps it.
func (p *Port) errs(now unit.Time, f *wire.Frame, n unit.Size, note Note) (held bool) {
	l := p.faults.lapses
	if l.sends {
		return false
	}
	fate, later := l.Lapse(f.Kind, now)
	if fate == fault.Carried || len(l.kept) == mostKept {
		return false
	}
	k := kept{*f, n, note, now.Add(later)}
	if fate == fault.Repeated {
		k.at = k.at.Add(p.transmitter.Serialise(n))
		if f.HasBody() {
			p.out.Bodies.Copy(&k.frame)
		}
	}
	l.kept = append(l.kept, k)
	return fate == fault.Overtaken
}

// next returns when the port has to send a frame that it keeps.
func (l *lapses) next() unit.Time {
	at := unit.Never
	for i := range l.kept {
		at = min(at, l.kept[i].at)
	}
	return at
}

// sendKept sends a frame whose time has come, if the link is idle. A frame that flow control holds
// up is tried again after the time that it takes on the link. The result is when to call it again.
func (p *Port) sendKept(now unit.Time) (again unit.Time) {
	l := p.faults.lapses
	for i := range l.kept {
		k := &l.kept[i]
		if k.at > now {
			continue
		}
		if p.transmitter.free > now {
			return p.transmitter.free
		}
		if a := p.control.maySend(now, &k.frame, k.n); a.Block != Open {
			k.at = now.Add(p.transmitter.Serialise(k.n))
			continue
		}
		one := *k
		l.kept = slices.Delete(l.kept, i, i+1)
		l.sends = true
		p.Start(now, &one.frame, one.n, one.note)
		l.sends = false
		break
	}
	if again = l.next(); again != unit.Never {
		again = max(again, p.transmitter.free)
	}
	return again
}

// loseKept loses the frames that the port keeps, because its link goes down.
func (p *Port) loseKept(now unit.Time) {
	if l := p.lapses(); l != nil {
		for i := range l.kept {
			p.Lost(now, &l.kept[i].frame, trace.LinkWasDown)
		}
		l.kept = l.kept[:0]
	}
}

// lapses returns the faults of the port that sends, or nil if it has none.
func (p *Port) lapses() *lapses {
	if !p.faulty {
		return nil
	}
	return p.faults.lapses
}
