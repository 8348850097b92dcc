package models_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/wire/trace"
)

// logged counts the events of the log of congestion, and keeps the highest level.
type logged struct{ n, highest int64 }

// Record takes in an event.
func (l *logged) Record(e *trace.Event) {
	if e.Kind == trace.CongestionLog {
		l.n, l.highest = l.n+1, max(l.highest, e.A)
	}
}

// A source makes an entry in its log where its CCTI is at the trigger threshold or above it,
// and none without a threshold. The limit of a flow is told as its timer raises it, too: it is
// what leaves.
func TestModelCCA(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	load := func(sets ...string) (*emu.Result, *logged) {
		var l logged
		all := append([]string{"model.duration=10ms"}, sets...)
		r, err := emu.Run(context.Background(), runtest.Load(t, runtest.Text(t, "cca/levels"), runtest.Sets(t, all...)...), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}, Sink: &l})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict.Violations > 0 || len(r.Losses) > 0 {
			t.Errorf("%v: %+v %+v", sets, r.Violations, r.Losses)
		}
		return r, &l
	}
	if _, l := load(); l.n > 0 {
		t.Errorf("%d entries without a threshold", l.n)
	}
	const threshold = "defaults.flow.control.trigger-threshold="
	_, one := load(threshold + "1")
	r, ten := load(threshold + "10")
	if one.highest < 8 || ten.n == 0 || one.n < 2*ten.n {
		t.Errorf("thresholds of 1 and 10: %+v, %+v", one, ten)
	}
	limit, rate := runtest.Over(t, r.Metrics, "hot.limit", 5, 10), runtest.Over(t, r.Metrics, "hot.rate", 5, 10)
	if limit < rate || limit > 1.25*rate {
		t.Errorf("the flow has a limit of %v, and a rate of %v", limit, rate)
	}
}

// Events at 10 ms give switches and flows other parameters, or congestion control that they did not
// have. The rates then are those of a run that has had them from the start, and not those of a run
// without the events.
func TestModelCCAFromEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	rates := func(events string, sets ...string) [3]float64 {
		t.Helper()
		text, _, _ := strings.Cut(runtest.Text(t, "cca/incast"), "events: []")
		all := append([]string{"model.duration=30ms"}, sets...)
		s := runtest.Load(t, text+"events:"+events+"\nmeasure: {window: 1ms}\n", runtest.Sets(t, all...)...)
		r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict.Violations > 0 || len(r.Losses) > 0 {
			t.Errorf("%+v %+v", r.Violations, r.Losses)
		}
		var all3 [3]float64
		for i, metric := range []string{"root.B-R.utilisation", "hot.fairness", "bystander.utilisation"} {
			all3[i] = runtest.Over(t, r.Metrics, metric, 20, 30)
		}
		return all3
	}
	const flow, point = "defaults.flow.control.", "defaults.switch.marking."
	for _, tc := range []struct {
		name, marking, control string
		from, to               []string
	}{
		{"a table with which the link is not full", "", "cct: '0:0,0:39'", nil, []string{flow + "cct=0:0,0:39"}},
		{"marking becomes rare", "marking-rate: 999", "", nil, []string{point + "marking-rate=999"}},
		{"nothing is marked", "threshold: 0", "", nil, []string{point + "threshold=0"}},
		{"from nothing", "threshold: 15", "ccti-timer: 100", []string{point + "scheme=none", flow + "algorithm=fixed"}, []string{flow + "ccti-timer=100"}},
		{"flows that share their limiter", "", "cct: '0:0,0:39', port-control: sl", []string{flow + "port-control=sl"}, []string{flow + "port-control=sl", flow + "cct=0:0,0:39"}},
	} {
		var events strings.Builder
		for _, s := range []string{"A", "B"} {
			if tc.marking != "" {
				fmt.Fprintf(&events, "\n  - {at: 10ms, switch: %s, marking: {%s}}", s, tc.marking)
			}
		}
		for i := 0; i <= 16 && tc.control != ""; i++ {
			name := fmt.Sprint("S", i)
			if i == 0 {
				name = "V"
			}
			fmt.Fprintf(&events, "\n  - {at: 10ms, endpoint: %s, control: {%s}}", name, tc.control)
		}
		before, got, want := rates(" []", tc.from...), rates(events.String(), tc.from...), rates(" []", tc.to...)
		other := false
		for i := range got {
			if math.Abs(got[i]-want[i]) > 0.02 {
				t.Errorf("%s: %.3f, want %.3f", tc.name, got, want)
			}
			other = other || math.Abs(got[i]-before[i]) > 0.1
		}
		if !other {
			t.Errorf("%s: %.3f, and %.3f without the events", tc.name, got, before)
		}
	}
}

// A flow that shares its limiter with others of its service level cannot be recorded by itself.
func TestModelCCASharedIsNotRecorded(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s := runtest.Load(t, runtest.Text(t, "cca/levels"), runtest.Sets(t, "model.duration=1ms", "defaults.flow.control.port-control=sl")...)
	var b strings.Builder
	_, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Recordings: map[string]io.Writer{"hot": &b}})
	if err == nil || !strings.Contains(err.Error(), "control.port-control") {
		t.Errorf("%v", err)
	}
}
