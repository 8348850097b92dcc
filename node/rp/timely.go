package rp

import (
	"fmt"
	"math"

	"fabemu/wire/unit"
)

// TimelyParams are the parameters of TIMELY. Published variants differ, and a preset is one of
// them:
//
//   - paper: R. Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter" (SIGCOMM
//     2015). It does not give alpha, which is here from Y. Zhu et al., "ECN or Delay" (CoNEXT
//     2016), nor a lowest rate.
//   - snippet: the code that its authors published, as in github.com/erpc-io/eRPC
//     (src/cc/timely.h).
//   - hpcc: the simulator of HPCC (github.com/alibaba-edu/High-Precision-Congestion-Control,
//     rdma-hw.cc).
//   - patched: the algorithm that "ECN or Delay" puts in its place, which also uses the round trip
//     itself. Its rule and its values come from its authors' fluid model
//     (github.com/jitupadhye-zz/rdma, fluidmodel/timely/timely-fixed.m).
type TimelyParams struct {
	// Source of the defaults and rules.
	Preset string `key:"preset" def:"paper" words:"paper|snippet|hpcc|patched" also:"variant" from:"Mittal et al. 2015|eRPC, src/cc/timely.h|HPCC's simulator, run.py|ECN or Delay (CoNEXT 2016), timely-fixed.m" rates:"10Gb/s||10Gb/s-400Gb/s|10Gb/s" trips:"20us||13us|20us"`
	// alpha: weight of the newest RTT difference in the average.
	// Source: CoNEXT 2016; the snippet
	Alpha float64 `key:"difference-weight" by:"preset=0.875|0.02|0.875|0.875" from:"preset=ECN or Delay (CoNEXT 2016)|||" low:"above 0" high:"1"`
	// beta: share of the gradient, or of the excess over t-high, by which the rate decreases.
	Beta float64 `key:"decrease-gain" by:"preset=0.8|0.8|0.8|0.008" low:"above 0" high:"1"`
	// Below this RTT the rate rises whatever the gradient.
	// Source: Mittal et al. 2015
	TLow unit.Duration `key:"t-low" def:"50us" grows:"rtt" low:"1ns" search:"10"`
	// Above this RTT the rate falls whatever the gradient.
	THigh unit.Duration `key:"t-high" by:"preset=500us|1ms|500us|500us" grows:"rtt" low:"1ns" search:"10"`
	// Minimum RTT; the gradient is the average difference divided by it.
	MinRTT unit.Duration `key:"min-rtt" by:"preset=20us|1us|20us|20us" grows:"rtt" low:"1ns" search:"no"`
	// delta: additive increase.
	Increase unit.Rate `key:"increase" by:"preset=10Mb/s|40Mb/s|10Mb/s|10Mb/s" grows:"rate/increase-per" low:"1b/s" also:"delta"`
	// Additive increase during hyper increase.
	HyperIncrease unit.Rate `key:"hyper-increase" by:"preset=50Mb/s|200Mb/s|50Mb/s|50Mb/s" grows:"rate/increase-per" low:"1b/s"`
	// Link rate for which the increases are given; they scale with the link. none: they do not.
	IncreasePer unit.Rate `key:"increase-per" by:"preset=none|none|10Gb/s|none" none:"none"`
	// What starts hyper increase between t-low and t-high. falls: hyper-after decreasing RTTs in a
	// row; increases: as many rate increases in a row, also below t-low; off: nothing.
	Hyper string `key:"hyper" by:"preset=falls|falls|increases|off" words:"falls|increases|off"`
	// See hyper.
	// Source: Mittal et al. 2015
	HyperAfter int `key:"hyper-after" def:"5" low:"1" high:"1048576" counts:"hyper!=off"`
	// ACKs that change the rate: all (transport.ack-every), or the first for a packet sent after
	// the last change.
	Update string `key:"update" by:"preset=ack|ack|round-trip|ack" words:"ack|round-trip"`
	// Steps are scaled by the time since the last one over min-rtt, up to 1.
	Scaled bool `key:"scaled" by:"preset=false|true|false|false"`
	// Percentage of the rate that a decrease leaves at least.
	MinDecrease int `key:"min-decrease" by:"preset=0|50|0|0" low:"0" high:"100"`
	// Rule between t-low and t-high. gradient: the rate rises by increase unless the gradient is
	// positive, and falls by decrease-gain times the gradient. weighted: with w from 0 to 1 for
	// gradients from -1/4 to 1/4, it rises by (1-w) increase and falls by decrease-gain times w
	// times the relative distance of the RTT from reference.
	Between string `key:"between" by:"preset=gradient|gradient|gradient|weighted" words:"gradient|weighted"`
	// weighted: target RTT.
	Reference unit.Duration `key:"reference" def:"t-low" none:"t-low" low:"1ns" counts:"between=weighted"`
	// Initial rate. line: the link rate.
	StartRate unit.Rate `key:"start-rate" def:"line" none:"line" also:"initial-rate"`
	// Minimum rate, at most the link rate.
	// Source: the snippet
	MinRate unit.Rate `key:"min-rate" by:"preset=10Mb/s|40Mb/s|100Mb/s|10Mb/s" guess:"paper|patched" low:"1b/s" search:"no"`
}

// The words of parameters that the rules of the algorithm compare.
const (
	HyperByFalls     = "falls" // Hyper
	HyperByIncreases = "increases"
	HyperOff         = "off"
	OncePerRoundTrip = "round-trip" // Update
	ByWeight         = "weighted"   // Between
)

// CheckSite refuses parameters by which the rate could not fall, or not rise.
func (p TimelyParams) CheckSite(s Site) (string, error) {
	packet := s.Line.Serialise(s.Length)
	switch {
	case p.MinRate > s.Line:
		return "min-rate", fmt.Errorf("the lowest rate, %v, is above the highest, %v", p.MinRate, s.Line)
	case p.StartRate != 0 && (p.StartRate > s.Line || p.StartRate < p.MinRate):
		return "start-rate", fmt.Errorf("a flow starts at %v, and its rates are from %v to %v", p.StartRate, p.MinRate, s.Line)
	case p.TLow >= p.THigh:
		return "t-high", fmt.Errorf("t-low is %v and t-high %v: t-high must be above it, or no round trip is between them", p.TLow, p.THigh)
	case p.THigh <= packet:
		return "t-high", fmt.Errorf("t-high is %v, and a packet of %v takes %v on a link of %v: every round trip is above t-high, and the rate only falls",
			p.THigh, s.Length, packet, s.Line)
	case p.Between == ByWeight && p.Reference >= p.THigh:
		return "reference", fmt.Errorf("reference is %v, and t-high %v: the round trip that the algorithm aims at must be below", p.Reference, p.THigh)
	}
	return "", nil
}

func timelyAlgorithm() Algorithm {
	rocev2 := []string{"transport.kind=rocev2"}
	return row(Algorithm{Name: "timely", Feedback: Delays,
		Doc: "changes the rate by the gradient of the round trips that ACKs measure (TIMELY), on RoCEv2",
		Trials: []Trial{
			{Point: NoPoint, Flow: rocev2},
			{Name: "patched", Point: NoPoint, Flow: rocev2, Control: []string{"preset=patched"}},
		}},
		func(p TimelyParams, s Site) Reaction { return newTimely(p, s).Reaction() })
}

// Timely is the reaction point of a flow ("TIMELY", Algorithm 1). With each round trip:
//
//	d = rtt - the one before;  D = (1-alpha) D + alpha d;  g = D / min-rtt
//	rtt < t-low:   R = R + delta
//	rtt > t-high:  R = R (1 - beta (1 - t-high/rtt))
//	g <= 0:        R = R + N delta, N = 5 after five falls in a row (hyper-increase), else 1
//	else           R = R (1 - beta g)
//
// TimelyParams has the other variants. Round trips are without the time at the destination.
type Timely struct {
	ackClocked
	c                    TimelyParams
	line, rate           float64 // bits per second
	shown                unit.Rate
	low, high, least, at float64 // t-low, t-high, min-rtt and reference in picoseconds
	ai, hai              float64

	begun   bool
	last    float64   // round trip
	average float64   // of the differences
	row     int       // falls, or increases, in a row (hyper)
	updated unit.Time // when
	until   uint64    // round-trip: the next change is for a packet from here on
}

func newTimely(p TimelyParams, s Site) *Timely {
	t := &Timely{c: p, line: float64(s.Line), rate: float64(s.Line), low: float64(p.TLow), high: float64(p.THigh),
		least: float64(p.MinRTT), at: float64(p.TLow), ai: float64(p.Increase), hai: float64(p.HyperIncrease)}
	if p.Reference > 0 {
		t.at = float64(p.Reference)
	}
	if p.StartRate > 0 {
		t.rate = float64(p.StartRate)
	}
	if p.IncreasePer > 0 {
		t.ai, t.hai = t.ai*t.line/float64(p.IncreasePer), t.hai*t.line/float64(p.IncreasePer)
	}
	t.set(t.rate)
	return t
}

// Reaction returns the reaction point with what it does in addition to a Controller.
func (t *Timely) Reaction() Reaction {
	return Reaction{Controller: t, Acknowledged: t}
}

// Rate returns the rate, to the nearest bit per second.
func (t *Timely) Rate() unit.Rate { return t.shown }

// Window returns that there is none.
func (*Timely) Window() unit.Size { return 0 }

// Acked takes in the round trip of an ACK.
func (t *Timely) Acked(now unit.Time, a Ack) {
	slow := t.c.Update == OncePerRoundTrip
	if a.RTT == 0 || slow && a.Oldest <= t.until {
		return
	}
	rtt := float64(a.RTT)
	if t.begun || !slow {
		t.update(now, rtt)
	}
	t.begun, t.last, t.updated, t.until = true, rtt, now, a.Next
}

// update changes the rate by a round trip. The first has no other before it, and no difference.
func (t *Timely) update(now unit.Time, rtt float64) {
	d, k := 0.0, 1.0
	if t.begun {
		d = rtt - t.last
		if t.c.Scaled {
			k = min(float64(now.Sub(t.updated))/t.least, 1)
		}
	}
	t.average = float64((1-t.c.Alpha)*t.average) + float64(t.c.Alpha*d)
	gradient := t.average / t.least
	if t.c.Hyper == HyperByFalls {
		if t.row++; d >= 0 {
			t.row = 0
		}
	}
	switch {
	case rtt < t.low:
		t.raise(k, t.c.Hyper == HyperByIncreases)
	case rtt > t.high:
		t.lower(k * t.c.Beta * (1 - t.high/rtt))
	case t.c.Between == ByWeight:
		w := max(0, min(1, float64(2*gradient)+0.5))
		t.set(float64(t.rate*(1-float64(t.c.Beta*w*(rtt/t.at-1)))) + float64(t.ai*(1-w)))
	case gradient <= 0:
		t.raise(k, true)
	default:
		t.lower(k * t.c.Beta * gradient)
	}
}

// raise adds an increase to the rate, if hyper the greater one when it is time for it.
func (t *Timely) raise(k float64, hyper bool) {
	step := t.ai
	if hyper && t.c.Hyper != HyperOff && t.row >= t.c.HyperAfter {
		step = t.hai
	}
	if t.c.Hyper == HyperByIncreases {
		t.row++
	}
	t.set(t.rate + float64(k*step))
}

// lower takes a share off the rate.
func (t *Timely) lower(share float64) {
	if t.c.Hyper == HyperByIncreases {
		t.row = 0
	}
	t.set(t.rate * max(1-share, float64(t.c.MinDecrease)/100))
}

// set sets the rate, within its range.
func (t *Timely) set(r float64) {
	t.rate = min(max(r, float64(t.c.MinRate)), t.line)
	t.shown = unit.Rate(math.Round(t.rate))
}
