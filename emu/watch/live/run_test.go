package live

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric/draw"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/observe"
)

// shown runs a scenario and returns the scene and its moments.
func shown(t testing.TB, s *scenario.Scenario, o emu.Options) (*Scene, []*Moment) {
	t.Helper()
	f, err := emu.Prepare(s)
	if err != nil {
		t.Fatal(err)
	}
	c := NewScene(s, f)
	var moments []*Moment
	observer, ended := NewObserver(c, func(m *Moment) { moments = append(moments, m) }), make(chan struct{})
	o.Observe = []observe.Request{{Every: 10 * time.Millisecond, Observer: observe.Func(func(s *observe.Snapshot) {
		observer.Observe(s)
		if s.Last {
			close(ended)
		}
	})}}
	if _, err := emu.Run(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
	<-ended // a run waits two seconds for its observers, a busy machine may need more
	return c, moments
}

// TestObserver: moments of a run say what stops whom: in Fig. 2 of HPL-2002-224 the port to BC is
// the root for whom the trunk waits, and the victim too; a deadlock has its members.
func TestObserver(t *testing.T) {
	s, err := emu.Open("hpl2002/fig2")
	if err != nil {
		t.Fatal(err)
	}
	var c *Scene
	var moments []*Moment
	var root int
	waits, victim := 0, 0
	// The moments of a run are some of its instants, as the machine has time: few of them have the
	// victim.
	for begun := time.Now(); (waits == 0 || victim == 0) && time.Since(begun) < time.Minute; {
		c, moments = shown(t, s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
		line := func(name string) int { return slices.IndexFunc(c.Lines, func(l Line) bool { return l.Name == name }) }
		trunk := line("trunk.A-B")
		root = line("root.B-BC")
		for i, m := range moments {
			for _, n := range []int{len(m.Used), len(m.Stop), len(m.Stopped), len(m.Queue), len(m.Held)} {
				if n != len(c.Lines) {
					t.Fatalf("moment %d has figures of %d of %d lines", i, n, len(c.Lines))
				}
			}
			for _, n := range []int{len(m.Rate), len(m.Limit), len(m.Target), len(m.Feedback)} {
				if n != len(c.Flows) {
					t.Fatalf("moment %d has figures of %d of %d flows", i, n, len(c.Flows))
				}
			}
			if slices.Contains(m.Waits, Wait{trunk, root}) {
				waits++
			}
			for _, r := range m.Roots {
				if r.Link == "root.B-BC" && strings.HasSuffix(r.Words, "victim: victim.") && slices.Equal(r.Victims, []string{"victim"}) {
					victim++
				}
			}
		}
	}
	last := moments[len(moments)-1]
	if last.ModelPs != c.EndPs || last.Used[root] < 0.9 || last.Verdict != "virtual" {
		t.Errorf("at the end: %d ps, the root is used %v, %s", last.ModelPs, last.Used[root], last.Verdict)
	}
	for i, k := range last.Checks {
		if k.State != "pass" || k.Came == "" {
			t.Errorf("%s: %+v", c.Checks[i].ID, k)
		}
	}
	if waits == 0 || victim == 0 {
		t.Errorf("in the moments of a minute the trunk waits in %d, the victim in %d", waits, victim)
	}

	c, moments = shown(t, runtest.Load(t, runtest.Text(t, "ethernet/ring-deadlock")), emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	last = moments[len(moments)-1]
	if len(last.Deadlocks) != 1 || len(last.Deadlocks[0].Links) != 3 || !strings.Contains(last.Deadlocks[0].Words, "A waits for B, B for C, C for A") {
		t.Errorf("%+v", last.Deadlocks)
	}
	for _, link := range last.Deadlocks[0].Links {
		l := slices.IndexFunc(c.Lines, func(l Line) bool { return l.Name == link })
		if last.Stop[l] != Paused || last.Held[l] < Figure(0.9*c.Lines[l].Room) {
			t.Errorf("%s: %d, holds %v of %v", c.Lines[l].Name, last.Stop[l], last.Held[l], c.Lines[l].Room)
		}
	}
	if _, err := json.Marshal(last); err != nil {
		t.Error(err)
	}
}

// TestRunInBrowser: a run on the wall clock, seen from a browser, in which a knob is turned: the
// link is down, what was done comes back, and the run has it in its results.
func TestRunInBrowser(t *testing.T) {
	s := runtest.Load(t, runtest.Text(t, "ethernet/pause-hol"), runtest.Sets(t, "wall.dilation=20000")...)
	f, err := emu.Prepare(s)
	if err != nil {
		t.Fatal(err)
	}
	c := NewScene(s, f)
	c.Clock, c.Dilation = emu.WallClock, s.Wall.Dilation
	var changes observe.Changes
	ctx, stop := context.WithCancel(t.Context())
	server, address := serve(t, c, nil, Options{Control: &Control{Scenario: s, Clock: emu.WallClock, Apply: changes.Apply}})
	over := make(chan *emu.Result, 1)
	go func() {
		result, err := emu.Run(ctx, s, emu.Options{Settings: emu.Settings{Link: emu.Pipe}, Verify: emu.VerifyOff, Changes: &changes,
			Observe: []observe.Request{{Observer: NewObserver(c, server.Show), Every: Every}}})
		if err != nil {
			t.Error(err)
		}
		server.End("over")
		over <- result
	}()
	defer stop()
	b := open(t, address, 1400, 1000, false)
	b.until("fabemu.moments > 3")
	trunk := slices.IndexFunc(c.Lanes, func(l draw.Lane) bool { return l.Label == "trunk" })
	b.run(chromedp.Evaluate[chromedp.Void]("document.querySelectorAll('.lane')[" + string(rune('0'+trunk)) + "].dispatchEvent(new MouseEvent('click'))"))
	b.run(chromedp.Click(chromedp.CSS("#knob-trunk-down")))
	b.until("document.querySelectorAll('.lane.down').length > 0")
	b.until("document.querySelector('#done pre')?.innerText.includes('link: trunk, state: down')")
	keep(t, "run", b.shot())
	stop() // the rest is not wanted
	b.until("document.querySelector('#hint').innerText === 'over'")
	result := <-over
	if result == nil || !strings.Contains(string(result.Resolved), "link: trunk, state: down") {
		t.Error("the results do not have what was done")
	}
	b.fine()
}
