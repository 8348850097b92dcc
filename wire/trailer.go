package wire

import (
	"encoding/binary"

	"fabemu/wire/unit"
)

// TrailerVersion is the version of the trailer's layout.
const TrailerVersion = 1

// TrailerMagic ends every datagram of this program: its last two bytes.
const TrailerMagic = 0xFAB1

// MaxTrailerDuration is the longest Duration that a trailer can hold, about 281 s
// of model time.
const MaxTrailerDuration unit.Duration = 1<<48 - 1

// Trailer is what stands behind a frame in its datagram: what the receiver of a
// real link would see on the line, and what tells a datagram of this link from
// any other. It is found from the end, so that a dissector reads the frame in
// front of it as it is. 48 bytes, the high byte of each field first:
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------------------------------------------------------+
//	|                          Head (64), ps                        |  0
//	|                                                               |
//	+---------------------------------------------------------------+
//	|                          Due (64), ps                         |  8
//	|                                                               |
//	+---------------------------------------------------------------+
//	|                        Promise (64), ps                       | 16
//	|                                                               |
//	+---------------------------------------------------------------+
//	|                       Duration (48), ps                       | 24
//	|                               +-------------------------------+
//	|                               |       Length (16), bytes      | 30
//	+-------------------------------+-------------------------------+
//	|                              Seq                              | 32
//	+---------------------------------------------------------------+
//	|                              Run                              | 36
//	+-------------------------------+-------------------------------+
//	|             Port              |          Incarnation          | 40
//	+---------------+---------------+-------------------------------+
//	|   Delimiter   |  Version = 1  |         Magic = FAB1          | 44
//	+---------------+---------------+-------------------------------+
//
// No checksum covers it: the fabric between two ports is a kernel, not a cable.
type Trailer struct {
	Head        unit.Time     // first bit left the sender's line; not negative
	Due         unit.Time     // when the receiver may act on the frame; not negative
	Promise     unit.Time     // nothing with an earlier Due will follow on this link; not negative, unit.Never if nothing follows at all
	Duration    unit.Duration // how long the frame takes on the line, 0 to MaxTrailerDuration
	Length      unit.Size     // of the frame on the line, 0 to 65535 bytes; not always its size in the datagram
	Seq         uint32        // counts the frames of this direction of the link, modulo 2^32
	Run         uint32        // tells one run from another
	Port        uint16        // number of the sending port in the fabric
	Incarnation uint16        // how often the link has come up before
	Delimiter   Delimiter     // how Parse reads the frame
}

// Append appends the TrailerSize bytes of t to b. The caller keeps to the ranges
// above; of a field that is too large only the bits that fit are written, and
// ParseTrailer refuses a negative time.
func (t *Trailer) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(t.Head))
	b = binary.BigEndian.AppendUint64(b, uint64(t.Due))
	b = binary.BigEndian.AppendUint64(b, uint64(t.Promise))
	b = binary.BigEndian.AppendUint64(b, uint64(t.Duration)<<16|uint64(t.Length)&0xFFFF)
	b = binary.BigEndian.AppendUint64(b, uint64(t.Seq)<<32|uint64(t.Run))
	return binary.BigEndian.AppendUint64(b, uint64(t.Port)<<48|uint64(t.Incarnation)<<32|
		uint64(t.Delimiter)<<24|TrailerVersion<<16|TrailerMagic)
}

// ParseTrailer reads the trailer from the end of a datagram and returns what
// stands in front of it: the bytes of the frame, for Parse. What it accepts,
// Append writes again byte for byte. Offsets in its errors count from the first
// byte of the trailer. It says nothing about whether the datagram belongs to
// this link: the caller compares Run, Port and Incarnation.
func ParseTrailer(b []byte) (t Trailer, frame []byte, err error) {
	cut := len(b) - TrailerSize
	if cut < 0 {
		return Trailer{}, nil, refuse("Trailer", len(b), ErrTruncated)
	}
	w := b[cut:]
	last := binary.BigEndian.Uint64(w[40:])
	switch {
	case uint16(last) != TrailerMagic:
		return Trailer{}, nil, refuse("Trailer.Magic", 46, ErrUnsupported)
	case uint8(last>>16) != TrailerVersion:
		return Trailer{}, nil, refuse("Trailer.Version", 45, ErrUnsupported)
	}
	line := binary.BigEndian.Uint64(w[24:])
	order := binary.BigEndian.Uint64(w[32:])
	t = Trailer{
		Head:        unit.Time(binary.BigEndian.Uint64(w)),
		Due:         unit.Time(binary.BigEndian.Uint64(w[8:])),
		Promise:     unit.Time(binary.BigEndian.Uint64(w[16:])),
		Duration:    unit.Duration(line >> 16),
		Length:      unit.Size(line & 0xFFFF),
		Seq:         uint32(order >> 32),
		Run:         uint32(order),
		Port:        uint16(last >> 48),
		Incarnation: uint16(last >> 32),
		Delimiter:   Delimiter(last >> 24),
	}
	switch {
	case t.Delimiter < DataPacket || t.Delimiter > StartOfFrame:
		return Trailer{}, nil, refuse("Trailer.Delimiter", 44, ErrUnsupported)
	case t.Head < 0:
		return Trailer{}, nil, refuse("Trailer.Head", 0, ErrRange)
	case t.Due < 0:
		return Trailer{}, nil, refuse("Trailer.Due", 8, ErrRange)
	case t.Promise < 0:
		return Trailer{}, nil, refuse("Trailer.Promise", 16, ErrRange)
	}
	return t, b[:cut], nil
}
