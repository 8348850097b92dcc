package switchd

import (
	"fmt"
	"math"

	"fabemu/wire/unit"
)

// Dynamic are watermarks that follow the free memory, as switch chips have them: an input stops its
// sender when it occupies Alpha times the shared memory that is free. So few inputs may take much
// and many take little each: n of them that fill at the same pace stop at Alpha Shared / (1 + n
// Alpha), as the queues of Choudhury and Hahne do ("Dynamic queue length thresholds for
// shared-memory packet switches", IEEE/ACM Transactions on Networking 6(2), 1998).
//
// What comes after the stop occupies the rest of the memory, the headroom of all inputs, and leaves
// it first. A priority without flow control never does: its frames are dropped at the watermark.
type Dynamic struct {
	Alpha  float64   // times the free memory; above 0; 0: the watermarks are fixed
	Shared unit.Size // the memory without the headroom of all inputs
	// Offset is by how much the input must occupy less than the watermark before its sender resumes
	// (SAI_BUFFER_PROFILE_ATTR_XON_OFFSET_TH). Its headroom must be free, too. With the low
	// watermark or less (SAI_BUFFER_PROFILE_ATTR_XON_TH) it resumes in any case.
	Offset unit.Size
}

// check refuses watermarks that cannot work.
func (d *Dynamic) check(c *OutputQueuedConfig) error {
	switch {
	case d.Alpha == 0 && *d != (Dynamic{}), !(d.Alpha >= 0), math.IsInf(d.Alpha, 1):
		return fmt.Errorf("alpha is %v: it is above 0, or there is no Dynamic", d.Alpha)
	case d.Alpha > 0 && (c.High > 0 || !c.Pooled || !c.control().Pauses()):
		return fmt.Errorf("alpha is %v with a high watermark of %v and flow control %v: it is for PAUSE and PFC with one pool of memory, and gives the high watermark", d.Alpha, c.High, c.control())
	case d.Alpha > 0 && (d.Shared < 1 || d.Shared > c.Memory || d.Offset < 0):
		return fmt.Errorf("shared memory of %v and an offset of %v in a memory of %v: the shared memory is a part of it", d.Shared, d.Offset, c.Memory)
	}
	return nil
}

// pool is the shared part of a memory with Dynamic watermarks.
type pool struct {
	Dynamic
	low     unit.Size   // always enough to resume
	used    unit.Size   // of Shared
	over    []unit.Size // by occupancy, its part that is headroom
	stopped []int32     // the occupancies that are stopped
	least   unit.Size   // no stopped occupancy whose headroom is free has less
	resumed []int32     // the occupancies whose senders may resume, since they were last taken
}

func newPool(c *OutputQueuedConfig, occupancies int) *pool {
	if c.Dynamic.Alpha == 0 {
		return nil
	}
	return &pool{Dynamic: c.Dynamic, low: c.Low, over: make([]unit.Size, occupancies), least: math.MaxInt64}
}

// watermark returns what an input may occupy of the shared memory at present.
func (p *pool) watermark() float64 { return float64(p.Alpha * float64(p.Shared-p.used)) }

// left returns how much more an input that has taken so much of the shared memory may take until it
// is at the watermark, which falls meanwhile: the y of taken + y = Alpha (free - y).
func (p *pool) left(taken unit.Size) unit.Size {
	return max(unit.Size((p.watermark()-float64(taken))/(1+p.Alpha)), 0)
}

// store takes n bytes for an occupancy with flow control (controls) or without. It reports whether
// the sender must stop now and did not have to before; without flow control it reports false in ok
// if there is no room.
func (p *pool) store(k int, a *occupancy, n unit.Size, controls bool) (stop, ok bool) {
	left := p.left(a.taken - p.over[k])
	if !controls && n > left {
		return false, false
	}
	shared := min(n, left)
	p.used += shared
	p.over[k] += n - shared
	a.taken += n
	if !controls || n < left || a.stopped {
		return false, true
	}
	a.stopped = true
	p.stopped = append(p.stopped, int32(k))
	if p.over[k] == 0 {
		p.least = min(p.least, a.taken)
	}
	return true, true
}

// free gives n bytes of an occupancy back, first those of its headroom. The watermark of all inputs
// rises: resumed has those whose senders may resume.
func (p *pool) free(k int, all []occupancy, n unit.Size) {
	a := &all[k]
	a.taken -= n
	over := min(p.over[k], n)
	p.over[k] -= over
	p.used -= n - over
	if a.stopped && p.over[k] == 0 {
		p.least = min(p.least, a.taken)
	}
	if len(p.stopped) == 0 {
		return
	}
	if enough := max(unit.Size(p.watermark())-p.Offset, p.low, 0); enough >= p.least {
		p.resume(all, enough)
	}
}

// resume notes the stopped occupancies that have no more than enough.
func (p *pool) resume(all []occupancy, enough unit.Size) {
	still := p.stopped[:0]
	p.least = math.MaxInt64
	for _, k := range p.stopped {
		switch a := &all[k]; {
		case p.over[k] > 0:
			still = append(still, k)
		case a.taken > enough:
			still = append(still, k)
			p.least = min(p.least, a.taken)
		default:
			a.stopped = false
			p.resumed = append(p.resumed, k)
		}
	}
	p.stopped = still
}
