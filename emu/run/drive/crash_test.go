package drive

import (
	"context"
	"errors"
	"testing"

	"fabemu/emu/base/errs"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// broken is a node that panics when something is due.
type broken struct{ Node }

func (broken) Advance(unit.Time) { panic("a mistake") }

// TestPanicOfADomainEndsAll: a panic in one domain ends the run of all.
func TestPanicOfADomainEndsAll(t *testing.T) {
	for m := range 3 {
		f, _ := star()
		for _, node := range f.Nodes {
			node.(*player).story = &[]string{} // one for each: they run at the same time
		}
		f.Nodes[m] = broken{f.Nodes[m]}
		f.Domains = &Domains{Of: []int{0, 1, 2}, Events: make([]*trace.Batch, 3), Threads: 2}
		f.Least = []unit.Duration{1000, 1000, 1000, 1000}
		_, err := Virtual{}.Run(context.Background(), f)
		if !errors.As(err, new(*errs.Panic)) {
			t.Errorf("node %d: %v", m, err)
		}
	}
}
