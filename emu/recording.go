package emu

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/base/spelling"
	"fabemu/emu/base/terminal"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/feedback"
	"fabemu/emu/run/guest"
	"fabemu/emu/run/pace"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/sets"
	"fabemu/emu/watch/capture"
	"fabemu/emu/watch/observe"
	"fabemu/emu/watch/perfetto"
	"fabemu/node"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// recording receives what happens in a run: the figures and, where they are wanted, the digest of
// the events, the event log, the capture and the trace. It belongs to the goroutine of the run.
type recording struct {
	collector *metrics.Collector
	events    *trace.Batch // takes the reports of nodes

	fabric  *fabric.Fabric
	options *Options
	digest  *report.Digest   // nil: none is wanted
	log     *report.EventLog // nil: none is wanted
	tap     *capture.Capture // nil: nothing is captured
	trace   *perfetto.Trace  // nil: none is wanted
	hub     *observe.Hub     // nil: the run has no observers
	told    []*feedback.Writer
	stop    func() error // ends the calls of Options.Course; nil: there are none
	missed  int64        // frames that other processes could not report
}

// newRecording begins the record of a run of f. An error can be corrected by the user.
func newRecording(f *fabric.Fabric, o *Options) (*recording, error) {
	_, real := f.Scenario.Guests()
	r := &recording{fabric: f, options: o}
	err := checkRecordings(f, o.Recordings)
	for i := range o.Observe {
		err = cmp.Or(err, o.Observe[i].Check())
	}
	if err != nil {
		return nil, err
	}
	if r.collector, err = metrics.New(f, f.Scenario, o.Figures...); err != nil {
		return nil, &errs.Mistake{Err: err}
	}
	sinks := []trace.Sink{r.collector}
	if (o.Digest || o.Wall()) && real == 0 { // the digest of a wall run is compared
		r.digest = report.NewDigest(len(f.Nodes))
		sinks = append(sinks, r.digest)
	}
	if o.Events != nil {
		r.log = report.NewEventLog(o.Events, f, o.EventForm)
		if err := r.log.Choose(&o.Choice, f); err != nil {
			return nil, err
		}
		sinks = append(sinks, r.log)
	}
	if o.Capture != nil {
		if r.tap, err = capture.Begin(f, o.Capture, o.Wall(), o.Apart(), o.comment(f.Scenario), r.collector.Scenario); err != nil {
			return nil, err
		}
		sinks = append(sinks, r.tap)
	}
	if o.Trace != nil {
		if r.trace, err = perfetto.New(f, *o.Trace); err != nil {
			return nil, err
		}
		sinks = append(sinks, r.trace)
	}
	if len(o.Observe) > 0 || o.Changes != nil {
		r.hub = observe.NewHub(observe.Run{Fabric: f, Collector: r.collector, Settings: o.Settings, Requests: o.Observe, Changes: o.Changes})
		if r.hub.Records() {
			sinks = append(sinks, r.hub)
		}
	}
	if o.Sink != nil {
		sinks = append(sinks, o.Sink)
	}
	// On the wall clock each event is counted at once: many would keep the frames of an instant
	// waiting. So it is where frames are captured: their records need the facts of their events.
	size := trace.MaxBatch
	if o.Wall() || r.tap != nil {
		size = 1
	}
	r.events = trace.NewBatch(size, sinks...)
	if len(sinks) == 1 && r.collector.Counts() {
		r.events.Count(r.collector, r.collector.Flows())
	}
	return r, nil
}

// comment describes the run for a capture.
func (o *Options) comment(s *scenario.Scenario) string {
	if !o.Wall() {
		return fmt.Sprintf("%s, seed %d, virtual clock", s.Name, s.Model.Seed)
	}
	return fmt.Sprintf("%s, seed %d, wall clock, dilation %d, link %s, timing %s", s.Name, s.Model.Seed, s.Wall.Dilation, o.Link.Over(o.Packing), o.Timing)
}

// attach has the record receive the frames on links and the rate limits of nodes, and begins to
// show the run with its guests.
func (r *recording) attach(f *drive.Setup, guests *guest.Guests) {
	for _, m := range f.Nodes {
		if e, ok := m.(*node.Endpoint); ok {
			e.Limits(r.collector.Limit)
		}
	}
	if r.tap != nil {
		f.Tap = r.tap
	}
	if r.trace != nil && r.options.Wall() {
		f.Tap = r.trace.Tap(f.Tap)
	}
	if r.hub != nil {
		r.hub.Start(f, r.events, guests)
	}
	if r.options.Course != nil {
		r.stop = follow(r.collector, r.options.Course)
	}
}

// unfollow ends the calls of Options.Course.
func (r *recording) unfollow() (err error) {
	if r.stop != nil {
		err = r.stop()
		r.stop = nil
	}
	return err
}

// records reports whether the record takes frames at a port (process.Plan.Records).
func (r *recording) records(port int, control, received bool) bool {
	return r.tap != nil && r.tap.Records(port, control, received) || r.options.Wall() && r.trace != nil && !control && !received
}

// missing counts frames that other processes could not report.
func (r *recording) missing(frames int64) {
	r.missed += frames
	if r.tap != nil {
		r.tap.Missed(frames)
	}
}

// end ends the record at an instant of model time, after so much wall time, and returns the
// result. The verdict of the capture is still to come: Close. The timing may be nil.
func (r *recording) end(at unit.Time, took time.Duration, t *pace.Record, w *deadlock.Watch) *report.Result {
	r.events.Flush()
	followed := r.unfollow()
	r.collector.Close(at)
	out := report.New(r.collector.View())
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
		if !r.options.Choice.All() {
			out.Choice = &r.options.Choice
		}
		whole(out, "the event log", r.log.Close())
	}
	for _, w := range r.told {
		whole(out, "a recording of feedback", w.Close(at))
	}
	if r.trace != nil {
		whole(out, "the trace", r.trace.Close(at, r.collector.Scenario().Changes()))
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

// close writes the verdict of out into the capture, and the failures of writing into
// out.
func (r *recording) close(out *report.Result) {
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

// abandon ends the capture of a run that has failed, and its observers; after End it does nothing.
func (r *recording) abandon() {
	r.unfollow()
	if r.tap != nil {
		r.tap.End()
	}
	if r.hub != nil {
		r.hub.Abandon()
		r.hub = nil
	}
}

// often is the wall time between two reports of the course of a run. At most a twentieth of
// the time goes into reports.
const (
	often       = 30 * time.Second
	courseShare = 20
)

// follow reports the course of the figures of a run, again and again. It returns a function that
// ends this: it ends the context of report, waits until it has returned, and returns its error.
func follow(c *metrics.Collector, report func(context.Context, *metrics.Course)) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ask, courses := c.Courses()
	ended := make(chan struct{})
	var err error
	go func() {
		defer close(ended)
		defer errs.Into(&err)
		for wait := often; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			ask()
			select {
			case <-ctx.Done():
				return
			case x := <-courses:
				began := time.Now()
				report(ctx, x)
				wait = max(often, courseShare*time.Since(began))
			}
		}
	}()
	return func() error {
		cancel()
		<-ended
		return err
	}
}

// checkRecordings refuses names that are not of a flow, or of one without its own rate limiter.
func checkRecordings(f *fabric.Fabric, wanted map[string]io.Writer) error {
	var names []string
	for i := range f.Flows {
		flow := &f.Flows[i]
		names = append(names, flow.Name)
		if by := scenario.SharedBy(flow.Flow); by != "" && wanted[flow.Name] != nil {
			return errs.Errorf("flow %s shares its rate limiter (control.%s): only a flow with its own limiter can be recorded", flow.Name, by)
		}
	}
	for name := range wanted {
		if !slices.Contains(names, name) {
			return errs.Errorf("there is no flow %q%s: there are %s", name, spelling.DidYouMean(spelling.Nearest(name, names)), few(names))
		}
	}
	return nil
}

// listen has s report the feedback of flows that Options.Recordings names to the recording; others
// keep the listeners that s has for them.
func (r *recording) listen(s *assemble.Schemes) {
	if len(r.options.Recordings) == 0 {
		return
	}
	also := s.Listen
	s.Listen = func(f *fabric.Flow) node.Listener {
		if w := r.options.Recordings[f.Name]; w != nil {
			t := feedback.NewWriter(w, r.headOf(f))
			r.told = append(r.told, t)
			return t
		}
		if also == nil {
			return nil
		}
		return also(f)
	}
}

// headOf describes the flow that is recorded.
func (r *recording) headOf(f *fabric.Flow) feedback.Head {
	frame := r.fabric.Frame(f)
	length := r.fabric.Framing().Length(&frame)
	hops := 0
	for range f.Path.Rest.All() {
		hops++
	}
	return feedback.Head{
		Scenario: r.fabric.Scenario.Name, Flow: f.Name, Algorithm: r.fabric.Scenario.Algorithm(f.Flow).Name, Family: f.Family,
		Line: r.fabric.Wires[f.Path.Hop.Wire].Link.Rate, Packet: length, Payload: unit.Size(frame.Payload), Begin: f.Start, Hops: hops,
		Trip: sets.Trip(r.fabric.Scenario, length, r.fabric.Framing().Length(&wire.Frame{Kind: wire.Ack, Family: frame.Family})),
	}
}

// few lists names, the first ones where there are many.
func few(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(slices.Concat(names[:most], []string{"..."}), ", ")
	}
	return strings.Join(names, ", ")
}
