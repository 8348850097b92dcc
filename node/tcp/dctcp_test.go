package tcp

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// dctcp makes a flow one of RFC 8257.
func dctcp(p *Params) { p.ECN, p.Congestion, p.Gain, p.InitialWindow = true, DCTCP, 1./16, 10 }

// marking returns the source of such a flow, with its initial window of ten segments in flight.
func marking(t *testing.T, change ...func(p *Params)) *script {
	c := source(t, defaults(append([]func(p *Params){dctcp}, change...)...))
	c.s.Greedy(true)
	c.run()
	c.want("0s SEC 0+0 mss=1460 ect") // section 3.6: "the sender SHOULD set ECT for SYN"
	c.at(100 * ms)
	c.in("SAE ack=1 mss=1460 win=65535 scale=4")
	c.first(10, "100ms A 1+1460 ack=1 ect")
	return c
}

// RFC 8257, section 3.3: "DCTCP.Alpha, which is initialized to 1", "DCTCP.Alpha = DCTCP.Alpha *
// (1 - g) + g * M", "cwnd = cwnd * (1 - DCTCP.Alpha / 2)", "DCTCP does not react to congestion
// indications more than once for every window of data".
func TestWindowByTheFractionOfMarks(t *testing.T) {
	c := marking(t)
	c.at(200 * ms)
	c.in("A ack=1461") // the first observation window is that of SYN
	if got, want := c.s.alpha, 15./16; got != want {
		t.Fatalf("alpha is %v after a window without a mark, want %v", got, want)
	}
	grown := c.s.cwnd
	c.in("AE ack=2921")
	cut := uint64(float64(grown) * (1 - 15./32))
	if c.s.cwnd != cut || c.s.threshold != cut {
		t.Fatalf("a mark leaves cwnd %d, ssthresh %d of %d, want %d", c.s.cwnd, c.s.threshold, grown, cut)
	}
	for k := 3; k <= 10; k++ {
		c.in("AE ack=" + itoa(1+k*mss)) // the same window
	}
	if c.s.cwnd != cut || c.s.alpha != 15./16 {
		t.Errorf("more marks of the same window make cwnd %d and alpha %v, want %d and %v", c.s.cwnd, c.s.alpha, cut, 15./16)
	}
	// The window ends with 12 segments: 9 of 11 segments were marked.
	c.in("A ack=" + itoa(1+12*mss))
	if want := 15./16*15/16 + 9./11/16; math.Abs(c.s.alpha-want) > 1e-12 {
		t.Errorf("alpha is %v, want %v", c.s.alpha, want)
	}
}

// RFC 8257, section 3.3: steps 5 to 7 update alpha with the ACK that ends an observation window,
// and step 9 lowers cwnd by the alpha that results, also where one ACK does both. The second window
// is that of segments 2 to 11.
func TestAlphaIsUpdatedBeforeTheWindowIsLowered(t *testing.T) {
	const first = 15. / 16 // alpha after the window of SYN, which has no mark
	for _, c := range []struct {
		name   string
		before []string // ACKs without an echo behind the first
		echo   string
		alpha  float64
	}{
		{"within a window", nil, "AE ack=" + itoa(1+2*mss), first},
		{"an ACK of nothing new", nil, "AE ack=" + itoa(1+mss), first},
		{"the last position of a window", nil, "AE ack=" + itoa(1+10*mss), first},
		{"the end of a window", []string{"A ack=" + itoa(1+10*mss)}, "AE ack=" + itoa(1+11*mss), first*15/16 + 1./10/16},
		{"an ACK of the whole window", nil, "AE ack=" + itoa(1+11*mss), first*15/16 + 1./16},
		{"the beginning of the next window", []string{"A ack=" + itoa(1+11*mss)}, "AE ack=" + itoa(1+12*mss), first * 15 / 16},
	} {
		s := marking(t)
		s.at(200 * ms)
		s.in("A ack=" + itoa(1+mss))
		for _, ack := range c.before {
			s.in(ack)
		}
		was := float64(s.s.cwnd)
		s.in(c.echo)
		if got, want := s.s.cwnd, uint64(was*(1-c.alpha/2)); got != want || math.Abs(s.s.alpha-c.alpha) > 1e-12 {
			t.Errorf("%s: alpha %v, cwnd %d; want %v, %d of %v", c.name, s.s.alpha, got, c.alpha, want, was)
		}
	}
}

// The null result for it: RFC 3168 halves for the same marks.
func TestClassicHalves(t *testing.T) {
	c := marking(t, func(p *Params) { p.Gain = 1 })
	c.at(200 * ms)
	c.in("A ack=1461")
	was := c.s.cwnd
	c.in("AE ack=2921") // with a gain of 1 no mark in the last window is an alpha of 0
	if c.s.cwnd != was {
		t.Errorf("cwnd %d, want %d", c.s.cwnd, was)
	}
	c.s.p.Congestion, c.s.marked = Classic, 0
	c.in("AE ack=4381")
	if c.s.cwnd > was/2+mss {
		t.Errorf("cwnd %d, want half of %d", c.s.cwnd, was)
	}
}

// RFC 8257, section 3.5: "A DCTCP sender MUST react to loss episodes in the same way as
// conventional TCP"; upon a timeout, cwnd is "no more than the loss window (1 full-sized
// segment), regardless of previous cwnd reductions in a given window of data".
func TestLossIsThatOfConventionalTCP(t *testing.T) {
	c := marking(t)
	c.s.alpha = 0.125
	c.at(200 * ms)
	for range 4 { // the first changes the window
		c.in("A ack=1")
	}
	if c.s.threshold != 5*mss {
		t.Errorf("three duplicates: ssthresh %d, want half of ten segments", c.s.threshold)
	}
	c.in("AE ack=1")
	if c.s.threshold != 5*mss {
		t.Errorf("a mark in the same window: ssthresh %d", c.s.threshold)
	}
	c.at(2 * unit.Second)
	if c.s.cwnd != mss {
		t.Errorf("after a timeout cwnd is %d, want a segment", c.s.cwnd)
	}
}

// RFC 8257, section 3.2: "If the CE codepoint is set and DCTCP.CE is false, set DCTCP.CE to true
// and send an immediate ACK", the same for the reverse, and "an implementation MAY choose to send
// two ACKs: one for previously unacknowledged packets and another acknowledging the most recently
// received packet". Between changes ACKs are delayed.
func TestEchoOfDCTCP(t *testing.T) {
	c := &script{T: t, iss: ourISS}
	rec := trace.NewRecorder(0, &c.journal)
	c.r = NewReceiver(defaults(delayed(200*ms), dctcp), mss+40, theirISS, trace.Event{}, &rec)
	c.in("SEC mss=1460 scale=0 ce=") // "A DCTCP receiver ignores CE codepoints set on any SYN" (3.6)
	c.in("A seq=1 ack=1")
	c.want("0s SAE 0+0 ack=1 win=65535 mss=1460 ect")
	full := func(k int, more string) string { return "A seq=" + itoa(1+k*mss) + " ack=1 len=1460" + more }
	c.in(full(0, ""))
	c.want()
	c.in(full(1, " ce=")) // one waits for its ACK, unmarked: two ACKs
	c.want("0s A 1+0 ack=1461", "0s AE 1+0 ack=2921")
	c.in(full(2, " ce="))
	c.want()
	c.in(full(3, " ce=")) // no change: each second segment
	c.want("0s AE 1+0 ack=5841")
	c.in(full(4, "")) // nothing waits: one ACK
	c.want("0s A 1+0 ack=7301")
	c.in(strings.Replace(full(5, " ce="), "A ", "AC ", 1)) // CWR ends nothing
	c.want("0s AE 1+0 ack=8761")
}

func TestParametersOfDCTCP(t *testing.T) {
	for want, change := range map[string]func(p *Params){
		"ecn":  func(p *Params) { p.ECN = false },
		"gain": func(p *Params) { p.Gain = 0 },
		"":     func(*Params) {},
	} {
		if key, err := defaults(dctcp, change).Check(); key != want || (err == nil) != (want == "") {
			t.Errorf("want an error at %q: %q, %v", want, key, err)
		}
	}
}

// The marks of a connection come back as they are: the sender counts as many marked bytes as came
// marked, whatever ACKs are delayed. One ACK at a change of marks would miscount.
func TestDCTCPCountsEachMarkedByte(t *testing.T) {
	c := &script{T: t, iss: ourISS}
	rec := trace.NewRecorder(0, &c.journal)
	c.r = NewReceiver(defaults(delayed(200*ms), dctcp), mss+40, theirISS, trace.Event{}, &rec)
	c.in("SEC mss=1460 scale=0")
	c.in("A seq=1 ack=1")
	random, marked := unit.NewRandom(1, 1), 0
	c.out = nil
	for k := range 500 {
		ce := ""
		if random.Below(3) == 0 {
			ce, marked = " ce=", marked+mss
		}
		c.in("A seq=" + itoa(1+k*mss) + " ack=1 len=1460" + ce)
	}
	c.at(unit.Second)
	counted, last := 0, 1
	for _, line := range c.out {
		var ack int
		fields := strings.Fields(line)
		if _, err := fmt.Sscanf(fields[3], "ack=%d", &ack); err != nil {
			t.Fatal(line)
		}
		if strings.Contains(fields[1], "E") {
			counted += ack - last
		}
		last = ack
	}
	if counted != marked || marked == 0 {
		t.Errorf("%d bytes count as marked, %d were", counted, marked)
	}
}
