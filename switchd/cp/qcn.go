package cp

import (
	"fmt"
	"math"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// QCNParams are the parameters of the congestion points of QCN. "The talk" is "QCN:
// Quantized Congestion Notification" by Balaji Prabhakar, Stanford.
type QCNParams struct {
	// Target queue length; less than the memory. Longer or growing queues cause notifications.
	// Source: cpQueueSizeSetPoint
	Qeq unit.Size `key:"qeq" def:"26000B" low:"100B" search:"4"`
	// Queue growth since the last sample counts 2^weight times.
	// Source: cpFeedbackWeight
	Weight int `key:"weight" def:"1" low:"-10" high:"10"`
	// Bytes between samples without congestion; an eighth of it in the worst case, which must hold
	// a frame.
	// Source: cpMinSampleBase
	SampleBase unit.Size `key:"sample-base" def:"150KB" low:"10000B"`
	// Random variation of the sampling interval, in percent.
	// Source: IEEE 802.1Qau
	Jitter int `key:"jitter" def:"15" low:"0" high:"99"`
	// Bytes of the sampled frame, from the EtherType on, in a notification: 0, or 14 to 64 to
	// identify the flow. IP packets need all headers: 42 with TCP or RoCEv2 over IPv4, 62 over
	// IPv6. With 0 the CN-TAG, or the source's shared limiter, identifies it.
	// Source: cpMinHeaderOctets
	Octets   int   `key:"octets" def:"0" low:"0" high:"64"`
	Priority uint8 `key:"priority" def:"6" low:"0" high:"7" also:"cnm-priority" doc:"Priority of notifications."`
	// Source of the sampling rules: IEEE 802.1Qau or the QCN talk.
	Version string `key:"version" def:"standard" words:"standard|talk"`
	// table: one sample per number of bytes from the standard's table; linear: with a probability
	// of 1 % to 10 %, linear in the feedback, as the talk's authors published elsewhere.
	Sampling string `key:"sampling" by:"version=table|linear" words:"table|linear"`
	// Notifications lost at random, in percent, for experiments.
	Lost int `key:"lost" def:"0" low:"0" high:"100"`
}

// Linear is the word of Sampling for M. Alizadeh et al., Data Center Transport Mechanisms,
// Allerton 2008.
const Linear = "linear"

// Traits returns the length that a queue should have, and notifications with as much of a frame as
// there can be.
func (p QCNParams) Traits() Traits {
	notice := wire.Frame{Kind: wire.Notification, Lane: p.Priority, Extension: wire.ExtensionOf(wire.SampleExtension{Octets: wire.MaxOctets})}
	return Traits{
		Levels: []Level{{"qeq", unit.Room{Bytes: p.Qeq}}}, Nameless: p.Octets <= 0,
		Notice: func(f *wire.Frame) wire.Frame {
			notice.Tagged = f.Tagged
			return notice
		},
	}
}

// Least returns the length at which a queue that has grown from nothing makes the source lower its
// rate.
func (p QCNParams) Least(*wire.Frame, unit.Size) (string, unit.Size) {
	return "qeq", unit.Size(float64(p.Qeq) / (1 + math.Ldexp(1, p.Weight)))
}

// CheckRoom refuses points that would never notify, or sample every frame, and octets
// that cut the number of a flow in two.
func (p QCNParams) CheckRoom(room, longest unit.Size) (wrong []Misfit) {
	if p.Qeq >= room {
		wrong = append(wrong,
			Misfit{"qeq", fmt.Sprintf("Qeq is %v, and no queue can be longer than %v: no source would be notified", p.Qeq, room)})
	}
	if p.Octets > 0 && p.Octets < wholeHead {
		wrong = append(wrong,
			Misfit{"octets",
				fmt.Sprintf("%d octets of a frame do not hold the number of its flow: %d to %d do, or 0", p.Octets, wholeHead, wire.MaxOctets)})
	}
	if least := p.SampleBase * 123 / 1000 * unit.Size(100-p.Jitter) / 100; least < longest {
		wrong = append(wrong,
			Misfit{"sample-base",
				fmt.Sprintf("the shortest interval between samples is %v, an eighth of sample-base less the jitter, and a frame is %v long: every frame would be sampled", least, longest)})
	}
	return wrong
}

func qcnPoints() Point {
	return Point{
		Name: "qcn", Also: []string{"802.1qau"}, Sees: Queues, Params: QCNParams{},
		Doc:      "notifies the sources of long or growing queues (IEEE 802.1Qau), on Ethernet; defaults named cp... are from its MIB, IEEE8021-CN-MIB",
		Notifier: func(params any, s Site) (Notifier, error) { return NewQCN(params.(QCNParams), s) },
	}
}

// QCN is the congestion points of one switch, one for each priority of each output.
// It samples frames as they join a queue of length q, and notifies the source of a
// sampled frame when
//
//	Fb = (Qeq - q) - w (q - qold)
//
// is negative: the queue is too long, or grows too fast. qold is its length at the
// last sample. Fb goes back in 6 bits (IEEE 802.1Qau, clause 32.9; the talk, "Basic
// QCN").
type QCN struct {
	c      QCNParams
	site   Site
	points []qcnPoint // by output and priority
	most   int64      // the largest -Fb, in units of 2^-scaleBits bytes
}

// qcnPoint is the state of one congestion point.
type qcnPoint struct {
	old  unit.Size // length of the queue at the last sample
	left unit.Size // bytes until the next
}

// scaleBits makes w an integer however small it is.
const scaleBits = 10

// sampleShares is how SampleBase shrinks with the upper three bits of the quantised
// feedback, in thousandths: 150 KB at the calmest, 18.5 KB at the worst (the
// standard's table of sampling intervals).
var sampleShares = [8]int64{1000, 500, 333, 250, 200, 167, 143, 123}

// NewQCN returns the congestion points of a switch.
func NewQCN(c QCNParams, s Site) (*QCN, error) {
	if err := s.check(c); err != nil {
		return nil, err
	}
	m := &QCN{c: c, site: s, points: make([]qcnPoint, s.queues())}
	// |Fb| is at most Qeq (2w + 1): a queue of twice Qeq that has grown by as much.
	m.most = int64(c.Qeq)<<scaleBits + int64(c.Qeq)<<(scaleBits+1+c.Weight)
	m.Reset()
	return m, nil
}

// Reset restores the initial state, for empty queues.
func (m *QCN) Reset() {
	for i := range m.points {
		m.points[i] = qcnPoint{left: m.interval(0)}
	}
}

// Enqueue may sample f.
func (m *QCN) Enqueue(_ unit.Time, f *wire.Frame, q Queue) (wire.Frame, bool) {
	p := &m.points[q.index(f)]
	fb := m.Feedback(q.Bytes, p.old)
	if m.c.Sampling == Linear {
		// 1 % + 9 % |Fb| / |Fb|max, of 2^32.
		const percent = (1 << 32) / 100
		if m.site.Random.Below(1<<32) >= percent+9*percent*uint64(fb)/63 {
			return wire.Frame{}, false
		}
	} else {
		if p.left -= m.length(f); p.left >= 0 {
			return wire.Frame{}, false
		}
		p.left = m.interval(fb)
	}
	offset, delta := m.c.Qeq-q.Bytes, q.Bytes-p.old
	p.old = q.Bytes
	if fb == 0 || m.site.loses(m.c.Lost) {
		return wire.Frame{}, false
	}
	n := wire.Frame{
		Kind: wire.Notification, Lane: m.c.Priority, Tagged: f.Tagged, Src: m.site.Address, Dst: f.Src,
		Extension: wire.ExtensionOf(wire.SampleExtension{
			Fb: fb, Octets: uint8(m.c.Octets), Lane: f.Lane, Dst: f.Dst, QOffset: in64(offset), QDelta: in64(delta),
		}),
		CPID: uint64(m.site.Address)<<16 | uint64(q.Output)<<8 | uint64(f.Lane),
	}
	// The notification carries as much of the sampled frame as it has room for.
	switch {
	case m.c.Octets > 0:
		n.Sample(f)
		n.Sampled().Octets = uint8(max(m.c.Octets, f.SampledOctets()))
	case f.Tagged:
		n.QP = f.QP & 0xFFFF
	}
	return n, true
}

// wholeHead is how many octets of a sampled frame hold all that distinguishes it from others:
// its EtherType and the header behind.
const wholeHead = 14

// Dequeue does nothing: QCN samples arrivals.
func (m *QCN) Dequeue(unit.Time, *wire.Frame, Queue) {}

// Feedback returns the quantised feedback, 0 to 63, of a queue that has q bytes and
// had old at the last sample: 0 where Fb is not negative.
func (m *QCN) Feedback(q, old unit.Size) uint8 {
	fb := int64(m.c.Qeq-q)<<scaleBits - int64(q-old)*(1<<(scaleBits+m.c.Weight))
	return uint8(min(max(-fb, 0), m.most) * 63 / m.most)
}

// interval returns how many bytes to let pass until the next sample.
func (m *QCN) interval(fb uint8) unit.Size {
	n := int64(m.c.SampleBase) * sampleShares[fb>>3] / 1000
	if m.c.Jitter == 0 {
		return unit.Size(n)
	}
	span := n * int64(m.c.Jitter) / 100
	return unit.Size(n - span + int64(m.site.Random.Below(uint64(2*span)+1)))
}

// length returns how much a frame counts: as much as in the queue.
func (*QCN) length(f *wire.Frame) unit.Size { return unit.Size(f.Payload) }

// in64 returns a length in units of 64 octets, as in notifications, rounded
// towards zero and cut to 16 bits.
func in64(n unit.Size) int16 {
	return int16(min(max(n/64, math.MinInt16), math.MaxInt16))
}
