package rp

import (
	"strings"
	"testing"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// nsccSite is the reference network: 100 Gb/s and a round trip of 12 µs, in which gains are as they
// are given, with packets of 1000 B.
var nsccSite = Site{Line: 100e9, Length: 1000, Payload: 1000, Trip: 12 * us}

// nsccOf returns NSCC with a target of 9 µs and windows up to 225,000 B, from parameters that are
// changed.
func nsccOf(t *testing.T, change ...func(*NSCCParams)) *NSCC {
	t.Helper()
	p := param.Defaults(NSCCParams{})
	for _, c := range change {
		c(&p)
	}
	n, err := NewNSCC(p, nsccSite)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// echo is an ACK of bytes with a delay in picoseconds.
func echo(bytes unit.Size, delay unit.Duration, marked bool) Ack {
	return Ack{Frame: &wire.Frame{Kind: wire.Ack, BECN: marked}, RTT: 12*us + delay, Bytes: bytes, Flight: 50_000}
}

// The four cases of mark and delay, computed by hand from the rules of uet-htsim (uec.cpp,
// updateCwndOnAck_NSCC).
func TestNSCCCases(t *testing.T) {
	start := func(p *NSCCParams) { p.StartWindow, p.QuickAdapt = 100_000, false }
	for _, c := range []struct {
		rule     string
		delay    unit.Duration
		marked   bool
		increase int64 // times the window
		window   int64
	}{
		// alpha: 4 packets a reference round trip of delay below the target: 4000/12e6 a
		// picosecond.
		{"proportional increase", 3 * us, false, 4000 * 2000 * 6 / 12, 100_000},
		{"less of it nearer to the target", 8 * us, false, 4000 * 2000 / 12, 100_000},
		{"fair increase at the target", 9 * us, false, 5000 * 2000, 100_000},
		{"fair increase above it", 30 * us, false, 5000 * 2000, 100_000},
		{"a mark below the target changes nothing", 8 * us, true, 0, 100_000},
		{"a mark above, while the average is below", 30 * us, true, 0, 100_000},
	} {
		n := nsccOf(t, start)
		n.adjusted = 1 // no adjustment is due
		n.Acked(2, echo(2000, c.delay, c.marked))
		if n.increase != c.increase || n.window != c.window {
			t.Errorf("%s: an increase of %d and a window of %d, want %d and %d", c.rule, n.increase, n.window, c.increase, c.window)
		}
	}
	// Decrease: gamma (average - target)/average, at most half, once in a round trip.
	for _, c := range []struct {
		rule    string
		average unit.Duration
		want    int64
	}{
		{"by the excess of the average", 12 * us, 80_000}, // 0.8 of a quarter
		{"by half at most", 90 * us, 50_000},
	} {
		n := nsccOf(t, start, func(p *NSCCParams) { p.DelayGain = 1 })
		n.adjusted, n.decreased = 1, 0
		n.Acked(unit.Time(13*us), echo(2000, c.average, true))
		if n.window != c.want+150 { // eta: the period is over
			t.Errorf("decrease %s: %d, want %d and eta", c.rule, n.window, c.want)
		}
		n.Acked(unit.Time(24*us), echo(2000, c.average, true))
		if n.window != c.want+150 {
			t.Errorf("decrease %s: a second one in a round trip: %d", c.rule, n.window)
		}
	}
}

// Fast increase: a quarter of what was acknowledged, once a whole window had a delay below 1 µs,
// until one is longer.
func TestNSCCFastIncrease(t *testing.T) {
	n := nsccOf(t, func(p *NSCCParams) { p.StartWindow, p.QuickAdapt, p.Proportional, p.Eta = 100_000, false, 0, 0 })
	for i, want := range []int64{100_000, 100_000, 110_000, 120_000} {
		if n.Acked(unit.Time(i+1), echo(40_000, us/2, false)); n.window != want {
			t.Errorf("ACK %d: a window of %d, want %d", i, n.window, want)
		}
	}
	n.Acked(10, echo(40_000, 2*us, false))
	n.Acked(11, echo(40_000, us/2, false))
	if n.window != 120_000 {
		t.Errorf("after a delay of 2 us: %d", n.window)
	}
}

// Quick adapt: once a round trip and the target are over, a loss or a delay above four times the
// target makes the window what was delivered in them, if that is below an eighth of the largest;
// marks are then ignored until what was in flight has come.
func TestNSCCQuickAdapt(t *testing.T) {
	for _, c := range []struct {
		rule      string
		delivered unit.Size
		delay     unit.Duration
		window    int64
	}{
		{"a long delay", 20_000, 37 * us, 21_000},
		{"a delay of four targets is not above them", 20_000, 36 * us, 225_000},
		{"an eighth was delivered", 28_000, 37 * us, 225_000},
		{"no less than a packet", 0, 37 * us, 1000},
	} {
		n := nsccOf(t, func(p *NSCCParams) { p.Eta, p.Fair, p.Proportional, p.Fast = 0, 0, 0, 0 })
		n.Acked(1, echo(5000, 5*us, false)) // begins the round trip
		n.Acked(2, echo(c.delivered, 5*us, false))
		last := unit.Size(1000)
		n.Acked(unit.Time(21*us+2), echo(last, c.delay, false))
		if n.window != c.window {
			t.Errorf("%s: a window of %d, want %d", c.rule, n.window, c.window)
		}
	}
	n := nsccOf(t, func(p *NSCCParams) { p.Eta, p.DelayGain = 0, 1 })
	n.Acked(1, echo(5000, 5*us, false))
	n.Trimmed(unit.Time(22*us), Trim{Bytes: 1000, Flight: 30_000}) // 5000 B of the first ACK do not count: they began it
	if n.window != 1000 {
		t.Fatalf("after a trimmed packet: %d", n.window)
	}
	n.window = 100_000
	for i := range 29 {
		n.Acked(unit.Time(60*us).Add(unit.Duration(i)), echo(1000, 30*us, true))
	}
	if n.window != 100_000 {
		t.Errorf("marks of what was in flight count: %d", n.window)
	}
	n.Acked(unit.Time(61*us), echo(1000, 30*us, true))
	n.Acked(unit.Time(62*us), echo(1000, 30*us, true))
	if n.window == 100_000 {
		t.Error("marks do not count any more")
	}
}

// A trimmed packet takes its length off the window, but for one that was trimmed at the last hop
// where the destination gives credit. One that is not acknowledged in time does, too.
func TestNSCCLosses(t *testing.T) {
	n := nsccOf(t)
	n.Trimmed(1, Trim{Bytes: 1000, LastHop: true})
	n.Expired(2, 2000)
	if n.window != 222_000 {
		t.Errorf("a window of %d", n.window)
	}
	n.credited = true
	n.Trimmed(3, Trim{Bytes: 1000, LastHop: true})
	n.Trimmed(3, Trim{Bytes: 1000})
	if n.window != 221_000 {
		t.Errorf("with credit a window of %d", n.window)
	}
	for range 1000 {
		n.Expired(4, 1000)
	}
	if n.Window() != 1000 {
		t.Errorf("a window below a packet: %v", n.Window())
	}
}

// A flow that measures a shorter round trip has that one, and a largest window to match.
func TestNSCCLearnsTheRoundTrip(t *testing.T) {
	n := nsccOf(t)
	n.Acked(1, echo(1000, -4*us, false))
	if n.base != 8*us || n.Window() != 150_000 {
		t.Errorf("%v and a window of %v", n.base, n.Window())
	}
	n.Trimmed(2, Trim{Bytes: 1000, RTT: 6 * us})
	if n.base != 6*us || n.most != 112_500 {
		t.Errorf("of a NACK: %v, %d", n.base, n.most)
	}
	n = nsccOf(t, func(p *NSCCParams) { p.LearnFromNACKs = false })
	if n.Trimmed(2, Trim{Bytes: 1000, RTT: 6 * us}); n.base != 12*us {
		t.Errorf("of a NACK, against the parameter: %v", n.base)
	}
}

// Whatever comes back, the window stays in its limits.
func FuzzNSCC(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 250, 251, 252, 253, 254, 255})
	f.Add([]byte("nacks, marks and long delays"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := param.Defaults(NSCCParams{})
		n, err := NewNSCC(p, nsccSite)
		if err != nil {
			t.Fatal(err)
		}
		now := unit.Time(0)
		for ; len(b) >= 4; b = b[4:] {
			now = now.Add(unit.Duration(b[0]) * us / 8)
			bytes, trip := unit.Size(b[1])*257, unit.Duration(b[2])*unit.Duration(b[2])*us/16
			switch b[3] % 8 {
			case 0:
				n.Trimmed(now, Trim{Bytes: bytes, RTT: trip, LastHop: b[3]&8 != 0, Flight: unit.Size(b[3]) << 10})
			case 1:
				n.Expired(now, bytes)
			default:
				n.Acked(now, Ack{Frame: &wire.Frame{BECN: b[3]&8 != 0}, RTT: trip, Bytes: bytes, Flight: unit.Size(b[3]) << 10})
			}
			if w := n.Window(); w < nsccSite.Length || int64(w) > 225_000 || n.average < 0 || n.increase < 0 {
				t.Fatalf("a window of %v, an average of %v, an increase of %d", w, n.average, n.increase)
			}
		}
	})
}

// On a slow link a packet takes longer than the 12 µs that stand for a round trip that is not known
// yet: that round trip is longer, too, and is no reason to refuse the window.
func TestNSCCOnSlowLink(t *testing.T) {
	slow := nsccSite
	slow.Line, slow.Trip = 100_000_000, 0
	p := param.Defaults(NSCCParams{})
	if key, err := p.CheckSite(slow); err != nil {
		t.Errorf("%s: %v", key, err)
	}
	p.BaseRTT = 12 * us
	if _, err := p.CheckSite(slow); err == nil {
		t.Error("a round trip of 12 µs is accepted, in which no packet fits")
	}
}

// Parameters that cannot work are refused, with the arithmetic.
func TestNSCCRefuses(t *testing.T) {
	for want, change := range map[string]func(*NSCCParams){
		"no packet would fit":                func(p *NSCCParams) { p.MostWindow = 0.001 },
		"a window is less than 2GiB":         func(p *NSCCParams) { p.BaseRTT = unit.Second },
		"initial-window is 999B":             func(p *NSCCParams) { p.StartWindow = 999 },
		"gamma: 2 is out of range":           func(p *NSCCParams) { p.Gamma = 2 },
		"target-delay: \"-1ps\" is negative": func(p *NSCCParams) { p.Target = -1 },
	} {
		p := param.Defaults(NSCCParams{})
		change(&p)
		if _, err := NewNSCC(p, nsccSite); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
