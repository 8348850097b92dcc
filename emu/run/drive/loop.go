package drive

import (
	"errors"
	"fmt"

	"fabemu/wire/unit"
)

// gate is the pace of a loop, and its bound: how soon it does an event, and how far it may go
// before something has come from elsewhere.
type gate interface {
	// open returns when the next event may happen: the loop then does the events before until, most
	// of them at most, and asks again. The error is errOver at the end of the run.
	open() (until unit.Time, most int, err error)
}

var (
	errOver    = errors.New("drive: the run is over")
	errStopped = errors.New("drive: stopped")
)

// loop does event after event, as far as a gate lets it, until there is an error: at the end,
// errOver.
func (o *order) loop(g gate) error {
	for {
		until, most, err := g.open()
		if err == nil {
			err = o.run(until, most)
		}
		if err != nil {
			return err
		}
	}
}

// next returns the slot of the next event, and its instant.
func (o *order) next() (slot int, t unit.Time) {
	slot, t = o.agenda.First()
	if o.soon.Any() {
		return o.sooner(slot, t)
	}
	return slot, t
}

// sooner is next where nodes have something to do now, in addition to the agenda.
func (o *order) sooner(slot int, t unit.Time) (int, unit.Time) {
	if s := int(o.slots[o.soon.First()]); t > o.now || slot >= s {
		return s, o.now
	}
	return slot, t
}

// run lets the events before end happen, no more than most of them, and carries the frames that the
// nodes send.
func (o *order) run(end unit.Time, most int) (err error) {
	for range most {
		slot, t := o.agenda.First() // next, without its call
		if o.soon.Any() {
			slot, t = o.sooner(slot, t)
		}
		if t >= end {
			return nil
		}
		o.now = t
		switch {
		case slot < len(o.paths):
			p := &o.paths[slot]
			s := &o.nodes[p.node]
			if s.passes {
				o.passOn(p, s, slot, t)
			} else if !s.shares {
				err = o.step(slot, t)
			} else if o.deliver(p, s, slot, t); s.Deadline() <= t {
				err = o.received(s, t)
			}
		case o.first <= slot && slot < o.last && o.holder(slot).shares:
			err = o.advance(o.holder(slot), t)
		default:
			err = o.step(slot, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// received continues when a node that shares the agenda has received a frame and has something to
// do now.
func (o *order) received(s *slotted, t unit.Time) error {
	if !o.alone(t) {
		o.soon.Add(int(s.place))
		return nil
	}
	return o.advance(s, t)
}

// alone reports whether no other event is left at t.
func (o *order) alone(t unit.Time) bool { return !o.soon.Any() && o.agenda.Next() > t }

// step lets the event of a slot happen at t, which is not one of a node that shares the agenda,
// and carries the frames that the node sends.
func (o *order) step(slot int, t unit.Time) error {
	if slot == o.watchSlot() {
		return o.watch(t)
	}
	m := 0
	switch n := len(o.paths); {
	case slot < n:
		p := &o.paths[slot]
		m = int(p.node)
		o.deliver(p, &o.nodes[m], slot, t)
	case slot == n:
		c := &o.fabric.Changes[o.change]
		m = c.Node
		o.key(t, placeOfChange, c.number)
		o.change++
		o.agenda.Set(slot, o.nextChange())
		o.nodes[m].Apply(t, c.Port, c.Makes)
	default:
		m = o.owner(slot)
		o.key(t, placeOfNode, o.nodes[m].number)
		o.nodes[m].Advance(t)
	}
	due, err := o.drain(m)
	if err != nil {
		return err
	}
	if due <= t && slot > o.changeSlot() {
		return stuck(&o.nodes[m], t, due)
	}
	o.note(m, due, t)
	return nil
}

// advance has a node that shares the agenda do its work of t, and carries the frames that it sends.
func (o *order) advance(s *slotted, t unit.Time) error {
	o.key(t, placeOfNode, s.number)
	s.Advance(t)
	if o.soon.Any() {
		o.soon.Remove(int(s.place))
	}
	for {
		sent, ok := o.outbox.Poll()
		if !ok {
			break
		}
		if err := o.send(s, sent); err != nil {
			return err
		}
	}
	if slot, due := o.agenda.First(); due <= t {
		if o.first <= slot && slot < o.last && o.holder(slot) == s {
			return stuck(s, t, due)
		}
	}
	return nil
}

// stuck is the error of a node that has advanced at now and is due all the same.
func stuck(s *slotted, now, due unit.Time) error {
	return fmt.Errorf("node %d makes no progress: its deadline at %v is still %v after Advance; this is a bug", s.number, now, due)
}

// note records when a node has something to do, which may be at once.
func (o *order) note(m int, due, t unit.Time) {
	switch {
	case !o.nodes[m].shares:
		o.agenda.Set(o.nodeSlot(m), max(due, t))
	case due <= t:
		o.soon.Add(m)
	}
}

// drain carries the frames that a node has sent, and reads its deadline.
func (o *order) drain(m int) (due unit.Time, err error) {
	s := &o.nodes[m]
	for {
		t, ok := s.Poll()
		if !ok {
			return s.Deadline(), nil
		}
		if err := o.send(s, t); err != nil {
			return 0, err
		}
	}
}
