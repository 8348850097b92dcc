package live

import (
	"errors"
	"math"
	"slices"

	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// stoppedFrom is the share of the time between two points of a series from which on a link
// counts as stopped, and fullFrom the utilisation from which on others may wait for it.
const (
	stoppedFrom = 0.5
	fullFrom    = 0.8
)

// Results makes a scene from the results of a finished run, and a moment for each point
// of its series. Series are means between points, so the reason of a stop is concluded:
// a line that was stopped for most of the time waits for the next lines of its flows that
// were stopped themselves, or else for the fullest of the next lines.
func Results(d *report.Dir) (*Scene, []*Moment, error) {
	s, err := resolve.Load(report.ResolvedFile, d.Resolved, nil)
	if err != nil {
		return nil, nil, err
	}
	f, err := fabric.Build(s)
	if err != nil {
		return nil, nil, err
	}
	c := NewScene(s, f)
	c.Clock, c.Dilation, c.Over, c.EndPs = d.Clock, d.Dilation, true, d.DurationPs
	c.Events = append(c.Events[:0], d.Result.Events...)
	r := &results{scene: c, dir: d, series: map[[2]string]*metrics.Series{}, changes: s.Changes()}
	for i := range d.Series {
		r.series[[2]string{d.Series[i].Kind, d.Series[i].Name}] = &d.Series[i]
	}
	for _, t := range r.times() {
		r.moments = append(r.moments, r.moment(t))
	}
	if len(r.moments) == 0 {
		return nil, nil, errors.New("its series have no points: there is nothing to show")
	}
	return c, r.moments, nil
}

// results makes moments of the files of a run.
type results struct {
	scene   *Scene
	dir     *report.Dir
	series  map[[2]string]*metrics.Series // by kind and name
	changes []scenario.Change
	moments []*Moment
}

// times returns the points at which flows have rates.
func (r *results) times() []unit.Time {
	for i := range r.dir.Series {
		if k := r.dir.Series[i].Kind; k == metrics.FlowRate || k == metrics.GroupRate {
			return r.dir.Series[i].Times
		}
	}
	return nil
}

// at returns the figure of a series at an instant, or the last one before; NaN where there is
// none.
func (r *results) at(kind, name string, t unit.Time) Figure {
	s := r.series[[2]string{kind, name}]
	if s == nil {
		return Figure(math.NaN())
	}
	i, found := slices.BinarySearch(s.Times, t)
	if !found {
		i--
	}
	if i < 0 {
		return Figure(math.NaN())
	}
	return Figure(s.Values[i])
}

func (r *results) moment(t unit.Time) *Moment {
	c, m := r.scene, &Moment{State: newState(r.changes, found{r.dir.Storms, r.dir.Deadlocks, r.dir.Failures}, &r.dir.Verdict, t)}
	m.WallMs = int64(t) / 1e9 * c.Dilation
	r.columns(m, metrics.Link, len(c.Lines), func(i int) string { return c.Lines[i].Name })
	r.columns(m, metrics.Flow, len(c.Flows), func(i int) string { return c.Flows[i].Name })
	for i := range c.Lines {
		stop, share := r.stopped(i, t)
		m.Stop, m.Stopped = append(m.Stop, stop), append(m.Stopped, share)
	}
	for i := range r.dir.Workloads {
		m.Works = append(m.Works, r.work(&r.dir.Workloads[i], t))
	}
	r.conclude(m)
	c.findRoots(m)
	m.Labels = c.labels(c.fabric.Scenario, t)
	for i := range r.dir.Checks {
		k := &r.dir.Checks[i]
		m.decide(k, k.DuringPs[1] <= int64(t))
	}
	return m
}

// columns adds the figures of n lines or flows to a moment that the table of figures has for it, by
// their curves.
func (r *results) columns(m *Moment, of metrics.Object, n int, name func(i int) string) {
	for f := range metrics.Figures(of) {
		if f.Live == "" {
			continue
		}
		column := make([]Figure, n)
		for i := range column {
			column[i] = r.at(f.Series.Kind, name(i), unit.Time(m.ModelPs))
		}
		if m.columns()[f.Live] != nil || slices.ContainsFunc(column, Figure.known) {
			m.setColumn(f.Live, column)
		}
	}
}

// work returns the moment of a workload: its rate, and at the end what result.json has.
func (r *results) work(w *report.Workload, t unit.Time) WorkMoment {
	x := WorkMoment{Figures: map[string]Figure{"rate": r.at(metrics.GroupRate, w.Name, t)}}
	if int64(t) < r.dir.DurationPs-r.dir.WindowPs {
		return x
	}
	values := report.Values(metrics.Workload, w)
	if w.Collective != nil {
		values = append(values, report.Values(metrics.Collective, w.Collective)...)
	}
	for _, v := range values {
		if key := v.Figure.Live; key != "" {
			x.Figures[v.Name(key)] = Figure(v.Number)
		}
	}
	x.Sizes = sizesOf(w.Sizes)
	return x
}

// stopped returns the cause that keeps a line at t, and the share of the time in which flow control
// did. The stops of a source are in the series of its flows.
func (r *results) stopped(line int, t unit.Time) (Stop, Figure) {
	c := r.scene
	share := func(cause port.Block) Figure {
		most := r.at(metrics.LinkStalled+cause.String(), c.Lines[line].Name, t)
		for i := range c.Flows {
			if w := &c.Flows[i]; w.Path[0] == line {
				if s := r.at(metrics.FlowStalled+cause.String(), w.Name, t); !(s <= most) && !math.IsNaN(float64(s)) {
					most = s
				}
			}
		}
		return most
	}
	credit, paused, down := share(port.NoCredit), share(port.Paused), share(port.Down)
	switch {
	case down >= stoppedFrom:
		return Down, 0
	case credit >= stoppedFrom:
		return NoCredit, credit
	case paused >= stoppedFrom:
		return Paused, paused
	case credit > 0:
		return Goes, credit
	case paused > 0:
		return Goes, paused
	}
	return Goes, 0
}

// conclude finds the lines that the stopped lines wait for.
func (r *results) conclude(m *Moment) {
	c := r.scene
	next := make([][]int, len(c.Lines)) // the next lines of its flows
	for i := range c.Flows {
		path := c.Flows[i].Path
		if !(m.Rate[i] > 0) && m.Stop[path[0]] == Goes {
			continue // it does not send
		}
		for k, l := range path {
			for _, after := range path[k+1:] {
				if c.Lines[l].To == c.Lines[after].From {
					next[l] = append(next[l], after)
				}
			}
		}
	}
	stopped := func(l int) bool { return m.Stop[l] == NoCredit || m.Stop[l] == Paused }
	for l := range m.Stop {
		if !stopped(l) {
			continue
		}
		slices.Sort(next[l])
		full, any := -1, false
		for _, n := range slices.Compact(next[l]) {
			switch {
			case stopped(n):
				m.Waits = append(m.Waits, Wait{l, n})
				any = true
			case m.Used[n] >= fullFrom && (full < 0 || m.Used[n] > m.Used[full]):
				full = n
			}
		}
		if !any && full >= 0 {
			m.Waits = append(m.Waits, Wait{l, full})
		}
	}
}
