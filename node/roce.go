package node

import (
	"errors"
	"fmt"

	"fabemu/node/spray"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// IPVersion is a version of IP.
type IPVersion uint8

// The versions of IP.
const (
	IPv4 IPVersion = iota
	IPv6
)

func (IPVersion) Words() []string { return []string{"ipv4", "ipv6"} }

// PathMTU is one of the values of a connection's path MTU.
type PathMTU uint8

// Words returns the words for the sizes (IBTA Volume 1, 9.7.2).
func (PathMTU) Words() []string { return []string{"256B", "512B", "1024B", "2048B", "4096B"} }

func (m PathMTU) Size() unit.Size { return 256 << m }

// Unlimited is the RetryCount of a queue pair that never fails.
const Unlimited = -1

// Order is what happens to packets that come ahead of their turn.
type Order uint8

// The orders.
const (
	GoBackN         Order = iota // the destination drops them, and the source goes back
	SelectiveRepeat              // the destination keeps them, and delivers them in order
	Direct                       // the destination delivers them at once
)

func (Order) Words() []string { return []string{"go-back-n", "selective-repeat", "direct"} }

// RoCEParams are the parameters of a flow with RoCEv2.
type RoCEParams struct {
	IP IPVersion `key:"ip" def:"ipv4" also:"ip-version" doc:"IP version."`
	// Path MTU: the largest payload of a packet.
	// Source: IBTA Volume 1, 9.7.2
	MTU PathMTU `key:"mtu" def:"4096B" also:"path-mtu"`
	// Maximum number of unacknowledged packets. none: 2^23, half of the sequence numbers.
	Window int `key:"window" none:"none" def:"none" low:"1" high:"8388608"`
	// Every n-th packet requests an ACK, and so does one that ends a message, fills the window or
	// is last in the queue.
	AckEvery int `key:"ack-every" def:"1" low:"1" high:"65536" also:"ack-coalescing"`
	// Without a new ACK for this long, all unacknowledged packets are retransmitted. Adapters use
	// 4.096us times a power of two.
	// Source: perftest -u 14
	Timeout unit.Duration `key:"ack-timeout" def:"67.108864ms" none:"never" low:"above 0s" also:"timeout|local-ack-timeout"`
	// How often in a row the source goes back, after an ack-timeout or a NAK for a sequence error,
	// while no packet is newly acknowledged. When it would go back once more, the queue pair fails:
	// the flow stops for good, as with IBV_WC_RETRY_EXC_ERR. 7 is seven; Linux' rdma_rxe takes it
	// as unlimited.
	// Source: ours; the count of timeouts and sequence errors: IBTA Volume 1, Release 1.2, 12.7.38
	RetryCount int `key:"retry-count" def:"unlimited" none:"unlimited" at:"-1" low:"0" high:"7" omit:"usual" also:"retry-cnt|retry_cnt|retries|tl-retry-count"`
	// DSCP of data. The flow's priority follows from it (model.dscp).
	DSCP    uint8 `key:"dscp" low:"0" high:"63" computed:"the lowest that model.dscp has for the priority of the flow"`
	AckDSCP uint8 `key:"ack-dscp" low:"0" high:"63" computed:"the DSCP of data" doc:"DSCP of ACKs and NAKs."`
	ECN     bool  `key:"ecn" def:"true" doc:"Data has ECT(0), so that switches may mark it (RFC 3168)."`
	// An ACK of a marked packet carries BECN, as feedback for algorithms that use marked ACKs.
	// Adapters send CNPs instead (Annex A17).
	Echo bool `key:"echo" def:"false"`

	// What the receiver does with packets that come ahead of their turn. go-back-n: it drops them,
	// and the sender retransmits all from the missing one on. selective-repeat: it keeps them until
	// their turn. direct: it places each at once, as writes can be whose packets name their
	// addresses. With both only lost packets are retransmitted, and messages end in order.
	Order Order `key:"order" def:"go-back-n" means:"gbn=go-back-n|irn=selective-repeat|sr=selective-repeat|ddp=direct" omit:"usual"`
	// The most packets from the oldest missing one on that both ends keep track of, so the most in
	// flight; window may be less. IRN has the bandwidth-delay product.
	Reorder int `key:"reorder-window" def:"1024" low:"1" high:"65536" with:"order=selective-repeat|direct" omit:"usual" also:"bdp-cap"`
	// A packet is lost when one that was sent this many packets later has arrived. Over equal paths
	// packets overtake one another: give more than they do, or a loss-time.
	// Source: Mittal et al., SIGCOMM 2018 (IRN), 3.1, for selective-repeat
	LossDistance int `key:"loss-distance" none:"none" by:"order=none|1|none" low:"1" high:"65536" with:"order=selective-repeat|direct" omit:"usual" also:"dup-threshold"`
	// A packet is lost when one that was sent this much later has arrived. With neither limit only
	// timeouts find losses.
	LossTime unit.Duration `key:"loss-time" def:"none" none:"none" low:"above 0s" with:"order=selective-repeat|direct" omit:"usual" also:"reo-wnd"`
	// Instead of ack-timeout where at most rto-low-packets are in flight. IRN: 100us, with an
	// ack-timeout (RTO_high) of 320us.
	LowTimeout unit.Duration `key:"rto-low" def:"none" none:"none" low:"above 0s" with:"order=selective-repeat|direct" omit:"usual"`
	// So few packets in flight have rto-low.
	// Source: Mittal et al., SIGCOMM 2018 (IRN), 3.1
	LowPackets int `key:"rto-low-packets" def:"3" low:"1" high:"65536" with:"order=selective-repeat|direct" omit:"usual"`

	// The source chooses a path for each packet by its UDP source port, from which the hash of
	// switches follows. oblivious: all in turns. bitmap: the same without those of marked or lost
	// packets. reps: those that ACKs without a mark came back from, else any. mixed: such paths,
	// else those of bitmap. All but oblivious need echo, which is then true. Give an order that
	// accepts disorder, or the source goes back.
	// Source: uet-htsim (uec_mp.cpp); Bonato et al., arxiv.org 2407.21625 (REPS)
	Spray spray.Policy `key:"spray" def:"none" omit:"usual" also:"multipath|load-balancing"`
	// How many source ports spray uses: a power of two.
	// Source: uet-htsim, main_uec.cpp
	Entropies int `key:"entropies" def:"64" low:"1" high:"16384" with:"spray!=none" omit:"usual" also:"paths"`

	AckPriority uint8 // the priority of AckDSCP
	CNPDSCP     uint8 // the DSCP of CNPs
	Stamped     bool  // packets and ACKs carry time stamps, for an algorithm with Delays

	Seed      uint64         // of the random numbers of Spray
	Telemetry wire.Telemetry // what packets collect and ACKs carry back, if they have time stamps
}

// takes reports whether a frame is of the form of a flow with these parameters.
func (p *RoCEParams) takes(f *wire.Frame) bool {
	return f.Family == wire.RoCEv2 && f.Stamped() == p.Stamped && f.Telemetry() == p.Telemetry
}

// Selective reports whether only lost packets are retransmitted.
func (p *RoCEParams) Selective() bool { return p.Order != GoBackN }

// window returns how many packets may await their ACK.
func (p *RoCEParams) window() int {
	most := maxOutstanding
	if p.Selective() {
		most = p.Reorder
	}
	if p.Window > 0 {
		most = min(most, p.Window)
	}
	return most
}

// Check refuses values that do not fit together. It returns the key of one of them.
func (p RoCEParams) Check() (key string, err error) {
	switch {
	case p.LossDistance > 0 && p.LossDistance >= p.window():
		return "loss-distance", fmt.Errorf("a packet is lost when one sent %d later has arrived, and only %d may be in flight: give a larger window and reorder-window, or a smaller loss-distance",
			p.LossDistance, p.window())
	case p.Spray != spray.None && p.Entropies&(p.Entropies-1) != 0:
		return "entropies", fmt.Errorf("%d entropies are not a power of two, such as 64", p.Entropies)
	case p.Spray.Learns() && !p.Echo:
		return "echo", fmt.Errorf("spray: %v learns from marks that ACKs return: leave out echo: false", p.Spray)
	case p.LowTimeout > 0 && p.Timeout > 0 && p.LowTimeout > p.Timeout:
		return "rto-low", fmt.Errorf("rto-low, %v, must not exceed ack-timeout, %v", p.LowTimeout, p.Timeout)
	}
	return "", nil
}

// Frame makes f, a data frame, a frame of RoCEv2.
func (p RoCEParams) Frame(f *wire.Frame) {
	f.Family = wire.RoCEv2
	f.SetRoCE(wire.RoCE{IPv6: p.IP == IPv6, DSCP: p.DSCP, ECT: p.ECN, Stamped: p.Stamped, Telemetry: p.Telemetry})
}

// Ack returns an ACK or a NAK of such a flow.
func (p RoCEParams) Ack(nak bool) wire.Frame {
	f := wire.Frame{Kind: wire.Ack, Family: wire.RoCEv2, Lane: p.AckPriority}
	f.SetRoCE(wire.RoCE{IPv6: p.IP == IPv6, DSCP: p.AckDSCP, NAK: nak, Stamped: p.Stamped, Telemetry: p.Telemetry})
	return f
}

// LongestAck returns the longest ACK of such a flow.
func (p RoCEParams) LongestAck() wire.Frame {
	a := p.Ack(!p.Selective())
	if p.Selective() {
		a.SetSelected(0)
	}
	return a
}

// maxOutstanding is how many packets may await their ACK at most: an ACK names one of them
// by 24 bits, and an old one is distinguished from a new one (IBTA Volume 1, 9.7.2).
const maxOutstanding = 1 << 23

// RoCE is the transport of a reliable connection of RoCEv2, on Ethernet, which uses the packets of
// InfiniBand (IBTA Volume 1, 9.7; Annex A17). Links may lose packets. The destination accepts
// packets in order; for one that is ahead of its turn it sends a NAK, PSN sequence error, and no
// other NAK until the packet that it asks for has arrived (9.7.5.2.8). After a NAK, and when no ACK
// has arrived within the timeout, the source goes back to the oldest packet that awaits its ACK:
// go-back-N. A packet that arrives again is acknowledged again. If RetryCount is over, the queue
// pair fails instead, and sends nothing any more.
// With another Order only lost packets are retransmitted (selective.go).
type RoCE struct{ RoCEParams }

func (t RoCE) check(f *Flow) error {
	switch {
	case f.Family != wire.RoCEv2:
		return fmt.Errorf("frames of %v, and its transport is RoCEv2", f.Family)
	case t.Telemetry != wire.NoTelemetry && (f.Bodies != nil || !t.Stamped):
		return errors.New("its packets collect telemetry: they have stamps, and no bodies")
	case t.Window < 0 || t.Window > maxOutstanding || t.Timeout < 0 || t.AckEvery < 1 || t.RetryCount < Unlimited:
		return fmt.Errorf("a window of %d, a timeout of %v, an ACK for each %d packets and %d retransmissions: a window is at most %d, an ACK needs a packet, and the lowest count is Unlimited",
			t.Window, t.Timeout, t.AckEvery, t.RetryCount, maxOutstanding)
	case t.Selective() && (t.Reorder < 1 || t.LossDistance < 0 || t.LossTime < 0 || t.LowTimeout < 0):
		return fmt.Errorf("a reorder window of %d, a loss after %d packets or %v, a timeout of %v: the window is at least 1, and nothing is negative",
			t.Reorder, t.LossDistance, t.LossTime, t.LowTimeout)
	case t.Spray != spray.None && (t.Entropies < 1 || t.Entropies > spray.Paths || f.Bodies != nil):
		return fmt.Errorf("it sprays over %d entropies: there are 1 to %d, and its packets have no bodies", t.Entropies, spray.Paths)
	case t.Selective() && f.Bodies != nil:
		return errors.New("its packets have bodies, which are retransmitted by go-back-N alone")
	}
	_, err := t.Check()
	return err
}

func (RoCE) streams() bool { return false }

func (t RoCE) sender(s *source, e *Endpoint) sender {
	t.Frame(&s.frame)
	s.window = &window{Acknowledged: Acknowledged{Window: t.window(), Timeout: t.Timeout, Loses: true}, expires: unit.Never}
	r := roceSender{packets: s.packets.of(s), params: t.RoCEParams, store: &e.out.Bodies}
	switch {
	case t.Selective():
		return newSelectiveSender(r)
	case t.Spray != spray.None:
		return newSprayedSender(r)
	}
	return &r
}

func (t RoCE) receiver(k *Sink, e *Endpoint) (receiver, receiving) {
	r := receiver(&roceReceiver{params: t.RoCEParams})
	if t.Selective() {
		r = newSelectiveReceiver(t.RoCEParams, k)
	}
	return r, receiving{acks: true, again: true, loses: true,
		cnp: wire.RoCE{IPv6: t.IP == IPv6, DSCP: t.CNPDSCP}}
}

// roceSender is the sending half of RoCE: packets that ask for their ACKs.
type roceSender struct {
	*packets
	params  RoCEParams
	store   *wire.Bodies // of the telemetry that ACKs carry back
	retries int          // how often it went back since a packet was newly acknowledged
}

func (r *roceSender) refuses(f *wire.Frame) trace.Reason {
	switch {
	case f.Kind != wire.Ack || !r.params.takes(f):
		return trace.UnknownFlow
	case f.Src != r.source.Dst:
		return trace.Stranger
	}
	return trace.NoReason
}

func (r *roceSender) next(now unit.Time) (port.Answer, unit.Size) {
	if r.source.window.failed {
		return port.Answer{Block: port.Idle, Until: unit.Never}, 0
	}
	return r.packets.next(now)
}

// load reports whether the packet that waits for the link may still be sent: not if its queue pair
// has failed meanwhile.
func (r *roceSender) load(unit.Time, *wire.Frame) bool { return !r.source.window.failed }

func (r *roceSender) complete(now unit.Time, f *wire.Frame) unit.Size {
	n := r.packets.complete(now, f)
	f.SetAckReq(r.asks(f.Last))
	if f.Stamped() {
		f.Stamp().SentAt = now
	}
	return n
}

// asks reports whether the next packet of a flow, which ends a transfer or not, asks for an ACK.
func (r *roceSender) asks(last bool) bool {
	every := uint64(r.params.AckEvery)
	return r.packets.asks(last) || r.source.count%every == every-1
}

// receive takes in an ACK or a NAK, which acknowledges the packets before the one that it asks for.
// It means nothing to a queue pair that has failed.
func (r *roceSender) receive(now unit.Time, f *wire.Frame, rec *trace.Recorder) {
	s := r.source
	if s.window.failed {
		r.store.Free(f)
		return
	}
	if f.HasBody() {
		r.takeTelemetry(now, f, rec)
	}
	ahead, nak := f.PSN-uint32(s.oldest()), f.RoCE().NAK
	if nak {
		ahead--
	}
	news := r.acked(now, f, ahead, rec)
	if news {
		r.retries = 0
	}
	if nak {
		r.nak(now, f, rec)
	}
	if news {
		s.feedback(now, f, rec)
	}
}

// takeTelemetry reads the telemetry that an ACK has carried back. Telemetry with more hops than
// room is refused; the ACK counts.
func (r *roceSender) takeTelemetry(now unit.Time, f *wire.Frame, rec *trace.Recorder) {
	var err error
	w := r.source.window
	if w.hops, err = r.store.Of(f).Hops(w.hops[:0]); err != nil {
		rec.Emit(trace.Event{At: now, Kind: trace.Refuse, Lane: f.Lane, Flow: f.QP, PSN: f.PSN, A: int64(trace.TooManyHops)})
	}
	r.store.Free(f)
}

// nak goes back to the packet that a NAK asks for, which is the oldest that awaits its ACK: the
// others were acknowledged by it. One that comes late asks for nothing.
func (r *roceSender) nak(now unit.Time, f *wire.Frame, rec *trace.Recorder) {
	if s := r.source; f.PSN == uint32(s.oldest())&psnMask && s.window.inFlight() > 0 {
		r.retry(now, trace.SequenceError, rec)
	}
}

func (r *roceSender) advance(now unit.Time, rec *trace.Recorder) {
	if r.source.window.deadline() <= now {
		r.retry(now, trace.TimerExpired, rec)
	}
}

// retry goes back to the oldest packet that awaits its ACK, unless that was done too often.
func (r *roceSender) retry(now unit.Time, why trace.Reason, rec *trace.Recorder) {
	if most := r.params.RetryCount; most != Unlimited && r.retries >= most {
		r.fail(now, why, rec)
		return
	}
	r.retries++
	r.again(now, why, rec)
}

// roceReceiver is the receiving half of RoCE.
type roceReceiver struct {
	prompt
	params RoCEParams
}

func (r *roceReceiver) of(*Endpoint, *sink, uint32) receiver { return r }

func (r *roceReceiver) refuses(_ *sink, f *wire.Frame) trace.Reason {
	if f.Kind != wire.Data && f.Kind != wire.Trimmed || !r.params.takes(f) {
		return trace.UnknownFlow
	}
	return trace.NoReason
}

func (r *roceReceiver) receive(e *Endpoint, now unit.Time, s *sink, a *port.Arrival) {
	r.acknowledge(e, now, s, &a.Frame, !e.accept(now, s, a))
}

// checkMark reports a mark where there may be none.
func (r *roceReceiver) checkMark(e *Endpoint, now unit.Time, s *sink, f *wire.Frame) {
	if f.FECN && !r.params.ECN {
		e.rec.Emit(trace.Event{At: now, Kind: trace.Violation, Lane: f.Lane, Flow: s.qp, PSN: f.PSN,
			A: int64(trace.NotCapable)})
	}
}

// acknowledge queues the ACK or the NAK for a data packet that has come, if there is one.
// The packet has been delivered or has come before, or it is ahead of its turn.
func (r *roceReceiver) acknowledge(e *Endpoint, now unit.Time, s *sink, f *wire.Frame, ahead bool) {
	r.checkMark(e, now, s, f)
	switch {
	case ahead && s.asked:
		return
	case ahead:
		s.asked = true
	default:
		s.marked = s.marked || f.FECN
		if !f.RoCE().AckReq {
			return
		}
	}
	a := r.params.Ack(ahead)
	a.Src, a.Dst, a.QP, a.MSN, a.Window = f.Dst, f.Src, f.QP, s.received, f.Window // the same source port
	if a.PSN = s.next; !ahead {
		a.PSN = (s.next - 1) & psnMask
	}
	a.BECN, s.marked = r.params.Echo && s.marked, false
	if a.Stamped() {
		a.Extension = f.Extension
		f.Stamp().Body = 0 // telemetry continues with the ACK
	}
	e.push(a)
}
