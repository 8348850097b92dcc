package wire

import (
	"encoding/binary"

	"fabemu/wire/unit"
)

// TrailerVersion is the version of the trailer's layout.
const TrailerVersion = 2

// TrailerMagic ends every datagram of this program: its last two bytes.
const TrailerMagic = 0xFAB1

// MaxTrailerDuration is the longest Duration that a trailer can hold, about 281 s
// of model time.
const MaxTrailerDuration unit.Duration = 1<<48 - 1

// Trailer is behind a frame in its datagram. It has all that the receiver of a
// real link would see on the link, and it distinguishes a datagram of this link from
// any other. It is found from the end, so that a dissector reads the frame in
// front of it as it is. 64 bytes, the high byte of each field first:
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------------------------------------------------------+
//	|                         Secret (128)                          |  0
//	|                                                               |
//	|                                                               |
//	|                                                               |
//	+---------------------------------------------------------------+
//	|                          Head (64), ps                        | 16
//	|                                                               |
//	+---------------------------------------------------------------+
//	|                          Due (64), ps                         | 24
//	|                                                               |
//	+---------------------------------------------------------------+
//	|                        Promise (64), ps                       | 32
//	|                                                               |
//	+---------------------------------------------------------------+
//	|                       Duration (48), ps                       | 40
//	|                               +-------------------------------+
//	|                               |       Length (16), bytes      | 46
//	+-------------------------------+-------------------------------+
//	|                              Seq                              | 48
//	+---------------------------------------------------------------+
//	|                              Run                              | 52
//	+-------------------------------+-------------------------------+
//	|             Port              |        Reserved, zero         | 56
//	+---------------+---------------+-------------------------------+
//	|   Delimiter   |  Version = 2  |         Magic = FAB1          | 60
//	+---------------+---------------+-------------------------------+
//
// No checksum covers it: the fabric between two ports is a kernel, not a cable.
//
// On a link with retry the PreambleSize bytes of the frame's preamble are in front of the trailer,
// if that has a sequence; then the highest bit of Delimiter is set.
type Trailer struct {
	Secret    Secret        // of the run
	Head      unit.Time     // first bit left the sender's line; not negative
	Due       unit.Time     // when the receiver may act on the frame; not negative
	Promise   unit.Time     // nothing with an earlier Due will follow on this link; not negative, unit.Never if nothing follows at all
	Duration  unit.Duration // how long the frame takes on the link, 0 to MaxTrailerDuration
	Length    unit.Size     // of the frame on the link, 0 to 65535 bytes; not always its size in the datagram
	Seq       uint32        // counts the frames of this direction of the link, modulo 2^32
	Run       uint32        // distinguishes one run from another
	Port      uint16        // number of the sending port in the fabric
	Delimiter Delimiter     // how Parse reads the frame
	Preamble  Preamble      // of the frame
}

// Secret is shared by the nodes of one run only. It is in no file,
// and on the virtual clock it is zero.
type Secret [2]uint64

// Equal reports whether two secrets are the same. How long it takes reveals nothing of them.
func (s Secret) Equal(o Secret) bool { return (s[0]^o[0])|(s[1]^o[1]) == 0 }

// AppendPreamble appends the preamble, if the frame has an unusual one (a sequence), and then the
// trailer. Append alone writes the trailer of a frame with the usual preamble.
func (t *Trailer) AppendPreamble(b []byte) []byte {
	if t.Preamble == 0 {
		return t.Append(b)
	}
	long := *t
	long.Delimiter |= preambled
	return long.Append(t.Preamble.Append(b))
}

// Append appends the TrailerSize bytes of t to b, of a frame with the usual preamble. The caller
// keeps to the ranges above; of a field that is too large only the bits that fit are written, and
// ParseTrailer refuses a negative time.
func (t *Trailer) Append(b []byte) []byte {
	// Nested calls cost the compiler less: so it puts the whole into its caller.
	b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, t.Secret[0]), t.Secret[1])
	b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b,
		uint64(t.Head)), uint64(t.Due)), uint64(t.Promise))
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b,
		uint64(t.Duration)<<16|uint64(uint16(t.Length))),
		uint64(t.Seq)<<32|uint64(t.Run)),
		uint64(t.Port)<<48|uint64(t.Delimiter)<<24|(TrailerVersion<<16|TrailerMagic))
}

// ParseTrailer reads the trailer from the end of a datagram and returns all that
// is in front of it: the bytes of the frame, for Parse. If it accepts bytes,
// AppendPreamble writes again byte for byte. Offsets in its errors count from the first
// byte of the trailer. It does not check whether the datagram belongs to
// this link: the caller compares Secret, Run and Port.
func ParseTrailer(b []byte) (t Trailer, frame []byte, err error) {
	if frame, err = t.Read(b); err != nil {
		return Trailer{}, nil, err
	}
	return t, frame, nil
}

// Read reads the trailer into t, as ParseTrailer does, without copying it. After an error the
// content of t is undefined.
func (t *Trailer) Read(b []byte) (frame []byte, err error) {
	cut := len(b) - TrailerSize
	if cut < 0 {
		return nil, refuse("Trailer", len(b), ErrTruncated)
	}
	frame, w := b[:cut], b[cut:]
	last := binary.BigEndian.Uint64(w[56:])
	head, due, promise := binary.BigEndian.Uint64(w[16:]), binary.BigEndian.Uint64(w[24:]), binary.BigEndian.Uint64(w[32:])
	switch t.Delimiter = Delimiter(last>>24) &^ preambled; {
	case uint16(last) != TrailerMagic:
		return nil, refuse("Trailer.Magic", 62, ErrUnsupported)
	case uint8(last>>16) != TrailerVersion:
		return nil, refuse("Trailer.Version", 61, ErrUnsupported)
	case t.Delimiter-DataPacket > GuestFrame-DataPacket: // they are side by side
		return nil, refuse("Trailer.Delimiter", 60, ErrUnsupported)
	case uint16(last>>32) != 0:
		return nil, refuse("Trailer.Reserved", 58, ErrReserved)
	case int64(head) < 0:
		return nil, refuse("Trailer.Head", 16, ErrRange)
	case int64(due) < 0:
		return nil, refuse("Trailer.Due", 24, ErrRange)
	case int64(promise) < 0:
		return nil, refuse("Trailer.Promise", 32, ErrRange)
	}
	t.Secret = Secret{binary.BigEndian.Uint64(w), binary.BigEndian.Uint64(w[8:])}
	t.Head, t.Due, t.Promise = unit.Time(head), unit.Time(due), unit.Time(promise)
	line, order := binary.BigEndian.Uint64(w[40:]), binary.BigEndian.Uint64(w[48:])
	t.Duration, t.Length = unit.Duration(line>>16), unit.Size(line&0xFFFF)
	t.Seq, t.Run = uint32(order>>32), uint32(order)
	t.Port = uint16(last >> 48)
	t.Preamble = 0
	if last>>24&preambled != 0 {
		if cut -= PreambleSize; cut < 0 {
			return nil, refuse("Preamble", -PreambleSize, ErrTruncated)
		}
		if t.Preamble, err = parsePreamble(b[cut:]); err != nil {
			return nil, err
		}
		frame = b[:cut]
	}
	return frame, nil
}
