package live

import (
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
	before totals // as of the moment before
	last   *Moment
	ended  []ended // by workload
}

// ended are the figures of the flows of a workload that have ended, of n of them.
type ended struct {
	WorkMoment
	n int64
}

// totals are the counts of lines and flows up to an instant.
type totals struct {
	at    unit.Time
	lines []metrics.PortTotals
	flows []metrics.FlowCounts
	works []metrics.WorkCounts

	counted map[*metrics.Figure][]float64 // by line, or by flow
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

// count adds to a moment how much lines and flows did since the one before. Where there are no
// newer figures, it adds the old ones again.
func (o *Observer) count(m *Moment, s *observe.Snapshot) {
	c, v, now := o.scene, s.Figures, totals{at: s.Figures.End(), counted: map[*metrics.Figure][]float64{}}
	for _, h := range c.hops {
		end := s.Fabric.Wires[h.Wire].Ends[h.From]
		state := s.Link(h)
		stop := Goes
		switch {
		case state.Down:
			stop = Down
		case state.Paused == 0xFF:
			stop = Paused
		}
		m.Stop = append(m.Stop, stop)
		now.lines = append(now.lines, v.Totals(end.Node, end.Port))
	}
	for i := range c.Flows {
		now.flows = append(now.flows, v.Flow(i))
	}
	for k := range c.Works {
		now.works = append(now.works, v.Work(k))
	}
	if o.before.lines == nil {
		o.before.lines, o.before.flows = make([]metrics.PortTotals, len(now.lines)),
			make([]metrics.FlowCounts, len(now.flows))
		o.before.works, o.ended = make([]metrics.WorkCounts, len(now.works)), make([]ended, len(now.works))
	}
	span := now.at.Sub(o.before.at)
	o.columns(m, v, &now, len(c.hops), func(i int) metrics.At { return metrics.At{View: v, Of: metrics.Link, Hop: c.hops[i]} })
	o.columns(m, v, &now, len(c.Flows), func(i int) metrics.At { return metrics.At{View: v, Of: metrics.Flow, Flow: i} })
	if span <= 0 && o.last != nil {
		m.Works = slices.Clone(o.last.Works)
		for k := range m.Works {
			x := o.endedOf(v, k, now.works[k].Ended, s.Last)
			w := &m.Works[k]
			w.Completion, w.Median, w.P99, w.Sizes = x.Completion, x.Median, x.P99, x.Sizes
		}
		m.Used, m.Stopped = o.last.Used, o.last.Stopped
		return
	}
	part := func(d unit.Duration) Figure { return Figure(d) / Figure(max(span, 1)) }
	kept := func(now, before *metrics.Stalls) Figure {
		return part(now[port.NoCredit] + now[port.Paused] - before[port.NoCredit] - before[port.Paused])
	}
	for i, h := range c.hops {
		a, b := &o.before.lines[i], &now.lines[i]
		room := s.Link(h).Capacity.BytesPerSecond() * max(span, 1).Seconds()
		m.Used = append(m.Used, Figure(float64(b.Sent.Bytes-a.Sent.Bytes)/room))
		m.Stopped = append(m.Stopped, max(kept(&b.Sent.Stalled, &a.Sent.Stalled), part(b.Paused-a.Paused)))
	}
	for i := range c.Flows {
		a, b := &o.before.flows[i], &now.flows[i]
		first := c.Flows[i].Path[0] // the stops of a source are counted for its flows
		m.Stopped[first] = max(m.Stopped[first], kept(&b.Stalled, &a.Stalled))
	}
	for k := range c.Works {
		w, x := &now.works[k], o.endedOf(v, k, now.works[k].Ended, s.Last)
		x.Rate = Figure(float64(w.Bytes-o.before.works[k].Bytes) / max(span, 1).Seconds())
		x.Ended, x.Open, x.Waiting = Figure(w.Ended), Figure(w.Open), Figure(w.Waiting)
		x.Rounds, x.Round = Figure(w.Rounds), Figure(w.Round.Seconds())
		m.Works = append(m.Works, x)
	}
	o.before = now
}

// columns adds the figures of n lines or flows to a moment that the table of figures has for it:
// how much counters have grown since the moment before, and the other figures as they are. Where
// there is no newer count, a rate is the old one again.
func (o *Observer) columns(m *Moment, v *metrics.View, now *totals, n int, at func(i int) metrics.At) {
	if n == 0 {
		return
	}
	fields, span := m.columns(), now.at.Sub(o.before.at)
	for f := range v.Figures(at(0).Of) {
		key := f.Live.Key
		if key == "" {
			continue
		}
		column, values, before := make([]Figure, n), make([]float64, n), o.before.counted[f]
		for i := range column {
			values[i] = f.Read(at(i))
			grown := values[i]
			if f.Kind == metrics.Counter && before != nil {
				grown -= before[i]
			}
			if f.Live.PerSecond {
				grown /= max(span, 1).Seconds()
			}
			column[i] = Figure(grown)
		}
		now.counted[f] = values
		if f.Kind == metrics.Counter && span <= 0 && o.last != nil {
			if column = make([]Figure, n); f.Live.PerSecond {
				column = o.last.column(key)
			}
		}
		if to := fields[key]; to != nil {
			*to = column
		} else {
			if m.Figures == nil {
				m.Figures = map[string][]Figure{}
			}
			m.Figures[key] = column
		}
	}
}

// columns returns the columns of a moment by their keys.
func (m *Moment) columns() map[string]*[]Figure {
	return map[string]*[]Figure{"queue": &m.Queue, "held": &m.Held, "rate": &m.Rate, "limit": &m.Limit, "target": &m.Target, "feedback": &m.Feedback}
}

// column returns the column with a key.
func (m *Moment) column(key string) []Figure {
	if x := m.columns()[key]; x != nil {
		return *x
	}
	return m.Figures[key]
}

// endedOf returns the figures of the flows of a workload that have ended, of which there are n.
// Percentiles want all of them, so they are computed again when there are a twentieth more, and at
// the end of the run.
func (o *Observer) endedOf(v *metrics.View, k int, n int64, last bool) WorkMoment {
	x := &o.ended[k]
	if n == 0 || last && n > x.n || n > x.n+x.n/20 {
		completion, slowdown, sizes := report.Transfers(v.Counted(k), int(n))
		*x = ended{n: n}
		x.setTransfers(&completion, &slowdown, sizes)
	}
	return x.WorkMoment
}
