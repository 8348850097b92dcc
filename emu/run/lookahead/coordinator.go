package lookahead

import (
	"fmt"
	"slices"

	"fabemu/wire/agenda"
	"fabemu/wire/unit"
)

// Coordinator is where the parts of a run agree on how far each may go, so that none does an event
// before a frame from another part that precedes it in the order of the model: conservative
// synchronisation (Chandy and Misra, IEEE TSE SE-5(5), 1979), with the reports of all parts in one
// place.
//
// A part reports when it is about to wait and something has happened since its last report. The
// report contains the earliest due time of a frame on each path that leads away from it, if no
// frame arrives that it has not seen; how many frames it has sent and seen; and the promise that it
// needs to continue. From the reports the coordinator computes the earliest due time of a frame on
// each path that has not been seen at its end, whatever all other parts do: the least over all
// routes by which a reported event can lead to such a frame. If that is enough for a part, the part
// receives the promise.
//
// The earliest next event of all is always promised, because a frame takes some time on each path
// (Fabric.Least). So the run never stops, whatever cycles the parts are joined in. A promise costs
// no round for each of the least times between that event and the one before, and if nothing
// happens there are no reports: a part reports at most once for each event that it does and for
// each frame that it sees, and receives at most one promise for each report.
type Coordinator struct {
	parts []member
	paths []passage
	index map[int]int // by number of a path, its place in paths

	steps int64          // reports and promises
	next  *agenda.Agenda // by place in paths: scratch space of find
	rest  unit.Time      // as last found: no frame is due earlier on a path that is not settled
	buf   []byte

	promises []Promise // scratch space of promise
}

// member is the last report of a part.
type member struct {
	*Boundary
	in, out  []int // places in paths
	reported Report
	heard    bool // it has reported
	waits    bool // it needs more than it has been promised; on a board, it waits for anything
}

// passage is a path from one part to another.
type passage struct {
	number   int
	from, to int       // parts
	arrival  Arrival   // at the receiver
	claim    unit.Time // the next frame is not due earlier, if its sender sees nothing new
	floor    unit.Time // the next frame is not due earlier in any case: the link is busy
	sent     uint32
	base     uint32    // on a board: up to that number, its sender takes frames for seen
	under    []sending // reported as sent and not as seen, in order
	seen     uint32
	lost     uint32    // up to that number, frames that have not come are lost
	need     unit.Time // the receiver needs to be promised that
	promised unit.Time // it has been: nothing that it has not seen is due earlier
	least    unit.Time // as last found, where it is settled
	settled  bool
}

// sending is some frames: up to that number, the first due then.
type sending struct {
	through uint32
	due     unit.Time
}

// New returns the coordinator of the parts of a fabric: part[m] is the part of node m.
func New(f Fabric, part []int) (*Coordinator, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	c := &Coordinator{parts: make([]member, slices.Max(part)+1), index: map[int]int{}}
	for k := range c.parts {
		p := &c.parts[k]
		p.Boundary = NewBoundary(f, func(m int) bool { return part[m] == k })
		for _, n := range p.Boundary.Out {
			c.index[n] = len(c.paths)
			p.out = append(p.out, len(c.paths))
			c.paths = append(c.paths, passage{number: n, from: k})
		}
	}
	for k := range c.parts {
		p := &c.parts[k]
		p.reported = NewReport(p.Boundary)
		for _, n := range p.Boundary.In {
			x := c.index[n]
			p.in = append(p.in, x)
			c.paths[x].to, c.paths[x].arrival = k, p.Arrival[n]
		}
	}
	c.next = agenda.New(len(c.paths))
	return c, nil
}

// Receive takes in a report of a part.
func (c *Coordinator) Receive(part int, b []byte) error {
	if err := c.parts[part].reported.read(b); err != nil {
		return err
	}
	c.steps++
	return c.take(part)
}

// take takes in the last report of a part.
func (c *Coordinator) take(part int) error {
	p := &c.parts[part]
	s := &p.reported
	p.heard, p.waits = true, false
	for k, x := range p.out {
		y, o := &c.paths[x], &s.Out[k]
		switch n := int32(o.Sent - y.sent); {
		case o.Claim < 0 || o.Floor < 0 || o.Due < 0 || n < 0 || (n > 0) != (o.Due != unit.Never):
			return fmt.Errorf("%d frames sent on path %d, due at %v: %w", n, y.number, o.Due, errReport)
		case o.Due < y.promised:
			return y.broken(o.Due)
		case n > 0 && int32(y.seen-o.Sent) < 0:
			y.under = append(y.under, sending{o.Sent, o.Due})
		}
		y.claim, y.floor, y.sent = o.Claim, o.Floor, o.Sent
	}
	for k, x := range p.in {
		y := &c.paths[x]
		if err := y.take(s.In[k]); err != nil {
			return err
		}
		p.waits = p.waits || y.need > y.promised
	}
	return nil
}

// take takes in a report of the receiver of a path.
func (y *passage) take(in Incoming) error {
	if in.Need < 0 || int32(in.Seen-y.seen) < 0 {
		return fmt.Errorf("%d frames seen on path %d: %w", int32(in.Seen-y.seen), y.number, errReport)
	}
	y.need, y.seen = in.Need, in.Seen
	for len(y.under) > 0 && int32(y.under[0].through-in.Seen) <= 0 {
		y.under = slices.Delete(y.under, 0, 1)
	}
	return nil
}

// broken is the error of a frame that breaks a promise.
func (y *passage) broken(due unit.Time) error {
	return fmt.Errorf("a frame is due at %v on path %d, and it was promised that none is before %v", due, y.number, y.promised)
}

// Promise calls send for each part that waits and can have the promise that it needs; send may read
// the promise only during the call.
func (c *Coordinator) Promise(send func(part int, promise []byte)) {
	most := unit.Time(-1)
	for k := range c.parts {
		if p := &c.parts[k]; p.waits {
			for _, x := range p.in {
				most = max(most, c.paths[x].need)
			}
		}
	}
	if most < 0 {
		return
	}
	c.find(most)
	for k := range c.parts {
		p := &c.parts[k]
		if !p.waits || slices.ContainsFunc(p.in, func(x int) bool { return c.paths[x].need > c.least(x) }) {
			continue
		}
		c.promise(k, send)
		p.waits = false
	}
}

func (c *Coordinator) promise(part int, send func(part int, promise []byte)) {
	c.promises = c.promises[:0]
	for _, x := range c.parts[part].in {
		y := &c.paths[x]
		y.promised = max(y.promised, c.least(x))
		c.promises = append(c.promises, Promise{y.promised, y.lost})
	}
	c.steps++
	c.buf = appendAll(c.buf[:0], c.promises)
	send(part, c.buf)
}

// least returns the instant before which no frame is due on a path, as last found.
func (c *Coordinator) least(x int) unit.Time {
	if y := &c.paths[x]; y.settled {
		return y.least
	}
	return c.rest
}

// find finds the least instant at which a frame that has not been seen can be due on each path,
// as far as it is before most: Dijkstra's algorithm over paths.
func (c *Coordinator) find(most unit.Time) {
	c.rest, most = unit.Never, min(most, c.next.Last())
	for x := range c.paths {
		y := &c.paths[x]
		least := y.claim
		if len(y.under) > 0 {
			least = min(least, y.under[0].due)
		}
		y.settled = false
		c.reach(x, max(least, y.promised), most)
	}
	for c.next.Next() < unit.Never {
		x, at := c.next.First()
		c.next.Unset(x)
		y := &c.paths[x]
		y.settled = true
		p := &c.parts[y.to]
		if p.reported.Over {
			continue
		}
		for k := range p.out {
			z := &c.paths[p.out[k]]
			if t := max(After(at, y.arrival.At(k)), z.floor, z.promised); t < z.least {
				c.reach(p.out[k], t, most)
			}
		}
	}
}

// reach records that a frame can be due on a path at an instant.
func (c *Coordinator) reach(x int, at, most unit.Time) {
	c.paths[x].least = at
	if at < most {
		c.next.Set(x, at)
	} else {
		c.rest = min(c.rest, at)
	}
}

// Steps returns how many reports and promises there have been: while the number does not change, no
// part makes progress.
func (c *Coordinator) Steps() int64 { return c.steps }

// GiveUp tells the parts that frames that were sent and have not arrived are lost, once a part has
// waited for them for long enough. It waits for a part that may not have had the time to see them
// (there returns false).
func (c *Coordinator) GiveUp(there func(part int) bool, send func(part int, promise []byte)) {
	c.giveUp(there, func(k int) {
		for _, x := range c.parts[k].in {
			c.paths[x].least, c.paths[x].settled = c.paths[x].promised, true
		}
		c.promise(k, send)
	})
}

// giveUp calls lose with each part to which frames are lost.
func (c *Coordinator) giveUp(there func(part int) bool, lose func(part int)) {
	for k := range c.parts {
		p, some := &c.parts[k], false
		for _, x := range p.in {
			if y := &c.paths[x]; len(y.under) > 0 && !p.reported.Over && there(k) {
				y.lost, y.under, some = y.sent, nil, true
			}
		}
		if some {
			lose(k)
		}
	}
}

// Owing returns the part whose report is missing, and the instant of its next event as last
// reported: of the parts that can continue, or have never reported, the one that is behind all
// others. ok is false if there is none.
func (c *Coordinator) Owing() (part int, at unit.Time, ok bool) {
	waited := false
	for k := range c.parts {
		p := &c.parts[k]
		if waited = waited || p.waits || !p.heard; p.reported.Over || p.waits {
			continue
		}
		own := unit.Never
		for _, x := range p.out {
			own = min(own, c.paths[x].claim)
		}
		if !ok || own < at {
			part, at, ok = k, own, true
		}
	}
	return part, at, ok && waited
}
