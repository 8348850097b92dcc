package switchd

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// A witness is a congestion point that writes down what it is asked and what it
// sees of the switch then.
type witness struct {
	told []string
	mark map[uint32]trace.Reason // at Dequeue, by flow
	seen func(q cp.Queue) string // at Enqueue
}

func (w *witness) Enqueue(now unit.Time, f *wire.Frame, q cp.Queue) {
	w.told = append(w.told, fmt.Sprintf("%d: %d comes %d>%d%s%s", now/ns, f.QP, q.Input, q.Output, leaving(q), w.seen(q)))
}

// Reset does nothing.
func (*witness) Reset() {}

func (w *witness) Dequeue(now unit.Time, f *wire.Frame, q cp.Queue) trace.Reason {
	w.told = append(w.told, fmt.Sprintf("%d: %d goes %d>%d%s", now/ns, f.QP, q.Input, q.Output, leaving(q)))
	if r := w.mark[f.QP]; r != trace.NoReason {
		f.FECN = true
		return r
	}
	return trace.NoReason
}

func leaving(q cp.Queue) string {
	if q.Leaving {
		return " leaving"
	}
	return ""
}

const ns = unit.Time(unit.Nanosecond)

// A story is what happens at a switch whose congestion point is a witness. Its
// outputs have no credit until they are given it.
type story struct {
	t      *testing.T
	sw     *Switch
	w      *witness
	events []trace.Event
	sent   []port.Transmission
	now    unit.Time
}

func (s *story) Record(e *trace.Event) { s.events = append(s.events, *e) }

// newStory returns a switch of five ports with room for three packets of 2048
// bytes each; change is applied to its configuration.
func newStory(t *testing.T, change func(*Config)) *story {
	t.Helper()
	c := Config{Delay: 40 * unit.Nanosecond, Packet: 33, Routes: []Routes{{To: []port.ID{NoRoute, 0, 1, 2, 3, 4}}}}
	for range 5 {
		c.Ports = append(c.Ports, port.Config{Rate: 8e9, Propagation: unit.Nanosecond, Room: 3 * 33, Resend: unit.Second})
	}
	if change != nil {
		change(&c)
	}
	s := &story{t: t, w: &witness{seen: func(cp.Queue) string { return "" }}}
	sw, err := New(c, s)
	if err != nil {
		t.Fatal(err)
	}
	s.sw = sw
	sw.marking.Marker, sw.watched = s.w, true
	return s
}

// until lets time pass.
func (s *story) until(t unit.Time) {
	for s.sw.Deadline() <= t {
		s.now = max(s.now, s.sw.Deadline())
		s.sw.Advance(s.now)
		s.poll()
	}
	s.now = t
}

func (s *story) poll() {
	for {
		tr, ok := s.sw.Poll()
		if !ok {
			return
		}
		s.sent = append(s.sent, *tr)
	}
}

// credit gives an output credit for this many blocks in all.
func (s *story) credit(t unit.Time, output, lane, blocks int) {
	s.until(t)
	s.sw.Receive(t, port.ID(output), &port.Arrival{Frame: wire.Frame{Kind: wire.FlowControl, Lane: uint8(lane), Extension: wire.ExtensionOf(wire.CreditExtension{FCCL: uint16(blocks)})}, Head: t, Tail: t})
	s.until(t)
}

// comes hands over a frame of which the first bit is there at t.
func (s *story) comes(t unit.Time, input int, f wire.Frame) {
	n := wire.PaperFraming.Length(&f)
	s.until(t + 20*ns - 1)
	s.now = t + 20*ns
	s.sw.Receive(s.now, port.ID(input), &port.Arrival{Frame: f, Head: t - ns, Tail: t - ns + unit.Time(n)*ns, Length: n})
}

func packet(flow uint32, output int) wire.Frame {
	return wire.Frame{Kind: wire.Data, QP: flow, Dst: wire.LID(output + 1), Payload: 2048}
}

func (s *story) want(what string, lines ...string) {
	s.t.Helper()
	if got := s.w.told; !slices.Equal(got, lines) {
		s.t.Errorf("%s: the congestion point was told\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(lines, "\n  "))
	}
}

// A congestion point hears of a frame when the switch has tried to forward it; of
// its leaving, before it is told that it has come if it cuts through.
func TestWhenTheCongestionPointIsAsked(t *testing.T) {
	s := newStory(t, nil)
	s.w.seen = func(q cp.Queue) string { return fmt.Sprintf(", %d wait", q.Switch.Waiting(q.Output)) }
	s.credit(0, 3, port.DataLane, 2000)
	s.credit(0, 3, port.AckLane, 2000)
	s.comes(100*ns, 0, packet(1, 3))
	s.comes(200*ns, 1, packet(2, 3))
	s.comes(215*ns, 2, packet(3, 3)) // registered before the one ahead of it is eligible: it counts
	s.comes(300*ns, 4, wire.Frame{Kind: wire.Ack, Lane: port.AckLane, QP: 9, Dst: 4})
	s.until(10_000 * ns)
	s.want("all frames",
		"140: 1 goes 0>3 leaving",
		"140: 1 comes 0>3 leaving, 0 wait",
		"240: 2 comes 1>3, 2 wait",
		"255: 3 comes 2>3, 2 wait",
		"2228: 2 goes 1>3 leaving",
		"4296: 3 goes 2>3 leaving")
	// The ACK went before the second, and its point was not asked.
	var acks []unit.Time
	for _, tr := range s.sent {
		if tr.Frame.Kind == wire.Ack {
			acks = append(acks, tr.Start/ns)
		}
	}
	if !slices.Equal(acks, []unit.Time{2208}) {
		t.Errorf("ACKs left at %v", acks)
	}
}

// A frame that has to come in further, as its output is faster, is not one that
// waits: it cuts through when it may.
func TestCutThroughToAFasterOutput(t *testing.T) {
	s := newStory(t, func(c *Config) { c.Ports[3].Rate = 16e9 })
	s.credit(0, 3, port.DataLane, 2000)
	s.comes(100*ns, 0, packet(1, 3))
	s.until(10_000 * ns)
	s.want("one frame", "1134: 1 goes 0>3 leaving", "1134: 1 comes 0>3 leaving")
}

// What counts as waiting: from the header to the start of the transmission, or to
// its end.
func TestWaiting(t *testing.T) {
	for _, c := range []struct {
		counts bool
		want   string
	}{
		{false, "119:0 120:1 139:1 140:0 220:1 2207:1 2208:0 4276:0"},
		{true, "119:0 120:1 139:1 140:1 220:2 2207:2 2208:1 4276:0"},
	} {
		s := newStory(t, func(cfg *Config) { cfg.CountSending = c.counts })
		s.credit(0, 3, port.DataLane, 2000)
		var got []string
		look := func(at unit.Time) {
			s.until(at * ns)
			got = append(got, fmt.Sprintf("%d:%d", at, s.sw.Waiting(3)))
		}
		look(119)
		s.comes(100*ns, 0, packet(1, 3))
		look(120)
		look(139)
		look(140)
		s.comes(200*ns, 1, packet(2, 3))
		look(220)
		look(2207)
		look(2208)
		look(4276)
		if g := strings.Join(got, " "); g != c.want {
			t.Errorf("counting what is sent %v:\n got %s\nwant %s", c.counts, g, c.want)
		}
	}
}

// The whole room, or less: "using a buffer size threshold below the maximum
// capacity" (footnote 3). Frames in transmission take their slots.
func TestFull(t *testing.T) {
	small := packet(9, 3)
	small.Payload = 512
	for _, c := range []struct {
		name   string
		fullAt int // blocks
		frames []wire.Frame
		want   string
	}{
		{"whole", 0, []wire.Frame{packet(1, 3), packet(2, 3), packet(3, 3)}, "false false true"},
		{"two of three packets", 66, []wire.Frame{packet(1, 3), packet(2, 3), packet(3, 3)}, "false true true"},
		{"one", 33, []wire.Frame{packet(1, 3), packet(2, 3)}, "true true"},
		{"less than one", 1, []wire.Frame{packet(1, 3), packet(2, 3)}, "true true"},
		{"more than there is", 500, []wire.Frame{packet(1, 3), packet(2, 3), packet(3, 3)}, "false false true"},
		{"small ones, 9 blocks each: no packet of 33 fits next to 72", 0, []wire.Frame{small, small, small, small, small, small, small, small}, "false false false false false false false true"},
		{"one is in transmission", 0, []wire.Frame{packet(8, 2), packet(2, 3), packet(3, 3)}, "false false true"},
		{"ACKs have room of their own", 66, []wire.Frame{{Kind: wire.Ack, Lane: port.AckLane, QP: 3, Dst: 4}, packet(1, 3), packet(2, 3)}, "false true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t, func(cfg *Config) {
				cfg.FullAt = c.fullAt
				cfg.Ports[2].Rate = 1e9 // slow: what it sends stays
			})
			s.w.seen = func(q cp.Queue) string { return fmt.Sprintf("|%v", q.Switch.Full(q.Input)) }
			s.credit(0, 2, port.DataLane, 2000) // output 3 has no credit: all stay
			at := 100 * ns
			for _, f := range c.frames {
				s.comes(at, 0, f)
				at += unit.Time(wire.PaperFraming.Length(&f)) * ns
			}
			s.until(at + 100*ns)
			var got []string
			for _, l := range s.w.told {
				if _, full, ok := strings.Cut(l, "|"); ok {
					got = append(got, full)
				}
			}
			if g := strings.Join(got, " "); g != c.want {
				t.Errorf("full: %s, want %s", g, c.want)
			}
		})
	}
}

// What is in a buffer, in order of arrival, and what of it waits.
func TestResident(t *testing.T) {
	s := newStory(t, func(c *Config) { c.Ports[0].Room = 4 * 33 })
	s.w.seen = func(q cp.Queue) string {
		var b strings.Builder
		for i := 0; ; i++ {
			output, waits, ok := q.Switch.Resident(q.Input, i)
			if !ok {
				return b.String()
			}
			fmt.Fprintf(&b, " %d:%v", output, waits)
		}
	}
	s.credit(0, 2, port.DataLane, 2000)
	s.comes(100*ns, 0, packet(1, 3)) // no credit: it waits
	s.comes(2168*ns, 0, wire.Frame{Kind: wire.Ack, Lane: port.AckLane, QP: 2, Dst: 4})
	s.comes(2188*ns, 0, packet(3, 2)) // cuts through
	s.comes(4256*ns, 0, packet(4, 3))
	s.until(5000 * ns)
	s.want("input 0",
		"140: 1 comes 0>3 3:true",
		"2228: 3 goes 0>2 leaving",
		"2228: 3 comes 0>2 leaving 3:true 3:false 2:false", // the ACK does not count, nor what is being sent
		"4296: 4 comes 0>3 3:true 3:false 3:true")          // 3 has left: its tail at 4296
}

// An output sends while its line serialises a frame.
func TestSending(t *testing.T) {
	s := newStory(t, nil)
	s.credit(0, 3, port.DataLane, 2000)
	s.comes(100*ns, 0, packet(1, 3))
	for _, c := range []struct {
		at   unit.Time
		want bool
	}{{139, false}, {140, true}, {2207, true}, {2208, false}} {
		s.until(c.at * ns)
		if got := s.sw.Sending(3); got != c.want {
			t.Errorf("at %d ns: sending %v, want %v", c.at, got, c.want)
		}
	}
}

// "A link that was recently blocked" (footnote 4): frames wait for credit, or the
// one on the link has.
func TestBlocked(t *testing.T) {
	s := newStory(t, nil)
	look := func(at unit.Time, want bool, why string) {
		t.Helper()
		s.until(at * ns)
		if got := s.sw.Blocked(3); got != want {
			t.Errorf("at %d ns, %s: blocked %v, want %v", at, why, got, want)
		}
	}
	look(99, false, "no credit, but nothing waits for it")
	s.comes(100*ns, 0, packet(1, 3))
	look(140, true, "a frame waits for credit")
	s.credit(500*ns, 3, port.DataLane, 66)
	look(500, true, "the frame on the line has waited for credit")
	look(2567, true, "until it is gone")
	look(2568, false, "nothing waits")
	s.comes(3000*ns, 1, packet(2, 3))
	look(3040, false, "there is credit: it cuts through")
	s.comes(3100*ns, 0, packet(3, 3))
	look(3500, false, "the line is busy; whether there is credit is not known yet")
	look(5108, true, "there is none")
	s.credit(6000*ns, 3, port.DataLane, 99)
	look(6000, true, "the third has waited for credit")
	look(8068, false, "gone")
	// A frame waits, and an ACK passes it.
	s.comes(8100*ns, 0, packet(5, 3))
	look(8140, true, "it waits for credit")
	s.credit(8145*ns, 3, port.AckLane, 10)
	s.comes(8200*ns, 1, wire.Frame{Kind: wire.Ack, Lane: port.AckLane, QP: 6, Dst: 4})
	look(8245, true, "it waits still, while an ACK is sent")
	s.credit(8250*ns, 3, port.DataLane, 132)
	look(8260, true, "it has waited for credit")
	look(10328, false, "gone")
	// An ACK that follows has nothing to do with it.
	s.comes(11_000*ns, 1, wire.Frame{Kind: wire.Ack, Lane: port.AckLane, QP: 4, Dst: 4})
	look(11_045, false, "an ACK is sent")
}

// A mark is reported once, where and when the frame leaves that was marked here.
func TestReportOfAMark(t *testing.T) {
	for _, c := range []struct {
		name string
		come bool // it came marked
		mark func(s *story)
		want string
		fecn bool
	}{
		{"none", false, func(*story) {}, "", false},
		{"at its leaving", false, func(s *story) { s.w.mark = map[uint32]trace.Reason{1: trace.OverThreshold} }, "3 over-threshold 1", true},
		{"while it waits", false, func(s *story) { s.sw.Mark(0, 0, trace.FullBuffer) }, "3 full-buffer 1", true},
		{"both: the first reason counts", false, func(s *story) {
			s.sw.Mark(0, 0, trace.FullBuffer)
			s.w.mark = map[uint32]trace.Reason{1: trace.OverThreshold}
		}, "3 full-buffer 1", true},
		{"it came marked", true, func(s *story) {
			s.sw.Mark(0, 0, trace.FullBuffer)
			s.w.mark = map[uint32]trace.Reason{1: trace.OverThreshold}
		}, "", true},
		{"it came marked, and is not marked here", true, func(*story) {}, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t, nil)
			f := packet(1, 3)
			f.FECN = c.come
			s.comes(100*ns, 0, f)
			s.until(200 * ns)
			c.mark(s)
			s.credit(1000*ns, 3, port.DataLane, 2000)
			var got []string
			for _, e := range s.events {
				if e.Kind == trace.Mark {
					got = append(got, fmt.Sprintf("%d %v %d", e.Port, trace.Reason(e.A), e.B))
				}
			}
			if g := strings.Join(got, ", "); g != c.want {
				t.Errorf("reported %q, want %q", g, c.want)
			}
			last := s.sent[len(s.sent)-1]
			var why trace.Reason
			if c.want != "" {
				why = trace.Reason(last.Note.Reason)
				if why == trace.NoReason || last.Note.Waiting != 1 {
					t.Errorf("the note says %+v", last.Note)
				}
			} else if last.Note.Reason != 0 {
				t.Errorf("the note says %+v", last.Note)
			}
			if last.Frame.Kind != wire.Data || last.Frame.FECN != c.fecn {
				t.Errorf("%v left, marked %v; want %v", last.Frame.Kind, last.Frame.FECN, c.fecn)
			}
		})
	}
}
