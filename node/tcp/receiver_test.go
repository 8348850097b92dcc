package tcp

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

func delayed(d unit.Duration) func(p *Params) { return func(p *Params) { p.DelayedACK = d } }

// RFC 9293, section 3.5: SYN is answered with SYN and ACK, again when it is received again or
// nothing comes, until it is acknowledged; FIN ends it from both sides.
func TestReceiverOpensAndCloses(t *testing.T) {
	c := sink(t, defaults())
	c.r.state, c.r.acked = closed, false
	c.r.nxt, c.r.edge, c.r.expires = 0, 0, unit.Never
	c.in("A seq=5 ack=1") // acknowledges nothing
	c.want()
	c.in("S mss=1000 scale=0")
	c.want("0s SA 0+0 ack=1 win=65535 mss=1000")
	c.in("S mss=1000 scale=0")
	c.want("0s SA 0+0 ack=1 win=65535 mss=1000")
	c.at(3500 * ms)
	c.want("1s SA 0+0 ack=1 win=65535 mss=1000", "3s SA 0+0 ack=1 win=65535 mss=1000")
	c.in("PA seq=1 ack=1 len=500")
	c.at(3600 * ms)
	c.want("3.54s A 1+0 ack=501")
	c.in("FPA seq=501 ack=1 len=100")
	c.want("3.6s FA 1+0 ack=602")
	c.in("FPA seq=501 ack=1 len=100") // our answer was lost
	c.want("3.6s FA 1+0 ack=602")
	c.at(7700 * ms) // so it was again; the interval was doubled for SYN
	c.want("7.6s FA 1+0 ack=602")
	c.in("A seq=602 ack=2")
	c.want()
	c.at(1000 * unit.Second)
	c.want()
	c.in("FA seq=601 ack=2")
	c.want("1000s A 2+0 ack=602")
	if diff := cmp.Diff([]string{"not-awaited", "not-acceptable", "duplicate", "duplicate"}, c.why(trace.Refuse)); diff != "" {
		t.Error(diff)
	}
}

// RFC 5681, section 4.2: an ACK for at least every second full-sized segment, within 500 ms of
// the first one, and at once when a segment is out of order or fills a gap.
func TestDelayedACK(t *testing.T) {
	c := sink(t, defaults(delayed(200*ms)))
	c.in("A seq=1 ack=1 len=1460")
	c.want()
	c.at(50 * ms)
	c.in("A seq=1461 ack=1 len=1460")
	c.want("50ms A 1+0 ack=2921")
	c.in("A seq=2921 ack=1 len=1460")
	c.at(249 * ms)
	c.want()
	c.at(250 * ms)
	c.want("250ms A 1+0 ack=4381")
	c.in("A seq=5841 ack=1 len=1460")
	c.want("250ms A 1+0 ack=4381")
	c.in("A seq=7301 ack=1 len=1460")
	c.want("250ms A 1+0 ack=4381")
	c.in("A seq=4381 ack=1 len=100") // a part of the gap
	c.want("250ms A 1+0 ack=4481")
	c.in("A seq=4481 ack=1 len=1360")
	c.want("250ms A 1+0 ack=8761")
	c.in("A seq=1 ack=1 len=1460") // all of it has come before
	c.want("250ms A 1+0 ack=8761")
	c.in("A seq=8761 ack=1 len=10")
	c.want()
	c = sink(t, defaults(delayed(0)))
	c.in("A seq=1 ack=1 len=1")
	c.want("0s A 1+0 ack=2")
}

// RFC 2018, section 4: "the first SACK block ... MUST specify the contiguous block of data
// containing the segment which triggered this ACK", then the most recent others. It is the
// example of section 7, case 3: of eight segments of 500 from 5000 on, the second, fourth,
// sixth and eighth are dropped; in case 2 the first is.
func TestSACKBlocks(t *testing.T) {
	c := sink(t, defaults(recovery(SACK), delayed(0)))
	c.in("A seq=1 ack=1 len=4999")
	c.out = nil
	for _, text := range []string{"A seq=5000 ack=1 len=500", "A seq=6000 ack=1 len=500", "A seq=7000 ack=1 len=500", "A seq=8000 ack=1 len=500"} {
		c.in(text)
	}
	c.want(
		"0s A 1+0 ack=5500",
		"0s A 1+0 ack=5500 sack=6000-6500",
		"0s A 1+0 ack=5500 sack=7000-7500 sack=6000-6500",
		"0s A 1+0 ack=5500 sack=8000-8500 sack=7000-7500 sack=6000-6500",
	)
	c.in("A seq=6500 ack=1 len=500") // "the 4th packet is received out of order"
	c.want("0s A 1+0 ack=5500 sack=6000-7500 sack=8000-8500")
	c.in("A seq=5500 ack=1 len=500") // "the 2nd"
	c.want("0s A 1+0 ack=7500 sack=8000-8500")

	c = sink(t, defaults(recovery(SACK), delayed(0)))
	c.in("A seq=1 ack=1 len=4999")
	c.out = nil
	for _, text := range []string{"A seq=5500 ack=1 len=500", "A seq=6000 ack=1 len=500", "A seq=8500 ack=1 len=500"} {
		c.in(text)
	}
	c.want(
		"0s A 1+0 ack=5000 sack=5500-6000",
		"0s A 1+0 ack=5000 sack=5500-6500",
		"0s A 1+0 ack=5000 sack=8500-9000 sack=5500-6500",
	)
	// Without the option in SYN there are none.
	c = sink(t, defaults(delayed(0)))
	c.in("A seq=5001 ack=1 len=500")
	c.want("0s A 1+0 ack=1")
}

// The window is what the application has left free; it is never taken back, and opens again in
// steps of a segment or half the buffer (RFC 9293, section 3.8.6.2.2).
func TestReceiveWindow(t *testing.T) {
	c := sink(t, defaults(delayed(0), func(p *Params) { p.ReceiveWindow = 4000; p.Read = 8000 * 1000 })) // 1000 B/ms
	c.r.readAt = 0
	c.in("A seq=1 ack=1 len=1460")
	c.in("A seq=1461 ack=1 len=1460")
	c.in("A seq=2921 ack=1 len=1080")
	c.want("0s A 1+0 ack=1461 win=2540", "0s A 1+0 ack=2921 win=1080", "0s A 1+0 ack=4001 win=0")
	c.in("A seq=4001 ack=1 len=1") // a probe of the window
	c.want("0s A 1+0 ack=4001 win=0")
	c.at(4 * ms)
	if len(c.out) == 0 {
		t.Fatal("the window does not open again")
	}
	first := c.out[0]
	if first != "1.460000001ms A 1+0 ack=4001 win=1460" && first != "1.460000002ms A 1+0 ack=4001 win=1460" && first != "1.46ms A 1+0 ack=4001 win=1460" {
		t.Errorf("it opens with %q", first)
	}
	c.out = nil
	c.in("A seq=4001 ack=1 len=9000") // longer than any window: what is within is taken
	if c.r.nxt != c.r.edge || c.r.nxt <= 4001 {
		t.Errorf("%d bytes were taken", c.r.nxt)
	}
}

// RFC 9293, section 3.10.7.4, first: "If an incoming segment is not acceptable, an
// acknowledgment should be sent in reply (unless the RST bit is set ...)"; ACKs of what was
// never sent are answered and dropped; RST and SYN are challenged (RFC 5961).
func TestReceiverRefuses(t *testing.T) {
	c := sink(t, defaults(func(p *Params) { p.ReceiveWindow = 10000 }))
	ack := "0s A 1+0 ack=1 win=10000"
	for text, why := range map[string]string{
		"A seq=10001 ack=1 len=10":      "not-acceptable",
		"A seq=20000 ack=1":             "not-acceptable",
		"A seq=3000000000 ack=1 len=10": "not-acceptable",
		"A seq=1 ack=2 len=10":          "never-sent",
		"A seq=1 ack=0 len=10":          "never-sent",
		"A seq=0 ack=1 len=1":           "not-acceptable",
		"S seq=77":                      "not-acceptable",
		"R seq=5 ack=1":                 "not-acceptable",
	} {
		c.all, c.out = nil, nil
		c.r.edge = 10001
		c.in(text)
		c.want(ack)
		if diff := cmp.Diff([]string{why}, c.why(trace.Refuse)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	c.out = nil
	for _, text := range []string{"R seq=20000", "P seq=1 len=10"} {
		c.in(text)
		c.want()
	}
	c.in("R seq=1")
	c.in("A seq=1 ack=1 len=10")
	c.at(100 * unit.Second)
	c.want()
}

// RFC 3168, section 6.1.3: after a mark every ACK echoes, until CWR comes.
func TestEcho(t *testing.T) {
	c := &script{T: t, iss: ourISS}
	rec := trace.NewRecorder(0, &c.journal)
	c.r = NewReceiver(defaults(delayed(0), func(p *Params) { p.ECN = true }), mss+40, theirISS, trace.Event{}, &rec)
	c.in("SEC mss=1460 scale=0")
	c.in("A seq=1 ack=1")
	c.want("0s SAE 0+0 ack=1 win=65535 mss=1460")
	c.in("A seq=1 ack=1 len=10")
	c.in("A seq=11 ack=1 len=10 ce=")
	c.in("A seq=21 ack=1 len=10")
	c.in("AC seq=31 ack=1 len=10")
	c.in("AC seq=41 ack=1 len=10 ce=")
	c.want("0s A 1+0 ack=11", "0s AE 1+0 ack=21", "0s AE 1+0 ack=31", "0s A 1+0 ack=41", "0s AE 1+0 ack=51")
}

// spans keep what a slice of booleans keeps.
func TestSpans(t *testing.T) {
	r := unit.NewRandom(2, 1)
	for range 2000 {
		var s spans
		var has [64]bool
		for range 12 {
			if r.Below(4) == 0 {
				below := r.Below(64)
				s.cut(below)
				for i := range below {
					has[i] = false
				}
				continue
			}
			left := r.Below(60)
			x := span{left: left, right: left + 1 + r.Below(4)}
			s.add(x)
			for i := x.left; i < x.right; i++ {
				has[i] = true
			}
		}
		var got [64]bool
		for i := range s {
			if i > 0 && s[i-1].right >= s[i].left {
				t.Fatalf("%v", s)
			}
			for k := s[i].left; k < s[i].right; k++ {
				got[k] = true
			}
		}
		if got != has {
			t.Fatalf("%v, want %v", s, has)
		}
	}
}

// marks keep their order, once each.
func TestMarks(t *testing.T) {
	var m marks
	for _, at := range []uint64{5, 9, 7, 9, 3, 7} {
		m.insert(at)
	}
	if m.next(5) != 7 || m.next(9) != endless {
		t.Errorf("%v", m)
	}
	var got []uint64
	for at, ok := m.pop(8); ok; at, ok = m.pop(8) {
		got = append(got, at)
	}
	if diff := cmp.Diff([]uint64{3, 5, 7}, got); diff != "" {
		t.Error(diff)
	}
	m.push(11)
	if diff := cmp.Diff([]uint64{9, 11}, m.left()); diff != "" {
		t.Error(diff)
	}
}
