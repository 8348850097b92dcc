package drive

import (
	"fmt"

	"fabemu/emu/run/lookahead"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

const (
	// stateEvery is after how many events a part that is never about to wait states something:
	// others may wait for it.
	stateEvery = 64
	// absentLook is after how many ns a part looks again where it waits for a frame that is
	// reported as sent and has not come.
	absentLook = 1_000_000
)

// may reports whether nothing from elsewhere comes before the event of a slot at t. The end of the
// run has slot -1: it comes before all that is due then.
func (r *partRun) may(slot int, t unit.Time) bool {
	for _, n := range r.boundary.In {
		from := r.slotOf[n]
		promised := r.ends[from].promised
		if (promised < t || promised == t && from < slot) && r.paths[from].count == 0 {
			return false
		}
	}
	return true
}

// leads reports whether the event of a slot at t, which may not happen yet, is the first of the
// run. Then nothing needs to be reported.
func (r *partRun) leads(slot int, t unit.Time) bool {
	first := min(t, r.part.Participant.Earliest()) // what the event leads to can come back
	for _, n := range r.boundary.Out {
		first = min(first, r.ends[r.slotOf[n]].due)
	}
	if first < 0 || r.absent {
		return false
	}
	for _, n := range r.boundary.In {
		end := &r.ends[r.slotOf[n]]
		end.promised = max(end.promised, lookahead.After(first, r.fabric.Least[n]))
	}
	may := r.may(slot, t)
	if may && r.asked {
		r.Promises++
		r.asked = false
	}
	return may
}

// state publishes how far the part is. Others may wait for that while the part continues.
func (r *partRun) state(slot int, t unit.Time, over bool) error {
	err := r.fill(slot, t, over)
	if err == nil {
		err = r.depart(int64(unit.Never))
	}
	if err == nil {
		err = r.publish(false)
	}
	r.wake()
	return err
}

// fill fills in the report of the part: how far it is, and the promises that it needs for its next
// event.
func (r *partRun) fill(slot int, t unit.Time, over bool) error {
	change := r.nextChange()
	r.boundary.Claim(r.claims, func(m int) unit.Time { return min(change, r.agenda.Due(r.nodeSlot(m))) },
		func(n int) unit.Time { return r.agenda.Due(r.slotOf[n]) })
	s := r.part.Participant.Own()
	s.Over, s.Next = over, t
	for k, n := range r.boundary.Out {
		end := &r.ends[r.slotOf[n]]
		claim, least := unit.Never, lookahead.After(end.free, r.fabric.Least[n])
		if !over {
			claim = max(r.claims[k], least)
		}
		s.Out[k] = lookahead.Outgoing{Claim: claim, Floor: least, Due: end.due, Sent: end.seq}
		end.due = unit.Never
	}
	for k, n := range r.boundary.In {
		from, need := r.slotOf[n], t
		switch {
		case over || r.paths[from].count > 0:
			need = 0
		case from < slot:
			need++
		}
		s.In[k] = lookahead.Incoming{Need: need, Seen: r.ends[from].seq}
	}
	return r.part.Participant.State()
}

// publish shows the last report to the others.
func (r *partRun) publish(wait bool) error {
	r.changed, r.events = false, 0
	r.Reports++
	return r.part.Participant.Publish(wait)
}

// wake wakes the parts that can continue.
func (r *partRun) wake() {
	if r.part.Bell != nil {
		r.part.Bell.Wake(r.at(r.clock()))
	}
}

// await waits until something has come, for an event that may not happen yet.
func (r *partRun) await(slot int, t unit.Time) error {
	err := r.depart(int64(unit.Never))
	if err == nil && r.part.Idle != nil {
		err = r.part.Idle(t)
	}
	if err != nil {
		return err
	}
	began := r.now
	r.look(0)
	err = r.confer(slot, t, true, dozeMost)
	r.look(r.now + dozeMost)
	r.Waited += r.now - began
	return err
}

// confer reads promises and frames, states how far the part is, and sleeps, for at most so many ns,
// unless something has come. Where the part only waits for a promise, confer returns as soon as
// that is there.
func (r *partRun) confer(slot int, t unit.Time, promise bool, ns int64) error {
	if r.part.Bell == nil { // a part with a bell has looked when it woke
		if _, err := r.consult(); err != nil || r.came {
			return err
		}
	}
	if err := r.fill(slot, t, false); err != nil {
		return err
	}
	if promise && r.promised() {
		return nil
	}
	if r.part.Bell != nil {
		r.part.Bell.Clear()
	}
	if r.changed {
		if err := r.publish(true); err != nil {
			return err
		}
		r.asked = promise
	}
	some, err := r.consult()
	if err != nil || r.came || some && promise {
		return err
	}
	r.wake()
	switch {
	case r.absent:
		err = r.doze(min(ns, absentLook))
	case r.part.Bell == nil:
		err = r.doze(ns)
	default:
		woken := r.part.Bell.Sleep(ns)
		_, err = r.consult()
		r.came = r.came || woken
	}
	return err
}

// consult reads the promises and the frames that others have sent. It reports whether there is any
// report or promise.
func (r *partRun) consult() (some bool, err error) {
	e := r.part.Participant
	r.came, r.absent = false, false
	if r.part.Bell == nil { // before Look: a frame that has come is not lost
		err = r.doze(0)
	}
	if err == nil {
		some, err = e.Look()
	}
	if err != nil {
		return some, err
	}
	r.counted = true
	for k, n := range r.boundary.In {
		slot := r.slotOf[n]
		end := &r.ends[slot]
		before := end.seq
		if end.reported = e.Sent(k); int32(end.reported-before) > 0 {
			if err := r.readPath(slot); err != nil {
				return some, err
			}
			r.came = r.came || end.seq != before
		}
		if lost := e.Lost(k); int32(lost-end.seq) > 0 {
			r.Lost += int64(lost - end.seq)
			end.seq, r.changed = lost, true
		}
		r.absent = r.absent || int32(end.reported-end.seq) > 0
	}
	if r.counted = false; r.part.Bell == nil {
		r.promised()
	}
	return some, nil
}

// promised takes in the promises of the coordinator, and reports whether they are enough for the
// part.
func (r *partRun) promised() bool {
	e := r.part.Participant
	may := e.May()
	for k, n := range r.boundary.In {
		end := &r.ends[r.slotOf[n]]
		end.promised = max(end.promised, e.Promised(k))
	}
	if may && r.asked {
		r.Promises++
		r.asked = false
	}
	return may
}

// check compares a frame from elsewhere with the promises for its path, and takes in the promise of
// its trailer.
func (r *partRun) check(slot int, due, promise unit.Time) error {
	x := &r.ends[slot]
	switch {
	case due < x.promised:
		return fmt.Errorf("%s: a frame that is due at %v, and it was promised that none is before %v", r.name(slot), due, x.promised)
	case promise < x.last:
		return fmt.Errorf("%s: a promise that goes back, from %v to %v", r.name(slot), x.last, promise)
	}
	x.promised, x.last = max(x.promised, promise), promise
	r.changed = true
	return nil
}

// promise returns the promise in the trailer of a frame that leaves by a path to elsewhere.
func (r *partRun) promise(slot int, tr *port.Transmission) unit.Time {
	x := &r.ends[slot]
	x.free, x.due, r.changed = tr.Start.Add(tr.Duration), min(x.due, tr.Due), true
	return max(tr.Due, lookahead.After(x.free, r.fabric.Least[r.paths[slot].number]))
}
