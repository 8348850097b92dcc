package metrics

import (
	"slices"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// startAll reports the flows' planned starts and stops in the order of time.
func startAll(p *play) {
	for i := range p.f.Flows {
		p.flowEvent(p.f.Flows[i].Start, trace.FlowStart, i)
	}
	for i := range p.f.Flows {
		if stop := p.f.Flows[i].Stop; stop != unit.Never {
			p.flowEvent(stop, trace.FlowStop, i)
		}
	}
}

func TestPhasesOfThePaper(t *testing.T) {
	f, s := paperFabric(10)
	for i := range f.Flows[:20] {
		f.Flows[i].Start += unit.Time(i) * 7919 // jitter: no edge hits it
	}
	p := newPlay(t, f, s)
	startAll(p)
	p.c.Close(100 * ms)
	got := p.c.View().Phases()
	want := []struct {
		begin, from, to unit.Time
		flows           int
	}{
		{f.Flows[19].Start, 4 * ms, 40 * ms, 20},
		{40 * ms, 42 * ms, 60 * ms, 21},
		{60 * ms, 62 * ms, 100 * ms, 20},
	}
	if len(got) != len(want) {
		t.Fatalf("%d phases: %+v", len(got), got)
	}
	for i, w := range want {
		if g := got[i]; g.Begin != w.begin || g.From != w.from || g.To != w.to || len(g.Flows) != w.flows {
			t.Errorf("phase %d: %v [%v, %v) with %d flows, want %+v", i, g.Begin, g.From, g.To, len(g.Flows), w)
		}
	}
}

// A run that its user ends is one phase from its start to its end, whatever changes in it.
func TestAnEndlessRunIsOnePhase(t *testing.T) {
	f, s := paperFabric(1, scenario.Event{At: unit.Duration(80 * ms), Link: "root", Act: scenario.RateChange{Rate: 1e9}})
	s.Endless = true
	p := newPlay(t, f, s)
	startAll(p)
	p.c.Close(100 * ms)
	got := p.c.View().Phases()
	if len(got) != 1 || got[0].Begin != 0 || got[0].From != 0 || got[0].To != 100*ms || len(got[0].Flows) != 3 {
		t.Errorf("%+v", got)
	}
}

func TestARateChangeIsAPhase(t *testing.T) {
	f, s := paperFabric(1, scenario.Event{At: unit.Duration(80 * ms), Link: "root", Act: scenario.RateChange{Rate: 1e9}})
	p := newPlay(t, f, s)
	startAll(p)
	p.c.Close(100 * ms)
	var begins []unit.Time
	for _, g := range p.c.View().Phases() {
		begins = append(begins, g.Begin)
	}
	if want := []unit.Time{ms, 40 * ms, 60 * ms, 80 * ms}; !slices.Equal(begins, want) {
		t.Errorf("phases begin at %v, want %v", begins, want)
	}
}

// Each event that changes the fabric begins a phase, and a change that is taken back two.
func TestEventsBeginPhases(t *testing.T) {
	at := func(n int) unit.Duration { return unit.Duration(n) * unit.Millisecond }
	f, s := paperFabric(1,
		scenario.Event{At: at(10), Link: "trunk", Act: scenario.StateChange{State: "down"}}, scenario.Event{At: at(20), Link: "trunk", Act: scenario.StateChange{State: "up"}},
		scenario.Event{At: at(30), Endpoint: "BC", Act: scenario.PauseStorm{State: "on"}}, scenario.Event{At: at(70), Switch: "A", Act: scenario.Restart{Restart: at(10)}},
		scenario.Event{At: at(90), Endpoint: "BC", Act: scenario.ServiceChange{Service: 1e9}}, scenario.Event{At: at(98), Switch: "B", Act: scenario.Restart{Restart: at(10)}})
	p := newPlay(t, f, s)
	startAll(p)
	p.c.Close(100 * ms)
	var begins []unit.Time
	for _, g := range p.c.View().Phases() {
		begins = append(begins, g.Begin)
	}
	if want := []unit.Time{ms, 10 * ms, 20 * ms, 30 * ms, 40 * ms, 60 * ms, 70 * ms, 80 * ms, 90 * ms}; !slices.Equal(begins, want) {
		t.Errorf("phases begin at %v, want %v", begins, want)
	}
}

func TestARunWithoutALongPhaseIsOne(t *testing.T) {
	f, s := paperFabric(2)
	s.Model.Duration = unit.Duration(3 * ms)
	p := newPlay(t, f, s)
	p.flowEvent(ms, trace.FlowStart, 0)
	p.flowEvent(2*ms, trace.FlowStop, 0)
	p.c.Close(3 * ms)
	got := p.c.View().Phases()
	if len(got) != 1 || got[0].Interval != (Interval{0, 3 * ms}) || !slices.Equal(got[0].Flows, []int{0}) {
		t.Errorf("%+v", got)
	}
}

func TestBottlenecks(t *testing.T) {
	f, s := paperFabric(10)
	p := newPlay(t, f, s)
	p.c.Close(100 * ms)
	all := make([]int, len(f.Flows))
	for i := range all {
		all[i] = i
	}
	got := p.c.View().Bottlenecks(all, Interval{0, 100 * ms})
	// The trunk carries eleven flows, but its ten remote ones have less at the root.
	if len(got) != 1 || f.LinkName(got[0].Hop) != "root.B-BC" || !slices.Equal(got[0].Flows, all[:20]) {
		t.Errorf("%+v", got)
	}
}

func TestSeries(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s)
	p.start(10*ms, "root", 0, 1, 2000)
	p.c.Close(100 * ms)
	all := p.c.Series()
	find := func(kind, name string) Series {
		for _, s := range all {
			if s.Kind == kind && s.Name == name {
				return s
			}
		}
		t.Fatalf("no series %s %s", kind, name)
		return Series{}
	}
	root := find(LinkRate, "root.B-BC")
	if len(root.Times) != 1001 || root.Times[1] != 100*us || root.Times[1000] != 100*ms {
		t.Fatalf("%d points", len(root.Times))
	}
	// The frame begins at 10 ms, so it is in the windows whose middle lies in (9, 11] ms.
	for i, v := range root.Values {
		want := 0.0
		if at := root.Times[i]; at > 9*ms && at <= 11*ms {
			want = 2000 / 2e-3
		}
		near(t, root.Times[i].String(), v, want)
	}
	// At the start and the end the window is cut to the run.
	p = newPlay(t, f, s)
	p.start(0, "root", 0, 1, 2000)
	p.start(100*ms-2*us, "root", 0, 1, 2000)
	p.c.Close(100 * ms)
	all = p.c.Series()
	root = find(LinkRate, "root.B-BC")
	near(t, "first", root.Values[0], 2000/1e-3)
	near(t, "last", root.Values[1000], 2000/1e-3)
	near(t, "utilisation", find(LinkUtilisation, "root.B-BC").Values[5], 2000/1.5e-3/1e9)
	names := map[string]bool{}
	for _, s := range all {
		if key := s.Kind + " " + s.Name; names[key] {
			t.Errorf("series %s twice", key)
		} else {
			names[key] = true
		}
		if len(s.Times) != len(s.Values) {
			t.Errorf("series %s %s has %d times and %d values", s.Kind, s.Name, len(s.Times), len(s.Values))
		}
	}
	if names["link.rate root.BC-B"] {
		t.Error("a direction without data has a series")
	}
}

// Of a run of many windows an outline has no more points than a picture shows, and each is
// one of all points.
func TestOutlineOfALongRun(t *testing.T) {
	for _, windows := range []unit.Time{125, 249, 250, 1700} {
		f, s := paperFabric(1)
		s.Model.Duration = unit.Duration(windows * 2 * ms)
		p := newPlay(t, f, s)
		p.start(10*ms, "root", 0, 1, 2000)
		p.c.Close(windows * 2 * ms)
		all, few := p.c.Series(), p.c.Outline()
		for i := range few {
			n := len(few[i].Values)
			if n < OutlinePoints || n > 2*OutlinePoints+1 || len(few[i].Times) != n {
				t.Fatalf("%d windows: %s of %s has %d values at %d times", windows, few[i].Kind, few[i].Name, n, len(few[i].Times))
			}
			if few[i].Kind != LinkRate {
				continue
			}
			for k, at := range few[i].Times {
				if j := slices.Index(all[i].Times, at); j < 0 || all[i].Values[j] != few[i].Values[k] {
					t.Fatalf("%d windows: %s is %v at %v, and not so among all points", windows, few[i].Name, few[i].Values[k], at)
				}
			}
		}
	}
}
