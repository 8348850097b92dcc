package lookahead

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"fabemu/wire/unit"
)

// boards returns the boards of the parts of a ring of n nodes, and of an observer, over the same
// words.
func boards(t testing.TB, n int) (all []*Board, words []uint64) {
	t.Helper()
	f, part, rank := ring(n), make([]int, n), make([]int, 2*n)
	for m := range part {
		part[m] = m
	}
	for i := range rank {
		rank[i] = i
	}
	words = make([]uint64, BoardWords(n, n, n))
	Lay(f, part, rank, 7, words)
	for m := range n + 1 {
		if m == n {
			m = none
		}
		b, err := NewBoard(f, rank, 7, m, words)
		if err != nil {
			t.Fatal(err)
		}
		b.Ahead = true
		all = append(all, b)
	}
	return all, words
}

// publish has a part state what could be due on both links, its next event, and what it has sent
// and seen.
func publish(t testing.TB, b *Board, claim, next unit.Time, sent, seen [2]uint32, due [2]unit.Time) {
	t.Helper()
	s := b.Own()
	s.Next = next
	for k := range s.Out {
		s.Out[k] = Outgoing{Claim: claim, Due: due[k], Sent: sent[k]}
		s.In[k] = Incoming{Need: next, Seen: seen[k]}
	}
	if err := b.State(); err != nil {
		t.Fatal(err)
	}
	b.Publish(true)
}

// look has boards read what was reported.
func look(t testing.TB, all ...*Board) {
	t.Helper()
	for _, b := range all {
		if _, err := b.Look(); err != nil {
			t.Fatalf("part %d: %v", b.me, err)
		}
	}
}

// woken returns the parts that a part wakes.
func woken(b *Board, now unit.Time) (list []int) {
	b.Wake(now, func(k int) { list = append(list, k) })
	return list
}

// The part with the first event may do it, by its own computation; the others wake it, and no other
// part.
func TestBoardWakesTheFirst(t *testing.T) {
	all, _ := boards(t, 3)
	none := [2]uint32{}
	publish(t, all[1], 1010, 1001, none, none, nothing)
	publish(t, all[2], 2010, 2001, none, none, nothing)
	look(t, all...)
	if list := woken(all[2], 5000); len(list) > 0 {
		t.Errorf("woken: %v, and part 0 has reported nothing", list)
	}
	publish(t, all[0], 20, 10, none, none, nothing)
	look(t, all...)
	if !all[0].May() || all[1].May() || all[2].May() {
		t.Error("part 0 has the first event, and no other may do one")
	}
	if list := woken(all[2], 5000); len(list) != 1 || list[0] != 0 {
		t.Errorf("woken: %v, want part 0", list)
	}
	if list := woken(all[2], 5); len(list) > 0 {
		t.Errorf("woken: %v, and part 0 sleeps until its event is due", list)
	}
	// A frame that was sent wakes its receiver, before the events of that.
	publish(t, all[0], 5000, 4000, [2]uint32{1, 0}, none, [2]unit.Time{20, unit.Never})
	look(t, all...)
	if list := woken(all[0], 5); len(list) != 1 || list[0] != 1 {
		t.Errorf("woken: %v, want part 1", list)
	}
}

// What another part can do first follows from its report, and from the frames that are sent to
// it.
func TestBoardEarliest(t *testing.T) {
	all, _ := boards(t, 3)
	none := [2]uint32{}
	earliest := func(when string, want unit.Time) {
		t.Helper()
		look(t, all...)
		if got := all[0].Earliest(); got != want {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	earliest("before all reports", 0)
	publish(t, all[1], 1010, 1001, none, none, nothing)
	earliest("before that of part 2", 0)
	publish(t, all[2], 2010, 2001, none, none, nothing)
	earliest("both wait", 1001)
	publish(t, all[0], 5000, 10, none, none, nothing)
	earliest("its own event does not count", 1001)
	publish(t, all[0], 5000, 4000, [2]uint32{1, 0}, none, [2]unit.Time{20, unit.Never})
	earliest("a frame is sent to part 1", 20)
	all[1].Own().Over = true
	publish(t, all[1], unit.Never, 1001, none, none, nothing)
	earliest("part 1 is at the end", 2001)
	all[0].Ahead = false
	if all[0].May() {
		t.Error("it looks for promises without Ahead")
	}
	if list := woken(all[0], 5000); len(list) != 1 || list[0] != 2 {
		t.Errorf("woken: %v, want part 2", list)
	}
}

// A sender that does not know yet what its receiver has seen states an instant that is earlier than
// the next frame is due. That breaks no promise.
func TestBoardWithFramesSeenMeanwhile(t *testing.T) {
	all, _ := boards(t, 3)
	none := [2]uint32{}
	publish(t, all[2], 5000, 4000, none, none, nothing)
	publish(t, all[0], 300, 290, [2]uint32{1, 0}, none, [2]unit.Time{20, unit.Never})
	look(t, all...)
	s := all[1].Own()
	for k := range s.In {
		s.Out[k] = Outgoing{Claim: 400, Due: unit.Never}
		s.In[k] = Incoming{Need: 100}
	}
	from := all[1].index[0] // the path from part 0 to part 1
	for k, x := range all[1].parts[1].in {
		if x == from {
			s.In[k].Seen = 1
		}
	}
	if err := all[1].State(); err != nil {
		t.Fatal(err)
	}
	if !all[1].May() {
		t.Fatal("nothing is due before 300")
	}
	publish(t, all[0], 500, 490, [2]uint32{2, 0}, none, [2]unit.Time{310, unit.Never})
	look(t, all[1])
}

// Words that another process has changed are an error that names the part, or change nothing.
func TestBoardWithForgedWords(t *testing.T) {
	for seed := range uint64(300) {
		all, words := boards(t, 3)
		r := rand.New(rand.NewPCG(seed, 1))
		for k := range 3 {
			publish(t, all[k], 100, 90, [2]uint32{}, [2]uint32{}, nothing)
		}
		look(t, all...)
		for k := range 3 {
			publish(t, all[k], 200, 190, [2]uint32{}, [2]uint32{}, nothing)
		}
		at := all[0].record(1, 2) + r.IntN(all[0].layout.sizes[1])
		words[at] ^= 1 << r.IntN(64)
		_, err := all[0].Look()
		var bad *BadRecord
		if !errors.As(err, &bad) || bad.Part != 1 || !strings.Contains(err.Error(), "torn") {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// A board of another version, run or fabric is refused.
func TestBoardOfAnotherRun(t *testing.T) {
	_, words := boards(t, 3)
	rank := make([]int, 6)
	for i := range rank {
		rank[i] = i
	}
	if _, err := NewBoard(ring(3), rank, 8, 0, words); err == nil || !strings.Contains(err.Error(), "another run") {
		t.Error(err)
	}
	words[0]++
	if _, err := NewBoard(ring(3), rank, 7, 0, words); err == nil || !strings.Contains(err.Error(), "this version") {
		t.Error(err)
	}
	if _, err := NewBoard(ring(3), rank, 7, 0, nil); err == nil {
		t.Error("no words are a board")
	}
}

// Whatever is in the words of others, reading and computing come to an end.
func FuzzBoard(f *testing.F) {
	f.Add(uint64(1), uint16(3), uint64(1<<63), true)
	f.Fuzz(func(t *testing.T, seed uint64, at uint16, value uint64, sealed bool) {
		all, words := boards(t, 3)
		for k := range 3 {
			publish(t, all[k], 100, 90, [2]uint32{}, [2]uint32{}, nothing)
		}
		b, r := all[0], rand.New(rand.NewPCG(seed, 2))
		from := b.layout.lost
		words[from+int(at)%(len(words)-from)] = value
		if sealed { // with a check word that is right
			n := uint64(1 + r.IntN(3))
			w := words[b.record(1, n):][:b.layout.sizes[1]]
			w[2+r.IntN(len(w)-2)] = value
			w[0] = check(w, n)
			words[b.layout.numbers+1] = n
		}
		if _, err := b.Look(); err != nil {
			var bad *BadRecord
			if !errors.As(err, &bad) {
				t.Error(err)
			}
			return
		}
		b.May()
		woken(b, 1000)
		b.Lost(0)
	})
}

// BenchmarkBoard is a ring of 24 parts of which one after another has the next event: what each
// report costs, with the promise that follows from it and the part that is woken.
func BenchmarkBoard(b *testing.B) {
	const n = 24
	all, _ := boards(b, n)
	next := make([]unit.Time, n)
	state := func(k int) {
		s := all[k].Own()
		s.Next = next[k]
		for i := range s.Out {
			s.Out[i] = Outgoing{Claim: next[k] + 10, Due: unit.Never}
			s.In[i] = Incoming{Need: next[k]}
		}
		if err := all[k].State(); err != nil {
			b.Fatal(err)
		}
		all[k].Publish(true)
	}
	for k := range n {
		next[k] = unit.Time(100 + k)
		state(k)
	}
	rung := 0
	for i := 0; b.Loop(); i++ {
		k := i % n
		if _, err := all[k].Look(); err != nil {
			b.Fatal(err)
		}
		if all[k].Earliest() < next[k] {
			b.Fatalf("part %d has the next event, and does not know it", k)
		}
		next[k] += n
		state(k)
		all[k].Wake(1<<40, func(int) { rung++ })
	}
	if rung != b.N {
		b.Errorf("%d rung, in %d rounds", rung, b.N)
	}
}
