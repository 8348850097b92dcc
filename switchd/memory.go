package switchd

import (
	"math"
	"slices"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// memory is the state of a shared memory: how much of it each input occupies, and which inputs
// should stop sending.
//
// It is divided into partitions, one for each input, or it is one pool for all. Each input has
// watermarks on the memory that it occupies itself: on all of it (PAUSE), or on each priority
// (PFC). The watermarks are fixed, or follow the free memory of the pool (Dynamic).
type memory struct {
	pooled      bool
	classes     uint8       // the bits of a priority that are its class: all with PFC, otherwise none
	flow        uint8       // the priorities with watermarks, a bit each
	pool        *pool       // nil: the watermarks are fixed
	part        unit.Size   // the size of the partition of an input
	high, low   unit.Size   // watermarks
	inputs      []input     // of the switch
	occupancies []occupancy // by input, with PFC by input and priority; nil: inputs have one each, which is all that is taken of the partition
	room        []unit.Size // by partition, of which the pool is the only one; nil: part
	used        []unit.Size // by partition; nil: as occupancies
	cuts        []cut       // by input; nil: each input has all of its buffer
}

// cut is a missing part of the buffer of an input. It is taken away as it becomes free: memory
// above the lower high watermark that frames occupy goes once they have left. So frames that were
// in flight when the watermark fell still have their headroom, and the sender is stopped in time.
type cut struct {
	high, low unit.Size // watermarks of the part that is left: those of the memory count where they are lower
	most      unit.Size // how much should be missing
	gone      unit.Size // how much is missing already
}

// occupancy is the memory that an input occupies; with PFC, for one priority.
type occupancy struct {
	taken   unit.Size
	stopped bool // the high watermark has been reached, and the low one not since
}

func newMemory(c *OutputQueuedConfig, inputs []input) memory {
	m := memory{inputs: inputs, part: c.Memory / unit.Size(len(inputs)), high: c.High, low: c.Low, pooled: c.Pooled, flow: allPriorities}
	if c.High == 0 { // no sender has to stop
		m.high = math.MaxInt64
	}
	if c.control().ByPriority() {
		m.classes, m.flow = port.Priorities-1, c.Lossless
	}
	switch {
	case c.Pooled:
		m.used, m.room = make([]unit.Size, 1), []unit.Size{c.Memory}
	case m.classes == 0:
		return m
	default:
		m.used = make([]unit.Size, len(inputs))
	}
	m.occupancies = make([]occupancy, len(inputs)*(int(m.classes)+1))
	m.pool = newPool(c, len(m.occupancies))
	return m
}

// allPriorities has a bit for each priority.
const allPriorities = 1<<port.Priorities - 1

// partition returns the number of the partition of an input.
func (m *memory) partition(input int) int {
	if m.pooled {
		return 0
	}
	return input
}

// class returns the class that the watermarks of a priority belong to.
func (m *memory) class(lane uint8) uint8 { return lane & m.classes }

// occupancy returns what an input occupies, of a priority.
func (m *memory) occupancy(input int, lane uint8) *occupancy {
	if m.occupancies == nil {
		return &m.inputs[input].occupancy
	}
	return &m.occupancies[m.number(input, lane)]
}

// number returns the place of an input's occupancy for a priority, and whose returns both.
func (m *memory) number(input int, lane uint8) int {
	return input*(int(m.classes)+1) + int(m.class(lane))
}

func (m *memory) whose(number int32) (input int, class uint8) {
	n := int(number)
	return n / (int(m.classes) + 1), uint8(n) & m.classes
}

// store takes n bytes for an input. It returns how much is then occupied, and whether the sender
// must stop now and did not have to before. If there is no room it takes nothing, and ok is false.
// If some priorities have flow control, a priority without it may occupy no more than the high
// watermark.
func (m *memory) store(input int, lane uint8, n unit.Size) (taken unit.Size, stop, ok bool) {
	a := m.occupancy(input, lane)
	used, room := a.taken, m.part
	if m.used != nil {
		used = m.used[m.partition(input)]
	}
	if m.room != nil {
		room = m.room[m.partition(input)]
	}
	if used+n > room {
		return a.taken, false, false
	}
	if d := m.pool; d != nil {
		if stop, ok = d.store(m.number(input, lane), a, n, m.controls(lane)); ok {
			m.used[0] += n
		}
		return a.taken, stop, ok
	}
	high, _ := m.watermarks(input)
	taken = a.taken + n
	if taken > high && !m.controls(lane) {
		return a.taken, false, false // it would take the headroom of priorities that are stopped
	}
	if m.used != nil {
		m.used[m.partition(input)] += n
	}
	a.taken = taken
	if taken >= high && !a.stopped {
		a.stopped = true
		return taken, m.controls(lane), true
	}
	return taken, false, true
}

// free gives n bytes back. It returns how much is then occupied, and whether a sender that had to
// stop may resume; with Dynamic watermarks pool.resumed has all that may. It panics if fewer bytes
// are occupied.
func (m *memory) free(input int, lane uint8, n unit.Size) (taken unit.Size, resume bool) {
	a := m.occupancy(input, lane)
	if n > a.taken {
		panic("switchd: freed more than was stored")
	}
	if m.used != nil {
		m.used[m.partition(input)] -= n
	}
	if m.pool != nil {
		m.pool.free(m.number(input, lane), m.occupancies, n)
		return a.taken, false
	}
	a.taken -= n
	if m.cuts != nil {
		m.withdraw(input)
	}
	if _, low := m.watermarks(input); a.stopped && a.taken <= low {
		a.stopped = false
		return a.taken, m.controls(lane)
	}
	return a.taken, false
}

// cut reduces the buffer of an input to the given part; the zero value restores all of it. It
// returns the classes whose sender must stop now, and those whose sender may resume, a bit each.
func (m *memory) cut(input int, left port.BufferConfig) (stop, resume uint8) {
	if m.cuts == nil {
		m.cuts = slices.Repeat([]cut{{high: math.MaxInt64, low: math.MaxInt64}}, len(m.inputs))
	}
	m.parts()
	c := &m.cuts[input]
	c.high, c.low, c.most = math.MaxInt64, math.MaxInt64, 0
	if left.Room > 0 {
		c.most = m.part - left.Room
	}
	if left.High > 0 {
		c.high, c.low = left.High, left.Low
	}
	if back := c.gone - c.most; back > 0 {
		c.gone -= back
		m.room[m.partition(input)] += back
	}
	return m.compare(input)
}

func (m *memory) watermarks(input int) (high, low unit.Size) {
	if m.cuts == nil {
		return m.high, m.low
	}
	return min(m.high, m.cuts[input].high), min(m.low, m.cuts[input].low)
}

// compare compares the memory that an input has taken with watermarks that have changed. It returns
// the classes whose sender is to stop now, and those whose sender may continue, a bit each.
func (m *memory) compare(input int) (stop, resume uint8) {
	if m.cuts != nil {
		m.withdraw(input)
	}
	high, low := m.watermarks(input)
	for lane := range m.classes + 1 {
		a, was := m.occupancy(input, lane), m.stopped(input, lane)
		if a.taken >= high || a.taken <= low {
			a.stopped = a.taken >= high
		}
		if is := m.stopped(input, lane); is && !was {
			stop |= 1 << lane
		} else if was && !is {
			resume |= 1 << lane
		}
	}
	return stop, resume
}

// withdraw takes away the part of an input's buffer that should be missing, as far as it is free.
func (m *memory) withdraw(input int) {
	c := &m.cuts[input]
	if c.gone >= c.most {
		return
	}
	high, _ := m.watermarks(input)
	over := unit.Size(0)
	for lane := range m.classes + 1 {
		over += max(m.occupancy(input, lane).taken-high, 0)
	}
	if more := c.most - over - c.gone; more > 0 {
		c.gone += more
		m.room[m.partition(input)] -= more
	}
}

// parts has partitions that may differ in their room.
func (m *memory) parts() {
	if m.room == nil {
		m.room = slices.Repeat([]unit.Size{m.part}, len(m.inputs))
	}
}

// keep takes over the missing parts from the cuts of another memory. The memory must be empty.
func (m *memory) keep(cuts []cut) {
	if m.cuts = cuts; cuts != nil {
		m.parts()
	}
	for i := range cuts {
		cuts[i].gone = cuts[i].most
		m.room[m.partition(i)] -= cuts[i].most
	}
}

// controls reports whether a priority has watermarks.
func (m *memory) controls(lane uint8) bool { return m.flow>>(lane%port.Priorities)&1 == 1 }

// stops reports whether the sender at an input must stop, of any priority.
func (m *memory) stops(input int) bool {
	for lane := range m.classes + 1 {
		if m.stopped(input, lane) {
			return true
		}
	}
	return false
}

// stopped reports whether the sender at an input must stop.
func (m *memory) stopped(input int, lane uint8) bool {
	return m.controls(lane) && m.occupancy(input, lane).stopped
}
