package cp

import (
	"fmt"
	"math"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// QCNConfig holds the parameters of the congestion points of QCN. The names in
// brackets are those of the standard's management objects (IEEE 802.1Qau,
// IEEE8021-CN-MIB); "the talk" is "QCN: Quantized Congestion Notification" by
// Balaji Prabhakar, Stanford.
type QCNConfig struct {
	Qeq        unit.Size // [cpQueueSizeSetPoint] the length that the queue should have; 26000; the talk 22 frames
	Weight     int       // [cpFeedbackWeight] w = 2^Weight weighs the growth of the queue; -10 to 10; 1
	SampleBase unit.Size // [cpMinSampleBase] bytes between samples when nothing is wrong; at least 10000; 150000
	Jitter     int       // the interval varies by so many percent up or down; 15
	Octets     int       // [cpMinHeaderOctets] how much of the sampled frame's MSDU goes back, 14 to 64, or 0
	Priority   uint8     // of notifications; 6

	// Talk samples as the talk has it: each frame with a probability that grows with
	// |Fb| in a line, from 1 % to 10 %. The standard counts bytes.
	Talk bool

	// Lost is for experiments: so many per cent of the notifications are lost.
	Lost int

	Address wire.LID     // of the switch, the source of notifications
	Random  *unit.Random // draws jitter and samples
}

// QCN is the congestion points of one switch, one for each priority of each output.
// It samples frames as they join a queue of length q, and tells the source of a
// sampled frame when
//
//	Fb = (Qeq - q) - w (q - qold)
//
// is negative: the queue is too long, or grows too fast. qold is its length at the
// last sample. Fb goes back in 6 bits (IEEE 802.1Qau, clause 32.9; the talk, "Basic
// QCN").
type QCN struct {
	c      QCNConfig
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

// NewQCN returns the congestion points of a switch with so many ports.
func NewQCN(c QCNConfig, ports int) (*QCN, error) {
	switch {
	case c.Qeq < 100 || c.Qeq > 1<<31:
		return nil, fmt.Errorf("marking: Qeq is %v; 100B to 2GB are possible", c.Qeq)
	case c.Weight < -10 || c.Weight > 10:
		return nil, fmt.Errorf("marking: the weight is 2^%d; 2^-10 to 2^10 are possible", c.Weight)
	case c.SampleBase < 10000:
		return nil, fmt.Errorf("marking: a sample each %v; at least 10000B are wanted", c.SampleBase)
	case c.Jitter < 0 || c.Jitter > 99 || c.Priority > 7:
		return nil, fmt.Errorf("marking: jitter of %d %% and priority %d: at most 99 and 7 are possible", c.Jitter, c.Priority)
	case c.Lost < 0 || c.Lost > 100:
		return nil, fmt.Errorf("marking: %d %% of the notifications are to be lost; 0 to 100 are possible", c.Lost)
	case c.Octets != 0 && (c.Octets < wholeHead || c.Octets > wire.MaxOctets):
		// Fewer would cut the number of the flow in two.
		return nil, fmt.Errorf("marking: %d octets of the sampled frame: %d to %d are possible, or none", c.Octets, wholeHead, wire.MaxOctets)
	case c.Random == nil && (c.Jitter > 0 || c.Talk || c.Lost > 0):
		return nil, fmt.Errorf("marking: sampling wants a generator of random numbers")
	}
	m := &QCN{c: c, points: make([]qcnPoint, ports*8)}
	// |Fb| is at most Qeq (2w + 1): a queue of twice Qeq that has grown by as much.
	m.most = int64(c.Qeq)<<scaleBits + int64(c.Qeq)<<(scaleBits+1+c.Weight)
	m.Reset()
	return m, nil
}

// Reset begins anew with empty queues.
func (m *QCN) Reset() {
	for i := range m.points {
		m.points[i] = qcnPoint{left: m.interval(0)}
	}
}

// Enqueue may sample f.
func (m *QCN) Enqueue(_ unit.Time, f *wire.Frame, q Queue) (wire.Frame, bool) {
	p := &m.points[q.Output*8+int(f.Lane&7)]
	fb := m.Feedback(q.Bytes, p.old)
	if m.c.Talk {
		// 1 % + 9 % |Fb| / |Fb|max, of 2^32.
		const percent = (1 << 32) / 100
		if m.c.Random.Below(1<<32) >= percent+9*percent*uint64(fb)/63 {
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
	if fb == 0 || m.c.Lost > 0 && m.c.Random.Below(100) < uint64(m.c.Lost) {
		return wire.Frame{}, false
	}
	n := wire.Frame{
		Kind: wire.Notification, Lane: m.c.Priority, Tagged: f.Tagged, Src: m.c.Address, Dst: f.Src,
		Fb: fb, Octets: uint8(m.c.Octets), SampledLane: f.Lane, SampledDst: f.Dst,
		QOffset: in64(offset), QDelta: in64(delta),
		CPID: uint64(m.c.Address)<<16 | uint64(q.Output)<<8 | uint64(f.Lane),
	}
	// The source knows of the sampled frame what the notification has room for.
	switch {
	case m.c.Octets > 0:
		n.QP, n.PSN, n.Payload, n.FECN, n.Last = f.QP, f.PSN, f.Payload, f.FECN, f.Last
	case f.Tagged:
		n.QP = f.QP & 0xFFFF
	}
	return n, true
}

// wholeHead is how many octets of a sampled frame hold all that tells it from others:
// its EtherType and the header behind.
const wholeHead = 14

// Dequeue marks nothing: QCN leaves frames as they are.
func (m *QCN) Dequeue(unit.Time, *wire.Frame, Queue) trace.Reason { return trace.NoReason }

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
	return unit.Size(n - span + int64(m.c.Random.Below(uint64(2*span)+1)))
}

// length returns what a frame counts: as it does in the queue.
func (*QCN) length(f *wire.Frame) unit.Size { return unit.Size(f.Payload) }

// in64 returns a length in units of 64 octets, as notifications have it, rounded
// towards zero and cut to 16 bits.
func in64(n unit.Size) int16 {
	return int16(min(max(n/64, math.MinInt16), math.MaxInt16))
}
