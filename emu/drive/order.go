package drive

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"fabemu/wire/agenda"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// order is what both drivers share: the total order of events, and the frames
// that are under way.
type order struct {
	fabric   *Fabric
	machines []Machine
	paths    []path    // in the order of their slots
	leaving  [][]int32 // by machine and port: the path of what leaves by it
	byRank   []int32   // the machine that has the i-th deadline slot
	rank     []int32   // the deadline slot of each machine, from 0
	change   int       // the next of fabric.Changes
	agenda   *agenda.Agenda
	now      unit.Time
	elapsed  int64    // wall time of the event, ns since the begin
	hops     int64    // frames handed over
	carried  int64    // those of them that are not flow control
	watcher  *watcher // nil: nobody looks for deadlock

	carry func(m int, t *port.Transmission) error // sends a frame on its way
	sent  port.Transmission                       // the one that is being carried

	// tell, if not nil, says which time the machines are told for an event of t; by
	// default t itself.
	tell func(t unit.Time) unit.Time
	late lateness
}

// lateness counts frames that were handed over late: when their machine had been
// told a later time already.
type lateness struct {
	told   []unit.Time // by machine: the last time it was told
	frames int64
	over5  int64 // by more than 5 % of T
	overT  int64 // and by more than T
	worst  float64
	packet []unit.Duration // T of each wire, in model time
}

// note counts a frame that is due at t and handed over at now.
func (l *lateness) note(m, wire int, t, now unit.Time) {
	if l.told[m] <= t {
		return
	}
	l.frames++
	by, packet := now.Sub(t), l.packet[wire]
	if by > packet/20 {
		l.over5++
	}
	if by > packet {
		l.overT++
	}
	l.worst = max(l.worst, float64(by)/float64(packet))
}

// path is one direction of a wire.
type path struct {
	number int // 2*wire + which end sends: the sending port's number in the fabric
	from   End
	to     End
	ring   []flight // frames under way, in the order in which they were sent
	head   int
	count  int
	seq    uint32 // of the first frame in ring
}

// flight is a frame under way.
type flight struct {
	due     unit.Time
	arrival port.Arrival
	arrived bool // the datagram has been seen
}

// newOrder numbers paths and machines, and reads the first deadlines.
func newOrder(f *Fabric, machines []Machine) (*order, error) {
	o := &order{fabric: f, machines: machines, leaving: make([][]int32, len(machines)), rank: make([]int32, len(machines)), byRank: make([]int32, len(machines))}
	tie := func(m int) int { return m }
	if f.Ties != nil {
		tie = func(m int) int { return f.Ties[m] }
	}
	for i := range machines {
		o.byRank[i] = int32(i)
	}
	slices.SortFunc(o.byRank, func(a, b int32) int { return cmp.Compare(tie(int(a)), tie(int(b))) })
	for r, m := range o.byRank {
		o.rank[m] = int32(r)
	}
	for w, ends := range f.Wires {
		for i := range ends {
			if m := ends[i].Machine; m < 0 || m >= len(machines) {
				return nil, fmt.Errorf("wire %d ends at machine %d; there are %d", w, m, len(machines))
			}
			o.paths = append(o.paths, path{number: 2*w + i, from: ends[i], to: ends[1-i]})
		}
	}
	slices.SortFunc(o.paths, func(a, b path) int {
		byPort := cmp.Compare(a.to.Port, b.to.Port)
		if f.Ties != nil {
			byPort = cmp.Or(cmp.Compare(o.rank[a.from.Machine], o.rank[b.from.Machine]), byPort)
		}
		return cmp.Or(cmp.Compare(o.rank[a.to.Machine], o.rank[b.to.Machine]), byPort)
	})
	for i, p := range o.paths {
		ports := o.leaving[p.from.Machine]
		for len(ports) <= int(p.from.Port) {
			ports = append(ports, -1)
		}
		if ports[p.from.Port] >= 0 {
			return nil, fmt.Errorf("port %d of machine %d is joined twice", p.from.Port, p.from.Machine)
		}
		ports[p.from.Port] = int32(i)
		o.leaving[p.from.Machine] = ports
	}
	o.agenda = agenda.New(len(o.paths) + 1 + len(machines) + 1)
	if o.watcher = newWatcher(f); o.watcher != nil {
		o.agenda.Set(o.watchSlot(), o.watcher.next)
	}
	if len(f.Changes) > 0 {
		o.agenda.Set(o.changeSlot(), f.Changes[0].At)
	}
	for m := range machines {
		o.agenda.Set(o.machineSlot(m), max(0, machines[m].Deadline()))
	}
	return o, nil
}

// The slots of the agenda: arrivals by path, then changes from outside, then the
// deadlines of machines; last of all, the look for deadlock.
func (o *order) changeSlot() int       { return len(o.paths) }
func (o *order) machineSlot(m int) int { return len(o.paths) + 1 + int(o.rank[m]) }
func (o *order) watchSlot() int        { return len(o.paths) + 1 + len(o.machines) }

// send puts a frame under way and returns its path and its place on it. The frame
// itself comes later, with arrive.
func (o *order) send(m int, t *port.Transmission) (*path, *flight) {
	i := o.leaving[m][t.Port]
	p := &o.paths[i]
	f := p.push()
	f.due = max(t.Due, o.now) // earlier only if its machine was told the time late
	if p.count == 1 {
		o.agenda.Set(int(i), f.due)
	}
	return p, f
}

// push makes a place for one more frame under way.
func (p *path) push() *flight {
	if p.count == len(p.ring) {
		grown := make([]flight, max(2, 2*len(p.ring)))
		for i := range p.count {
			grown[i] = *p.at(i)
		}
		p.ring, p.head = grown, 0
	}
	p.count++
	f := p.at(p.count - 1)
	f.arrived = false
	return f
}

// at returns the i-th frame under way.
func (p *path) at(i int) *flight { return &p.ring[(p.head+i)&(len(p.ring)-1)] }

// pop takes the first frame under way off the path. What it points to stays valid
// until the next push.
func (o *order) pop(slot int) *flight {
	p := &o.paths[slot]
	f := p.at(0)
	p.head = (p.head + 1) & (len(p.ring) - 1)
	p.count--
	p.seq++
	next := unit.Never
	if p.count > 0 {
		next = p.at(0).due
	}
	o.agenda.Set(slot, next)
	return f
}

// do lets the event of a slot happen at t; the machine is told that it is now. A
// path's first frame has arrived.
func (o *order) do(slot int, t, now unit.Time) (machine int) {
	o.now = t
	switch n := len(o.paths); {
	case slot < n:
		to := o.paths[slot].to
		f := o.pop(slot)
		o.hops++
		if !f.arrival.Frame.Kind.Control() {
			o.carried++
		}
		if now > t {
			f.arrival.Late = now.Sub(t)
			o.late.note(to.Machine, o.paths[slot].number/2, t, now)
		}
		if o.fabric.Tap != nil {
			o.fabric.Tap.Received(o.paths[slot].number, &f.arrival, now, o.elapsed)
		}
		o.machines[to.Machine].Receive(now, to.Port, f.arrival)
		return to.Machine
	case slot == n:
		c := &o.fabric.Changes[o.change]
		o.change++
		next := unit.Never
		if o.change < len(o.fabric.Changes) {
			next = o.fabric.Changes[o.change].At
		}
		o.agenda.Set(slot, next)
		o.machines[c.Machine].Apply(now, c.Event)
		return c.Machine
	default:
		m := int(o.byRank[slot-n-1])
		o.machines[m].Advance(now)
		return m
	}
}

// errDeadlocked ends a run in which nothing else can happen.
var errDeadlocked = errors.New("drive: deadlock, and nothing else can happen")

// step lets the event of a slot happen at t and carries what the machine sends.
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
	due, err := o.drain(m)
	if err != nil {
		return err
	}
	advanced := slot > o.changeSlot()
	if due <= t && !advanced && o.agenda.Next() > t {
		// Its deadline is the only event left at this instant: there is no need to write
		// it down first.
		o.machines[m].Advance(now)
		if due, err = o.drain(m); err != nil {
			return err
		}
		advanced = true
	}
	if o.tell != nil {
		o.late.told[m] = now
	}
	if due <= now && advanced {
		return fmt.Errorf("machine %d does not get on: its deadline at %v is still %v after Advance; this is a bug", m, now, due)
	}
	o.agenda.Set(o.machineSlot(m), max(due, t))
	return nil
}

// drain carries what a machine has sent, and reads its deadline.
func (o *order) drain(m int) (due unit.Time, err error) {
	machine := o.machines[m]
	for {
		var ok bool
		if o.sent, ok = machine.Poll(); !ok {
			return machine.Deadline(), nil
		}
		if err := o.carry(m, &o.sent); err != nil {
			return 0, err
		}
	}
}
