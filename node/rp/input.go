package rp

import (
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Input is what a reaction point is told, as a value: a recording has them, and a replay hands them
// over.
type Input struct {
	Kind  InputKind
	Frame wire.Frame // as it came, with FrameInput and AckInput; a replay has the Kind of an ACK, and BECN
	Ack   Ack        // with AckInput, without its Frame
	Trim  Trim       // with TrimInput
	Bytes unit.Size  // with ExpiryInput, StartInput and DemandInput
}

// InputKind is the method by which a reaction point receives an Input.
type InputKind uint8

// The kinds of inputs. The zero value is none.
const (
	NoInput     InputKind = iota
	FrameInput            // Controller.Feedback
	AckInput              // Acknowledged.Acked
	LossInput             // Acknowledged.Lost
	TrimInput             // Reaction.Trimmed
	ExpiryInput           // Reaction.Expired
	StartInput            // Controller.Sent
	DemandInput           // Reaction.Demand
)

// Take hands an input over, in the way that the reaction point has: an ACK by Feedback if it is not
// Acknowledged, and each loss by Lost if it has no method for it.
func (r *Reaction) Take(now unit.Time, in *Input) {
	a := r.Acknowledged
	switch in.Kind {
	case FrameInput:
		r.Feedback(now, in.Frame)
	case AckInput:
		if a == nil {
			r.Feedback(now, in.Frame)
			return
		}
		ack := in.Ack
		ack.Frame = &in.Frame
		a.Acked(now, ack)
	case TrimInput:
		if r.Trimmed != nil {
			r.Trimmed(now, in.Trim)
			return
		}
		lost(a, now)
	case ExpiryInput:
		if r.Expired != nil {
			r.Expired(now, in.Bytes)
			return
		}
		lost(a, now)
	case LossInput:
		lost(a, now)
	case StartInput:
		r.Sent(now, in.Bytes)
	case DemandInput:
		if r.Demand != nil {
			r.Demand(now, in.Bytes)
		}
	}
}

func lost(a Acknowledged, now unit.Time) {
	if a != nil {
		a.Lost(now)
	}
}

// Limits is what a reaction point permits.
type Limits struct {
	Rate   unit.Rate
	Window unit.Size // Acknowledged.Window; 0: there is no limit
	Credit unit.Size // Reaction.Allowance; NoCredit: there is no limit
}

// NoCredit is the Credit of a reaction point without Allowance.
const NoCredit unit.Size = -1

// Limits returns what the reaction point permits now. It has a Controller.
func (r *Reaction) Limits() Limits {
	l := Limits{Rate: r.Rate(), Credit: NoCredit}
	if r.Acknowledged != nil {
		l.Window = r.Acknowledged.Window()
	}
	if r.Allowance != nil {
		l.Credit = r.Allowance()
	}
	return l
}
