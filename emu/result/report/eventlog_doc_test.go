package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/emutest/reporttest"
	. "fabemu/emu/result/report"
	"fabemu/wire"
	"fabemu/wire/trace"
)

// eventsTable is what each kind of event tells, as Markdown: first the fields that at least three
// kinds have.
func eventsTable() string {
	var common []string
	kinds := map[string]int{}
	written := func(f trace.Field) string {
		key := f.Key
		if f.Form == trace.Occupancy {
			key += "_blocks`, on Ethernet `" + key + "_bytes"
		}
		return "`" + key + "`: " + strings.ReplaceAll(strings.TrimSuffix(f.Doc, ", if any"), ";", ",")
	}
	for _, k := range trace.Kinds() {
		for _, f := range k.Fields() {
			text := written(f)
			if kinds[text]++; kinds[text] == 3 {
				common = append(common, text)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Fields of several events: %s.\n\n| Event | Means | Fields |\n|---|---|---|\n", strings.Join(common, "; "))
	for _, k := range trace.Kinds() {
		var fields []string
		for _, f := range k.Fields() {
			text := written(f)
			if kinds[text] >= 3 {
				text, _, _ = strings.Cut(text, ":")
			}
			fields = append(fields, text)
		}
		fmt.Fprintf(&b, "| **`%v`** | %s | %s |\n", k, k.Doc(), strings.Join(fields, "; "))
	}
	return b.String()
}

// docs/guide/events.md has what each kind of event tells.
func TestEventsOfDocument(t *testing.T) {
	golden.Part(t, "../../../docs/guide/events.md", "<!-- The table below is written by: go test ./emu/result/report -update -->\n", "<!-- end of the events -->\n", eventsTable())
}

// A line of the log has the fields that its kind says, and no others.
func TestFieldsOfTheLog(t *testing.T) {
	f, _ := reporttest.Fabric()
	all := &wire.Frame{Kind: wire.Data, FECN: true, BECN: true}
	for _, k := range trace.Kinds() {
		if k.Doc() == "" {
			t.Errorf("%v is not explained", k)
		}
		want := map[string]bool{"time_ps": true, "node": true, "seq": true, "event": true, "qp": true}
		e := trace.Event{Kind: k, Flow: 77, A: trace.FrameWord(all), B: 1}
		if e.HasPort() {
			want["port"] = true
		}
		for _, f := range k.Fields() {
			if f.Doc == "" {
				t.Errorf("%s of %v is not explained", f.Key, k)
			}
			if _, told := f.Of(&e); told {
				key := f.Key
				if f.Form == trace.Occupancy {
					key += "_blocks" // the sample is of InfiniBand
				}
				if want[key] {
					t.Errorf("%v has %s twice", k, key)
				}
				want[key] = true
			}
		}
		var got map[string]any
		var out bytes.Buffer
		l := NewEventLog(&out, f, JSONLog)
		l.Record(&e)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		line := out.Bytes()
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if d := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); d != "" {
			t.Errorf("%v (-table +log):\n%s", k, d)
		}
	}
}
