package emu

import (
	"math"
	"time"

	"fabemu/emu/drive"
	"fabemu/emu/report"
	"fabemu/wire/trace"
)

// figures puts what the driver measured into the terms of the verdict.
func (r *run) figures(t *drive.Timing) report.Figures {
	f := report.NoFigures()
	f.Order.Frames = t.Hops
	f.Order.Overtaken = t.Overtaken
	f.Order.WorstPacketTimes = report.Number(t.WorstOvertaken)
	if t.Hops > 0 {
		f.Order.Over5Percent = report.Number(float64(t.Overtaken5) / float64(t.Hops))
		f.Order.OverT = report.Number(float64(t.OvertakenT) / float64(t.Hops))
	}
	if t.Reached > 0 {
		f.Order.BlindShare = report.Number(float64(t.Blind) / float64(t.Reached))
	}
	if t.Blind > 0 {
		f.Order.BlindLink = r.fabric.Wires[t.BlindWire].Name
	}
	if t.Wall > 0 {
		f.Pace.Ratio = report.Number(t.Reached.Seconds() * 1e9 * float64(r.scenario.Wall.Dilation) / float64(t.Wall))
	}
	at := func(unit float64, value func(q float64) int64) report.Percentiles {
		n := func(q float64) report.Number { return report.Number(float64(value(q)) / unit) }
		return report.Percentiles{P50: n(50), P95: n(95), P98: n(98), P99: n(99), P99_9: n(99.9), Max: n(100)}
	}
	if t.Data > 0 {
		f.Pace.LatenessUs = at(1e3, t.Lateness.ValueAtQuantile)
		f.Pace.LatenessPacketTimes = at(1e3, t.LatenessT.ValueAtQuantile)
		f.Pace.LateShare = report.Number(float64(t.Late) / float64(t.Data))
	}
	if t.Spun > 0 {
		f.Pace.FloorShare = report.Number(float64(t.SpunLate) / float64(t.Spun))
	}
	f.BusySeconds = report.Number(float64(t.Wall-t.Spun-t.Slept) / 1e9)
	f.Pace.Early = t.Early
	f.LostDatagrams = t.Lost
	f.Refused = t.Foreign
	for _, n := range t.Refused {
		f.Refused += n
	}
	if t.Worst >= 0 {
		f.WorstLink = r.fabric.Wires[t.Worst].Name
	}
	f.Stalls = t.StallCount
	f.StalledUs = report.Number(float64(t.Stalled) / 1e3)
	return f
}

// momentsOf puts the moments of a run into the terms of reports.
func momentsOf(t *drive.Timing) []report.Moment {
	list := make([]report.Moment, 0, len(t.Moments))
	for _, m := range t.Moments {
		list = append(list, report.Moment{
			From: m.From, Late: report.Number(float64(m.Late) / float64(m.Data)),
			WorstUs: report.Number(float64(m.Worst) / 1e3), StalledUs: report.Number(float64(m.Stalled) / 1e3),
		})
	}
	return list
}

// result collects what came out.
func (r *run) result(figures report.Figures, took time.Duration, digest string) *report.Result {
	out := report.New(r.collector)
	figures.Violations = out.Verdict.Violations
	if r.options.Clock == WallClock && figures.Order.Overtaken > 0 {
		r.excuse(out, &figures)
	}
	out.Verdict.Figures = figures
	out.Fabemu = r.options.Version
	out.Clock = string(r.options.Clock)
	out.Timing = string(r.options.Timing)
	out.Moments, out.Began = r.moments, r.began.UTC()
	out.Placement = string(r.options.Placement)
	if r.options.Clock == WallClock {
		out.Link = string(r.options.Link)
		out.Dilation = r.scenario.Wall.Dilation
	}
	out.Machine = thisMachine()
	out.WallSeconds = report.Number(math.Round(took.Seconds()*1e3) / 1e3)
	out.Digest = digest
	out.Warnings = append(out.Warnings, r.warnings...)
	return out
}

// timingOverrun is what an overrun is called that an overtaken frame explains: the
// headroom is computed for frames that come in their order.
const timingOverrun = "timing-overrun"

// excuse takes overruns that overtaken frames explain for what they are: no promise that
// the fabric has broken, and no drop of it.
func (r *run) excuse(out *report.Result, f *report.Figures) {
	f.Overruns = r.collector.Overruns()
	f.Violations -= f.Overruns
	if f.Overruns == 0 {
		return
	}
	keeps := make(map[string]bool)
	for i := range r.fabric.Machines {
		keeps[r.fabric.Machines[i].Name] = r.collector.Keeps(i)
	}
	for i := range out.Violations {
		if v := &out.Violations[i]; v.Reason == trace.Overrun.String() && keeps[v.Machine] {
			v.Reason = timingOverrun
		}
	}
	for i := range out.Losses {
		if l := &out.Losses[i]; l.Reason == trace.Overrun.String() && keeps[l.Machine] {
			l.Reason = timingOverrun
		}
	}
	for i := range out.Drops {
		d := &out.Drops[i]
		if d.Reason != trace.Overrun.String() {
			continue
		}
		if d.Count -= f.Overruns; d.Count == 0 {
			*d = report.Count{Reason: timingOverrun, Count: f.Overruns}
		} else {
			out.Drops = append(out.Drops, report.Count{Reason: timingOverrun, Count: f.Overruns})
		}
		return
	}
}
