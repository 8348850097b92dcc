package rp

import (
	"math"
	"testing"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// The rules of HPCC: Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019,
// Algorithm 1, as the Internet draft draft-miao-ccwg-hpcc has it.

// hpccOf returns a reaction point with the parameters of a preset, at 100 Gb/s.
func hpccOf(t *testing.T, preset string) *HPCC {
	t.Helper()
	p := param.Of(HPCCParams{}).Build(func(p *param.Param) any {
		if p.Key == "preset" {
			return preset
		}
		return nil
	}, nil).(HPCCParams)
	p.Exact = true
	h, err := NewHPCC(p, Site{Line: 100e9, Length: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// path is the outputs on a way of 100 Gb/s, 12500 bytes a microsecond.
type path struct {
	h    *HPCC
	hops []wire.Hop
	ack  uint64
	next uint64
}

func newPath(h *HPCC, outputs int) *path {
	p := &path{h: h, hops: make([]wire.Hop, outputs), next: 100}
	for i := range p.hops {
		p.hops[i].Rate = 100e9
	}
	return p
}

// passes lets time go by, in which output i sends a share of its capacity and has a queue behind
// it, and hands over the ACK of the next packet.
func (p *path) passes(d unit.Duration, shares, queues []float64) {
	for i := range p.hops {
		p.hops[i].Time = p.hops[i].Time.Add(d)
		p.hops[i].Sent += unit.Size(math.Round(shares[i] * 12.5e9 * d.Seconds()))
		p.hops[i].Queue = unit.Size(queues[i])
	}
	p.ack++
	p.h.Acked(0, Ack{Hops: p.hops, Oldest: p.ack, Next: p.next})
}

// near fails where a window, or the utilisation, is another.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// "W = Winit = B T": a flow begins at the rate of its link, with what that carries in T.
func TestHPCCStarts(t *testing.T) {
	h := hpccOf(t, "paper")
	if h.Rate() != 100e9 || h.Window() != 162_500 {
		t.Errorf("%v, a window of %v", h.Rate(), h.Window())
	}
}

// "u' = min(ack.L[i].qlen, L[i].qlen)/(ack.L[i].B*T) + txRate/ack.L[i].B; if u' > u then u = u';
// tau = ..., tau = min(tau, T); U = (1 - tau/T)*U + tau/T*u", over all links of the path.
func TestHPCCMeasuresTheBusiestOutput(t *testing.T) {
	p := newPath(hpccOf(t, "paper"), 3)
	p.passes(0, []float64{0, 0, 0}, []float64{0, 0, 0}) // the first gives the state
	if p.h.Rate() != 100e9 {
		t.Errorf("the first ACK makes it %v", p.h.Rate())
	}
	p.passes(1300*unit.Nanosecond, []float64{0.5, 0.8, 0.7}, []float64{0, 0, 16250})
	near(t, "U", p.h.u, 0.9*1+0.1*0.8) // the queue before was 0
	p.passes(1300*unit.Nanosecond, []float64{0.5, 0.8, 0.72}, []float64{0, 0, 32500})
	near(t, "U", p.h.u, 0.9*0.98+0.1*(0.72+0.1))
	p.passes(20*unit.Microsecond, []float64{0.5, 1, 0.5}, []float64{0, 0, 0})
	near(t, "U", p.h.u, 1)
}

// "if U >= eta or incStage >= maxStage then W = Wc/(U/eta) + W_ai", "else W = Wc + W_ai"; "if
// updateWc then ... Wc = W", and that is so where "ack.seq > lastUpdateSeq": W changes with each
// ACK, Wc once in a round trip.
func TestHPCCWindowByReference(t *testing.T) {
	p := newPath(hpccOf(t, "paper"), 1)
	at := func(share, queue float64) { p.passes(13*unit.Microsecond, []float64{share}, []float64{queue}) }
	at(0, 0)
	const first = 162_500.
	for range 3 { // each from Wc: the reaction to one queue is not repeated
		at(1.9, 0)
		near(t, "W", p.h.window, first/2+80)
	}
	near(t, "Wc", p.h.reference, first)
	p.ack, p.next = 100, 150 // the ACK of packet 100 is the first of those that left after the last update
	at(1.9, 0)
	near(t, "Wc", p.h.reference, first/2+80)
	at(1.9, 0)
	near(t, "W", p.h.window, (first/2+80)/2+80)
}

// maxStage: "at most maxStage times" the window only rises; then it is scaled, and it is scaled
// each time with maxStage 0, as in the simulator.
func TestHPCCStages(t *testing.T) {
	for preset, stages := range map[string]int{"paper": 5, "repository": 0, "htsim": 5} {
		h := hpccOf(t, preset)
		p := newPath(h, 1)
		h.set(h.most / 4)
		h.reference = h.window
		update := func() {
			p.ack, p.next = p.next, p.next+10
			p.passes(13*unit.Microsecond, []float64{0.5}, []float64{0})
		}
		update()
		for range stages {
			was := h.reference
			update()
			near(t, preset+": Wc after an increase", h.reference, was+float64(h.c.Increase))
		}
		was := h.reference
		update()
		near(t, preset+": Wc scaled", h.reference, was*0.95/0.5+float64(h.c.Increase))
		if h.stage != 0 {
			t.Errorf("%s: stage %d", preset, h.stage)
		}
	}
}

// A way with another number of switches begins again, telemetry without time says nothing, and no
// window leaves its range.
func TestHPCCBounds(t *testing.T) {
	h := hpccOf(t, "paper")
	p := newPath(h, 1)
	for range 400 {
		p.passes(13*unit.Microsecond, []float64{3}, []float64{1e6})
		p.ack, p.next = p.next, p.next+10
	}
	if h.Rate() != 100e6 {
		t.Errorf("the lowest rate is %v", h.Rate())
	}
	for range 400 {
		p.passes(13*unit.Microsecond, []float64{0.01}, []float64{0})
		p.ack, p.next = p.next, p.next+10
	}
	if h.Rate() != 100e9 {
		t.Errorf("the highest rate is %v", h.Rate())
	}
	p.passes(0, []float64{0}, []float64{0})
	longer := newPath(h, 5)
	longer.passes(13*unit.Microsecond, []float64{9, 9, 9, 9, 9}, []float64{9, 9, 9, 9, 9})
	h.Acked(0, Ack{})
	if h.Rate() != 100e9 {
		t.Errorf("it is %v", h.Rate())
	}
}

func TestHPCCRefusesSites(t *testing.T) {
	good := param.Defaults(HPCCParams{})
	for key, change := range map[string]func(p *HPCCParams){
		"min-rate": func(p *HPCCParams) { p.MinRate = 200e9 },
		"base-rtt": func(p *HPCCParams) { p.BaseRTT = 50 * unit.Nanosecond },
		"increase": func(p *HPCCParams) { p.Increase = unit.MB },
	} {
		p := good
		change(&p)
		site := Site{Line: 100e9, Length: 1000}
		if got, err := p.CheckSite(site); got != key || err == nil {
			t.Errorf("%s: %q, %v", key, got, err)
		}
		if _, err := NewHPCC(p, site); err == nil {
			t.Errorf("%s: it is made", key)
		}
	}
}

// DCQCN with a window: it belongs to the rate, or is that of the link.
func TestDCQCNWindow(t *testing.T) {
	for _, variable := range []bool{true, false} {
		p := DCQCNWindowParams{DCQCNParams: preset("paper"), BaseRTT: 13 * us, Variable: variable}
		r, err := dcqcnWindowAlgorithm().New(p, Site{Line: 100e9, Length: 1000})
		if err != nil {
			t.Fatal(err)
		}
		d := r.Controller.(*DCQCNWindow)
		if d.Window() != 162_500 {
			t.Errorf("it begins with %v", d.Window())
		}
		d.Feedback(1, wire.Frame{Kind: wire.CNP})
		want := map[bool]unit.Size{true: 81_250, false: 162_500}[variable]
		if d.Rate() != 50e9 || d.Window() != want {
			t.Errorf("variable %v: after a CNP %v and %v", variable, d.Rate(), d.Window())
		}
	}
	p := DCQCNWindowParams{DCQCNParams: preset("paper"), BaseRTT: 50 * unit.Nanosecond}
	if key, err := p.CheckSite(Site{Line: 100e9, Length: 1000}); key != "base-rtt" || err == nil {
		t.Errorf("%q, %v", key, err)
	}
}
