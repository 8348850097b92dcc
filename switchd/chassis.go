package switchd

import (
	"errors"

	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/agenda"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// chassis is the common part of all kinds of switches: ports, tables of routes, and everything that
// falls due at their links or with frames that arrive. The fields that every event needs are in its
// first cache lines, because a large fabric has many switches.
type chassis struct {
	rec    trace.Recorder
	ports  []port.Port
	routes *routes      // the table that is in use
	agenda agenda.Slots // see transmitterSlot

	dirty   []int32  // outputs to serve, in order
	touched []uint64 // by output: the round in which it was last put into dirty
	out     *port.Outbox
	round   uint64    // how often all touched outputs have been served
	tables  []routes  // all tables
	seed    uint64    // of choices among equal routes
	balance *balancer // of frames among them; nil: the hash chooses
	slots   slots     // the frames that are in the switch
}

// assemble makes the ports of a switch. Its agenda has the given number of slots more than the
// ports need.
func (c *chassis) assemble(index int, out *port.Outbox, ports []port.Config, tables []Routes, seed uint64,
	balance *balancer, events trace.Sink, more int) error {
	n := len(ports)
	if out == nil {
		out = new(port.Outbox)
	}
	*c = chassis{
		ports: make([]port.Port, n), seed: seed, balance: balance, out: out, rec: trace.NewRecorder(index, events),
		agenda: agenda.NewSlots(3*n + more), touched: make([]uint64, n), round: 1, dirty: make([]int32, 0, n),
	}
	for i := range ports {
		c.ports[i].Init(port.ID(i), &ports[i], c.out, &c.rec)
		c.agenda.Set(c.resendSlot(i), 0)
	}
	if len(tables) == 0 {
		return errors.New("it has no table of routes")
	}
	for i := range tables {
		if err := tables[i].Check(n); err != nil {
			return err
		}
		c.tables = append(c.tables, newRoutes(tables[i], n, balance == nil))
	}
	c.routes = &c.tables[0]
	return nil
}

// The slots of the agenda. Of several that are due at the same instant, links that become idle come
// first, then flow control packets that are only repeated, then frames that may be forwarded; each
// kind is in the order of ports.
func (c *chassis) transmitterSlot(p int) int { return p }
func (c *chassis) resendSlot(p int) int      { return len(c.ports) + p }
func (c *chassis) headerSlot(p int) int      { return 2*len(c.ports) + p }

// wake makes the next Advance serve an output.
func (c *chassis) wake(now unit.Time, p int) { c.agenda.Set(c.transmitterSlot(p), now) }

// setTimer records when an output that has been served has to be served again for its flow control.
func (c *chassis) setTimer(p int, pt *port.Port) {
	slot := c.resendSlot(p)
	c.agenda.Set(slot, pt.Timer(c.agenda.Due(slot)))
}

// expect records when the next frame of an input may be forwarded.
func (c *chassis) expect(p int, eligible unit.Time) { c.agenda.Set(c.headerSlot(p), eligible) }

// next takes the first slot that is due. There must be one.
func (c *chassis) next() (slot int) {
	slot, _ = c.agenda.First()
	c.agenda.Unset(slot)
	return slot
}

// due reports whether there is something to do.
func (c *chassis) due(now unit.Time) bool {
	_, due := c.agenda.DueBy(now)
	return due
}

// outputsDue reports whether an output has to be served before any frame may be forwarded.
func (c *chassis) outputsDue(now unit.Time) bool {
	slot, due := c.agenda.First()
	return due <= now && slot < 2*len(c.ports)
}

// Deadline returns when Advance has something to do.
func (c *chassis) Deadline() unit.Time { return c.agenda.Deadline() }

// Slots returns how many slots the switch needs in an agenda (drive.Sharer).
func (c *chassis) Slots() int { return c.agenda.Len() }

// Share moves the switch's slots to another agenda (drive.Sharer).
func (c *chassis) Share(a *agenda.Agenda, base int) *port.Outbox {
	c.agenda.Move(a, base)
	return c.out
}

// touch records that an output has to be served.
func (c *chassis) touch(p int) {
	if c.touched[p] != c.round {
		c.touched[p] = c.round
		c.dirty = append(c.dirty, int32(p))
	}
}

// rest records that all touched outputs have been served.
func (c *chassis) rest() {
	c.dirty = c.dirty[:0]
	c.round++
}

// stalled reports that frames of a lane or priority wait at an output for another reason than
// before.
func (c *chassis) stalled(now unit.Time, p int, lane uint8, block, was port.Block) {
	c.rec.Stall(now, uint16(p), lane, uint8(block), uint8(was))
}

// ready returns when an output may begin a frame that is still arriving, so that it does not run
// dry: its transmission ends no earlier than the frame's tail arrives.
func ready(output *port.Port, tail unit.Time, n unit.Size) unit.Time {
	return tail - unit.Time(output.Transmitter().Serialise(n))
}

// forward picks the output for a frame.
func (c *chassis) forward(now unit.Time, f *wire.Frame) (output int, ok bool) {
	if output, ok = c.routes.forward(f, c.seed); !ok {
		return c.balanced(now, f, output)
	}
	return output, ok
}

// balanced picks the output for a frame for which routes.forward has found none, but the number of
// a group.
func (c *chassis) balanced(now unit.Time, f *wire.Frame, group int) (output int, ok bool) {
	if group >= len(c.routes.balanced) {
		return 0, false
	}
	return int(c.balance.choose(now, f, group, c.routes.balanced[group], c.ports)), true
}

// reroute puts another table of routes into use.
func (c *chassis) reroute(now unit.Time, table int) {
	c.routes = &c.tables[table]
	c.rec.Emit(trace.Event{At: now, Kind: trace.Control, A: int64(port.RoutesChange{}.Kind()), B: int64(table)})
}

// detour returns the output for a frame that waits for an output whose link is down: another one,
// if the routes have one.
func (c *chassis) detour(now unit.Time, f *wire.Frame, output int) int {
	if to, ok := c.forward(now, f); ok {
		return to
	}
	return output
}

// changing is the part of a change that depends on the kind of switch.
type changing interface {
	// lose reports all frames in the switch as lost, except those that are on a link: their links
	// go down, and the nodes that should have received them report them.
	lose(now unit.Time)
	// empty removes everything from the switch, and resets its congestion points.
	empty(now unit.Time)
	// reroute puts another table of routes into use. A frame that waits for an output whose link is
	// down moves to its new output, if there is one, behind the frames that wait there.
	reroute(now unit.Time, table int)
}

// apply makes a change from outside to a switch.
func (c *chassis) apply(now unit.Time, p port.ID, change port.Change, s changing) {
	switch x := change.(type) {
	case port.Restart:
		s.lose(now)
		c.agenda.Clear()
		s.empty(now)
		if c.balance != nil {
			c.balance.reset()
		}
		c.restart(now)
	case port.RoutesChange:
		if given, ok := x.Routes.(Routes); ok {
			if given.Check(len(c.ports)) != nil {
				return
			}
			for len(c.tables) <= x.Table {
				c.tables = append(c.tables, routes{})
			}
			c.tables[x.Table] = newRoutes(given, len(c.ports), c.balance == nil)
		}
		s.reroute(now, x.Table)
	case port.RateChange:
		c.ports[p].Apply(now, x)
	default: // a waiting frame may now go, or may not go any more
		c.ports[p].Apply(now, x)
		c.wake(now, int(p))
	}
}

// restart resets a switch that is empty: all links are down.
func (c *chassis) restart(now unit.Time) {
	c.rest()
	for p := range c.ports {
		c.ports[p].Apply(now, port.Restart{})
	}
}

// points are the congestion points of a switch. A kind that it does not have is nil.
type points struct {
	cell     unit.Size // queues are counted in cells of this size; 0: they are not
	some     bool      // there is at least one point
	reported bool      // they report congestion, whatever waits (port.CongestionReported)
	marking  cp.Marking
	notifier cp.Notifier
	dropper  cp.Dropper
}

func (p *points) make(maker cp.Maker, ports int, rec *trace.Recorder) error {
	if maker == nil {
		return nil
	}
	all, err := maker(ports, rec)
	*p = points{all.Cell, all.Marker != nil || all.Notifier != nil || all.Dropper != nil, p.reported, all.Marking, all.Notifier, all.Dropper}
	return err
}

// apply makes a change from outside that is about what the points report.
func (p *points) apply(change port.Change) {
	switch change.(type) {
	case port.CongestionReported:
		p.reported = true
	case port.CongestionMeasured:
		p.reported = false
	}
}

func (p *points) reset() {
	if p.marking.Marker != nil {
		p.marking.Reset()
	}
	if p.notifier != nil {
		p.notifier.Reset()
	}
	if p.dropper != nil {
		p.dropper.Reset()
	}
}

// Poll takes the next frame for a link.
func (c *chassis) Poll() (*port.Transmission, bool) { return c.out.Poll() }
