package rp

import (
	"fmt"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// Controller is a reaction point: the law that governs the rate of one flow. Time
// is handed to it and never goes back.
type Controller interface {
	// Sent tells that n bytes have begun to leave.
	Sent(now unit.Time, n unit.Size)
	// Feedback hands over an ACK with its echo of the mark.
	Feedback(now unit.Time, f wire.Frame)
	// Advance does what is due; early calls do nothing.
	Advance(now unit.Time)
	// Rate returns the rate that the flow may have now.
	Rate() unit.Rate
	// Deadline returns when Advance has something to do, unit.Never if only feedback
	// matters.
	Deadline() unit.Time
}

// Config says which law, and its parameters.
type Config struct {
	Law    string    // "fixed", "lipd", "fimd" or "aimd"
	Max    unit.Rate // Rmax: the highest rate, at which a flow starts; positive
	Ratio  int64     // Rmax/Rmin, at least 1; Rmin must be 1 bit per second or more
	Length unit.Size // of a packet on the line; positive
	Factor float64   // fimd, aimd: m, what a mark divides the rate by; above 1
}

// Laws lists the laws that New knows.
func Laws() []string { return []string{"fixed", "lipd", "fimd", "aimd"} }

// New returns the reaction point of one flow.
func New(c Config) (Controller, error) {
	if c.Max <= 0 || c.Length <= 0 || c.Ratio < 1 {
		return nil, fmt.Errorf("reaction point: rate %v, packet %v and rmax-over-rmin %d must all be positive", c.Max, c.Length, c.Ratio)
	}
	if int64(c.Max) < c.Ratio {
		return nil, fmt.Errorf("reaction point: the lowest rate, %v over %d, is less than 1b/s", c.Max, c.Ratio)
	}
	switch c.Law {
	case "fixed":
		return NewFixed(c.Max), nil
	case "lipd":
		return NewLIPD(c), nil
	case "fimd", "aimd":
		if !(c.Factor > 1) {
			return nil, fmt.Errorf("reaction point: the factor of %s is %v; a mark must divide the rate by more than 1", c.Law, c.Factor)
		}
		if c.Law == "fimd" {
			return NewFIMD(c), nil
		}
		return NewAIMD(c), nil
	default:
		return nil, fmt.Errorf("reaction point: there is no law %q; there are %v", c.Law, Laws())
	}
}

// ackClocked is what the laws have in common that change only when an ACK comes.
type ackClocked struct{}

func (ackClocked) Sent(unit.Time, unit.Size) {}
func (ackClocked) Advance(unit.Time)         {}
func (ackClocked) Deadline() unit.Time       { return unit.Never }

// Fixed is no control: the rate stays what it was.
type Fixed struct {
	ackClocked
	rate unit.Rate
}

// NewFixed returns a reaction point whose rate is always r.
func NewFixed(r unit.Rate) *Fixed { return &Fixed{rate: r} }

// Feedback changes nothing.
func (*Fixed) Feedback(unit.Time, wire.Frame) {}

// Rate returns the rate.
func (c *Fixed) Rate() unit.Rate { return c.rate }
