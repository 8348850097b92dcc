package cp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// A story is what happens at a switch, one word for each event:
//
//	0>9   a packet for output 9 comes by input 0, and waits
//	0>>9  a packet comes and cuts through: it has begun to leave when the
//	      congestion point is told
//	0~9   an ACK comes and waits
//	-9    the oldest packet that waits for output 9 begins to leave
//	-9:C  packet C begins to leave by output 9, out of turn
//	.9    its tail has left: output 9 is idle, the slot is free
//	!9    output 9 is blocked: it has no credit
//	?9    it is not any more
//
// Packets are called A, B, C in the order in which they come; ACKs are a, b, c.
type story struct {
	t      *testing.T
	point  cp.Marker
	room   int                // packets in each input buffer
	counts bool               // cnt1 counts the packet on the link too
	input  map[int][]*packet  // what is in each buffer
	line   map[int]*packet    // what each output sends
	closed map[int]bool       // outputs without credit
	left   []string           // the packets that have begun to leave, marked ones with *
	said   []string           // the triggers
	all    []*packet          // in the order in which they came
	names  map[bool]rune      // the next name, of an ACK or not
	states map[*packet]status // where they are
}

type packet struct {
	name          string
	input, output int
	ack           bool
	frame         wire.Frame
}

type status int

const (
	waits status = iota
	leaves
	gone
)

// tell tells a story to a congestion point; it returns what has left, and the
// marking events: output, reason, and cnt1.
func tell(t *testing.T, c marks, room int, counts bool, words string) (left, triggers string) {
	t.Helper()
	s := &story{
		t: t, room: room, counts: counts,
		input: map[int][]*packet{}, line: map[int]*packet{}, closed: map[int]bool{},
		names: map[bool]rune{false: 'A', true: 'a'}, states: map[*packet]status{},
	}
	rec := trace.NewRecorder(0, s)
	made, err := c.maker()(10, &rec)
	if err != nil {
		t.Fatal(err)
	}
	s.point = made.Marker
	for i, w := range strings.Fields(words) {
		s.word(unit.Time(i), w)
	}
	return strings.Join(s.left, " "), strings.Join(s.said, " ")
}

// Record keeps a trigger (trace.Sink).
func (s *story) Record(e *trace.Event) {
	if e.Kind != trace.Trigger {
		s.t.Errorf("unexpected event: %+v", *e)
	}
	s.said = append(s.said, fmt.Sprintf("%d:%v:%d", e.Port, trace.Reason(e.A), e.B))
}

func (s *story) word(now unit.Time, w string) {
	s.t.Helper()
	var input, output int
	var name string
	scan := func(format string, args ...any) bool {
		n, err := fmt.Sscanf(w, format, args...)
		return err == nil && n == len(args)
	}
	switch {
	case scan("%d>>%d", &input, &output):
		s.comes(now, input, output, false, true)
	case scan("%d>%d", &input, &output):
		s.comes(now, input, output, false, false)
	case scan("%d~%d", &input, &output):
		s.comes(now, input, output, true, false)
	case scan("-%d:%s", &output, &name):
		s.leaves(now, output, name)
	case scan("-%d", &output):
		s.leaves(now, output, "")
	case scan(".%d", &output):
		p := s.line[output]
		delete(s.line, output)
		s.states[p] = gone
		s.input[p.input] = slices.DeleteFunc(s.input[p.input], func(o *packet) bool { return o == p })
	case scan("!%d", &output):
		s.closed[output] = true
	case scan("?%d", &output):
		s.closed[output] = false
	default:
		s.t.Fatalf("what is %q?", w)
	}
}

func (s *story) comes(now unit.Time, input, output int, ack, through bool) {
	p := &packet{name: string(s.names[ack]), input: input, output: output, ack: ack, frame: wire.Frame{Kind: wire.Data}}
	s.names[ack]++
	s.all = append(s.all, p)
	s.input[input] = append(s.input[input], p)
	if through {
		s.leaves(now, output, p.name)
	}
	if ack { // the switch does not tell
		return
	}
	s.point.Enqueue(now, &p.frame, cp.Queue{Input: input, Output: output, Leaving: through, Switch: s})
}

func (s *story) leaves(now unit.Time, output int, name string) {
	s.t.Helper()
	if s.line[output] != nil {
		s.t.Fatalf("output %d is busy", output)
	}
	for _, p := range s.all {
		if p.output != output || s.states[p] != waits || name != "" && p.name != name {
			continue
		}
		came := p.frame.FECN
		if !p.ack {
			why := s.point.Dequeue(now, &p.frame, cp.Queue{Input: p.input, Output: output, Leaving: true, Switch: s})
			if (why != trace.NoReason) != p.frame.FECN && !came {
				s.t.Errorf("%s: marked %v, for the reason %v", p.name, p.frame.FECN, why)
			}
		}
		s.states[p] = leaves
		s.line[output] = p
		mark := ""
		if p.frame.FECN {
			mark = "*"
		}
		s.left = append(s.left, p.name+mark)
		return
	}
	s.t.Fatalf("nothing waits for output %d (%q)", output, name)
}

// What the congestion point sees.

func (s *story) Waiting(output int) (n int) {
	for _, p := range s.all {
		if p.output == output && !p.ack && (s.states[p] == waits || s.counts && s.states[p] == leaves) {
			n++
		}
	}
	return n
}

func (s *story) Sending(output int) bool { return s.line[output] != nil }

func (s *story) Blocked(output int) bool { return s.closed[output] }

func (s *story) Full(input int) bool {
	n := 0
	for _, p := range s.input[input] {
		if !p.ack {
			n++
		}
	}
	return n >= s.room
}

func (s *story) Resident(input, i int) (output int, waiting, ok bool) {
	if i >= len(s.input[input]) {
		return 0, false, false
	}
	p := s.input[input][i]
	return p.output, s.states[p] == waits && !p.ack, true
}

func (s *story) Mark(input, i int, why trace.Reason) {
	p := s.input[input][i]
	if p.ack || s.states[p] != waits {
		s.t.Errorf("%s is marked, which does not wait", p.name)
	}
	if why != trace.FullBuffer && why != trace.OverThreshold {
		s.t.Errorf("%s is marked in the buffer for the reason %v", p.name, why)
	}
	p.frame.FECN = true
}

// A testCase is a story and what comes of it.
type testCase struct {
	name     string
	config   marks
	room     int // 0 is 4 packets
	counts   bool
	story    string
	left     string
	triggers string
}

func run(t *testing.T, cases []testCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.room == 0 {
				c.room = 4
			}
			left, triggers := tell(t, c.config, c.room, c.counts, c.story)
			if left != c.left {
				t.Errorf("left:\n got %s\nwant %s", left, c.left)
			}
			if triggers != c.triggers {
				t.Errorf("triggers:\n got %s\nwant %s", triggers, c.triggers)
			}
		})
	}
}
