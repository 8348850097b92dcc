package scenario

import (
	"testing"

	"fabemu/emu/scenario/paths"
)

// square has two equal paths from a to b, over x and y, and a longer one over z.
func square(routes ...Route) *Scenario {
	s := &Scenario{Model: Model{Duration: 1000}, Routing: Routing{Paths: ECMP}, Routes: routes}
	for _, name := range []string{"a", "b", "x", "y", "z"} {
		s.Switches = append(s.Switches, Switch{Name: name})
	}
	for _, name := range []string{"p", "q"} {
		s.Endpoints = append(s.Endpoints, Endpoint{Name: name})
	}
	for _, ends := range []string{"ap", "bq", "ax", "ay", "xb", "yb", "xz", "zy"} {
		s.Links = append(s.Links, Link{Name: ends, A: ends[:1], B: ends[1:]})
	}
	return s
}

// Frames that may never arrive are found on each of several equal paths, and after each change of
// the routes also where they have come by then; the longest path may be one of them.
func TestStray(t *testing.T) {
	for name, c := range map[string]struct {
		routes []Route
		err    error
		hops   int // most switches on a path at the start; 0: there is a loop
		steps  int // that are visited
	}{
		"shortest paths":                   {nil, nil, 3, 6},
		"back to where it came from":       {[]Route{{At: "y", To: "q", Over: "ay"}}, ErrRound, 0, 0},
		"a longer one":                     {[]Route{{At: "x", To: "q", Over: "xz"}, {At: "z", To: "q", Over: "zy"}}, nil, 5, 7},
		"over a switch with a way back":    {[]Route{{At: "x", To: "q", Over: "xz"}, {At: "y", To: "q", Over: "zy"}}, ErrRound, 0, 0},
		"to an endpoint":                   {[]Route{{At: "a", To: "q", Over: "ap"}}, ErrRound, 0, 0},
		"later":                            {[]Route{{At: "y", To: "q", Over: "ay", Since: 5}}, ErrRound, 3, 0},
		"only where no frames are":         {[]Route{{At: "z", To: "q", Over: "xz"}}, nil, 3, 6},
		"only where frames have come by":   {[]Route{{At: "a", To: "q", Over: "ay", Since: 5}, {At: "x", To: "q", Over: "xz", Since: 5}, {At: "z", To: "q", Over: "xz", Since: 5}}, ErrRound, 3, 0},
		"elsewhere, where none have come":  {[]Route{{At: "a", To: "q", Over: "ay"}, {At: "x", To: "q", Over: "xz", Since: 5}, {At: "z", To: "q", Over: "xz", Since: 5}}, nil, 3, 4},
		"frames that have come go further": {[]Route{{At: "y", To: "q", Over: "zy", Since: 5}, {At: "z", To: "q", Over: "xz", Since: 5}}, nil, 3, 8},
	} {
		w := PathTableOf(square(c.routes...))
		from, dst := []int{w.Index["p"]}, w.Index["q"]
		if _, err := w.Stray(from, dst); err != c.err {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
		if c.hops > 0 {
			if got := w.Longest(0, from, dst); got != c.hops {
				t.Errorf("%s: %d switches, want %d", name, got, c.hops)
			}
		}
		steps := map[output]bool{}
		w.Reach(from, dst, func(at int, s paths.Step) bool {
			more := !steps[output{at, s.Link}]
			steps[output{at, s.Link}] = true
			return more
		})
		if c.steps > 0 && len(steps) != c.steps {
			t.Errorf("%s: %d steps, want %d", name, len(steps), c.steps)
		}
	}
	if _, err := PathTableOf(&Scenario{Switches: []Switch{{Name: "a"}}, Endpoints: []Endpoint{{Name: "p"}, {Name: "q"}},
		Links: []Link{{Name: "ap", A: "a", B: "p"}}}).Stray([]int{1}, 2); err != ErrNoPath {
		t.Errorf("no links: %v, want %v", err, ErrNoPath)
	}
}
