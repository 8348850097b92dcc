package fabric

import (
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Ideal computes how long flows take that have the fabric to themselves. It keeps the paths that it
// has found.
type Ideal struct {
	fabric   *Fabric
	stagesOf map[[2]int][]stage
	known    map[place]*Path
}

// NewIdeal returns an Alone for a fabric, as its links are in the beginning.
func NewIdeal(f *Fabric) *Ideal {
	return &Ideal{fabric: f, stagesOf: map[[2]int][]stage{}, known: map[place]*Path{}}
}

// stage is one line on the path of a frame.
type stage struct {
	rate   unit.Rate
	travel unit.Duration // propagation of the link
	delay  unit.Duration // of the switch behind it
	whole  bool          // the switch forwards whole frames only
}

// stages returns the lines from one node to another.
func (a *Ideal) stages(src, dst int, qp uint32) []stage {
	if s, ok := a.stagesOf[[2]int{src, dst}]; ok {
		return s
	}
	var all []stage
	f := a.fabric
	path, err := f.lead(f.Paths.Epochs[0].State, scenario.Key{Src: src, Dst: dst, QP: qp}, a.known)
	for _, h := range path.All() {
		if err != nil {
			break
		}
		w := &f.Wires[h.Wire]
		s := stage{rate: w.Link.Rate, travel: w.Link.Propagation}
		if sw := f.Nodes[w.Ends[1-h.From].Node].Switch; sw != nil {
			s.delay, s.whole = sw.ForwardingDelay, sw.Forwarding == scenario.StoreAndForward
		}
		all = append(all, s)
	}
	a.stagesOf[[2]int{src, dst}] = all
	return all
}

// Time returns the ideal time of a flow of this many bytes of payload, from its arrival at one node
// to the delivery of its last byte at another: all packets leave back to back at the rate of the
// link. Windows, limiters and flow control add nothing. It is 0 if there is no path.
func (a *Ideal) Time(src, dst int, qp uint32, flow *Flow, size unit.Size) unit.Duration {
	frame, payload := a.fabric.Frame(flow), flow.Packet
	if flow.Transport.Streams() {
		payload -= wire.TCPOverhead
	}
	whole := (size - 1) / payload
	last := frame
	last.Payload = frame.Family.Fit(uint32(size - whole*payload + flow.Packet - payload))
	last.Last = true
	length, rest := a.fabric.Framing().Length(&frame), a.fabric.Framing().Length(&last)
	return travel(a.stages(src, dst, qp), length, rest, int64(whole))
}

// travel returns when the last frame has come: there are this many of one length, and then one of a
// rest.
func travel(stages []stage, length, rest unit.Size, frames int64) unit.Duration {
	// first is when the first frame begins on a link, and last when the last frame does. Frames of
	// one length are apart as on the slowest line before.
	var first, last, apart unit.Duration
	if frames == 0 {
		length = rest
	}
	for i, s := range stages {
		full, short := s.rate.Serialise(length), s.rate.Serialise(rest)
		apart = max(apart, full)
		if frames > 0 {
			last = max(last, first+unit.Duration(frames-1)*apart+full)
		}
		if i == len(stages)-1 {
			return last + short + s.travel
		}
		next := stages[i+1].rate
		first = s.through(first, full, next.Serialise(length))
		last = s.through(last, short, next.Serialise(rest))
	}
	return 0
}

// through returns when a frame that begins on a link begins on the next one, which takes so long
// for it. A switch that cuts through begins no sooner than so that the next line does not run dry.
func (s *stage) through(begin, here, next unit.Duration) unit.Duration {
	whole := begin + s.travel + here
	if s.whole {
		return whole + s.delay
	}
	return max(begin+s.travel+s.delay, whole-next)
}
