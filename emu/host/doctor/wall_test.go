//go:build !race

package doctor

import (
	"context"
	"errors"
	"math"
	"testing"
)

// A real examination: whatever this computer is, its figures fit together.
func TestWallExamine(t *testing.T) {
	var steps []float64
	r, err := Examine(context.Background(), func(what string, done float64) {
		if what == "" || done < 0 || done > 1 {
			t.Errorf("progress %q %v", what, done)
		}
		steps = append(steps, done)
	})
	if err != nil {
		t.Fatal(err)
	}
	f := &r.Figures
	floor := &f.Speed.Floor
	t.Logf("floor %+v, datagrams %+v, sleep %+v, load %+v", floor.Late, f.Speed.Datagrams, f.Speed.Sleep, f.Load)

	if floor.Windows != rounds || floor.WatchedNs < int64(rounds*floorWindow) || len(floor.Late) != len(thresholds) {
		t.Errorf("%d windows of %d ns together, %d lines", floor.Windows, floor.WatchedNs, len(floor.Late))
	}
	for i, l := range floor.Late {
		if l.Share < 0 || l.Share > 1 || i > 0 && (l.Share > floor.Late[i-1].Share || l.ThanNs <= floor.Late[i-1].ThanNs) {
			t.Errorf("line %d of the floor is %+v", i, l)
		}
	}
	if floor.ReadNs < 1 || floor.ReadNs > floor.GapP99Ns || floor.GapP99Ns > floor.GapP999Ns || floor.GapP999Ns > floor.GapMaxNs {
		t.Errorf("gaps: %d, %d, %d, %d", floor.ReadNs, floor.GapP99Ns, floor.GapP999Ns, floor.GapMaxNs)
	}
	if (floor.Stalls > 0) != (floor.GapMaxNs > stallLimit) || floor.StalledNs < int64(floor.Stalls)*stallLimit {
		t.Errorf("%d stalls of %d ns together, the longest gap %d ns", floor.Stalls, floor.StalledNs, floor.GapMaxNs)
	}
	if s := f.Speed.Sleep; s.P50Ns < 1 || s.P99Ns < s.P50Ns || s.AskedNs <= 0 {
		t.Errorf("sleep: %+v", s)
	}
	if len(f.Speed.Datagrams) != 2 || f.Speed.LostDatagrams != 0 || f.Speed.Inline < 0 || f.Speed.Inline > 1 {
		t.Fatalf("%+v", f.Speed)
	}
	large, small := f.Speed.Datagrams[0], f.Speed.Datagrams[1]
	if large.Bytes != LargeDatagram || small.Bytes != SmallDatagram || large.Ns < 0.5*small.Ns || large.Ns > 20*small.Ns {
		t.Errorf("%+v, %+v", large, small)
	}
	for _, d := range f.Speed.Datagrams {
		if d.Ns < 50 || math.Abs(d.Ns*d.PerSecond/1e9-1) > 0.01 {
			t.Errorf("%+v", d)
		}
	}
	if f.Load.Foreign < 0 || f.Load.Foreign > 1.1*float64(f.System.Cores)+1 {
		t.Errorf("load: %+v on %d processors", f.Load, f.System.Cores)
	}
	if f.System.Kernel == "" || f.System.Cores < 1 || f.Limits.Files == 0 || f.Limits.Granted <= 0 || f.Network.Weight == 0 {
		t.Errorf("%+v, %+v, %+v", f.System, f.Limits, f.Network)
	}
	if len(r.Findings) < 15 {
		t.Errorf("%d findings", len(r.Findings))
	}
	if len(steps) < rounds {
		t.Errorf("%d steps of progress", len(steps))
	}
}

func TestWallExamineIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	_, err := Examine(ctx, func(string, float64) {
		if n++; n == 2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || n > 3 {
		t.Errorf("%v after %d steps", err, n)
	}
}
