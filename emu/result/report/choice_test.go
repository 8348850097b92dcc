package report_test

import (
	"bytes"
	"strings"
	"testing"

	"fabemu/emu/emutest/reporttest"
	. "fabemu/emu/result/report"
	"fabemu/wire/trace"
)

// A log with a choice has the events that each list has, and no others.
func TestChoiceOfEvents(t *testing.T) {
	f, _ := reporttest.Fabric()
	flow, other, node := &f.Flows[0], &f.Flows[len(f.Flows)-1], f.Nodes[4].Name
	if flow.Group == other.Group {
		t.Fatal("the sample has one group of flows")
	}
	events := []trace.Event{
		{At: 1, Node: 4, Kind: trace.FlowStart, Flow: flow.QP},
		{At: 2, Node: 5, Kind: trace.FlowStart, Flow: other.QP},
		{At: 3, Node: 4, Kind: trace.FlowStop, Flow: flow.QP},
		{At: 4, Node: 4, Kind: trace.Release},
		{At: 5, Node: 6, Kind: trace.Notify},
	}
	for _, x := range []struct {
		choice Choice
		lines  string // the times of the events
	}{
		{Choice{}, "12345"},
		{Choice{Kinds: []string{"flow-stop", "cnm"}}, "35"},
		{Choice{Kinds: []string{"flow-start", "release"}}, "124"},
		{Choice{Nodes: []string{node}}, "134"},
		{Choice{Flows: []string{flow.Name}}, "13"},
		{Choice{Flows: []string{other.Group}}, "2"},
		{Choice{Kinds: []string{"flow-start"}, Nodes: []string{node}, Flows: []string{other.Name}}, ""},
	} {
		var out bytes.Buffer
		l := NewEventLog(&out, f, JSONLog)
		if err := l.Choose(&x.choice, f); err != nil {
			t.Fatal(err)
		}
		for i := range events {
			l.Record(&events[i])
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		got := ""
		for line := range strings.Lines(out.String()) {
			got += strings.TrimPrefix(line, `{"time_ps":`)[:1]
		}
		if got != x.lines {
			t.Errorf("%+v: the events at %q, want %q", x.choice, got, x.lines)
		}
	}
	for want, c := range map[string]Choice{
		`no kind of event "flow-stat" (did you mean`:                        {Kinds: []string{"flow-stat"}},
		`there are arrive, backlog, cnm, congestion-log, control, deadlock`: {Kinds: []string{"nothing"}},
		`no node "nonesuch"`:                   {Nodes: []string{"nonesuch"}},
		`no flow, group or workload "nothing"`: {Flows: []string{"nothing"}},
	} {
		if err := NewEventLog(nil, f, JSONLog).Choose(&c, f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
}
