package resolve

import (
	"cmp"
	"math"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/rules"
	"fabemu/wire/unit"
)

// fit computes what follows from the fabric as a whole, and reports parts that do not fit together.
// Crossed is true if the frames that cross each link are known.
func fit(r *source, of *fabric, site *scenario.Site, events *events, crossed bool) {
	known, changes := rules.Known(0), r.timed() && r.sound(eventSections)
	add := func(part rules.Known, right bool) {
		if right {
			known |= part
		}
	}
	add(rules.Links, of.linked())
	add(rules.Frames, crossed)
	add(rules.Changes, changes)
	add(rules.Flows, r.sound("flows"))
	add(rules.Routing, r.sound("routing"))
	if crossed && changes {
		site.CompleteRetries()
		site.SetMemories()
		site.SetAdapters()
		events.Fit(site)
	}
	report(r, of.names, site.Found.List)
	for at, p := range placed(r, of.names, site.Doubts.List) {
		r.Warn(at, "%s", p.Text)
	}
	report(r, of.names, rules.Check(site, known))
}

// checkRun reports a duration or a window that does not fit the run.
func checkRun(of *fabric, site *scenario.Site, run span) {
	if run.timed() && run.right("wall.dilation") {
		checkDilation(run, site.Wall.Dilation)
	}
	if of.linked() && run.sound("flows") && run.timed() && run.right("measure.window") {
		checkWindow(run, site)
	}
}

// checkDilation refuses a run that takes too long.
func checkDilation(r span, dilation int64) {
	n := r.top().Sub("wall").Node("dilation")
	if ns := int64(r.end/unit.Nanosecond) + 1; dilation > math.MaxInt64/2/ns {
		r.Add(cmp.Or(n, r.Root.Get("model"), r.Root).At.Of("wall.dilation"),
			"%v of model time %d times slower is more wall time than a clock can count",
			r.end, dilation)
	}
}

// maxWindows is the most windows that a run can have, in the smallest fabric. A larger fabric has
// more figures, and room for fewer windows (package metrics).
const maxWindows = 512 << 10

// checkWindow refuses a measuring window longer than the run, or shorter than a packet.
func checkWindow(r span, s *scenario.Site) {
	measure := r.top().Sub("measure")
	n := measure.Node("window")
	if n == nil {
		s.Measure.Window = s.UsualWindow()
	}
	w, end := s.Measure.Window, r.end
	at := cmp.Or(n, r.Root.Get("model"), r.Root).At.Of("measure.window")
	if n == nil && r.cut.Set != nil {
		at.At = r.cut
	}
	if w > end {
		r.Add(at, "the window of %v does not fit: %s", w, r.ends())
	}
	if n := int64(end / w); w > 0 && n > maxWindows {
		r.Add(at,
			"%v of model time are %d windows of %v, and at most %d can be kept: choose a shorter model.duration, or a wider window",
			end, n, w, maxWindows)
	}
	for _, f := range s.Flows {
		for _, i := range s.Nodes[f.From].Links {
			l := s.Links[i]
			if t := l.Rate.Serialise(s.Length(&f)); t > w {
				r.Add(at, "the window of %v is shorter than one packet of flow %s, which takes %v on link %s",
					w, f.Name, t, l.Name)
				return
			}
		}
	}
}
