package drive

import (
	"fmt"

	"fabemu/emu/council"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Exact has a part keep the one order of events: it does none before it has been promised that
// no frame from elsewhere comes before it. The order is then that of the virtual clock, at any
// dilation; what it costs shows in the pace.
//
// The promises come from the board of a run on one computer, or from a council.Council elsewhere; and by
// the trailer of each datagram: when the next frame on its path is due at the earliest.
type Exact struct {
	State    func(statement []byte) error // sends a statement to the council
	Promises link.File                    // where its promises come from

	Board *council.Board // in place of both; nil: there is none
	Bell  Bell           // with a board: wakes parts
	All   bool           // with a board: parts have processors of their own, so all that can go on are woken
}

// Bell wakes the parts of a run that has a board.
type Bell interface {
	// Clear forgets that this part was woken.
	Clear()
	// Sleep returns when this part has been woken since Clear, or after so many ns, and reports which.
	Sleep(ns int64) (woken bool)
	// Ring wakes a part.
	Ring(part int)
}

// exactRun is the state of a part in exact order.
type exactRun struct {
	Exact
	*council.Border
	ins     []inward  // by place in Border.In
	outs    []outward // by place in Border.Out
	place   []int     // by slot: its place in either
	changed bool      // something has, since the last statement
	events  int       // since then
	own     council.Statement
	stated  *council.Statement // own, or that of the board
	told    []council.Promise  // by place in Border.In
	claims  []unit.Time        // by place in Border.Out
	buf     []byte
	mail    []byte
	asked   bool // with a board: for a promise, by the last statement
	absent  bool // with a board: a frame that was sent has not come yet
	counted bool // only frames that are stated as sent are read

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
	due  unit.Time // the first of what was sent since the last statement
}

// stateEvery is after how many events a part that is never about to wait states something: others may
// wait for it.
const stateEvery = 64

// absentLook is after how many ns a part looks at the board again where it waits for a frame that was sent and
// has not come.
const absentLook = 1_000_000

// exactly prepares a part for the exact order.
func (r *partRun) exactly(x Exact) error {
	f := r.fabric
	if f.Least == nil || f.Passing == nil {
		return fmt.Errorf("drive: nothing can be promised in a fabric whose least times are not known")
	}
	border := council.NewBorder(council.Fabric{Wires: f.Wires, Least: f.Least, Passing: f.Passing}, r.here)
	e := &exactRun{
		Exact: x, Border: border, place: make([]int, len(r.paths)), changed: true,
		own: council.NewStatement(border), told: make([]council.Promise, len(border.In)),
	}
	if e.stated = &e.own; e.Board != nil {
		e.stated = e.Board.Own()
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
	e.arrivals = make([]council.Arrival, len(r.paths))
	for n, a := range e.Arrival {
		e.arrivals[slots[n]] = a
		e.arriving = append(e.arriving, int32(slots[n]))
	}
	e.claims = make([]unit.Time, len(e.outs))
	e.mail = make([]byte, len(e.In)*council.PromiseSize+1)
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

// state tells the council how far the part is and what it needs for its next event, if something has
// happened since it last did.
func (r *partRun) state(slot int, t unit.Time, over bool) error {
	e := r.exact
	if !e.changed {
		return nil
	}
	e.changed, e.events = false, 0
	r.fill(slot, t, over)
	r.Statements++
	if e.Board == nil {
		e.buf = e.stated.Append(e.buf[:0])
		return e.State(e.buf)
	}
	if err := e.Board.State(); err != nil {
		return err
	}
	if err := r.depart(int64(unit.Never)); err != nil {
		return err
	}
	r.publish(false)
	return nil
}

// fill writes the statement of the part: how far it is, and what it needs for its next event.
func (r *partRun) fill(slot int, t unit.Time, over bool) {
	e := r.exact
	e.stated.Over, e.stated.Next = over, t
	r.claim()
	for k := range e.outs {
		x := &e.outs[k]
		claim, least := unit.Never, council.After(x.free, r.fabric.Least[e.Out[k]])
		if !over {
			claim = max(e.claims[k], least)
		}
		e.stated.Out[k] = council.Outgoing{Claim: claim, Floor: least, Due: x.due, Sent: r.ends[x.slot].seq}
		x.due = unit.Never
	}
	for i := range e.ins {
		s, need := e.ins[i].slot, t
		switch {
		case over || r.paths[s].count > 0:
			need = 0
		case s < slot:
			need++
		}
		e.stated.In[i] = council.Incoming{Need: need, Seen: r.ends[s].seq}
	}
}

// publish puts the last statement on the board, and wakes those who can go on by it.
func (r *partRun) publish(wait bool) {
	r.exact.Board.Publish(wait)
	r.wake()
}

// wake wakes the parts that can go on.
func (r *partRun) wake() {
	r.exact.Board.Wake(r.measured.at(r.clock()), r.exact.All, r.exact.Bell.Ring)
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
	if r.exact.Board == nil {
		if err := r.state(slot, t, false); err != nil {
			return err
		}
	}
	began := r.now
	r.look(t, 0)
	var err error
	if r.exact.Board != nil {
		err = r.confer(slot, t, true, dozeMost)
	} else {
		err = r.doze(dozeMost)
	}
	r.look(t, r.now+dozeMost)
	r.Held += r.now - began
	return err
}

// confer reads the board and what was sent, states how far the part is, and sleeps, for so many ns at the most,
// unless something has come. Where the part only waits for a promise, it returns as soon as that is there.
func (r *partRun) confer(slot int, t unit.Time, promise bool, ns int64) error {
	e := r.exact
	if _, err := r.consult(); err != nil || r.came {
		return err
	}
	r.fill(slot, t, false)
	if err := e.Board.State(); err != nil {
		return err
	}
	if promise && r.promised() {
		return nil
	}
	e.Bell.Clear()
	if e.changed {
		e.changed, e.events = false, 0
		r.Statements++
		e.Board.Publish(true)
		e.asked = promise
	}
	some, err := r.consult()
	if err != nil || r.came {
		return err
	}
	if some && promise && r.promised() {
		return nil
	}
	r.wake()
	if e.absent {
		return r.doze(min(ns, absentLook))
	}
	r.came = e.Bell.Sleep(ns)
	return nil
}

// consult reads the board, and the frames that others have sent, as they state there. It reports whether others
// have stated anything.
func (r *partRun) consult() (some bool, err error) {
	e := r.exact
	r.came = false
	if some, err = e.Board.Look(); err != nil {
		return some, err
	}
	e.Board.Lost(func(k int, lost uint32) { r.giveUp(&e.ins[k], lost) })
	e.absent, e.counted = false, true
	for k := range e.ins {
		end := &r.ends[e.ins[k].slot]
		if end.stated = e.Board.Sent(k); int32(end.stated-end.seq) <= 0 {
			continue
		}
		before := end.seq
		if err := r.readPath(e.ins[k].slot); err != nil {
			return some, err
		}
		r.came = r.came || end.seq != before
		e.absent = e.absent || int32(end.stated-end.seq) > 0
	}
	e.counted = false
	return some, nil
}

// promised takes in what the board promises, and reports whether that is what the part needs.
func (r *partRun) promised() bool {
	e := r.exact
	may := e.Board.May()
	for k := range e.ins {
		e.ins[k].promised = max(e.ins[k].promised, e.Board.Promised(k))
	}
	if may && e.asked {
		r.Promises++
		e.asked = false
	}
	return may
}

// giveUp counts the frames on a path that are lost, up to a number.
func (r *partRun) giveUp(x *inward, lost uint32) {
	if end := &r.ends[x.slot]; int32(lost-end.seq) > 0 {
		r.Lost += int64(lost - end.seq)
		end.seq, r.exact.changed = lost, true
	}
}

// hear takes in what the part is promised.
func (r *partRun) hear() error {
	e := r.exact
	for {
		n, err := e.Promises.Recv(e.mail)
		if n == 0 || err != nil {
			return err
		}
		if err := council.ReadPromises(e.told, e.mail[:n]); err != nil {
			return err
		}
		r.Promises++
		for i, p := range e.told {
			x := &e.ins[i]
			x.promised = max(x.promised, p.At) // a trailer may have promised more
			r.giveUp(x, p.Lost)
		}
	}
}

// heed checks what has come on a path from elsewhere against what was promised of it, and takes
// in what it promises itself.
func (r *partRun) heed(slot int, due, promise unit.Time) error {
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

// promise returns what the trailer of a frame promises that leaves by a path to elsewhere.
func (r *partRun) promise(slot int, tr *port.Transmission) unit.Time {
	e := r.exact
	if e == nil {
		return tr.Due
	}
	x := &e.outs[e.place[slot]]
	x.free, x.due, e.changed = tr.Start.Add(tr.Duration), min(x.due, tr.Due), true
	return max(tr.Due, council.After(x.free, r.fabric.Least[r.paths[slot].number]))
}
