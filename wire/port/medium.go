package port

import (
	"fabemu/wire"
	"fabemu/wire/unit"
)

// kind holds all properties in which the transmitters of links can differ.
type kind struct {
	rate        unit.Rate
	propagation unit.Duration // propagation delay of the first bit
	resend      unit.Duration // flow control packets are repeated after this time at the latest
	framing     wire.Framing
	cut         bool // the peer acts as soon as it has a frame's header, not only when it has all of it
}

// medium is the part that all transmitters of a kind share. A fabric has many ports but few kinds of transmitters,
// so ports stay small and the shared part stays in the cache.
type medium struct {
	kind
	media  *media    // the set that it belongs to
	packet unit.Size // length of a flow control packet on the link

	// The timings of the last lengths: few lengths occur, and the division is the most expensive step of a start.
	// Without this table a switch takes 7 to 30 % longer for a frame (BenchmarkSwitch, BenchmarkOutputQueued).
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

// of returns the medium of a kind.
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

// of returns the timing of a frame of length n. The result is valid until the next call. The table is indexed by a
// product with the golden ratio, which spreads lengths that are close together.
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
