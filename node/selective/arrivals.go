package selective

import "fabemu/wire/unit"

// Packet is what the destination keeps of a packet that has come ahead of its turn.
type Packet struct {
	At      unit.Time // when it came
	Length  uint32    // on the link
	Payload uint32
	Tag     uint32 // immediate data, if it is Tagged
	Ahead   uint32 // so many packets ahead of its turn
	Last    bool   // it ends a message
	Tagged  bool
	Marked  bool
	here    bool
}

// sequence selects the 24 bits of a packet sequence number.
const sequence = 1<<24 - 1

// Arrivals are the packets that have come to the destination of a flow ahead of their turn, by
// their PSN, which has 24 bits. The zero value has none.
type Arrivals struct {
	kept    int
	packets []Packet // by PSN modulo their number, a power of two
}

// Kept returns how many packets wait for an earlier one.
func (a *Arrivals) Kept() int { return a.kept }

func (a *Arrivals) at(psn uint32) *Packet { return &a.packets[psn&uint32(len(a.packets)-1)] }

// Has reports whether a packet waits for an earlier one, where next is the one to come. Packets are
// less than 2^23 ahead.
func (a *Arrivals) Has(next, psn uint32) bool {
	return int((psn-next)&sequence) < len(a.packets) && a.at(psn).here
}

// Keep keeps a packet, where next is the one to come.
func (a *Arrivals) Keep(next, psn uint32, p Packet) {
	p.Ahead = (psn - next) & sequence
	if size := len(a.packets); int(p.Ahead) >= size {
		old := a.packets
		for size = max(size, 8); size <= int(p.Ahead); size *= 2 {
		}
		a.packets = make([]Packet, size)
		for i := range uint32(len(old)) {
			*a.at(next + i) = old[(next+i)&uint32(len(old)-1)]
		}
	}
	p.here = true
	*a.at(psn) = p
	a.kept++
}

// Take takes out the packet whose turn it is; false: it has not come.
func (a *Arrivals) Take(next uint32) (p Packet, ok bool) {
	if a.kept == 0 {
		return Packet{}, false
	}
	at := a.at(next)
	if p = *at; !p.here {
		return Packet{}, false
	}
	at.here = false
	a.kept--
	return p, true
}
