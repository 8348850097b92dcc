package cp

import (
	"fmt"
	"math"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// BCNParams are the parameters of the congestion points of BCN. "The slides" are "BCN:
// Analytical Model and Simulation Study" of July 2006 by Raj Jain; the ECM proposal is that
// of IBM's slides of March 2007 on E2CM. ECM differs from BCN in parameters only.
type BCNParams struct {
	// Source of the defaults: BCN, or the ECM proposal of March 2007.
	Version string `key:"version" def:"bcn" words:"bcn|ecm" from:"Jain 2006, the slides|ECM, the proposal of March 2007"`
	// Target queue length; less than the memory, at most 1MB.
	// Source: BCN: 16 frames of 1500 bytes; ECM
	Qeq unit.Size `key:"qeq" computed:"24000B; ecm: 75KB" low:"64B"`
	// Share of frames sampled on entering a queue.
	// Source: BCN: the slides, for 10 Gb/s
	Pm float64 `key:"pm" computed:"0.01; ecm: 0.02" low:"above 0" high:"1"`
	// random: each frame with probability pm; interval: one in 1/pm, varied by jitter.
	Sampling string `key:"sampling" def:"random" words:"random|interval"`
	// sampling: interval: random variation of the interval, in percent.
	Jitter int `key:"jitter" def:"15" low:"0" high:"99"`
	// BCN(0,0): stops the source of a frame that finds more than qsc queued.
	// Source: the slides: it lowers throughput
	Severe bool `key:"severe" def:"false"`
	// severe: true: queue length of severe congestion; above qeq.
	Qsc unit.Size `key:"qsc" computed:"four times qeq" low:"64B"`
	// A tagged frame that finds the queue at qeq and unchanged sends zeros, as in the original BCN,
	// which the source takes for BCN(0,0).
	// Source: the slides: "Qoff=0, Qdelta=0 is very likely when the queue operates at the
	// equilibrium"
	Zeros bool `key:"zeros" def:"false"`
	// BCN_MAX: a longer queue sends the most negative values; above qeq.
	Maximum unit.Size `key:"maximum" computed:"none; ecm: 280KB" low:"64B" none:"none"`
	// Jain's enhancement: messages carry the link rate, in steps of 10 Mb/s, from which the source
	// derives ru and its initial rate.
	Rate     bool  `key:"bottleneck" def:"false"`
	Priority uint8 `key:"priority" def:"6" low:"0" high:"7" doc:"Priority of messages."`
	Lost     int   `key:"lost" def:"0" low:"0" high:"100" doc:"Messages lost at random, in percent, for experiments."`
	// Tags of sampled frames that are ignored at random, in percent, for experiments.
	LostTags int `key:"lost-tags" def:"0" low:"0" high:"100"`
}

// The words of parameters that the points compare.
const (
	ECM              = "ecm"      // Version: of the proposal of March 2007
	IntervalSampling = "interval" // Sampling
)

// Complete fills in the values that depend on the version, and qsc.
func (p *BCNParams) Complete(given func(key string) bool) {
	qeq, pm, most := unit.Size(24000), 0.01, unit.Size(0)
	if p.Version == ECM {
		qeq, pm, most = 75000, 0.02, 280000
	}
	param.Fill(&p.Qeq, qeq, given("qeq"))
	param.Fill(&p.Pm, pm, given("pm"))
	param.Fill(&p.Maximum, most, given("maximum"))
	param.Fill(&p.Qsc, 4*p.Qeq, given("qsc"))
}

// Traits returns the length that a queue should have, the lengths beyond which a message carries
// more than the distance from it, and the longest message.
func (p BCNParams) Traits() Traits {
	levels := []Level{{"qeq", unit.Room{Bytes: p.Qeq}}}
	if p.Severe {
		levels = append(levels, Level{"qsc", unit.Room{Bytes: p.Qsc}})
	}
	if p.Maximum > 0 {
		levels = append(levels, Level{"maximum", unit.Room{Bytes: p.Maximum}})
	}
	return Traits{Levels: levels, Notice: func(f *wire.Frame) wire.Frame {
		m := wire.Frame{Kind: wire.BCN, Lane: p.Priority, Tagged: f.Tagged}
		m.Sample(f)
		return m
	}}
}

// Least returns qeq: a shorter queue notifies the sources that have a tag of it, and only longer
// ones give tags.
func (p BCNParams) Least(*wire.Frame, unit.Size) (string, unit.Size) { return "qeq", p.Qeq }

// bcnMost is the longest Qeq: 2 Qeq fits into 16 bits of units of 64 octets.
const bcnMost = 1 << 20

// CheckRoom refuses points that would send no message, and bounds that are in the wrong
// order.
func (p BCNParams) CheckRoom(room, _ unit.Size) (wrong []Misfit) {
	refuse := func(key, format string, args ...any) {
		wrong = append(wrong, Misfit{key, fmt.Sprintf(format, args...)})
	}
	switch {
	case p.Qeq >= room:
		refuse("qeq", "Qeq is %v, and no queue can be longer than %v: no source would slow down", p.Qeq, room)
	case p.Qeq >= bcnMost:
		refuse("qeq", "Qeq is %v, and a message has room for less than %v", p.Qeq, unit.Size(bcnMost))
	}
	if p.Severe && p.Qsc <= p.Qeq {
		refuse("qsc", "Qsc, %v, must be above Qeq, %v", p.Qsc, p.Qeq)
	} else if p.Severe && p.Qsc >= room {
		refuse("qsc", "Qsc is %v, and no queue can be longer than %v: no source would be stopped", p.Qsc, room)
	}
	if p.Maximum > 0 && p.Maximum <= p.Qeq {
		refuse("maximum", "the maximum, %v, must be above Qeq, %v", p.Maximum, p.Qeq)
	}
	return wrong
}

func bcnPoints() Point {
	return Point{
		Name: "bcn", Also: []string{"ecm"}, Sees: Queues, Params: BCNParams{},
		Doc:      "samples frames, and sends BCN messages with the queue's distance from its target to their sources, on Ethernet",
		Notifier: func(params any, s Site) (Notifier, error) { return NewBCN(params.(BCNParams), s) },
	}
}

// BCN is the congestion points of one switch, one for each priority of each output. A frame
// that is sampled as it joins a queue of length q makes a point notify its source
//
//	Qoff   = Qeq - q                    from -Qeq to Qeq
//	Qdelta = arrivals - departures      since the last sample, from -2 Qeq to 2 Qeq
//
// (slide "Parameters for BCN"; the upper bound of Qoff alone is in the formula there, both
// are in the note below it). Above Qeq the source of any
// frame is sent a message, below only the source of a frame with the tag of this point (US patent
// 7,961,621, claim 1).
type BCN struct {
	c      BCNParams
	site   Site
	points []bcnPoint // by output and priority
}

// bcnPoint is the state of one congestion point.
type bcnPoint struct {
	old  unit.Size // length of the queue at the last sample
	left int64     // IntervalSampling: frames until the next
}

// NewBCN returns the congestion points of a switch.
func NewBCN(c BCNParams, s Site) (*BCN, error) {
	if err := s.check(c); err != nil {
		return nil, err
	}
	b := &BCN{c: c, site: s, points: make([]bcnPoint, s.queues())}
	b.Reset()
	return b, nil
}

// Reset restores the initial state, for empty queues.
func (b *BCN) Reset() {
	for i := range b.points {
		b.points[i] = bcnPoint{left: b.interval()}
	}
}

// Enqueue may sample f.
func (b *BCN) Enqueue(_ unit.Time, f *wire.Frame, q Queue) (wire.Frame, bool) {
	p := &b.points[q.index(f)]
	if !b.samples(p) {
		return wire.Frame{}, false
	}
	m := wire.Frame{
		Kind: wire.BCN, Lane: b.c.Priority, Tagged: f.Tagged, Src: b.site.Address, Dst: f.Src,
		CPID: b.id(q.Output, f.Lane), Extension: wire.ExtensionOf(wire.SampleExtension{Lane: f.Lane, Dst: f.Dst}),
	}
	m.Sample(f)
	offset, delta := b.c.Qeq-q.Bytes, q.Bytes-p.old
	p.old = q.Bytes
	mine := f.CPID == m.CPID && !b.site.loses(b.c.LostTags)
	switch {
	case b.c.Severe && q.Bytes > b.c.Qsc:
		offset, delta, m.Flags = 0, 0, wire.BCNSevere|wire.BCNMild
	case b.c.Maximum > 0 && q.Bytes > b.c.Maximum:
		offset, delta, m.Flags = -b.c.Qeq, 2*b.c.Qeq, wire.BCNMax|wire.BCNMild
	case q.Bytes > b.c.Qeq:
		m.Flags = wire.BCNMild
	case !mine:
		return wire.Frame{}, false
	}
	s := m.Sampled()
	s.QOffset, s.QDelta = near64(offset, b.c.Qeq), near64(delta, 2*b.c.Qeq)
	if s.QOffset == 0 && s.QDelta == 0 && m.Flags&wire.BCNSevere == 0 && !b.c.Zeros {
		return wire.Frame{}, false
	}
	if b.c.Rate {
		s.Bottleneck = uint16(min(max((q.Rate+wire.BottleneckUnit/2)/wire.BottleneckUnit, 1), math.MaxUint16))
	}
	return m, !b.site.loses(b.c.Lost)
}

// samples reports whether the next frame that joins the queue of a point is sampled.
func (b *BCN) samples(p *bcnPoint) bool {
	if b.c.Sampling != IntervalSampling {
		return b.site.happens(b.c.Pm)
	}
	if p.left--; p.left > 0 {
		return false
	}
	p.left = b.interval()
	return true
}

// interval returns how many frames it is until the next sample.
func (b *BCN) interval() int64 {
	n := 1 / b.c.Pm
	spread := n * float64(b.c.Jitter) / 100 * (float64(b.site.Random.Below(1<<32))/(1<<31) - 1)
	return max(1, int64(math.Round(n+spread)))
}

// id returns the CPID of a point: the port, of 2 bytes, and the MAC of the switch.
func (b *BCN) id(output int, lane uint8) uint64 {
	return uint64(output<<3|int(lane&7))<<48 | uint64(b.site.Address.MAC())
}

// Dequeue does nothing: BCN samples arrivals.
func (b *BCN) Dequeue(unit.Time, *wire.Frame, Queue) {}

// near64 returns a length in units of 64 octets, as in messages, rounded to the nearest
// and no longer than most in either direction.
func near64(n, most unit.Size) int16 {
	return int16(math.Round(float64(min(max(n, -most), most)) / 64))
}
