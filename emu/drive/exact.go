package drive

import (
	"encoding/binary"
	"fmt"

	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Exact has a part keep the one order of events: it does none before it has been promised that
// no frame from elsewhere comes before it. The order is then that of the virtual clock, at any
// dilation; what it costs shows in the pace.
//
// What a part is promised comes from a Council, and by the trailer of each datagram: when the
// next frame on its path is due at the earliest.
type Exact struct {
	State    func(statement []byte) error // tells the council
	Promises link.File                    // where its promises come from
}

// exactRun is what a part in exact order knows.
type exactRun struct {
	Exact
	*border
	inSlots  []int       // by place in border.in: the slot of the path
	promised []unit.Time // by that place: no frame that has not come is due earlier
	last     []unit.Time // by that place: the promise of the last trailer
	place    []int       // by slot: its place in border.in or border.out
	free     []unit.Time // by place in border.out: when the line is idle again
	due      []unit.Time // by that place: the first of what was sent since the last statement
	changed  bool        // since then
	events   int         // since then
	buf      []byte
	mail     []byte
}

// stateEvery is after how many events a part that is never about to wait states something: others may
// wait for it.
const stateEvery = 64

// exactly prepares a part for the exact order.
func (r *partRun) exactly(x Exact) error {
	f := r.fabric
	if f.Least == nil || f.Passing == nil {
		return fmt.Errorf("drive: nothing can be promised in a fabric whose least times are not known")
	}
	e := &exactRun{Exact: x, border: newBorder(f, r.here), place: make([]int, len(r.paths)), changed: true}
	slots := make([]int, len(r.paths)) // by number
	for slot := range r.paths {
		slots[r.paths[slot].number] = slot
	}
	for k, n := range e.in {
		e.inSlots = append(e.inSlots, slots[n])
		e.place[slots[n]] = k
	}
	for k, n := range e.out {
		e.place[slots[n]] = k
	}
	e.promised, e.last = make([]unit.Time, len(e.in)), make([]unit.Time, len(e.in))
	e.mail = make([]byte, len(e.in)*promiseSize+1)
	e.free, e.due = make([]unit.Time, len(e.out)), make([]unit.Time, len(e.out))
	for k := range e.due {
		e.due[k] = unit.Never
	}
	r.exact = e
	return nil
}

// may reports whether nothing from elsewhere comes before the event of a slot at t. The end of the
// run has slot -1: it comes before all that is due then.
func (r *partRun) may(slot int, t unit.Time) bool {
	e := r.exact
	for k, s := range e.inSlots {
		if p := e.promised[k]; (p < t || p == t && s < slot) && r.paths[s].count == 0 {
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
	b := append(e.buf[:0], 0)
	if over {
		b[0] = 1
	}
	for k, n := range e.out {
		claim, least := unit.Never, after(e.free[k], r.fabric.Least[n])
		if !over {
			claim = max(r.claim(k), least)
		}
		b = binary.BigEndian.AppendUint64(b, uint64(claim))
		b = binary.BigEndian.AppendUint64(b, uint64(least))
		b = binary.BigEndian.AppendUint64(b, uint64(e.due[k]))
		b = binary.BigEndian.AppendUint32(b, r.ends[r.leavingSlot(n)].seq)
		e.due[k] = unit.Never
	}
	for _, s := range e.inSlots {
		need := t
		switch {
		case over || r.paths[s].count > 0:
			need = 0
		case s < slot:
			need++
		}
		b = binary.BigEndian.AppendUint64(b, uint64(need))
		b = binary.BigEndian.AppendUint32(b, r.ends[s].seq)
	}
	e.buf = b
	r.Statements++
	return e.State(b)
}

// leavingSlot returns the slot of a path that begins here.
func (r *partRun) leavingSlot(number int) int {
	from := r.fabric.Wires[number/2][number%2]
	return int(r.leavingBy(from.Machine, from.Port))
}

// claim returns when a frame is due at the earliest on a path that leads away, if none comes
// that is not here.
func (r *partRun) claim(k int) (t unit.Time) {
	e := r.exact
	t = unit.Never
	change := r.nextChange()
	for m, d := range e.machine {
		if d != nil {
			t = min(t, after(min(change, r.agenda.Due(r.machineSlot(m))), d[k]))
		}
	}
	for slot := range r.paths {
		if p := &r.paths[slot]; p.count > 0 {
			t = min(t, after(r.agenda.Due(slot), e.arrival[int(p.number)][k]))
		}
	}
	return t
}

// hold waits until something has come, for an event that may not happen yet.
func (r *partRun) hold(slot int, t unit.Time) error {
	if r.part.Idle != nil {
		if err := r.part.Idle(t); err != nil {
			return err
		}
	}
	if err := r.state(slot, t, false); err != nil {
		return err
	}
	began := r.now
	r.look(t, 0)
	err := r.doze(dozeMost)
	r.look(t, r.now+dozeMost)
	r.Held += r.now - began
	return err
}

// hear takes in what the part is promised.
func (r *partRun) hear() error {
	e := r.exact
	for {
		n, err := e.Promises.Recv(e.mail)
		if n == 0 || err != nil {
			return err
		}
		b := e.mail[:n]
		if len(b) != len(e.in)*promiseSize {
			return fmt.Errorf("a promise of %d bytes, and not of %d: of another version?", len(b), len(e.in)*promiseSize)
		}
		r.Promises++
		for k, s := range e.inSlots {
			p, through := timeAt(b), binary.BigEndian.Uint32(b[8:])
			b = b[promiseSize:]
			if p < e.promised[k] {
				if p < 0 {
					return fmt.Errorf("%s: a promise of %v", r.name(&r.paths[s]), p)
				}
				p = e.promised[k] // a trailer has promised more
			}
			e.promised[k] = p
			if end := &r.ends[s]; int32(through-end.seq) > 0 {
				r.Lost += int64(through - end.seq)
				end.seq, e.changed = through, true
			}
		}
	}
}

// heed checks what has come on a path from elsewhere against what was promised of it, and takes
// in what it promises itself.
func (r *partRun) heed(slot int, due, promise unit.Time) error {
	e := r.exact
	k := e.place[slot]
	switch {
	case due < e.promised[k]:
		return fmt.Errorf("%s: a frame that is due at %v, and it was promised that none is before %v", r.name(&r.paths[slot]), due, e.promised[k])
	case promise < e.last[k]:
		return fmt.Errorf("%s: a promise that goes back, from %v to %v", r.name(&r.paths[slot]), e.last[k], promise)
	}
	e.promised[k], e.last[k] = max(e.promised[k], promise), promise
	e.changed = true
	return nil
}

// promise returns what the trailer of a frame promises that leaves by a path to elsewhere.
func (r *partRun) promise(slot int, tr *port.Transmission) unit.Time {
	e := r.exact
	if e == nil {
		return tr.Due
	}
	k := e.place[slot]
	e.free[k], e.due[k], e.changed = tr.Start.Add(tr.Duration), min(e.due[k], tr.Due), true
	return max(tr.Due, after(e.free[k], r.fabric.Least[r.paths[slot].number]))
}
