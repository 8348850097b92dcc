package random_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"fabemu/emu"
	"fabemu/emu/fabric"
	"fabemu/emu/result/report"
	"fabemu/emu/run/guest/netstack"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/unit"
)

// examine runs a scenario under a witness and returns what is wrong: a promise that was
// not kept, and an end without a name. A fabric in which frames still move at its end is
// examined for longer: long queues may drain slowly, behind much feedback. The error is that
// of a scenario that is refused.
func examine(text string, longer ...scenario.Set) (wrong []string, w *witness, err error) {
	s, err := resolve.Load("random.yaml", []byte(text), longer)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			wrong = append(wrong, fmt.Sprintf("panic: %v", r))
		}
	}()
	f, err := fabric.Build(s)
	if err != nil {
		return nil, nil, err
	}
	w = newWitness(f)
	out, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Sink: w, NewStack: netstack.New})
	if err != nil {
		return []string{"error: " + err.Error()}, w, nil
	}
	wrong = w.wrong
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if (out.Verdict.Level == report.Void) != (w.violations > 0) {
		say("the verdict is %s", out.Verdict.Level)
	}
	for i := range f.Flows {
		if f.Flows[i].Stop > unit.Time(s.Model.Duration)/2 {
			return wrong, w, nil // there is no time to see what becomes of all frames
		}
	}
	since := unit.Time(s.Model.Duration - 2*unit.Duration(out.PatiencePs))
	if w.last > since && longer == nil && len(wrong) == 0 {
		return examine(text, scenario.Set{Path: "model.duration", Value: "200ms"})
	}
	silent := map[string]bool{}
	for _, s := range out.Silences {
		silent[s.Flow] = silent[s.Flow] || s.Lasting
	}
	left, data, flows := w.left(since)
	for flow, n := range flows {
		if !silent[flow] {
			say("%d frames of %s are stuck, and it is not said to be silent", n, flow)
		}
	}
	if w.started != w.delivered+w.dropped+w.again+data {
		say("%d frames were sent, %d delivered, %d dropped, %d came again", w.started, w.delivered, w.dropped, w.again)
	}
	if left > 0 && len(out.Deadlocks) == 0 && !w.cut() {
		say("%d frames are stuck, and there is no deadlock", left)
	}
	for _, d := range out.Deadlocks {
		if left == 0 && unit.Time(d.AtPs) > unit.Time(unit.Millisecond) {
			say("a deadlock is found at %v, when nothing changes any more, and nothing is on its way at the end", unit.Time(d.AtPs))
		}
	}
	return wrong, w, nil
}

// compare runs a scenario in other ways, each of which must give the same log: with frames
// as values, from its resolved text, and on the wall clock over links.
func compare(text string) (wrong []string) {
	s, err := resolve.Load("random.yaml", []byte(text), []scenario.Set{{Path: "wall.dilation", Value: "1"}})
	if err != nil {
		return nil
	}
	run := func(what string, s *scenario.Scenario, o emu.Options) *emu.Result {
		o.Digest, o.NewStack = true, netstack.New
		out, err := emu.Run(context.Background(), s, o)
		if err != nil {
			wrong = append(wrong, what+": error: "+err.Error())
			return nil
		}
		return out
	}
	out := run("bytes", s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}})
	if out == nil {
		return wrong
	}
	again, err := resolve.Load("resolved.yaml", out.Resolved, nil)
	if err != nil {
		return []string{"the resolved scenario: error: " + err.Error()}
	}
	for what, same := range map[string]*emu.Result{
		"values":                run("values", s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}}),
		"the resolved scenario": run("the resolved scenario", again, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}}),
	} {
		if same != nil && same.Digest != out.Digest {
			wrong = append(wrong, what+": the digest is another")
		}
	}
	wall := run("links", s, emu.Options{Settings: emu.Settings{Link: emu.Pipe}, Verify: emu.VerifyOn})
	if wall != nil && wall.Verdict.Verify != "equal" {
		wrong = append(wrong, fmt.Sprintf("links: the log is %q to that of the virtual clock", wall.Verdict.Verify))
	}
	return wrong
}

// divided runs a scenario with several numbers of domains and loops, with a log, with a digest
// only, and without: neither changes log, digest, figures and curves.
func divided(text string) (wrong []string) {
	s, err := resolve.Load("random.yaml", []byte(text), nil)
	if err != nil {
		return nil
	}
	const plain, digest, logged = 0, 1, 2
	run := func(domains, loops, mode int) (figures, sum, log string) {
		var all, events bytes.Buffer
		o := emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Loops: loops}, Domains: domains, Digest: mode >= digest, NewStack: netstack.New}
		if mode == logged {
			o.Events = &events
		}
		out, err := emu.Run(context.Background(), s, o)
		if err != nil {
			return "error: " + err.Error(), "", ""
		}
		sum, out.Digest = out.Digest, ""
		out.Loops, out.Warnings, out.Began, out.WallSeconds = 0, nil, time.Time{}, 0
		if err := errors.Join(report.WriteJSON(&all, out.Result), report.WriteSeries(&all, out.Result, out.Metrics.Series())); err != nil {
			return "error: " + err.Error(), "", ""
		}
		return all.String(), sum, events.String()
	}
	figures, sum, log := run(1, 1, logged)
	draw := int(crc32.ChecksumIEEE([]byte(text)))
	for _, x := range [][3]int{{1, 1, plain}, {1, 1, digest}, {2, 1, plain}, {3 + draw%20, 1 + draw/20%4, digest}, {5, 3, logged}, {100, 2, plain}} {
		f, d, l := run(x[0], x[1], x[2])
		if f != figures || x[2] >= digest && d != sum || x[2] == logged && l != log {
			wrong = append(wrong, fmt.Sprintf("divided: %d domains, %d loops, mode %d: the run is another", x[0], x[1], x[2]))
		}
	}
	return wrong
}

// overruns runs a scenario in domains, and on the wall clock over links, as fast as it goes, until
// a while after all that happens in it, and returns what it has lost.
func overruns(text string) (wrong []string, err error) {
	s, err := resolve.Load("random.yaml", []byte(text), []scenario.Set{{Path: "model.duration", Value: "1ms"}, {Path: "wall.dilation", Value: "1"}})
	if err != nil {
		return nil, err
	}
	for what, o := range map[string]emu.Options{
		"domains": {Settings: emu.Settings{Clock: emu.VirtualClock, Loops: 2}, Domains: 4},
		"links":   {Settings: emu.Settings{Link: emu.Pipe}, Verify: emu.VerifyOff},
	} {
		o.NewStack = netstack.New
		out, err := emu.Run(context.Background(), s, o)
		switch {
		case err != nil:
			wrong = append(wrong, what+": error: "+err.Error())
		case out.Verdict.Level == report.Void || out.Verdict.Violations > 0:
			wrong = append(wrong, fmt.Sprintf("%s: %s, %d violations: %s", what, out.Verdict.Level, out.Verdict.Violations, out.Verdict.Reason))
		}
	}
	return wrong, nil
}

// refusal reports whether a scenario is one that may be refused, since it cannot keep its
// promises.
func refusal(err error) bool {
	for _, why := range []string{"could lose a frame", "no source would be", "every frame would be sampled", "never arrive", "cannot hold a"} {
		if strings.Contains(err.Error(), why) {
			return true
		}
	}
	return false
}
