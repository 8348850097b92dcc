package models_test

import (
	"bytes"
	"context"
	"fabemu/emu"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/capture/dump"
	"fabemu/wire/unit"
)

// bcnText is four sources that share a link of 10 Gb/s.
const bcnText = `name: bcn
model: {duration: 60ms}
measure: {window: 1ms}
defaults:
  link: {rate: 10Gb/s, propagation: 500ns, flow-control: pause}
  switch: {kind: output-queued, forwarding-delay: 1us, memory: 300KB per port, marking: {scheme: bcn}}
  flow: {packet: 1500B, control: {algorithm: bcn}}
switches: {S: {}}
endpoints: ["A[1-4]", B]
links: ["A[1-4] - S", {name: shared, between: S - B}]
flows:
  - {name: sources, from: "A[1-4]", to: B}
`

func bcnScenario(t *testing.T, sets ...string) *scenario.Scenario {
	t.Helper()
	return runtest.Load(t, bcnText, runtest.Sets(t, sets...)...)
}

// Messages reach sources, tags reach congestion points, and the queue settles at Qeq with the
// link full, whatever the parameters are. Without tags nothing is told to rise again; without
// messages PAUSE alone is left. What BCN(0,0) costs is not looked at here.
func TestModelBCNHoldsTheQueue(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for name, c := range map[string]struct {
		sets     []string
		queue    [2]float64 // bytes, on average
		use      [2]float64
		notifies bool
	}{
		"slides":     {nil, [2]float64{20000, 28000}, [2]float64{0.98, 1.001}, true},
		"interval":   {[]string{"defaults.switch.marking.sampling=interval"}, [2]float64{20000, 28000}, [2]float64{0.98, 1.001}, true},
		"on wire":    {[]string{"model.framing=wire"}, [2]float64{20000, 28000}, [2]float64{0.95, 1.001}, true},
		"normalised": {[]string{"defaults.flow.control.alpha=0.5", "defaults.flow.control.beta=0.1"}, [2]float64{20000, 28000}, [2]float64{0.98, 1.001}, true},
		"bottleneck": {[]string{"defaults.switch.marking.bottleneck=true"}, [2]float64{20000, 28000}, [2]float64{0.98, 1.001}, true},
		"ecm": {
			[]string{"defaults.switch.marking.version=ecm", "defaults.flow.control.version=ecm"},
			[2]float64{40000, 80000}, [2]float64{0.9, 1.001}, true,
		},
		"no tags":     {[]string{"defaults.switch.marking.lost-tags=100"}, [2]float64{0, 12000}, [2]float64{0.01, 0.9}, true},
		"no messages": {[]string{"defaults.switch.marking.lost=100"}, [2]float64{200000, 2e6}, [2]float64{0.98, 1.001}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := emu.Run(context.Background(), bcnScenario(t, c.sets...), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}})
			if err != nil {
				t.Fatal(err)
			}
			if n := r.Verdict.Violations; n != 0 || len(r.Drops) != 0 {
				t.Fatalf("%d violations, drops %v", n, r.Drops)
			}
			v := figuresOver(t, r, []string{"shared.S-B.queue", "shared.S-B.utilisation"}, spanOfMs(30, 60))
			if v[0] < c.queue[0] || v[0] > c.queue[1] {
				t.Errorf("the queue has %.0f bytes in the mean, want %v", v[0], c.queue)
			}
			if v[1] < c.use[0] || v[1] > c.use[1] {
				t.Errorf("the link is used to %.4f, want %v", v[1], c.use)
			}
			if all := figuresOver(t, r, []string{"sources.notifications"}, spanOfMs(0, 60))[0]; (all > 0) != c.notifies {
				t.Errorf("%v notifications", all)
			}
		})
	}
}

// A capture of a run proves that each tag follows a message, and each increase a tag.
func TestModelBCNTagsAreProvedRight(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, both := range []bool{false, true} {
		var b, out bytes.Buffer
		s := bcnScenario(t, "model.duration=10ms", "defaults.switch.marking.severe=true", "defaults.switch.marking.qsc=48KB", "defaults.flow.control.drift-time=50us")
		if _, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Capture: &emu.Capture{To: &b, Snap: 64, Both: both}}); err != nil {
			t.Fatal(err)
		}
		sum, err := dump.Dump(&out, dump.Options{Check: true, Quiet: true}, &b)
		if err != nil {
			t.Fatal(err)
		}
		if sum.Problems() != 0 || sum.Checked[dump.Tags] < 100 || sum.Gaps[dump.NoMessages] != 0 {
			t.Errorf("%v, %v, %v\n%.2000s", sum.Checked, sum.Found, sum.Gaps, out.String())
		}
	}
}

// Messages and tags go over real sockets as bytes, and what comes of them is what comes of
// them on the virtual clock, event for event.
func TestModelBCNOnTheWallClockIsThatOfTheVirtualClock(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s := bcnScenario(t, "model.duration=1500us", "measure.window=500us", "wall.dilation=200", "defaults.switch.marking.pm=0.1", "defaults.switch.marking.severe=true", "defaults.switch.marking.qsc=48KB")
	r, err := emu.Run(context.Background(), s, emu.Options{Verify: emu.VerifyOn})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict.Verify != "equal" {
		t.Errorf("the log, compared with the virtual clock's: %q", r.Verdict.Verify)
	}
	if n := figuresOver(t, r, []string{"sources.notifications"}, [2]unit.Time{0, unit.Time(1500 * unit.Microsecond)})[0]; n < 20 {
		t.Errorf("%v notifications", n)
	}
}
