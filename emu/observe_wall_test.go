//go:build timing

package emu_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/watch/observe"
	"fabemu/wire/trace"
)

// An observer does not slow a run: by turns without and with one that computes all figures ten
// times a second, the share of late frames above the floor differs, in the median, by less than
// the spread between runs of one kind, or by a thousandth, whatever is more. With the build tag
// soak there are ten rounds, and three otherwise. Of so few all of one kind may be later by chance
// where others use the machine; then there are more, up to four times as many.
func TestWallObserverDoesNotSlowTheRun(t *testing.T) {
	shares := map[bool][]float64{}
	snapshots := 0
	watch := observe.Func(func(s *observe.Snapshot) {
		if !s.Last {
			snapshots++
		}
		for range s.Figures.Rows(s.Figures.Window()) {
		}
	})
	for round := 1; ; round++ {
		for _, with := range []bool{false, true} {
			s := runtest.Short(t, "hpl2002/fig2", "10ms", "wall.dilation=100", "flows.local.start=0us", "flows.remote.start=0us", "flows.victim.start=1ms", "flows.victim.stop=10ms")
			o := emu.Options{Verify: emu.VerifyOff}
			if with {
				o.Observe = []observe.Request{{Observer: watch, Every: 100 * time.Millisecond, Events: []trace.Kind{trace.Feedback, trace.Stall}}}
			}
			result, err := emu.Run(context.Background(), s, o)
			if err != nil {
				t.Fatal(err)
			}
			if result.Verdict.Level == report.Void {
				t.Fatal(result.Verdict.Reason)
			}
			shares[with] = append(shares[with], float64(result.Verdict.Pace.LateShare-result.Verdict.Pace.FloorShare))
		}
		if round < observerRounds {
			continue
		}
		spread := 0.001
		for _, all := range shares {
			slices.Sort(all)
			spread = max(spread, all[len(all)-1]-all[0])
		}
		apart := shares[true][round/2] - shares[false][round/2]
		t.Logf("late above the floor without %.4f, with %.4f; apart %.4f, spread %.4f; %d snapshots", shares[false], shares[true], apart, spread, snapshots)
		if snapshots < round {
			t.Fatalf("%d snapshots in %d runs", snapshots, round)
		}
		if apart <= spread {
			return
		}
		if round == 4*observerRounds {
			t.Fatalf("with an observer %.4f more frames left late; the spread between runs is %.4f", apart, spread)
		}
	}
}
