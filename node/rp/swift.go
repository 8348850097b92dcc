package rp

import (
	"fmt"
	"math"

	"fabemu/wire/unit"
)

// SwiftParams are the parameters of Swift. A preset is one of:
//
//   - paper: G. Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the
//     Datacenter" (SIGCOMM 2020), Algorithm 1. The text at hand has rules and few constants: the
//     others are those of htsim, which calls them guesses. The base target is "the minimum target
//     delay required to provide 100% utilization in a one hop network with a small number of
//     flows", so it depends on the fabric: a link stays busy after the largest decrease if the
//     target is the round trip over one switch over 1 - max-decrease.
//   - htsim: the simulator htsim (github.com/Broadcom/csg-htsim, sim/swift.cpp), with one window
//     for all delays, and flow scaling by whole packets.
//
// Windows are numbers of packets.
type SwiftParams struct {
	// Source of the defaults and rules.
	Preset string `key:"preset" def:"paper" words:"paper|htsim" also:"variant" from:"Kumar et al. 2020|htsim, sim/swift.cpp"`
	// Target delay, before hops and scaling are added.
	// Source: htsim
	BaseTarget unit.Duration `key:"base-target" def:"20us" rule:"preset=one-switch / 0.5|" from:"preset=htsim, sim/swift.cpp|" guess:"paper value|htsim" low:"1ns"`
	// Added to the target per switch on the path.
	// Source: htsim: base/6.55
	HopTarget unit.Duration `key:"hop-target" def:"3053ns" rule:"preset=per-switch|" from:"preset=htsim, sim/swift.cpp|" guess:"paper value|htsim" low:"0ns"`
	// Number of switches on the path. path: the real number, in a workload one.
	Hops int `key:"hops" def:"path" rule:"preset=switches|switches" none:"path" low:"1" high:"255" search:"no"`
	// Maximum that flow scaling adds to the target, at windows up to scaling-min. none: no flow
	// scaling.
	// Source: htsim: five times the base target
	ScalingRange unit.Duration `key:"scaling-range" def:"100us" rule:"preset=one-switch / 0.5 * 5|" from:"preset=htsim, sim/swift.cpp|" guess:"paper|htsim" none:"none" low:"1ns"`
	// Window at which scaling adds scaling-range; between both bounds it follows 1/sqrt(window).
	// Source: htsim
	ScalingMin float64 `key:"scaling-min" def:"0.1" from:"preset=htsim, sim/swift.cpp|" guess:"paper|htsim" low:"above 0" high:"1e9" counts:"scaling-range!=none"`
	// Window above which scaling adds nothing.
	// Source: htsim
	ScalingMax float64 `key:"scaling-max" def:"100" from:"preset=htsim, sim/swift.cpp|" guess:"paper|htsim" low:"above 0" high:"1e9" counts:"scaling-range!=none"`
	// Scaling uses the exact window, or whole packets, rounded down.
	ScalingBy string `key:"scaling-by" by:"preset=window|whole-packets" words:"window|whole-packets" counts:"scaling-range!=none"`
	// ai: window increase per round trip below the target; for a window below 1, per acknowledged
	// packet.
	// Source: htsim
	WindowIncrease float64 `key:"window-increase" def:"1" from:"preset=htsim, sim/swift.cpp|" guess:"paper|htsim" low:"above 0" high:"1e6" search:"4"`
	// beta: share of the excess over the target by which the window shrinks, once per round trip.
	// Source: htsim
	DecreaseGain float64 `key:"decrease-gain" def:"0.8" from:"preset=htsim, sim/swift.cpp|" guess:"paper|htsim" low:"above 0" high:"1" search:"2"`
	// Largest share of one decrease; losses apply it at once.
	// Source: htsim
	MaxDecrease float64 `key:"max-decrease" def:"0.5" from:"preset=htsim, sim/swift.cpp|" guess:"paper|htsim" low:"above 0" high:"0.999999" search:"2"`
	// separate: one window for fabric delay and one for endpoint delay; the smaller counts. one: a
	// single window for their sum.
	Windows string `key:"windows" by:"preset=separate|one" words:"separate|one"`
	// separate: target of the endpoint delay.
	EndpointTarget unit.Duration `key:"endpoint-target" def:"20us" guess:"paper|htsim" low:"1ns" counts:"windows=separate" search:"no"`
	// Initial window.
	// Source: htsim
	StartWindow float64 `key:"start-window" def:"12" from:"preset=htsim, sim/swift.cpp|" low:"above 0" high:"1e9"`
	// Minimum window.
	// Source: Kumar et al. 2020
	LeastWindow float64 `key:"least-window" def:"0.001" low:"above 0" high:"1e9" guess:"htsim"`
	MostWindow  float64 `key:"most-window" def:"1000" low:"1" high:"1e9" doc:"Maximum window." guess:"paper|htsim"`
	// Consecutive losses, without an ACK, after which the window is least-window.
	ResetAfter int `key:"reset-after" def:"5" guess:"paper|htsim" low:"1" high:"1048576"`
}

// The words of parameters that the rules of the algorithm compare.
const (
	SeparateWindows = "separate"      // Windows
	WholePackets    = "whole-packets" // ScalingBy
)

// CheckSite refuses targets and windows that cannot work.
func (p SwiftParams) CheckSite(s Site) (string, error) {
	packet := s.Line.Serialise(s.Length)
	switch {
	case p.BaseTarget <= packet:
		return "base-target", fmt.Errorf("base-target is %v, and a packet of %v takes %v on a link of %v: with one packet in flight the delay is above the target, and windows only shrink",
			p.BaseTarget, s.Length, packet, s.Line)
	case p.ScalingRange > 0 && p.ScalingMin >= p.ScalingMax:
		return "scaling-max", fmt.Errorf("scaling-min is %v and scaling-max %v: 1/sqrt(scaling-min) - 1/sqrt(scaling-max) must be above 0",
			p.ScalingMin, p.ScalingMax)
	case p.LeastWindow >= p.MostWindow:
		return "least-window", fmt.Errorf("least-window is %v and most-window %v: no window is between them", p.LeastWindow, p.MostWindow)
	case p.StartWindow < p.LeastWindow || p.StartWindow > p.MostWindow:
		return "start-window", fmt.Errorf("start-window is %v, and windows are from %v to %v", p.StartWindow, p.LeastWindow, p.MostWindow)
	case p.MostWindow*float64(s.Length) > math.MaxInt32:
		return "most-window", fmt.Errorf("most-window is %v packets of %v: a window is less than 2GiB", p.MostWindow, s.Length)
	}
	return "", nil
}

func swiftAlgorithm() Algorithm {
	return row(Algorithm{Name: "swift", Feedback: Delays,
		Doc:    "keeps the delay that ACKs measure at a target by a window; the target depends on hops and window (Swift), on RoCEv2",
		Trials: []Trial{{Point: NoPoint, Flow: []string{"transport.kind=rocev2"}}}},
		func(p SwiftParams, s Site) Reaction { return newSwift(p, s).Reaction() })
}

// Swift is the reaction point of a flow ("Swift", Algorithm 1). With each ACK of n packets, of a
// window w:
//
//	target = base + hops h + clamp(a/sqrt(w) + b, 0, range)
//	         a = range/(1/sqrt(min) - 1/sqrt(max)),  b = -a/sqrt(max)
//	delay < target:              w = w + ai n/w, below a packet w + ai n
//	else, once in a round trip:  w = w max(1 - beta (delay - target)/delay, 1 - max-decrease)
//
// A window below a packet is one packet in a round trip over the window. Packets that are lost take
// max-decrease off once in a round trip.
type Swift struct {
	ackClocked
	c       SwiftParams
	line    unit.Rate
	packet  float64 // its length in bytes
	base    float64 // target without scaling, in picoseconds
	a, b    float64 // of the scaling
	fabric  swiftWindow
	end     swiftWindow // by the time at the destination
	trip    float64     // the last round trip, all of it; 0: none yet
	losses  int         // in a row
	limit   unit.Size
	current unit.Rate
}

// swiftWindow is a window, in packets.
type swiftWindow struct {
	w     float64
	until unit.Time // it may not fall again before
}

func newSwift(p SwiftParams, s Site) *Swift {
	hops := max(s.Hops, 1)
	if p.Hops > 0 {
		hops = p.Hops
	}
	w := &Swift{c: p, line: s.Line, packet: float64(s.Length), base: float64(p.BaseTarget) + float64(p.HopTarget)*float64(hops)}
	if p.ScalingRange > 0 {
		w.a = float64(p.ScalingRange) / (1/math.Sqrt(p.ScalingMin) - 1/math.Sqrt(p.ScalingMax))
		w.b = -w.a / math.Sqrt(p.ScalingMax)
	}
	w.fabric.w, w.end.w = p.StartWindow, p.StartWindow
	if p.Windows == SeparateWindows {
		w.end.w = p.MostWindow
	}
	w.set()
	return w
}

// Reaction returns the reaction point with what it does in addition to a Controller.
func (s *Swift) Reaction() Reaction {
	return Reaction{Controller: s, Acknowledged: s}
}

// Rate returns the rate of the link, or for a window below a packet the one that paces it.
func (s *Swift) Rate() unit.Rate { return s.current }

// Window returns the window in bytes.
func (s *Swift) Window() unit.Size { return s.limit }

// target returns the delay of the fabric that the flow aims at now, in picoseconds.
func (s *Swift) target() float64 {
	if s.a == 0 {
		return s.base
	}
	w := s.fabric.w
	if s.c.ScalingBy == WholePackets {
		w = math.Floor(w)
	}
	return s.base + min(max(s.a/math.Sqrt(w)+s.b, 0), float64(s.c.ScalingRange))
}

// Acked takes in the delays of an ACK.
func (s *Swift) Acked(now unit.Time, a Ack) {
	if a.RTT == 0 {
		return
	}
	s.trip, s.losses = float64(a.RTT+a.Held), 0
	packets := float64(a.Bytes) / s.packet
	if s.c.Windows == SeparateWindows {
		s.move(&s.fabric, now, float64(a.RTT), s.target(), packets)
		s.move(&s.end, now, float64(a.Held), float64(s.c.EndpointTarget), packets)
	} else {
		s.move(&s.fabric, now, s.trip, s.target(), packets)
		s.end.w = s.fabric.w
	}
	s.set()
}

// move changes a window by a delay.
func (s *Swift) move(x *swiftWindow, now unit.Time, delay, target, packets float64) {
	switch {
	case delay < target && x.w >= 1:
		x.w += float64(s.c.WindowIncrease * packets / x.w)
	case delay < target:
		x.w += float64(s.c.WindowIncrease * packets)
	default:
		s.fall(x, now, max(1-float64(s.c.DecreaseGain*(1-target/delay)), 1-s.c.MaxDecrease))
	}
	x.w = min(max(x.w, s.c.LeastWindow), s.c.MostWindow)
}

// fall multiplies a window by a factor, once in a round trip.
func (s *Swift) fall(x *swiftWindow, now unit.Time, factor float64) {
	if now >= x.until {
		x.w, x.until = x.w*factor, now.Add(unit.Duration(s.trip))
	}
}

// Lost takes max-decrease off the window of the fabric; after reset-after losses in a row all of
// it.
func (s *Swift) Lost(now unit.Time) {
	if s.losses++; s.losses >= s.c.ResetAfter {
		s.fabric.w = s.c.LeastWindow
	} else {
		s.fall(&s.fabric, now, 1-s.c.MaxDecrease)
	}
	s.fabric.w = max(s.fabric.w, s.c.LeastWindow)
	if s.c.Windows != SeparateWindows {
		s.end.w = s.fabric.w
	}
	s.set()
}

// set computes the window in bytes, and the rate.
func (s *Swift) set() {
	w := min(s.fabric.w, s.end.w)
	s.limit, s.current = unit.Size(math.Ceil(w*s.packet)), s.line
	if w < 1 && s.trip > 0 {
		paced := w * s.packet * 8 * float64(unit.Second) / s.trip
		s.current = unit.Rate(min(max(math.Round(paced), 1), float64(s.line)))
	}
}
