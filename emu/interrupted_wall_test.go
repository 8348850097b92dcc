//go:build linux

package emu

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/drive"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"

	"github.com/google/go-cmp/cmp"
)

// figuresOf are the figures of a run, and the digest of its events, without those of the machine
// and of the wall clock.
func figuresOf(t *testing.T, out *report.Result, c *metrics.Collector) (text, series string) {
	t.Helper()
	x := report.Result{
		Partial: out.Partial, DurationPs: out.DurationPs, WindowPs: out.WindowPs, Phases: out.Phases, Flows: out.Flows, Workloads: out.Workloads,
		Links: out.Links, Buffers: out.Buffers, Drops: out.Drops, Losses: out.Losses, Violations: out.Violations, Retries: out.Retries,
		Credits: out.Credits, Storms: out.Storms, Silences: out.Silences, PatiencePs: out.PatiencePs, FrameHops: out.FrameHops, Digest: out.Digest,
	}
	var a, b bytes.Buffer
	if err := report.WriteJSON(&a, &x); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteSeries(&b, &x, c.Series()); err != nil {
		t.Fatal(err)
	}
	return a.String(), b.String()
}

// until runs a scenario on the virtual clock up to an instant.
func until(t *testing.T, s *scenario.Scenario, end unit.Time) (text, series string) {
	t.Helper()
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRecording(f, &Options{Settings: Settings{Clock: VirtualClock}, Digest: true, Domains: 1})
	if err != nil {
		t.Fatal(err)
	}
	driven, _, _, err := r.nodes(1, Schemes{})
	if err != nil {
		t.Fatal(err)
	}
	r.attach(driven, nil)
	driven.End = end
	if _, err := (drive.Virtual{SkipCodec: true}).Run(t.Context(), driven); err != nil {
		t.Fatal(err)
	}
	return figuresOf(t, r.end(end, 0, nil, driven.Watch), r.collector)
}

// TestModelInterruptedRuns: a run on the wall clock that is interrupted, at any instant, in one
// process or in several, has the figures and the events of a virtual run that ends there.
func TestModelInterruptedRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	credits := func() *scenario.Scenario {
		return runtest.Load(t, `name: cut
model: {duration: 10s}
wall: {dilation: 30}
defaults:
  link: {rate: 1GB/s, buffer: 4 packets}
  flow: {packet: 2048B, window: 4}
switches: {S: {}}
endpoints: ["h[1-4]"]
links: ["h[1-4] - S"]
flows: [{name: all, from: "h[1-2]", to: "h[3-4]"}]
`)
	}
	pfc, err := Open("ethernet/leaf-spine", runtest.Sets(t, "model.duration=1s", "wall.dilation=300")...)
	if err != nil {
		t.Fatal(err)
	}
	random := unit.NewRandom(uint64(time.Now().UnixNano()), 0)
	for _, x := range []struct {
		name     string
		scenario *scenario.Scenario
		o        Options
		times    int
	}{
		{"credits", credits(), Options{}, 12},
		{"captured", credits(), Options{Capture: &Capture{To: io.Discard}}, 3},
		{"marking", runtest.Short(t, "hpl2002/fig3b", "1s", "wall.dilation=300"), Options{}, 6},
		{"PFC", pfc, Options{}, 4},
		{"slow", runtest.Short(t, "hpl2002/fig2", "10ms", "wall.dilation=100000"), Options{}, 3},
		{"processes", credits(), Options{Settings: Settings{Placement: InDomains}}, 3},
		{"slow processes", runtest.Short(t, "hpl2002/fig2", "10ms", "wall.dilation=100000"), Options{Settings: Settings{Placement: InDomains}}, 2},
	} {
		t.Run(x.name, func(t *testing.T) {
			for range x.times {
				ctx, cancel := context.WithCancel(t.Context())
				x.o.Verify, x.o.Directory = VerifyOff, t.TempDir()
				sink := &after{left: 1 + int(random.Below(4000)), end: cancel}
				if x.scenario.Wall.Dilation > 1000 { // it waits most of the time, as it does when the end comes
					wait := time.Duration(random.Below(uint64(100 * time.Millisecond)))
					sink = &after{left: 1 + int(random.Below(20)), end: func() { time.AfterFunc(wait, cancel) }}
				}
				x.o.Sink = sink
				r, err := Run(ctx, x.scenario, x.o)
				cancel()
				if err != nil {
					t.Fatal(err)
				}
				if a := r.Verdict.Pace.Achieved; x.scenario.Wall.Dilation > 1000 && a > 100*r.Verdict.Pace.Requested {
					t.Errorf("interrupted at %v: a dilation of %v was achieved, as if it had stood still", unit.Duration(r.Metrics.End()), a)
				}
				got, gotSeries := figuresOf(t, r.Result, r.Metrics)
				want, wantSeries := until(t, x.scenario, r.Metrics.End())
				if !r.Partial || got != want || gotSeries != wantSeries {
					d := cmp.Diff(want+wantSeries, got+gotSeries)
					t.Fatalf("interrupted at %v, partial %v (-want +got):\n%s", unit.Duration(r.Metrics.End()), r.Partial, d[:min(len(d), 2500)])
				}
				t.Logf("interrupted at %v, achieved %v", unit.Duration(r.Metrics.End()), r.Verdict.Pace.Achieved)
			}
		})
	}
}
