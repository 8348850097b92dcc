//go:build timing

package papers

import (
	"testing"

	"fabemu/emu"
	"fabemu/emu/scenario/builtin"
)

// The papers and their figures are known without a look into any scenario: help texts and
// completions list them.
func TestAllocsPapersOpenNoScenario(t *testing.T) {
	open := func(name string) float64 {
		return testing.AllocsPerRun(1, func() {
			if _, err := emu.Open(name); err != nil {
				t.Fatal(err)
			}
		})
	}
	all := 0.0
	for _, e := range builtin.List() {
		all += open(e.Name)
	}
	listed := testing.AllocsPerRun(1, func() { Papers() })
	found := testing.AllocsPerRun(1, func() {
		if _, _, err := Find("hpl2002/fig3b"); err != nil {
			t.Fatal(err)
		}
	})
	if listed >= all/4 {
		t.Errorf("the papers allocate %.0f times, all scenarios %.0f times", listed, all)
	}
	if opened := open("hpl2002/fig3b"); found < opened {
		t.Errorf("a figure with the claims of its scenario allocates %.0f times, and the scenario %.0f times", found, opened)
	}
}
