package emu_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/watch/observe"
	"fabemu/wire/trace"
)

// A program that watches a run: what waits for what, and what a quantity is, from time to time.
// The last snapshot is that of the end.
func Example_observe() {
	s, err := emu.Open("hpl2002/fig2")
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan struct{}) // a run waits two seconds for its observers, which may take longer
	watch := observe.Func(func(s *observe.Snapshot) {
		if !s.Last {
			return // in a real program: show s.Trees, s.Ports, s.Figures.Rows(...)
		}
		defer close(ended)
		for r := range s.Figures.Rows(metrics.Interval{To: s.Figures.End()}, "utilisation") {
			if r.Object == "trunk.A-B" {
				fmt.Printf("after %v of %v: the trunk carried %.0f %%\n", s.Now, s.End, 100*r.Value)
			}
		}
		for _, c := range s.Checks {
			fmt.Printf("%s: %s\n", c.ID, c.Outcome)
		}
	})
	_, err = emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Observe: []observe.Request{{Observer: watch, Every: 50 * time.Millisecond}}})
	if err != nil {
		log.Fatal(err)
	}
	<-ended
	// Output:
	// after 100ms of 100ms: the trunk carried 29 %
	// IB-1a: pass
	// IB-1b: pass
	// IB-1c: pass
	// IB-1d: pass
}

// seen keeps what an observer was shown. A run waits two seconds for its observers, and on a busy
// node one may take longer: who reads what was seen waits for ended.
type seen struct {
	ended     chan struct{} // closed when the end of the run has been seen
	n         int
	last      bool
	rows      map[string]float64
	checks    map[string]report.Outcome
	words     map[string]int // of trees
	level     map[report.Level]int
	events    map[trace.Kind]int
	deadlocks int
	behind    int
	missed    int64
	queued    int64
}

func newSeen() *seen {
	return &seen{ended: make(chan struct{}), rows: map[string]float64{}, checks: map[string]report.Outcome{}, words: map[string]int{}, level: map[report.Level]int{}, events: map[trace.Kind]int{}}
}

func (x *seen) Observe(s *observe.Snapshot) {
	x.n++
	x.last, x.deadlocks, x.missed = s.Last, len(s.Deadlocks), s.Missed
	for _, t := range s.Trees {
		x.words[t.Words]++
	}
	x.level[s.Level]++
	for _, e := range s.Events {
		x.events[e.Kind]++
	}
	if s.Figures.End() > s.Now {
		x.behind++ // figures of the future
	}
	for i := range s.Ports {
		x.queued = max(x.queued, s.Ports[i].Queue)
	}
	for _, c := range s.Checks {
		if c.Decided {
			x.checks[c.ID] = c.Outcome
		}
	}
	if !s.Last {
		return
	}
	defer close(x.ended)
	for r := range s.Figures.Rows(metrics.Interval{To: s.Figures.End()}) {
		x.rows[r.Object+"."+r.Name()] = r.Value
	}
}

// What an observer sees in the end is what the result says, and on the path it sees checks
// decided, and what waits for what.
func TestObserverSeesTheRun(t *testing.T) {
	observerSeesTheRun(t, "ethernet/pfc-hol", "ethernet/ring-deadlock")
}
func TestModelObserverSeesTheRun(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	observerSeesTheRun(t, "hpl2002/fig2")
}

func observerSeesTheRun(t *testing.T, names ...string) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			s, err := emu.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			x := newSeen()
			kinds := []trace.Kind{trace.FlowStart, trace.Deadlock}
			result, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Observe: []observe.Request{{Observer: x, Every: 10 * time.Millisecond, Events: kinds}}})
			if err != nil {
				t.Fatal(err)
			}
			<-x.ended
			if !x.last || x.n < 2 && name == "hpl2002/fig2" || x.behind > 0 {
				t.Errorf("%d snapshots, the last one seen: %v, %d with figures of the future", x.n, x.last, x.behind)
			}
			want := map[string]report.Outcome{}
			for _, c := range result.Checks {
				want[c.ID] = c.Outcome
			}
			if !maps.Equal(x.checks, want) {
				t.Errorf("checks: got %v, want %v", x.checks, want)
			}
			for name, got := range x.rows {
				m, err := metrics.Compile(name, result.Metrics.Fabric())
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if want := m.Over(result.Metrics, 0, result.Metrics.End()); got != want {
					t.Errorf("%s: got %v, want %v", name, got, want)
				}
			}
			if len(x.rows) < 50 {
				t.Errorf("only %d figures", len(x.rows))
			}
			if got, want := x.events[trace.FlowStart], len(s.Flows); got != want {
				t.Errorf("%d flows were seen to start, want %d", got, want)
			}
			if x.deadlocks != len(result.Deadlocks) {
				t.Errorf("%d deadlocks, want %d", x.deadlocks, len(result.Deadlocks))
			}
			t.Log(x.words, x.level)
		})
	}
}

// The congestion tree of Fig. 2 has the root that the paper names, and its victim.
func TestCongestionTreeHasItsRoot(t *testing.T) {
	for clock, duration := range map[emu.Clock]string{emu.VirtualClock: "200ms", emu.WallClock: "10ms"} { // longer than the observer waits
		t.Run(string(clock), func(t *testing.T) {
			if clock == emu.VirtualClock && testing.Short() {
				t.Skip("long: not with -short")
			}
			x := newSeen()
			s := runtest.Short(t, "hpl2002/fig2", duration, "wall.dilation=200", "flows.local.start=0us + 10us", "flows.remote.start=0us + 10us", "flows.victim.start=1ms", "flows.victim.stop="+duration)
			result, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: clock, Link: emu.Pipe}, Observe: []observe.Request{{Observer: x, Every: 10 * time.Millisecond}}})
			if err != nil {
				t.Fatal(err)
			}
			<-x.ended
			for words := range x.words {
				if strings.HasPrefix(words, "B's port to BC is the root;") && strings.HasSuffix(words, "victim: victim") {
					return
				}
			}
			t.Errorf("nothing names B's port to BC with the victim: %v (%s)", x.words, result.Verdict.Level)
		})
	}
}

// A change is an event of the scenario from then on: the result has it, and the run with it on
// the virtual clock is the same event for event.
func TestChangesOfARun(t *testing.T) {
	for _, dilation := range []string{"100", "1000", "10000"} { // until there is time for all of them
		if changesOfARun(t, dilation) {
			return
		}
	}
	t.Error("runs of up to 100 s end before they are changed")
}

// changesOfARun changes a run, and reports whether there was time for it.
func changesOfARun(t *testing.T, dilation string) (inTime bool) {
	s := runtest.Short(t, "hpl2002/fig2", "10ms", "wall.dilation="+dilation, "flows.local.start=0us + 10us", "flows.remote.start=0us + 10us", "flows.victim.start=1ms", "flows.victim.stop=10ms")
	var changes observe.Changes
	if _, err := changes.Apply(context.Background(), "link: root, rate: 1GB/s"); err == nil {
		t.Error("a change without a run")
	}
	var did []string
	var once sync.Once
	inTime = true
	apply := func(text string) (scenario.Event, error) {
		e, err := changes.Apply(context.Background(), text)
		if err != nil && (strings.Contains(err.Error(), "no active run") || strings.Contains(err.Error(), "the run has ended")) {
			inTime = false
		}
		return e, err
	}
	turned := make(chan struct{})
	x := observe.Func(func(*observe.Snapshot) {
		once.Do(func() {
			go func() {
				defer close(turned)
				for _, text := range []string{"link: root, rate: 0.5GB/s", "{link: trunk, state: down}", "{link: trunk, state: up}", "switch: A, restart: 100us", "link: trunk, loss: 0.05, for: 2ms", "endpoint: BC, sink: stopped, for: 100us"} {
					e, err := apply(text)
					if !inTime {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					did = append(did, e.Text())
				}
				for text, want := range map[string]string{
					"link: nowhere, rate: 1GB/s":             "there is no link named \"nowhere\"",
					"link: trunk, rate: fast":                "fast",
					"link: trunk":                            "this event changes nothing",
					"link: trunk, loss: 2":                   "above 0 to 1",
					"link: trunk, flap: 1ms, period: 2ms":    "several events",
					"at: 1ms, link: trunk, rate: 1GB/s":      "at",
					"link: trunk, rate: 1GB/s}\n  - {at: 1s": "one line",
					"endpoint: BC, pause-storm: on":          "Ethernet only",
					"":                                       "one line",
				} {
					var mistake *emu.Mistake
					if _, err := apply(text); inTime && (!errors.As(err, &mistake) || !strings.Contains(err.Error(), want)) {
						t.Errorf("%q: got %v, want a mistake with %q", text, err, want)
					}
				}
			}()
		})
	})
	result, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Link: emu.Pipe}, Verify: emu.VerifyOn, Changes: &changes, Observe: []observe.Request{{Observer: x, Every: 10 * time.Millisecond}}})
	if err != nil {
		t.Fatal(err)
	}
	if <-turned; !inTime {
		return false
	}
	if result.Verdict.Verify != report.VerifiedEqual {
		t.Errorf("verified: %s; %s", result.Verdict.Verify, result.Verdict.Reason)
	}
	if len(did) != 6 {
		t.Fatalf("changes that were made: %v", did)
	}
	for _, text := range did {
		if !strings.Contains(string(result.Resolved), text) {
			t.Errorf("the resolved scenario lacks %s", text)
		}
	}
	back, err := resolve.Load("resolved", result.Resolved, nil)
	if err != nil || len(back.Events) != 6 {
		t.Fatalf("the resolved scenario: %v", err)
	}
	capacity, err := metrics.Compile("root.B-BC.utilisation", result.Metrics.Fabric())
	if err != nil {
		t.Fatal(err)
	}
	if v := result.Metrics; capacity.Over(v, 0, v.End()) < 0.3 || math.IsNaN(capacity.Over(v, 0, v.End())) {
		t.Errorf("the root carried %v of what it can", capacity.Over(v, 0, v.End()))
	}
	if _, err := changes.Apply(context.Background(), "link: root, rate: 1GB/s"); err == nil {
		t.Error("a change after the run")
	}
	return true
}

// Observers that are slow, or panic, or never return, do no harm, and are told of.
func TestObserversThatMisbehave(t *testing.T) {
	s := runtest.Short(t, "hpl2002/fig2", "4ms", "wall.dilation=100", "flows.local.start=0us", "flows.remote.start=0us", "flows.victim.start=1ms", "flows.victim.stop=4ms")
	never := make(chan struct{})
	defer close(never)
	good := newSeen()
	ask := func(name string, f func(*observe.Snapshot)) observe.Request {
		return observe.Request{Name: name, Observer: observe.Func(f), Every: 10 * time.Millisecond}
	}
	result, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Link: emu.Pipe}, Observe: []observe.Request{
		ask("a slow one", func(*observe.Snapshot) { time.Sleep(200 * time.Millisecond) }),
		ask("one that panics", func(*observe.Snapshot) { panic("no more") }),
		ask("one that stays", func(*observe.Snapshot) { <-never }),
		{Observer: good, Every: 10 * time.Millisecond},
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-good.ended
	warnings := strings.Join(append(result.Warnings, result.Unwritten...), "\n")
	for _, want := range []string{
		"a slow one missed",
		"the view of observers is not whole: one that panics panicked, and saw nothing more of the run",
		": no more;",
		"one that stays was still busy",
	} {
		if !strings.Contains(warnings, want) {
			t.Errorf("no warning %q in:\n%s", want, warnings)
		}
	}
	if !good.last || good.n < 3 {
		t.Errorf("next to them one had %d snapshots", good.n)
	}
	if result.Verdict.Verify != report.VerifiedEqual {
		t.Errorf("verified: %s", result.Verdict.Verify)
	}
	for _, bad := range []observe.Request{{}, {Observer: good, Every: time.Millisecond}} {
		if _, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Observe: []observe.Request{bad}}); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// In processes the conductor shows what it knows: figures, what ports are in, trees by the paths
// of flows; there is no verdict before the end, and nothing can be changed.
func TestObserverOfProcesses(t *testing.T) {
	s := runtest.Short(t, "hpl2002/fig2", "4ms", "wall.dilation=300", "flows.local.start=0us", "flows.remote.start=0us", "flows.victim.start=200us", "flows.victim.stop=4ms")
	var changes observe.Changes
	var refused error
	x := newSeen()
	watch := observe.Func(func(s *observe.Snapshot) {
		if !s.ByPaths {
			t.Error("a tree that is not by the paths of flows")
		}
		if !s.Last && refused == nil {
			_, refused = changes.Apply(context.Background(), "link: root, rate: 1GB/s")
		}
		x.Observe(s)
	})
	_, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Placement: emu.InDomains}, Changes: &changes, Verify: emu.VerifyOff, Observe: []observe.Request{{Observer: watch, Every: 20 * time.Millisecond}}})
	if err != nil {
		t.Fatal(err)
	}
	<-x.ended
	if refused == nil || !strings.Contains(refused.Error(), "whose nodes are separate processes cannot be changed") {
		t.Errorf("a change: %v", refused)
	}
	found := false
	for words := range x.words {
		found = found || strings.HasPrefix(words, "B's port to BC is the root") && strings.HasSuffix(words, "victim: victim")
	}
	if !found || !x.last || x.n < 3 || x.level[""] == 0 {
		t.Errorf("%d snapshots, levels %v, trees %v", x.n, x.level, x.words)
	}
}
