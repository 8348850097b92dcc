package emu

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/scenario"
	"fabemu/wire/trace"

	"github.com/google/go-cmp/cmp"
)

// keyed is what was told, with the key of the event.
type keyed struct {
	trace.Key
	trace.Event
}

// keeper writes down what is told.
type keeper struct {
	now trace.Key
	all []keyed
}

func (k *keeper) Record(e *trace.Event) { k.all = append(k.all, keyed{k.now, *e}) }

// What the nodes of a run tell, shared out between several and each share in an order of its
// own, is sorted by the keys of the events into the order of the virtual clock: with changes
// of several nodes at one instant, and whether nodes share the agenda of the driver or not.
func TestModelKeysMergeWhatSharesTell(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	load := func(name, duration string) *scenario.Scenario {
		return runtest.Load(t, runtest.Text(t, name), runtest.Sets(t, "model.duration="+duration)...)
	}
	for name, s := range map[string]*scenario.Scenario{
		"restart": runtest.Restarting(t, "2ms", "1ms"), "failover": load("ethernet/failover", "9ms"),
		"qcn": load("qcn/two-points", "3ms"), "deadlock": load("ethernet/ring-deadlock", "3ms"),
	} {
		f, err := fabric.Build(s)
		if err != nil {
			t.Fatal(err)
		}
		var runs [2]keeper
		for i := range runs {
			k := &runs[i]
			run, err := assemble.New(f, assemble.Schemes{}, trace.NewBatch(1, k))
			if err != nil {
				t.Fatal(err)
			}
			run.Key = &k.now
			if i == 1 { // none of them shares the agenda
				for m := range run.Nodes {
					run.Nodes[m] = struct{ drive.Node }{run.Nodes[m]}
				}
			}
			if _, err := (drive.Virtual{SkipCodec: true}).Run(context.Background(), run); err != nil {
				t.Fatal(err)
			}
		}
		want := runs[0].all
		if len(want) < 1000 || !slices.IsSortedFunc(want, func(a, b keyed) int { return a.Key.Compare(b.Key) }) {
			t.Errorf("%s: %d events, and the keys do not rise", name, len(want))
		}
		if diff := cmp.Diff(want, runs[1].all); diff != "" && name != "deadlock" { // they do not say what they wait for
			t.Errorf("%s: nodes that do not share the agenda: %s", name, diff[:min(len(diff), 1000)])
		}
		random := rand.New(rand.NewPCG(1, 2))
		share := make([]int, len(f.Nodes))
		for m := range share {
			share[m] = random.IntN(3)
		}
		var shares [3][]keyed
		for _, e := range want {
			shares[share[e.Node]] = append(shares[share[e.Node]], e)
		}
		got := slices.Concat(shares[2], shares[0], shares[1])
		slices.SortStableFunc(got, func(a, b keyed) int { return a.Key.Compare(b.Key) })
		if !slices.Equal(got, want) {
			t.Errorf("%s: shares merged by key are not in the order of the run", name)
		}
	}
}
