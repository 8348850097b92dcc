package council

import (
	"container/heap"
	"fmt"
	"slices"

	"fabemu/wire/unit"
)

// Council is where the parts of a run agree on how far each may go, so that none does an event
// before a frame from another part that comes first in the order of the model: conservative
// synchronisation (Chandy and Misra, IEEE TSE SE-5(5), 1979), where one place knows what all
// have said.
//
// A part states, when it is about to wait and something has happened since it last did: by
// when, at the earliest, a frame would be due on each path that leads away from it, if no frame
// came that it has not seen; how many frames it has sent and seen; and what it needs to be
// promised, so that it can go on. From that the council knows by when, at the earliest, a frame
// can be due on each path that has not been seen at its end, whatever all the others do: the
// least over all ways by which something that is known to happen can lead to it. Where that is
// enough for what a part needs, the part is promised it.
//
// The least next event of all is always promised, since a frame takes some time on each path
// (Fabric.Least): nothing stands still, in whatever cycle the parts are joined. A promise costs no
// round for each of the least times between that event and the one before, and where nothing
// happens nothing is said: a part states at most once for each event that it does and for each
// frame that it sees, and has at most one promise for each statement.
type Council struct {
	parts []member
	paths []passage
	index map[int]int // by number of a path, its place in paths

	steps int64    // statements and promises
	next  frontier // what find looks at, and what tell writes: kept, so that they take no memory anew
	buf   []byte
}

// member is a part as the council knows it.
type member struct {
	*Border
	in, out []int // places in paths
	stated  Statement
	spoken  bool
	waits   bool // it needs more than it has been promised
}

// passage is a path from one part to another.
type passage struct {
	number   int
	from, to int       // parts
	slot     int       // in the receiver's border
	claim    unit.Time // the next frame is not due earlier, if its sender sees nothing new
	floor    unit.Time // the next frame is not due earlier in any case: the line is busy
	sent     uint32
	under    []sending // what is stated as sent and not as seen, in order
	seen     uint32
	lost     uint32    // up to that number, what has not come is lost
	need     unit.Time // the receiver needs to be promised that
	promised unit.Time // it has been: nothing that it has not seen is due earlier
	least    unit.Time // as last found
	settled  bool
}

// sending is some frames: up to that number, the first due then.
type sending struct {
	through uint32
	due     unit.Time
}

// New returns the council of the parts of a fabric: part[m] is that of machine m.
func New(f Fabric, part []int) (*Council, error) {
	for n, least := range f.Least {
		if least <= 0 {
			return nil, fmt.Errorf("path %d takes no time: nothing can be promised about it", n)
		}
	}
	c := &Council{parts: make([]member, slices.Max(part)+1), index: map[int]int{}}
	for k := range c.parts {
		p := &c.parts[k]
		p.Border = NewBorder(f, func(m int) bool { return part[m] == k })
		for _, n := range p.Border.Out {
			c.index[n] = len(c.paths)
			p.out = append(p.out, len(c.paths))
			c.paths = append(c.paths, passage{number: n, from: k})
		}
	}
	for k := range c.parts {
		p := &c.parts[k]
		p.stated = NewStatement(p.Border)
		for slot, n := range p.Border.In {
			x := c.index[n]
			p.in = append(p.in, x)
			c.paths[x].to, c.paths[x].slot = k, slot
		}
	}
	return c, nil
}

// Hear takes in a statement of a part.
func (c *Council) Hear(part int, b []byte) error {
	p := &c.parts[part]
	s := &p.stated
	if err := s.read(b); err != nil {
		return err
	}
	p.spoken, p.waits = true, false
	for k, x := range p.out {
		y, o := &c.paths[x], &s.Out[k]
		switch n := int32(o.Sent - y.sent); {
		case o.Claim < 0 || o.Floor < 0 || o.Due < 0 || n < 0 || (n > 0) != (o.Due != unit.Never):
			return fmt.Errorf("%d frames sent on path %d, due at %v: %w", n, y.number, o.Due, errStatement)
		case o.Due < y.promised:
			return fmt.Errorf("a frame is due at %v on path %d, and it was promised that none is before %v", o.Due, y.number, y.promised)
		case n > 0 && int32(y.seen-o.Sent) < 0:
			y.under = append(y.under, sending{o.Sent, o.Due})
		}
		y.claim, y.floor, y.sent = o.Claim, o.Floor, o.Sent
	}
	for k, x := range p.in {
		y, need, seen := &c.paths[x], s.In[k].Need, s.In[k].Seen
		if need < 0 || int32(seen-y.seen) < 0 {
			return fmt.Errorf("%d frames seen on path %d: %w", int32(seen-y.seen), y.number, errStatement)
		}
		y.need, y.seen = need, seen
		for len(y.under) > 0 && int32(y.under[0].through-seen) <= 0 {
			y.under = y.under[1:]
		}
		p.waits = p.waits || need > y.promised
	}
	c.steps++
	return nil
}

// Promise promises each part that waits what it needs, if that can be; send is handed what it
// is to be told, its to read during the call.
func (c *Council) Promise(send func(part int, promise []byte)) {
	c.find()
	for k := range c.parts {
		p := &c.parts[k]
		if !p.waits || slices.ContainsFunc(p.in, func(x int) bool { return c.paths[x].need > c.paths[x].least }) {
			continue
		}
		c.tell(k, send)
		p.waits = false
	}
}

// tell tells a part what it is promised.
func (c *Council) tell(part int, send func(part int, promise []byte)) {
	b := c.buf[:0]
	for _, x := range c.parts[part].in {
		y := &c.paths[x]
		y.promised = max(y.promised, y.least)
		b = Promise{y.promised, y.lost}.Append(b)
	}
	c.steps++
	c.buf = b
	send(part, b)
}

// find finds the least instant at which a frame that has not been seen can be due on each path,
// as far as somebody needs it: Dijkstra's way from path to path.
func (c *Council) find() {
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
	next := c.next[:0]
	defer func() { c.next = next }()
	for x := range c.paths {
		y := &c.paths[x]
		y.least, y.settled = y.claim, false
		if len(y.under) > 0 {
			y.least = min(y.least, y.under[0].due)
		}
		y.least = max(y.least, y.promised)
		next = append(next, coming{y.least, x})
	}
	heap.Init(&next)
	for len(next) > 0 {
		at, x := next[0].at, next[0].path
		last := len(next) - 1
		next[0], next = next[last], next[:last]
		if last > 0 {
			heap.Fix(&next, 0)
		}
		y := &c.paths[x]
		if y.settled {
			continue
		}
		if at >= most { // all others are no earlier
			for x := range c.paths {
				if y := &c.paths[x]; !y.settled {
					y.least = at
				}
			}
			return
		}
		y.settled = true
		p := &c.parts[y.to]
		if p.stated.Over {
			continue
		}
		for k, d := range p.Arrival[y.number] {
			z := &c.paths[p.out[k]]
			if t := max(After(at, d), z.floor, z.promised); t < z.least {
				z.least = t
				next = append(next, coming{t, p.out[k]})
				heap.Fix(&next, len(next)-1)
			}
		}
	}
}

// coming is a path, and when a frame can be due there.
type coming struct {
	at   unit.Time
	path int
}

// frontier is a heap of what is to be looked at.
type frontier []coming

func (f frontier) Len() int           { return len(f) }
func (f frontier) Less(a, b int) bool { return f[a].at < f[b].at }
func (f frontier) Swap(a, b int)      { f[a], f[b] = f[b], f[a] }
func (f frontier) Push(any)           { panic("council: a frontier grows by append") } // which boxes nothing
func (f frontier) Pop() any           { panic("council: a frontier shrinks by a slice") }

// Steps returns how many statements and promises there were: where it stays the same, nobody
// gets on.
func (c *Council) Steps() int64 { return c.steps }

// GiveUp tells the parts of frames that were sent and have not come, for which it has been waited
// long enough: they are lost. A part that may not have had the time to see them (there is false)
// is waited for.
func (c *Council) GiveUp(there func(part int) bool, send func(part int, promise []byte)) {
	for k := range c.parts {
		p, some := &c.parts[k], false
		for _, x := range p.in {
			if y := &c.paths[x]; len(y.under) > 0 && !p.stated.Over && there(k) {
				y.lost, y.under, some = y.sent, nil, true
			}
			c.paths[x].least = c.paths[x].promised
		}
		if some {
			c.tell(k, send)
		}
	}
}

// Owing returns the part that has to say something, and by when it said that it would: of those
// that could go on, or have never stated anything, the one that is behind all others. ok is false
// where there is none.
func (c *Council) Owing() (part int, at unit.Time, ok bool) {
	waited := false
	for k := range c.parts {
		p := &c.parts[k]
		if waited = waited || p.waits || !p.spoken; p.stated.Over || p.waits {
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
