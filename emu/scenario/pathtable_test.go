package scenario

import (
	"fmt"
	"testing"

	"fabemu/emu/scenario/paths"
)

// What need be done once at a step is done about once, in whichever order the flows of a chain are,
// and leaves out none of the steps.
func TestVisitNew(t *testing.T) {
	const n = 2000
	s := &Scenario{Model: Model{Duration: 1}}
	for i := range n {
		at := fmt.Sprint("s", i)
		s.Switches = append(s.Switches, Switch{Name: at})
		s.Endpoints = append(s.Endpoints, Endpoint{Name: fmt.Sprint("e", i)})
		s.Links = append(s.Links, Link{Name: at + "e", A: at, B: fmt.Sprint("e", i)})
		if i > 0 {
			s.Links = append(s.Links, Link{Name: at, A: fmt.Sprint("s", i-1), B: at})
		}
	}
	w := PathTableOf(s)
	for name, from := range map[string]func(i int) int{
		"the farthest first": func(i int) int { return i }, "the nearest first": func(i int) int { return n - 2 - i },
	} {
		been, visits, links := map[Place]bool{}, 0, map[int]bool{}
		for i := range n - 1 {
			k := Key{Src: w.Index[fmt.Sprint("e", from(i))], Dst: w.Index[fmt.Sprint("e", n-1)], QP: uint32(i)}
			if _, err := w.VisitNew(k, been, func(_ int, s paths.Step) {
				visits++
				links[s.Link] = true
			}); err != nil {
				t.Fatal(err)
			}
		}
		if visits > 2*Leap*n || len(links) != len(s.Links) {
			t.Errorf("%s: %d visits of %d links, want all of %d, and at most %d visits", name, visits, len(links), len(s.Links), 2*Leap*n)
		}
	}
}
