package switchd

import (
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// memory is the account of a shared memory: how much of it each input has, and which
// inputs are to stop sending.
//
// It is divided into partitions, one for each input, or it is one pool for all. Each
// input has watermarks on what it has taken itself: for all of it (PAUSE), or for
// each priority (PFC).
type memory struct {
	room   unit.Size   // of a partition, or of the pool
	pooled bool        // there is one pool
	used   []unit.Size // by partition; the pool is the first
	marks  []port.Buffer
	pfc    bool  // watermarks are by priority
	flow   uint8 // PFC: the priorities that have flow control, a bit each
}

func newMemory(c *OutputQueuedConfig, inputs int) memory {
	m := memory{room: c.Memory, pooled: c.Pooled, used: make([]unit.Size, 1),
		marks: make([]port.Buffer, inputs*port.Priorities), pfc: c.pfc(), flow: c.Lossless}
	if !c.Pooled {
		m.room /= unit.Size(inputs)
		m.used = make([]unit.Size, inputs)
	}
	for i := range m.marks {
		m.marks[i] = port.NewBuffer(port.BufferConfig{Room: c.Memory, High: c.High, Low: c.Low})
	}
	return m
}

// partition returns where the account of an input's room is.
func (m *memory) partition(input int) *unit.Size {
	if m.pooled {
		return &m.used[0]
	}
	return &m.used[input]
}

// class returns the class that the watermarks of a priority belong to.
func (m *memory) class(lane uint8) uint8 {
	if m.pfc {
		return lane
	}
	return 0
}

// mark returns the watermarks of an input and a priority.
func (m *memory) mark(input int, lane uint8) *port.Buffer {
	return &m.marks[input*port.Priorities+int(m.class(lane))]
}

// store takes n bytes for an input. It returns what is taken then, and whether the sender is
// to stop, which was not to before. Where there is no room it takes nothing, and ok is false. A priority that has no
// flow control, beside others that have, may take as much as the high watermark.
func (m *memory) store(input int, lane uint8, n unit.Size) (taken unit.Size, stop, ok bool) {
	used, mark := m.partition(input), m.mark(input, lane)
	if mark.High > 0 && mark.Used()+n > mark.High && !m.controls(lane) {
		return mark.Used(), false, false // it would take the headroom of those that are stopped
	}
	was := mark.Stopped()
	if *used+n > m.room || !mark.Store(n) {
		return mark.Used(), false, false
	}
	*used += n
	return mark.Used(), mark.Stopped() && !was && m.controls(lane), true
}

// free gives n bytes back. It returns what is taken then, and whether the sender may go on,
// which was to stop.
func (m *memory) free(input int, lane uint8, n unit.Size) (taken unit.Size, resume bool) {
	*m.partition(input) -= n
	mark := m.mark(input, lane)
	was := mark.Stopped()
	mark.Free(n)
	return mark.Used(), was && !mark.Stopped() && m.controls(lane)
}

// controls reports whether watermarks count for a priority.
func (m *memory) controls(lane uint8) bool { return !m.pfc || m.flow>>lane&1 == 1 }

// taken returns how much an input has taken: of the priority, where watermarks are by
// priority.
func (m *memory) taken(input int, lane uint8) unit.Size { return m.mark(input, lane).Used() }

// stopped reports whether the sender at an input is to stop.
func (m *memory) stopped(input int, lane uint8) bool {
	return m.controls(lane) && m.mark(input, lane).Stopped()
}
