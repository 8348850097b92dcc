package rp

import (
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Reaction is a reaction point: a Controller, and what it does in addition. Each further field may
// be nil; most algorithms need none of them. A CNP is for an algorithm with feedback by Marks, or
// for one that does not refuse it; other frames about the flow are for all. The zero value is none.
type Reaction struct {
	Controller // nil: there is no reaction point

	Target func() unit.Rate // returns the target rate, for results

	// Tag tags the data frames of the flow: it returns each as it leaves, and may be asked several
	// times. It adds no more than Traits.Frame does: packets are paced with that length.
	Tag func(f wire.Frame) wire.Frame

	// Active reports whether it limits now. Where flows share a reaction point that has Active,
	// each comes under it only with its own feedback, and all leave when it no longer limits;
	// without it all are always under it.
	Active func() bool

	// Join names a flow of those that share the reaction point, by its queue pair, with its
	// parameters, before anything else happens.
	Join func(qp uint32, params any)

	// Log returns the entry of its log of congestion about the feedback that it took in last, if
	// there is one.
	Log func() (level int, ok bool)

	// Send sends its own frames, such as probes, on Ethernet: Answerer.Send says how.
	// Where several flows share the reaction point, a frame is of the flow whose feedback it
	// received last.
	Send func(now unit.Time) (f wire.Frame, ok bool)

	// Refuses returns why it does not take in a frame about its flow; NoReason: it does. A frame
	// that is refused is dropped and counted.
	Refuses func(now unit.Time, f wire.Frame) trace.Reason

	// Inherit takes over the state of the reaction point whose place it takes during a run, as far
	// as it has the same.
	Inherit func(now unit.Time, from Controller)

	// Ended notes that the flow has ended: a flow of a workload, whose reaction point is of no use
	// after it.
	Ended func(now unit.Time)

	Acknowledged Acknowledged // it uses the ACKs of its flow, on RoCEv2 and UET

	// Trimmed notes that a packet did not arrive, as a switch has trimmed it. The packet is sent
	// again. UET; nil: Lost is called instead.
	Trimmed func(now unit.Time, t Trim)

	// Expired notes that the retransmission timer has given up packets of n bytes on the link,
	// which are sent again. UET; nil: Lost is called instead.
	Expired func(now unit.Time, n unit.Size)

	// Demand notes how many bytes on the link the flow has to send, those to be sent again
	// included. It is called when they become more, and when a packet leaves: after Sent, and
	// before that packet is tagged. UET.
	Demand func(now unit.Time, n unit.Size)

	// Allowance returns how many bytes it lets leave, by credit that the destination has granted. A
	// packet leaves if that is positive, even if it is longer. It is asked after each call of
	// another method. UET; nil: there is no limit.
	Allowance func() unit.Size
}

// Trim is what a source knows of a packet that was trimmed.
type Trim struct {
	Bytes   unit.Size     // length on the link of the packet when it left
	RTT     unit.Duration // since it left; 0: not known, as it was sent more than once
	LastHop bool          // trimmed at the output to its destination
	Flight  unit.Size     // length on the link of the packets in flight, this one included
}

// Controller is the algorithm that governs the rate of one flow, or of a group of flows. Time is
// handed to it and never goes back.
type Controller interface {
	// Sent notes that n bytes have begun to leave.
	Sent(now unit.Time, n unit.Size)
	// Feedback hands over a frame that has come back to the source: an ACK with its echo
	// of the mark, a notification.
	Feedback(now unit.Time, f wire.Frame)
	// Advance does all that is due; early calls do nothing.
	Advance(now unit.Time)
	// Rate returns the rate that the flow may have now.
	Rate() unit.Rate
	// Deadline returns when Advance has something to do, unit.Never if only feedback
	// matters. It changes only by the calls above, and by Reaction.Send.
	Deadline() unit.Time
}

// Acknowledged uses the ACKs of a flow, on RoCEv2 and UET: it receives each by Acked, and the
// Controller none by Feedback. It shares no rate limiter.
type Acknowledged interface {
	// Acked takes in an ACK that acknowledges packets which awaited it.
	Acked(now unit.Time, a Ack)
	// Lost notes that the source goes back to the oldest packet that awaits its ACK, as a NAK asks
	// for it or none has come in time, and sends it and all behind it again.
	Lost(now unit.Time)
	// Window returns how many bytes on the link may await their ACK; 0: there is no limit. It is
	// asked after each call of another method. A packet leaves when it fits in, or when none awaits
	// its ACK: a window below a packet works by the rate, of a packet in a round trip times packet
	// over window.
	Window() unit.Size
}

// Ack is an ACK, and the measurements that come with it. Packets are numbered from 0.
type Ack struct {
	Frame  *wire.Frame   // as it came; for the time of the call
	RTT    unit.Duration // since the packet that asked for it left, less Held; 0: it is not known, as it has no stamp (Algorithm.Feedback: Delays) or, on UET, that packet was sent more than once
	Held   unit.Duration // the time that the destination needed for it; on UET it is part of RTT, and 0
	Hops   []wire.Hop    // telemetry of that packet, in the order of the switches (Traits.Telemetry); for the time of the call
	Bytes  unit.Size     // length on the link of the packets that it is the first to acknowledge
	Flight unit.Size     // length on the link of the packets that are in flight now: sent, neither acknowledged nor given up
	Oldest uint64        // the oldest packet that awaits its ACK now
	Next   uint64        // the packet that is sent next
}

// Answerer is the part of an algorithm at the destination of a flow. Time is handed to it and never
// goes back. Its answers go to the source, whose Controller takes them in as Feedback.
type Answerer interface {
	// Refuses returns why it does not take in a frame of the flow; NoReason: it does. A frame
	// that is refused is dropped and counted.
	Refuses(now unit.Time, f wire.Frame) trace.Reason
	// Receive takes in a frame of the flow that has come whole: data, or a frame that the
	// reaction point itself has sent.
	Receive(now unit.Time, f wire.Frame)
	// Send returns the next frame of its own that is to leave now; it is asked, when anything has
	// happened to it, until there is none, and must come to an end. Kind and content are those that
	// it gives; where the frame goes and its flow are set by the endpoint. Its priority, too, is
	// the priority of the flow, unless it gives a higher one.
	Send(now unit.Time) (f wire.Frame, ok bool)
	// Deadline returns when Send has something without another frame; unit.Never if it
	// has not.
	Deadline() unit.Time
}

// TakingTurns is an Answerer of flows that end at one endpoint and take turns: only one of them has
// something to send at a time.
type TakingTurns interface {
	Answerer
	// Turn returns the queue pair of the flow whose turn it is, and when; false: none waits.
	Turn() (qp uint32, at unit.Time, ok bool)
	// Ended notes that the flow has ended: a flow of a workload.
	Ended(now unit.Time)
}

// ackClocked is the common part of the algorithms that change only when an ACK comes: nothing else
// has an effect. Those that are Acknowledged receive ACKs by Acked, and the others by their own
// Feedback. After Lost, the packets that are sent again are measured, too.
type ackClocked struct{}

func (ackClocked) Sent(unit.Time, unit.Size)      {}
func (ackClocked) Feedback(unit.Time, wire.Frame) {}
func (ackClocked) Lost(unit.Time)                 {}
func (ackClocked) Advance(unit.Time)              {}
func (ackClocked) Deadline() unit.Time            { return unit.Never }

// Fixed is no control: the rate stays as it was.
type Fixed struct {
	ackClocked
	rate unit.Rate
}

// NewFixed returns a reaction point whose rate is always r.
func NewFixed(r unit.Rate) *Fixed { return &Fixed{rate: r} }

// FixedParams are the parameters of Fixed: there are none.
type FixedParams struct{}

func fixedAlgorithm() Algorithm {
	return row(Algorithm{Name: "fixed", Also: []string{"none", "off", "constant", "no"}, Doc: "never changes the rate",
		Trials: []Trial{{Point: NoPoint}, {Name: "dctcp", Point: "ecn", // RFC 8257: the transport has the algorithm
			Marking: []string{"min=60KB", "max=60KB", "at=enqueue"}, Marks: "dctcp",
			Flow: []string{"transport.kind=tcp", "transport.recovery=sack", "transport.ecn=true", "transport.congestion=dctcp"}}}},
		func(_ FixedParams, s Site) Reaction { return Reaction{Controller: NewFixed(s.Line)} })
}

func (c *Fixed) Rate() unit.Rate { return c.rate }
