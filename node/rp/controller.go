package rp

import (
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Controller is a reaction point: the algorithm that governs the rate of one flow, or of a
// group of flows. Time is handed to it and never goes back.
//
// It may also be a Targeted, a Tagger, a Limiting, a Joined, a Logger, a Sender, a Judge and an
// Acknowledged: ExtrasOf returns which of these it is. A CNP is for an algorithm with feedback by
// Marks, or for a Judge that does not refuse it; other frames about the flow are for all.
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
	// matters. It changes only by the calls above, and by Send of a Sender.
	Deadline() unit.Time
}

// Extras are the further abilities of a Controller; nil where it is not.
type Extras struct {
	Targeted Targeted
	Tagger   Tagger
	Limiting Limiting
	Joined   Joined
	Logger   Logger
	Sender   Sender
	Judge    Judge

	Acknowledged Acknowledged
}

// Wrapper is a Controller that is made of another one, and returns its further abilities itself: it
// may have methods that it only has to pass on where there is something to pass them on to.
type Wrapper interface{ Extras() Extras }

// ExtrasOf returns the further abilities of a Controller. It may be nil.
func ExtrasOf(c Controller) (x Extras) {
	if w, ok := c.(Wrapper); ok {
		return w.Extras()
	}
	x.Targeted, _ = c.(Targeted)
	x.Tagger, _ = c.(Tagger)
	x.Limiting, _ = c.(Limiting)
	x.Joined, _ = c.(Joined)
	x.Logger, _ = c.(Logger)
	x.Sender, _ = c.(Sender)
	x.Judge, _ = c.(Judge)
	x.Acknowledged, _ = c.(Acknowledged)
	return x
}

// Targeted is a Controller that reports its target rate.
type Targeted interface{ Target() unit.Rate }

// Limiting is a Controller that limits at some times and does not at others: where flows
// share it, each comes under it only with its own feedback, and all leave when it no
// longer limits.
type Limiting interface{ Active() bool }

// Joined is a Controller that flows share and that distinguishes them: Join names each of
// them, by its queue pair, with its parameters, before anything else happens.
type Joined interface{ Join(qp uint32, params any) }

// Logger is a Controller that keeps a log of congestion: Log returns its entry about
// the feedback that it took in last, if anything.
type Logger interface{ Log() (level int, ok bool) }

// Sender sends frames by itself, on Ethernet: a Controller its probes, an Answerer
// its answers. Send returns the next one that is to leave now; it is asked, when anything
// has happened to the Sender, until there is none, and must come to an end. Kind and content
// are those that it gives; where the frame goes and its flow are set by the endpoint: those
// of the flow, which is the one of the last feedback that the Sender received where several share
// it. Its priority, too, is the priority of the flow, unless the Sender gives a higher one.
type Sender interface {
	Send(now unit.Time) (f wire.Frame, ok bool)
}

// Judge is a Controller, or an Answerer, that does not take in every frame about its flow:
// Refuses returns why it does not want one, NoReason if it does. A frame that is refused is
// dropped and counted.
type Judge interface {
	Refuses(now unit.Time, f wire.Frame) trace.Reason
}

// Acknowledged is a Controller that uses the ACKs of its flow, on RoCEv2: it receives each by
// Acked, instead of Feedback. It shares no rate limiter.
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
	RTT    unit.Duration // since the packet that asked for it left, less Held; 0: it has no stamp (Algorithm.Feedback: Delays)
	Held   unit.Duration // the time that the destination needed for it
	Hops   []wire.Hop    // telemetry of that packet, in the order of the switches (Traits.Telemetry); for the time of the call
	Bytes  unit.Size     // length on the link of the packets that it acknowledges
	Oldest uint64        // the oldest packet that awaits its ACK now
	Next   uint64        // the packet that is sent next
}

// Answerer is the part of an algorithm at the destination of a flow. Time is handed to it and never
// goes back. Its answers go to the source, whose Controller takes them in as Feedback.
type Answerer interface {
	Sender
	// Receive takes in a frame of the flow that has come whole: data, or a frame that the
	// Controller itself has sent.
	Receive(now unit.Time, f wire.Frame)
	// Deadline returns when Send has something without another frame; unit.Never if it
	// has not.
	Deadline() unit.Time
}

// Heir is a Controller that can take the place of another one during a run: it takes over its
// state, as far as it has the same.
type Heir interface {
	Inherit(now unit.Time, from Controller)
}

// Tagger is a Controller that tags the data frames of its flow: Tag returns each as it leaves
// and may be asked several times. It adds no more than Traits.Frame does: packets are paced with
// that length.
type Tagger interface{ Tag(f wire.Frame) wire.Frame }

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
			Marking: []string{"min=60KB", "max=60KB", "at=enqueue"},
			Flow:    []string{"transport.kind=tcp", "transport.recovery=sack", "transport.ecn=true", "transport.congestion=dctcp"}}}},
		func(_ FixedParams, s Site) Controller { return NewFixed(s.Line) })
}

func (c *Fixed) Rate() unit.Rate { return c.rate }
