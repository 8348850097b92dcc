package rp

import (
	"fmt"
	"math"
	"strings"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// BCNParams are the parameters of the reaction point of BCN. "The slides" are "BCN:
// Analytical Model and Simulation Study" of July 2006 by Raj Jain; the ECM proposal is that
// of IBM's slides of March 2007 on E2CM. ECM differs from BCN in parameters only.
type BCNParams struct {
	// Source of the defaults: BCN, or the ECM proposal of March 2007.
	Version string `key:"version" def:"bcn" words:"bcn|ecm" from:"Jain 2006, the slides|ECM, the proposal of March 2007"`
	BCNLimiter
}

// BCNLimiter are the parameters of the effect of a BCN message on a rate, in BCN and in E2CM.
//
// Fb is in frames of Unit bytes: the slides count Qdelta in packets, and the gains that go
// with them (Gi 4, Gd 1/128, Ru 8 Mb/s) are for frames. In normalised gains the unit cancels.
type BCNLimiter struct {
	// Weight of queue growth: Fb = Qoff - w Qdelta.
	// Source: Lu et al. 2006; ECM
	W float64 `key:"w" def:"2" low:"0" high:"1024"`
	// A positive Fb adds gi Fb ru to the rate.
	// Source: Lu et al. 2006
	Gi float64 `key:"gi" computed:"4, with beta computed from it" low:"0" high:"1e9"`
	// A negative Fb reduces the rate by the share gd |Fb|.
	// Source: Lu et al. 2006
	Gd float64 `key:"gd" computed:"1/128, with alpha computed from it" low:"0" high:"1e9"`
	// Normalised gd, the largest share that one message cuts: gd = alpha / ((2 w + 1) qeq), with
	// qeq in units of Fb.
	// Source: ECM; Intel's adapters
	Alpha float64 `key:"alpha" computed:"none; ecm, e2cm: 0.5" low:"above 0" high:"1e9" none:"none"`
	// Normalised gi, the largest share of capacity that one message adds: gi = beta capacity / (ru
	// (2 w + 1) qeq).
	// Source: ECM
	Beta float64 `key:"beta" computed:"none; ecm, e2cm: 0.005" low:"above 0" high:"1e9" none:"none"`
	// qeq of the congestion points; the normalised gains and the bound of Fb, (2 w + 1) qeq, follow
	// from it.
	Qeq      unit.Size `key:"qeq" computed:"24000B; ecm, e2cm: 75KB" low:"64B"`
	Capacity unit.Rate `key:"capacity" def:"10Gb/s" doc:"Rate of the congested link, for beta."`
	Unit     unit.Size `key:"unit" def:"1500B" low:"1B" doc:"Bytes per unit of Fb." source:"the slides count packets"`
	// Rate unit. Messages that carry the bottleneck's rate set it to that rate over ru-share.
	// Source: the slides, for 10 Gb/s
	Ru unit.Rate `key:"ru" computed:"8Mb/s; ecm, e2cm: 1Mb/s"`
	// Bottleneck's rate over ru, if messages carry that rate; the initial rate is then half of it.
	// Source: the slides: C/N
	Share float64 `key:"ru-share" def:"1250" low:"1" high:"1e9"`
	// Rate of a new limiter, unless the flow is slower, before the message that installed it
	// applies.
	// Source: the slides
	Initial unit.Rate `key:"initial-rate" def:"5Gb/s"`
	// Minimum rate. none: 0, as in the slides; a flow at rate 0 stops for good, because it is no
	// longer sampled.
	// Source: ECM
	MinRate unit.Rate `key:"min-rate" def:"1Mb/s" none:"none"`
	// Interval at which a limited flow gains drift times ru, so that a lost message does not freeze
	// it.
	Drift unit.Duration `key:"drift-time" def:"none" low:"1ns" none:"none"`
	// Drift per drift-time, in units of ru.
	// Source: Intel's adapters
	DriftRu float64 `key:"drift" def:"1" low:"above 0" high:"1e6"`
	// Tmax: BCN(0,0) stops a flow for a uniformly random time up to this.
	// Source: Intel's adapters
	StopTime unit.Duration `key:"stop-time" def:"100us" low:"above 0s"`
	// A stopped flow resumes at its link rate divided by this.
	// Source: the slides
	Restart int64 `key:"restart-share" def:"100" low:"1" high:"1000000"`
}

// ECM is the version of the proposal of March 2007, in BCNParams.
const ECM = "ecm"

// Complete fills in the values that depend on the version, and the gains that follow from alpha and
// beta.
func (p *BCNParams) Complete(given func(key string) bool) { p.complete(p.Version, given) }

// complete does the work of Complete for the named version. E2CMParams shares it.
func (p *BCNLimiter) complete(version string, given func(key string) bool) {
	qeq, ru, alpha, beta := unit.Size(24000), 8*megabit, 0.0, 0.0
	if version == ECM {
		qeq, ru, alpha, beta = 75000, megabit, 0.5, 0.005
	}
	param.Fill(&p.Qeq, qeq, given("qeq"))
	param.Fill(&p.Ru, ru, given("ru"))
	param.Fill(&p.Alpha, alpha, given("alpha") || given("gd"))
	param.Fill(&p.Beta, beta, given("beta") || given("gi"))
	gd, gi := 1.0/128, 4.0
	if p.Alpha > 0 {
		gd = p.fromAlpha()
	}
	if p.Beta > 0 {
		gi = p.fromBeta()
	}
	param.Fill(&p.Gd, gd, given("gd"))
	param.Fill(&p.Gi, gi, given("gi"))
}

const megabit = 1_000_000 * unit.BitPerSecond

// most returns the largest |Fb|: (2 w + 1) Qeq, in units of Fb.
func (p *BCNLimiter) most() float64 { return (2*p.W + 1) * float64(p.Qeq) / float64(p.Unit) }

// fromAlpha returns gd as it follows from alpha.
func (p *BCNLimiter) fromAlpha() float64 { return p.Alpha / p.most() }

// fromBeta returns gi as it follows from beta.
func (p *BCNLimiter) fromBeta() float64 {
	return p.Beta * float64(p.Capacity) / (float64(p.Ru) * p.most())
}

// Explain describes how the gains follow from alpha and beta.
func (p BCNLimiter) Explain() string {
	var parts []string
	n := fmt.Sprintf("((2 x %g + 1) x %v / %v)", p.W, p.Qeq, p.Unit)
	if p.Alpha > 0 {
		parts = append(parts, fmt.Sprintf("gd = alpha / ((2 w + 1) qeq / unit) = %g / %s = %g", p.Alpha, n, p.Gd))
	}
	if p.Beta > 0 {
		parts = append(parts,
			fmt.Sprintf("gi = beta capacity / (ru (2 w + 1) qeq / unit) = %g x %v / (%v x %s) = %g",
				p.Beta, p.Capacity, p.Ru, n, p.Gi))
	}
	return strings.Join(parts, "; ")
}

// Traits returns that data frames are tagged, and that qeq is assumed where the gains follow from
// it.
func (p BCNLimiter) Traits() Traits {
	t := Traits{Frame: func(f *wire.Frame) { f.CPID = math.MaxUint64 }, Warns: p.warns}
	if p.Alpha > 0 || p.Beta > 0 {
		t.Assumes = []string{"qeq"}
	}
	return t
}

// warns doubts gains by which one message changes the rate by more than there is.
func (p BCNLimiter) warns(s Site) (doubts []Doubt) {
	most := p.most()
	fb := fmt.Sprintf("|Fb| is up to (2 w + 1) qeq / unit = (2 x %g + 1) x %v / %v = %g", p.W, p.Qeq, p.Unit, most)
	if step := p.Gd * most; step > 1 {
		doubts = append(doubts,
			Doubt{"gd", fmt.Sprintf("one message can take off more than the rate: %s, and gd |Fb| = %g x %g = %.4g; above 1 nothing but min-rate is left", fb, p.Gd, most, step)})
	}
	if step := p.Gi * most * float64(p.Ru); step > float64(s.Line) {
		doubts = append(doubts,
			Doubt{"gi", fmt.Sprintf("one message can add more than the link rate: %s, and gi |Fb| ru = %g x %g x %v = %.4g b/s, above %v", fb, p.Gi, most, p.Ru, step, s.Line)})
	}
	return doubts
}

// CheckSite refuses a lowest rate above the rate of the link, and gains that contradict alpha
// and beta.
func (p BCNLimiter) CheckSite(s Site) (string, error) {
	const same = 1e-9
	switch {
	case p.MinRate > s.Line:
		return "min-rate", fmt.Errorf("the lowest rate, %v, is above the highest, %v", p.MinRate, s.Line)
	case p.Alpha > 0 && math.Abs(p.Gd-p.fromAlpha()) > same*p.Gd:
		return "gd", fmt.Errorf("gd is %.6g, and alpha makes it %.6g: give one of them", p.Gd, p.fromAlpha())
	case p.Beta > 0 && math.Abs(p.Gi-p.fromBeta()) > same*p.Gi:
		return "gi", fmt.Errorf("gi is %.6g, and beta makes it %.6g: give one of them", p.Gi, p.fromBeta())
	}
	return "", nil
}

func bcnAlgorithm() Algorithm {
	trials := []Trial{{}, {Name: "with the enhancement", Marking: []string{"bottleneck=true"}}}
	return row(Algorithm{Name: "bcn", Also: []string{"ecm"}, Feedback: Notifications,
		Doc: "increases the rate additively and decreases it multiplicatively by BCN messages, on Ethernet", Trials: trials},
		func(p BCNParams, s Site) Reaction { return newBCN(p.BCNLimiter, s).Reaction() })
}

// BCN is the reaction point of Backward Congestion Notification (slide "AIMD Algorithm"):
//
//	Fb = Qoff - W Qdelta
//	Fb > 0:  R = R + Gi Fb Ru
//	Fb < 0:  R = max(0, R (1 - Gd |Fb|))
//
// where the slide prints "Min{0," for "max(0,". The first message with an Fb below 0 installs
// a limiter. While it is there the frames of the flow carry the tag of the congestion point
// that last lowered the rate, and an increase is taken only from that point. It goes when
// the rate reaches the rate of the link. A message of zeros, BCN(0,0), stops the flow for a
// random time ("It asks source to stop and restart at 1/100th of the link capacity after
// some random interval").
type BCN struct {
	c       BCNLimiter
	site    Site
	rate    unit.Rate
	cpid    uint64    // of the point that has installed the limiter, or lowered the rate last; 0: there is no limiter
	ru      float64   // the rate unit, in bits per second
	restart unit.Time // when the flow that was stopped continues; unit.Never: it is not stopped
	drifts  unit.Time // when the rate drifts up next
}

// NewBCN returns a reaction point that is not limited.
func NewBCN(c BCNLimiter, s Site) (*BCN, error) { return checked(c, s, newBCN) }

func newBCN(c BCNLimiter, s Site) *BCN {
	return &BCN{c: c, site: s, rate: s.Line, ru: float64(c.Ru), restart: unit.Never, drifts: unit.Never}
}

// Reaction returns the reaction point with what it does in addition to a Controller.
func (b *BCN) Reaction() Reaction {
	return Reaction{Controller: b, Target: b.Target, Tag: b.Tag, Active: b.Active}
}

// Rate returns the rate; 0 while the flow is stopped.
func (b *BCN) Rate() unit.Rate { return b.rate }

// Target returns the rate too: BCN has no other.
func (b *BCN) Target() unit.Rate { return b.rate }

// Active reports whether the flow has a limiter.
func (b *BCN) Active() bool { return b.cpid != 0 }

// Sent does nothing.
func (b *BCN) Sent(unit.Time, unit.Size) {}

// Tag adds the tag of the congestion point that limits the flow.
func (b *BCN) Tag(f wire.Frame) wire.Frame {
	f.CPID = b.cpid
	return f
}

// Deadline returns when a stop ends, or the rate drifts up.
func (b *BCN) Deadline() unit.Time { return min(b.restart, b.drifts) }

// Feedback takes in a message.
func (b *BCN) Feedback(now unit.Time, f wire.Frame) {
	if f.Kind != wire.BCN || f.CPID == 0 || b.restart != unit.Never {
		return // a flow that is stopped has its message already
	}
	initial := b.c.Initial
	if f.Sampled().Bottleneck > 0 {
		capacity := unit.Rate(f.Sampled().Bottleneck) * wire.BottleneckUnit
		b.ru, initial = float64(capacity)/b.c.Share, capacity/2
	}
	if f.Sampled().QOffset == 0 && f.Sampled().QDelta == 0 {
		b.install(now, f.CPID)
		b.rate, b.drifts = 0, unit.Never
		b.restart = now.Add(b.site.Random.Span(b.c.StopTime) + 1)
		return
	}
	switch fb := b.feedback(&f); {
	case fb < 0:
		if b.cpid == 0 {
			b.rate = min(b.rate, initial)
		}
		b.install(now, f.CPID)
		b.lower(float64(b.c.Gd * -fb))
	case fb > 0 && b.cpid == f.CPID:
		b.raise(float64(b.c.Gi*fb) * b.ru)
	}
}

// feedback returns Fb, in frames.
func (b *BCN) feedback(f *wire.Frame) float64 {
	const octets = 64 // the unit of messages
	return (float64(f.Sampled().QOffset) - float64(b.c.W*float64(f.Sampled().QDelta))) * octets / float64(b.c.Unit)
}

// install puts the flow under a limiter of a congestion point, if it is not already.
func (b *BCN) install(now unit.Time, cpid uint64) {
	if b.cpid == 0 && b.c.Drift > 0 {
		b.drifts = now.Add(b.c.Drift)
	}
	b.cpid = cpid
}

// lower takes a share off the rate, down to the lowest.
func (b *BCN) lower(share float64) {
	lowered := float64(b.rate) * max(0, 1-share)
	b.rate = min(b.rate, max(unit.Rate(lowered), b.c.MinRate))
}

// raise adds to the rate; at the rate of the link the limiter goes.
func (b *BCN) raise(by float64) {
	b.rate += unit.Rate(min(by, float64(b.site.Line)))
	if b.rate >= b.site.Line {
		b.rate, b.cpid, b.drifts = b.site.Line, 0, unit.Never
	}
}

// Advance ends a stop, and lets the rate drift up.
func (b *BCN) Advance(now unit.Time) {
	if now >= b.restart {
		b.rate = max(b.site.Line/unit.Rate(b.c.Restart), b.c.MinRate)
		if b.c.Drift > 0 {
			b.drifts = b.restart.Add(b.c.Drift)
		}
		b.restart = unit.Never
	}
	for now >= b.drifts {
		b.drifts = b.drifts.Add(b.c.Drift) // from when it was due: a late call moves nothing
		b.raise(float64(b.c.DriftRu * b.ru))
	}
}
