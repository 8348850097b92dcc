package models_test

import (
	"context"
	"io"
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
	load := func(sets ...string) (*emu.Result, *logged) {
		var l logged
		all := append([]string{"model.duration=10ms"}, sets...)
		r, err := emu.Run(context.Background(), runtest.Load(t, runtest.Text(t, "cca/levels"), runtest.Sets(t, all...)...), emu.Options{Clock: emu.VirtualClock, Codec: true, Sink: &l})
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

// A flow that shares its limiter with others of its service level cannot be recorded by itself.
func TestModelCCASharedIsNotRecorded(t *testing.T) {
	s := runtest.Load(t, runtest.Text(t, "cca/levels"), runtest.Sets(t, "model.duration=1ms", "defaults.flow.control.port-control=sl")...)
	var b strings.Builder
	_, err := emu.Run(context.Background(), s, emu.Options{Clock: emu.VirtualClock, Told: map[string]io.Writer{"hot": &b}})
	if err == nil || !strings.Contains(err.Error(), "control.port-control") {
		t.Errorf("%v", err)
	}
}
