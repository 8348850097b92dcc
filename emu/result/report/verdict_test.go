package report

import (
	"math/rand/v2"
	"strings"
	"testing"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/run/measured"
)

// good are the figures of an exact run.
func good() Figures {
	f := NoFigures()
	f.Order.Frames = 1000
	f.Pace.Ratio, f.Pace.LateShare, f.Pace.FloorShare = 0.998, 0.015, 0.005
	f.Pace.LatenessPacketTimes.P99, f.Pace.LatenessPacketTimes.Max, f.Pace.StalledShare = 0.1, 3, 0.001
	return f
}

func TestJudge(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(*Figures)
		want   Level
		reason string
	}{
		{"as it should be", func(f *Figures) {}, Exact, "the pace was 99.80 % of the wanted one: all figures stand"},
		{"pace at the bound", func(f *Figures) { f.Pace.Ratio = 0.995 }, Exact, ""},
		{"share at the bound", func(f *Figures) { f.Pace.LateShare = f.Pace.FloorShare + 0.02 }, Exact, ""},
		{"pace below 99.5 %", func(f *Figures) { f.Pace.Ratio = 0.9949 }, Faithful, "99.49 %"},
		{"departures late above the floor", func(f *Figures) { f.Pace.LateShare = 0.026 }, Faithful, "2.6 % of the frames left late (the machine's floor: 0.5 %)"},
		{"a noisy machine", func(f *Figures) { f.Pace.LateShare, f.Pace.FloorShare = 0.05, 0.04 }, Exact, ""},
		{"a machine that cannot", func(f *Figures) { f.Pace.LateShare, f.Pace.FloorShare = 0.06, 0.0501 }, Faithful, "6.0 % of the frames left late (the machine's floor of 5.0 % is above the 5.0 % of exact, a level that it cannot give at this dilation)"},
		{"half of the frames late, and the floor too", func(f *Figures) {
			f.Pace.Ratio, f.Pace.LateShare, f.Pace.FloorShare, f.Pace.LatenessPacketTimes.P99 = 1, 0.5, 0.49, 57
		}, OrderOnly, "50.0 % of the frames left late (the machine's floor of 49.0 % is above the 5.0 % of exact, a level that it cannot give at this dilation), one in a hundred left more than 57 packet times late:"},
		{"p99 at T/4", func(f *Figures) { f.Pace.LatenessPacketTimes.P99 = 0.25 }, Exact, ""},
		{"p99 above T/4", func(f *Figures) { f.Pace.LatenessPacketTimes.P99 = 0.26 }, Faithful, "one in a hundred left more than 0.26 packet times late"},
		{"p99 not measured", func(f *Figures) { f.Pace.LatenessPacketTimes.P99 = Missing() }, OrderOnly, "latest frames was not measured"},
		{"no floor, few late", func(f *Figures) { f.Pace.FloorShare = Missing() }, Exact, ""},
		{"no floor, some late", func(f *Figures) { f.Pace.LateShare, f.Pace.FloorShare = 0.021, Missing() }, Faithful, "floor: -"},
		{"departures not measured", func(f *Figures) { f.Pace.LateShare = Missing() }, Faithful, "lateness of frames was not measured"},
		{"stalls for 1 % of the time", func(f *Figures) { f.Pace.StalledShare = 0.01 }, Exact, ""},
		{"stalls for more, in which few frames were to leave", func(f *Figures) { f.Pace.StalledShare = 0.3 }, OrderOnly, "the driver stood still for 30.0 % of the time"},
		{"stalls not measured", func(f *Figures) { f.Pace.StalledShare = Missing() }, OrderOnly, "stalls of the driver were not measured"},
		{"the latest by 10 T", func(f *Figures) { f.Pace.LatenessPacketTimes.Max = 10 }, Exact, ""},
		{"the latest by more", func(f *Figures) { f.Pace.LatenessPacketTimes.Max = 11 }, Faithful, "the latest left 11 packet times late"},
		{"the latest by 100 T", func(f *Figures) { f.Pace.LatenessPacketTimes.Max = 100 }, Faithful, ""},
		{"the latest by 1407 T", func(f *Figures) { f.Pace.LatenessPacketTimes.Max = 1407 }, OrderOnly, "the latest left 1407 packet times late"},
		{"the latest not measured", func(f *Figures) { f.Pace.LatenessPacketTimes.Max = Missing() }, OrderOnly, "latest frames was not measured"},
		{"pace at 95 %", func(f *Figures) { f.Pace.Ratio = 0.95 }, Faithful, ""},
		{"pace below 95 %", func(f *Figures) { f.Pace.Ratio = 0.9499 }, OrderOnly, "model-time figures stand, wall-time figures do not"},
		{"p99 at T", func(f *Figures) { f.Pace.Ratio, f.Pace.LatenessPacketTimes.P99 = 0.99, 1 }, Faithful, ""},
		{"p99 above T", func(f *Figures) { f.Pace.Ratio, f.Pace.LatenessPacketTimes.P99 = 0.99, 1.01 }, OrderOnly, "the pace was only 99.0 % of the wanted one, one in a hundred left more than 1 packet times late"},
		{"departures late at full pace", func(f *Figures) { f.Pace.Ratio, f.Pace.LateShare, f.Pace.LatenessPacketTimes.P99 = 1, 0.4, 37 }, OrderOnly, "40.0 % of the frames left late (the machine's floor: 0.5 %), one in a hundred left more than 37 packet times late:"},
		{"clocks at 5 % of T", func(f *Figures) { f.Clocks = &Clocks{ErrorPacketTimes: 0.05} }, Exact, "99.80 % of the wanted one, the clocks of the hosts agree within 5.0 % of a packet time: all"},
		{"clocks above", func(f *Figures) { f.Clocks = &Clocks{ErrorPacketTimes: 0.0501} }, OrderOnly, "the clocks of the hosts agree within 5.0 % of a packet time only (5.0 % is wanted): model-time figures"},
		{"clocks not read at the end", func(f *Figures) { f.Clocks = &Clocks{ErrorPacketTimes: Missing()} }, OrderOnly, "how far the clocks of the hosts drifted is not known"},
		{"pace not measured", func(f *Figures) { f.Pace.Ratio = Missing() }, OrderOnly, "the pace was not measured"},
		{"nothing measured", func(f *Figures) { *f = NoFigures() }, OrderOnly, ""},
		{"a lost datagram", func(f *Figures) { f.LostDatagrams = 1 }, Void, "the kernel lost 1 datagram: no figure stands"},
		{"an early frame", func(f *Figures) { f.Pace.Early = 2 }, Void, "2 frames left before the due time"},
		{"a violation", func(f *Figures) { f.Violations = 1 }, Void, "broke its promises once"},
		{"a program that cannot go on", func(f *Figures) { f.Stopped = 1 }, Void, "the program of 1 rank cannot go on, and the job waits for ever"},
		{"another log", func(f *Figures) { f.Verify = "differs" }, Void, "the event log differs from the virtual clock's"},
		{"the same log", func(f *Figures) { f.Verify = "equal" }, Exact, ""},
		{"starts at T/4, some late", func(f *Figures) { f.Starts = starts(0.05, 0.25, 10) }, Exact, "packets started 0.5 % of a packet time after their limiters let them in the mean, one in a hundred 0.25 packet times or more, the latest 10: all"},
		{"more starts late", func(f *Figures) { f.Starts = starts(0.051, 0.25, 10) }, Faithful, ""},
		{"starts at T", func(f *Figures) { f.Starts = starts(1, 1, 100) }, Faithful, ""},
		{"starts above T", func(f *Figures) { f.Starts = starts(0.02, 1.01, 10) }, Degraded, "off by an unknown amount"},
		{"the latest start above 100 T", func(f *Figures) { f.Starts = starts(0.02, 0.1, 101) }, Degraded, "the latest 101"},
		{"starts in time, and a low pace", func(f *Figures) { f.Starts, f.Pace.Ratio = starts(0.02, 0.1, 1), 0.5 }, OrderOnly, ""},
		{"starts late by 1 % of T in the mean", func(f *Figures) { f.Starts = starts(0.02, 0.1, 1); f.Starts.MeanPacketTimes = 0.01 }, Exact, ""},
		{"by 4 %", func(f *Figures) { f.Starts = starts(0.02, 0.1, 1); f.Starts.MeanPacketTimes = 0.04 }, Faithful, ""},
		{"by more", func(f *Figures) { f.Starts = starts(0.02, 0.1, 1); f.Starts.MeanPacketTimes = 0.041 }, Degraded, "4.1 % of a packet time"},
		{"no packets", func(f *Figures) { f.Starts = StartsOf(measured.New(nil, 0), 1) }, Exact, ""},
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

// starts are those of actual timing.
func starts(late, p99, latest Number) *Starts {
	s := StartsOf(measured.New(nil, 0), 1)
	s.Packets, s.LateShare, s.MeanPacketTimes, s.LatenessPacketTimes.P99, s.LatenessPacketTimes.Max = 100, late, 0.005, p99, latest
	return s
}

func TestStrict(t *testing.T) {
	for level, want := range map[Level]bool{Virtual: true, Exact: true, Faithful: true, OrderOnly: false, Degraded: false, Void: false} {
		if level.Strict() != want {
			t.Errorf("%s: %v", level, !want)
		}
	}
}

// anyFigures draws the figures of a run, most of them near a limit of some level.
func anyFigures(r *rand.Rand) Figures {
	near := func(limits ...Number) Number {
		n := limits[r.IntN(len(limits))]
		switch r.IntN(8) {
		case 0:
			return Missing()
		case 1:
			return 0
		case 2:
			return n
		default:
			return n * Number(2*r.Float64())
		}
	}
	f := NoFigures()
	f.Order.Frames = 10_000
	f.Pace.Ratio = min(1, near(0.95, 0.995, 1))
	f.Pace.FloorShare, f.Pace.LateShare = near(0.01, 0.05, 1), near(0.02, 0.05, 1)
	f.Pace.LatenessPacketTimes.P99, f.Pace.LatenessPacketTimes.Max = near(0.25, 1, 100), near(1, 10, 100)
	f.Pace.StalledShare = near(0.001, 0.01)
	if r.IntN(4) == 0 {
		f.Clocks = &Clocks{ErrorPacketTimes: near(0.05)}
	}
	if r.IntN(4) == 0 {
		f.Starts = starts(near(0.05), near(0.25, 1), near(10, 100))
	}
	return f
}

// Whatever is measured, exact implies what faithful asks for, and order-only with it;
// and of the conditions of the levels, those of a better one leave out no limit that a
// worse one has.
func TestModelExactImpliesFaithful(t *testing.T) {
	limits := limitsOf()
	r := rand.New(rand.NewPCG(1, 2))
	seen := make(map[Level]int)
	for range 30_000 {
		f := anyFigures(r)
		level, _ := Judge(f)
		seen[level]++
		if level != Exact {
			continue
		}
		for _, l := range limits {
			if !l.paced(&f.Pace) || !l.started(f.Starts) {
				t.Fatalf("%+v\nis exact and not %s", f, l.level)
			}
		}
		if f.Pace.LateShare > 0.05 || f.Pace.LatenessPacketTimes.P99 > 1 || f.Pace.LatenessPacketTimes.Max > 10 || f.Pace.StalledShare > 0.01 {
			t.Fatalf("%+v\nis exact", f)
		}
	}
	for _, l := range []Level{Exact, Faithful, OrderOnly, Degraded} {
		if seen[l] < 100 {
			t.Errorf("of 30000 runs %d are %s: too few to tell", seen[l], l)
		}
	}
}

// A run that is worse in one figure, or of which one figure is not known, is of no
// better level.
func TestModelLevelsAreMonotone(t *testing.T) {
	rank := map[Level]int{Exact: 0, Faithful: 1, OrderOnly: 2, Degraded: 3, Void: 4}
	worsen := []func(*Figures, *rand.Rand){
		func(f *Figures, r *rand.Rand) { f.Pace.Ratio *= Number(r.Float64()) },
		func(f *Figures, r *rand.Rand) { f.Pace.Ratio = Missing() },
		func(f *Figures, r *rand.Rand) { f.Pace.LateShare += Number(r.Float64()) },
		func(f *Figures, r *rand.Rand) { f.Pace.LateShare = Missing() },
		func(f *Figures, r *rand.Rand) { f.Pace.FloorShare *= Number(r.Float64()) },
		func(f *Figures, r *rand.Rand) { f.Pace.FloorShare = Missing() },
		func(f *Figures, r *rand.Rand) { f.Pace.LatenessPacketTimes.P99 *= 1 + Number(r.Float64()) },
		func(f *Figures, r *rand.Rand) { f.Pace.LatenessPacketTimes.P99 = Missing() },
		func(f *Figures, r *rand.Rand) { f.Pace.LatenessPacketTimes.Max *= 1 + Number(10*r.Float64()) },
		func(f *Figures, r *rand.Rand) { f.Pace.LatenessPacketTimes.Max = Missing() },
		func(f *Figures, r *rand.Rand) { f.Pace.StalledShare += Number(r.Float64() / 50) },
		func(f *Figures, r *rand.Rand) { f.Pace.StalledShare = Missing() },
		func(f *Figures, r *rand.Rand) { f.LostDatagrams++ },
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 5_000 {
		f := anyFigures(r)
		for i, by := range worsen {
			worse := f
			by(&worse, r)
			a, _ := Judge(f)
			b, reason := Judge(worse)
			if rank[b] < rank[a] {
				t.Fatalf("change %d makes %s of %s: %s\n%+v\n%+v", i, b, a, reason, f, worse)
			}
		}
	}
}

// limitsTable is the table of the limits of each level, in Markdown, as the
// documents have it.
func limitsTable() string {
	levels := limitsOf()
	var b strings.Builder
	row := func(what string, cell func(*limits) string) {
		b.WriteString("| " + what + " |")
		for i := range levels {
			b.WriteString(" " + cell(&levels[i]) + " |")
		}
		b.WriteByte('\n')
	}
	cell := func(unit string, scale float64) func(of func(*limits) Number) func(*limits) string {
		return func(of func(*limits) Number) func(*limits) string {
			return func(l *limits) string {
				if of(l) == noLimit {
					return "any"
				}
				return Significant(scale*float64(of(l)), 3) + " " + unit
			}
		}
	}
	share, points, packetTimes := cell("%", 100), cell("points", 100), cell("T", 1)
	row("", func(l *limits) string { return "`" + string(l.level) + "`" })
	row("---", func(*limits) string { return "---" })
	row("pace, at least", func(l *limits) string {
		if l.pace == 0 {
			return "any"
		}
		return Significant(100*float64(l.pace), 3) + " %"
	})
	row("wall time in stalls longer than T, at most", share(func(l *limits) Number { return l.stalled }))
	row("data frames that leave late, at most", share(func(l *limits) Number { return l.late }))
	row("the same above the machine's floor, at most", points(func(l *limits) Number { return l.aboveFloor }))
	row("99 % of the data frames leave within", packetTimes(func(l *limits) Number { return l.p99 }))
	row("all of them leave within", packetTimes(func(l *limits) Number { return l.latest }))
	row("actual timing: packets start late by, in the mean, at most", cell("% of T", 100)(func(l *limits) Number { return l.startsMean }))
	row("actual timing: 99 % of the packets start within", packetTimes(func(l *limits) Number { return l.startsP99 }))
	row("actual timing: all of them start within", packetTimes(func(l *limits) Number { return l.startsLatest }))
	row("the clock of a host is off, at most", cell("% of T", 100)(func(l *limits) Number { return l.clocks }))
	return b.String()
}

// The document has the table of the limits as the code has it.
func TestLimitsOfDocument(t *testing.T) {
	golden.Part(t, "../../../docs/notes/timing.md", "<!-- limits -->\n", "<!-- end of limits -->", limitsTable())
}
