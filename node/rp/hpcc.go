package rp

import (
	"fmt"
	"math"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// HPCCParams are the parameters of HPCC. A preset is one of its published programs:
//
//   - paper: Y. Li et al., "HPCC: High Precision Congestion Control" (SIGCOMM 2019).
//   - repository: its authors' simulator (github.com/alibaba-edu/High-Precision-Congestion-Control,
//     rdma-hw.cc), with its sample configuration (mix/config.txt, run.py). It keeps rates instead
//     of windows: here a window is that rate times the round trip.
//   - htsim: the parameters of github.com/Broadcom/csg-htsim (hpcc.cpp). Its rules differ too:
//     scripts/lab/peers.sh lists them.
type HPCCParams struct {
	// Source of the defaults.
	Preset string `key:"preset" def:"paper" words:"paper|repository|htsim" also:"variant" from:"Li et al. 2019|HPCC's simulator, run.py|htsim, sim/hpcc.cpp" rates:"25Gb/s-400Gb/s|25Gb/s-400Gb/s|100Gb/s" trips:"13us|13us|12us"`
	// Target utilisation of links.
	// Source: Li et al. 2019
	Eta float64 `key:"eta" def:"0.95" low:"above 0" high:"1" also:"target-utilisation" search:"0.9..0.98"`
	// maxStage: after this many round trips of pure increase, with links below eta, the window is
	// scaled.
	MaxStage int `key:"max-stage" by:"preset=5|0|5" low:"0" high:"1000" also:"mi-thresh"`
	// W_AI, added at every window change. packet: one packet as sent. Queues stay empty if N flows
	// times this is well below (1 - eta) times the link rate times base-rtt.
	// Source: Li et al. 2019: 80 B; run.py: 50 Mb/s times 13 µs
	Increase unit.Size `key:"increase" by:"preset=80B|81B|packet" rule:"preset=80B * rate / 100Gb/s * rtt / 13us|10Mb/s * rate / 25Gb/s * rtt|" none:"packet" low:"1B" also:"w-ai"`
	// T: maximum round trip without queues. The first window is the link rate times T, the rate a
	// window per T; utilisation is averaged over T.
	// Source: Li et al. 2019
	BaseRTT unit.Duration `key:"base-rtt" by:"preset=13us|13us|12us" rule:"preset=rtt|rtt|rtt" low:"1ns" high:"1s" also:"rtt" search:"no"`
	// Initial utilisation U, including the queue.
	StartU float64 `key:"start-utilisation" by:"preset=1|1|0.95" low:"0" high:"100" search:"no"`
	// Minimum rate; the smallest window is this times base-rtt.
	// Source: mix/config.txt
	MinRate unit.Rate `key:"min-rate" def:"100Mb/s" from:"preset=HPCC's simulator, mix/config.txt|HPCC's simulator, mix/config.txt|HPCC's simulator, mix/config.txt" low:"1kb/s" search:"no"`
	// Exact telemetry, 80 bytes longer, instead of 64 bits per switch in units of 1 ns, 128 bytes
	// sent and 80 bytes queued.
	Exact bool `key:"exact" def:"false"`
}

// Traits returns the form of the telemetry.
func (p HPCCParams) Traits() Traits {
	if p.Exact {
		return Traits{Telemetry: wire.Exact}
	}
	return Traits{Telemetry: wire.Rounded}
}

// CheckSite refuses windows that cannot work.
func (p HPCCParams) CheckSite(s Site) (string, error) {
	first := windowOf(s.Line, p.BaseRTT)
	switch {
	case p.MinRate > s.Line:
		return "min-rate", fmt.Errorf("the lowest rate, %v, is above the link rate, %v", p.MinRate, s.Line)
	case first < s.Length:
		return "base-rtt", fmt.Errorf("the first window is %v, %v times %v, and a packet has %v on the link: no packet would fit",
			first, s.Line, p.BaseRTT, s.Length)
	}
	if p.Increase > first {
		return "increase", fmt.Errorf("each change adds %v, and the first window is %v: %v times %v", p.Increase, first, s.Line, p.BaseRTT)
	}
	return "", nil
}

func hpccAlgorithm() Algorithm {
	return row(Algorithm{
		Name: "hpcc", Feedback: Delays,
		Doc:    "sets a window by in-band telemetry of each output (bytes sent, queue length, time, rate), on RoCEv2",
		Trials: []Trial{{Point: NoPoint, Flow: []string{"transport.kind=rocev2"}, Control: []string{"exact=true"}}},
	}, func(p HPCCParams, s Site) Reaction { return newHPCC(p, s).Reaction() })
}

// HPCC is the reaction point of HPCC (Li et al. 2019, Algorithm 1). With each ACK it measures, of
// every output on the path,
//
//	u = txRate/C + min(q, q')/(C T),   txRate = bytes sent over tau, since the ACK before
//
// and takes the greatest, U' with its tau, into an average over T:
//
//	U = (1 - tau/T) U + tau/T U'
//	W = Wc/(U/eta) + W_AI    where U >= eta or stage >= maxStage
//	W = Wc + W_AI            else
//	R = W/T
//
// The reference Wc becomes W once in a round trip, with the first ACK of a packet that was sent
// after the last time; stage becomes 0 where the window was scaled, and one more where it was not.
// The first window is as much as the link carries in T, and no window is larger: in the simulator
// no rate is above the line.
type HPCC struct {
	ackClocked
	c           HPCCParams
	most, least float64 // windows, in bytes
	window      float64 // W
	reference   float64 // Wc
	u           float64 // U
	stage       int
	until       uint64 // Wc changes with the ACK of a packet from here on
	hops        [wire.MaxHops]wire.Hop
	known       int // how many of them are known
	rate        unit.Rate
	line        unit.Rate
	form        wire.Telemetry
}

func newHPCC(p HPCCParams, s Site) *HPCC {
	if p.Increase == 0 {
		p.Increase = s.Length
	}
	bytes := func(r unit.Rate) float64 { return float64(r) / 8 * p.BaseRTT.Seconds() }
	h := &HPCC{c: p, most: bytes(s.Line), least: bytes(p.MinRate), u: p.StartU, line: s.Line, form: p.Traits().Telemetry}
	h.set(h.most)
	h.reference = h.window
	return h
}

// Reaction returns the reaction point with what it does in addition to a Controller.
func (h *HPCC) Reaction() Reaction {
	return Reaction{Controller: h, Acknowledged: h}
}

// set stores a window and its rate.
func (h *HPCC) set(w float64) {
	h.window = min(max(w, h.least), h.most)
	h.rate = min(unit.Rate(math.Round(h.window*8/h.c.BaseRTT.Seconds())), h.line)
}

// Acked takes in an ACK with its telemetry. The first one, and the first of a path with another
// number of switches, only gives the state to compare with.
func (h *HPCC) Acked(_ unit.Time, a Ack) {
	if len(a.Hops) == 0 || len(a.Hops) > len(h.hops) {
		return
	}
	if len(a.Hops) != h.known {
		h.known, h.until = copy(h.hops[:], a.Hops), a.Next
		return
	}
	if !h.measure(a.Hops) {
		return
	}
	w, stage := h.reference+float64(h.c.Increase), h.stage+1
	if h.u >= h.c.Eta || h.stage >= h.c.MaxStage {
		w, stage = h.reference/(h.u/h.c.Eta)+float64(h.c.Increase), 0
	}
	h.set(w)
	if a.Oldest > h.until {
		h.reference, h.stage, h.until = h.window, stage, a.Next
	}
}

// measure takes the state of all outputs into U, and reports whether time has gone by.
func (h *HPCC) measure(hops []wire.Hop) bool {
	worst, tau := -1.0, unit.Duration(0)
	for i := range hops {
		is, was := &hops[i], &h.hops[i]
		time, sent := is.Since(was, h.form)
		if time > 0 && is.Rate > 0 {
			capacity := float64(is.Rate) / 8
			u := float64(sent)/(time.Seconds()*capacity) + float64(min(is.Queue, was.Queue))/(capacity*h.c.BaseRTT.Seconds())
			if u > worst {
				worst, tau = u, time
			}
		}
		*was = *is
	}
	if tau == 0 {
		return false
	}
	share := min(tau, h.c.BaseRTT).Seconds() / h.c.BaseRTT.Seconds()
	h.u = float64((1-share)*h.u) + float64(share*worst) // rounded apart on every processor
	return h.u > 0
}

// Window returns W.
func (h *HPCC) Window() unit.Size { return unit.Size(h.window) }

// Rate returns W/T.
func (h *HPCC) Rate() unit.Rate { return h.rate }
