package process_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fabemu/emu/result/report"
	"fabemu/emu/run/lookahead"
	"fabemu/emu/run/mode"
	"fabemu/wire/unit"
)

// The log of a run in processes is that of the virtual clock, event for event, however
// late datagrams arrive, at any dilation and in either placement: on links with almost no
// delay, in a cycle of switches, with a restart and with a link that goes down.
func TestModelOrderIsThatOfTheVirtualClock(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	board := func(t *testing.T, name string, test func(t *testing.T, f faults)) {
		t.Run(name, func(t *testing.T) { test(t, faults{}) })
	}
	short := strings.Replace(simulatedScenario, "propagation: 2us", "propagation: 1ns", 1)
	for name, text := range map[string]string{
		"plain":   simulatedScenario,
		"short":   short,
		"restart": short + "events:\n  - {at: 300us, switch: left, restart: 100us}\n",
		"down":    short + "events:\n  - {at: 200us, link: trunk, state: down}\n  - {at: 300us, link: trunk, state: up}\n",
	} {
		sameOrder(t, name, text, eachWay, "50")
		sameOrder(t, name, text, board, "1", "5000")
	}
}

// The race detector is ten times slower, so it runs a fifth of the time of one fabric, with a board
// and without.
func TestOrderIsThatOfTheVirtualClock(t *testing.T) {
	text := strings.NewReplacer("duration: 1ms", "duration: 200us", "propagation: 2us", "propagation: 1ns").Replace(simulatedScenario) +
		"events:\n  - {at: 50us, link: trunk, state: down}\n  - {at: 80us, link: trunk, state: up}\n"
	sameOrder(t, "down", text, eachWay, "50")
}

// eachWay runs a test with a board, and over sockets because a part has none.
func eachWay(t *testing.T, name string, test func(t *testing.T, f faults)) {
	t.Run(name+"/board", func(t *testing.T) { test(t, faults{}) })
	t.Run(name+"/socket", func(t *testing.T) { test(t, faults{unable: noBoard}) })
}

func sameOrder(t *testing.T, name, text string, ways func(t *testing.T, name string, test func(t *testing.T, f faults)), dilations ...string) {
	virtual, log := onTheVirtualClock(t, text, nil)
	for _, placement := range []mode.Placement{mode.InProcesses, mode.InDomains} {
		for _, dilation := range dilations {
			ways(t, name+"/"+string(placement)+"/"+dilation, func(t *testing.T, f faults) {
				f.delay, f.placement = 20*time.Microsecond, placement
				f.scenario = strings.Replace(text, "dilation: 500", "dilation: "+dilation, 1)
				synctest.Test(t, func(t *testing.T) {
					o := simulate(t, 1, f)
					if o.err != nil {
						t.Fatal(o.err)
					}
					if o.digest != virtual || o.log != log || o.verdict.Level == report.Degraded || o.verdict.Level == report.Void {
						t.Errorf("%s: %s: log %s, digest %s; wanted %s, %s", o.verdict.Level, o.verdict.Reason, o.log, o.digest, log, virtual)
					}
					t.Logf("%s: dilation %v, %d reports, %d promises for %d frames", o.verdict.Level, o.verdict.Pace.Achieved, o.timing.Reports, o.timing.Promises, o.timing.Hops)
				})
			})
		}
	}
}

// A part states at most once for each event that it does and each frame that it sees, and is
// promised something at most once for each report. In a fabric in which only flow control
// happens, every 65 µs, over links of 1 ns, that is few: two neighbours that only had each other's
// promises would need half a million steps to the next event.
func TestModelReportsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, placement := range []mode.Placement{mode.InProcesses, mode.InDomains} {
		for _, x := range []struct {
			name, text string
			most       int64
		}{
			{"busy", strings.Replace(simulatedScenario, "propagation: 2us", "propagation: 1ns", 1), 1 << 62},
			{"at rest", strings.NewReplacer("propagation: 2us", "propagation: 1ns", "start: 0us + 1us", "start: 999us").Replace(simulatedScenario), 3000},
		} {
			eachWay(t, x.name+"/"+string(placement), func(t *testing.T, f faults) {
				synctest.Test(t, func(t *testing.T) {
					f.delay, f.scenario, f.placement = 20*time.Microsecond, x.text, placement
					o := simulate(t, 2, f)
					if o.err != nil {
						t.Fatal(o.err)
					}
					c := o.timing
					t.Logf("%d reports, %d promises, %d events, %d frames handed over", c.Reports, c.Promises, c.Events, c.Hops)
					if c.Promises == 0 || c.Promises > c.Reports || c.Reports > c.Events+c.Received || c.Reports > x.most {
						t.Errorf("%d reports and %d promises, for %d events and %d datagrams", c.Reports, c.Promises, c.Events, c.Received)
					}
				})
			})
		}
	}
}

// If there is no memory to share, or a part cannot use it, promises go over sockets. The result has
// a warning with the reason, and the log is that of the virtual clock.
func TestModelRunsWithoutABoard(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	virtual, log := onTheVirtualClock(t, simulatedScenario, nil)
	changed := func(word int) func([]uint64) ([]uint64, error) {
		return func(words []uint64) ([]uint64, error) {
			words = slices.Clone(words)
			words[word]++
			return words, nil
		}
	}
	for name, x := range map[string]struct {
		faults faults
		want   string
	}{
		"no memory":          {faults{memory: errNoMemory}, ": no memory here"},
		"a part has none":    {faults{unable: noBoard}, ": right: no memory here"},
		"another version":    {faults{unable: changed(0)}, ": right: it is not a board of this version"},
		"another run":        {faults{unable: changed(1)}, ": right: it is the board of another run"},
		"another fabric":     {faults{unable: changed(2)}, ": right: it is the board of another run"},
		"too short":          {faults{unable: func(w []uint64) ([]uint64, error) { return w[:20], nil }}, ": right: it has 20 words"},
		"not even a head":    {faults{unable: func([]uint64) ([]uint64, error) { return nil, nil }}, ": right: it is not a board of this version"},
		"on another machine": {faults{host: "right"}, ": left: no memory here"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x.faults.delay = 20 * time.Microsecond
				o := simulate(t, 1, x.faults)
				if o.err != nil || o.digest != virtual || o.log != log {
					t.Errorf("%v; log %s, digest %s; wanted %s, %s", o.err, o.log, o.digest, log, virtual)
				}
				const warning = "the processes of this run share no memory, and exchange their promises over sockets"
				if len(o.warned) != 1 || !strings.HasPrefix(o.warned[0], warning+x.want) {
					t.Errorf("warnings %q, want %q", o.warned, x.want)
				}
			})
		})
	}
}

// A part that makes an invalid report ends the run. The error names the part, and what was
// reported before remains valid.
func TestPartThatLies(t *testing.T) { partThatLies(t, "an instant before the run") }
func TestModelPartThatLies(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	partThatLies(t)
}

// partThatLies does the runs with these names, or all if there are none.
func partThatLies(t *testing.T, names ...string) {
	const wrong = "the report of left on the board is wrong: "
	for name, x := range map[string]struct {
		lie  func(s *lookahead.Report)
		want string
	}{
		"an instant before the run":   {func(s *lookahead.Report) { s.Next = -1 }, wrong},
		"a need before the run":       {func(s *lookahead.Report) { s.In[0].Need = -5 }, wrong},
		"no frames seen, as before":   {func(s *lookahead.Report) { s.In[0].Seen = 0 }, wrong},
		"a frame fewer, and for ever": {func(s *lookahead.Report) { s.In[0].Seen-- }, "has promised nothing for 30s"},
	} {
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := simulate(t, 1, faults{delay: 20 * time.Microsecond, lies: x.lie, at: 300 * time.Millisecond})
				if o.err == nil || !strings.Contains(o.err.Error(), x.want) {
					t.Errorf("the error is %v, want %q", o.err, x.want)
				}
				if o.timing == nil || o.timing.Data < 100 || o.now < 100*unit.Time(unit.Microsecond) {
					t.Errorf("until %v, %+v", o.now, o.timing)
				}
			})
		})
	}
}
