package drive

import (
	"context"
	"testing"

	"fabemu/emu/run/deadlock"
	"fabemu/wire/port"
	"fabemu/wire/unit"

	"github.com/google/go-cmp/cmp"
)

// keeper is a switch that moves nothing and holds what it is told to hold.
type keeper struct {
	player
	holds []port.Wait
	until unit.Time // 0: forever
	told  []port.PortChange
}

func (k *keeper) Waits(now unit.Time, yield func(port.Wait) bool) {
	if k.until > 0 && now >= k.until {
		return
	}
	for _, w := range k.holds {
		yield(w)
	}
}

func (k *keeper) Apply(_ unit.Time, p port.ID, c port.Change) {
	k.told = append(k.told, port.PortChange{Port: p, Change: c})
}

// ringOf is three keepers in a ring, each joined to the next by its port 1, which is the
// next one's port 0; with a port 2 each that leads to a node of no interest.
func ringOf(holds ...[]port.Wait) (*Setup, []*keeper) {
	story := &[]string{}
	f := &Setup{End: unit.Time(100 * unit.Microsecond), Watch: &deadlock.Watch{Every: 10 * unit.Microsecond, Word: 7 * unit.Microsecond}}
	var list []*keeper
	for i := range 3 {
		k := &keeper{player: player{story: story}, holds: holds[i]}
		list = append(list, k)
		f.Nodes = append(f.Nodes, k)
		f.Wires = append(f.Wires, [2]port.End{{Node: i, Port: 1}, {Node: (i + 1) % 3}}, [2]port.End{{Node: i, Port: 2}, {Node: 3 + i}})
	}
	for range 3 {
		f.Nodes = append(f.Nodes, &player{story: story})
	}
	return f, list
}

// clockwise is a frame that came by port 0 and waits for port 1.
func clockwise(b port.Block, since unit.Duration) port.Wait {
	return port.Wait{In: 0, Out: 1, Block: b, Since: unit.Time(since)}
}

func TestWatchFindsACycle(t *testing.T) {
	us := unit.Microsecond
	stuck := []port.Wait{clockwise(port.NoCredit, 3*us), clockwise(port.NoCredit, 3*us)}
	out := port.Wait{In: 0, Out: 2, Block: port.LinkBusy}
	roomy := clockwise(port.NoCredit, 3*us)
	roomy.Room = true
	full := port.Wait{In: 0, Out: 2, Block: port.Paused, Since: unit.Time(us)}
	for name, c := range map[string]struct {
		holds [3][]port.Wait
		want  int // how many outputs are in the cycle
		at    unit.Duration
	}{
		"no node waits":           {},
		"each waits for the next": {[3][]port.Wait{stuck, stuck, stuck}, 3, 20 * us},
		"by PAUSE":                {[3][]port.Wait{{clockwise(port.Paused, 3*us)}, {clockwise(port.Paused, 15*us)}, {clockwise(port.Paused, 3*us)}}, 3, 30 * us},
		"one of them leaves the ring, and makes room":              {[3][]port.Wait{stuck, {out, stuck[0]}, stuck}, 0, 0},
		"one of them leaves the ring, by one that is paused":       {[3][]port.Wait{stuck, {full, stuck[0]}, stuck}, 0, 0},
		"at one of them there is room, and the word is on its way": {[3][]port.Wait{stuck, stuck, {roomy, roomy}}, 0, 0},
		"one waits for the line":                                   {[3][]port.Wait{stuck, stuck, {clockwise(port.LinkBusy, 0)}}, 0, 0},
		"one has only begun to wait":                               {[3][]port.Wait{stuck, stuck, {clockwise(port.NoCredit, 95*us)}}, 0, 0},
		"a chain, and its last waits for who is not a switch":      {[3][]port.Wait{stuck, stuck, {{In: 0, Out: 2, Block: port.NoCredit}}}, 0, 0},
		"other classes": {[3][]port.Wait{stuck, stuck, {{In: 0, Out: 1, Class: 3, Block: port.Paused}}}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f, list := ringOf(c.holds[:]...)
			if _, err := (Virtual{SkipCodec: true}).Run(context.Background(), f); err != nil {
				t.Fatal(err)
			}
			if c.want == 0 {
				if len(f.Watch.Found) > 0 {
					t.Errorf("found %+v", f.Watch.Found)
				}
				return
			}
			if len(f.Watch.Found) != 1 {
				t.Fatalf("found %+v, want one cycle, once", f.Watch.Found)
			}
			d := f.Watch.Found[0]
			want := deadlock.Deadlock{At: unit.Time(c.at)}
			for i := range 3 {
				w := c.holds[i][0]
				want.Cycle = append(want.Cycle, deadlock.Waiting{From: port.End{Node: i, Port: 1}, To: port.End{Node: (i + 1) % 3}, Block: w.Block, Since: w.Since})
				event := []port.PortChange{{Port: 1, Change: port.Deadlock{Since: w.Since}}}
				if diff := cmp.Diff(event, list[i].told); diff != "" {
					t.Errorf("node %d was told (-want +got):\n%s", i, diff)
				}
			}
			if diff := cmp.Diff(want, d); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}

// "As the end of a run in which nothing else can happen": not before the last change,
// nor before all flows have begun.
func TestDeadlockEndsTheRun(t *testing.T) {
	us := unit.Microsecond
	stuck := []port.Wait{clockwise(port.NoCredit, 0)}
	f, list := ringOf(stuck, stuck, stuck)
	f.Watch.Idle, f.Watch.Settled = 20*us, unit.Time(15*us)
	if _, err := (Virtual{SkipCodec: true}).Run(context.Background(), f); err != nil {
		t.Fatal(err)
	}
	if want := unit.Time(40 * us); f.Watch.Ended != want || len(list[0].told) != 1 {
		t.Errorf("ended at %v, want %v", f.Watch.Ended, want)
	}
	f, _ = ringOf(stuck, stuck, stuck)
	f.Watch.Idle = 20 * us
	f.Changes = []Change{{At: unit.Time(55 * us), Node: 3, Makes: port.RateChange{Rate: 1}}}
	if _, err := (Virtual{SkipCodec: true}).Run(context.Background(), f); err != nil {
		t.Fatal(err)
	}
	if want := unit.Time(70 * us); f.Watch.Ended != want {
		t.Errorf("with a change at 55 us: ended at %v, want %v", f.Watch.Ended, want)
	}
}

// expecting is a node to which something happens at a time.
type expecting struct {
	*player
	at unit.Time
}

func (e *expecting) Expects(now unit.Time) unit.Time {
	if now < e.at {
		return e.at
	}
	return unit.Never
}

// The run does not end while something can still happen: an endpoint elsewhere will
// have a packet. Nor because of a deadlock that is over.
func TestDeadlockDoesNotEndWhatCanGoOn(t *testing.T) {
	us := unit.Microsecond
	stuck := []port.Wait{clockwise(port.NoCredit, 0)}
	f, _ := ringOf(stuck, stuck, stuck)
	f.Watch.Idle = 20 * us
	f.Nodes[4] = &expecting{f.Nodes[4].(*player), unit.Time(65 * us)}
	if _, err := (Virtual{SkipCodec: true}).Run(context.Background(), f); err != nil {
		t.Fatal(err)
	}
	if want := unit.Time(70 * us); f.Watch.Ended != want {
		t.Errorf("a machine expects a packet at 65 us: ended at %v, want %v", f.Watch.Ended, want)
	}
	f, list := ringOf(stuck, stuck, stuck)
	f.Watch.Idle = 20 * us
	list[1].until = unit.Time(15 * us)
	if _, err := (Virtual{SkipCodec: true}).Run(context.Background(), f); err != nil {
		t.Fatal(err)
	}
	if len(f.Watch.Found) != 1 || f.Watch.Ended != 0 {
		t.Errorf("a deadlock that ends at 15 us: found %+v, ended at %v; want one, and the whole run", f.Watch.Found, f.Watch.Ended)
	}
}

// On the wall clock the run has come as far as where it was ended, and its pace is that.
func TestDeadlockOnTheWallClock(t *testing.T) {
	us := unit.Microsecond
	stuck := []port.Wait{clockwise(port.NoCredit, 0)}
	f, _ := ringOf(stuck, stuck, stuck)
	f.Watch.Idle = 20 * us
	w := pipes(f, 1)
	clock := int64(0)
	w.Clock = func() int64 { clock += 10; return clock }
	timing, err := w.Run(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	if want := unit.Time(20 * us); f.Watch.Ended != want || timing.Reached != want || timing.Wall < 20_000 || timing.Wall > 21_000 {
		t.Errorf("ended at %v, reached %v after %d ns; want %v", f.Watch.Ended, timing.Reached, timing.Wall, want)
	}
}
