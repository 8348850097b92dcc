package port

import (
	"cmp"
	"errors"
	"fmt"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Sharing is how the channels of a sender share the credits of their port (SAI: the threshold mode
// of a credit profile).
type Sharing uint8

// The ways of sharing.
const (
	NoPool      Sharing = iota // a channel has its reserved credits only
	StaticPool                 // also shared credits, up to a fixed number
	DynamicPool                // also shared credits, up to a multiple of those that are free
)

func (Sharing) Words() []string { return []string{"none", "static", "dynamic"} }

func (p Sharing) String() string { return unit.Word(p, p.Words()) }

// MaxLimit is the highest limit of a channel, and of a port, in credits: the counters in a
// CF_Update have 15 bits.
const MaxLimit = wire.CountMask

// CBFC are the parameters of credit-based flow control on an Ethernet link (Ultra Ethernet 1.0,
// section 5.2). Names, ranges and defaults are those of the SAI proposal "Credit Based Flow
// Control", SAI 1.18. Both directions have the same parameters. A frame that takes n bytes on the
// link needs (n + Overhead) / Credit credits, rounded up.
type CBFC struct {
	// Size of a credit.
	// Source: SAI's example
	Credit unit.Size `key:"credit" def:"256B" low:"1B" high:"65535B" also:"credit-size"`
	// Bytes that the receiver stores per frame in addition to its length on the wire.
	// Source: SAI
	Overhead unit.Size `key:"overhead" def:"0B" low:"0B" high:"127B" also:"packet-overhead"`
	// Credits of each channel at the receiver (CL). port: the channels share port-limit.
	Limit int `key:"limit" def:"port" none:"port" low:"1" high:"32767" also:"credit-limit"`
	// Credits of all channels together, managed by the sender. none: no shared limit.
	// Source: SAI: CBFC_SENDER_CREDIT_LIMIT
	PortLimit int `key:"port-limit" def:"none" none:"none" low:"1" high:"32767"`
	// port-limit: unreserved credits that a channel may use. none: none; static: shared; dynamic:
	// 2^exponent times the free ones.
	// Source: SAI: THRESHOLD_MODE
	Pool Sharing `key:"pool" def:"static"`
	// port-limit: credits reserved for each channel.
	// Source: SAI: RESERVED_CREDIT_SIZE
	Reserved int `key:"reserved" def:"0" low:"0" high:"32767"`
	// pool: static: shared credits that a channel may use; 0: all.
	// Source: SAI: SHARED_STATIC_TH
	Shared int `key:"shared" def:"0" low:"0" high:"32767"`
	// pool: dynamic: the exponent; -1 means half of the free credits.
	// Source: SAI: SHARED_DYNAMIC_TH
	Exponent int `key:"exponent" def:"0" low:"-10" high:"10"`
	// Minimum distance between CF_Updates, in bytes sent.
	// Source: SAI: CBFC_CF_MIN_SPACING
	CFMin unit.Size `key:"cf-min" def:"6400B" low:"800B" also:"cf-min-spacing"`
	// Maximum distance between CF_Updates of a channel, in bytes sent; repairs a lost one.
	// Source: SAI: CBFC_CF_MAX_SPACING
	CFMax unit.Size `key:"cf-max" def:"262144B" low:"16384B" high:"1MiB" also:"cf-max-spacing"`
	// Interval of CC_Updates, which return the credits of lost frames.
	// Source: SAI: CBFC_CC_MESSAGE_TIMER
	CCTimer unit.Duration `key:"cc-timer" def:"256us" low:"1us" high:"250ms" also:"cc-message-timer"`

	Channels [Priorities]uint8 // the channel of each priority, 0 to 31
	Lossless uint8             // the priorities that have a channel, a bit each; the others are best effort
}

// Room returns how many credits a channel can have at the receiver.
func (c *CBFC) Room() int { return cmp.Or(c.Limit, c.PortLimit) }

// Most returns the most credits that a channel can have in use while the other channels have none.
func (c *CBFC) Most() int {
	n, _ := c.Least()
	most, free := c.Room(), c.PortLimit-n*c.Reserved
	if c.PortLimit == 0 {
		return most
	}
	switch c.Pool {
	case NoPool:
		free = 0
	case StaticPool:
		free = min(free, cmp.Or(c.Shared, MaxLimit))
	case DynamicPool: // f times the free ones: the channel takes credits until it has f times the rest
		if c.Exponent >= 0 {
			free = free * (1 << c.Exponent) / (1 + 1<<c.Exponent)
		} else {
			free /= 1 + 1<<-c.Exponent
		}
	}
	return min(most, c.Reserved+free)
}

// Credits returns how many credits a frame takes, given its length on the link.
func (c *CBFC) Credits(n unit.Size) int { return int((n + c.Overhead + c.Credit - 1) / c.Credit) }

// Least returns the number of channels and the number of credits for which the receiver must have
// room.
func (c *CBFC) Least() (channels, credits int) {
	seen := uint32(0)
	for class, vc := range c.Channels {
		if bit := uint32(1) << vc; c.Lossless>>class&1 == 1 && seen&bit == 0 {
			seen |= bit
			channels++
		}
	}
	return channels, cmp.Or(c.PortLimit, c.Limit*channels)
}

// Channels is the credit-based flow control of a port in both directions. Port.Channels returns it.
type Channels struct {
	faceless
	port *Port
	CBFC
	of    [Priorities]*channel // by priority; nil: it is best effort
	index [wire.Channels]uint8
	all   []channel // in rising order

	length  unit.Size // the length of the last frame on the link
	credits int       // and how many credits it takes

	inUse   int                   // sender: credits in use by all channels: S_CU_p
	shared  int                   // sender: the part of inUse beyond the reserves of the channels
	stored  int                   // receiver: credits in use by all channels
	starved [Priorities]unit.Time // sender: since when a priority has lacked credits; unit.Never: it does not

	owed     bool          // some channel has freed credits that the peer has not been sent
	cfLast   unit.Time     // when the last CF_Update left
	gap      unit.Duration // the least time from cfLast to the next, at the rate that the link had
	cfDue    unit.Time     // the next CF_Update
	spaced   *medium       // for which least and most were computed
	least    unit.Duration // CFMin
	most     unit.Duration // CFMax
	ccDue    unit.Time     // the next CC_Updates
	ccHalves uint8         // the halves of the channels whose CC_Update is due, a bit each
}

// channel is the credit-based flow control of one virtual channel.
type channel struct {
	counters[uint32]
	vc   uint8
	owed bool      // a CF_Update about the channel is due
	sent unit.Time // when the last CF_Update about it left
}

// noChannel is the index of the channel for a priority that has none.
const noChannel = 0xFF

func newChannels(p *Port, c CBFC) *Channels {
	s := &Channels{port: p, CBFC: c, cfDue: 0, ccDue: unit.Time(c.CCTimer)}
	for i := range s.index {
		s.index[i] = noChannel
	}
	for vc := range s.index {
		for class, of := range c.Channels {
			if int(of&31) == vc && c.Lossless>>class&1 == 1 && s.index[vc] == noChannel {
				s.index[vc] = uint8(len(s.all))
				s.all = append(s.all, channel{vc: uint8(vc), counters: counters[uint32]{room: int32(c.Room()), limit: uint32(c.Room()), up: true}})
			}
		}
	}
	for class, vc := range c.Channels {
		s.starved[class] = unit.Never
		if c.Lossless>>class&1 == 1 {
			s.of[class] = &s.all[s.index[vc&31]]
		}
	}
	s.settle()
	return s
}

func (s *Channels) channels() *Channels { return s }

// restart resets the credits, because neither end has received anything from the other yet. The
// limit of a channel follows from the first CF_Update, which is due at once: the credits of all
// frames that are still in the receiver's buffer are in use.
func (s *Channels) restart(now unit.Time) {
	for i := range s.all {
		s.all[i].restart()
		s.all[i].owed, s.all[i].sent = false, 0
	}
	s.inUse, s.shared, s.owed, s.cfDue, s.ccDue, s.ccHalves = 0, 0, true, now, now.Add(s.CCTimer), 0
	s.settle()
}

// settle notes from when the port has messages to send.
func (s *Channels) settle() {
	if s.port.owed = min(s.cfDue, s.ccDue); s.owed || s.ccHalves != 0 {
		s.port.owed = 0
	}
}

// takes returns how many credits a frame takes.
func (s *Channels) takes(n unit.Size) int {
	if n != s.length {
		s.length, s.credits = n, s.Credits(n)
	}
	return s.credits
}

// channel returns the channel of a priority; nil: it is best effort.
func (s *Channels) channel(lane uint8) *channel { return s.of[lane%Priorities] }

// inUseOf returns the credits of a channel that the sender has in use: S_CU.
func (s *Channels) inUseOf(c *channel) int { return s.Room() - c.Left() }

func (s *Channels) maySend(now unit.Time, f *wire.Frame, n unit.Size) Answer {
	p := s.port
	switch {
	case p.shut > now:
		return Answer{Down, p.shut}
	case !s.hasRoom(now, f.Lane, n):
		return Answer{NoCredit, unit.Never}
	case p.faulty && p.faults.retry != nil:
		return p.faults.retry.permits(now, f, n)
	}
	return Answer{Open, now}
}

// hasRoom reports whether the peer has room for a frame, as far as the received updates show.
func (s *Channels) hasRoom(now unit.Time, lane uint8, n unit.Size) bool {
	c := s.channel(lane)
	if c == nil {
		return true
	}
	k := s.takes(n)
	if c.MaySend(k) && (s.PortLimit == 0 || s.pooled(c, k)) {
		s.starved[lane] = unit.Never
		return true
	}
	s.starved[lane] = min(s.starved[lane], now)
	return false
}

// pooled reports whether the sharing of the port allows a channel to use k more credits.
func (s *Channels) pooled(c *channel, k int) bool {
	free := s.PortLimit - s.Reserved*len(s.all) - s.shared // shared credits that are free
	before := max(s.inUseOf(c)-s.Reserved, 0)
	after := max(s.inUseOf(c)+k-s.Reserved, 0)
	most := 0
	switch s.Pool {
	case StaticPool:
		most = cmp.Or(s.Shared, MaxLimit)
	case DynamicPool:
		most = free << max(s.Exponent, 0) >> max(-s.Exponent, 0)
	}
	return after == 0 || after <= most && after-before <= free
}

// sends debits a frame and returns how many credits its channel has left; -1: the priority has no
// channel.
func (s *Channels) sends(_ unit.Time, f *wire.Frame, n unit.Size) (left int) {
	c := s.channel(f.Lane)
	if c == nil {
		return -1
	}
	k := s.takes(n)
	s.use(c, k)
	return c.Sent(k)
}

// use counts k more credits of a channel as in use, and as shared where they exceed its reserve.
func (s *Channels) use(c *channel, k int) {
	if s.PortLimit > 0 {
		was := s.inUseOf(c)
		s.shared += max(was+k-s.Reserved, 0) - max(was-s.Reserved, 0)
	}
	s.inUse += k
}

// received accounts for a frame that has arrived. It returns false if there is no room for it: the
// peer has exceeded its credit.
func (s *Channels) received(lane uint8, n unit.Size) bool {
	c := s.channel(lane)
	if c == nil {
		return true
	}
	k := s.takes(n)
	if s.PortLimit > 0 && s.stored+k > s.PortLimit || !c.Received(k) {
		return false
	}
	s.stored += k
	return true
}

// freed gives back the credits of a frame. It reports whether a CF_Update has become due that was
// not due before.
func (s *Channels) freed(lane uint8, n unit.Size) bool {
	c := s.channel(lane)
	if c == nil {
		return false
	}
	k := s.takes(n)
	c.free(k)
	s.stored -= k
	return s.owe(c)
}

// owe notes that a channel has freed credits.
func (s *Channels) owe(c *channel) bool {
	c.owed = true
	was := s.owed
	if !was {
		s.owed, s.cfDue = true, s.cfLast.Add(s.gap)
	}
	return !was
}

func (s *Channels) empty(unit.Time) {
	for i := range s.all {
		s.all[i].used = 0
	}
	s.stored = 0
}

// update takes in a CF_Update or a CC_Update. If a counter in it runs backwards or is further ahead
// than possible, it ignores the message and returns false.
func (s *Channels) update(f *wire.Frame) bool {
	if f.Kind == wire.CCUpdate {
		return s.receiveConsumed(f.CC())
	}
	p := f.OrderedSet()
	first, ok := s.freedBy(p.First)
	if !ok {
		return false
	}
	if p.Second != p.First { // a port with one channel has no other
		second, ok := s.freedBy(p.Second)
		if !ok {
			return false
		}
		s.giveBack(p.Second, second)
	}
	s.giveBack(p.First, first)
	return true
}

// freedBy returns how many credits one half of a CF_Update gives back. It returns false if the
// update is impossible, because that is more than are in use. If the limit of the channel is not
// known yet, it returns how many credits are in use.
func (s *Channels) freedBy(word uint32) (int, bool) {
	vc, low := wire.ChannelOf(word)
	i := s.index[vc]
	if i == noChannel {
		return 0, false
	}
	c := &s.all[i]
	if !c.up {
		used := int((c.consumed - low) & wire.CountMask)
		return used, used <= s.Room()
	}
	n := int((low - (c.limit - uint32(s.Room()))) & wire.CountMask)
	return n, n <= s.inUseOf(c)
}

// giveBack lets a channel send n more credits. If the limit of the channel is not known yet, it may
// use all but n.
func (s *Channels) giveBack(word uint32, n int) {
	vc, _ := wire.ChannelOf(word)
	c := &s.all[s.index[vc]]
	if !c.up {
		c.up, c.limit = true, (c.consumed+uint32(s.Room()))&c.last()
		s.use(c, n)
		c.limit = (c.limit - uint32(n)) & c.last()
		return
	}
	s.use(c, -n)
	c.limit = (c.limit + uint32(n)) & c.last()
}

// receiveConsumed takes in a CC_Update: frames that were sent and have not arrived are lost, so
// their credits are free. A channel cannot have lost more than it has room for.
func (s *Channels) receiveConsumed(p *wire.CCExtension) bool {
	for i := range s.all {
		c := &s.all[i]
		if sent, about := p.Consumed(c.vc); about && (sent-c.received)&c.last() > uint32(c.room-c.used) {
			return false
		}
	}
	for i := range s.all {
		c := &s.all[i]
		if sent, about := p.Consumed(c.vc); about && sent != c.received {
			c.received = sent
			s.owe(c)
		}
	}
	return true
}

// next takes the channel whose CF_Update is the most urgent, other than beside. Candidates are the
// channels that have freed credits and those whose last update is too old; the one with the oldest
// update wins. So a busy channel cannot delay the repair of a lost update of another.
func (s *Channels) next(beside *channel, old unit.Time) *channel {
	var best *channel
	for i := range s.all {
		c := &s.all[i]
		urgent := c.owed || c.sent <= old
		if c != beside && (best == nil || urgent && !(best.owed || best.sent <= old) ||
			urgent == (best.owed || best.sent <= old) && c.sent < best.sent) {
			best = c
		}
	}
	return best
}

// freedNow returns the content of the CF_Update to send now.
func (s *Channels) freedNow(now unit.Time) (p wire.OrderedSetExtension) {
	word := func(c *channel) uint32 {
		c.owed, c.sent = false, now
		return wire.ChannelWord(c.vc, c.received-uint32(c.used))
	}
	old := now - unit.Time(s.most)
	one := s.next(nil, old)
	p.First = word(one)
	p.Second = p.First
	if other := s.next(one, old); other != nil {
		p.Second = word(other)
	}
	return p
}

// sentFreed notes that a CF_Update has left.
func (s *Channels) sentFreed(now unit.Time) {
	s.cfLast, s.gap, s.owed = now, s.least, false
	oldest := now
	for i := range s.all {
		s.owed = s.owed || s.all[i].owed
		oldest = min(oldest, s.all[i].sent)
	}
	s.cfDue = max(now.Add(s.least), oldest.Add(s.most))
	if s.owed {
		s.cfDue = now.Add(s.least)
	}
}

// fillConsumed makes f, which is empty, the CC_Update of half of the channels.
func (s *Channels) fillConsumed(f *wire.Frame, upper bool) {
	f.Kind = wire.CCUpdate
	p := wire.CCOf(upper)
	for i := range s.all {
		p.Set(s.all[i].vc, s.all[i].consumed)
	}
	*f.CC() = p
}

// halves returns the halves of the channels that are used, a bit each.
func (s *Channels) halves() (b uint8) {
	for i := range s.all {
		b |= 1 << (s.all[i].vc / (wire.Channels / 2))
	}
	return b
}

// send sends the CF_Update and the CC_Updates that are due, if the link is idle.
func (s *Channels) send(now unit.Time) (again unit.Time) {
	p := s.port
	if p.faulty {
		if at, idle := p.controlRetry(now); !idle {
			return at
		}
	}
	if now < min(s.cfDue, s.ccDue) && s.ccHalves == 0 {
		if s.owed {
			return s.cfDue
		}
		return unit.Never
	}
	if p.Down() {
		return unit.Never
	}
	if s.ccDue <= now {
		s.ccDue, s.ccHalves = now.Add(s.CCTimer), s.halves()
	}
	again = unit.Never
	if s.cfDue <= now && p.transmitter.free <= now {
		if s.spaced != p.transmitter.medium {
			s.spaced, s.least, s.most = p.transmitter.medium, p.transmitter.Serialise(s.CFMin), p.transmitter.Serialise(s.CFMax)
		}
		p.startSet(now, wire.CFUpdate, s.freedNow(now), wire.OrderedSetSize)
		s.sentFreed(now)
	}
	if s.ccHalves != 0 && p.transmitter.free <= now {
		f := p.out.draft()
		f.Src = p.station
		upper := s.ccHalves == 2
		s.fillConsumed(f, upper)
		p.Start(now, f, p.Framing().Length(f), Note{})
		if s.ccHalves &= 2; upper {
			s.ccHalves = 0
		}
	}
	s.settle()
	if s.owed && s.cfDue > now {
		again = s.cfDue
	}
	if s.ccHalves != 0 || s.cfDue <= now {
		again = min(again, p.transmitter.free)
	}
	return again
}

func (s *Channels) repeats() unit.Time {
	switch p := s.port; {
	case p.Down():
		return unit.Never
	case s.owed: // Control returns when the CF_Update is due
		return max(s.ccDue, p.transmitter.free)
	default:
		return max(min(s.cfDue, s.ccDue), p.transmitter.free)
	}
}

// receive accounts for a frame of the node, which ends here if there is no room for it, and takes
// in the messages of the peer.
func (s *Channels) receive(now unit.Time, a *Arrival) (pass bool) {
	p, f := s.port, &a.Frame
	switch {
	case (p.faulty || a.Head < p.since) && p.loses(now, a):
	case f.Lane >= Priorities:
		p.Lost(now, f, trace.NoSuchLane)
	case !f.Kind.Control():
		if s.received(f.Lane, a.Length) {
			return true
		}
		p.rec.Frame(now, trace.Violation, uint16(p.id), f, uint32(a.Length), int64(trace.Overrun), int64(s.stored))
		p.Lost(now, f, trace.Overrun)
	case f.Kind != wire.CFUpdate && f.Kind != wire.CCUpdate || !s.update(f):
		p.Lost(now, f, trace.BadFlowControl)
	default:
		s.settle()
		p.rec.Arrive(now, uint16(p.id), f, uint32(a.Length), int64(s.inUse))
	}
	return false
}

func (s *Channels) free(_ unit.Time, f *wire.Frame) {
	s.returns(f.Lane, s.port.Framing().Length(f))
}

// returns gives back the credits of a frame. It reports whether a CF_Update has become due that was
// not due before.
func (s *Channels) returns(lane uint8, n unit.Size) bool {
	news := s.freed(lane, n)
	if news {
		s.settle()
	}
	return news
}

// GiveBack returns the credits of a frame of n bytes on the link to the peer. The result is when
// Control has something to send about it; unit.Never: nothing, or Control already had something to
// send.
func (s *Channels) GiveBack(now unit.Time, f *wire.Frame, n unit.Size) (control unit.Time) {
	switch {
	case !s.returns(f.Lane, n):
		return unit.Never
	case s.port.Retries() || s.ccDue <= now:
		return now
	default:
		return s.cfDue
	}
}

// Starved returns since when the peer has lacked room for the first frame of a priority. It returns
// unit.Never if the peer has room, or if MaySend has not been asked.
func (s *Channels) Starved(lane uint8) unit.Time { return s.starved[lane%Priorities] }

// Full reports whether the channel of a priority lacks room for another frame as long as the last.
func (s *Channels) Full(lane uint8) bool {
	c := s.channel(lane)
	return c != nil && (c.Used()+s.credits > c.Room() || s.PortLimit > 0 && s.stored+s.credits > s.PortLimit)
}

// Check refuses parameters that are in their ranges and do not fit together.
func (c *CBFC) Check() error {
	n, _ := c.Least()
	switch {
	case n == 0:
		return errors.New("no priority has a channel; flow-control: none is for links without any")
	case c.Limit == 0 && c.PortLimit == 0:
		return errors.New("neither a channel nor the port has a limit")
	case c.PortLimit > 0 && c.Reserved*n > c.PortLimit:
		return fmt.Errorf("%d channels reserve %d credits each, of %d of the port", n, c.Reserved, c.PortLimit)
	}
	return nil
}
