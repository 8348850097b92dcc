package node

import (
	"fabemu/node/spray"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// sprayStream is the first stream of random numbers of those that flows spray by.
const sprayStream = 7 << 32

// paths chooses the path of each packet of a flow with RoCEv2 or UET, by its UDP source port. An
// ACK has the port of the packet that it answers.
type paths struct {
	sprayer spray.Sprayer // nil: all packets take one path
	last    uint16        // of the packet that was loaded last
}

func newPaths(p spray.Policy, entropies int, seed uint64, qp uint32) paths {
	return paths{sprayer: spray.New(p, entropies, unit.NewRandom(seed, sprayStream+uint64(qp)))}
}

// choose chooses the path of a packet that leaves now.
func (p *paths) choose(now unit.Time, f *wire.Frame) {
	if p.sprayer != nil {
		p.last = p.sprayer.Next(now)
		f.SetSourcePort(wire.LeastSourcePort + p.last)
	}
}

// learn takes in what is learned of the path that a packet has taken.
func (p *paths) learn(now unit.Time, path uint16, f spray.Feedback) {
	if p.sprayer != nil {
		p.sprayer.Learn(now, path, f)
	}
}

// learnFrom takes in what an ACK says of the path of its packet.
func (p *paths) learnFrom(now unit.Time, f *wire.Frame) {
	heard := spray.Good
	if f.BECN {
		heard = spray.Marked
	}
	p.learn(now, f.SourcePort()-wire.LeastSourcePort, heard)
}

// sprayedSender is the sending half of RoCE that goes back, and whose packets are sprayed. It does
// not know on which path a packet was lost.
type sprayedSender struct {
	roceSender
	paths
}

func newSprayedSender(r roceSender) *sprayedSender {
	r.source.filled = true // a path is chosen when the packet leaves, and not before
	return &sprayedSender{r, newPaths(r.params.Spray, r.params.Entropies, r.params.Seed, r.source.QP)}
}

func (r *sprayedSender) load(now unit.Time, f *wire.Frame) bool {
	if a, _ := r.next(now); a.Block != port.Open { // an ACK may have come while it waited
		return false
	}
	r.choose(now, f)
	return true
}

func (r *sprayedSender) receive(now unit.Time, f *wire.Frame, rec *trace.Recorder) {
	if !f.RoCE().NAK {
		r.learnFrom(now, f)
	}
	r.roceSender.receive(now, f, rec)
}

// deadline returns unit.Never: the source has the deadline of its window.
func (r *sprayedSender) deadline() unit.Time { return unit.Never }
