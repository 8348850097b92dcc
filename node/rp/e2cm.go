package rp

import (
	"fmt"
	"math"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// E2CM is the reaction point of Extended Ethernet Congestion Management: ECM, which is BCN
// by another name, and a probe for each stretch of a limited flow. The proposal is
// "Source-based E2CM: Validation of the Orlando Proposal" by Minkenberg and Gusat, March 2007.
// From the answers to two probes in a row the source computes how much of the flow is in the
// fabric:
//
//	Rx = B(Pn) / (Tdst(Pn) - Tdst(Pn-1))       throughput (modification 1)
//	Lf = L(Pn) - L0, L0 = min L                latency of the queues on the path (modification 2)
//	q  = Rx Lf                                 queue of the flow
//	Fb = (Qeq - q) - W (q - qold)              as ECM: bounded by Qeq, and by 2 Qeq
//	Fb > 0:  R = R + Gi Fb Ru
//	Fb < 0:  R = R (1 - Gd |Fb|)
//
// with Qeq, Gi and Gd of the flow, on the limiter that the messages of ECM govern too. q and
// its use are a reading: the proposal states Rx and Lf, and parameters of an algorithm "per-flow"
// with the names of ECM's.
//
// Probes are sent while the flow is limited. A time under one limiter is a round: a probe
// answered in another means nothing. With an answer missing Rx is unknown if the source
// counts, and that probe changes nothing; if the destination counts, the next answer has all
// since the last one.
type E2CM struct {
	BCN
	p E2CMParams

	round  bool      // the flow is limited, and probed
	due    unit.Size // bytes of the flow after which the next probe leaves
	bytes  unit.Size // since the last probe
	sent   unit.Time // of the last probe; of the first one of a round, when that began
	number uint32    // of the next probe, 24 bits

	awaited  uint32        // number of the first probe whose answer may come
	answered bool          // there was an answer in this round:
	came     unit.Time     // when its probe came to the destination,
	counted  uint64        // and the number of bytes that the destination had counted by then
	least    unit.Duration // L0, of all rounds
	measured bool          // there was a queue in this round:
	queue    float64       // the last one
}

// E2CMParams are the parameters of the reaction point of E2CM.
type E2CMParams struct {
	BCNLimiter
	// Who counts bytes between probes. source: latency is the round trip of the probe, less the
	// minimum. destination: counts arriving payload; latency is one-way, less the minimum, which
	// requires a common clock, as the model has.
	Accounting string `key:"accounting" def:"source" words:"source|destination"`
	// A limited flow sends a probe after this many bytes.
	// Source: the proposal, as an example
	Interval unit.Size `key:"probe-interval" def:"75KB" low:"64B"`
	// Random variation of probe-interval, in percent.
	// Source: QCN's; the proposal has no figure
	Jitter int `key:"probe-jitter" def:"15" low:"0" high:"99"`
	// Maximum time between probes of a limited flow.
	// Source: the proposal, as an example
	Most unit.Duration `key:"probe-time" def:"10ms" low:"above 0s"`
	// Frames with probe-priority. answers: a probe waits in its flow's queues; both: it overtakes
	// its flow, and sees no queue.
	// Source: the proposal
	Expedite string `key:"expedite" def:"answers" words:"answers|both"`
	// Priority of those frames, unless the flow's is higher.
	// Source: the proposal: the top class
	Priority uint8 `key:"probe-priority" def:"7" low:"0" high:"7"`
	// Target for a flow's bytes in the fabric.
	// Source: the proposal
	FlowQeq unit.Size `key:"flow-qeq" def:"15KB" low:"64B"`
	// BCN_MAX of a flow: with more bytes in the fabric, Fb is minimal.
	// Source: the proposal
	FlowMost unit.Size `key:"flow-maximum" def:"56KB" low:"64B" none:"none"`
	// Gd at flow scope is flow-alpha / ((2 w + 1) Qeq); see flow-gains.
	// Source: the proposal
	FlowAlpha float64 `key:"flow-alpha" def:"2.5" low:"above 0" high:"1e9"`
	// Gi ru at flow scope is flow-beta capacity / ((2 w + 1) Qeq); see flow-gains.
	// Source: the proposal
	FlowBeta float64 `key:"flow-beta" def:"0.025" low:"above 0" high:"1e9"`
	// Qeq in the gains at flow scope. ecm: qeq, so that a probe changes the rate no more than a
	// message; flow: flow-qeq, as in the proposal, with which one probe can cut to min-rate.
	// Source: ours; the proposal leaves it open
	FlowGains string `key:"flow-gains" def:"ecm" words:"ecm|flow"`
	// Probes lost at random, in percent, for experiments.
	Lost int `key:"lost-probes" def:"0" low:"0" high:"100"`
}

// The words of parameters that the algorithm compares.
const (
	AtDestination    = "destination" // Accounting
	ProbesAndAnswers = "both"        // Expedite
	GainsOfECM       = "ecm"         // FlowGains
	GainsOfFlow      = "flow"
)

func e2cmAlgorithm() Algorithm {
	ecm := []string{"version=ecm"}
	trials := []Trial{{Name: "source-based", Point: "bcn", Marking: ecm},
		{Name: "destination-based", Point: "bcn", Marking: ecm, Control: []string{"accounting=destination"}}}
	l := row(Algorithm{Name: "e2cm", Feedback: Notifications,
		Doc:    "is BCN with ECM's parameters, and probes each limited flow for its bytes in the fabric, on Ethernet",
		Trials: trials},
		func(p E2CMParams, s Site) Reaction { return newE2CM(p, s).Reaction() })
	l.Answer = func(params any, s Site) (Answerer, error) { return newReflector(params.(E2CMParams), s), nil }
	return l
}

// Complete fills in the values that follow from other parameters, with the defaults of ECM.
func (p *E2CMParams) Complete(given func(key string) bool) { p.complete(ECM, given) }

// norm returns the divisor that normalises the gains at flow scope, (2 W + 1) Qeq in bytes, and in
// words.
func (p *E2CMParams) norm() (float64, string) {
	key, qeq := "qeq", p.Qeq
	if p.FlowGains == GainsOfFlow {
		key, qeq = "flow-qeq", p.FlowQeq
	}
	return (2*p.W + 1) * float64(qeq), fmt.Sprintf("((2 w + 1) %s) = (2 x %g + 1) x %v", key, p.W, qeq)
}

// flowMost returns the largest |Fb| at flow scope, in bytes.
func (p *E2CMParams) flowMost() float64 { return (2*p.W + 1) * float64(p.FlowQeq) }

// share returns the share that an Fb below 0 at flow scope takes off the rate.
func (p *E2CMParams) share(fb float64) float64 {
	norm, _ := p.norm()
	return float64(p.FlowAlpha * -fb / norm)
}

// step returns the amount that an Fb above 0 at flow scope adds to the rate, in bits per second.
func (p *E2CMParams) step(fb float64) float64 {
	norm, _ := p.norm()
	return float64(p.FlowBeta * float64(p.Capacity) * fb / norm)
}

// steps describes the largest steps at flow scope, with the arithmetic.
func (p *E2CMParams) steps() (down, up string) {
	_, norm := p.norm()
	fb := fmt.Sprintf("|Fb| is up to (2 w + 1) flow-qeq = (2 x %g + 1) x %v", p.W, p.FlowQeq)
	return fmt.Sprintf("%s, and flow-alpha |Fb| / %s with flow-alpha %g makes %.4g of the rate",
			fb, norm, p.FlowAlpha, p.share(-p.flowMost())),
		fmt.Sprintf("%s, and flow-beta capacity |Fb| / %s with flow-beta %g and %v makes %.4g b/s",
			fb, norm, p.FlowBeta, p.Capacity, p.step(p.flowMost()))
}

// Traits adds the probes and their answers. Gains at flow scope may follow from qeq too.
func (p E2CMParams) Traits() Traits {
	t := p.BCNLimiter.Traits()
	t.Warns = p.warns
	t.Sends = func(f *wire.Frame) (probe, answer wire.Frame) {
		probe, answer = wire.Frame{Kind: wire.Probe, Lane: f.Lane}, wire.Frame{Kind: wire.Probe, Lane: max(f.Lane, p.Priority)}
		if p.Expedite == ProbesAndAnswers {
			probe.Lane = answer.Lane
		}
		return probe, answer
	}
	if p.FlowGains == GainsOfECM {
		t.Assumes = []string{"qeq"}
	}
	return t
}

// Explain describes how gains follow, and the largest steps at flow scope.
func (p E2CMParams) Explain() string {
	text := p.BCNLimiter.Explain()
	if text != "" {
		text += "; "
	}
	return text + fmt.Sprintf("a probe reduces the rate by at most %.4g of it, and adds %v",
		p.share(-p.flowMost()), unit.Rate(p.step(p.flowMost())))
}

// CheckSite refuses intervals that no probe can keep to, and gains by which no probe changes
// a rate.
func (p E2CMParams) CheckSite(s Site) (string, error) {
	if key, err := p.BCNLimiter.CheckSite(s); err != nil {
		return key, err
	}
	down, up := p.steps()
	probe := wire.Frame{Kind: wire.Probe}
	takes := 2 * s.Line.Serialise(wire.WireFraming.Length(&probe))
	switch {
	case p.Interval < s.Length:
		return "probe-interval",
			fmt.Errorf("a probe each %v, and a packet is %v: a probe follows every packet",
				p.Interval, s.Length)
	case p.Most < takes:
		return "probe-time",
			fmt.Errorf("a probe each %v, and with its answer it uses links of %v for %v: nothing would be left for the flow",
				p.Most, s.Line, takes)
	case p.FlowMost > 0 && p.FlowMost <= p.FlowQeq:
		return "flow-maximum",
			fmt.Errorf("the maximum of a flow, %v, must be above flow-qeq, %v", p.FlowMost, p.FlowQeq)
	case p.share(-p.flowMost())*float64(s.Line) < 1:
		return "flow-alpha", fmt.Errorf("no probe lowers a rate: %s, of %v less than 1b/s", down, s.Line)
	case p.step(p.flowMost()) < 1:
		return "flow-beta", fmt.Errorf("no probe raises a rate: %s", up)
	}
	return "", nil
}

// warns doubts gains by which one message or one probe changes the rate by more than
// there is.
func (p E2CMParams) warns(s Site) []Doubt {
	doubts := p.BCNLimiter.warns(s)
	down, up := p.steps()
	if p.share(-p.flowMost()) > 1 {
		doubts = append(doubts,
			Doubt{"flow-alpha",
				"one probe can take off more than the rate: " + down + "; above 1 nothing but min-rate is left"})
	}
	if p.step(p.flowMost()) > float64(s.Line) {
		doubts = append(doubts,
			Doubt{"flow-beta",
				fmt.Sprintf("one probe can add more than the link rate: %s, above %v", up, s.Line)})
	}
	return doubts
}

// NewE2CM returns a reaction point that is not limited.
func NewE2CM(p E2CMParams, s Site) (*E2CM, error) { return checked(p, s, newE2CM) }

func newE2CM(p E2CMParams, s Site) *E2CM {
	return &E2CM{BCN: *newBCN(p.BCNLimiter, s), p: p, least: math.MaxInt64}
}

// Reaction returns the reaction point with what it does in addition to a Controller.
func (e *E2CM) Reaction() Reaction {
	return Reaction{Controller: e, Target: e.Target, Tag: e.Tag, Active: e.Active, Send: e.Send, Refuses: e.Refuses}
}

// Sent counts the bytes of a limited flow.
func (e *E2CM) Sent(_ unit.Time, n unit.Size) { e.bytes += n }

// Deadline returns when a probe is due by time, or the limiter has something to do.
func (e *E2CM) Deadline() unit.Time {
	t := e.BCN.Deadline()
	if e.round {
		t = min(t, e.sent.Add(e.p.Most))
	}
	return t
}

// Advance is the one of BCN.
func (e *E2CM) Advance(now unit.Time) {
	e.BCN.Advance(now)
	e.follow(now)
}

// Send returns the probe that is due.
func (e *E2CM) Send(now unit.Time) (wire.Frame, bool) {
	if !e.round || e.bytes < e.due && now < e.sent.Add(e.p.Most) {
		return wire.Frame{}, false
	}
	f := wire.Frame{Kind: wire.Probe, PSN: e.number, Extension: wire.ExtensionOf(wire.ProbeExtension{Bytes: uint64(e.bytes), SentAt: now})}
	if e.p.Expedite == ProbesAndAnswers {
		f.Lane = e.p.Priority
	}
	e.number = (e.number + 1) & numbers
	e.sent = now
	e.bytes, e.due = 0, e.p.Interval
	if spread := unit.Size(float64(e.p.Interval) * float64(e.p.Jitter) / 100); spread > 0 {
		e.due += unit.Size(e.site.Random.Below(uint64(2*spread+1))) - spread
	}
	return f, true
}

// numbers masks the numbers of probes.
const numbers = 1<<24 - 1

// follow begins a round when the flow comes under a limiter, with a probe at once, and ends
// it when the limiter has gone.
func (e *E2CM) follow(now unit.Time) {
	if e.round == e.Active() {
		return
	}
	if e.round = e.Active(); e.round {
		e.sent, e.bytes, e.due = now, 0, 0
		e.awaited, e.answered, e.measured = e.number, false, false
	}
}

// Refuses returns why a frame is no feedback: a probe of the other direction, and an answer
// that is not to a probe of this round which awaits one, or whose times cannot be.
func (e *E2CM) Refuses(now unit.Time, f wire.Frame) trace.Reason {
	if f.Kind != wire.Probe {
		return trace.NoReason
	}
	want := wire.ProbeAnswer
	if e.p.Accounting == AtDestination {
		want |= wire.ProbeCounted
	}
	ahead := (f.PSN - e.awaited) & numbers
	switch {
	case f.Flags != want, !e.round, ahead >= (e.number-e.awaited)&numbers:
		return trace.NotAwaited
	case f.Probe().SentAt > now, e.answered && f.Probe().CameAt <= e.came:
		return trace.NotAwaited
	}
	return trace.NoReason
}

// Feedback takes in a message of ECM, or the answer to a probe.
func (e *E2CM) Feedback(now unit.Time, f wire.Frame) {
	if f.Kind == wire.Probe {
		e.answer(now, &f)
	} else {
		e.BCN.Feedback(now, f)
	}
	e.follow(now)
}

// answer takes in an answer that Refuses has let pass.
func (e *E2CM) answer(now unit.Time, f *wire.Frame) {
	p := f.Probe()
	next, known, before, counted := f.PSN == e.awaited, e.answered, e.came, e.counted
	e.awaited, e.answered, e.came, e.counted = (f.PSN+1)&numbers, true, p.CameAt, p.Bytes
	latency, bytes := now.Sub(p.SentAt), p.Bytes
	if e.p.Accounting == AtDestination {
		latency, bytes, next = p.CameAt.Sub(p.SentAt), p.Bytes-counted, true
	}
	e.least = min(e.least, latency)
	if !known || !next || e.restart != unit.Never {
		return
	}
	rate := min(float64(bytes)*1e12/float64(p.CameAt.Sub(before)), e.site.Line.BytesPerSecond())
	queue := rate * float64(latency-e.least) / 1e12
	switch fb := e.flowFeedback(queue); {
	case fb < 0:
		e.lower(e.p.share(fb))
	case fb > 0:
		e.raise(e.p.step(fb))
	}
}

// flowFeedback returns Fb at flow scope in bytes, for a queue of the flow that is known now.
func (e *E2CM) flowFeedback(queue float64) float64 {
	qeq, delta := float64(e.p.FlowQeq), 0.0
	if e.measured {
		delta = queue - e.queue
	}
	e.measured, e.queue = true, queue
	if e.p.FlowMost > 0 && queue > float64(e.p.FlowMost) {
		return -e.p.flowMost()
	}
	within := func(v, most float64) float64 { return min(max(v, -most), most) }
	return within(qeq-queue, qeq) - float64(e.p.W*within(delta, 2*qeq))
}

// reflector is the destination of a flow of E2CM: it sends each probe back, with the time at
// which it came, and may count the arrivals.
type reflector struct {
	p       E2CMParams
	random  *unit.Random
	counted uint64 // bytes of payload
	answers []wire.Frame
	next    int // of answers
}

func newReflector(p E2CMParams, s Site) *reflector { return &reflector{p: p, random: s.Random} }

// Refuses returns why a probe is not answered: it is an answer.
func (r *reflector) Refuses(_ unit.Time, f wire.Frame) trace.Reason {
	if f.Kind == wire.Probe && f.Flags != 0 {
		return trace.NotAwaited
	}
	return trace.NoReason
}

// Receive counts data, and answers a probe.
func (r *reflector) Receive(now unit.Time, f wire.Frame) {
	switch f.Kind {
	case wire.Data:
		r.counted += uint64(f.Payload)
	case wire.Probe:
		if r.p.Lost > 0 && r.random.Below(100) < uint64(r.p.Lost) {
			return
		}
		a := wire.Frame{Kind: wire.Probe, Lane: r.p.Priority, PSN: f.PSN, Flags: wire.ProbeAnswer, Extension: f.Extension}
		a.Probe().CameAt = now
		if r.p.Accounting == AtDestination {
			a.Probe().Bytes, a.Flags = r.counted, a.Flags|wire.ProbeCounted
		}
		r.answers = append(r.answers, a)
	}
}

// Send returns the next answer.
func (r *reflector) Send(unit.Time) (wire.Frame, bool) {
	if r.next == len(r.answers) {
		r.answers, r.next = r.answers[:0], 0
		return wire.Frame{}, false
	}
	r.next++
	return r.answers[r.next-1], true
}

// Deadline returns Never: an answer leaves at once.
func (r *reflector) Deadline() unit.Time { return unit.Never }
