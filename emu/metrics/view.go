package metrics

import (
	"iter"
	"math"
	"slices"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// A Mirror is a copy of a collector that another goroutine reads while the run runs. The
// goroutine of the run updates it from time to time (Update). The copy shares the rows of closed
// bins with the run. The run changes such a row only in a copy of it, so views stay right.
type Mirror struct {
	from   *Collector
	copied Collector // the rows, lives, and states of ports and flows
}

// NewMirror returns a mirror of c, which has counted nothing yet.
func NewMirror(c *Collector) *Mirror {
	c.longest = slices.Max(c.fabric.Longest())
	m := &Mirror{from: c, copied: *c}
	m.copied.now = make([]int64, len(c.now))
	m.copied.ports, m.copied.tallies = slices.Clone(c.ports), slices.Clone(c.tallies)
	m.copied.flows, m.copied.lives = slices.Clone(c.flows), slices.Clone(c.lives)
	m.copied.works, m.copied.recent, m.copied.faults = copyWorks(nil, c.works), slices.Clone(c.recent), slices.Clone(c.faults)
	m.copied.causes, m.copied.drops, m.copied.retries, m.copied.credits = nil, nil, nil, nil // copies: see Update
	for i := range m.copied.lives {
		m.copied.lives[i] = life{active: make([]Interval, 0, 16)}
	}
	for i := range m.copied.ports {
		if s := m.copied.ports[i].pausing; s != nil {
			m.copied.ports[i].pausing = &pausingState{until: slices.Clone(s.until)}
		}
	}
	return m
}

// Update shares the rows that are new, and copies the states of ports and flows at an instant,
// which the run has reached (trace.Batch.Reach). It belongs to the goroutine of the run, and
// allocates nothing unless a flow has been active more often than ever. States may not be read at
// the same time.
func (m *Mirror) Update(at unit.Time) {
	c, d := m.from, &m.copied
	if !c.closed {
		for _, node := range c.behind {
			node(at)
		}
	}
	d.cur = c.settled()
	d.rows = c.rows.lend(d.cur + 1)
	copy(d.now, c.now)
	for i := range c.ports {
		d.ports[i].columns = c.ports[i].columns
		if p := c.ports[i].pausing; p != nil {
			d.ports[i].pausing.counted = p.counted
			copy(d.ports[i].pausing.until, p.until)
		}
	}
	copy(d.flows, c.flows)
	copy(d.tallies, c.tallies)
	copy(d.recent, c.recent)
	copy(d.faults, c.faults)
	d.works = copyWorks(d.works, c.works)
	for i := range c.lives {
		x, y := &c.lives[i], &d.lives[i]
		known := min(max(len(y.active)-1, 0), len(x.active)) // of the last one the end may be new
		y.active = append(y.active[:known], x.active[known:]...)
		y.ended, y.limited, y.targeted, y.logged = x.ended, x.limited, x.targeted, x.logged
		y.columns, y.settled, y.windowed = x.columns, x.settled, x.windowed
		y.worst, y.selective = x.worst, x.selective
		y.acks, y.failed, y.lost = x.acks, x.failed, x.lost.copy(y.lost)
	}
	d.edges, d.silences, d.violations, d.failures = c.edges, c.silences, c.violations, c.failures // what they have does not change
	d.violated, d.scenario, d.capacities, d.lost = c.violated, c.scenario, c.capacities, c.lost
	d.storms, d.closed = append(d.storms[:0], c.storms...), c.closed
	d.causes, d.drops, d.retries, d.credits = copyEach(d.causes, c.causes), copyEach(d.drops, c.drops), copyEach(d.retries, c.retries), append(d.credits[:0], c.credits...)
}

// View is the state of a run at an instant: of one that runs of its Mirror, of one that is over of
// its collector (Collector.View). Snapshots, the live page, Prometheus, the counters of InfiniBand
// and the result are made from it, by the table of figures. Any goroutine may read it until the
// next call of Mirror.View with it.
type View struct {
	c     Collector
	Now   unit.Time   // the instant of the states; of a run that runs also of the counters
	Ports []PortState // at Now, by node and number: see Port
	Flows []FlowState // at Now, in the order of Fabric.Flows

	Outside []Outside // counts of adapters and guests, at Now
}

// View writes the state of the mirror into v, which an earlier call may have written; the states of
// ports and flows were those of an instant at the last Update. It must not be called at the same
// time as Update.
func (m *Mirror) View(v *View, at unit.Time) {
	place, totals := v.c.rows.place, v.c.totals
	m.copied.rows.index(place, len(m.copied.now))
	if totals = totals[:0]; !m.copied.closed {
		totals = m.copied.rowAt(totals, at)
	}
	lives := v.c.lives
	if lives == nil {
		lives = make([]life, len(m.copied.lives))
	}
	for i := range lives {
		active, lost := append(lives[i].active[:0], m.copied.lives[i].active...), m.copied.lives[i].lost.copy(lives[i].lost)
		lives[i] = m.copied.lives[i]
		lives[i].active, lives[i].lost = active, lost
	}
	works := copyWorks(v.c.works, m.copied.works)
	recent := append(v.c.recent[:0], m.copied.recent...)
	causes, drops, retries := copyEach(v.c.causes, m.copied.causes), copyEach(v.c.drops, m.copied.drops), copyEach(v.c.retries, m.copied.retries)
	tallies, storms := append(v.c.tallies[:0], m.copied.tallies...), append(v.c.storms[:0], m.copied.storms...)
	credits, faults := append(v.c.credits[:0], m.copied.credits...), append(v.c.faults[:0], m.copied.faults...)
	v.c = m.copied
	v.c.lives, v.c.works, v.c.recent, v.c.causes, v.c.drops, v.c.retries, v.c.credits, v.c.faults = lives, works, recent, causes, drops, retries, credits, faults
	v.c.tallies, v.c.storms = tallies, storms
	if !v.c.closed {
		v.c.totals = totals
	}
	v.state(&m.copied, at)
	v.c.flows, v.c.ports = nil, nil // the states are copies of them
}

// rowAt counts what lasts up to an instant, and appends the counters then. It changes only what is
// the collector's own: rows that were lent, and their list, stay as they are.
func (c *Collector) rowAt(to []int64, at unit.Time) []int64 {
	c.rows.used = slices.Clip(c.rows.used)
	c.settle(at)
	return c.rows.row(to, c.now)
}

// View returns the state of a run that is over: its end.
func (c *Collector) View() *View {
	v := &View{c: *c}
	v.state(c, c.End())
	return v
}

// copyEach copies values, of which some are nil. It uses the memory of earlier copies again.
func copyEach[T any](to, from []*T) []*T {
	if len(to) != len(from) {
		to = make([]*T, len(from))
	}
	for i, x := range from {
		switch {
		case x == nil:
			to[i] = nil
		case to[i] == nil:
			to[i] = new(T)
			fallthrough
		default:
			*to[i] = *x
		}
	}
	return to
}

// Fabric returns the fabric of the run.
func (v *View) Fabric() *fabric.Fabric { return v.c.fabric }

// Scenario returns the scenario of the run, with the events that were added during it.
func (v *View) Scenario() *scenario.Scenario { return v.c.scenario }

// Port returns the state of a port of a node.
func (v *View) Port(node int, p port.ID) *PortState { return &v.Ports[int(v.c.first[node])+int(p)] }

// End returns the instant up to which figures over a time are complete: of a run that runs it is a
// little before Until, since a frame that is still on its way then belongs to the time before, too.
func (v *View) End() unit.Time { return v.c.End() }

// Until returns the instant up to which counters have counted, and transfers have ended: of a run
// that runs Now, and else its end.
func (v *View) Until() unit.Time {
	if v.c.totals != nil {
		return v.Now
	}
	return v.End()
}

// Window returns the last time over which figures are means: measure.window, ending at End,
// or less at the start of a run. It is empty at the start.
func (v *View) Window() Interval {
	return Interval{max(0, v.End().Add(-v.c.scenario.Measure.Window)), v.End()}
}

// Row is a figure of an object: a direction of a link, a group of flows, or a flow.
type Row struct {
	Object string
	Figure *Figure
	End    string // of the name of a quantity that has several
	Value  float64
}

// Name returns the name of the quantity as in expressions: "stalled.paused".
func (r Row) Name() string { return r.Figure.name(r.End) }

// Rows yields the figures of all objects over a time, of the quantities whose names are given,
// of all if none is; those that are undefined are left out. It computes each as it is asked for.
func (v *View) Rows(during Interval, names ...string) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for i := range v.c.objects.all {
			for g := range v.c.objects.figures(&v.c.objects.all[i]) {
				if len(names) > 0 && !slices.Contains(names, g.row.name(g.end)) {
					continue
				}
				value := v.c.figure(&g, during.From, during.To)
				if !math.IsNaN(value) && !yield(Row{g.object.name, g.row, g.end, value}) {
					return
				}
			}
		}
	}
}

// Logged returns how many entries the reaction point of a flow has made in its log of congestion.
func (v *View) Logged(flow int) int64 { return v.c.lives[flow].logged }

// CountsFrom is Collector.CountsFrom.
func (v *View) CountsFrom(k int) unit.Time { return v.c.CountsFrom(k) }

// Counted is Collector.Counted of the transfers up to View.Until.
func (v *View) Counted(k int) iter.Seq[*Done] { return v.c.Counted(k) }

// Jain is Collector.Jain.
func (v *View) Jain(flows []int, from, to unit.Time) float64 { return v.c.Jain(flows, from, to) }

type PortState struct {
	// Blocks are the causes that keep the frames that wait for its link, by priority: Idle where
	// none wait. On InfiniBand the first stands for all virtual lanes.
	Blocks   [port.Priorities]port.Block
	Queue    int64     // bytes that wait for its link; -1 where they cannot be found
	Held     int64     // amount in the buffer behind it: blocks of credit; on Ethernet bytes
	Paused   uint8     // on Ethernet: the priorities that the far end has stopped, as bits; all with PAUSE
	Down     bool      // its link is
	Capacity unit.Rate // of its line
	// Congested is how long the data that waited for it exceeded the threshold of cca; see observe.
	Congested unit.Duration
}

// Keeps returns the cause that keeps the frames of a priority that wait: Idle where none wait.
func (p *PortState) Keeps(priority uint8) port.Block {
	if int(priority) >= len(p.Blocks) {
		return port.Idle
	}
	return p.Blocks[priority]
}

type FlowState struct {
	Block  port.Block // the cause that keeps its source: Idle where there is nothing to send
	Active bool       // it has something to send, or in flight
	Since  unit.Time  // when it last delivered something, or began to have something to send
	Limit  unit.Rate  // the rate of its limiter; 0 where it is unknown
	Target unit.Rate  // the rate that its reaction point aims at; 0: it has no target
	Window int64      // congestion window of TCP in bytes
}

// Marked is a data frame that a switch has marked: the index of its flow in those of the fabric,
// and when.
type Marked struct {
	Flow int
	At   unit.Time
}

// Marked appends the latest frames that a switch has marked, the latest first, at most 16.
func (v *View) Marked(node int, all []Marked, most int) []Marked {
	for m := range v.c.recent[node].Each {
		if len(all) == most {
			break
		}
		all = append(all, Marked{int(m.QP - firstQP), m.At})
	}
	return all
}

// state reads the states of ports and flows, which are those of an instant.
func (v *View) state(c *Collector, at unit.Time) {
	v.Now, v.Ports, v.Flows = at, v.Ports[:0], v.Flows[:0]
	down := make([]bool, len(c.fabric.Wires))
	for w := range down {
		down[w] = c.isDown(w, at+1)
	}
	number := 0
	for i := range c.fabric.Nodes {
		for _, joined := range c.fabric.Nodes[i].Ports {
			p := &c.ports[number]
			s := PortState{Queue: c.tallies[number].Queue, Held: c.tallies[number].Occupancy,
				Down: down[joined.Wire], Capacity: c.rateAt(joined.Wire, at)}
			for lane, block := range c.tallies[number].Blocks {
				s.Blocks[lane] = port.Block(block)
			}
			if c.lost && !InBytes(c.fabric, joined.Wire) {
				s.Queue = -1
			}
			if p.pausing != nil {
				for class, until := range p.pausing.until {
					if until > at {
						s.Paused |= 1 << class
					}
				}
				if s.Paused != 0 && len(p.pausing.until) == 1 {
					s.Paused = 0xFF
				}
			}
			v.Ports = append(v.Ports, s)
			number++
		}
	}
	for i := range c.flows {
		row := c.now[c.ofFlows+i*flowColumns:]
		f := &c.flows[i]
		s := FlowState{Block: port.Block(f.Block), Active: f.Waits() && !c.lives[i].failed, Since: f.Delivered, Limit: unit.Rate(f.Limit), Target: unit.Rate(row[flowTarget])}
		if c.ofStreams > 0 {
			s.Window = c.now[c.ofStreams+i*tcpColumns+tcpWindow]
		}
		v.Flows = append(v.Flows, s)
	}
}

// Happen gives the collector the events that were added to the scenario during the run: the rest of
// the run is measured with them.
func (c *Collector) Happen(s *scenario.Scenario) {
	c.scenario, c.capacities = s, capacitiesOf(c.fabric, s)
	if !c.lost {
		if c.lost = s.Restarts() || s.Rerouted(); c.lost {
			c.ahead = nil
			for i := range c.tallies {
				c.tallies[i].OfInputs = false
			}
		}
	}
	for i := range c.flows {
		c.flows[i].Size = 0
	}
}

// A Course is how the figures of a run have gone so far, for reading while the run runs, by
// any goroutine. It shares the rows with the run, which writes into a copy where it still
// changes one of them.
type Course struct{ c Collector }

// Series is Collector.Series of the run so far.
func (x *Course) Series() []Series { return x.counted().Series() }

// Outline is Collector.Outline of the run so far.
func (x *Course) Outline() []Series { return x.counted().Outline() }

// counted returns the collector, with the places of the counters in the rows.
func (x *Course) counted() *Collector {
	c := x.c
	c.rows.index(nil, len(c.now))
	return &c
}

// Courses returns how another goroutine is handed the course of the run: it calls ask and then
// receives one, once a bin has ended of which there is one. Nothing comes when the run is over.
// Courses is called before the run begins, once.
func (c *Collector) Courses() (ask func(), courses <-chan *Course) {
	c.longest = slices.Max(c.fabric.Longest())
	c.asked, c.courses = make(chan struct{}, 1), make(chan *Course, 1)
	return func() {
		select {
		case c.asked <- struct{}{}:
		default: // it was asked for already
		}
	}, c.courses
}

// answer sends the course if it was asked for.
func (c *Collector) answer() {
	if len(c.asked) == 0 {
		return
	}
	if last := c.settled(); last > 0 {
		<-c.asked
		c.courses <- c.course(last)
	}
}

// Course returns the course of a run that is over. The caller is its goroutine.
func (c *Collector) Course() *Course { return c.course(c.cur) }

// course returns the course up to an edge.
func (c *Collector) course(last int) *Course {
	x := &Course{*c}
	x.c.works = copyWorks(nil, c.works)
	x.c.cur, x.c.edges, x.c.rows = last, c.edges[:last+1], c.rows.lend(last+1)
	return x
}

// settled returns the last edge up to which all frames have been counted.
func (c *Collector) settled() int {
	k := c.cur
	for k > 0 && !c.closed && c.edges[k].Add(c.longest) > c.lo {
		k--
	}
	return k
}
