package resolve

import (
	"cmp"
	"math"

	"fabemu/emu/scenario/rules"
	"fabemu/wire/unit"
)

// fit computes what follows from the fabric as a whole, and reports parts that do not fit together.
func (r *resolver) fit() {
	known, changes := rules.Known(0), r.timed() && r.sound(eventSections)
	add := func(part rules.Known, right bool) {
		if right {
			known |= part
		}
	}
	add(rules.Links, r.linked())
	add(rules.Frames, r.crossed)
	add(rules.Changes, changes)
	add(rules.Flows, r.sound("flows"))
	add(rules.Routing, r.sound("routing"))
	if r.crossed && changes {
		r.CompleteRetries()
		r.SetMemories()
		r.SetAdapters()
		r.events.Fit()
	}
	r.report(r.Found.List)
	for at, p := range r.placed(r.Doubts.List) {
		r.Warn(at, "%s", p.Text)
	}
	r.report(rules.Check(r.Site, known))
}

// checkRun reports a duration or a window that does not fit the run.
func (r *resolver) checkRun() {
	if r.timed() && r.right("wall.dilation") {
		r.checkDilation()
	}
	if !r.linked() || !r.sound("flows") {
		return
	}
	if r.timed() && r.right("measure.window") {
		r.checkWindow()
	}
}

// checkDilation refuses a run that takes too long.
func (r *resolver) checkDilation() {
	n := r.top().Sub("wall").Node("dilation")
	if ns := int64(r.s.Model.Duration/unit.Nanosecond) + 1; r.s.Wall.Dilation > math.MaxInt64/2/ns {
		r.Add(cmp.Or(n, r.Root.Get("model"), r.Root).At.Of("wall.dilation"),
			"%v of model time %d times slower is more wall time than a clock can count",
			r.s.Model.Duration, r.s.Wall.Dilation)
	}
}

// maxWindows is the most windows that a run can have, in the smallest fabric. A larger fabric has
// more figures, and room for fewer windows (package metrics).
const maxWindows = 512 << 10

// checkWindow refuses a measuring window longer than the run, or shorter than a packet.
func (r *resolver) checkWindow() {
	measure := r.top().Sub("measure")
	n := measure.Node("window")
	if n == nil {
		r.s.Measure.Window = r.s.UsualWindow()
	}
	w, end := r.s.Measure.Window, r.s.Model.Duration
	at := cmp.Or(n, r.Root.Get("model"), r.Root).At.Of("measure.window")
	if n == nil && r.cut.Set != nil {
		at.At = r.cut
	}
	if w > end {
		r.Add(at, "the window of %v does not fit: %s", w, r.runEnds())
	}
	if n := int64(end / w); w > 0 && n > maxWindows {
		r.Add(at,
			"%v of model time are %d windows of %v, and at most %d can be kept: choose a shorter model.duration, or a wider window",
			end, n, w, maxWindows)
	}
	for _, f := range r.s.Flows {
		for _, i := range r.nodes[f.From].Links {
			l := r.s.Links[i]
			if t := l.Rate.Serialise(r.Length(&f)); t > w {
				r.Add(at, "the window of %v is shorter than one packet of flow %s, which takes %v on link %s",
					w, f.Name, t, l.Name)
				return
			}
		}
	}
}
