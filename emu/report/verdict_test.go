package report

import (
	"strings"
	"testing"
)

// good are the figures of an exact run.
func good() Figures {
	f := NoFigures()
	f.Order.Frames = 1000
	f.Pace.Ratio, f.Pace.LateShare, f.Pace.FloorShare = 0.998, 0.015, 0.005
	f.Pace.LatenessPacketTimes.P99 = 0.1
	return f
}

// late makes a run one with late frames.
func late(f *Figures, over5Percent, overT Number) {
	f.Order.LateFrames, f.Order.WorstPacketTimes = 3, 0.5
	f.Order.Over5Percent, f.Order.OverT = over5Percent, overT
}

func TestJudge(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(*Figures)
		want   Level
		reason string
	}{
		{"as it should be", func(f *Figures) {}, Exact, "no frame was late and the pace was 99.80 % of the wanted one: all figures stand"},
		{"pace at the bound", func(f *Figures) { f.Pace.Ratio = 0.995 }, Exact, ""},
		{"share at the bound", func(f *Figures) { f.Pace.LateShare = f.Pace.FloorShare + 0.02 }, Exact, ""},
		{"pace below 99.5 %", func(f *Figures) { f.Pace.Ratio = 0.9949 }, Faithful, "99.49 %"},
		{"departures late above the floor", func(f *Figures) { f.Pace.LateShare = 0.026 }, Faithful, "2.6 % of the frames left late (the machine's floor: 0.5 %)"},
		{"a noisy machine", func(f *Figures) { f.Pace.LateShare, f.Pace.FloorShare = 0.06, 0.05 }, Exact, ""},
		{"no floor, few late", func(f *Figures) { f.Pace.FloorShare = Missing() }, Exact, ""},
		{"no floor, some late", func(f *Figures) { f.Pace.LateShare, f.Pace.FloorShare = 0.021, Missing() }, Faithful, "floor: -"},
		{"departures not measured", func(f *Figures) { f.Pace.LateShare = Missing() }, Faithful, "lateness of frames was not measured"},
		{"a few late frames", func(f *Figures) { late(f, 0.02, 0.001) }, Faithful, "3 frames came late (by 0.5 packet times at the worst)"},
		{"late frames, some by much", func(f *Figures) { late(f, 0.002, 0.0011) }, Degraded, "off by an unknown amount"},
		{"many late frames", func(f *Figures) { late(f, 0.021, 0) }, Degraded, ""},
		{"late frames, by how much is not known", func(f *Figures) { f.Order.LateFrames = 1 }, Degraded, "one frame came late and"},
		{"pace at 95 %", func(f *Figures) { f.Pace.Ratio = 0.95 }, Faithful, ""},
		{"pace below 95 %", func(f *Figures) { f.Pace.Ratio = 0.9499 }, OrderOnly, "model-time figures stand, wall-time figures do not"},
		{"p99 at T", func(f *Figures) { f.Pace.Ratio, f.Pace.LatenessPacketTimes.P99 = 0.99, 1 }, Faithful, ""},
		{"p99 above T", func(f *Figures) { f.Pace.Ratio, f.Pace.LatenessPacketTimes.P99 = 0.99, 1.01 }, OrderOnly, "no frame was late, but the pace was only 99.0 % of the wanted one, one in a hundred left more than 1 packet times late"},
		{"departures late at full pace", func(f *Figures) { f.Pace.Ratio, f.Pace.LateShare, f.Pace.LatenessPacketTimes.P99 = 1, 0.4, 37 }, OrderOnly, "but 40.0 % of the frames left late (the machine's floor: 0.5 %), one in a hundred left more than 37 packet times late:"},
		{"pace not measured", func(f *Figures) { f.Pace.Ratio = Missing() }, OrderOnly, "the pace was not measured"},
		{"nothing measured", func(f *Figures) { *f = NoFigures() }, OrderOnly, ""},
		{"late frames and a low pace", func(f *Figures) { late(f, 0, 0); f.Pace.Ratio = 0.5 }, Degraded, ""},
		{"a lost datagram", func(f *Figures) { f.LostDatagrams = 1 }, Void, "the kernel lost 1 datagram: no figure stands"},
		{"an overrun that a late frame explains", func(f *Figures) { late(f, 0, 0); f.Overruns = 2 }, Degraded, "for 2 frames there was no room because of that (timing-overrun)"},
		{"an early frame", func(f *Figures) { f.Pace.Early = 2 }, Void, "2 frames left before the due time"},
		{"a violation", func(f *Figures) { f.Violations = 1 }, Void, "broke its promises once"},
		{"another log without a late frame", func(f *Figures) { f.Verify = "differs" }, Void, "the event log is not that of the virtual clock"},
		{"another log with late frames", func(f *Figures) { f.Verify = "differs"; late(f, 0.01, 0) }, Faithful, ""},
		{"the same log", func(f *Figures) { f.Verify = "equal" }, Exact, ""},
		{"virtual", func(f *Figures) { *f = NoFigures(); f.Virtual = true }, Virtual, "the virtual clock has no pace"},
		{"virtual with a violation", func(f *Figures) { f.Virtual, f.Violations = true, 2 }, Void, "2 times"},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := good()
			x.change(&f)
			level, reason := Judge(f)
			if level != x.want || !strings.Contains(reason, x.reason) {
				t.Errorf("%s: %s\nwant %s: %s", level, reason, x.want, x.reason)
			}
		})
	}
}

func TestStrict(t *testing.T) {
	for level, want := range map[Level]bool{Virtual: true, Exact: true, Faithful: true, OrderOnly: false, Degraded: false, Void: false} {
		if level.Strict() != want {
			t.Errorf("%s: %v", level, !want)
		}
	}
}
