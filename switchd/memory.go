package switchd

import (
	"math"
	"slices"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// memory is the account of a shared memory: how much of it each input has, and which
// inputs are to stop sending.
//
// It is divided into partitions, one for each input, or it is one pool for all. Each
// input has watermarks on the memory that it has taken itself: for all of it (PAUSE), or for
// each priority (PFC).
type memory struct {
	part      unit.Size   // the part of an input
	high, low unit.Size   // watermarks
	room      []unit.Size // by partition; the pool is the only one
	used      []unit.Size // by partition
	accounts  []account   // by input, with PFC by input and priority
	cuts      []cut       // by input; nil: each has all of its buffer
	pooled    bool
	classes   uint8 // the bits of a priority that are its class: all with PFC, or none
	flow      uint8 // the priorities for which watermarks count, a bit each
}

// cut is a part of the buffer of an input that is missing. It goes as fast as it becomes free: the memory above
// the lower high watermark that frames have taken goes once they have left. So frames that were on their way as the
// watermark fell have their headroom, and a sender is stopped in time.
type cut struct {
	high, low unit.Size // watermarks of the part that is left
	most      unit.Size // so much is to be missing
	gone      unit.Size // so much is
}

// account is the memory that an input has taken, with PFC for a priority.
type account struct {
	taken   unit.Size
	stopped bool // the high watermark was reached, and the low one not since
}

func newMemory(c *OutputQueuedConfig, inputs int) memory {
	m := memory{part: c.Memory / unit.Size(inputs), high: c.High, low: c.Low, pooled: c.Pooled, flow: allPriorities}
	if c.High == 0 { // nobody is to stop
		m.high = math.MaxInt64
	}
	if c.control().ByPriority() {
		m.classes, m.flow = port.Priorities-1, c.Lossless
	}
	m.accounts = make([]account, inputs*(int(m.classes)+1))
	m.used, m.room = make([]unit.Size, 1), []unit.Size{c.Memory}
	if !c.Pooled {
		m.used, m.room = make([]unit.Size, inputs), slices.Repeat([]unit.Size{m.part}, inputs)
	}
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

// account returns the account of an input and a priority.
func (m *memory) account(input int, lane uint8) *account {
	return &m.accounts[input*(int(m.classes)+1)+int(m.class(lane))]
}

// store takes n bytes for an input. It returns how much is taken then, and whether the sender is
// to stop, which was not to before. Where there is no room it takes nothing, and ok is false. A
// priority that has no flow control, beside others that have, may take as much as the high watermark.
func (m *memory) store(input int, lane uint8, n unit.Size) (taken unit.Size, stop, ok bool) {
	p, a, high := m.partition(input), m.account(input, lane), m.high
	if m.cuts != nil {
		high = m.cuts[input].high
	}
	taken = a.taken + n
	if m.used[p]+n > m.room[p] || taken > high && !m.controls(lane) {
		return a.taken, false, false // it would take the headroom of those that are stopped
	}
	m.used[p] += n
	a.taken = taken
	if taken >= high && !a.stopped {
		a.stopped = true
		return taken, m.controls(lane), true
	}
	return taken, false, true
}

// free gives n bytes back. It returns how much is taken then, and whether the sender may go on,
// which was to stop. It panics when so many were not taken.
func (m *memory) free(input int, lane uint8, n unit.Size) (taken unit.Size, resume bool) {
	a := m.account(input, lane)
	if n > a.taken {
		panic("switchd: freed more than was stored")
	}
	m.used[m.partition(input)] -= n
	a.taken -= n
	low := m.low
	if m.cuts != nil {
		low = m.cuts[input].low
		m.withdraw(input)
	}
	if a.stopped && a.taken <= low {
		a.stopped = false
		return a.taken, m.controls(lane)
	}
	return a.taken, false
}

// cut leaves a part of the buffer of an input; the zero value leaves all. It returns the classes whose sender is
// to stop now, and those whose sender may go on, a bit each.
func (m *memory) cut(input int, left port.BufferConfig) (stop, resume uint8) {
	if m.cuts == nil {
		m.cuts = slices.Repeat([]cut{{high: m.high, low: m.low}}, len(m.accounts)/(int(m.classes)+1))
	}
	c := &m.cuts[input]
	c.high, c.low, c.most = m.high, m.low, 0
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
	m.withdraw(input)
	for lane := range m.classes + 1 {
		a, was := m.account(input, lane), m.stopped(input, lane)
		if a.taken >= c.high || a.taken <= c.low {
			a.stopped = a.taken >= c.high
		}
		if is := m.stopped(input, lane); is && !was {
			stop |= 1 << lane
		} else if was && !is {
			resume |= 1 << lane
		}
	}
	return stop, resume
}

// withdraw takes so much of the buffer of an input as is free of that which is to be missing.
func (m *memory) withdraw(input int) {
	c := &m.cuts[input]
	if c.gone >= c.most {
		return
	}
	over := unit.Size(0)
	for lane := range m.classes + 1 {
		over += max(m.account(input, lane).taken-c.high, 0)
	}
	if more := c.most - over - c.gone; more > 0 {
		c.gone += more
		m.room[m.partition(input)] -= more
	}
}

// keep has the same parts of buffers missing as another memory. Nothing is in it yet.
func (m *memory) keep(cuts []cut) {
	m.cuts = cuts
	for i := range cuts {
		cuts[i].gone = cuts[i].most
		m.room[m.partition(i)] -= cuts[i].most
	}
}

// controls reports whether watermarks count for a priority.
func (m *memory) controls(lane uint8) bool { return m.flow>>(lane%port.Priorities)&1 == 1 }

// taken returns how much an input has taken: of the priority, where watermarks are by
// priority.
func (m *memory) taken(input int, lane uint8) unit.Size { return m.account(input, lane).taken }

// stopped reports whether the sender at an input is to stop.
func (m *memory) stopped(input int, lane uint8) bool {
	return m.controls(lane) && m.account(input, lane).stopped
}
