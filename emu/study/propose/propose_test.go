package propose

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"fabemu/emu"
	"fabemu/emu/base/errs"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A machine is what a trial measures, by dilation: the achieved dilation and the level.
type machine func(dilation int64) (achieved float64, level report.Level)

// slow is a machine that achieves a dilation at best, and is on time from another one on.
func slow(least float64, onTime int64) machine {
	return func(d int64) (float64, report.Level) {
		if achieved := max(float64(d), least); d < onTime || achieved > 1.05*float64(d) {
			return achieved, report.OrderOnly
		} else {
			return achieved, report.Faithful
		}
	}
}

// stalled is a machine that a stall slows down in its first trial.
func stalled(first float64, then machine) machine {
	n := 0
	return func(d int64) (float64, report.Level) {
		if n++; n == 1 {
			return first, report.OrderOnly
		}
		return then(d)
	}
}

func TestSearch(t *testing.T) {
	for _, tc := range []struct {
		name      string
		machine   machine
		want      int64
		sustained bool
		trials    []int64
	}{
		{"fast enough for real time", slow(0.1, 1), 1, true, []int64{1}},
		{"needs 6", slow(6, 1), 10, true, []int64{1, 5, 10}},
		{"needs 20.9: within 5 % of 20", slow(20.9, 1), 20, true, []int64{1, 10, 20}},
		{"needs 21.1", slow(21.1, 1), 50, true, []int64{1, 20, 50}},
		{"keeps the pace at 10, on time from 100 on", slow(9, 100), 100, true, []int64{1, 10, 20, 50, 100}},
		{"late at all dilations", slow(9, 1_000_000), 10, false, []int64{1, 10, 20, 50, 100, 200, 500, 1000}},
		{"late, and very slow", slow(4000, 1_000_000), 5000, false, []int64{1, 5000}},
		{"best at 200", func(d int64) (float64, report.Level) {
			if d < 200 {
				return float64(d), report.Degraded
			}
			return float64(d), report.OrderOnly
		}, 200, false, []int64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}},
		{"very slow", slow(4000, 1), 5000, true, []int64{1, 2000, 5000}},
		{"too slow for all", slow(1e9, 1), 5_000_000, false, []int64{1, 5_000_000}},
		{"a stall in the first trial", stalled(90, slow(9, 1)), 10, true, []int64{1, 5, 10, 20, 50, 100}},
		{"not a trial that measures anything", func(int64) (float64, report.Level) { return math.NaN(), report.OrderOnly }, 5_000_000, false, ladder(5_000_000)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := search(func(d int64) (*Trial, error) {
				achieved, level := tc.machine(d)
				x := &Trial{Dilation: d, Achieved: report.Number(achieved), Level: level}
				x.Sustained = sustains(x)
				return x, nil
			}, 5_000_000)
			if err != nil {
				t.Fatal(err)
			}
			var tried []int64
			for _, x := range p.Trials {
				tried = append(tried, x.Dilation)
			}
			if p.Dilation != tc.want || p.Sustained != tc.sustained || !slices.Equal(tried, tc.trials) {
				t.Errorf("%d, %v by trials at %v; want %d, %v by %v", p.Dilation, p.Sustained, tried, tc.want, tc.sustained, tc.trials)
			}
			if r := p.reason(5_000_000, Longest); !strings.Contains(r, fmt.Sprintf("A dilation of %d is", tc.want)) || strings.Contains(r, "end other work") == tc.sustained {
				t.Errorf("the reason is: %s", r)
			}
		})
	}
	broken := errors.New("broken")
	if _, err := search(func(int64) (*Trial, error) { return nil, broken }, 100); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// A proposal never makes the run longer than the limit: an hour, unless the user gave one.
func TestNoProposalIsLongerThanItsLimit(t *testing.T) {
	for _, x := range []struct {
		model   unit.Duration
		longest time.Duration
		want    int64
		says    string
	}{
		{3 * unit.Millisecond, Longest, 1_000_000, "such as --dilation auto:4h: above 1200000 this one takes longer than 1h"},
		{10 * unit.Second, Longest, 200, "takes longer than 1h"},
		{10 * unit.Second, 8 * time.Hour, 2000, "such as --dilation auto:32h: above 2880 this one takes longer than 8h"},
		{10 * unit.Second, 90 * time.Second, 5, "such as --dilation auto:6m: above 9 this one takes longer than 1m30s"},
		{unit.Second, Longest, 2000, "takes longer than 1h"},
		{3 * 3600 * unit.Second, Longest, 1, "takes longer than 1h"},
		{3 * 3600 * unit.Second, 6 * time.Hour, 2, "takes longer than 6h"},
		{unit.Microsecond, Longest, 5_000_000, ""},
	} {
		most := mostOf(x.model, x.longest)
		p, err := search(func(d int64) (*Trial, error) {
			return &Trial{Dilation: d, Achieved: 531185971, Level: report.OrderOnly}, nil
		}, most)
		if err != nil || p.Sustained || p.Dilation != x.want || p.Dilation > 1 && float64(p.Dilation)*x.model.Seconds() > x.longest.Seconds() {
			t.Errorf("%v: a dilation of %d, sustained %v, %v; want %d", x.model, p.Dilation, p.Sustained, err, x.want)
		}
		if r := p.reason(most, x.longest); !strings.Contains(r, x.says) || strings.Contains(r, "takes longer") != (x.says != "") {
			t.Errorf("%v: %s, want %q", x.model, r, x.says)
		}
	}
}

// The holds of a trial's beginning do not count; later ones do.
func TestTheStartOfATrialDoesNotCount(t *testing.T) {
	const model = 4_000_000_000 // 400 ms at a dilation of 100
	p := &report.Pace{Requested: 100, Achieved: 150, LongestHolds: []report.Hold{{AtPs: 1000, Us: 150_000}, {AtPs: 2_000_000_000, Us: 50_000}}}
	if got := achieved(p, model); math.Abs(float64(got)-112.5) > 1e-9 {
		t.Errorf("%v was achieved, want 112.5", got)
	}
}

func TestSustains(t *testing.T) {
	for _, tc := range []struct {
		achieved float64
		level    report.Level
		want     bool
	}{
		{100, report.Exact, true}, {100, report.Faithful, true}, {105, report.Faithful, true},
		{106, report.Faithful, false}, {100, report.OrderOnly, false}, {100, report.Void, false}, {math.NaN(), report.Exact, false},
	} {
		if got := sustains(&Trial{Dilation: 100, Achieved: report.Number(tc.achieved), Level: tc.level}); got != tc.want {
			t.Errorf("%v, %s: %v, want %v", tc.achieved, tc.level, got, tc.want)
		}
	}
}

func TestFrom(t *testing.T) {
	const ms = unit.Millisecond
	s := &scenario.Scenario{
		Model: scenario.Model{Duration: 100 * ms}, Expect: []scenario.Check{{}},
		Flows:     []scenario.Flow{{}, {Start: 10 * ms, Stop: 30 * ms}, {Start: 10 * ms, Stop: 40 * ms}, {Start: 50 * ms, Stop: 60 * ms}},
		Workloads: []scenario.Workload{{Start: 45 * ms}},
		Events:    []scenario.Event{{At: 10 * ms}, {At: 50 * ms}},
		Programs:  []scenario.Program{{At: 44 * ms}},
	}
	want := &scenario.Scenario{
		Model:     s.Model,
		Flows:     []scenario.Flow{{}, {Start: 100*ms - 1}, {Stop: 10 * ms}, {Start: 20 * ms, Stop: 30 * ms}},
		Workloads: []scenario.Workload{{Start: 15 * ms}},
		Events:    []scenario.Event{{}, {At: 20 * ms}},
		Programs:  []scenario.Program{{At: 14 * ms}},
	}
	before := *s
	before.Flows = slices.Clone(s.Flows)
	same := []cmp.Option{cmpopts.IgnoreUnexported(scenario.Scenario{}), cmpopts.EquateComparable(netip.Prefix{})}
	if diff := cmp.Diff(want, from(s, 30*ms), same...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&before, s, same...); diff != "" {
		t.Errorf("the scenario was changed:\n%s", diff)
	}
}

func openWith(t *testing.T, name string, sets ...string) *scenario.Scenario {
	t.Helper()
	s, err := emu.Open(name, runtest.Sets(t, sets...)...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The busiest stretch is where the flows start.
func TestBusiest(t *testing.T) {
	s := openWith(t, "hpl2002/fig2", "model.duration=5ms", "flows.local.start=3ms", "flows.remote.start=3ms", "flows.victim.start=3ms", "flows.victim.stop=4ms")
	at, err := (&trials{ctx: t.Context()}).busiest(s, time.Minute)
	if err != nil || at < 3*unit.Millisecond {
		t.Errorf("it begins at %v, %v; want 3 ms or later", at, err)
	}
}

// Real trials, whatever this machine sustains: the figures fit together.
func TestDilation(t *testing.T) {
	s := openWith(t, "hpl2002/fig3b")
	dilation := s.Wall.Dilation
	p, err := Dilation(t.Context(), s, emu.Options{Settings: emu.Settings{Timing: emu.ActualTiming}}, Longest)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(p.Reason)
	for i, x := range p.Trials {
		if i > 0 && x.Dilation <= p.Trials[i-1].Dilation || !slices.Contains(ladder(5_000_000), x.Dilation) || x.Reason == "" || x.Level == "" ||
			x.Sustained && x.Dilation < p.Dilation || (x.Dilation == p.Dilation && x.Sustained != p.Sustained) {
			t.Errorf("trial %d: %+v", i, x)
		}
	}
	if s.Wall.Dilation != dilation || len(s.Expect) == 0 || s.Flows[20].Start != 40*unit.Millisecond {
		t.Error("the scenario was changed")
	}
	x, err := Sustains(t.Context(), s, emu.Options{})
	if err != nil || x.Dilation != dilation {
		t.Errorf("%+v, %v", x, err)
	}
}

// For a run on several hosts the trials show only one of them, and the reason says so.
func TestDilationOfHosts(t *testing.T) {
	s := openWith(t, "hpl2002/fig3b")
	for _, o := range []emu.Options{{Settings: emu.Settings{Placement: emu.InHosts}}, {Settings: emu.Settings{Placement: emu.InProcesses}, ByHand: []string{"A"}}, {}} {
		p, err := Dilation(t.Context(), s, o, Longest)
		if err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(p.Reason, "Other hosts"); told != (o.Placement != "") {
			t.Errorf("placement %q: %s", o.Placement, p.Reason)
		}
	}
}

func TestDilationIsRefused(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if p, err := Dilation(ended, openWith(t, "hpl2002/fig3b"), emu.Options{}, Longest); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", p, err)
	}
	quiet := openWith(t, "hpl2002/fig2", "model.duration=10ms")
	for i := range quiet.Flows {
		quiet.Flows[i].Start = quiet.Model.Duration - 1
	}
	for name, s := range map[string]*scenario.Scenario{"real guests": openWith(t, "guest/ping"), "nothing is sent": quiet} {
		if p, err := Dilation(t.Context(), s, emu.Options{}, Longest); !errors.As(err, new(*errs.Mistake)) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}
