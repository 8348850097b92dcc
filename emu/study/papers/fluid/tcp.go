package fluid

import (
	"fmt"
	"math"
	"math/cmplx"

	"fabemu/switchd/cp"
	"fabemu/wire/unit"
)

// TCP is the loop of TCP Reno and RED: sources that are all alike, and a queue in front of
// the link that they share.
type TCP struct {
	Sources  int
	Capacity float64       // of the link, in packets per second
	RTT      unit.Duration // without the queue
	Memory   float64       // packets that may wait; more are lost
	Packet   unit.Size     // its size, where RED counts bytes
	AckEvery int           // packets to an ACK: 1, or 2 with delayed ACKs
	RED      cp.REDParams
}

// TCPCourse is how a loop of TCP and RED goes, at equal steps of time.
type TCPCourse struct {
	times
	Queue   []float64 // packets
	Average []float64 // RED's, packets
	Window  []float64 // of a source, packets
}

func (c *TCP) check() error {
	low, high := c.thresholds()
	switch {
	case c.Sources < 1 || !(c.Capacity > 0) || c.RTT <= 0 || !(c.Memory > 0) || c.AckEvery < 1:
		return fmt.Errorf("fluid: %d sources, a link of %v packets per second, an RTT of %v, a memory of %v packets, an ACK for %d packets: all must be positive",
			c.Sources, c.Capacity, c.RTT, c.Memory, c.AckEvery)
	case !(low > 0 && high > low) || !(c.RED.MaxP > 0 && c.RED.MaxP <= 1) || !(c.RED.Weight > 0 && c.RED.Weight < 1):
		return fmt.Errorf("fluid: RED from %v to %v packets, max-p %v, weight %v: min and max must rise, and the others be between 0 and 1",
			low, high, c.RED.MaxP, c.RED.Weight)
	}
	return nil
}

// thresholds returns min and max of RED in packets.
func (c *TCP) thresholds() (low, high float64) {
	in := func(r unit.Room) float64 { return float64(r.Packets) + float64(r.Bytes)/float64(max(c.Packet, 1)) }
	return in(c.RED.Min), in(c.RED.Max)
}

// lost returns the share of packets that RED drops at an average: one for each mean gap.
func (c *TCP) lost(average float64) float64 {
	low, high := c.thresholds()
	p := 1.0
	switch {
	case average < low:
		return 0
	case average < high:
		p = c.RED.MaxP * (average - low) / (high - low)
	case c.RED.Gentle && average < 2*high:
		p = c.RED.MaxP + (1-c.RED.MaxP)*(average-high)/high
	}
	switch c.RED.Gaps {
	case cp.UniformGaps:
		return 2 * p / (1 + p)
	case cp.WaitGaps:
		return 2 * p / (3 - p)
	}
	return p
}

// Solve follows the equations for a time, in steps of at most a fifth of the RTT. Every
// source begins with a window of 1; there is no slow start.
func (c TCP) Solve(during, step unit.Duration) (*TCPCourse, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if step <= 0 || during < step || step > c.RTT/5 {
		return nil, fmt.Errorf("fluid: steps of %v in %v: at most a fifth of the RTT, %v, are possible",
			step, during, c.RTT)
	}
	n, dt := int(during/step)+1, step.Seconds()
	out := &TCPCourse{times: times{step}}
	for _, v := range []*[]float64{&out.Queue, &out.Average, &out.Window} {
		*v = make([]float64, n)
	}
	q, x, w, full := out.Queue, out.Average, out.Window, make([]float64, n) // full: share that finds no room
	w[0] = 1
	rtt := func(i int) float64 { return c.RTT.Seconds() + q[i]/c.Capacity }
	for i := range n - 1 {
		r := rtt(i)
		dw := 1 / (float64(c.AckEvery) * r)
		if ago := i - int(r/dt); ago >= 0 {
			lost := c.lost(x[ago])
			lost += (1 - lost) * full[ago]
			dw -= w[i] / 2 * w[ago] / rtt(ago) * lost
		}
		w[i+1] = max(w[i]+dw*dt, 1)
		in := float64(c.Sources) * w[i] / r
		grown := q[i] + (in-c.Capacity)*dt
		if grown > c.Memory {
			full[i] = (grown - c.Memory) / (in * dt)
		}
		q[i+1] = min(max(grown, 0), c.Memory)
		x[i+1] = q[i] + (x[i]-q[i])*math.Pow(1-c.RED.Weight, c.Capacity*dt)
	}
	return out, nil
}

// Rest is where a loop of TCP and RED can rest.
type Rest struct {
	Queue  float64 // packets
	Window float64 // of a source, packets
	Lost   float64 // share of the packets
}

// Rest returns the point at which nothing changes: that windows fill the link and the queue,
// and that the algorithm of the window balances, W^2 p = 2, with an ACK for b packets 2/b. There is
// none where RED drops too little for it even when the memory is full.
func (c TCP) Rest() (Rest, error) {
	if err := c.check(); err != nil {
		return Rest{}, err
	}
	at := func(q float64) (r Rest, over bool) {
		r = Rest{Queue: q, Window: (c.RTT.Seconds() + q/c.Capacity) * c.Capacity / float64(c.Sources), Lost: c.lost(q)}
		return r, r.Window*r.Window*r.Lost > 2/float64(c.AckEvery)
	}
	if r, over := at(c.Memory); !over {
		return r, fmt.Errorf("fluid: with a memory of %v packets RED drops %.3g of them, which does not hold %d windows of %.3g",
			c.Memory, r.Lost, c.Sources, r.Window)
	}
	low, high, err := bisect(0, c.Memory, 30, arithmetic, func(q float64) (bool, error) { // to a billionth
		_, over := at(q)
		return over, nil
	})
	r, _ := at(arithmetic(low, high))
	return r, err
}

// Margin returns how a small oscillation about the rest comes back: at the frequency at which
// it has been turned round, in hertz, its size over that with which it went, the gain. The
// loop is stable where the gain is below 1. It is the criterion of Nyquist on the equations
// linearised about their rest, as C. Hollot, V. Misra, D. Towsley, W. Gong have them ("A
// control theoretic analysis of RED", INFOCOM 2001), with the delays of window and queue that
// they leave out at the end: with
//
//	G(s) = L K/(s+K) W^2/(2R) N/R e^(-sR) / D(s)
//	D(s) = (s + (1 + e^(-sR))/(b W R)) (s + 1/R) + N/R (1 - e^(-sR))/(b R^2 C)
//
// L the slope of the share that is lost over the average, and K = -C ln(1 - w).
func (c TCP) Margin() (gain, frequency float64, err error) {
	rest, err := c.Rest()
	if err != nil {
		return 0, 0, err
	}
	const near = 1e-4 // packets
	slope := (c.lost(rest.Queue+near) - c.lost(rest.Queue-near)) / (2 * near)
	r, n, b := c.RTT.Seconds()+rest.Queue/c.Capacity, float64(c.Sources), float64(c.AckEvery)
	k := -c.Capacity * math.Log(1-c.RED.Weight)
	loop := func(omega float64) complex128 {
		s := complex(0, omega)
		late := cmplx.Exp(-s * complex(r, 0))
		d := (s+(1+late)/complex(b*rest.Window*r, 0))*(s+complex(1/r, 0)) + complex(n/(b*r*r*r*c.Capacity), 0)*(1-late)
		return complex(slope*k*rest.Window*rest.Window/(2*r)*n/r, 0) * late / (s + complex(k, 0)) / d
	}
	// From the low end of the frequencies on, up to where the phase has fallen by half a turn.
	const finer = 1.001
	phase, last := 0.0, cmplx.Phase(loop(1e-6/r))
	for omega := 1e-6 / r; omega < 1e3/r; omega *= finer {
		now := cmplx.Phase(loop(omega))
		phase += math.Remainder(now-last, 2*math.Pi)
		if last = now; phase <= -math.Pi {
			return cmplx.Abs(loop(omega)), omega / (2 * math.Pi), nil
		}
	}
	return 0, 0, nil
}

// Boundary returns the value between low and high, applied by set, at which the loop changes from
// stable to unstable. If it is stable at both or at neither, the value is not a number.
func (c TCP) Boundary(low, high float64, set func(c *TCP, value float64)) (float64, error) {
	stable := func(value float64) (bool, error) {
		at := c
		set(&at, value)
		gain, _, err := at.Margin()
		return gain < 1, err
	}
	below, err := stable(low)
	if err != nil {
		return 0, err
	}
	above, err := stable(high)
	if err != nil {
		return 0, err
	}
	if below == above {
		return math.NaN(), nil
	}
	low, high, err = bisect(low, high, 40, arithmetic, func(value float64) (bool, error) {
		is, err := stable(value)
		return is != below, err
	})
	return arithmetic(low, high), err
}

// bisect halves an interval this many times. It keeps the half at whose low end a condition does
// not hold, and at whose high end it does.
func bisect(low, high float64, times int, middle func(low, high float64) float64,
	holds func(at float64) (bool, error)) (float64, float64, error) {
	for range times {
		at := middle(low, high)
		is, err := holds(at)
		switch {
		case err != nil:
			return 0, 0, err
		case is:
			high = at
		default:
			low = at
		}
	}
	return low, high, nil
}

func arithmetic(low, high float64) float64 { return (low + high) / 2 }
func geometric(low, high float64) float64  { return math.Sqrt(low * high) }
