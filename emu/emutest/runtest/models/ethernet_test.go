package models_test

import (
	"bytes"
	"context"
	"fabemu/emu"
	"fmt"
	"strings"
	"testing"

	"fabemu/emu/base/terminal"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/compare"
	"fabemu/emu/result/report"
	"fabemu/emu/result/summary"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// ethernet returns the names of the scenarios of Ethernet.
func ethernet(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, e := range builtin.List() {
		if strings.HasPrefix(e.Name, "ethernet/") {
			names = append(names, e.Name)
		}
	}
	if len(names) < 8 {
		t.Fatalf("scenarios of Ethernet: %v", names)
	}
	return names
}

// ofEthernet opens a scenario with some values set.
func ofEthernet(t *testing.T, name string, sets ...string) *scenario.Scenario {
	t.Helper()
	s, err := emu.Open(name, runtest.Sets(t, sets...)...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// logOf runs a scenario and returns its result and its event log.
func logOf(t testing.TB, s *scenario.Scenario, o emu.Options) (*emu.Result, string) {
	t.Helper()
	var log bytes.Buffer
	o.Events, o.Digest = &log, true
	r, err := emu.Run(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r, log.String()
}

func onVirtualClock(t *testing.T, s *scenario.Scenario) *emu.Result {
	t.Helper()
	r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Every claim of every scenario of Ethernet holds, and no promise of the fabric is
// broken.
func TestModelEthernetScenarios(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, name := range ethernet(t) {
		t.Run(strings.TrimPrefix(name, "ethernet/"), func(t *testing.T) {
			r := onVirtualClock(t, ofEthernet(t, name))
			if len(r.Checks) < 3 {
				t.Errorf("%d checks", len(r.Checks))
			}
			for _, c := range r.Checks {
				t.Logf("%-11s %-28s %.6g  wanted %.6g to %.6g", c.ID, c.Metric, float64(c.Value), float64(c.Low), float64(c.High))
				if c.Outcome != report.Pass {
					t.Errorf("%s: %s is %v, want %v to %v: %q", c.ID, c.Metric, c.Value, c.Low, c.High, c.Claim)
				}
			}
			if r.Verdict.Violations != 0 {
				t.Errorf("%d violations, the first: %+v", r.Verdict.Violations, r.Violations[0])
			}
			if found := len(r.Deadlocks) > 0; found != (name == "ethernet/ring-deadlock") {
				t.Errorf("deadlocks: %+v", r.Deadlocks)
			}
		})
	}
}

// "The computed headroom suffices; 10 % less overruns": and the loader has said so.
func TestModelTenPercentLessHeadroomOverruns(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s := ofEthernet(t, "ethernet/headroom", "defaults.switch.headroom=0.9")
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0].Message, "keeps 90 % of its headroom and may lose frames") {
		t.Errorf("warnings: %v", s.Warnings)
	}
	r := onVirtualClock(t, s)
	if r.Verdict.Violations == 0 || r.Verdict.Level != report.Void {
		t.Errorf("%d violations, verdict %s", r.Verdict.Violations, r.Verdict.Level)
	}
	for _, v := range r.Violations {
		if v.Reason != trace.Overrun.String() || v.Node != "S" {
			t.Errorf("%+v", v)
		}
	}
}

// Nothing is lost at any fan-in, and all of the receiver's link is used.
func TestModelIncastIsLosslessAtAnyFanIn(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	src, err := builtin.Read("ethernet/incast")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(src), "\nexpect:")
	for _, n := range []int{1, 2, 3, 7, 32, 100} {
		s, err := resolve.Load("incast.yaml", []byte(strings.ReplaceAll(text, "[1-16]", fmt.Sprintf("[1-%d]", n))), []scenario.Set{
			{Path: "defaults.flow.size", Value: fmt.Sprintf("%dB", 7_500_000/n)},
		})
		if err != nil {
			t.Fatal(err)
		}
		r := onVirtualClock(t, s)
		if r.Verdict.Violations != 0 || len(r.Drops) != 0 {
			t.Errorf("%d senders: %d violations, drops %+v", n, r.Verdict.Violations, r.Drops)
		}
		ended, last := 0, unit.Time(0)
		for i := range n {
			for _, tr := range r.Metrics.Transfers(i) {
				ended++
				last = max(last, tr.Ended)
			}
		}
		// 7.5 MB at 10 Gb/s are 6 ms; the first frame takes 2.24 µs longer, and the last
		// frame of each transfer is filled up.
		if want := unit.Time(6 * unit.Millisecond); ended != n || last < want || last > want.Add(30*unit.Microsecond) {
			t.Errorf("%d senders: %d transfers, the last of them at %v; want all of them by %v", n, ended, last, want)
		}
	}
}

// Two priorities without flow control share the memory of a switch with one that is
// lossless: what they lose is counted, and that one loses nothing.
func TestModelLosslessPriorityBesideOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s, err := resolve.Load("both.yaml", []byte(`name: both
model: {duration: 2ms}
defaults:
  link: {rate: 10Gb/s, propagation: 500ns, flow-control: pfc}
  switch: {kind: output-queued, memory: 60KB per port, lossless: [3]}
  flow: {packet: 1500B, traffic: constant, load: 0.3}
switches: {S: {}}
endpoints: ["N[1-3]", R]
links: ["N[1-3] - S", {name: root, between: S - R, rate: 5Gb/s}]
flows:
  - {name: low, from: "N[1-3]", to: R}
  - {name: sure, from: "N[1-3]", to: R, priority: 3}
  - {name: high, from: N1, to: R, priority: 5}
measure: {window: 500us}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := onVirtualClock(t, s)
	got := figuresOver(t, r, []string{"low.drops", "sure.drops", "high.drops", "sure.rate"}, [2]unit.Time{0, r.Metrics.End()})
	if r.Verdict.Violations != 0 || got[0] < 100 || got[1] != 0 || got[2] != 0 || got[3] == 0 {
		t.Errorf("%d violations; lost: %v low, %v sure, %v high; sure comes with %v", r.Verdict.Violations, got[0], got[1], got[2], got[3])
	}
}

// On the wall clock each of them is, byte for byte, what it is on the virtual one.
func TestEthernetLogOnTheWallClockIsThatOfTheVirtualClock(t *testing.T) {
	for name, duration := range map[string]string{
		"ethernet/pause-hol": "500us", "ethernet/pfc-hol": "500us", "ethernet/incast-drops": "500us", "ethernet/slow-receiver": "1ms",
		"ethernet/pause-storm": "2200us", "ethernet/ring-deadlock": "1ms", "cbfc/channels": "1200us",
		"llr/pause": "120us", "cbfc/retry": "1500us",
	} {
		t.Run(strings.TrimPrefix(name, "ethernet/"), func(t *testing.T) {
			s := ofEthernet(t, name, "model.duration="+duration, "wall.dilation=100")
			want, virtual := logOf(t, s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
			got, wall := logOf(t, s, emu.Options{})
			if virtual != wall {
				t.Errorf("the logs differ: %s", runtest.FirstDifference(virtual, wall))
			}
			if got.Digest != want.Digest || got.Verdict.Verify != "equal" {
				t.Errorf("digest %s, verified %q; want %s, equal", got.Digest, got.Verdict.Verify, want.Digest)
			}
			if len(virtual) < 1<<16 {
				t.Errorf("a log of %d bytes shows little", len(virtual))
			}
		})
	}
}

// What is lost is told with its place, in the text, the page and the JSON alike; and the
// page of a fabric of Ethernet has its quantities in bytes, and none that there is not.
func TestModelReportOfDrops(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	dir := t.TempDir()
	r := onVirtualClock(t, ofEthernet(t, "ethernet/incast-drops"))
	if err := r.Write(dir, summary.Pictures); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := summary.WriteText(&text, r.Result, terminal.Look{}); err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for i, l := range r.Losses {
		sum += l.Count
		if l.Node != "S" || l.Link != fmt.Sprintf("N%d-S", i+1) || l.Reason != trace.BufferFull.String() {
			t.Errorf("%+v", l)
		}
	}
	if len(r.Losses) != 16 || len(r.Drops) != 1 || sum != r.Drops[0].Count {
		t.Errorf("%d frames lost at %d places, %+v in all", sum, len(r.Losses), r.Drops)
	}
	d, err := report.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := summary.WriteHTML(&page, d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"at S, from N1-S", "mean occupancy (KB)", "mean queue of an output (MB)"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page.String(), "limit of the rate limiter") {
		t.Error("the page draws rate limits where no flow has one")
	}
	if want := fmt.Sprintf("%d  at S, from N1-S           buffer-full", r.Losses[0].Count); !strings.Contains(text.String(), want) {
		t.Errorf("the report does not say %q:\n%s", want, text.String())
	}
	c, err := compare.Dirs(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Series {
		if want := map[string]string{"buffer.occupancy": "bytes", "link.queue": "bytes"}[s.Kind]; want != "" && s.Unit != want {
			t.Errorf("%s of %s is compared in %q", s.Kind, s.Name, s.Unit)
		}
	}
}
