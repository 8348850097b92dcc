package record

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/base/terminal"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/guest"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/pace"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/capture"
	"fabemu/emu/watch/feedback"
	"fabemu/emu/watch/observe"
	"fabemu/emu/watch/perfetto"
	"fabemu/node"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Wanted selects the records in addition to the figures.
type Wanted struct {
	Digest   bool                 // the event log is condensed, unless real hosts take part
	Events   io.Writer            // takes the event log; may be nil
	Choice   report.Choice        // of events in the log
	Capture  *capture.Request     // may be nil
	Trace    *perfetto.Request    // the trace for Perfetto; may be nil
	Bodies   bool                 // data frames may have bodies where no guest is
	Told     map[string]io.Writer // takes recordings of flows, by their names (package told)
	Listen   bool                 // the calling program has listeners for feedback
	Sink     trace.Sink           // takes each event; may be nil
	Observe  []observe.Request    // the observers of the run
	Changes  *observe.Changes     // lets others change the run; may be nil
	Wall     bool                 // the run keeps to the wall clock
	Link     mode.Carrier         // on which its frames travel there
	Parts    bool                 // its nodes live in other processes
	Actual   bool                 // limiters and reaction points have the measured time
	NewStack guest.NewStack       // makes guests of kind netstack; may be nil
	Force    bool                 // several loops share the nodes even where that is of no use: for tests

	Course func(context.Context, *metrics.Course) // takes the course of a long run (emu.Options.Course); may be nil
}

// Check returns a *errs.Mistake where the selection does not go together.
func (w *Wanted) Check() error {
	const here = "requires placement " + string(mode.InGoroutines)
	switch c := w.Capture; {
	case w.Parts && (w.Listen || len(w.Told) > 0):
		return errs.Errorf("a recording of feedback %s: elsewhere the sources are in other processes", here)
	case c != nil && c.Time == capture.WallTime && !w.Wall:
		return errs.Errorf("a capture in wall time requires the wall clock")
	case c != nil && c.Snap < 0:
		return errs.Errorf("a snap length of %d bytes: use 0 for whole frames, or a positive number", c.Snap)
	}
	return nil
}

// Recording is the record of a run. It belongs to the goroutine of the run.
type Recording struct {
	Collector *metrics.Collector
	Events    *trace.Batch // takes the reports of nodes

	fabric *fabric.Fabric
	wanted Wanted
	digest *report.Digest   // nil: none is wanted
	log    *report.EventLog // nil: none is wanted
	tap    *capture.Capture // nil: nothing is captured
	trace  *perfetto.Trace  // nil: none is wanted
	hub    *observe.Hub     // nil: nobody is shown the run
	told   []*feedback.Writer
	stop   func() error // ends the calls of Wanted.Course; nil: there are none
	missed int64        // frames that other processes could not report
}

// Batch is how many events of a run on the virtual clock are counted at a time: they
// take far less than any cache.
const Batch = trace.MaxBatch

// New begins the record of a run of f. An error is the user's to mend.
func New(f *fabric.Fabric, w Wanted) (*Recording, error) {
	_, real := f.Scenario.Guests()
	w.Digest = w.Digest && real == 0
	r := &Recording{fabric: f, wanted: w}
	err := checkTold(f, w.Told)
	for i := range w.Observe {
		err = cmp.Or(err, w.Observe[i].Check())
	}
	if err != nil {
		return nil, err
	}
	if r.Collector, err = metrics.New(f, f.Scenario); err != nil {
		return nil, &errs.Mistake{Err: err}
	}
	sinks := []trace.Sink{r.Collector}
	if w.Digest {
		r.digest = report.NewDigest(len(f.Nodes))
		sinks = append(sinks, r.digest)
	}
	if w.Events != nil {
		r.log = report.NewEventLog(w.Events, f)
		if err := r.log.Choose(&w.Choice, f); err != nil {
			return nil, err
		}
		sinks = append(sinks, r.log)
	}
	if w.Capture != nil {
		if r.tap, err = capture.Begin(f, w.Capture, w.Wall, w.Parts, comment(f.Scenario, &w), r.Collector.Scenario); err != nil {
			return nil, err
		}
		sinks = append(sinks, r.tap)
	}
	if w.Trace != nil {
		if r.trace, err = perfetto.New(f, *w.Trace); err != nil {
			return nil, err
		}
		sinks = append(sinks, r.trace)
	}
	if len(w.Observe) > 0 || w.Changes != nil {
		clock := mode.VirtualClock
		if w.Wall {
			clock = mode.WallClock
		}
		r.hub = observe.NewHub(observe.Run{Fabric: f, Collector: r.Collector, Clock: clock, Elsewhere: w.Parts, Requests: w.Observe, Changes: w.Changes})
		if r.hub.Records() {
			sinks = append(sinks, r.hub)
		}
	}
	if w.Sink != nil {
		sinks = append(sinks, w.Sink)
	}
	// On the wall clock each event is counted at once: many would keep the frames of an instant
	// waiting. So it is where frames are captured: their records need the facts of their events.
	size := Batch
	if w.Wall || r.tap != nil {
		size = 1
	}
	r.Events = trace.NewBatch(size, sinks...)
	return r, nil
}

// comment describes the run for a capture.
func comment(s *scenario.Scenario, w *Wanted) string {
	if !w.Wall {
		return fmt.Sprintf("%s, seed %d, virtual clock", s.Name, s.Model.Seed)
	}
	timing := "ideal"
	if w.Actual {
		timing = "actual"
	}
	return fmt.Sprintf("%s, seed %d, wall clock, dilation %d, link %s, timing %s", s.Name, s.Model.Seed, s.Wall.Dilation, w.Link, timing)
}

// Attach has the record receive the frames on links and the rate limits of nodes, and begins to
// show the run.
func (r *Recording) Attach(f *drive.Setup) {
	for _, m := range f.Nodes {
		if e, ok := m.(*node.Endpoint); ok {
			e.Limits(r.Collector.Limit)
		}
	}
	if r.tap != nil {
		f.Tap = r.tap
	}
	if r.trace != nil && r.wanted.Wall {
		f.Tap = r.trace.Tap(f.Tap)
	}
	if r.hub != nil {
		r.hub.Start(f, r.Events)
	}
	if r.wanted.Course != nil {
		r.stop = follow(r.Collector, r.wanted.Course)
	}
}

// unfollow ends the calls of Wanted.Course.
func (r *Recording) unfollow() (err error) {
	if r.stop != nil {
		err = r.stop()
		r.stop = nil
	}
	return err
}

// Records reports whether the record takes frames at a port (process.Plan.Records).
func (r *Recording) Records(port int, control, received bool) bool {
	return r.tap != nil && r.tap.Records(port, control, received) || r.wanted.Wall && r.trace != nil && !control && !received
}

// Missed counts frames that other processes could not report.
func (r *Recording) Missed(frames int64) {
	r.missed += frames
	if r.tap != nil {
		r.tap.Missed(frames)
	}
}

// Began sets the wall time of model time 0.
func (r *Recording) Began(began time.Time) {
	if r.tap != nil {
		r.tap.Began(began)
	}
}

// End ends the record at an instant of model time, after this much wall time, and returns the
// result. The verdict of the capture is still to come: Close. The timing may be nil.
func (r *Recording) End(at unit.Time, took time.Duration, t *pace.Record, w *deadlock.Watch) *report.Result {
	r.Events.Flush()
	followed := r.unfollow()
	r.Collector.Close(at)
	out := report.New(r.Collector)
	whole(out, "the output during the run", followed)
	if r.hub != nil {
		warnings, err := r.hub.Stop(at, took, t, w)
		out.Warnings = append(out.Warnings, warnings...)
		whole(out, "the view of observers", err)
		r.hub = nil
	}
	if r.digest != nil {
		out.Digest = r.digest.Sum()
	}
	if r.log != nil {
		if !r.wanted.Choice.All() {
			out.Choice = &r.wanted.Choice
		}
		whole(out, "the event log", r.log.Close())
	}
	for _, w := range r.told {
		whole(out, "a recording of feedback", w.Close(at))
	}
	if r.trace != nil {
		whole(out, "the trace", r.trace.Close(at, r.Collector.Scenario().Changes()))
	}
	if r.missed > 0 && r.tap == nil {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the processes could not report %s in time: the figures of lateness lack them", terminal.Count(r.missed, "frame")))
	}
	if r.tap != nil {
		r.tap.Until(at)
		if written, missed := r.tap.End(); missed > 0 && r.tap.Err() == nil {
			out.Warnings = append(out.Warnings, fmt.Sprintf("the capture lacks %d of %d frames: they came faster than they could be written; a filter or a snap length helps",
				missed, written+missed))
		}
	}
	return out
}

// Close writes the verdict of out into the capture, and the failures of writing into
// out.
func (r *Recording) Close(out *report.Result) {
	if r.tap != nil {
		whole(out, "the capture", r.tap.Close(out.Verdict.Comment(out.Partial)))
	}
}

// whole records in a result that a file could not be written, if there is an error.
func whole(out *report.Result, name string, err error) {
	if err != nil {
		out.Unwritten = append(out.Unwritten, fmt.Sprintf("%s is not whole: %v", name, err))
	}
}

// Abandon ends the capture of a run that has failed, and its observers; after End it does nothing.
func (r *Recording) Abandon() {
	r.unfollow()
	if r.tap != nil {
		r.tap.End()
	}
	if r.hub != nil {
		r.hub.Abandon()
		r.hub = nil
	}
}
