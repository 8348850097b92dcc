package drive

import (
	"errors"
	"fmt"

	"fabemu/emu/council"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Exact has a part keep the one order of events: it does none before it has been promised that no frame from
// elsewhere comes before it. The order is then the order of the virtual clock, at any dilation. The pace shows the
// cost.
//
// The council makes promises, and so does the trailer of each datagram: when the next frame on its path is due
// at the earliest.
type Exact struct {
	Council
	Bell     Bell      // wakes parts; nil: Promises can be read instead
	Promises link.File // where the promises of the council arrive; nil: others ring the bell
}

// Council is where a part states how far it is, and reads the promises of the other parts: the board of a run on
// one computer (council.Board), or a conductor behind a socket (council.Delegate). k is a place in Border.In.
type Council interface {
	Border() *council.Border
	// Own returns the statement of this part, to be filled in before State.
	Own() *council.Statement
	// State takes in the statement of this part, which others do not see yet.
	State() error
	// Publish shows the last statement to the others. wait is set if the part then waits.
	Publish(wait bool) error
	// Look reads the statements and promises since the last call, and reports whether there were any.
	Look() (some bool, err error)
	// May reports whether the promises are enough for the last statement of the part.
	May() bool
	// Promised returns the instant before which no frame is due that the part had not seen by its last State.
	Promised(k int) unit.Time
	// Lost returns the number up to which frames that have not come are lost.
	Lost(k int) uint32
	// Sent returns how many frames were sent, as far as that was stated here.
	Sent(k int) uint32
}

// Bell wakes the parts of a run that has a board.
type Bell interface {
	// Clear forgets that this part was woken.
	Clear()
	// Sleep returns when this part has been woken since Clear, or after so many ns, and reports which.
	Sleep(ns int64) (woken bool)
	// Wake wakes the parts that can go on. now is the model time of the wall clock, read after Publish.
	Wake(now unit.Time)
}

// exactRun is the state of a part in exact order.
type exactRun struct {
	Exact
	*council.Border
	ins     []inward    // by place in Border.In
	outs    []outward   // by place in Border.Out
	claims  []unit.Time // by place in Border.Out
	place   []int       // by slot: its place in either
	changed bool        // something has, since the last statement
	events  int         // since then
	asked   bool        // the last statement asked for a promise
	absent  bool        // a frame that is stated as sent has not come yet
	counted bool        // only frames that are stated as sent are read

	machines []int             // of the part
	arriving []int32           // the slots of the paths that lead to them
	arrivals []council.Arrival // by slot
}

// inward is a path that comes from elsewhere.
type inward struct {
	slot     int
	promised unit.Time // no frame that has not come is due earlier
	last     unit.Time // the promise of the last trailer
}

// outward is a path that leads elsewhere.
type outward struct {
	slot int
	free unit.Time // when the line is idle again
	due  unit.Time // the first due time since the last statement
}

const (
	// stateEvery is after how many events a part that is never about to wait states something: others may
	// wait for it.
	stateEvery = 64
	// absentLook is after how many ns a part looks again where it waits for a frame that is stated as sent and has
	// not come.
	absentLook = 1_000_000
)

// exactly prepares a part for the exact order.
func (r *partRun) exactly(x Exact) error {
	if x.Council == nil {
		return errors.New("drive: the exact order wants a council")
	}
	e := &exactRun{
		Exact: x, Border: x.Council.Border(), changed: true,
		place: make([]int, len(r.paths)), arrivals: make([]council.Arrival, len(r.paths)),
	}
	slots := make([]int, len(r.paths)) // by number
	for slot := range r.paths {
		slots[r.paths[slot].number] = slot
	}
	for k, n := range e.In {
		e.ins = append(e.ins, inward{slot: slots[n]})
		e.place[slots[n]] = k
	}
	for k, n := range e.Out {
		e.outs = append(e.outs, outward{slot: slots[n], due: unit.Never})
		e.place[slots[n]] = k
	}
	for m := range r.seats {
		if r.here(m) {
			e.machines = append(e.machines, m)
		}
	}
	for n, a := range e.Arrival {
		e.arrivals[slots[n]] = a
		e.arriving = append(e.arriving, int32(slots[n]))
	}
	e.claims = make([]unit.Time, len(e.outs))
	r.exact = e
	return nil
}

// may reports whether nothing from elsewhere comes before the event of a slot at t. The end of the
// run has slot -1: it comes before all that is due then.
func (r *partRun) may(slot int, t unit.Time) bool {
	for i := range r.exact.ins {
		x := &r.exact.ins[i]
		if (x.promised < t || x.promised == t && x.slot < slot) && r.paths[x.slot].count == 0 {
			return false
		}
	}
	return true
}

// state states how far the part is. Others may wait for that, while it goes on.
func (r *partRun) state(slot int, t unit.Time, over bool) error {
	if err := r.fill(slot, t, over); err != nil {
		return err
	}
	if err := r.depart(int64(unit.Never)); err != nil {
		return err
	}
	if err := r.publish(false); err != nil {
		return err
	}
	r.wake()
	return nil
}

// fill fills in the statement of the part: how far it is, and the promises that it needs for its next event.
func (r *partRun) fill(slot int, t unit.Time, over bool) error {
	e := r.exact
	s := e.Own()
	s.Over, s.Next = over, t
	r.claim()
	for k := range e.outs {
		x := &e.outs[k]
		claim, least := unit.Never, council.After(x.free, r.fabric.Least[e.Out[k]])
		if !over {
			claim = max(e.claims[k], least)
		}
		s.Out[k] = council.Outgoing{Claim: claim, Floor: least, Due: x.due, Sent: r.ends[x.slot].seq}
		x.due = unit.Never
	}
	for i := range e.ins {
		slotIn, need := e.ins[i].slot, t
		switch {
		case over || r.paths[slotIn].count > 0:
			need = 0
		case slotIn < slot:
			need++
		}
		s.In[i] = council.Incoming{Need: need, Seen: r.ends[slotIn].seq}
	}
	return e.State()
}

// publish shows the last statement to the others.
func (r *partRun) publish(wait bool) error {
	r.exact.changed, r.exact.events = false, 0
	r.Statements++
	return r.exact.Publish(wait)
}

// wake wakes the parts that can go on.
func (r *partRun) wake() {
	if r.exact.Bell != nil {
		r.exact.Bell.Wake(r.measured.at(r.clock()))
	}
}

// claim computes when a frame is due at the earliest on each path that leads away, if none comes
// that is not here.
func (r *partRun) claim() {
	e := r.exact
	for k := range e.claims {
		e.claims[k] = unit.Never
	}
	change := r.nextChange()
	for _, m := range e.machines {
		at := min(change, r.agenda.Due(r.machineSlot(m)))
		for k, d := range e.Machine[m] {
			e.claims[k] = min(e.claims[k], council.After(at, d))
		}
	}
	for _, slot := range e.arriving {
		if r.paths[slot].count == 0 {
			continue
		}
		at, a := r.agenda.Due(int(slot)), &e.arrivals[slot]
		for k := range e.claims {
			e.claims[k] = min(e.claims[k], council.After(at, a.At(k)))
		}
	}
}

// await waits until something has come, for an event that may not happen yet.
func (r *partRun) await(slot int, t unit.Time) error {
	if err := r.depart(int64(unit.Never)); err != nil {
		return err
	}
	if r.part.Idle != nil {
		if err := r.part.Idle(t); err != nil {
			return err
		}
	}
	began := r.now
	r.look(t, 0)
	err := r.confer(slot, t, true, dozeMost)
	r.look(t, r.now+dozeMost)
	r.Held += r.now - began
	return err
}

// confer reads promises and frames, states how far the part is, and sleeps, for so many ns at the most, unless
// something has come. Where the part only waits for a promise, confer returns as soon as that is there.
func (r *partRun) confer(slot int, t unit.Time, promise bool, ns int64) error {
	e := r.exact
	if _, err := r.consult(); err != nil || r.came {
		return err
	}
	if err := r.fill(slot, t, false); err != nil {
		return err
	}
	if promise && r.promised() {
		return nil
	}
	if e.Bell != nil {
		e.Bell.Clear()
	}
	if e.changed {
		if err := r.publish(true); err != nil {
			return err
		}
		e.asked = promise
	}
	some, err := r.consult()
	if err != nil || r.came || some && promise && r.promised() {
		return err
	}
	r.wake()
	switch {
	case e.absent:
		return r.doze(min(ns, absentLook))
	case e.Bell == nil:
		return r.doze(ns)
	}
	r.came = e.Bell.Sleep(ns)
	return nil
}

// consult reads the promises and the frames that others have sent. It reports whether there is any
// statement or promise.
func (r *partRun) consult() (some bool, err error) {
	e := r.exact
	r.came, e.absent = false, false
	if e.Bell == nil { // before Look: a frame that has come is not lost
		err = r.doze(0)
	}
	if err == nil {
		some, err = e.Look()
	}
	if err != nil {
		return some, err
	}
	e.counted = true
	for k := range e.ins {
		slot := e.ins[k].slot
		end := &r.ends[slot]
		before := end.seq
		if end.stated = e.Sent(k); int32(end.stated-before) > 0 {
			if err := r.readPath(slot); err != nil {
				return some, err
			}
			r.came = r.came || end.seq != before
		}
		if lost := e.Lost(k); int32(lost-end.seq) > 0 {
			r.Lost += int64(lost - end.seq)
			end.seq, e.changed = lost, true
		}
		e.absent = e.absent || int32(end.stated-end.seq) > 0
	}
	if e.counted = false; e.Bell == nil {
		r.promised()
	}
	return some, nil
}

// promised takes in the promises of the council, and reports whether they are enough for the part.
func (r *partRun) promised() bool {
	e := r.exact
	may := e.May()
	for k := range e.ins {
		e.ins[k].promised = max(e.ins[k].promised, e.Promised(k))
	}
	if may && e.asked {
		r.Promises++
		e.asked = false
	}
	return may
}

// check compares a frame from elsewhere with the promises for its path, and takes in the promise of its trailer.
func (r *partRun) check(slot int, due, promise unit.Time) error {
	x := &r.exact.ins[r.exact.place[slot]]
	switch {
	case due < x.promised:
		return fmt.Errorf("%s: a frame that is due at %v, and it was promised that none is before %v", r.name(slot), due, x.promised)
	case promise < x.last:
		return fmt.Errorf("%s: a promise that goes back, from %v to %v", r.name(slot), x.last, promise)
	}
	x.promised, x.last = max(x.promised, promise), promise
	r.exact.changed = true
	return nil
}

// promise returns the promise in the trailer of a frame that leaves by a path to elsewhere.
func (r *partRun) promise(slot int, tr *port.Transmission) unit.Time {
	e := r.exact
	if e == nil {
		return tr.Due
	}
	x := &e.outs[e.place[slot]]
	x.free, x.due, e.changed = tr.Start.Add(tr.Duration), min(x.due, tr.Due), true
	return max(tr.Due, council.After(x.free, r.fabric.Least[r.paths[slot].number]))
}
