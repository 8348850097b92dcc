package schedule_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fabemu/node/schedule"
	"fabemu/wire/unit"
)

func readGoal(text string) (*schedule.Goal, error) {
	return schedule.ReadGoal(strings.NewReader(text), int64(len(text)))
}

func goalPrograms(t *testing.T, text string) (all []schedule.Program) {
	t.Helper()
	g, err := readGoal(text)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	for r := range g.Ranks() {
		all = append(all, g.Program(r))
	}
	return all
}

// statements reads a program to its end. Names are replaced by the places of their operations.
func statements(t *testing.T, p schedule.Program) (all []schedule.Op) {
	t.Helper()
	at := map[uint64]uint64{0: 0}
	count := uint64(0)
	for {
		o, ok, err := p.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return all
		}
		if o.Kind < schedule.Requires {
			count++
			if o.Name != 0 {
				at[o.Name] = count
			}
		}
		o.Name, o.On = at[o.Name], at[o.On]
		all = append(all, o)
	}
}

const pair = `// two ranks
num_ranks 2

rank 1 {
	recv 9b from 0 tag 42 /* of
	two lines */ cpu 3 nic 4
	b: calc 7; b2: calc 8 cpu 1
	b2 requires b } rank 0{
l1 :send 8 b to 1 tag 4294967338 nic 1 cpu 2
	l2: send 0b to 1
	l2   irequires l1 // a comment
	send: 1b to 1
}
`

func TestGoalStatements(t *testing.T) {
	text := strings.Replace(pair, "send: 1b", "send 1b", 1)
	all := goalPrograms(t, text)
	for i, want := range [][]schedule.Op{{
		{Kind: schedule.Send, Name: 1, Peer: 1, Tag: 42, Size: 8, Line: 9},
		{Kind: schedule.Send, Name: 2, Peer: 1, Size: 1, Line: 10},
		{Kind: schedule.StartRequires, Name: 2, On: 1, Line: 11},
		{Kind: schedule.Send, Peer: 1, Size: 1, Line: 12},
	}, {
		{Kind: schedule.Receive, Peer: 0, Tag: 42, Size: 9, Line: 5},
		{Kind: schedule.Calc, Name: 2, Time: 7 * unit.Nanosecond, Line: 7},
		{Kind: schedule.Calc, Name: 3, Time: 8 * unit.Nanosecond, CPU: 1, Line: 7},
		{Kind: schedule.Requires, Name: 3, On: 2, Line: 8},
	}} {
		if got := statements(t, all[i]); !slices.Equal(got, want) {
			t.Errorf("rank %d: %+v\nwant %+v", i, got, want)
		}
	}
	// A program that was read to its end stays there.
	if _, ok, err := all[0].Next(); ok || err != nil {
		t.Errorf("behind its end: %v, %v", ok, err)
	}
}

func TestGoalRefuses(t *testing.T) {
	in := func(body string) string {
		return "num_ranks 3\nrank 0 {\n" + body + "\n}\nrank 1 {\n}\nrank 2 {\n}\n"
	}
	for _, tc := range []struct{ text, want string }{
		{"", "line 1: the file ends without num_ranks: a GOAL file starts with it"},
		{"\n\n", "line 3: the file ends without num_ranks"},
		{"hello", `line 1: found "hello" instead of num_ranks or rank`},
		{"num_ranks", "line 1: the file ends instead of the number of ranks: it may be cut"},
		{"num_ranks many", `line 1: found "many" instead of the number of ranks`},
		{"num_ranks 0", "line 1: num_ranks 0: a schedule has at least one rank"},
		{"num_ranks -1", "line 1: found -1 instead of the number of ranks: any rank (-1)"},
		{"num_ranks 1\nnum_ranks 1\n", "line 2: num_ranks is here a second time"},
		{"num_ranks 1000000000",
			"line 1: num_ranks 1000000000, but a file of 20 bytes has no room for so many sections"},
		{"num_ranks 99999999999", "line 1: 99999999999 is too large for the number of ranks: at most 2147483647"},
		{"num_ranks 99999999999999999999",
			"line 1: 99999999999999999999 is too large for the number of ranks: at most 2147483647"},
		{"rank 0 {\n}\n", "line 1: rank 0 is before num_ranks"},
		{"num_ranks 2\nrank 0 {\n}\nrank 2 {\n}\n", "line 4: rank 2, but num_ranks is 2: ranks count from 0"},
		{"num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n", "line 4: rank 0 has a section in line 2 already"},
		{"num_ranks 4\nrank 0 {\n}\nrank 3 {\n}\n",
			"line 6: num_ranks is 4, but 2 of these ranks have no section, the first one is rank 1: the file may be cut"},
		{"num_ranks 1\nrank {\n}\n", `line 2: found "{" instead of a rank`},
		{"num_ranks 1\nrank 0\n{\n}\n", "line 2: the statement ends instead of {"},
		{"num_ranks 1\n}\n", `line 2: found "}" instead of num_ranks or rank`},
		{"num_ranks 1\nrank 0 {\n} }\n", `line 3: found "}" instead of num_ranks or rank`},
		{"num_ranks 1\nrank 0 {\ncalc 5\n",
			"line 4: the file ends inside rank 0, whose section starts in line 2: the file may be cut"},
		{"num_ranks 1\nrank 0 {\ncalc", "line 3: the file ends inside rank 0"},
		{"num_ranks 1\nrank 0 {\ncalc 5 /* a\nb", "line 3: a comment without an end: the file may be cut"},
		{"num_ranks 1\nrank 0 {\n/ calc 5\n}", "line 3: a slash that starts no comment"},
		{"num_ranks 1\nrank 0 {\n# calc 5\n}", `line 3: found "#" instead of send, recv, calc, a label or }`},
		{in("rank 1"), `line 3: found "rank" instead of send, recv, calc, a label or }`},
		{in("start 8b to 1"), `line 3: found "8" instead of ":", requires or irequires`},
		{in("a: start 8b to 1"), `line 3: found "start" instead of send, recv or calc`},
		{in("a:\nsend 8b to 1"), "line 3: the statement ends instead of send, recv or calc"},
		{in("send 8 to 1"), `line 3: found "to" instead of b`},
		{in("send 8b from 1"), `line 3: found "from" instead of to`},
		{in("recv 8b to 1"), `line 3: found "to" instead of from`},
		{in("send 8b to 3"), "line 3: to 3: the ranks are 0 to 2"},
		{in("recv 8b from 99"), "line 3: from 99: the ranks are 0 to 2"},
		{in("send 8b to 0"), "line 3: a message of rank 0 to itself passes through no fabric: write a calc"},
		{in("recv 8b from -1"),
			"line 3: found -1 instead of a rank: any rank (-1) and any tag (-1) are not supported, name them"},
		{in("recv 8b from 1 tag -1"), "line 3: found -1 instead of the number of an option: any rank (-1)"},
		{in("send 1125899906842625b to 1"),
			"line 3: 1125899906842625 is too large for the size of a message: at most 1125899906842624"},
		{in("calc 9223372036854776"),
			"line 3: 9223372036854776 is too large for the nanoseconds of a calc: at most 9223372036854775"},
		{in("calc 1 tag 5"), `line 3: found "tag" instead of cpu, once, or the end of the statement`},
		{in("calc 1 cpu 4096"), "line 3: 4096 is too large for the number of an option: at most 4095"},
		{in("send 8b to 1 tag 1 tag 2"),
			`line 3: found "tag" instead of tag, cpu or nic, each once, or the end of the statement`},
		{in("send 8b to 1 host 2"),
			`line 3: found "host" instead of tag, cpu or nic, each once, or the end of the statement`},
		{in("send 8b to 1 tag 5 6"),
			`line 3: found "6" instead of tag, cpu or nic, each once, or the end of the statement`},
		{in("a: calc 1\nb requires a"), "line 4: no operation above has the first label of this dependency"},
		{in("a: calc 1\na requires b"), "line 4: no operation above has the second label of this dependency"},
		{in("a: calc 1\na requires b\nb: calc 1"), "line 4: no operation above has the second label"},
		{in("a: calc 1\na requires a"), "line 4: an operation that requires itself never starts"},
		{in("a: calc 1\na requires 7"), `line 4: found "7" instead of a label`},
		{in("a: calc 1\nb: calc 1\na requires b c"), `line 5: found "c" instead of the end of the statement`},
		{in("a: calc 1\na: calc 2"), "line 4: the operation in line 3 has the same label"},
		{in(strings.Repeat("x", 1019) + ": calc 1"), "line 3: a statement of more than 1024 characters"},
		{in("calc 1\x00"), "line 3: a zero byte in a text"},
		{in("calc 1 {"), `line 3: "{" is inside rank 0, whose section starts in line 2`},
		{"num_ranks 1 {\n", `line 1: found "{" instead of the end of the statement`},
		{"num_ranks 1 rank 0 {\n", `line 1: found "rank" instead of the end of the statement`},
		{"num_ranks 1\nrank 0 x {\n", `line 2: found "x" instead of the end of the statement`},
		{"num_ranks 1\n{\n", `line 2: found "{" instead of num_ranks or rank`},
	} {
		_, err := readGoal(tc.text)
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%q:\n error %v\n want  %s", tc.text, err, tc.want)
		}
	}
	// A label belongs to its section.
	long := strings.Repeat("x", 1018) + ": calc 1\n"
	if _, err := readGoal("num_ranks 2\nrank 0 {\na: calc 1\n}\nrank 1 {\na: calc 1\n" + long + "}"); err != nil {
		t.Error(err)
	}
}

// Wherever a file is cut, the error has the line.
func TestGoalCut(t *testing.T) {
	text := strings.TrimSpace(strings.Replace(pair, "send: 1b", "send 1b", 1))
	if _, err := readGoal(text); err != nil {
		t.Fatal(err)
	}
	for i := range len(text) {
		if _, err := readGoal(text[:i]); err == nil || !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("the first %d bytes: error %v", i, err)
		}
	}
	// The file shrinks after it was indexed.
	for _, tc := range []struct {
		err  error
		want string
	}{
		{io.EOF, "rank 0: line 10: the file ends inside rank 0, whose section starts in line 8: the file may be cut"},
		{io.ErrNoProgress, "rank 0: line 10: " + io.ErrNoProgress.Error()},
	} {
		file := &shrinking{bytes.NewReader([]byte(text)), int64(len(text)), tc.err}
		g, err := schedule.ReadGoal(file, file.size)
		if err != nil {
			t.Fatal(err)
		}
		file.size = int64(strings.Index(text, "l2:"))
		j := newJob(gigabit, delay, 0, []schedule.Program{g.Program(0)}, nil)
		j.run()
		if err := j.ranks[0].Err(); err == nil || err.Error() != tc.want {
			t.Errorf("a file that has shrunk: error %v, want %s", err, tc.want)
		}
		if j.ranks[0].Done() {
			t.Error("a rank with an error is done")
		}
	}
}

type shrinking struct {
	*bytes.Reader
	size int64
	err  error
}

func (s *shrinking) ReadAt(b []byte, at int64) (int, error) {
	if at+int64(len(b)) > s.size {
		n, _ := s.Reader.ReadAt(b[:max(s.size-at, 0)], at)
		return n, s.err
	}
	return s.Reader.ReadAt(b, at)
}

// The examples run to their ends.
func TestGoalExamples(t *testing.T) {
	names, err := filepath.Glob("../../docs/examples/*.goal")
	if err != nil || len(names) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		j := newJob(gigabit, delay, 0, goalPrograms(t, string(text)), nil)
		if end := j.run(); end == 0 {
			t.Errorf("%s takes no time", name)
		}
		j.finished(t)
	}
}

// dag is a random schedule that can end: each message has its send and its receive, and an
// operation requires operations that are before it in one order of all of them.
type dag struct {
	ranks int
	ops   [][]node // by rank
}

type node struct {
	text  string
	waits []wait
}

type wait struct {
	on    int // the place of the operation in its rank
	start bool
}

func randomDag(random *unit.Random, ranks, ops int) *dag {
	d := &dag{ranks: ranks, ops: make([][]node, ranks)}
	add := func(rank int, text string) {
		n := node{text: text}
		if before := len(d.ops[rank]); before > 0 {
			for range random.Below(4) {
				w := wait{on: int(random.Below(uint64(before))), start: random.Below(3) == 0}
				if !slices.ContainsFunc(n.waits, func(x wait) bool { return x.on == w.on }) {
					n.waits = append(n.waits, w)
				}
			}
		}
		d.ops[rank] = append(d.ops[rank], n)
	}
	for i := range ops {
		from := int(random.Below(uint64(ranks)))
		if random.Below(3) == 0 {
			add(from, fmt.Sprintf("calc %d cpu %d", random.Below(5000), len(d.ops[from]))) // each on its own processor
			continue
		}
		to := (from + 1 + int(random.Below(uint64(ranks-1)))) % ranks
		tag := i // two messages of one tag could each wait for the other's receive
		add(from, fmt.Sprintf("send %db to %d tag %d", 1+random.Below(5000), to, tag))
		add(to, fmt.Sprintf("recv 1b from %d tag %d", from, tag))
	}
	return d
}

// text writes the schedule. late: at most so many operations are between an operation and
// its dependencies.
func (d *dag) text(random *unit.Random, late int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "num_ranks %d\n", d.ranks)
	for r := range d.ranks {
		fmt.Fprintf(&b, "rank %d {\n", r)
		due := map[int][]string{} // by the operation that they follow
		last := len(d.ops[r]) - 1
		for i, n := range d.ops[r] {
			fmt.Fprintf(&b, "\tl%d: %s\n", i, n.text)
			for _, w := range n.waits {
				word := "requires"
				if w.start {
					word = "irequires"
				}
				at := min(i+int(random.Below(uint64(late)+1)), last)
				due[at] = append(due[at], fmt.Sprintf("\tl%d %s l%d\n", i, word, w.on))
			}
			for _, line := range due[i] {
				b.WriteString(line)
			}
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// In a random schedule each operation begins at the instant when the last of its dependencies
// is fulfilled, not later and not earlier, wherever in the file the dependencies are.
func TestGoalDependencies(t *testing.T) {
	for seed := range uint64(60) {
		random := unit.NewRandom(seed, 1)
		ranks := 2 + int(random.Below(5))
		d := randomDag(random, ranks, 10+int(random.Below(200)))
		var end unit.Time
		for i, late := range []int{0, 3, 1000} {
			text := d.text(unit.NewRandom(seed, 2), late)
			type span struct{ start, end unit.Time }
			spans := make([][]span, ranks)
			first := make([]int, ranks) // the line of the first operation
			ps := goalPrograms(t, text)
			for r := range ps {
				spans[r] = make([]span, len(d.ops[r]))
			}
			line := 1
			lines := strings.Split(text, "\n")
			place := map[int]int{} // of an operation in its rank, by line
			for r, n := -1, 0; line < len(lines); line++ {
				switch s := lines[line-1]; {
				case strings.HasPrefix(s, "rank"):
					r, n = r+1, 0
					first[r] = line
				case strings.Contains(s, ":"):
					place[line] = n
					n++
				}
			}
			j := newJob(gigabit, delay, 0, ps, func(r int, op schedule.Op, start, end unit.Time) {
				spans[r][place[op.Line]] = span{start, end}
			})
			got := j.run()
			j.finished(t)
			for r, ops := range d.ops {
				for k, n := range ops {
					var want unit.Time
					for _, w := range n.waits {
						if w.start {
							want = max(want, spans[r][w.on].start)
						} else {
							want = max(want, spans[r][w.on].end)
						}
					}
					if spans[r][k].start != want {
						t.Fatalf("seed %d, rank %d: operation %d begins at %v, want %v, in:\n%s",
							seed, r, k, spans[r][k].start, want, text)
					}
				}
			}
			if i == 0 {
				end = got
			} else if got != end {
				t.Errorf("seed %d: with dependencies %d operations late the job ends at %v, otherwise at %v", seed, late, got, end)
			}
			for r, p := range goalPrograms(t, text) {
				if need := reach(t, p); need != p.Reach() {
					t.Errorf("seed %d, rank %d: the index has %+v, want %+v", seed, r, p.Reach(), need)
				}
			}
		}
	}
}

// FuzzGoal: whatever the file, it is refused with a line, or its ranks run until they are done,
// stuck or refuse to continue, and hold no more than the window.
func FuzzGoal(f *testing.F) {
	f.Add(pair)
	f.Add(strings.Replace(pair, "send: 1b", "send 1b", 1))
	f.Add("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}")
	f.Add("num_ranks 2\nrank 0 {\nrecv 1b from 1\n}\nrank 1 {\n}")
	f.Add(randomDag(unit.NewRandom(1, 1), 3, 30).text(unit.NewRandom(1, 2), 5))
	for _, name := range []string{"../../docs/examples/pipeline.goal", "../../emu/scenario/resolve/testdata/goal-cut.goal", "../../emu/scenario/resolve/testdata/goal-rank.goal"} {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := readGoal(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") {
				t.Fatalf("an error without a line: %v", err)
			}
			return
		}
		if g.Ranks() > 100 {
			return
		}
		var ps []schedule.Program
		for r := range g.Ranks() {
			p := g.Program(r)
			if need := reach(t, p); need != p.Reach() {
				t.Fatalf("rank %d: the index has %+v, want %+v", r, p.Reach(), need)
			}
			ps = append(ps, g.Program(r))
		}
		const window = 20
		j := newJob(gigabit, delay, window, ps, nil)
		j.run()
		for i, r := range j.ranks {
			if n := len(r.Waiting()); n > window || r.Done() && n > 0 || !r.Done() && n == 0 && r.Err() == nil {
				t.Fatalf("rank %d: done %v, error %v, waits for %v", i, r.Done(), r.Err(), r.Waiting())
			}
		}
	})
}
