package drive

import (
	"errors"
	"fmt"

	"fabemu/wire/unit"
)

// errDeadlocked ends a run in which nothing else can happen.
var errDeadlocked = errors.New("drive: deadlock, and nothing else can happen")

// next returns the slot of what comes next, and when that is.
func (o *order) next() (slot int, t unit.Time) {
	slot, t = o.agenda.First()
	if o.soon.Any() {
		return o.sooner(slot, t)
	}
	return slot, t
}

// sooner is next where machines have something to do now, beside what the agenda has.
func (o *order) sooner(slot int, t unit.Time) (int, unit.Time) {
	if s := int(o.slots[o.soon.First()]); t > o.now || slot >= s {
		return s, o.now
	}
	return slot, t
}

// run lets the events before end happen, so many at the most, and carries what the machines
// send. It reports whether there are no more.
func (o *order) run(end unit.Time, most int) (over bool, err error) {
	for range most {
		slot, t := o.agenda.First()
		if o.soon.Any() {
			slot, t = o.sooner(slot, t)
		}
		if t >= end {
			return true, nil
		}
		o.now = t
		switch {
		case slot < len(o.paths):
			p := &o.paths[slot]
			s := &o.seats[p.machine]
			if !s.shares {
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
			return false, err
		}
	}
	return false, nil
}

// received is what follows when a machine that shares the agenda has had a frame that gives it
// something to do.
func (o *order) received(s *seat, t unit.Time) error {
	if o.soon.Any() || o.agenda.Next() <= t {
		o.soon.Add(int(s.rank))
		return nil
	}
	return o.advance(s, t) // nothing else is left at this instant
}

// step lets the event of a slot happen at t, which is not one of a machine that shares the
// agenda, and carries what the machine sends.
func (o *order) step(slot int, t unit.Time) error {
	if slot == o.watchSlot() {
		over, err := o.watch(t)
		if over {
			return errDeadlocked
		}
		return err
	}
	now := t
	if o.tell != nil {
		now = o.tell(t)
	}
	m := o.do(slot, t, now)
	advanced := slot > o.changeSlot()
	due, err := o.drain(m)
	if err != nil {
		return err
	}
	if due <= t && !advanced && o.agenda.Next() > t && !o.soon.Any() {
		// Its deadline is the only event left at this instant: there is no need to write
		// it down first.
		o.key(now, o.machineSlot(m))
		o.seats[m].Advance(now)
		if due, err = o.drain(m); err != nil {
			return err
		}
		advanced = true
	}
	if o.tell != nil {
		o.overtaken.told[m] = now
	}
	if due <= now && advanced {
		return stuck(m, now, due)
	}
	o.note(m, due, t)
	return nil
}

// advance has a machine that shares the agenda do what is due, and carries what it sends.
func (o *order) advance(s *seat, t unit.Time) error {
	o.key(t, int(s.slot))
	s.Advance(t)
	if o.soon.Any() {
		o.soon.Remove(int(s.rank))
	}
	for {
		sent, ok := o.outbox.Poll()
		if !ok {
			break
		}
		if o.carry == nil {
			o.handOver(s, sent)
		} else if err := o.carry(o.machine(s), sent); err != nil {
			return err
		}
	}
	if slot, due := o.agenda.First(); due <= t {
		if o.first <= slot && slot < o.last && o.owner(slot) == o.machine(s) {
			return stuck(o.machine(s), t, due)
		}
	}
	return nil
}

// stuck is the error of a machine that has advanced at now and is due all the same.
func stuck(m int, now, due unit.Time) error {
	return fmt.Errorf("machine %d does not get on: its deadline at %v is still %v after Advance; this is a bug", m, now, due)
}

// note notes when a machine has something to do, which may be at once.
func (o *order) note(m int, due, t unit.Time) {
	switch {
	case !o.seats[m].shares:
		o.agenda.Set(o.machineSlot(m), max(due, t))
	case due <= t:
		o.soon.Add(int(o.seats[m].rank))
	}
}

// drain carries what a machine has sent, and reads its deadline.
func (o *order) drain(m int) (due unit.Time, err error) {
	machine := &o.seats[m]
	for {
		t, ok := machine.Poll()
		if !ok {
			return machine.Deadline(), nil
		}
		if o.carry == nil {
			o.handOver(machine, t)
		} else if err := o.carry(m, t); err != nil {
			return 0, err
		}
	}
}
