package selective

import "fabemu/wire/unit"

// Loss is how a source finds that a packet is lost: others that were sent later have arrived. The
// packet may only be late, if paths differ. With neither limit only the caller's timer finds
// losses.
type Loss struct {
	// Distance is the number of packets: one that was sent so many transmissions later has arrived.
	// 0: no number suffices. In IRN it is 1 (SIGCOMM 2018, section 3.1), in TCP usually 3 (RFC
	// 5681).
	Distance int
	// Time is the same as a time: one that was sent so much later has arrived (the idea of RACK,
	// RFC 8985). 0: no time suffices.
	Time unit.Duration
}

// state is that of a packet from the first one that may be missing on.
type state uint8

const (
	underway state = iota // neither its ACK has come, nor was it found lost
	arrived               // its ACK has come
	lost                  // it waits for its retransmission
)

// flight is what the source knows of a packet.
type flight struct {
	order        uint64    // number of its last transmission
	sent         unit.Time // when that began
	older, newer uint32    // its neighbours among those that are underway, by their last transmission: low bits of their numbers
	length       uint32
	path         uint16
	state        state
	again        uint8 // how often it was retransmitted, 2 at most
}

// Scoreboard is the state of the packets in flight at the source of a flow. The first packet has
// the number 0. The zero value has sent none; Loss may be set before the first.
type Scoreboard struct {
	Loss

	first, next uint64   // packets from first on may be missing, next is the one to be sent
	flights     []flight // by number modulo their number, a power of two
	oldest      uint32   // of those underway, by their last transmission; not if there are none
	newest      uint32
	underway    int       // packets underway
	bytes       unit.Size // of them
	longest     unit.Size // of all packets so far
	lost        int       // packets that wait for their retransmission
	waiting     unit.Size // their length
	from        uint64    // none before it does
	sendings    uint64    // transmissions so far
	reached     uint64    // packets with lower orders are overtaken: a later transmission has arrived, of this order
	reachedAt   unit.Time // when that was sent
}

func (b *Scoreboard) at(number uint64) *flight { return &b.flights[number&uint64(len(b.flights)-1)] }

func (b *Scoreboard) near(low uint32) *flight { return &b.flights[low&uint32(len(b.flights)-1)] }

// InFlight returns how many packets there are from the first that may be missing on.
func (b *Scoreboard) InFlight() int { return int(b.next - b.first) }

// First returns the first packet that may be missing, Next the first that was not sent.
func (b *Scoreboard) First() uint64 { return b.first }
func (b *Scoreboard) Next() uint64  { return b.next }

// Underway returns the length of the packets that have neither arrived nor are known to be lost.
func (b *Scoreboard) Underway() unit.Size { return b.bytes }

// Longest returns the length of the longest packet of the flow up to now.
func (b *Scoreboard) Longest() unit.Size { return b.longest }

// Arrived returns how many packets are known to have arrived.
func (b *Scoreboard) Arrived() uint64 { return b.next - uint64(b.underway+b.lost) }

// Lost returns the first packet that waits for its retransmission; false: there is none.
func (b *Scoreboard) Lost() (number uint64, ok bool) {
	if b.lost == 0 {
		return 0, false
	}
	for b.from = max(b.from, b.first); b.at(b.from).state != lost; b.from++ {
	}
	return b.from, true
}

// Sent returns when the last transmission of a packet in flight began, and how often the packet was
// retransmitted; 2: at least twice.
func (b *Scoreboard) Sent(number uint64) (at unit.Time, again uint8) {
	f := b.at(number)
	return f.sent, f.again
}

// Oldest returns when the packet underway that was sent first has left; false: none is underway.
func (b *Scoreboard) Oldest() (at unit.Time, ok bool) {
	if b.underway == 0 {
		return 0, false
	}
	return b.near(b.oldest).sent, true
}

// Transmissions returns how many there were, and Before whether a packet is underway whose last
// transmission was among the first n of them.
func (b *Scoreboard) Transmissions() uint64 { return b.sendings }
func (b *Scoreboard) Before(n uint64) bool  { return b.underway > 0 && b.near(b.oldest).order < n }

// Waiting returns the length of the packets that wait for their retransmission.
func (b *Scoreboard) Waiting() unit.Size { return b.waiting }

// Path returns the number that Send or Resend has noted with the last transmission of a packet in
// flight.
func (b *Scoreboard) Path(number uint64) uint16 { return b.at(number).path }

// Send notes that the next packet begins, of a length, and a number that Path returns.
func (b *Scoreboard) Send(now unit.Time, length unit.Size, path uint16) {
	if b.InFlight() == len(b.flights) {
		b.grow()
	}
	*b.at(b.next) = flight{length: uint32(length), path: path}
	b.longest = max(b.longest, length)
	b.next++
	b.start(now, b.next-1)
}

// Resend notes that the packet that Lost returns begins again.
func (b *Scoreboard) Resend(now unit.Time, path uint16) {
	number, _ := b.Lost()
	f := b.at(number)
	f.state, f.again, f.path = underway, min(f.again+1, 2), path
	b.lost--
	b.waiting -= unit.Size(f.length)
	b.start(now, number)
}

// start puts a packet behind all that are underway.
func (b *Scoreboard) start(now unit.Time, number uint64) {
	f, low := b.at(number), uint32(number)
	f.order, f.sent = b.sendings, now
	b.sendings++
	if b.underway == 0 {
		b.oldest = low
	} else {
		f.older = b.newest
		b.near(b.newest).newer = low
	}
	b.newest = low
	b.underway++
	b.bytes += unit.Size(f.length)
}

// end takes a packet out of those that are underway.
func (b *Scoreboard) end(number uint64) {
	f, low := b.at(number), uint32(number)
	switch {
	case low == b.oldest:
		b.oldest = f.newer
	case low == b.newest:
		b.newest = f.older
	default:
		b.near(f.older).newer, b.near(f.newer).older = f.newer, f.older
	}
	b.underway--
	b.bytes -= unit.Size(f.length)
}

func (b *Scoreboard) grow() {
	grown := Scoreboard{flights: make([]flight, max(8, 2*len(b.flights)))}
	for n := b.first; n < b.next; n++ {
		*grown.at(n) = *b.at(n)
	}
	b.flights = grown.flights
}

// Ack takes in an ACK: all packets before one number have arrived, and, if it names one, the
// selected packet. It returns the length of those of which that is news. A number of a packet that
// is not in flight says nothing.
func (b *Scoreboard) Ack(all, selected uint64, names bool) (news unit.Size) {
	if all <= b.next {
		for ; b.first < all; b.first++ {
			news += b.arrive(b.first)
		}
	}
	if names && selected >= b.first && selected < b.next {
		news += b.arrive(selected)
	}
	return news
}

// arrive notes that a packet has arrived, and returns its length if that is news. What it overtakes
// is known only of a packet that was sent once: else either transmission may have arrived (Karn and
// Partridge, SIGCOMM 1987).
func (b *Scoreboard) arrive(number uint64) unit.Size {
	f := b.at(number)
	switch f.state {
	case arrived:
		return 0
	case lost:
		b.lost--
		b.waiting -= unit.Size(f.length)
	default:
		b.end(number)
	}
	f.state = arrived
	if f.again == 0 && f.order >= b.reached {
		b.reached, b.reachedAt = f.order, f.sent
	}
	return unit.Size(f.length)
}

// Lose finds a packet that is overtaken by too much, which then waits for its retransmission. It is
// to be called until there is none, after each Ack.
func (b *Scoreboard) Lose() (number uint64, ok bool) {
	if b.underway == 0 {
		return 0, false
	}
	f := b.near(b.oldest)
	far := b.Distance > 0 && f.order+uint64(b.Distance) <= b.reached
	long := b.Time > 0 && f.order < b.reached && b.reachedAt.Sub(f.sent) >= b.Time
	if !far && !long {
		return 0, false
	}
	return b.giveUp(), true
}

// Expire finds the packet underway that was sent first lost, whatever has arrived. False: none is
// underway.
func (b *Scoreboard) Expire() (number uint64, ok bool) {
	if b.underway == 0 {
		return 0, false
	}
	return b.giveUp(), true
}

// Miss notes that a packet is lost, because its destination says so. It reports whether that is
// news: the packet is underway.
func (b *Scoreboard) Miss(number uint64) bool {
	if number < b.first || number >= b.next || b.at(number).state != underway {
		return false
	}
	b.end(number)
	b.wait(number)
	return true
}

func (b *Scoreboard) giveUp() uint64 {
	number := b.first + uint64(b.oldest-uint32(b.first))
	b.end(number)
	b.wait(number)
	return number
}

// wait has a packet wait for its retransmission.
func (b *Scoreboard) wait(number uint64) {
	b.at(number).state = lost
	b.lost++
	b.waiting += unit.Size(b.at(number).length)
	b.from = min(b.from, number)
}
