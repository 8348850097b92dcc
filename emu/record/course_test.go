package record

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"fabemu/emu/drive"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/scenario"
	"fabemu/emu/scenarios"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// A run that goes on is told of each ten seconds, on the wall clock each minute; where that takes
// long, it takes a twentieth of the time. It is over when the run is.
func TestCourseIsToldFromTimeToTime(t *testing.T) {
	src, err := scenarios.Read(scenarios.Default)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Load(scenarios.Default, src, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		wall        bool
		takes, runs time.Duration
		want        int
	}{
		{"short", false, 0, 9 * time.Second, 0},
		{"long", false, 0, 45 * time.Second, 4},
		{"slow to tell", false, 2 * time.Second, 100 * time.Second, 3}, // 10, 52 and 94 s
		{"wall clock", true, 0, 150 * time.Second, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := 0
				r, err := New(f, Wanted{Wall: c.wall, Course: func(ctx context.Context, x *metrics.Course) {
					told++
					time.Sleep(c.takes)
				}})
				if err != nil {
					t.Fatal(err)
				}
				r.Attach(&drive.Fabric{})
				began := time.Now()
				for at := unit.Time(0); time.Since(began) < c.runs; at += unit.Time(100 * unit.Microsecond) {
					r.Events.Record(&trace.Event{At: at, Kind: trace.Stall})
					time.Sleep(time.Second)
					r.Events.Flush()
				}
				r.End(unit.Time(s.Model.Duration), c.runs, nil, nil)
				if told != c.want {
					t.Errorf("it was told %d times, want %d", told, c.want)
				}
				time.Sleep(time.Hour)
				if told != c.want {
					t.Error("it was told after the end")
				}
			})
		})
	}
}
