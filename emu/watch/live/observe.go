package live

import (
	"maps"
	"slices"
	"time"

	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/watch/observe"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Every is the wall time from one moment of a run to the next.
const Every = 100 * time.Millisecond

// lastingShare is the share of the time since the last moment for which a line must have been
// stopped to count as waiting. With credit for a few packets a line stops for some packets' time
// again and again, which is no congestion.
const lastingShare = 0.25

// Observer shows a run to the pages of a server. It is an observe.Observer of the run in its scene.
type Observer struct {
	scene  *Scene
	show   func(*Moment)
	before unit.Time // instant of the figures of the moment before
	last   *Moment
	ended  []ended // by workload
}

// ended are the figures of the flows of a workload that have ended, of n of them, that want all of
// these flows.
type ended struct {
	WorkMoment
	n float64
}

// NewObserver returns an observer of the run of a scene, that shows its moments.
func NewObserver(c *Scene, show func(*Moment)) *Observer { return &Observer{scene: c, show: show} }

// Observe shows a moment.
func (o *Observer) Observe(s *observe.Snapshot) { o.show(o.moment(s)) }

func (o *Observer) moment(s *observe.Snapshot) *Moment {
	c := o.scene
	m := &Moment{State: stateOf(s)}
	o.count(m, s)
	stalled := make([]bool, len(s.Stalls)) // for long
	for i := range s.Stalls {
		x := &s.Stalls[i]
		l := c.line(x.Hop)
		if l < 0 {
			continue
		}
		m.Stop[l] = NoCredit
		if x.Block == port.Paused {
			m.Stop[l] = Paused
		}
		if stalled[i] = float64(m.Stopped[l]) >= lastingShare; !stalled[i] {
			continue
		}
		for _, cause := range x.For {
			if n := c.line(cause.Next.Hop); !cause.Ends && n >= 0 && !slices.Contains(m.Waits, Wait{l, n}) {
				m.Waits = append(m.Waits, Wait{l, n})
			}
		}
	}
	lasting := slices.DeleteFunc(slices.Clone(s.Trees), func(t observe.Tree) bool {
		return !slices.ContainsFunc(t.Stalls, func(k int) bool { return stalled[k] })
	})
	m.Roots, m.Labels = nil, c.labels(s.Scenario, s.Now)
	m.addRoots(s.Fabric, lasting)
	for _, e := range s.Scenario.Events[len(s.Fabric.Scenario.Events):] {
		m.Done = append(m.Done, e.Text())
	}
	o.last = m
	return m
}

// count adds to a moment how things are, and how much lines and flows did since the one before.
// Where there are no newer figures, it adds the old ones again.
func (o *Observer) count(m *Moment, s *observe.Snapshot) {
	c, v := o.scene, s.Figures
	since := metrics.Interval{From: o.before, To: v.End()}
	fresh := since.To > since.From
	line := func(i int) metrics.At { return metrics.At{View: v, Of: metrics.Link, Hop: c.hops[i]} }
	flow := func(i int) metrics.At { return metrics.At{View: v, Of: metrics.Flow, Flow: i} }
	o.columns(m, since, len(c.hops), line)
	o.columns(m, since, len(c.Flows), flow)
	for _, h := range c.hops {
		stop := Goes
		switch state := s.Link(h); {
		case state.Down:
			stop = Down
		case state.Paused == 0xFF:
			stop = Paused
		}
		m.Stop = append(m.Stop, stop)
	}
	m.Stopped = make([]Figure, len(c.hops))
	if !fresh && o.last != nil {
		m.Stopped = o.last.Stopped
	} else if fresh {
		for i := range c.hops {
			m.Stopped[i] = Figure(max(kept.Over(line(i), flowControl, since), paused.Over(line(i), "", since)))
		}
		for i := range c.Flows {
			first := c.Flows[i].Path[0] // the stops of a source are counted for its flows
			m.Stopped[first] = max(m.Stopped[first], Figure(keptSource.Over(flow(i), flowControl, since)))
		}
	}
	if o.ended == nil {
		o.ended = make([]ended, len(c.Works))
	}
	for k := range c.Works {
		m.Works = append(m.Works, o.work(s, k, since))
	}
	o.before = since.To
}

// The figures by which flow control stops a line.
var (
	kept        = metrics.Find(metrics.Link, "stalled")
	keptSource  = metrics.Find(metrics.Flow, "stalled")
	paused      = metrics.Find(metrics.Link, "paused")
	flowControl = "flow-control"
)

// work returns the moment of a workload. Percentiles want all flows that have ended, so they are
// computed again when there are a twentieth more, and at the end of the run.
func (o *Observer) work(s *observe.Snapshot, k int, since metrics.Interval) WorkMoment {
	w, x, v := WorkMoment{Figures: map[string]Figure{}}, &o.ended[k], s.Figures
	n := endedFlows.Read(metrics.At{View: v, Of: metrics.Workload, Work: k})
	again := x.Figures == nil || n == 0 || s.Last && n > x.n || n > x.n+x.n/20
	if again {
		*x = ended{WorkMoment{map[string]Figure{}, sizesOf(report.Sizes(v.Counted(k)))}, n}
	}
	for _, of := range [...]metrics.Object{metrics.Workload, metrics.Collective} {
		if of == metrics.Collective && !o.scene.Works[k].Collective {
			continue
		}
		at := metrics.At{View: v, Of: of, Work: k}
		for f := range v.Figures(of) {
			switch key := f.Live; {
			case key == "":
			case f.By() != "" && again:
				f.Each(at, func(part string, value float64) { x.Figures[key+"."+part] = Figure(value) })
			case f.By() != "":
			case f.Kind != metrics.Mean:
				w.Figures[key] = Figure(f.Read(at))
			case since.To > since.From:
				w.Figures[key] = Figure(f.Over(at, "", since))
			case o.last != nil:
				w.Figures[key] = o.last.Works[k].Figures[key]
			}
		}
	}
	maps.Copy(w.Figures, x.Figures)
	w.Sizes = x.Sizes
	return w
}

// endedFlows is how many flows of a workload have ended.
var endedFlows = metrics.Find(metrics.Workload, "transfers.ended")

// columns adds the figures of n lines or flows to a moment that the table of figures has for it:
// means and counters over a time, and the others as they are. Where the time is empty, a mean is
// the old one again.
func (o *Observer) columns(m *Moment, since metrics.Interval, n int, at func(i int) metrics.At) {
	if n == 0 {
		return
	}
	for f := range at(0).Figures(at(0).Of) {
		if f.Live == "" {
			continue
		}
		passes := f.Kind == metrics.Counter || f.Kind == metrics.Mean
		column := make([]Figure, n)
		switch {
		case passes && since.To > since.From:
			for i := range column {
				column[i] = Figure(f.Over(at(i), "", since))
			}
		case !passes:
			for i := range column {
				column[i] = Figure(f.Read(at(i)))
			}
		case f.Kind == metrics.Mean && o.last != nil:
			column = o.last.column(f.Live)
		}
		if m.columns()[f.Live] != nil || slices.ContainsFunc(column, Figure.known) {
			m.setColumn(f.Live, column)
		}
	}
}

// setColumn sets the column with a key.
func (m *Moment) setColumn(key string, column []Figure) {
	if to := m.columns()[key]; to != nil {
		*to = column
		return
	}
	if m.Figures == nil {
		m.Figures = map[string][]Figure{}
	}
	m.Figures[key] = column
}

// columns returns the columns of a moment by their keys.
func (m *Moment) columns() map[string]*[]Figure {
	return map[string]*[]Figure{"used": &m.Used, "queue": &m.Queue, "held": &m.Held, "rate": &m.Rate, "limit": &m.Limit, "target": &m.Target, "feedback": &m.Feedback}
}

// column returns the column with a key.
func (m *Moment) column(key string) []Figure {
	if x := m.columns()[key]; x != nil {
		return *x
	}
	return m.Figures[key]
}
