package port

import (
	"fabemu/wire"
	"fabemu/wire/unit"
)

// kind holds all properties in which the transmitters of links can differ.
type kind struct {
	rate        unit.Rate
	propagation unit.Duration // propagation delay of the first bit
	resend      unit.Duration // flow control packets are repeated at least this often
	framing     wire.Framing
	cut         bool // the peer acts as soon as it has a frame's header, not only when it has all of it
}

// medium is the part that all transmitters of a kind share. A fabric has many ports but few kinds
// of transmitters, so ports stay small and the shared part stays in the cache.
type medium struct {
	kind
	media  *media    // the set that it belongs to
	packet unit.Size // length of a flow control packet on the link

	// The timings of the last lengths: few lengths occur, and the division is the most expensive
	// step of a start. Without this table a switch takes 7 to 30 % longer for a frame
	// (BenchmarkSwitch, BenchmarkOutputQueued).
	known [16]timing
}

// timing is how long a frame of a given length takes on a link.
type timing struct {
	length   unit.Size
	duration unit.Duration // on the link
	read     unit.Duration // from its start until the peer may act on it: it has the header (cut-through) or the tail
	whole    unit.Duration // until the peer has the tail: it acts on no control frame before
}

// after returns how long after its start the peer may act on a frame.
func (t *timing) after(control bool) unit.Duration {
	if control {
		return t.whole
	}
	return t.read
}

// media is the set of kinds of transmitters that the ports of a driver's nodes have.
type media struct{ all []*medium }

func (m *media) of(k kind) *medium {
	for _, old := range m.all {
		if old.kind == k {
			return old
		}
	}
	one := &medium{kind: k, media: m, packet: k.framing.Length(&wire.Frame{Kind: wire.FlowControl})}
	one.learn(&one.known[0], 0) // an entry that is not used yet has this length
	m.all = append(m.all, one)
	return one
}

// at returns the medium that differs only in its rate.
func (m *medium) at(r unit.Rate) *medium {
	k := m.kind
	k.rate = r
	return m.media.of(k)
}

// of returns the timing of a frame of length n. The result is valid until the next call. The table
// is indexed by a product with the golden ratio, which spreads lengths that are close together.
func (m *medium) of(n unit.Size) (t *timing) {
	if t = &m.known[uint64(n)*0x9E3779B97F4A7C15>>60]; t.length != n {
		m.learn(t, n)
	}
	return t
}

// learn makes t the timing of length n.
func (m *medium) learn(t *timing, n unit.Size) {
	d := m.rate.Serialise(n)
	acts := d
	if m.cut {
		acts = min(d, m.rate.Serialise(wire.HeaderSize))
	}
	fly := func(d unit.Duration) unit.Duration { return unit.Duration(unit.Time(d).Add(m.propagation)) }
	*t = timing{length: n, duration: d, whole: fly(d), read: fly(acts)}
}

// Transmitter is the transmitter of a port. It serialises one frame after another at its rate. A
// link has one in each direction.
type Transmitter struct {
	medium *medium
	free   unit.Time // the line is idle from here on
	due    unit.Time // due time of the last frame: it never decreases
}

// Free returns the instant from which the transmitter is idle.
func (l *Transmitter) Free() unit.Time { return l.free }

// Rate returns the rate of the next frame.
func (l *Transmitter) Rate() unit.Rate { return l.medium.rate }

// SetRate changes the rate from the next frame on. A frame that has begun completes at its old
// rate.
func (l *Transmitter) SetRate(r unit.Rate) { l.medium = l.medium.at(r) }

// Serialise returns how long a frame of length n occupies the link.
func (l *Transmitter) Serialise(n unit.Size) unit.Duration { return l.medium.of(n).duration }

// Plan returns when a frame with data of length n that begins at an instant has left, and when the
// peer may act on it. On a link that has never had a fault this is after the peer may act on the
// frame ahead of it: at the latest one propagation after that has left, and so before this one's
// header can have arrived.
func (l *Transmitter) Plan(begins unit.Time, n unit.Size) (ends, due unit.Time) {
	k := l.medium.of(n)
	return begins.Add(k.duration), begins.Add(k.read)
}

// Began notes that a planned frame has begun: the line is busy until it has left.
func (l *Transmitter) Began(ends unit.Time) { l.free = ends }

// start sends a frame from the instant t until end. The peer may act on it at t plus after, but
// never before it may act on the frame sent ahead of it, because a flow control packet that
// overtook data would overdraw the buffer (design: the on-time rule). It panics if the transmitter
// is busy, because then the caller has not asked.
func (l *Transmitter) start(t, end unit.Time, after unit.Duration) {
	if t < l.free {
		panic("port: started on a busy link")
	}
	l.free, l.due = end, max(l.due, t.Add(after))
}
