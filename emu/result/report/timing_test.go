package report_test

import (
	"testing"
	"time"

	"fabemu/emu/fabric"
	"fabemu/emu/result/report"
	"fabemu/emu/run/pace"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// TestPaceOfARunThatCatchesUp: a run that lags behind by two seconds in the median, and ends in
// time since there was nothing to do at its end, has not kept the pace; one that is late by
// microseconds has.
func TestPaceOfARunThatCatchesUp(t *testing.T) {
	f := &fabric.Fabric{Scenario: &scenario.Scenario{Wall: scenario.Wall{Dilation: 1}}}
	for _, c := range []struct {
		wall, late time.Duration
		want       report.Number
	}{
		{8 * time.Second, 20 * time.Microsecond, 1},
		{8 * time.Second, 2 * time.Second, 1.25},
		{10 * time.Second, 2 * time.Second, 1.25},
		{16 * time.Second, 4 * time.Second, 2}, // it lagged behind to its end, by eight
		{8 * time.Second, -1, 1},               // it sent nothing
	} {
		x := &pace.Record{Reached: unit.Time(8 * unit.Second), Wall: int64(c.wall), Worst: -1}
		if c.late >= 0 {
			x.Data, x.Lateness, x.LatenessT, x.GapError = 3, pace.NewHistogram(1e11), pace.NewHistogram(1e11), pace.NewHistogram(1e11)
			for range 3 {
				x.Lateness.RecordValue(int64(c.late))
			}
		}
		if got := report.FiguresOf(f, x).Pace.Achieved; got < c.want-0.001 || got > c.want+0.001 {
			t.Errorf("8 s of model time in %v, late by %v: the achieved dilation is %v, want %v", c.wall, c.late, got, c.want)
		}
	}
}
