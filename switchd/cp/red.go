package cp

import (
	"fmt"
	"math"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// REDParams are the parameters of random early detection. "The paper" is S. Floyd, V.
// Jacobson, "Random Early Detection Gateways for Congestion Avoidance" (IEEE/ACM
// Transactions on Networking 1(4), 1993). The same parameters are in ns-2 and in Linux:
//
//	here         the paper  ns-2 (Queue/RED)       Linux (tc red)
//	min          min_th 5   thresh_ 5 packets      min: max/3
//	max          max_th 15  maxthresh_ 15 packets  max: limit/4
//	max-p        max_p 1/50 1/linterm_ 1/10        probability 0.02
//	q-weight     w_q 0.002  q_weight_ 0.002        by burst, see there
//	gentle       -          gentle_ true           false
//	gaps         uniform    wait_ true             uniform
//	by-size      an option  bytes_ false           false
//	mean-packet  -          mean_pktsize_ 500      avpkt, 1000 as a rule
//	ecn          "marks"    setbit_ false          ecn: false
//	hard-drop    -          true                   harddrop: false
//
// The values of ns-2 are the ones that it had until October 2004. Since then it computes thresh_,
// maxthresh_ and q_weight_ from the line unless they are given, and counts bytes.
type REDParams struct {
	// Source of the defaults: Floyd and Jacobson 1993, ns-2 (before automatic defaults), or Linux's
	// tc red, which derives max from output-limit.
	Version string `key:"version" def:"paper" words:"paper|ns-2|tc"`
	// Average queue from which frames are dropped or marked at random; same unit as max.
	// Source: Floyd and Jacobson: min_th
	Min unit.Room `key:"min" computed:"5 packets; tc: max/3" also:"min-th|thresh"`
	// Average queue from which every frame is dropped or marked; above min, usually at least twice.
	// Its unit, packets or bytes, is that of the average.
	// Source: Floyd and Jacobson: max_th
	Max unit.Room `key:"max" computed:"15 packets; tc: output-limit/4" also:"max-th|maxthresh"`
	// Drop or mark probability just below max, rising linearly from min.
	// Source: Floyd and Jacobson: max_p
	MaxP float64 `key:"max-p" by:"version=0.02|0.1|0.02" low:"above 0" high:"1" also:"probability"`
	// Weight of the current queue in the average.
	// Source: Floyd and Jacobson: w_q
	Weight float64 `key:"q-weight" computed:"0.002; tc: by min and burst" low:"above 0" high:"1" also:"wq"`
	// version: tc without q-weight: packets that may arrive at once at an empty queue before the
	// average reaches min; determines the weight, a power of 1/2.
	// Source: tc red; Floyd and Jacobson, section 6.1
	Burst int `key:"burst" computed:"tc: (2 min + max)/(3 mean-packet)" low:"0" high:"1048576" omit:"usual"`
	// The probability rises linearly from max-p at max to 1 at twice max.
	// Source: S. Floyd, 2000
	Gentle bool `key:"gentle" by:"version=false|true|false"`
	// Distribution of the gap between dropped or marked frames at probability p. uniform: 1 to 1/p;
	// wait: 1/p to 2/p; geometric: independent.
	// Source: Floyd and Jacobson, section 7, methods 2 and 1; ns-2: wait_
	Gaps string `key:"gaps" by:"version=uniform|wait|uniform" words:"uniform|wait|geometric"`
	// The probability is proportional to frame length, with p for mean-packet.
	// Source: Floyd and Jacobson, section 4
	BySize bool `key:"by-size" def:"false" also:"bytes"`
	// Typical frame length: while idle, the average decays as if such frames arrived at the link
	// rate and found an empty queue.
	MeanPacket unit.Size `key:"mean-packet" by:"version=1000B|500B|1000B" low:"1B" also:"avpkt|mean-pktsize"`
	// Frames are marked instead of dropped. Required for lossless priorities.
	// Source: RFC 3168, section 5
	ECN bool `key:"ecn" def:"false" also:"setbit"`
	// ecn: true: frames at an average of max (gentle: twice max) or above are dropped, unless they
	// are lossless.
	// Source: tc red: harddrop; ns-2
	HardDrop bool `key:"hard-drop" by:"version=false|true|false" also:"harddrop"`
}

// The words of parameters that the points compare.
const (
	REDtc         = "tc"        // Version
	UniformGaps   = "uniform"   // Gaps: method 2 of the paper
	WaitGaps      = "wait"      // uniform, and twice as long at least and at most but one
	GeometricGaps = "geometric" // method 1
)

// Complete fills in the defaults that do not follow from the switch.
func (p *REDParams) Complete(given func(key string) bool) {
	least, most := unit.Room{Packets: 5}, unit.Room{Packets: 15}
	if p.Version == REDtc {
		least, most = unit.Room{}, unit.Room{} // FitSwitch fills them in
	}
	param.Fill(&p.Min, least, given("min"))
	param.Fill(&p.Max, most, given("max"))
	param.Fill(&p.Weight, 0.002, given("q-weight"))
}

// FitSwitch fills in the values that tc red takes from the limit of the queue.
func (p *REDParams) FitSwitch(_ bool, limit unit.Size, given func(key string) bool) {
	if p.Version != REDtc {
		return
	}
	param.Fill(&p.Max, unit.Room{Bytes: limit / 4}, given("max"))
	param.Fill(&p.Min, unit.Room{Bytes: p.Max.Bytes / 3, Packets: p.Max.Packets / 3}, given("min"))
	param.Fill(&p.Burst, int((2*p.packets(p.Min)+p.packets(p.Max))/3), given("burst"))
	param.Fill(&p.Weight, tcWeight(p.packets(p.Min), float64(p.Burst)), given("q-weight"))
}

// packets returns a length in packets.
func (p *REDParams) packets(r unit.Room) float64 {
	if r.Packets > 0 {
		return float64(r.Packets)
	}
	return float64(r.Bytes) / float64(p.MeanPacket)
}

// tcWeight is how tc finds a weight: the largest power of 1/2 for which the average does
// not pass min when a burst comes to an empty queue, which is the inequality of section 6.1,
// L + 1 + ((1-w)^(L+1) - 1)/w < min_th, with one packet less.
func tcWeight(min, burst float64) float64 {
	w := 0.5
	for burst+1-min > (1-math.Pow(1-w, burst))/w && w > math.Ldexp(1, -31) {
		w /= 2
	}
	return w
}

// Traits returns the thresholds of the average as levels and as a line. With ecn RED marks the
// frames that flow control keeps from loss.
func (p REDParams) Traits() Traits {
	t := Traits{Levels: []Level{{"min", p.Min}, {"max", p.Max}}, Spares: p.ECN}
	if p.ECN && !p.Gentle {
		t.Line = &Line{p.Min, p.Max, p.MaxP}
	}
	return t
}

// Least returns min, with the shortest frames.
func (p REDParams) Least(*wire.Frame, unit.Size) (string, unit.Size) {
	return "min", max(p.Min.Bytes, unit.Size(p.Min.Packets-1)*wire.MinFrame)
}

// CheckRoom refuses thresholds that are in the wrong order, or that no queue reaches.
func (p REDParams) CheckRoom(room, longest unit.Size) (wrong []Misfit) {
	refuse := func(key, format string, args ...any) {
		wrong = append(wrong, Misfit{key, fmt.Sprintf(format, args...)})
	}
	reached := p.Min.Bytes
	if p.Min.Packets > 0 {
		reached = unit.Size(p.Min.Packets) * longest
	}
	switch {
	case p.Max == (unit.Room{}):
		refuse("version",
			"with version: tc RED takes max from the output-limit, and there is none: give the switch an output-limit, or max and min")
	case (p.Min.Packets > 0) != (p.Max.Packets > 0):
		refuse("max", "min is %v and max is %v: give both in packets, or both in bytes", p.Min, p.Max)
	case p.Min.Packets >= p.Max.Packets && p.Min.Bytes >= p.Max.Bytes:
		refuse("max", "max is %v, and must be above min, %v", p.Max, p.Min)
	case reached >= room:
		refuse("min", "min is %v, and no queue can be longer than %v: RED would drop and mark nothing", p.Min, room)
	}
	return wrong
}

func redPoints() Point {
	return Point{
		Name: "red", Sees: Queues, Params: REDParams{},
		Doc:     "drops or marks frames at random before they join a queue, by the average queue length, on Ethernet",
		Dropper: func(params any, s Site) (Dropper, error) { return NewRED(params.(REDParams), s) },
	}
}

// RED is random early detection at one switch, for each priority of each output by itself
// (Floyd and Jacobson 1993, Fig. 2). A frame that comes to a queue of length q makes the
// average
//
//	avg = (1 - w)^m avg          where the line has been idle for the time of m frames
//	avg = (1 - w) avg + w q      else
//
// q is without the frame itself and without the one on the link. With min <= avg < max it is
// dropped, or marked, with a probability that grows with the number of those that were not
// since the last one (spread), from max on always.
//
// Two details are choices. The count of the paper's Fig. 2 is already 1 for the first frame
// behind one that was dropped, with which gaps are from 1 to 1/p - 1; here it is 0, as in
// section 7, with which they are from 1 to 1/p. And m is a whole number, as in ns-2, which
// counts one sample more when the frame comes.
type RED struct {
	c        REDParams
	site     Site
	min, max float64 // in packets or bytes
	points   []redPoint
}

// redPoint is the state of one congestion point.
type redPoint struct {
	average float64
	count   int       // frames since the last one that was dropped or marked
	idle    unit.Time // since when the queue is empty and the line free of its frames
}

// NewRED returns the congestion points of a switch.
func NewRED(c REDParams, s Site) (*RED, error) {
	if err := s.check(c); err != nil {
		return nil, err
	}
	r := &RED{c: c, site: s, min: float64(c.Min.Bytes), max: float64(c.Max.Bytes), points: make([]redPoint, s.queues())}
	if c.Min.Packets > 0 {
		r.min, r.max = float64(c.Min.Packets), float64(c.Max.Packets)
	}
	return r, nil
}

// Reset restores the initial state, for empty queues.
func (r *RED) Reset() { clear(r.points) }

// point returns the state of the queue that a frame is for.
func (r *RED) point(f *wire.Frame, q *Queue) *redPoint { return &r.points[q.index(f)] }

// Admit drops or marks f, or neither.
func (r *RED) Admit(now unit.Time, f *wire.Frame, q Queue) Verdict {
	p := r.point(f, &q)
	r.sample(p, now, &q)
	likely := r.likely(p.average)
	if likely < 1 && !r.picks(p, likely, &q) {
		return Pass
	}
	p.count = 0
	switch {
	case r.c.ECN && f.ECT() && (q.Lossless || likely < 1 || !r.c.HardDrop):
		f.FECN = true
		return Marked
	case q.Lossless:
		return Pass
	}
	return Drop
}

// picks draws whether a frame is the one to be dropped or marked, and counts it if not.
func (r *RED) picks(p *redPoint, likely float64, q *Queue) bool {
	if likely == 0 {
		p.count = 0
		return false
	}
	if r.c.BySize {
		likely *= float64(q.Length) / float64(r.c.MeanPacket)
	}
	p.count++
	return r.site.happens(r.spread(likely, p.count))
}

// sample takes the queue that a frame finds into the average.
func (r *RED) sample(p *redPoint, now unit.Time, q *Queue) {
	length := float64(q.Bytes)
	if r.c.Min.Packets > 0 {
		length = float64(q.Frames)
	}
	keep := 1 - r.c.Weight
	if frame := q.Rate.Serialise(r.c.MeanPacket); q.Frames == 0 && now > p.idle && frame > 0 {
		p.average *= math.Pow(keep, float64(now.Sub(p.idle)/frame))
		return
	}
	p.average = float64(keep*p.average) + float64(r.c.Weight*length) // rounded apart on every processor
}

// likely returns the probability p_b that belongs to an average.
func (r *RED) likely(average float64) float64 {
	switch {
	case average < r.min:
		return 0
	case average < r.max:
		return r.c.MaxP * ((average - r.min) / (r.max - r.min))
	case r.c.Gentle && average < 2*r.max:
		return r.c.MaxP + float64((1-r.c.MaxP)*((average-r.max)/r.max))
	}
	return 1
}

// spread returns the probability p_a of the n-th frame behind the last one that was picked: it
// makes the gaps between those as they should be.
func (r *RED) spread(likely float64, nth int) float64 {
	left := 1 - float64(likely*float64(nth-1))
	switch {
	case r.c.Gaps == GeometricGaps:
		return likely
	case r.c.Gaps == WaitGaps && likely*float64(nth) < 1:
		return 0
	case r.c.Gaps == WaitGaps:
		left = 2 - float64(likely*float64(nth))
	}
	if left <= likely {
		return 1
	}
	return likely / left
}

// Dequeue notes when the line will have sent the last frame of a queue.
func (r *RED) Dequeue(now unit.Time, f *wire.Frame, q Queue) {
	if q.Frames == 0 {
		r.point(f, &q).idle = now.Add(q.Rate.Serialise(q.Length))
	}
}
