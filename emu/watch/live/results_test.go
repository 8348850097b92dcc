package live

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/wire/unit"
)

// TestModelResults: of the results of runs the page shows what the papers say: in Fig. 2 of
// HPL-2002-224 the trunk waits for the port to BC while the victim is active, and the victim with
// it; in the ring all three wait for each other, from when that was found.
func TestModelResults(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	c, moments, err := Results(resultsOf(t, "hpl2002/fig2"))
	if err != nil {
		t.Fatal(err)
	}
	if !c.Over || c.Knobs || len(moments) < 100 {
		t.Errorf("over %v, knobs %v, %d moments", c.Over, c.Knobs, len(moments))
	}
	m := moments[len(moments)/2]
	line := func(name string) int { return slices.IndexFunc(c.Lines, func(l Line) bool { return l.Name == name }) }
	trunk, root := line("trunk.A-B"), line("root.B-BC")
	if m.Stop[trunk] != NoCredit || m.Used[root] < 0.95 || !slices.Equal(m.Waits, []Wait{{trunk, root}}) {
		t.Errorf("the trunk: %d, the root is used %v, %v waits", m.Stop[trunk], m.Used[root], m.Waits)
	}
	if len(m.Roots) != 1 || m.Roots[0].Link != "root.B-BC" || m.Roots[0].Words != "B's port to BC is the root; 11 flows wait; victim: victim." {
		t.Errorf("%+v", m.Roots)
	}
	for i := range moments[1:] {
		if moments[i+1].ModelPs <= moments[i].ModelPs {
			t.Fatalf("moment %d is at %d", i+1, moments[i+1].ModelPs)
		}
	}
	open, decided := 0, 0
	for i := range c.Checks {
		if moments[0].Checks[i].State == "" {
			open++
		}
		if s := moments[len(moments)-1].Checks[i]; s.State != "" && s.Came != "" {
			decided++
		}
	}
	if open != len(c.Checks) || decided != open || open == 0 {
		t.Errorf("of %d checks %d are open at first, and %d decided at last", len(c.Checks), open, decided)
	}

	c, moments, err = Results(resultsOf(t, "ethernet/ring-deadlock"))
	if err != nil {
		t.Fatal(err)
	}
	last := moments[len(moments)-1]
	if len(moments[0].Deadlocks) != 0 || len(last.Deadlocks) != 1 || len(last.Deadlocks[0].Links) != 3 || !strings.Contains(last.Deadlocks[0].Words, "A waits for B, B for C, C for A") {
		t.Errorf("at first %+v, at last %+v", moments[0].Deadlocks, last.Deadlocks)
	}
	if last.Stop[0] != Paused && last.Stop[1] != Paused {
		t.Errorf("what is stopped: %v", last.Stop)
	}
}

// TestModelStormsOnThePage: while a watchdog drops frames, the page of a run and the page of its
// results name the watchdog, with what it does, and before and after it they do not.
func TestModelStormsOnThePage(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s := runtest.Load(t, `name: storm
model: {duration: 4ms}
defaults:
  link: {rate: 10Gb/s, flow-control: pfc}
  switch: {kind: output-queued, memory: 1MB, watchdog: {action: drop, detection: 100us, restoration: 500us, poll: 50us}}
  flow: {packet: 1000B, priority: 3}
switches: {S: {}, T: {}}
endpoints: [A, B]
links: [A - S, {name: trunk, between: S - T}, {name: last, between: T - B}]
flows: [{from: A, to: B, name: hit, rate-limit: 3Gb/s}]
events: [{at: 500us, endpoint: B, pause-storm: "on", priorities: [3], for: 2ms}]
`)
	want := ActiveFault{Text: "watchdog of T: storm of priority 3 on last.T-B", Words: "The watchdog of T drops the frames of priority 3 on last.T-B, because of a PFC storm."}
	look := func(moments []*Moment) (during, outside int) {
		for _, m := range moments {
			i := slices.IndexFunc(m.Active, func(f ActiveFault) bool { return strings.HasPrefix(f.Text, "watchdog") })
			at := unit.Time(m.ModelPs)
			switch found := i >= 0; {
			case found && (m.Active[i].Text != want.Text || m.Active[i].Words != want.Words):
				t.Errorf("at %v: %+v, want %+v", at, m.Active[i], want)
			case found && (at < unit.Time(600*unit.Microsecond) || at > unit.Time(3200*unit.Microsecond)):
				t.Errorf("at %v there is no storm: %+v", at, m.Active[i])
			case !found && at > unit.Time(700*unit.Microsecond) && at < unit.Time(2400*unit.Microsecond):
				t.Errorf("at %v: the storm is not named: %+v", at, m.Active)
			case found:
				during++
			default:
				outside++
			}
		}
		return during, outside
	}
	_, moments, err := Results(resultsOfScenario(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if during, outside := look(moments); during < 10 || outside < 10 {
		t.Errorf("of the results, %d moments are in the storm, and %d outside", during, outside)
	}
	// The moments of a run are some of its instants, as the machine has time.
	for begun, during := time.Now(), 0; during == 0; {
		_, moments = shown(t, s, emu.Options{Settings: emu.Settings{Link: emu.Pipe}, Verify: emu.VerifyOff})
		if during, _ = look(moments); time.Since(begun) > time.Minute {
			t.Fatalf("none of %d moments of the run is in the storm", len(moments))
		}
	}
}

// TestResultsHaveOneShareOfLateFrames: it is that of the result, as in the report, at each moment.
func TestResultsHaveOneShareOfLateFrames(t *testing.T) {
	d := resultsOf(t, "hpl2002/fig2")
	d.Verdict.Pace.LateShare = 0.569
	late := d.Series[0]
	late.Kind, late.Name, late.Values = "pace", "late-share", slices.Repeat([]float64{1}, len(late.Times))
	d.Series = append(d.Series, late)
	_, moments, err := Results(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range moments {
		if m.Late != 0.569 {
			t.Fatalf("at %d the share of late frames is %v", m.ModelPs, m.Late)
		}
	}
}

// TestResultsWithoutSeries: a run that ended before there was anything has nothing to show.
func TestResultsWithoutSeries(t *testing.T) {
	d := resultsOf(t, "ethernet/ring-deadlock")
	if _, _, err := Results(&report.Dir{Result: d.Result, Resolved: d.Resolved}); err == nil {
		t.Error("nothing is shown, without a message")
	}
}
