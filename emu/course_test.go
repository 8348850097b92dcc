package emu

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/run/drive"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// an active run is told of each half minute; where that takes long, it takes a twentieth of
// the time. It is over when the run is.
func TestCourseIsToldFromTimeToTime(t *testing.T) {
	src, err := builtin.Read(builtin.Default)
	if err != nil {
		t.Fatal(err)
	}
	s, err := resolve.Load(builtin.Default, src, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		clock       Clock
		takes, runs time.Duration
		want        int
	}{
		{"short", VirtualClock, 0, 29 * time.Second, 0},
		{"long", VirtualClock, 0, 100 * time.Second, 3},
		{"slow to tell", VirtualClock, 3 * time.Second, 150 * time.Second, 2}, // after 30 and 93 s
		{"wall clock", WallClock, 0, 100 * time.Second, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := 0
				r, err := newRecording(f, &Options{Settings: Settings{Clock: c.clock}, Course: func(ctx context.Context, x *metrics.Course) {
					told++
					time.Sleep(c.takes)
				}})
				if err != nil {
					t.Fatal(err)
				}
				r.attach(&drive.Setup{}, nil)
				began := time.Now()
				for at := unit.Time(0); time.Since(began) < c.runs; at += unit.Time(100 * unit.Microsecond) {
					r.events.Record(&trace.Event{At: at, Kind: trace.Stall})
					time.Sleep(time.Second)
					r.events.Flush()
				}
				r.end(unit.Time(s.Model.Duration), c.runs, nil, nil)
				if told != c.want {
					t.Errorf("it was told %d times, want %d", told, c.want)
				}
				before := told
				if time.Sleep(time.Hour); told != before {
					t.Error("it was told after the end")
				}
			})
		})
	}
}
