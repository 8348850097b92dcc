package cp_test

import (
	"strings"
	"testing"

	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

var (
	naive = marks{scheme: "naive"}
	input = marks{scheme: "input"}
	scan  = marks{"input", cp.InputOutputParams{InputParams: cp.InputParams{Selection: cp.Scan}}}
)

func inputOutput(threshold int) marks {
	return marks{"input-output", cp.InputOutputParams{Threshold: threshold}}
}

func TestNaive(t *testing.T) {
	run(t, []testCase{
		{
			name: "all that wait in the full buffer, and nothing else", config: naive,
			story: "1>9 0>9 0>8 2>8 0>9 0>7 -9 .9 -9 .9 -9 .9 -8 .8 -8 .8 -7 .7",
			left:  "A B* E* C* D F*", triggers: "9:full-buffer:3 8:full-buffer:2 7:full-buffer:1",
		},
		{
			name: "one short of full", config: naive,
			story: "0>9 0>9 0>9 1>9 2>9 -9 .9 -9 .9 -9 .9 -9 .9", left: "A B C D",
		},
		{
			name: "a packet in transmission takes its slot but is not marked", config: naive,
			story: "0>9 -9 0>9 0>9 0>9 .9 -9 .9", left: "A B*", triggers: "9:full-buffer:3",
		},
		{
			name: "the packet that fills the buffer cuts through", config: naive,
			story: "0>9 0>9 0>9 0>>8 -9", left: "D A*", triggers: "9:full-buffer:3",
		},
		{
			name: "what comes after the event is not marked", config: naive, room: 2,
			story: "0>9 0>9 -9 .9 0>8 1>9 -9 .9 -9 -8", left: "A* B* D C*", triggers: "9:full-buffer:2 9:full-buffer:1 8:full-buffer:1",
		},
		{
			name: "not the packets of ACKs", config: naive,
			story: "0>9 0~9 0>9 0>9 1>9 0>8 -9 .9 -9", left: "A* a", triggers: "9:full-buffer:4 8:full-buffer:1",
		},
	})
}

func TestInputTriggered(t *testing.T) {
	run(t, []testCase{
		{
			name: "the next cnt2 packets by each output that a waiting packet is for, whatever input they came by", config: input,
			story:    "1>9 2>9 0>9 0>8 3>8 0>9 4>7 0>8 -9 .9 -9 .9 -9 .9 -9 .9 -8 .8 -8 .8 -8 .8 -7 .7",
			left:     "A* B* C* F* D* E* H* G",
			triggers: "9:full-buffer:4 8:full-buffer:3",
		},
		{
			name: "so many, and then no more", config: input, room: 2,
			story: "0>9 0>9 1>9 2>9 -9 .9 -9 .9 -9 .9 -9 .9", left: "A* B* C D", triggers: "9:full-buffer:2",
		},
		{
			name: "the first that leave, not those that were counted", config: input, room: 2,
			story: "0>9 0>9 1>9 -9:C .9 -9 .9 -9 .9", left: "C* A* B", triggers: "9:full-buffer:2",
		},
		{
			name: "a packet in transmission has no part", config: input,
			story: "0>8 -8 0>9 0>9 0>9 .8 1>8 -8 -9", left: "A E B*", triggers: "9:full-buffer:3",
		},
		{
			name: "assigned, not added", config: input, room: 2,
			story:    "0>9 0>9 -9 .9 0>9 1>9 2>9 -9 .9 -9 .9 -9 .9 -9 .9",
			left:     "A* B* C* D E",
			triggers: "9:full-buffer:2 9:full-buffer:2",
		},
		{
			name: "again before the first marks are given", config: input, room: 2,
			story:    "0>9 0>9 1>9 2>9 -9 .9 0>9 -9 .9 -9 .9 -9 .9 -9 .9 3>9 -9 .9",
			left:     "A* B* C* D* E* F",
			triggers: "9:full-buffer:2 9:full-buffer:4",
		},
		{
			name: "a threshold is for input-output alone", config: marks{"input", cp.InputOutputParams{Threshold: 1}},
			story: "0>9 1>9 2>9 -9 .9 -9", left: "A B",
		},
		{
			name: "no event: nothing is marked", config: input,
			story: "0>9 1>9 2>9 3>9 4>9 -9 .9 -9", left: "A B",
		},
		{
			name: "the packet that fills the buffer cuts through: its output has no part", config: input,
			story: "0>9 0>9 0>9 0>>8 .8 1>8 -8 -9", left: "D E A*", triggers: "9:full-buffer:3",
		},
		{
			name: "an ACK is no reason", config: input, room: 2,
			story: "0~8 0>9 0>9 1>8 -8 .8 -8 -9", left: "a C A*", triggers: "9:full-buffer:2",
		},
		{
			name: "the packet on the line counts", config: input, room: 2, counts: true,
			story: "1>9 -9 0>9 0>9 .9 -9 .9 -9 .9 2>9 -9 .9 2>9 -9", left: "A B* C* D* E", triggers: "9:full-buffer:3",
		},
	})
}

func TestInputOutputTriggered(t *testing.T) {
	more := inputOutput(3)
	more.Exceeds = cp.MoreThan
	run(t, []testCase{
		{
			name: "at the threshold", config: inputOutput(3),
			story: "0>9 1>9 2>9 3>8 -9 .9 -9 .9 -9 .9 -8", left: "A* B* C* D", triggers: "9:over-threshold:3",
		},
		{
			name: "below it", config: inputOutput(4),
			story: "0>9 1>9 2>9 -9", left: "A",
		},
		{
			name: "more than the threshold: three are not enough", config: more,
			story: "0>9 1>9 2>9 -9 .9 -9 .9 -9", left: "A B C",
		},
		{
			name: "more than the threshold: four are", config: more,
			story: "0>9 1>9 2>9 3>9 -9 .9 -9 .9 -9 .9 -9 .9 4>9 -9", left: "A* B* C* D* E", triggers: "9:over-threshold:4",
		},
		{
			name: "at each arrival as long as it holds", config: inputOutput(2),
			story:    "0>9 1>9 2>9 -9 .9 3>9 -9 .9 -9 .9 -9",
			left:     "A* B* C* D*",
			triggers: "9:over-threshold:2 9:over-threshold:3 9:over-threshold:3",
		},
		{
			name: "and no longer", config: inputOutput(2),
			story:    "0>9 1>9 -9 .9 -9 .9 2>9 -9",
			left:     "A* B* C",
			triggers: "9:over-threshold:2",
		},
		{
			name: "not for another output than the packet's", config: inputOutput(2),
			story: "0>9 1>8 2>7", left: "",
		},
		{
			name: "a full buffer triggers too", config: inputOutput(5),
			story: "1>9 0>9 0>8 0>9 0>8 -9 .9 -9 .9 -9 -8 .8 -8", left: "A* B* D* C* E*", triggers: "9:full-buffer:3 8:full-buffer:2",
		},
		{
			name: "both at once", config: inputOutput(4),
			story: "0>9 0>9 0>9 0>9 -9", left: "A*", triggers: "9:full-buffer:4 9:over-threshold:4",
		},
		{
			name: "an ACK does not count", config: inputOutput(3),
			story: "0>9 1~9 2>9 -9 .9 -9", left: "A a",
		},
		{
			name: "the packet on the line counts", config: inputOutput(3), counts: true,
			story: "0>9 -9 1>9 2>9 .9 -9 .9 -9 .9 3>9 -9 .9 3>9 -9", left: "A B* C* D* E", triggers: "9:over-threshold:3",
		},
	})
}

// The options that stay between the paper's lines.
func TestOptions(t *testing.T) {
	with := func(c marks, change func(*marks)) marks {
		change(&c)
		return c
	}
	skip := func(c *marks) { c.SkipBlocked = true }
	exempt := func(c *marks) { c.IdleExempt = true }
	const (
		full  = "0>9 0>9 0>8 0>9 -9 .9 -8"
		burst = "0>9 1>9 2>9 -9"
	)
	run(t, []testCase{
		{name: "naive marks what waits for a blocked output", config: naive, story: "!9 " + full, left: "A* C*", triggers: "9:full-buffer:3 8:full-buffer:1"},
		{name: "naive, blocked outputs left out", config: with(naive, skip), story: "!9 " + full, left: "A C*", triggers: "8:full-buffer:1"},
		{name: "input, blocked outputs left out", config: with(input, skip), story: "!9 " + full, left: "A C*", triggers: "8:full-buffer:1"},
		{name: "input, not blocked any more", config: with(input, skip), story: "!9 ?9 " + full, left: "A* C*", triggers: "9:full-buffer:3 8:full-buffer:1"},
		{name: "input, blocked after the event", config: with(input, skip), story: "0>9 0>9 0>8 0>9 !9 -9", left: "A*", triggers: "9:full-buffer:3 8:full-buffer:1"},
		{name: "input-output, blocked", config: with(inputOutput(3), skip), story: "!9 " + burst, left: "A"},
		{name: "input-output, not blocked", config: with(inputOutput(3), skip), story: burst, left: "A*", triggers: "9:over-threshold:3"},

		{name: "naive, both outputs idle", config: with(naive, exempt), story: full, left: "A C"},
		{name: "naive, one of them idle", config: with(naive, exempt), story: "1>9 -9 0>9 0>9 0>8 0>9 .9 -9 -8", left: "A B* D", triggers: "9:full-buffer:3"},
		{name: "input, one of them idle", config: with(input, exempt), story: "1>9 -9 0>9 0>9 0>8 0>9 .9 -9 -8", left: "A B* D", triggers: "9:full-buffer:3"},
		{name: "input-output: the threshold holds for an idle output too", config: with(inputOutput(3), exempt), story: burst, left: "A*", triggers: "9:over-threshold:3"},
	})
}

// marks are the parameters of a scheme, those that it has not left out.
type marks struct {
	scheme string
	cp.InputOutputParams
}

func (m marks) maker() cp.Maker {
	for _, p := range cp.Points() {
		if p.Name != m.scheme {
			continue
		}
		switch p.Params.(type) {
		case cp.NaiveParams:
			return p.Maker(cp.NaiveParams{Full: m.Full}, cp.Site{})
		case cp.InputParams:
			return p.Maker(m.InputParams, cp.Site{})
		case cp.InputOutputParams:
			return p.Maker(m.InputOutputParams, cp.Site{})
		}
	}
	panic("no scheme " + m.scheme)
}

// Each row of the table makes one kind of what there is, from its defaults; its
// parameters are documented and readable.
func TestPoints(t *testing.T) {
	rec := trace.NewRecorder(0, nil)
	for _, p := range cp.Points() {
		made, err := p.Maker(param.Defaults(p.Params), cp.Site{Random: unit.NewRandom(1, 1)})(4, &rec)
		kinds := 0
		for _, is := range []bool{made.Marker != nil, made.Notifier != nil, made.Dropper != nil} {
			if is {
				kinds++
			}
		}
		if err != nil || kinds != 1 {
			t.Errorf("%s: %+v, %v", p.Name, made, err)
		}
		for _, q := range param.Of(p.Params).Params {
			if len(q.Doc) < 10 || !strings.HasSuffix(q.Doc, ".") || q.Default+q.Computed == "" {
				t.Errorf("%s: %s is not documented: %+v", p.Name, q.Key, q)
			}
		}
	}
	if _, err := inputOutput(-1).maker()(4, &rec); err == nil || !strings.Contains(err.Error(), `threshold: "-1"`) {
		t.Errorf("a negative threshold: %v", err)
	}
}

// Whatever cnt1 is, cnt2 becomes: more or less than it was.
func TestAssigned(t *testing.T) {
	rec := trace.NewRecorder(0, nil)
	made, err := inputOutput(1).maker()(10, &rec)
	if err != nil {
		t.Fatal(err)
	}
	point := made.Marker
	for _, cnt1 := range []int{5, 2, 7, 1} {
		q := cp.Queue{Output: 9, Switch: counted{n: cnt1}}
		point.Enqueue(0, &wire.Frame{}, q)
		if cnt1 == 5 || cnt1 == 7 {
			continue // the next event comes before a packet leaves
		}
		marks := 0
		for range 10 {
			var f wire.Frame
			if point.Dequeue(0, &f, q) == trace.OverThreshold && f.FECN {
				marks++
			}
		}
		if marks != cnt1 {
			t.Errorf("%d packets are marked, cnt1 was %d", marks, cnt1)
		}
	}
}

// counted is a switch of which nothing is known but cnt1.
type counted struct {
	cp.Switch
	n int
}

func (c counted) Full(int) bool   { return false }
func (c counted) Waiting(int) int { return c.n }

// A frame that came marked stays so, and takes one of the marks to be given.
func TestMarkedElsewhere(t *testing.T) {
	s := &story{t: t, room: 2, input: map[int][]*packet{}, line: map[int]*packet{}, closed: map[int]bool{}, names: map[bool]rune{false: 'A'}, states: map[*packet]status{}}
	rec := trace.NewRecorder(0, s)
	made, err := input.maker()(10, &rec)
	if err != nil {
		t.Fatal(err)
	}
	s.point = made.Marker
	for i := range 3 {
		s.comes(0, i/2, 9, false, false)
	}
	s.all[0].frame.FECN = true
	for range 3 {
		s.word(0, "-9")
		s.word(0, ".9")
	}
	if got := strings.Join(s.left, " "); got != "A* B* C" {
		t.Errorf("left %s, want A* B* C", got)
	}
	f := wire.Frame{Kind: wire.Data, FECN: true}
	if why := made.Marker.Dequeue(0, &f, cp.Queue{Output: 9, Switch: s}); why != trace.NoReason || !f.FECN {
		t.Errorf("it is marked %v for the reason %v", f.FECN, why)
	}
}
