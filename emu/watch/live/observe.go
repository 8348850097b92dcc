package live

import (
	"math"
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
}

// NewObserver returns an observer of the run of a scene, that shows its moments.
func NewObserver(c *Scene, show func(*Moment)) *Observer { return &Observer{scene: c, show: show} }

// Observe shows a moment.
func (o *Observer) Observe(s *observe.Snapshot) { o.show(o.moment(s)) }

func (o *Observer) moment(s *observe.Snapshot) *Moment {
	c, none := o.scene, Figure(math.NaN())
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
	for i := range s.Flows {
		f := &s.Flows[i]
		limit, target := none, none
		if f.Limit > 0 {
			limit = Figure(f.Limit.BytesPerSecond())
		}
		if f.Target > 0 {
			target = Figure(f.Target.BytesPerSecond())
		}
		m.Limit, m.Target = append(m.Limit, limit), append(m.Target, target)
	}
	o.last = m
	return m
}

// count adds to a moment how much lines and flows did since the one before. Where there are no
// newer figures, it adds the old ones again.
func (o *Observer) count(m *Moment, s *observe.Snapshot) {
	c, v, now := o.scene, s.Figures, totals{at: s.Figures.End()}
	for _, h := range c.hops {
		end := s.Fabric.Wires[h.Wire].Ends[h.From]
		state, far := s.Link(h), s.Fabric.Wires[h.Wire].Ends[1-h.From]
		stop := Goes
		switch {
		case state.Down:
			stop = Down
		case state.Paused == 0xFF:
			stop = Paused
		}
		queue := Figure(state.Queue)
		if state.Queue < 0 {
			queue = Figure(math.NaN())
		}
		m.Stop, m.Queue, m.Held = append(m.Stop, stop), append(m.Queue, queue),
			append(m.Held, Figure(s.Port(far.Node, far.Port).Held))
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
	if span <= 0 && o.last != nil {
		m.Works = slices.Clone(o.last.Works)
		for k := range m.Works {
			x := o.endedOf(v, k, now.works[k].Ended, s.Last)
			w := &m.Works[k]
			w.Completion, w.Median, w.P99, w.Sizes = x.Completion, x.Median, x.P99, x.Sizes
		}
		m.Used, m.Stopped, m.Rate, m.Feedback = o.last.Used, o.last.Stopped, o.last.Rate, make([]Figure, len(c.Flows))
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
		m.Rate = append(m.Rate, Figure(float64(b.Bytes-a.Bytes)/max(span, 1).Seconds()))
		m.Feedback = append(m.Feedback, Figure(b.Notified+b.MarkedAcks-a.Notified-a.MarkedAcks))
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
