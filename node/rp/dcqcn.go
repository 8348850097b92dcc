package rp

import (
	"fmt"
	"math"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// DCQCNParams are the parameters of DCQCN: the parameters of its reaction point, and of its
// notification point at the destination, whose names begin with cnp. Published variants
// differ in nearly each of them, and a preset is one of those variants:
//
//   - paper: Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM
//     2015). It does not give hyper-increase and min-rate; those are of ns3-rdma.
//   - ns3-rdma: the simulator of its authors (github.com/bobzhuyb/ns3-rdma,
//     qbb-net-device.cc), with its sample configuration (mix/config.txt).
//   - hpcc: the simulator of HPCC (github.com/alibaba-edu/High-Precision-Congestion-Control,
//     rdma-hw.cc: "Mellanox's version of DCQCN"), as in its run.py for dcqcn. There the
//     ACK of each marked packet carries the notification; here that packet has a CNP.
//   - connectx: the rules of hpcc with the defaults of NVIDIA ConnectX-4 and later (DOCA,
//     "DCQCN CC Parameters"; mlxconfig). Its byte counter has a default whose unit is not
//     published; as in hpcc there is none.
type DCQCNParams struct {
	// Source of the defaults and rules.
	Preset string `key:"preset" def:"paper" words:"paper|ns3-rdma|hpcc|connectx" also:"variant" from:"Zhu et al. 2015|ns3-rdma, mix/config.txt|HPCC's simulator, run.py|NVIDIA DOCA, DCQCN CC Parameters" rates:"40Gb/s|40Gb/s|25Gb/s-400Gb/s|"`
	// Whether a CNP cuts the rate before or after it raises alpha.
	CutOrder string `key:"cut-order" by:"preset=cut-first|alpha-first|cut-first|cut-first" words:"cut-first|alpha-first" counts:"alpha-update=cnp"`
	// alpha at the first CNP.
	// Source: ConnectX: initial_alpha_value 1023/1024
	AlphaStart float64 `key:"alpha-start" by:"preset=1|0.5|1|0.9990234375" low:"above 0" high:"1" also:"initial-alpha" search:"no"`
	// Gain of alpha: (1-g) alpha + g with a CNP, (1-g) alpha without.
	// Source: ConnectX: dce_tcp_g 1019
	G float64 `key:"g" by:"preset=0.00390625|0.00390625|0.00390625|0.0048828125" low:"above 0" high:"1" also:"ewma-gain"`
	// When alpha changes. cnp: up with every CNP, down at every alpha-timer since the last; timer:
	// at every alpha-timer since the first CNP, up if a CNP arrived, otherwise down.
	AlphaUpdate string `key:"alpha-update" by:"preset=cnp|cnp|timer|timer" words:"cnp|timer"`
	// Time after which alpha decreases.
	// Source: ConnectX: dce_tcp_rtt
	AlphaTimer unit.Duration `key:"alpha-timer" by:"preset=55us|55us|1us|1us" low:"1ns"`
	// The rate is cut only at the end of such periods since the first CNP, if a CNP arrived, after
	// the change of alpha. none: with each CNP.
	// Source: ConnectX: rate_reduce_monitor_period
	MonitorPeriod unit.Duration `key:"monitor-period" by:"preset=none|none|4us|4us" low:"1ns" none:"none"`
	// Share of the rate left by the first CNP, before its regular cut.
	// Source: HPCC's simulator: RateOnFirstCnp; ConnectX: rate_to_set_on_first_cnp
	FirstRate float64 `key:"first-rate" def:"1" low:"above 0" high:"1"`
	// A cut reduces the rate by the share alpha/2^gd.
	// Source: Zhu et al. 2015
	Gd int `key:"gd" def:"1" low:"0" high:"30"`
	// Percentage of the rate that a cut leaves at least.
	// Source: ConnectX: rpg_min_dec_fac
	MinDecrease int `key:"min-decrease" by:"preset=0|0|0|50" low:"0" high:"100"`
	// When a cut sets the target rate to the previous rate and resets the byte counter: always, or
	// only if the byte counter (after-byte-cycle) or either counter (after-cycle) ended a cycle
	// since the previous cut.
	// Source: ns3-rdma: CLAMP_TARGET_RATE; ConnectX: clamp_tgt_rate, clamp_tgt_rate_after_time_inc
	Clamp string `key:"clamp" by:"preset=always|always|after-cycle|after-cycle" words:"always|after-byte-cycle|after-cycle" also:"clamp-target-rate"`
	// T: timer cycle after which the rate rises.
	// Source: ConnectX: rpg_time_reset
	RateTimer unit.Duration `key:"rate-timer" by:"preset=55us|60us|300us|300us" low:"1ns" none:"none" also:"rpg-time-reset"`
	// B: byte-counter cycle after which the rate rises.
	ByteCounter unit.Size `key:"byte-counter" by:"preset=10MB|300MB|none|none" low:"1B" none:"none" also:"rpg-byte-reset"`
	// F: number of the cycle that ends fast recovery, during which the target rate is constant;
	// with phases: timer, the cycle after it.
	// Source: ConnectX: rpg_threshold
	Threshold int `key:"threshold" by:"preset=5|5|1|1" low:"1" high:"1048576" also:"rpg-threshold"`
	// Phase in which a cycle raises the rate. paper: fast recovery until byte counter or timer
	// exceeds the threshold, hyper increase once both do. qcn: additive increase at the threshold,
	// hyper increase by a timer that finds both there, with cycles half as long; in a first cycle,
	// a target above ten times the rate drops to an eighth. timer: one additive increase, then
	// hyper increase.
	Phases string `key:"phases" by:"preset=paper|qcn|timer|timer" words:"paper|qcn|timer"`
	// R_AI: target rate increase per additive cycle.
	// Source: ConnectX: rpg_ai_rate
	ActiveIncrease unit.Rate `key:"active-increase" by:"preset=40Mb/s|40Mb/s|5Mb/s|5Mb/s" grows:"rate/increase-per" also:"rpg-ai-rate"`
	// R_HAI: increase per hyper cycle (hyper-step).
	// Source: ConnectX: rpg_hai_rate
	HyperIncrease unit.Rate `key:"hyper-increase" by:"preset=200Mb/s|200Mb/s|50Mb/s|50Mb/s" grows:"rate/increase-per" from:"preset=ns3-rdma, mix/config.txt|||" also:"rpg-hai-rate"`
	// Link rate for which the increases are given; they scale with the link. none: they do not.
	// Source: HPCC's simulator
	IncreasePer unit.Rate `key:"increase-per" by:"preset=none|none|25Gb/s|none" none:"none"`
	// How often a cycle adds hyper-increase: the number of cycles that the slower counter is past
	// the threshold, one more, or once.
	HyperStep   string `key:"hyper-step" by:"preset=cycles|cycles-and-one|fixed|fixed" words:"cycles|cycles-and-one|fixed"`
	BoundTarget bool   `key:"bound-target" by:"preset=true|false|true|true" doc:"The target rate is bounded by the link rate."`
	// Minimum rate, at most the link rate.
	// Source: ConnectX: rpg_min_rate
	MinRate unit.Rate `key:"min-rate" by:"preset=100Mb/s|100Mb/s|1Gb/s|1Mb/s" from:"preset=ns3-rdma, mix/config.txt|||" also:"rpg-min-rate" search:"no"`

	// Minimum time between CNPs. none: one per marked packet.
	// Source: ConnectX: min_time_between_cnps
	CNPInterval unit.Duration `key:"cnp-interval" by:"preset=50us|50us|none|4us" low:"1ns" none:"none" also:"min-time-between-cnps"`
	// Effect of a mark within the interval. next-mark: none; the first mark after it sends a CNP.
	// interval-end: a CNP at its end. clock: as interval-end, with intervals back to back since the
	// flow's first packet.
	CNPRule string `key:"cnp-rule" by:"preset=next-mark|clock|next-mark|next-mark" words:"next-mark|interval-end|clock"`
	// The interval is per flow, or common to all flows into the endpoint.
	// Source: ConnectX
	CNPPer   string        `key:"cnp-per" by:"preset=flow|flow|flow|port" words:"flow|port"`
	CNPDelay unit.Duration `key:"cnp-delay" def:"none" low:"1ns" none:"none" doc:"Time to generate a CNP."`
	// Priority of CNPs, unless the flow's is higher.
	// Source: ConnectX: cnp_802p_prio
	CNPPriority uint8 `key:"cnp-priority" by:"preset=7|7|7|6" low:"0" high:"7" search:"no"`
}

// The words of parameters that the rules of the algorithm compare.
const (
	CutFirst            = "cut-first" // CutOrder
	AlphaFirst          = "alpha-first"
	AlphaByCNP          = "cnp" // AlphaUpdate
	AlphaByTimer        = "timer"
	ClampAlways         = "always" // Clamp
	ClampAfterByteCycle = "after-byte-cycle"
	ClampAfterCycle     = "after-cycle"
	PhasesOfPaper       = "paper" // Phases
	PhasesOfQCN         = "qcn"
	PhasesOfTimer       = "timer"
	StepOfCycles        = "cycles" // HyperStep
	StepOfCyclesAndOne  = "cycles-and-one"
	AtIntervalEnd       = "interval-end" // CNPRule
	AtClock             = "clock"
	AtNextMark          = "next-mark"
	PerFlow             = "flow" // CNPPer
	PerPort             = "port"
)

// CheckSite refuses parameters by which a rate could not fall or not rise.
func (p DCQCNParams) CheckSite(s Site) (string, error) {
	switch {
	case p.MinRate > s.Line:
		return "min-rate", fmt.Errorf("the lowest rate, %v, is above the highest, %v", p.MinRate, s.Line)
	case p.RateTimer == 0 && p.ByteCounter == 0:
		return "rate-timer",
			fmt.Errorf("with neither rate-timer nor byte-counter no rate rises again: give one of them")
	case p.Phases == PhasesOfTimer && p.ByteCounter > 0:
		return "byte-counter",
			fmt.Errorf("with phases: timer there is no byte counter, and byte-counter is %v: leave it out, or choose other phases",
				p.ByteCounter)
	case p.CNPPer == PerPort && p.CNPInterval > 0 && p.CNPRule != AtNextMark:
		return "cnp-per",
			fmt.Errorf("with cnp-per: port the CNP goes to the flow whose packet is marked next: give cnp-rule: next-mark")
	}
	return "", nil
}

// Traits returns that data is answered, by a CNP.
func (p DCQCNParams) Traits() Traits {
	return Traits{Sends: func(f *wire.Frame) (data, answer wire.Frame) {
		answer = wire.Frame{Kind: wire.CNP, Family: wire.RoCEv2, Lane: max(f.Lane, p.CNPPriority)}
		answer.SetRoCE(wire.RoCE{IPv6: f.RoCE().IPv6})
		return *f, answer
	}}
}

func dcqcnAlgorithm() Algorithm {
	rocev2 := []string{"transport.kind=rocev2"}
	trials := []Trial{
		{Point: "ecn", Flow: rocev2},
		{Name: "connectx", Point: "ecn", Flow: rocev2, Control: []string{"preset=connectx"}},
	}
	l := row(Algorithm{Name: "dcqcn", Feedback: Marks,
		Doc:    "is the algorithm of RoCEv2: destinations answer marked packets by CNPs, which cut the rate by a share that grows with their frequency; a byte counter and a timer raise it",
		Trials: trials},
		func(p DCQCNParams, s Site) Reaction { return newDCQCN(p, s).Reaction() })
	l.Answer = func(params any, s Site) (Answerer, error) { return NewNotificationPoint(params.(DCQCNParams), s) }
	return l
}

// DCQCN is the reaction point of a flow (the paper's section 3.1, "RP algorithm"). It has a
// current rate RC, a target rate RT, and alpha, an estimate of how congested the path is:
//
//	with a CNP:            RT = RC;  RC = RC (1 - alpha/2);  alpha = (1-g) alpha + g
//	each K without:        alpha = (1-g) alpha
//	each B bytes, each T:  RC = (RT + RC)/2, where additive increase has RT = RT + R_AI
//	                       before, hyper increase RT = RT + i R_HAI
//
// That is the preset paper; DCQCNParams has the others. Rates are numbers of bits
// per second with a fraction. A flow that has its line again keeps alpha.
//
// Alpha is computed when it is needed, and the timer rests while the flow has its line: that
// changes nothing, and a timer of a microsecond costs nothing.
type DCQCN struct {
	c       DCQCNParams
	line    float64
	ai, hai float64
	rate    unit.Rate // current, to the nearest bit per second
	current float64
	target  float64

	notified bool      // there has been a CNP
	first    unit.Time // the first of them, from which monitor periods are counted
	waiting  unit.Time // monitor-period: when the cut is that CNPs wait for; Never: none waits

	alpha   float64
	updated unit.Time // since when its timer goes
	came    bool      // alpha-update: timer: a CNP since then

	bytes     unit.Size // until the byte counter ends its cycle; below zero it has
	byteStage int       // cycles that the byte counter has ended since the last cut
	timeStage int       // and the timer
	expires   unit.Time // when the timer ends its cycle; Never: it rests
	phase     phase     // of the last end of a cycle
}

// phase is the effect of the end of a cycle on the target rate.
type phase uint8

const (
	recovery phase = iota
	additive
	hyper
)

// NewDCQCN returns the reaction point of a flow, which has its line until the first CNP.
func NewDCQCN(p DCQCNParams, s Site) (*DCQCN, error) { return checked(p, s, newDCQCN) }

func newDCQCN(p DCQCNParams, s Site) *DCQCN {
	d := &DCQCN{c: p, line: float64(s.Line), alpha: p.AlphaStart, bytes: p.ByteCounter, expires: unit.Never,
		waiting: unit.Never}
	d.current, d.target, d.rate = d.line, d.line, s.Line
	d.ai, d.hai = float64(p.ActiveIncrease), float64(p.HyperIncrease)
	if p.IncreasePer > 0 {
		d.ai, d.hai = d.ai*d.line/float64(p.IncreasePer), d.hai*d.line/float64(p.IncreasePer)
	}
	return d
}

// Reaction returns the reaction point with what it does in addition to a Controller.
func (d *DCQCN) Reaction() Reaction {
	return Reaction{Controller: d, Target: d.Target, Active: d.Active, Refuses: d.Refuses}
}

// Rate returns the current rate.
func (d *DCQCN) Rate() unit.Rate { return d.rate }

// Target returns the target rate, to the nearest bit per second.
func (d *DCQCN) Target() unit.Rate { return unit.Rate(math.Round(d.target)) }

// Active reports whether the flow has less than its line.
func (d *DCQCN) Active() bool { return d.current < d.line }

// Deadline returns when the timer ends its cycle, or when a cut is that waits for the end of
// a period.
func (d *DCQCN) Deadline() unit.Time { return min(d.expires, d.waiting) }

// Refuses returns why a frame is not feedback: it is not a CNP.
func (d *DCQCN) Refuses(_ unit.Time, f wire.Frame) trace.Reason {
	if f.Kind != wire.CNP {
		return trace.NotAwaited
	}
	return trace.NoReason
}

// Feedback takes in a CNP.
func (d *DCQCN) Feedback(now unit.Time, f wire.Frame) {
	if f.Kind != wire.CNP {
		return
	}
	fresh := !d.notified
	if fresh {
		d.notified, d.first, d.updated = true, now, now
		d.current *= d.c.FirstRate
		d.target = d.current
	}
	if d.c.AlphaUpdate == AlphaByTimer {
		d.settleAlpha(now)
		d.came = !fresh
	}
	if d.c.MonitorPeriod == 0 {
		d.settleAlpha(now)
		d.cut(now)
		return
	}
	d.set()
	if d.waiting == unit.Never {
		periods := max(1, (now.Sub(d.first)+d.c.MonitorPeriod-1)/d.c.MonitorPeriod)
		d.waiting = d.first.Add(periods * d.c.MonitorPeriod)
	}
}

// alphaBefore returns alpha as the ends of its timer before an instant leave it, and since
// when the timer goes then.
func (d *DCQCN) alphaBefore(now unit.Time) (alpha float64, updated unit.Time) {
	ends := (now.Sub(d.updated) - 1) / d.c.AlphaTimer
	if !d.notified || ends <= 0 {
		return d.alpha, d.updated
	}
	alpha = d.alpha * math.Pow(1-d.c.G, float64(ends))
	if d.came { // the first of them raised it
		alpha += float64(d.c.G * math.Pow(1-d.c.G, float64(ends-1))) // rounded apart on every processor
	}
	return alpha, d.updated.Add(ends * d.c.AlphaTimer)
}

// settleAlpha brings alpha up to date.
func (d *DCQCN) settleAlpha(now unit.Time) {
	alpha, updated := d.alphaBefore(now)
	if updated != d.updated {
		d.alpha, d.updated, d.came = alpha, updated, false
	}
}

// raise moves alpha towards 1, by a CNP.
func (d *DCQCN) raise() { d.alpha = float64((1-d.c.G)*d.alpha) + d.c.G }

// cutWaiting does the cut that waits for the end of a period, if it is time. The changes of alpha
// at the same instant is before.
func (d *DCQCN) cutWaiting(now unit.Time) {
	if at := d.waiting; at <= now {
		d.waiting = unit.Never
		d.settleAlpha(at + 1)
		d.cut(at)
	}
}

// cut takes the share of alpha, which is up to date, off the rate.
func (d *DCQCN) cut(now unit.Time) {
	if d.c.AlphaUpdate == AlphaByCNP && d.c.CutOrder == AlphaFirst {
		d.raise()
	}
	if d.c.Clamp == ClampAlways || d.byteStage > 0 || d.c.Clamp == ClampAfterCycle && d.timeStage > 0 {
		d.target, d.bytes = d.current, d.c.ByteCounter
	}
	least := max(d.current*float64(d.c.MinDecrease)/100, float64(d.c.MinRate))
	d.current = min(d.current, max(d.current*(1-d.alpha/float64(int(1)<<d.c.Gd)), least))
	if d.c.AlphaUpdate == AlphaByCNP {
		if d.c.CutOrder == CutFirst {
			d.raise()
		}
		d.updated = now
	}
	d.byteStage, d.timeStage, d.phase = 0, 0, recovery
	d.setTimer(now, d.c.RateTimer)
	d.set()
}

// setTimer begins a cycle of the timer, where there is one.
func (d *DCQCN) setTimer(now unit.Time, cycle unit.Duration) {
	if cycle > 0 {
		d.expires = now.Add(cycle)
	}
}

// Sent counts the bytes that leave.
func (d *DCQCN) Sent(_ unit.Time, n unit.Size) {
	if !d.notified || d.c.ByteCounter == 0 {
		return
	}
	if d.bytes -= n; d.bytes >= 0 {
		return
	}
	d.bytes = d.c.ByteCounter
	if d.halves() {
		d.bytes /= 2
	}
	d.increase(&d.byteStage)
}

// Advance ends the cycle of the timer, and does the cut that waits, if it is time.
func (d *DCQCN) Advance(now unit.Time) {
	if d.expires <= now && d.expires <= d.waiting {
		cycle := d.c.RateTimer
		if d.halves() {
			cycle = max(cycle/2, 1)
		}
		d.setTimer(d.expires, cycle) // from when it was due: a late call moves nothing
		d.increase(&d.timeStage)
	}
	d.cutWaiting(now)
}

// halves reports whether the cycle that begins is half as long.
func (d *DCQCN) halves() bool { return d.c.Phases == PhasesOfQCN && d.phase == hyper }

// increase raises the rate at the end of a cycle, of the byte counter or the timer.
func (d *DCQCN) increase(stage *int) {
	threshold, past := d.c.Threshold, 0
	switch d.c.Phases {
	case PhasesOfTimer:
		past = *stage - threshold
		*stage++
		d.phase = [...]phase{recovery, additive, hyper}[max(-1, min(past, 1))+1]
	case PhasesOfQCN:
		*stage++
		past = min(d.byteStage, d.timeStage) - threshold
		switch {
		case d.phase == recovery && *stage < threshold:
		case d.phase == hyper, past >= 0 && (d.phase == recovery || stage == &d.timeStage):
			d.phase = hyper
		default:
			d.phase = additive
		}
	default:
		*stage++
		past = min(d.byteStage, d.timeStage) - threshold
		switch {
		case past > 0:
			d.phase = hyper
		case max(d.byteStage, d.timeStage) < threshold:
			d.phase = recovery
		default:
			d.phase = additive
		}
	}
	if d.c.Phases == PhasesOfQCN && (d.byteStage == 1 || d.timeStage == 1) && d.target > 10*d.current {
		d.target /= 8
	} else {
		d.target += d.up(past)
	}
	if d.c.BoundTarget {
		d.target = min(d.target, d.line)
	}
	d.current = min((d.current+d.target)/2, d.line)
	// Halves never quite add up; the last bit per second does not count.
	if d.target >= d.line && d.current >= d.line-1 {
		d.current, d.expires = d.line, unit.Never
	}
	d.set()
}

// up returns the amount that the end of a cycle adds to the target rate, past the threshold by so
// many cycles.
func (d *DCQCN) up(past int) float64 {
	switch {
	case d.phase == recovery:
		return 0
	case d.phase == additive:
		return d.ai
	case d.c.HyperStep == StepOfCycles:
		return d.hai * float64(past)
	case d.c.HyperStep == StepOfCyclesAndOne:
		return d.hai * float64(past+1)
	}
	return d.hai
}

// set stores the current rate.
func (d *DCQCN) set() { d.rate = unit.Rate(math.Round(d.current)) }

// InPackets returns quantities of the algorithm in packets of a length on a link, and seconds: the
// link's capacity and the active increase in packets per second, and the byte counter in packets,
// infinite if there is none.
func (p *DCQCNParams) InPackets(link unit.Rate, packet unit.Size) (capacity, increase, bytes float64) {
	size := float64(packet)
	bytes = math.Inf(1)
	if p.ByteCounter > 0 {
		bytes = float64(p.ByteCounter) / size
	}
	increase = p.ActiveIncrease.BytesPerSecond() / size
	if p.IncreasePer > 0 {
		increase *= float64(link) / float64(p.IncreasePer)
	}
	return link.BytesPerSecond() / size, increase, bytes
}

// HasRest reports whether the equations of DCQCN describe the algorithm: alpha changes with CNPs,
// without a monitor period, and a timer drives the increases.
func (p *DCQCNParams) HasRest() bool {
	return p.AlphaUpdate == AlphaByCNP && p.Phases != PhasesOfTimer && p.MonitorPeriod == 0 && p.RateTimer > 0
}

// Rest returns the share of marked packets at which flows come to rest that are all alike and share
// a link. It is a closed form: the first term for a small share.
func (p *DCQCNParams) Rest(flows int, link unit.Rate, packet unit.Size) float64 {
	capacity, increase, bytes := p.InPackets(link, packet)
	n := float64(flows)
	cycles := 1/bytes + n/(p.RateTimer.Seconds()*capacity)
	return math.Cbrt(increase * n * n / (p.AlphaTimer.Seconds() * capacity * capacity) * cycles * cycles)
}
