package spray_test

import (
	"slices"
	"testing"

	"fabemu/node/spray"
	"fabemu/wire/unit"
)

const paths = 8

func sprayer(p spray.Policy) spray.Sprayer { return spray.New(p, paths, unit.NewRandom(5, 1)) }

// taken returns the next paths, without the bits above those of paths.
func taken(s spray.Sprayer, now unit.Time, n int) (all []uint16) {
	for range n {
		all = append(all, s.Next(now)%paths)
	}
	return all
}

func sorted(all []uint16) []uint16 { return slices.Sorted(slices.Values(all)) }

var each = []uint16{0, 1, 2, 3, 4, 5, 6, 7}

// "In each round each path once", in orders that differ, with upper bits that stay.
func TestOblivious(t *testing.T) {
	s := sprayer(spray.Oblivious)
	upper := s.Next(0) / paths
	taken(s, 0, paths-1)
	orders := map[string]bool{}
	for range 50 {
		var round []uint16
		for range paths {
			p := s.Next(0)
			if p/paths != upper || p >= spray.Paths {
				t.Fatalf("path %#x, with other upper bits than %#x", p, upper)
			}
			round = append(round, p%paths)
			s.Learn(0, p, spray.Lost) // it does not listen
		}
		if !slices.Equal(sorted(round), each) {
			t.Fatalf("a round has %v", round)
		}
		orders[string(rune(round[0]))] = true
	}
	if len(orders) < 4 {
		t.Errorf("50 rounds begin with %d paths", len(orders))
	}
}

// "Paths with penalties are left out": one mark, and a path misses one turn; a loss is four, a
// timeout fifteen, and no more.
func TestBitmap(t *testing.T) {
	for name, c := range map[string]struct {
		heard  []spray.Feedback
		misses int
	}{
		"unmarked":         {[]spray.Feedback{spray.Good, spray.Good}, 0},
		"a mark":           {[]spray.Feedback{spray.Marked}, 1},
		"two marks":        {[]spray.Feedback{spray.Marked, spray.Good, spray.Marked}, 2},
		"a loss":           {[]spray.Feedback{spray.Lost}, 4},
		"a timeout":        {[]spray.Feedback{spray.Expired}, 15},
		"more than a loss": {[]spray.Feedback{spray.Lost, spray.Lost, spray.Lost, spray.Lost, spray.Expired}, 15},
	} {
		s := sprayer(spray.Bitmap)
		for _, f := range c.heard {
			s.Learn(0, 3, f)
		}
		// Each time that it would be the turn of path 3 the next one is taken, and the penalty is
		// one less: once in a round of eight turns, or in two where it ends one and begins the
		// next.
		all := taken(s, 0, 40*paths)
		first := slices.Index(all, 3)
		if want := c.misses * (paths - 1); first < want || first > want+4*paths {
			t.Errorf("%s: path 3 is taken after %d packets, want %d to %d", name, first, want, want+4*paths)
		}
	}
	s := sprayer(spray.Bitmap)
	for _, p := range each {
		s.Learn(0, p, spray.Expired)
	}
	if n := len(slices.Compact(sorted(taken(s, 0, 100)))); n < paths {
		t.Errorf("where all have penalties, %d paths are taken", n)
	}
}

// Paths that came back unmarked are used, each once and the oldest first; without one, any.
func TestREPSRecycles(t *testing.T) {
	s := sprayer(spray.REPS)
	if n := len(slices.Compact(sorted(taken(s, 0, 100)))); n != paths {
		t.Errorf("without feedback %d paths are taken", n)
	}
	for _, p := range []uint16{5, 1, 5, 2} {
		s.Learn(0, p, spray.Good)
		s.Learn(0, 7, spray.Marked)
		s.Learn(0, 6, spray.Lost)
	}
	if got := taken(s, 0, 4); !slices.Equal(got, []uint16{5, 1, 5, 2}) {
		t.Errorf("%v are taken, want those that came back", got)
	}
	for p := range uint16(8) {
		s.Learn(0, p%4, spray.Good)
	}
	for range 3 { // the ring has eight: these take the places of the oldest
		s.Learn(0, 7, spray.Good)
	}
	if got := taken(s, 0, 8); !slices.Equal(got, []uint16{3, 0, 1, 2, 3, 7, 7, 7}) {
		t.Errorf("%v are taken, want the last eight that came back", got)
	}
}

// After a timeout only paths that came back are used, again and again; then it explores.
func TestREPSFreezes(t *testing.T) {
	s := sprayer(spray.REPS)
	for _, p := range []uint16{4, 2, 6} {
		s.Learn(0, p, spray.Good)
	}
	s.Learn(0, 1, spray.Expired)
	if got := taken(s, 0, 7); !slices.Equal(got, []uint16{4, 2, 6, 4, 2, 6, 4}) {
		t.Errorf("frozen: %v", got)
	}
	s.Learn(unit.Time(10*unit.Millisecond), 4, spray.Marked)
	if got := taken(s, 0, 2); !slices.Equal(got, []uint16{2, 6}) {
		t.Errorf("still frozen: %v", got)
	}
	s.Learn(unit.Time(10*unit.Millisecond)+1, 4, spray.Marked)
	s.Learn(unit.Time(10*unit.Millisecond)+1, 3, spray.Good)
	if got := taken(s, 0, 17); len(slices.Compact(sorted(got[:16]))) < 4 || got[16] != 3 {
		t.Errorf("thawed: %v, want 16 of any, then 3", got)
	}
}

// Paths that came back go first, and then those without a penalty.
func TestMixed(t *testing.T) {
	s := sprayer(spray.Mixed)
	for _, p := range []uint16{3, 3, 0} {
		s.Learn(0, p, spray.Good)
	}
	s.Learn(0, 5, spray.Expired)
	got := taken(s, 0, 3+4*paths)
	if !slices.Equal(got[:3], []uint16{3, 3, 0}) || slices.Contains(got[3:], 5) {
		t.Errorf("%v", got)
	}
	if rest := slices.Compact(sorted(got[3:])); len(rest) != paths-1 {
		t.Errorf("the others are %v", rest)
	}
	for range 3 * paths { // no more than there are paths wait
		s.Learn(0, 1, spray.Good)
	}
	if got := taken(s, 0, 3*paths); slices.Index(got, 2) < paths {
		t.Errorf("%v", got)
	}
}

// Nothing is allocated for a packet, and two sprayers with one seed are alike.
func TestSprayersRepeat(t *testing.T) {
	for p := spray.Oblivious; p <= spray.Mixed; p++ {
		a, b := sprayer(p), sprayer(p)
		r := unit.NewRandom(1, 1)
		for i := range 2000 {
			now := unit.Time(i) * unit.Time(20*unit.Microsecond)
			x, y := a.Next(now), b.Next(now)
			if x != y || x >= spray.Paths {
				t.Fatalf("%v: packet %d takes %d and %d", p, i, x, y)
			}
			f := []spray.Feedback{spray.Good, spray.Good, spray.Good, spray.Marked, spray.Lost, spray.Expired}[r.Below(6)]
			a.Learn(now, x, f)
			b.Learn(now, x, f)
		}
		if n := testing.AllocsPerRun(100, func() { a.Learn(0, a.Next(0), spray.Good) }); n != 0 {
			t.Errorf("%v: a packet allocates %v times", p, n)
		}
	}
	if spray.New(spray.None, 1, nil) != nil {
		t.Error("none sprays")
	}
}
