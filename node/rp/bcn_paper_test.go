package rp

import (
	"math"
	"strings"
	"testing"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// The rules of BCN's reaction point, each with the slide of July 2006 that has it ("BCN:
// Analytical Model and Simulation Study", R. Jain), or of March 2007 for ECM.

// here and there are two congestion points.
const here, there = 0x190200000000AA, 0x080200000000AA

// frames16 is 16 frames of 1500 bytes in the unit of messages, 64 octets.
const frames16 = 375

// told returns a message with Qoff and Qdelta in units of 64 octets.
func told(cpid uint64, qoff, qdelta int16) wire.Frame {
	return wire.Frame{Kind: wire.BCN, CPID: cpid, Extension: wire.ExtensionOf(wire.SampleExtension{QOffset: qoff, QDelta: qdelta})}
}

func sampleBCN(t *testing.T, change func(c *BCNParams)) *BCN {
	t.Helper()
	c := param.Defaults(BCNParams{})
	if change != nil {
		change(&c)
	}
	b, err := NewBCN(c.BCNLimiter, Site{Line: 10 * gbps, Length: 1500, Random: unit.NewRandom(1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func wantRate(t *testing.T, b *BCN, want unit.Rate) {
	t.Helper()
	if got := b.Rate(); got != want {
		t.Errorf("the rate is %v, want %v", got, want)
	}
}

// "Fb = (Qoff - W x Qdelta)", computed at the source, in frames.
func TestBCNFeedback(t *testing.T) {
	for _, c := range []struct {
		w            float64
		unit         unit.Size
		qoff, qdelta int16
		want         float64
	}{
		{2, 1500, -frames16, 0, -16},
		{2, 1500, 0, frames16, -32},
		{2, 1500, -frames16, 2 * frames16, -80}, // the most: (2 W + 1) Qeq
		{2, 1500, frames16, -2 * frames16, 80},
		{2, 1500, frames16, frames16, -16}, // short, but growing
		{0.5, 1500, frames16, frames16, 8},
		{2, 64, -3, 1, -5},
		{2, 1, -3, 1, -320},
	} {
		b := sampleBCN(t, func(p *BCNParams) { p.W, p.Unit = c.w, c.unit })
		f := told(here, c.qoff, c.qdelta)
		if got := b.feedback(&f); got != c.want {
			t.Errorf("W %v, Qoff %d, Qdelta %d in units of %v: %v, want %v", c.w, c.qoff, c.qdelta, c.unit, got, c.want)
		}
	}
}

// "Multiplicative Decrease (Fb < 0): R = Min{0, R x (1 - Gd x |Fb|)}", where Max is meant:
// "Current BCN mechanism sets 5 Gbps as the initial rate for rate limiter."
func TestBCNDecrease(t *testing.T) {
	b := sampleBCN(t, nil)
	wantRate(t, b, 10*gbps)
	b.Feedback(0, told(here, -frames16, 0))
	wantRate(t, b, 4375*mbps) // 5 Gb/s (1 - 16/128)
	b.Feedback(0, told(here, -frames16, 2*frames16))
	wantRate(t, b, 4375*mbps*3/8) // (1 - 80/128)

	b = sampleBCN(t, func(p *BCNParams) { p.Initial = 20 * gbps })
	b.Feedback(0, told(here, -frames16, 0))
	wantRate(t, b, 8750*mbps) // it does not rise to the initial rate
}

// The largest step takes off the share (2 W + 1) Qeq Gd. Where that is more than the rate, the
// lowest rate is left: 0 by the slides.
func TestBCNFloor(t *testing.T) {
	for _, low := range []unit.Rate{0, mbps} {
		b := sampleBCN(t, func(p *BCNParams) { p.Gd, p.MinRate = 0.02, low })
		b.Feedback(0, told(here, -frames16, 2*frames16))
		wantRate(t, b, low)
	}
	b := sampleBCN(t, func(p *BCNParams) { p.MinRate = 10 * mbps })
	for range 100 {
		b.Feedback(0, told(here, -frames16, 0))
	}
	wantRate(t, b, 10*mbps)
}

// "Additive Increase (Fb > 0): R = R + Gi x Fb x Ru": 4 x 16 x 8 Mb/s = 512 Mb/s. It is for a
// flow that is limited, by the congestion point whose tag its frames carry.
func TestBCNIncrease(t *testing.T) {
	b := sampleBCN(t, nil)
	b.Feedback(0, told(here, frames16, 0))
	wantRate(t, b, 10*gbps)
	if b.Active() {
		t.Error("an increase has limited a flow")
	}
	b.Feedback(0, told(here, -frames16, 0))
	b.Feedback(0, told(there, frames16, 0))
	wantRate(t, b, 4375*mbps)
	b.Feedback(0, told(here, frames16, 0))
	wantRate(t, b, 4375*mbps+512*mbps)
}

// "The limiter goes when the line rate is reached; while it is there each frame carries the
// tag" of the point that has lowered the rate last.
func TestBCNTagsWhileItLimits(t *testing.T) {
	b := sampleBCN(t, nil)
	tag := func() uint64 { return b.Tag(wire.Frame{Kind: wire.Data, PSN: 7}).CPID }
	if tag() != 0 {
		t.Error("a flow that is not limited is tagged")
	}
	for _, point := range []uint64{here, there, here} {
		b.Feedback(0, told(point, -frames16, 0))
		if f := b.Tag(wire.Frame{Kind: wire.Data, PSN: 7}); f.CPID != point || f.PSN != 7 {
			t.Errorf("%+v, want the tag of %#x", f, point)
		}
	}
	for range 20 {
		b.Feedback(0, told(here, frames16, -2*frames16)) // 2.56 Gb/s each
	}
	wantRate(t, b, 10*gbps)
	if tag() != 0 || b.Active() {
		t.Error("it is limited at the rate of the line")
	}
	b.Feedback(0, told(here, frames16, 0)) // on its way when the limiter went
	wantRate(t, b, 10*gbps)
}

// "BCN(0,0) is sent when the queue is severely congested. It asks source to stop and restart
// at 1/100th of the link capacity after some random interval."
func TestBCNStops(t *testing.T) {
	seen := map[unit.Time]bool{}
	b := sampleBCN(t, func(p *BCNParams) { p.StopTime = unit.Millisecond })
	for n := range 50 {
		now := unit.Time(n) * unit.Time(unit.Second)
		b.Feedback(now, told(here, 0, 0))
		wantRate(t, b, 0)
		until := b.Deadline()
		if until <= now || until > now.Add(unit.Millisecond) {
			t.Fatalf("it is stopped until %v, of up to 1ms from %v", until, now)
		}
		seen[until-now] = true
		b.Feedback(now, told(here, 0, 0)) // another changes nothing
		b.Feedback(now, told(here, frames16, 0))
		b.Advance(until - 1)
		wantRate(t, b, 0)
		if b.Deadline() != until {
			t.Errorf("it is stopped until %v, was %v", b.Deadline(), until)
		}
		b.Advance(until)
		wantRate(t, b, 100*mbps)
		if b.Deadline() != unit.Never || b.Tag(wire.Frame{}).CPID != here {
			t.Errorf("it goes on with %v ahead, tag %#x", b.Deadline(), b.Tag(wire.Frame{}).CPID)
		}
	}
	if len(seen) < 40 {
		t.Errorf("of 50 stops %d are of different lengths", len(seen))
	}
}

// Drift: every td, R = R + rd x Ru, so that lost messages cannot freeze a flow.
func TestBCNDrifts(t *testing.T) {
	b := sampleBCN(t, func(p *BCNParams) { p.Drift, p.DriftRu = 100*unit.Microsecond, 2 })
	if b.Deadline() != unit.Never {
		t.Error("a flow that is not limited drifts")
	}
	b.Feedback(5, told(here, -frames16, 0))
	at := unit.Time(5).Add(100 * unit.Microsecond)
	for n := range unit.Rate(3) {
		if b.Deadline() != at {
			t.Fatalf("it drifts at %v, want %v", b.Deadline(), at)
		}
		b.Advance(at)
		wantRate(t, b, 4375*mbps+(n+1)*16*mbps)
		at = at.Add(100 * unit.Microsecond)
	}
	b.Advance(at.Add(450 * unit.Microsecond)) // late: no step is lost
	wantRate(t, b, 4375*mbps+8*16*mbps)
	b.Feedback(at.Add(460*unit.Microsecond), told(here, 0, 0))
	wantRate(t, b, 0)
	b.Advance(b.Deadline())
	wantRate(t, b, 100*mbps)
	for b.Active() {
		b.Advance(b.Deadline())
	}
	wantRate(t, b, 10*gbps)
	if b.Deadline() != unit.Never {
		t.Error("a flow without a limiter drifts")
	}
}

// "The rate increase unit Ru should be set as C/N for some N": 0.8 Mb/s at 1 Gb/s, as 8 Mb/s
// at 10 Gb/s; and the initial rate half the bottleneck's, as 5 Gb/s is of 10.
func TestBCNTakesTheRateOfTheBottleneck(t *testing.T) {
	b := sampleBCN(t, nil)
	slow := func(qoff int16) wire.Frame { f := told(here, qoff, 0); f.Sampled().Bottleneck = 100; return f }
	b.Feedback(0, slow(-frames16))
	wantRate(t, b, 437500*unit.Rate(1000)) // 500 Mb/s (1 - 16/128)
	b.Feedback(0, slow(frames16))
	wantRate(t, b, 437500*unit.Rate(1000)+51200*unit.Rate(1000)) // 4 x 16 x 0.8 Mb/s
}

// Normalised: Gd = alpha / ((2 W + 1) Qeq) and Gi = beta C / (Ru (2 W + 1) Qeq), so that the
// largest decrease is alpha and the largest increase beta C, whatever the unit is.
func TestBCNNormalisedGains(t *testing.T) {
	for _, size := range []unit.Size{1, 1500, 1000} {
		p := BCNLimiter{W: 2, Alpha: 0.5, Beta: 0.1, Qeq: 24000, Capacity: 10 * gbps, Unit: size, Ru: 8 * mbps}
		p.complete("bcn", func(key string) bool { return key != "gd" && key != "gi" })
		if down, up := p.Gd*p.most(), p.Gi*p.most()*float64(p.Ru); math.Abs(down-0.5) > 1e-12 || math.Abs(up-1e9) > 1e-3 {
			t.Errorf("unit %v: the largest steps are %v of the rate and %v b/s, want 0.5 and 1e9", size, down, up)
		}
	}
}

// The gains of Intel's adapters: alpha 0.5 and beta 0.1 with Qeq 100, C 10000 and Ru 1 are
// gd 0.00026 and gi 0.53, for w 9.
func TestBCNIntelGains(t *testing.T) {
	p := BCNLimiter{W: 9, Alpha: 0.5, Beta: 0.1, Qeq: 100, Capacity: 10 * gbps, Unit: 1, Ru: mbps}
	p.complete("bcn", func(key string) bool { return key != "gd" && key != "gi" })
	if math.Round(p.Gd*1e5) != 26 || math.Round(p.Gi*100) != 53 {
		t.Errorf("gd %.6f, gi %.4f; want 0.00026, 0.53", p.Gd, p.Gi)
	}
}

// ECM: "Gd = 0.5 / ((2W+1) Qeq)", "Gi = 0.005 Gi0", Gi0 = (Rlink/Runit) / ((2W+1) Qeq) (the
// slide prints a product), "Runit = Rmin = 1 Mb/s", Qeq 75 KB: at most half of the rate down,
// and 50 Mb/s up at 10 Gb/s.
func TestECMGains(t *testing.T) {
	p := BCNParams{Version: ECM, BCNLimiter: BCNLimiter{W: 2, Unit: 1500, Capacity: 10 * gbps}}
	p.Complete(func(string) bool { return false })
	if p.Qeq != 75000 || p.Ru != mbps || p.Gd*p.most() != 0.5 || math.Abs(p.Gi*p.most()*float64(p.Ru)-50e6) > 1e-6 {
		t.Errorf("%+v", p)
	}
	if text := p.Explain(); text != "gd = alpha / ((2 w + 1) qeq / unit) = 0.5 / ((2 x 2 + 1) x 75KB / 1500B) = 0.002; gi = beta capacity / (ru (2 w + 1) qeq / unit) = 0.005 x 10Gb/s / (1Mb/s x ((2 x 2 + 1) x 75KB / 1500B)) = 0.2" {
		t.Error(text)
	}
}

// What is not for BCN changes nothing.
func TestBCNHearsItsMessagesAlone(t *testing.T) {
	b := sampleBCN(t, nil)
	b.Feedback(0, wire.Frame{Kind: wire.Notification, Extension: wire.ExtensionOf(wire.SampleExtension{Fb: 63, QOffset: -frames16}), CPID: here})
	b.Feedback(0, wire.Frame{Kind: wire.Ack, BECN: true})
	b.Feedback(0, told(0, -frames16, 0)) // of no congestion point
	b.Sent(0, 1500)
	b.Advance(1)
	wantRate(t, b, 10*gbps)
	if b.Target() != b.Rate() || b.Deadline() != unit.Never {
		t.Errorf("target %v, deadline %v", b.Target(), b.Deadline())
	}
}

func TestNewBCNRefuses(t *testing.T) {
	right := Site{Line: 10 * gbps, Length: 1500, Random: unit.NewRandom(1, 1)}
	for _, c := range []struct {
		words  string
		change func(p *BCNParams, s *Site)
	}{
		{"must be positive", func(_ *BCNParams, s *Site) { s.Line = 0 }},
		{"above the highest", func(p *BCNParams, _ *Site) { p.MinRate = 11 * gbps }},
		{"alpha makes it", func(p *BCNParams, _ *Site) { p.Alpha = 1 }},
		{"beta makes it", func(p *BCNParams, _ *Site) { p.Beta = 1 }},
		{"w: -1 is out of range", func(p *BCNParams, _ *Site) { p.W = -1 }},
		{"gd: ", func(p *BCNParams, _ *Site) { p.Gd = math.NaN() }},
		{"unit: ", func(p *BCNParams, _ *Site) { p.Unit = 0 }},
		{"stop-time: ", func(p *BCNParams, _ *Site) { p.StopTime = 0 }},
	} {
		p, s := param.Defaults(BCNParams{}), right
		c.change(&p, &s)
		if _, err := NewBCN(p.BCNLimiter, s); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%v, want %q", err, c.words)
		}
	}
}
