package switchd

import (
	"math"

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
	room      unit.Size   // of a partition, or of the pool
	high, low unit.Size   // watermarks
	used      []unit.Size // by partition; the pool is the only one
	accounts  []account   // by input, with PFC by input and priority
	pooled    bool
	classes   uint8 // the bits of a priority that are its class: all with PFC, or none
	flow      uint8 // the priorities for which watermarks count, a bit each
}

// account is the memory that an input has taken, with PFC for a priority.
type account struct {
	taken   unit.Size
	stopped bool // the high watermark was reached, and the low one not since
}

func newMemory(c *OutputQueuedConfig, inputs int) memory {
	m := memory{room: c.Memory, high: c.High, low: c.Low, pooled: c.Pooled, flow: allPriorities}
	if c.High == 0 { // nobody is to stop
		m.high = math.MaxInt64
	}
	if c.control().ByPriority() {
		m.classes, m.flow = port.Priorities-1, c.Lossless
	}
	m.accounts = make([]account, inputs*(int(m.classes)+1))
	m.used = make([]unit.Size, 1)
	if !c.Pooled {
		m.room /= unit.Size(inputs)
		m.used = make([]unit.Size, inputs)
	}
	return m
}

// allPriorities has a bit for each priority.
const allPriorities = 1<<port.Priorities - 1

// partition returns where the account of an input's room is.
func (m *memory) partition(input int) *unit.Size {
	if m.pooled {
		return &m.used[0]
	}
	return &m.used[input]
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
	used, a := m.partition(input), m.account(input, lane)
	taken = a.taken + n
	if *used+n > m.room || taken > m.high && !m.controls(lane) {
		return a.taken, false, false // it would take the headroom of those that are stopped
	}
	*used += n
	a.taken = taken
	if taken >= m.high && !a.stopped {
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
	*m.partition(input) -= n
	a.taken -= n
	if a.stopped && a.taken <= m.low {
		a.stopped = false
		return a.taken, m.controls(lane)
	}
	return a.taken, false
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
