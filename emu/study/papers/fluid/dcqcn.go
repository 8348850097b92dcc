package fluid

import (
	"fmt"
	"math"

	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// DCQCN is the loop of DCQCN at rest: flows that are all alike share a link, whose queue is
// marked by a link.
type DCQCN struct {
	Flows     int
	Capacity  unit.Rate // of the link that they share
	Packet    unit.Size // on the line
	Algorithm rp.DCQCNParams

	// The line of the marks: none up to Min, all above Max, and a share that rises from 0 to
	// MaxP between.
	Min, Max unit.Size
	MaxP     float64
}

// check refuses a loop without such a rest.
func (c *DCQCN) check() error {
	switch {
	case c.Flows < 1 || c.Capacity <= 0 || c.Packet <= 0 || c.Max <= c.Min || !(c.MaxP > 0 && c.MaxP <= 1):
		return fmt.Errorf("fluid: %d flows, a link of %v, packets of %v, marks from %v to %v by %v: all must be positive, and max above min",
			c.Flows, c.Capacity, c.Packet, c.Min, c.Max, c.MaxP)
	case !c.Algorithm.HasRest():
		return fmt.Errorf("fluid: the equations of DCQCN are for alpha-update: cnp without monitor-period, with a rate-timer and phases: paper or qcn")
	}
	return nil
}

// Closed returns the share of marked packets at which the loop rests in closed form: the first
// term for a small share.
func (c DCQCN) Closed() (float64, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	return c.Algorithm.Rest(c.Flows, c.Capacity, c.Packet), nil
}

// Rest returns the share at which the equations themselves rest, or 1 if they do not rest.
func (c DCQCN) Rest() (float64, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	_, high, err := bisect(1e-12, 1, 200, geometric, func(p float64) (bool, error) { return c.falls(p), nil })
	return high, err
}

// falls reports whether rates fall when a share p of the packets is marked.
func (c *DCQCN) falls(p float64) bool {
	capacity, increase, bytes := c.Algorithm.InPackets(c.Capacity, c.Packet)
	rate := capacity / float64(c.Flows)
	log := math.Log1p(-p)
	none := func(packets float64) float64 { return math.Exp(packets * log) } // of so many is marked
	cycles := func(packets float64) float64 {                                // that end, for each packet
		if math.IsInf(packets, 1) {
			return 0
		}
		return p / math.Expm1(-packets*log)
	}
	interval := c.Algorithm.CNPInterval.Seconds()
	cuts := p * rate // for each second
	if interval > 0 {
		cuts = (1 - none(interval*rate)) / interval
	}
	timer, first := c.Algorithm.RateTimer.Seconds()*rate, float64(c.Algorithm.Threshold)
	alpha := 1 - none(c.Algorithm.AlphaTimer.Seconds()*rate)
	ended := cycles(bytes) + cycles(timer)
	raised := 0.0
	if c.Algorithm.ByteCounter > 0 {
		raised = none(first*bytes) * cycles(bytes)
	}
	raised += none(first*timer) * cycles(timer)
	return cuts*cuts*alpha > increase*rate*ended*raised
}

// Alone returns the share of marked packets at which one flow has its share of the link, as the
// mean of this many packets: the nodes of the algorithm, played without a queue and without other
// flows. Each packet is marked independently, at random and the same in each call. So it contains
// the parts of the algorithm that the equations leave out, but no correlation of marks, which a
// queue causes.
func (c DCQCN) Alone(packets int) (float64, error) {
	low, err := c.Rest()
	if err != nil {
		return 0, err
	}
	share := c.Capacity / unit.Rate(c.Flows)
	low, high, err := bisect(low/4, min(1, low*4), 12, geometric, func(p float64) (bool, error) { // to a thousandth
		rate, err := c.play(p, packets)
		return rate < float64(share), err
	})
	return geometric(low, high), err
}

// play returns the rate of a flow with a share p of marked packets. It leaves out the first tenth
// of the packets, in which the rate falls from the line's.
func (c *DCQCN) play(p float64, packets int) (float64, error) {
	site := rp.Site{Line: c.Capacity, Length: c.Packet}
	source, err := rp.NewDCQCN(c.Algorithm, site)
	if err != nil {
		return 0, err
	}
	destination, err := rp.NewNotificationPoint(c.Algorithm, site)
	if err != nil {
		return 0, err
	}
	marks, one := unit.NewRandom(1, 1), uint64(1)<<40
	var now, from unit.Time
	for i := range packets {
		if i == packets/10 {
			from = now
		}
		source.Sent(now, c.Packet)
		destination.Receive(now, wire.Frame{FECN: float64(marks.Below(one)) < p*float64(one)})
		next := now.Add(source.Rate().Serialise(c.Packet))
		for {
			at := min(source.Deadline(), destination.Deadline())
			if at >= next {
				break
			}
			source.Advance(max(at, now))
			for f, ok := destination.Send(at); ok; f, ok = destination.Send(at) {
				source.Feedback(max(at, now), f)
			}
		}
		now = next
	}
	return float64(packets-packets/10) * 8 * float64(c.Packet) / now.Sub(from).Seconds(), nil
}

// Queue returns the length of the queue in which a share p is marked, in bytes. Above Max it
// continues the line of the marks.
func (c *DCQCN) Queue(p float64) float64 {
	return float64(c.Min) + p/c.MaxP*float64(c.Max-c.Min)
}
