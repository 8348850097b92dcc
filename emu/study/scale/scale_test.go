package scale_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/metrics"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/study/scale"
	"fabemu/node/traffic"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// A scaled scenario gives the event log of the one that it is made from, with times and rates
// in proportion. Where nothing is rounded all instants are the same, but for what is drawn at
// random, which is in whole picoseconds. Where something is, they are less than ten nanoseconds
// apart in this time, which is enough for two frames of different sources to come to a switch
// in another order, now and then.
func TestModelScaledScenariosAreTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	same := 0
	for _, e := range builtin.List() {
		if strings.HasPrefix(e.Name, "guest/") { // whose programs and stacks have their own times
			continue
		}
		src, err := builtin.Read(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		x, err := scale.Of(e.Name, 100_000_000)
		if strings.HasPrefix(e.Name, "hpcc/") { // its telemetry has codes for rates, and units that stay as they are
			if err == nil || !strings.Contains(err.Error(), "telemetry has no code") {
				t.Errorf("%s: %v, want that its telemetry has no code for the rate", e.Name, err)
			}
			continue
		}
		if e.Name == "cbfc/retry" { // its timer is the longest that there is
			if err == nil || !strings.Contains(err.Error(), "it must be at most 250ms") {
				t.Errorf("%s: %v, want that its timer is too long", e.Name, err)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if strings.HasPrefix(e.Name, "cca/") {
			if len(x.Left) != 1 || !strings.HasPrefix(x.Left[0], "ccti-timer counts units") {
				t.Errorf("%s: what is not in proportion: %q, want its timer", e.Name, x.Left)
			}
			continue
		}
		if len(x.Left) > 0 && (len(x.Left) > 1 || !strings.Contains(x.Left[0], " is rounded to ")) {
			t.Errorf("%s: not in proportion: %q", e.Name, x.Left)
		}
		length := unit.Millisecond
		if e.Name == "pfc/watchdog" { // whose traffic begins at 1 ms
			length = 2 * unit.Millisecond
		}
		if e.Name == "paths/leaf-spine" { // which adds no messages for its last 29 ms
			length = 31 * unit.Millisecond
		}
		if e.Name == "uet/schemes-load" { // the same of its last 2.7 ms, and which counts none of the first 0.3
			length = 3500 * unit.Microsecond
		}
		if x.Den < 10*x.Num { // links below 1 Gb/s, with round trips of 40 ms and more
			length = unit.Second
		}
		first, scaled := eventsOf(t, e.Name, src, length), eventsOf(t, e.Name, x.Text, length.Scale(x.Den, x.Num))
		apart, parts, events := compareScaled(x, first, scaled)
		limit, why := roundings(x.Scenario), rounds(x.Scenario)
		if why != "" {
			limit = 10_000
		}
		t.Logf("%s: %d events, %.3g ps apart at most %s; %s", e.Name, events, apart, parts, why)
		if apart >= limit || events == 0 || parts != "" && (why == "" || events < 1000) {
			t.Errorf("%s: of %d events some are %.3g ps apart; the logs part %q", e.Name, events, apart, parts)
		}
		if parts == "" && apart < 1 {
			same++
		}
	}
	if same < 30 {
		t.Errorf("of all scenarios only %d are the same", same)
	}
}

// roundings returns how often an instant is rounded down to a picosecond at most: where a flow
// begins at random, and once more where its packets or transfers come at random from then on.
func roundings(s *scenario.Scenario) float64 {
	if slices.ContainsFunc(s.Flows, func(f scenario.Flow) bool {
		return f.Jitter > 0 && (f.Traffic == traffic.Poisson || f.Traffic == traffic.Transfers && f.Rate > 0)
	}) {
		return 2
	}
	return 1
}

// rounds says what is rounded in a run of a scenario, or nothing.
func rounds(s *scenario.Scenario) string {
	fixed := scenario.NewFlow("", "", "") // without an algorithm that changes its rate
	for i := range s.Flows {
		f := &s.Flows[i]
		if algorithm := s.Algorithm(f); algorithm.Name != s.Algorithm(&fixed).Name {
			return "the algorithm " + algorithm.Name + " has rates of whole bits per second"
		}
	}
	for i := range s.Workloads {
		if algorithm := s.Workloads[i].Control.Algorithm; algorithm != s.Algorithm(&fixed).Name {
			return "the algorithm " + algorithm + " has rates of whole bits per second"
		}
	}
	for i := range s.Links {
		if bits := 8 * int64(unit.Second); bits%int64(s.Links[i].Rate) > 0 {
			return fmt.Sprintf("a byte takes no whole number of picoseconds at %v", s.Links[i].Rate)
		}
	}
	return ""
}

// logs are the events of the nodes of a run.
type logs map[int32][]trace.Event

// Record keeps an event.
func (l logs) Record(e *trace.Event) { l[e.Node] = append(l[e.Node], *e) }

// eventsOf runs so much of a scenario on the virtual clock.
func eventsOf(t *testing.T, name string, text []byte, length unit.Duration) logs {
	t.Helper()
	s, err := resolve.Load(name, text, runtest.Sets(t, "model.duration="+length.String()), resolve.CheckMetrics(metrics.Checker()))
	if err != nil {
		t.Fatal(err)
	}
	all := logs{}
	if _, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Sink: all}); err != nil {
		t.Fatal(err)
	}
	return all
}

// compareScaled returns how far events are apart at most, in ps of the first log, up to where
// the logs part; where that is, if it is, and of how many events that is.
func compareScaled(x *resolve.Scaled, first, scaled logs) (apart float64, parts string, events int) {
	end := unit.Never
	for m, log := range first {
		if n := len(scaled[m]); n > len(log) {
			parts = fmt.Sprintf("machine %d has %d events, and %d when scaled", m, len(log), n)
		}
		for i := range log {
			if i == len(scaled[m]) || !alike(&log[i], &scaled[m][i]) {
				if log[i].At < end {
					end, parts = log[i].At, fmt.Sprintf("at %v, event %d of machine %d: %+v", log[i].At, i, m, log[i])
				}
				break
			}
		}
	}
	for m, log := range first {
		for i := range log {
			if log[i].At >= end {
				break
			}
			events++
			apart = max(apart, math.Abs(float64(int64(scaled[m][i].At)*x.Num-int64(log[i].At)*x.Den)/float64(x.Den)))
		}
	}
	return apart, parts, events
}

// alike reports whether two events are the same but for their instants, and for what they tell
// of rates and times.
func alike(a, b *trace.Event) bool {
	same := a.Kind == b.Kind && a.Node == b.Node && a.Port == b.Port && a.Lane == b.Lane && a.Flow == b.Flow && a.PSN == b.PSN && a.Bytes == b.Bytes
	if !same || slices.Contains([]trace.Kind{trace.Control, trace.Deadlock, trace.Timeout, trace.Message}, a.Kind) {
		return same // these tell numbers that may be rates or times
	}
	fields := a.Kind.Fields()
	for i := range fields {
		f := &fields[i]
		v, told := f.Of(a)
		w, also := f.Of(b)
		if told != also || v != w && f.Form != trace.Rate && !strings.HasSuffix(f.Key, "_ps") {
			return false
		}
	}
	return true
}
