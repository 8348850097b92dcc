package tcp

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// RFC 9293, section 3.5, figure 6: SYN, SYN and ACK, ACK; and figure 12: FIN and ACK, ACK, FIN
// and ACK, ACK. The application writes 2000 bytes, which are a transfer.
func TestConnectionOpensAndCloses(t *testing.T) {
	c := source(t, defaults())
	if got := c.s.Write(2000, true); got != ourISS+2001-1<<32+1<<32 {
		t.Errorf("the transfer ends at %d", got)
	}
	c.s.Close()
	c.run()
	c.want("0s S 0+0 mss=1460")
	c.at(100 * ms)
	c.in("SA ack=1 mss=1460 win=65535 scale=4")
	c.want("100ms A 1+1460 ack=1", "100ms FPA 1461+540 ack=1")
	c.at(200 * ms)
	c.in("FA ack=2002")
	c.want("200ms A 2002+0 ack=2")
	c.in("FA ack=2002") // "the FIN again": our ACK was lost
	c.want("200ms A 2002+0 ack=2")
	if c.s.Deadline() != unit.Never {
		t.Errorf("the timer runs until %v", c.s.Deadline())
	}
}

// RFC 5681, section 3.1: "IW ... If SMSS > 2190 bytes: IW = 2 * SMSS bytes and MUST NOT be more
// than 2 segments; If (SMSS > 1095 bytes) and (SMSS <= 2190 bytes): 3 ...; If SMSS <= 1095: 4".
func TestInitialWindow(t *testing.T) {
	p := defaults()
	for size, want := range map[uint32]uint64{2191: 2, 2190: 3, 1096: 3, 1095: 4, 536: 4} {
		if got := p.initialWindow(size); got != want*uint64(size) {
			t.Errorf("segments of %d: %d", size, got)
		}
	}
	p.InitialWindow = 10
	if got := p.initialWindow(1460); got != 14600 {
		t.Errorf("%d", got)
	}
}

// "During slow start, a TCP increments cwnd by at most SMSS bytes for each ACK received that
// cumulatively acknowledges new data: cwnd += min (N, SMSS)" (RFC 5681, equation (2)).
func TestSlowStart(t *testing.T) {
	c := opened(t, defaults(), wide)
	if c.s.cwnd != 3*mss {
		t.Fatalf("cwnd is %d", c.s.cwnd)
	}
	c.at(200 * ms)
	c.in("A ack=1461")
	c.want("200ms A 4381+1460 ack=1", "200ms A 5841+1460 ack=1")
	c.in("A ack=1561") // of 100 bytes
	if c.s.cwnd != 4*mss+100 {
		t.Errorf("cwnd is %d", c.s.cwnd)
	}
	c.in("A ack=4381") // of two segments: still one
	if c.s.cwnd != 5*mss+100 {
		t.Errorf("cwnd is %d", c.s.cwnd)
	}
}

// In congestion avoidance cwnd grows by a segment for each cwnd of bytes that were
// acknowledged (RFC 5681, section 3.1), and not while the application or the receiver limits.
func TestCongestionAvoidance(t *testing.T) {
	c := opened(t, defaults(func(p *Params) { p.Threshold = 4 * mss; p.InitialWindow = 4 }), wide)
	c.at(200 * ms)
	for k := 1; k <= 4; k++ {
		if c.s.cwnd != 4*mss {
			t.Errorf("after %d ACKs cwnd is %d", k-1, c.s.cwnd)
		}
		c.in("A ack=" + itoa(1+k*mss))
	}
	if c.s.cwnd != 5*mss {
		t.Errorf("after a window cwnd is %d", c.s.cwnd)
	}
	c = opened(t, defaults(func(p *Params) { p.InitialWindow = 20 }), 4*mss)
	c.at(200 * ms)
	c.in("A ack=" + itoa(1+mss) + " win=" + itoa(4*mss>>4))
	if c.s.cwnd != 20*mss {
		t.Errorf("cwnd has grown to %d though the receiver's window limits", c.s.cwnd)
	}
}

func itoa(n int) string { return string(appendInt(nil, n)) }

func appendInt(b []byte, n int) []byte {
	if n >= 10 {
		b = appendInt(b, n/10)
	}
	return append(b, byte('0'+n%10))
}

// RFC 5681, section 3.2: the first and second duplicate ACK let a segment each leave (limited
// transmit); the third halves and retransmits; each further one inflates; the ACK of new data
// deflates.
func TestFastRetransmit(t *testing.T) {
	for _, r := range []Recovery{Reno, NewReno} {
		c := opened(t, defaults(recovery(r), func(p *Params) { p.InitialWindow = 10 }), wide)
		c.first(0)
		c.at(200 * ms)
		c.in("A ack=1461") // 11 segments of cwnd, 1461 to 17521
		c.first(2)
		c.in("A ack=1461")
		c.want("200ms A 17521+1460 ack=1")
		c.in("A ack=1461")
		c.want("200ms A 18981+1460 ack=1")
		c.in("A ack=1461")
		c.want("200ms A 1461+1460 ack=1")
		// "FlightSize ... segments sent in limited transmit MUST NOT be included": 11 of 13.
		if c.s.threshold != 11*mss/2 || c.s.cwnd != 11*mss/2+3*mss {
			t.Errorf("%v: ssthresh is %d, cwnd %d", r.Words()[r], c.s.threshold, c.s.cwnd)
		}
		for range 5 {
			c.in("A ack=1461")
		}
		c.first(0) // (11/2 + 8) mss are 13.5 of them, and 13 are in flight
		c.in("A ack=1461")
		c.want("200ms A 20441+1460 ack=1")
		c.at(300 * ms)
		c.in("A ack=20441") // all that was sent when the loss showed
		want := uint64(11 * mss / 2)
		if r == NewReno {
			want = 2 * mss // min (ssthresh, max(FlightSize, SMSS) + SMSS): RFC 6582, section 3.2, (3)
		}
		if c.s.recovery || c.s.cwnd != want {
			t.Errorf("%v: after the recovery cwnd is %d, want %d", r.Words()[r], c.s.cwnd, want)
		}
		if diff := cmp.Diff([]string{"duplicate-acks"}, c.why(trace.Retransmit)); diff != "" {
			t.Error(diff)
		}
	}
}

// RFC 6582, section 3.2: a partial ACK retransmits the next segment, deflates by what it
// acknowledges and adds a segment back; the first one alone starts the timer again, or, slow
// but steady (section 4), each.
func TestPartialACK(t *testing.T) {
	for _, steady := range []bool{false, true} {
		testPartialACK(t, steady)
	}
}

func testPartialACK(t *testing.T, steady bool) {
	c := opened(t, defaults(func(p *Params) { p.InitialWindow, p.Steady = 10, steady }), wide)
	c.first(0)
	for range 3 {
		c.at(200 * ms)
		c.in("A ack=1")
	}
	c.first(3) // two of limited transmit, and the first again
	cwnd := c.s.cwnd
	c.at(300 * ms)
	c.in("A ack=2921") // two of twelve
	c.want("300ms A 2921+1460 ack=1")
	if c.s.cwnd != cwnd-2*mss+mss || !c.s.recovery {
		t.Errorf("cwnd is %d, was %d", c.s.cwnd, cwnd)
	}
	due := c.s.Deadline()
	if due != unit.Time(1300*ms) {
		t.Errorf("the timer runs until %v", due)
	}
	c.at(400 * ms)
	c.in("A ack=4381")
	if restarts := c.s.Deadline() != due; restarts != steady {
		t.Errorf("the second partial ACK restarts the timer: %v, with steady: %v", restarts, steady)
	}
	if diff := cmp.Diff([]string{"duplicate-acks", "partial-ack", "partial-ack"}, c.why(trace.Retransmit)); diff != "" {
		t.Error(diff)
	}
	// Reno leaves with the first.
	c = opened(t, defaults(recovery(Reno), func(p *Params) { p.InitialWindow = 10 }), wide)
	for range 3 {
		c.in("A ack=1")
	}
	c.in("A ack=2921")
	if c.s.recovery || c.s.cwnd != c.s.threshold {
		t.Errorf("Reno goes on: cwnd %d, ssthresh %d", c.s.cwnd, c.s.threshold)
	}
}

// RFC 6582, section 3.2, (2): duplicates of what was retransmitted after a timeout do not
// begin a recovery.
func TestNoFalseFastRetransmit(t *testing.T) {
	c := opened(t, defaults(func(p *Params) { p.InitialWindow = 10 }), wide)
	c.at(1200 * ms)
	c.out = nil
	c.in("A ack=13141") // only the last was lost
	for range 4 {
		c.in("A ack=13141")
	}
	if c.s.recovery {
		t.Error("duplicates of what was sent again begin a recovery")
	}
}

// RFC 6298: (2.1) "the sender SHOULD set RTO <- 1 second"; (2.2) SRTT <- R, RTTVAR <- R/2, RTO
// <- SRTT + max (G, K*RTTVAR); (2.3) RTTVAR <- (1 - 1/4) RTTVAR + 1/4 |SRTT - R'|, SRTT <- (1 -
// 1/8) SRTT + 1/8 R'; (2.4) at least a second; (5.5) the timer backs off; Karn: nothing is
// measured of what was retransmitted.
func TestRetransmissionTimer(t *testing.T) {
	c := opened(t, defaults(func(p *Params) { p.MinRTO = 1 * ms }), wide)
	// 100 ms: 100 + 4 x 50.
	c.at(180 * ms)
	c.in("A ack=1461") // 80 ms: RTTVAR 3/4 50 + 1/4 20 = 42.5, SRTT 7/8 100 + 1/8 80 = 97.5
	if diff := cmp.Diff([]string{"100ms: 100000000000 300000000000", "180ms: 80000000000 267500000000"}, c.of(trace.RoundTrip)); diff != "" {
		t.Error(diff)
	}
	c.out = nil
	rto := unit.Duration(267500) * unit.Microsecond
	c.at(180*ms + rto)
	c.want("447.5ms A 1461+1460 ack=1")
	if c.s.cwnd != mss || c.s.threshold != 2*mss {
		t.Errorf("cwnd %d, ssthresh %d", c.s.cwnd, c.s.threshold)
	}
	c.s.threshold = 77777
	c.at(180*ms + 3*rto)
	c.want("982.5ms A 1461+1460 ack=1")
	if c.s.threshold != 77777 {
		t.Error("ssthresh is held constant when the same segment times out again (RFC 5681, equation (4))")
	}
	if diff := cmp.Diff([]string{"447.5ms: 4 535000000000", "982.5ms: 1 1070000000000"}, c.of(trace.Timeout)); diff != "" {
		t.Error(diff)
	}
	c.at(1000 * ms)
	c.in("A ack=7301") // all
	if n := len(c.of(trace.RoundTrip)); n != 2 || c.s.rto != 4*rto {
		t.Errorf("%d round trips, RTO %v: nothing is measured of what was sent again", n, c.s.rto)
	}
	c.at(1090 * ms)
	c.in("A ack=8761")
	if n := len(c.of(trace.RoundTrip)); n != 3 || c.s.rto > 300*ms {
		t.Errorf("%d round trips, RTO %v", n, c.s.rto)
	}
}

// "(2.4) Whenever RTO is computed, if it is less than 1 second, then the RTO SHOULD be rounded
// up to 1 second", and "(2.5) A maximum value MAY be placed on RTO".
func TestBoundsOfTheTimer(t *testing.T) {
	c := opened(t, defaults(), wide)
	if c.s.rto != 1000*ms {
		t.Errorf("RTO %v", c.s.rto)
	}
	c.at(500 * unit.Second)
	if c.s.rto != 60*unit.Second {
		t.Errorf("RTO %v after 500 s", c.s.rto)
	}
}

// SYN is retransmitted after 1, 3, 7 s; then cwnd begins with one segment (RFC 5681, section
// 3.1), and RTO with 3 s (RFC 6298, (5.7)).
func TestSYNIsLost(t *testing.T) {
	c := source(t, defaults())
	c.s.Greedy(true)
	c.run()
	c.at(3500 * ms)
	c.want("0s S 0+0 mss=1460", "1s S 0+0 mss=1460", "3s S 0+0 mss=1460")
	c.in("SA ack=1 mss=1460 win=65535 scale=4")
	c.want("3.5s A 1+1460 ack=1")
	if c.s.cwnd != mss || c.s.rto < 3000*ms {
		t.Errorf("cwnd %d, RTO %v", c.s.cwnd, c.s.rto)
	}
}

// RFC 5681, section 4.1: after an idle time of more than RTO, cwnd is the restart window,
// min(IW, cwnd).
func TestRestartAfterIdle(t *testing.T) {
	c := opened(t, defaults(), wide)
	c.s.Greedy(false)
	for k := 1; k <= 40; k++ {
		c.s.Write(2*mss, false)
		c.at(unit.Duration(100+k) * ms)
		c.in("A ack=" + itoa(int(c.s.nxt)))
	}
	if c.s.cwnd <= 3*mss {
		t.Fatalf("cwnd %d", c.s.cwnd)
	}
	c.in("A ack=" + itoa(int(c.s.nxt)))
	c.at(1200 * ms)
	c.out = nil
	c.s.Write(100*mss, false)
	c.run()
	c.first(3)
}

// RFC 9293, section 3.8.6.1: a window that is closed is probed after RTO, then at growing
// intervals, forever, and the connection continues when it opens.
func TestZeroWindow(t *testing.T) {
	c := opened(t, defaults(), wide)
	c.at(200 * ms)
	c.in("A ack=4381 win=0")
	c.out = nil
	for _, at := range []unit.Duration{1200, 3200, 7200, 15200, 31200, 63200, 123200, 183200} {
		c.at(at * ms)
		c.want(unit.Duration(at*ms).String() + " A 4381+1 ack=1")
		c.in("A ack=4381 win=0")
		c.first(0)
	}
	if c.s.cwnd < 3*mss || len(c.of(trace.Timeout)) != 0 {
		t.Errorf("probes count as losses: cwnd %d, %v", c.s.cwnd, c.of(trace.Timeout))
	}
	c.in("A ack=4381 win=1000")
	if len(c.out) == 0 {
		t.Error("the window is open, and nothing is sent")
	}
	for _, why := range c.why(trace.Retransmit)[:8] {
		if why != "window-probe" {
			t.Errorf("a probe is called %s", why)
		}
	}
}

// RFC 9293, section 3.8.6.2.1: the sender does not send a small segment because the window is
// small, until that is half the largest.
func TestSenderAvoidsSillyWindows(t *testing.T) {
	c := opened(t, defaults(), 1600)
	if c.s.nxt != 1+mss { // 1460 of 1600
		t.Errorf("%d bytes were sent", c.s.nxt-1)
	}
	c.at(200 * ms)
	c.in("A ack=1461 win=31") // 496 bytes
	c.first(0)
	c.in("A ack=1461 win=100")
	c.want("200ms A 1461+1460 ack=1")
}

// RFC 9293, section 3.10.7.4: "If the ACK acks something not yet sent (SEG.ACK > SND.NXT), then
// send an ACK, drop the segment, and return"; RFC 5961, section 5: so with one that is very
// old; RFC 5961, sections 3 and 4: RST and SYN are challenged but for an RST at RCV.NXT.
func TestSegmentsThatDoNotFit(t *testing.T) {
	c := opened(t, defaults(), 60000)
	c.first(0)
	for text, why := range map[string]string{
		"A ack=4382":                "never-sent",
		"A ack=100000":              "never-sent",
		"A ack=3000000000":          "never-sent",
		"SA ack=1":                  "not-acceptable",
		"R seq=2 ack=1":             "not-acceptable",
		"A ack=1461 len=5":          "not-acceptable",
		"FSRPAUEC seq=99 ack=1 ce=": "not-acceptable",
	} {
		c.all = nil
		c.in(text)
		c.want("100ms A 4381+0 ack=1")
		if diff := cmp.Diff([]string{why}, c.why(trace.Refuse)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	c.all = nil
	c.in("E ack=1461") // without ACK it is dropped in silence
	c.first(0)
	c.in("R seq=1")
	c.first(0)
	if diff := cmp.Diff([]string{"not-acceptable", "reset"}, c.why(trace.Refuse)); diff != "" {
		t.Error(diff)
	}
	c.at(100 * unit.Second)
	c.in("A ack=1461")
	c.first(0)
	if c.s.Deadline() != unit.Never {
		t.Error("a connection that was reset goes on")
	}
	// In answer to SYN, only what acknowledges it counts.
	c = source(t, defaults())
	c.s.Write(1, false)
	c.run()
	c.out = nil
	for _, text := range []string{"SA ack=2", "A ack=1", "S ack=1", "RA ack=7", "SRA ack=5"} {
		c.in(text)
	}
	c.first(0)
	c.in("RA ack=1")
	c.at(9 * unit.Second)
	c.first(0)
}

// RFC 3168: SYN has ECE and CWR; data is ECT, but not what is retransmitted; an echo halves cwnd
// once in a round trip, and CWR tells that.
func TestECN(t *testing.T) {
	p := defaults(func(p *Params) { p.ECN = true; p.InitialWindow = 10 })
	c := source(t, p)
	c.s.Greedy(true)
	c.run()
	c.want("0s SEC 0+0 mss=1460")
	c.at(100 * ms)
	c.in("SAE ack=1 mss=1460 win=65535 scale=4")
	c.first(10, "100ms A 1+1460 ack=1 ect")
	c.at(200 * ms)
	c.in("AE ack=1461")
	if c.s.cwnd != 5*mss || c.s.threshold != 5*mss {
		t.Errorf("cwnd %d, ssthresh %d", c.s.cwnd, c.s.threshold)
	}
	for k := 2; k <= 6; k++ {
		c.in("AE ack=" + itoa(1+k*mss)) // the same round trip
	}
	c.want("200ms AC 14601+1460 ack=1 ect")
	if c.s.threshold != 5*mss || len(c.why(trace.Retransmit)) != 0 {
		t.Errorf("ssthresh %d, %v", c.s.threshold, c.why(trace.Retransmit))
	}
	c.at(1500 * ms)
	if got := c.out[len(c.out)-1]; got != "1.2s A 8761+1460 ack=1" {
		t.Errorf("%q is ECT, though it was sent before", got)
	}
	// Without an ECE in answer to SYN nothing is ECT.
	c = source(t, p)
	c.s.Greedy(true)
	c.run()
	c.in("SA ack=1 mss=1460 win=65535 scale=4")
	c.first(11, "0s SEC 0+0 mss=1460", "0s A 1+1460 ack=1")
}

// SACK: RFC 6675, section 5. Of ten segments the first and the fourth are lost: both are sent
// again when the blocks show it, without waiting for a partial ACK.
func TestSACK(t *testing.T) {
	c := opened(t, defaults(recovery(SACK), func(p *Params) { p.InitialWindow = 10 }), wide)
	c.first(0)
	c.at(200 * ms)
	c.in("A ack=1 sack=1461-2921")
	c.in("A ack=1 sack=1461-4381")
	c.first(2) // limited transmit
	c.in("A ack=1 sack=5841-7301 sack=1461-4381")
	c.first(1, "200ms A 1+1460 ack=1")
	if c.s.threshold != 5*mss || c.s.cwnd != 5*mss {
		t.Errorf("ssthresh %d, cwnd %d", c.s.threshold, c.s.cwnd)
	}
	for right := 8761; right <= 17521; right += mss {
		c.in("A ack=1 sack=5841-" + itoa(right) + " sack=1461-4381")
	}
	found := false
	for _, g := range c.out {
		found = found || g == "200ms A 4381+1460 ack=1"
	}
	if !found {
		t.Errorf("the second loss was not sent again: %q", c.out)
	}
	c.out = nil
	c.at(300 * ms)
	c.in("A ack=17521")
	if c.s.recovery || c.s.cwnd != 5*mss {
		t.Errorf("cwnd %d", c.s.cwnd)
	}
	// A duplicate without news is none, and blocks outside of what was sent are counted and
	// left alone (RFC 2018, section 5.1).
	c = opened(t, defaults(recovery(SACK)), wide)
	for _, text := range []string{"A ack=1", "A ack=1", "A ack=1", "A ack=1 sack=9000-9999", "A ack=1 sack=3000-2000", "A ack=1 sack=4000-4382"} {
		c.in(text)
	}
	c.first(0)
	if c.s.recovery || c.s.copies != 0 || len(c.s.board.has) != 0 {
		t.Errorf("%d duplicates, the receiver has %v", c.s.copies, c.s.board.has)
	}
	if diff := cmp.Diff([]string{"never-sent", "never-sent", "never-sent"}, c.why(trace.Refuse)); diff != "" {
		t.Error(diff)
	}
}

// TestPipe compares the pipe of the sender with SetPipe of RFC 6675, section 4, computed octet by
// octet.
func TestPipe(t *testing.T) {
	r := unit.NewRandom(1, 1)
	for range 3000 {
		s := &Sender{end: end{mss: 3}, una: 10, nxt: 40, top: 40}
		for range r.Below(5) {
			left := 11 + r.Below(28)
			s.board.has.add(span{left: left, right: min(40, left+1+r.Below(6))})
		}
		s.board.highest = r.Below(2) * (10 + r.Below(30))
		has := func(at uint64) bool { return s.board.has.holds(span{left: at, right: at + 1}) }
		want := uint64(0)
		for at := s.una; at < s.nxt; at++ {
			if has(at) {
				continue
			}
			parts, bytes, before := 0, 0, false
			for above := at + 1; above < s.nxt; above++ {
				if has(above) {
					bytes++
					if !before {
						parts++
					}
				}
				before = has(above)
			}
			lost := parts >= 3 || bytes > 2*3
			if lost != s.board.isLost(at, s.mss) {
				t.Fatalf("%d of %v: lost is %v", at, s.board.has, !lost)
			}
			if !lost || at < s.board.highest {
				want++
			}
		}
		if got := s.pipe(); got != want {
			t.Fatalf("una %d, nxt %d, %v, sent again below %d: pipe is %d, want %d", s.una, s.nxt, s.board.has, s.board.highest, got, want)
		}
	}
}
