package port

import (
	"fabemu/wire"
	"fabemu/wire/unit"
)

// kind is all in which the transmitters of links can differ.
type kind struct {
	rate        unit.Rate
	propagation unit.Duration // time of flight of the first bit
	resend      unit.Duration // flow control packets are repeated after this, at the latest
	framing     wire.Framing
	cut         bool // the peer acts once it has a frame's header, not only on all of it
}

// medium is the common part of all transmitters of a kind. A fabric has many ports and
// few kinds of them: so each port is small, and this is near whichever port uses it.
type medium struct {
	kind
	media  *media    // that it is one of
	packet unit.Size // length of a flow control packet on the line

	// The last lengths: frames come in few, and the division is the dearest step of a start.
	known [16]timing
}

// timing is how long a frame of a length takes on a line.
type timing struct {
	length   unit.Size
	duration unit.Duration // on the line
	read     unit.Duration // from its start until the peer may act on it: it has the header (cut-through), or the tail
	whole    unit.Duration // until it has the tail: no control frame is acted on before
}

// after returns how long after its start the peer may act on a frame.
func (t *timing) after(control bool) unit.Duration {
	if control {
		return t.whole
	}
	return t.read
}

// media is the kinds of links that the ports of a driver's machines have.
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

// at returns the medium that differs in its rate only.
func (m *medium) at(r unit.Rate) *medium {
	k := m.kind
	k.rate = r
	return m.media.of(k)
}

// of returns the timing of a frame of length n, until the next call. It is looked up by a product
// with the golden ratio, which spreads lengths that are close together.
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
