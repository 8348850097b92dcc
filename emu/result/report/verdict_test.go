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
	p := &f.Pace
	p.Requested, p.Achieved, p.Peak = 50, 50.1, 52
	p.Holds, p.HeldUs, p.LongestUs, p.LongestT = 2, 2000, 500, 5
	p.Gaps, p.OffShare, p.HeldShare, p.GapErrorT.P99 = 900, 0.015, 0.005, 0.1
	p.LatenessPacketTimes.P99, p.LatenessPacketTimes.Max = 0.1, 3
	return f
}

func TestJudge(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(*Figures)
		want   Level
		reason string
	}{
		{"as it should be", func(f *Figures) {}, Exact, "all figures may be used. The gaps between frames are those of the model, 98.5 % of them to 5 % of a packet time, at a dilation of 50"},
		{"5 % of the gaps off", func(f *Figures) { f.Pace.OffShare = 0.05 }, Exact, ""},
		{"more gaps off", func(f *Figures) { f.Pace.OffShare = 0.051 }, Faithful, "all figures may be used. Its clock was held 2 times, for 2 ms in total, at most 0.5 ms at a time, 5.1 % of the gaps between frames were off by more than 5 % of a packet time"},
		{"half of the gaps off", func(f *Figures) { f.Pace.OffShare = 0.5 }, Faithful, ""},
		{"most gaps off", func(f *Figures) { f.Pace.OffShare = 0.51 }, OrderOnly, "figures in model time may be used, figures in wall time may not. Its clock was held 2 times, for 2 ms in total, at most 0.5 ms at a time, 51.0 % of the gaps between frames were off by more than 5 % of a packet time"},
		{"gaps not measured", func(f *Figures) { f.Pace.OffShare = Missing() }, OrderOnly, "The gaps between frames were not measured"},
		{"no gaps", func(f *Figures) {
			f.Pace.Gaps, f.Pace.OffShare, f.Pace.HeldShare, f.Pace.GapErrorT = 0, Missing(), Missing(), noPercentiles()
		}, Exact, ""},
		{"an error of T/4", func(f *Figures) { f.Pace.GapErrorT.P99 = 0.25 }, Exact, ""},
		{"a larger error", func(f *Figures) { f.Pace.GapErrorT.P99 = 0.26 }, Faithful, "One gap in a hundred was off by more than 0.26 packet times"},
		{"an error of T", func(f *Figures) { f.Pace.GapErrorT.P99 = 1 }, Faithful, ""},
		{"an error above T", func(f *Figures) { f.Pace.GapErrorT.P99 = 1.01 }, OrderOnly, ""},
		{"errors not measured", func(f *Figures) { f.Pace.GapErrorT = noPercentiles() }, OrderOnly, "By how much gaps between frames were off was not measured"},
		{"a hold in each gap", func(f *Figures) { f.Pace.OffShare, f.Pace.HeldShare, f.Pace.GapErrorT = 1, 1, noPercentiles() }, OrderOnly, ""},
		{"a hold of 10 T", func(f *Figures) { f.Pace.LongestT = 10 }, Exact, ""},
		{"a longer hold", func(f *Figures) { f.Pace.LongestT, f.Pace.LongestUs = 2000, 200_000 }, Faithful, "all figures may be used. Its clock was held 2 times, for 2 ms in total, at most 200 ms at a time"},
		{"a dilation of 5 % more", func(f *Figures) { f.Pace.Achieved = 52.5 }, Exact, ""},
		{"a larger one", func(f *Figures) { f.Pace.Achieved = 61 }, Faithful, "all figures may be used, those in wall time at the achieved dilation. This machine achieved a dilation of 61 (requested: 50), its clock was held 2 times, for 2 ms in total, at most 0.5 ms at a time"},
		{"dilation not measured", func(f *Figures) { f.Pace.Achieved = Missing() }, Faithful, "The dilation that was achieved was not measured"},
		{"p99 of the lateness at T/4", func(f *Figures) { f.Pace.LatenessPacketTimes.P99 = 0.25 }, Exact, ""},
		{"p99 above T/4", func(f *Figures) { f.Pace.LatenessPacketTimes.P99 = 0.26 }, Faithful, "One frame in a hundred left more than 0.26 packet times late"},
		{"p99 at T", func(f *Figures) { f.Pace.LatenessPacketTimes.P99 = 1 }, Faithful, ""},
		{"p99 above T", func(f *Figures) { f.Pace.LatenessPacketTimes.P99 = 1.01 }, OrderOnly, ""},
		{"p99 not measured", func(f *Figures) { f.Pace.LatenessPacketTimes.P99 = Missing() }, OrderOnly, "The lateness of frames was not measured"},
		{"the latest by 10 T", func(f *Figures) { f.Pace.LatenessPacketTimes.Max = 10 }, Exact, ""},
		{"the latest by more", func(f *Figures) { f.Pace.LatenessPacketTimes.Max = 11 }, Faithful, "The latest frame left 11 packet times late"},
		{"the latest by 100 T", func(f *Figures) { f.Pace.LatenessPacketTimes.Max = 100 }, Faithful, ""},
		{"the latest by 1407 T", func(f *Figures) { f.Pace.LatenessPacketTimes.Max = 1407 }, OrderOnly, "The latest frame left 1407 packet times late"},
		{"clocks at 5 % of T", func(f *Figures) { f.Clocks = &Clocks{ErrorPacketTimes: 0.05} }, Exact, "at a dilation of 50, the clocks of the hosts agree within 5.0 % of a packet time"},
		{"clocks above", func(f *Figures) { f.Clocks = &Clocks{ErrorPacketTimes: 0.0501} }, OrderOnly, "the clocks of the hosts agree only within 5.0 % of a packet time (limit: 5.0 %)"},
		{"clocks not read at the end", func(f *Figures) { f.Clocks = &Clocks{ErrorPacketTimes: Missing()} }, OrderOnly, "how far the clocks of the hosts drifted is not known"},
		{"nothing measured", func(f *Figures) { *f = NoFigures() }, OrderOnly, ""},
		{"a lost datagram", func(f *Figures) { f.LostDatagrams = 1 }, Void, "no figure may be used. The kernel lost 1 datagram"},
		{"an early frame", func(f *Figures) { f.Pace.Early = 2 }, Void, "2 frames left before the due time"},
		{"a violation", func(f *Figures) { f.Violations = 1 }, Void, "broke its promises once"},
		{"a program that cannot go on", func(f *Figures) { f.Stopped = 1 }, Void, "no figure may be used. The program of 1 rank cannot continue, and the job waits forever"},
		{"another log", func(f *Figures) { f.Verify = "differs" }, Void, "no figure may be used. The event log differs from the virtual clock's"},
		{"the same log", func(f *Figures) { f.Verify = "equal" }, Exact, ""},
		{"starts at T/4, some late", func(f *Figures) { f.Starts = starts(0.05, 0.25, 10) }, Exact, "packets started 0.5 % of a packet time after their limiters let them in the mean, one in a hundred 0.25 packet times or more, the latest 10"},
		{"starts at T", func(f *Figures) { f.Starts = starts(1, 1, 100) }, Faithful, ""},
		{"starts above T", func(f *Figures) { f.Starts = starts(0.02, 1.01, 10) }, Degraded, "off by an unknown amount"},
		{"the latest start above 100 T", func(f *Figures) { f.Starts = starts(0.02, 0.1, 101) }, Degraded, "the latest 101"},
		{"starts in time, and gaps that are off", func(f *Figures) { f.Starts, f.Pace.OffShare = starts(0.02, 0.1, 1), 0.6 }, OrderOnly, ""},
		{"starts late by 1 % of T in the mean", func(f *Figures) { f.Starts = starts(0.02, 0.1, 1); f.Starts.MeanPacketTimes = 0.01 }, Exact, ""},
		{"by 4 %", func(f *Figures) { f.Starts = starts(0.02, 0.1, 1); f.Starts.MeanPacketTimes = 0.04 }, Faithful, ""},
		{"by more", func(f *Figures) { f.Starts = starts(0.02, 0.1, 1); f.Starts.MeanPacketTimes = 0.041 }, Degraded, "4.1 % of a packet time"},
		{"no packets", func(f *Figures) { f.Starts = StartsOf(measured.New(nil, 0), 1) }, Exact, ""},
		{"programs", func(f *Figures) { f.Programs, f.Pace.OffShare = programs(0.1, 1), 0.97 }, Exact, "all figures may be used. From device to device, 99 % of the packets of programs took at most 0.1 ms longer than in the model, and all at most 1 ms: round trips are right to 0.2 ms, and rates over a second to 0.1 %"},
		{"programs on a busy machine", func(f *Figures) { f.Programs, f.Pace.OffShare = programs(1, 20), 0.97 }, Faithful, "right to 2 ms, and rates over a second to 2.0 %"},
		{"delays of programs", func(f *Figures) { f.Programs = programs(1.01, 1) }, OrderOnly, "what programs have measured may not be used, figures in model time may. From device to device"},
		{"rates of programs", func(f *Figures) { f.Programs = programs(0.1, 21) }, OrderOnly, ""},
		{"virtual", func(f *Figures) { *f = NoFigures(); f.Virtual = true }, Virtual, "figures in model time are exact"},
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

// programs are those of a run with real programs.
func programs(p99, most Number) *Programs {
	return &Programs{Packets: 100, ErrorMs: Percentiles{P99: p99, Max: most}}
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
	p := &f.Pace
	p.Requested, p.Achieved, p.LongestT = 100, near(100, 105), near(1, 10)
	p.Gaps, p.OffShare, p.HeldShare, p.GapErrorT.P99 = int64(r.IntN(3)), min(1, near(0.05, 0.5)), min(1, near(0.1, 1)), near(0.25, 1)
	p.LatenessPacketTimes.P99, p.LatenessPacketTimes.Max = near(0.25, 1, 100), near(1, 10, 100)
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
	if testing.Short() {
		t.Skip("long: not with -short")
	}
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
			if !l.kept(&f) || !l.started(f.Starts) {
				t.Fatalf("%+v\nis exact and not %s", f, l.level)
			}
		}
		if f.Pace.Gaps > 0 && f.Pace.OffShare > 0.05 || f.Pace.LatenessPacketTimes.P99 > 1 || f.Pace.LatenessPacketTimes.Max > 10 || f.Pace.LongestT > 10 {
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
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	rank := map[Level]int{Exact: 0, Faithful: 1, OrderOnly: 2, Degraded: 3, Void: 4}
	worsen := []func(*Figures, *rand.Rand){
		func(f *Figures, r *rand.Rand) { f.Pace.Achieved *= 1 + Number(r.Float64()) },
		func(f *Figures, r *rand.Rand) { f.Pace.Achieved = Missing() },
		func(f *Figures, r *rand.Rand) { f.Pace.LongestT *= 1 + Number(r.Float64()) },
		func(f *Figures, r *rand.Rand) { f.Pace.LongestT = Missing() },
		func(f *Figures, r *rand.Rand) { f.Pace.OffShare += Number(r.Float64()) },
		func(f *Figures, r *rand.Rand) { f.Pace.OffShare = Missing() },
		func(f *Figures, r *rand.Rand) { f.Pace.GapErrorT.P99 *= 1 + Number(r.Float64()) },
		func(f *Figures, r *rand.Rand) { f.Pace.GapErrorT.P99 = Missing() },
		func(f *Figures, r *rand.Rand) { f.Pace.LatenessPacketTimes.P99 *= 1 + Number(r.Float64()) },
		func(f *Figures, r *rand.Rand) { f.Pace.LatenessPacketTimes.P99 = Missing() },
		func(f *Figures, r *rand.Rand) { f.Pace.LatenessPacketTimes.Max *= 1 + Number(10*r.Float64()) },
		func(f *Figures, r *rand.Rand) { f.Pace.LatenessPacketTimes.Max = Missing() },
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
	share, packetTimes := cell("%", 100), cell("T", 1)
	row("", func(l *limits) string { return "`" + string(l.level) + "`" })
	row("---", func(*limits) string { return "---" })
	row("gaps off by more than 5 % of T, at most", share(func(l *limits) Number { return l.off }))
	row("99 % of the gaps without a hold are off by no more than", packetTimes(func(l *limits) Number { return l.gap }))
	row("longest hold, at most", packetTimes(func(l *limits) Number { return l.hold }))
	row("achieved dilation, of the requested one, at most", share(func(l *limits) Number { return l.dilation }))
	row("99 % of the data frames leave within", packetTimes(func(l *limits) Number { return l.p99 }))
	row("all of them leave within", packetTimes(func(l *limits) Number { return l.latest }))
	row("actual timing: packets start late by, in the mean, at most", cell("% of T", 100)(func(l *limits) Number { return l.startsMean }))
	row("actual timing: 99 % of the packets start within", packetTimes(func(l *limits) Number { return l.startsP99 }))
	row("actual timing: all of them start within", packetTimes(func(l *limits) Number { return l.startsLatest }))
	row("real programs at dilation 1: 99 % of the packets are late by, at most", cell("ms", 1)(func(l *limits) Number { return l.delay }))
	row("real programs at dilation 1: rates over a second are off by, at most", share(func(l *limits) Number { return l.rate }))
	row("the clock of a host is off, at most", cell("% of T", 100)(func(l *limits) Number { return l.clocks }))
	return b.String()
}

// The document has the table of the limits as in the code.
func TestLimitsOfDocument(t *testing.T) {
	golden.Part(t, "../../../docs/guide/trust.md", "<!-- limits -->\n", "<!-- end of limits -->", limitsTable())
}
