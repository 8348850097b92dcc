package agenda

import "fabemu/wire/unit"

// Slots is some slots of an agenda, in a row: the slots of one of several users. In the
// beginning it is its own agenda; Move has it share another.
type Slots struct {
	all    *Agenda
	base   int32
	n      int32
	shared bool
}

// NewSlots returns a part of n slots, all Never.
func NewSlots(n int) Slots { return Slots{all: New(n), n: int32(n)} }

// Len returns how many slots there are.
func (p *Slots) Len() int { return int(p.n) }

// Move gives the slots places in another agenda, from base on, with their instants.
func (p *Slots) Move(to *Agenda, base int) {
	for slot := range p.Len() {
		to.Set(base+slot, p.Due(slot))
	}
	p.all, p.base, p.shared = to, int32(base), true
}

// Clear sets all slots to Never.
func (p *Slots) Clear() {
	for slot := range p.Len() {
		p.Unset(slot)
	}
}

// Set makes a slot due at t.
func (p *Slots) Set(slot int, t unit.Time) { p.all.Set(int(p.base)+slot, t) }

// Unset cancels the instant of a slot.
func (p *Slots) Unset(slot int) { p.all.Unset(int(p.base) + slot) }

// Due returns the instant of a slot.
func (p *Slots) Due(slot int) unit.Time { return p.all.Due(int(p.base) + slot) }

// First returns the slot that is due first and its instant. Where another user of the
// agenda has a slot that comes before, that is unit.Never.
func (p *Slots) First() (slot int, due unit.Time) {
	slot, due = p.all.First()
	if slot -= int(p.base); uint(slot) >= uint(p.n) {
		return 0, unit.Never
	}
	return slot, due
}

// DueBy returns the slot of First if that is due at t or before, and whether it is.
func (p *Slots) DueBy(t unit.Time) (slot int, due bool) {
	if p.all.due > t {
		return 0, false
	}
	slot = int(p.all.first&p.all.mask) - int(p.base)
	return slot, uint(slot) < uint(p.n)
}

// Next returns the instant of First.
func (p *Slots) Next() unit.Time {
	_, due := p.First()
	return due
}

// Deadline returns the instant of the slot that is due first, and unit.Never where the
// agenda is shared: its owner has it.
func (p *Slots) Deadline() unit.Time {
	if p.shared {
		return unit.Never
	}
	return p.all.Next()
}
