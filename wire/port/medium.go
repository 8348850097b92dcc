package port

import (
	"fabemu/wire"
	"fabemu/wire/unit"
)

// kind is what the transmitters of links can differ in.
type kind struct {
	rate        unit.Rate
	propagation unit.Duration // time of flight of the first bit
	resend      unit.Duration // flow control packets are repeated after this, at the latest
	framing     wire.Framing
	cut         bool // the peer acts once it has a frame's header, not only on all of it
}

// medium is what all transmitters of a kind have in common. A fabric has many ports and
// few kinds of them: so each port is small, and this is near whichever port uses it.
type medium struct {
	kind
	header unit.Duration // of wire.HeaderSize
	media  *media        // that it is one of

	// The last lengths and their durations: frames come in few lengths, and the division
	// is the dearest step of a start.
	known [16]struct {
		length   unit.Size
		duration unit.Duration
	}
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
	one := &medium{kind: k, header: k.rate.Serialise(wire.HeaderSize), media: m}
	m.all = append(m.all, one)
	return one
}

// at returns the medium that differs in its rate only.
func (m *medium) at(r unit.Rate) *medium {
	k := m.kind
	k.rate = r
	return m.media.of(k)
}

// serialise returns how long a frame of length n takes the line.
func (m *medium) serialise(n unit.Size) unit.Duration {
	known := &m.known[uint64(n)*0x9E3779B97F4A7C15>>60] // the golden ratio spreads what is close together
	if n != known.length {
		known.length, known.duration = n, m.rate.Serialise(n)
	}
	return known.duration
}
