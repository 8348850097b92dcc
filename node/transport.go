package node

import (
	"fmt"

	"fabemu/node/tcp"
	"fabemu/node/traffic"
	"fabemu/node/uet"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Transport is how both ends of a flow handle packets in flight and lost packets. A flow chooses
// one: Datagrams, Acknowledged, TCP, RoCE or UET.
type Transport interface {
	// check refuses a flow for which the transport cannot work.
	check(f *Flow) error
	// streams reports whether a flow is a stream of bytes, whose destination sends frames by
	// itself.
	streams() bool
	// sender returns the sending half, for a source that has everything but its sender. It may set
	// the source's window, its common frame, and filled.
	sender(s *source, e *Endpoint) sender
	// receiver returns the receiving half, for the destination of a flow. One that has no state
	// serves many flows.
	receiver(k *Sink, e *Endpoint) (receiver, receiving)
}

// sender is the sending half of a transport: it has the packets of a source, and receives what the
// destination answers. It is packets, bodies or a stream.
type sender interface {
	// refuses returns why a frame that has come back is not an answer to this flow.
	refuses(f *wire.Frame) trace.Reason
	// receive takes in an answer.
	receive(now unit.Time, f *wire.Frame, rec *trace.Recorder)
	// arrive takes in an arrival: a packet, or a transfer.
	arrive(now unit.Time, a traffic.Arrival, rec *trace.Recorder)
	// advance does everything that is due. It is called when the window has expired; if the source
	// is filled, also at deadline, and whenever the flow does anything.
	advance(now unit.Time, rec *trace.Recorder)
	deadline() unit.Time
	// next answers whether there is a packet, and whether the transport permits it. It returns the
	// packet's length on the link.
	next(now unit.Time) (port.Answer, unit.Size)
	// complete makes f, a frame with the common fields of the flow, the packet to send next, and
	// returns its length on the link. The packet is stamped with now.
	complete(now unit.Time, f *wire.Frame) unit.Size
	// load gives the packet of a source that is filled, which leaves now, its contents. It reports
	// whether there still is such a packet.
	load(now unit.Time, f *wire.Frame) bool
	// sent accounts for the packet that complete has made, which starts now. It returns the
	// packet's length on the link.
	sent(now unit.Time) unit.Size
	// reach returns how many packets, or bytes of a stream, there are up to the last arrival, and
	// how many of them have left and, where packets are acknowledged, are acknowledged. With TCP an
	// application has sent all that has left.
	reach() (all, over uint64)
}

// receiver is the receiving half of a transport.
type receiver interface {
	// refuses returns why a frame with the queue pair of a flow is not one of the flow.
	refuses(s *sink, f *wire.Frame) trace.Reason
	// begins reports whether a frame begins a transfer of a workload: the destination has no flow,
	// or this one.
	begins(f *wire.Frame) bool
	// of returns the receiver of a transfer, whose packets have a size. One without state serves
	// all transfers.
	of(e *Endpoint, s *sink, packet uint32) receiver
	// receive takes in a frame of the flow that has come whole, and queues its answer.
	receive(e *Endpoint, now unit.Time, s *sink, a *port.Arrival)
	// respond queues the frames that are due at deadline, or since a frame was received.
	respond(e *Endpoint, now unit.Time, s *sink)
	deadline() unit.Time
}

// trimReceiver is a receiver that can use the headers of packets that switches have trimmed.
type trimReceiver interface {
	// receiveTrimmed takes in such a packet of the flow, and queues its answer.
	receiveTrimmed(e *Endpoint, now unit.Time, s *sink, f *wire.Frame)
}

// receiving describes the packets of a flow to its destination.
type receiving struct {
	acks  bool      // each packet is acknowledged
	again bool      // packets that are missing are retransmitted: those behind them must wait
	loses bool      // packets may be missing: the node that dropped them has reported it
	cnp   wire.RoCE // RoCEv2: the fields of CNPs

	ackSL      uint8 // as in Acknowledged
	acksAsData bool
}

// prompt is the part of a receiver that answers each frame at once.
type prompt struct{}

func (prompt) begins(*wire.Frame) bool             { return true }
func (prompt) respond(*Endpoint, unit.Time, *sink) {}
func (prompt) deadline() unit.Time                 { return unit.Never }

// Datagrams is the transport of Ethernet: nothing is acknowledged, there is no window, and
// a lost packet is lost.
type Datagrams struct{}

func (Datagrams) check(f *Flow) error {
	if f.Family == wire.RoCEv2 || f.Family == wire.UET {
		return fmt.Errorf("frames of %v, which has its own transport", f.Family)
	}
	return nil
}

func (Datagrams) streams() bool                        { return false }
func (Datagrams) sender(s *source, _ *Endpoint) sender { return s.packets.of(s) }
func (Datagrams) receiver(*Sink, *Endpoint) (receiver, receiving) {
	return &packetReceiver{}, receiving{loses: true}
}

// Acknowledged is the transport of InfiniBand: each packet is acknowledged, and there is a
// window.
type Acknowledged struct {
	Window  int           // packets that may await their ACK; at least 1
	Timeout unit.Duration // all of them are retransmitted when no ACK has arrived for this long; 0: never
	Loses   bool          // links may go down and lose packets: without a Timeout those stay missing

	AckSL      uint8 // service level of ACKs, if they are as data
	AcksAsData bool  // ACKs have a service level; else a lane apart
}

func (a Acknowledged) check(f *Flow) error {
	switch {
	case f.Family != wire.InfiniBand:
		return fmt.Errorf("a window of %d, and nothing is acknowledged on Ethernet", a.Window)
	case a.Window < 1:
		return fmt.Errorf("a window of %d: it must be at least 1", a.Window)
	case a.Timeout < 0:
		return fmt.Errorf("a timeout of %v: it must not be negative", a.Timeout)
	}
	return nil
}

func (Acknowledged) streams() bool { return false }

func (a Acknowledged) sender(s *source, _ *Endpoint) sender {
	s.window = &window{Acknowledged: a, expires: unit.Never}
	return s.packets.of(s)
}

func (a Acknowledged) receiver(*Sink, *Endpoint) (receiver, receiving) {
	return &packetReceiver{}, receiving{acks: true, again: a.Timeout > 0, loses: a.Loses, ackSL: a.AckSL, acksAsData: a.AcksAsData}
}

// packetReceiver is the receiving half of Datagrams and of Acknowledged.
type packetReceiver struct{ prompt }

func (r *packetReceiver) of(*Endpoint, *sink, uint32) receiver { return r }

func (*packetReceiver) refuses(_ *sink, f *wire.Frame) trace.Reason {
	return refusesPacket(f, wire.Data)
}

func (*packetReceiver) receive(e *Endpoint, now unit.Time, s *sink, a *port.Arrival) {
	if e.accept(now, s, a) && s.acks {
		lane := uint8(port.AckLane)
		if e.lanes != nil || s.acksAsData {
			lane = e.ackLane(s)
		}
		*e.place(lane) = s.ack(&a.Frame, lane)
	}
}

// window is the state of Acknowledged at the source. If it is nil, any number of packets may be in
// flight.
type window struct {
	Acknowledged
	n       int       // packets that await their ACK
	before  int       // packets behind them that were sent before the source went back
	expires unit.Time // when the oldest of them is retransmitted, and all behind it

	underway unit.Size // their length on the link, where one with a body counts as the longest
	most     unit.Size // and so much of it the reaction point lets be (rp.Acknowledged); 0: any
	news     unit.Size // the length of those that the last ACK acknowledged

	trip unit.Duration // UET: since the packet that it answers left; 0: it is not known

	hops   []wire.Hop // RoCEv2: telemetry of that ACK
	failed bool       // RoCEv2: the queue pair has failed, and sends nothing any more
}

// hasFailed reports whether the queue pair has failed.
func (w *window) hasFailed() bool { return w != nil && w.failed }

// open reports whether another packet of n bytes may be in flight.
func (w *window) open(n unit.Size) bool {
	return w == nil || w.n < w.Window && (w.n == 0 || w.most == 0 || w.underway+n <= w.most)
}

// limit returns the limit of the reaction point; 0: there is none.
func (w *window) limit() unit.Size {
	if w == nil {
		return 0
	}
	return w.most
}

// inFlight returns how many packets await their ACK.
func (w *window) inFlight() int {
	if w == nil {
		return 0
	}
	return w.n
}

// deadline returns when lost is to be called, unit.Never if not at all.
func (w *window) deadline() unit.Time {
	if w == nil {
		return unit.Never
	}
	return w.expires
}

// sent records that a packet of n bytes has started.
func (w *window) sent(at unit.Time, n unit.Size) {
	if w == nil {
		return
	}
	w.n++
	w.underway += n
	w.before = max(w.before-1, 0)
	if w.Timeout > 0 && w.expires == unit.Never {
		w.expires = at.Add(w.Timeout)
	}
}

// acked takes in the ACK of the packet that is ahead packets behind the oldest one which awaits
// its ACK. It reports whether that is news, and whether it is the one that should come. It also
// returns how many packets need not be retransmitted: the ACK is for a packet that was sent before
// the source went back.
//
// Where packets can be lost an ACK is for all up to its own, and one that is received again means
// nothing. Elsewhere it is the ACK of the oldest packet which awaits one: links are lossless and
// keep their order.
func (w *window) acked(now unit.Time, ahead uint32) (news, inTurn bool, spared int) {
	if w == nil {
		return true, false, 0
	}
	if w.Timeout == 0 && !w.Loses {
		inTurn = w.n > 0 && ahead == 0
		w.n = max(w.n-1, 0)
		return true, inTurn, 0
	}
	if ahead >= uint32(w.n+w.before) {
		return false, true, 0
	}
	spared = max(int(ahead)+1-w.n, 0)
	w.n -= int(ahead) + 1 - spared
	w.expires = unit.Never
	if w.n > 0 && w.Timeout > 0 {
		w.expires = now.Add(w.Timeout)
	}
	return true, true, spared
}

// lost gives up all packets that await their ACK, and returns how many: they are retransmitted.
// That is go back N: a link that lost a packet has lost those behind it too.
func (w *window) lost() int {
	n := w.n
	w.n, w.before, w.underway, w.expires = 0, w.before+n, 0, unit.Never
	return n
}

// TransportRow is a row of the table of transports: everything about a transport except its code.
type TransportRow struct {
	Name   string      // in scenarios
	Also   []string    // its other names
	Doc    string      // a description, as the rest of a sentence
	Family wire.Family // the family that has it
	Usual  bool        // flows of the family that choose no transport have this one
	Params any         // a struct of parameters (package param), the zero value; nil: it has none
	// New returns the transport of a flow. The parameters are a struct of the type of Params.
	New func(params any, a Acknowledged) Transport
}

// Transports returns the table of transports.
func Transports() []TransportRow {
	return []TransportRow{
		{Name: "acknowledged", Also: []string{"rc", "reliable", "infiniband"}, Family: wire.InfiniBand, Usual: true,
			Doc: "sends a window of packets on InfiniBand, each acknowledged separately",
			New: func(_ any, a Acknowledged) Transport { return a }},
		{Name: "datagrams", Also: []string{"udp", "datagram", "none"}, Family: wire.Ethernet, Usual: true,
			Doc: "sends without ACKs on Ethernet; lost packets stay lost",
			New: func(any, Acknowledged) Transport { return Datagrams{} }},
		{Name: "tcp", Family: wire.Ethernet, Params: tcp.Params{},
			Doc: "is TCP on Ethernet; a packet is an IPv4 packet of at least 48B",
			New: func(params any, _ Acknowledged) Transport { return TCP{params.(tcp.Params)} }},
		{Name: "rocev2", Also: []string{"roce"}, Family: wire.Ethernet, Params: RoCEParams{},
			Doc: "is a reliable connection of RoCEv2 on Ethernet: InfiniBand packets in UDP, with a payload of 16B to 4096B and, by default, go-back-N retransmission",
			New: func(params any, _ Acknowledged) Transport { return RoCE{params.(RoCEParams)} }},
		{Name: "uet", Also: []string{"ultra-ethernet", "ue"}, Family: wire.Ethernet, Params: uet.Params{},
			Doc: "is Ultra Ethernet transport on Ethernet: packets in UDP with a payload of up to 4096B, selective ACKs, and NACKs for trimmed packets",
			New: func(params any, _ Acknowledged) Transport { return UET{params.(uet.Params)} }},
	}
}
