package unit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Room is room for frames: a number of packets of the largest size that comes there, or
// a number of bytes. One of the two is zero; where both are, it is not given.
type Room struct {
	Packets int
	Bytes   Size
}

// Size returns r in bytes, with packets of this length.
func (r Room) Size(packet Size) Size { return r.Bytes + Size(r.Packets)*packet }

// The largest room, in bytes and in packets; it is also the largest Size that a scenario
// may write.
const (
	MaxRoom    Size = math.MaxInt32
	MaxPackets      = 1 << 20
)

// ParseRoom reads "4 packets", "1 packet", "150KB". A room that holds nothing, or more
// than MaxPackets or MaxRoom, is an error.
func ParseRoom(s string) (Room, error) {
	s = strings.TrimSpace(s)
	number, word := Split(s)
	switch word {
	case "packets", "packet":
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 || n > MaxPackets {
			return Room{}, fmt.Errorf("%q is not a room: packets are counted from 1 to %d", s, MaxPackets)
		}
		if n == 0 {
			return Room{}, fmt.Errorf("%q holds no packet: a buffer of a lossless link holds at least one", s)
		}
		return Room{Packets: int(n)}, nil
	case "":
		return Room{}, fmt.Errorf("%q has no unit: write \"%s packets\" or a size such as 150KB", s, s)
	}
	n, err := ParseSize(s)
	switch {
	case err != nil && !slices.Contains(SizeUnits(), word):
		return Room{}, fmt.Errorf("%q has the unknown unit %q: a room is given in packets, or in %s", s, word, strings.Join(SizeUnits(), ", "))
	case err != nil:
		return Room{}, err
	case n == 0:
		return Room{}, fmt.Errorf("%q holds no packet: a buffer of a lossless link holds at least one", s)
	case n > MaxRoom:
		return Room{}, fmt.Errorf("%q is too large: at most %dB are allowed", s, MaxRoom)
	}
	return Room{Bytes: n}, nil
}

// String prints r so that ParseRoom reads it back: "4 packets", "150KB"; the zero value
// is "0 packets".
func (r Room) String() string {
	switch {
	case r.Bytes > 0:
		return r.Bytes.String()
	case r.Packets == 1:
		return "1 packet"
	}
	return fmt.Sprintf("%d packets", r.Packets)
}

// MarshalText prints r as String does.
func (r Room) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Split cuts a quantity into its number and its unit.
func Split(s string) (number, word string) {
	s = strings.TrimSpace(s)
	cut := strings.IndexFunc(s, func(c rune) bool { return !strings.ContainsRune("0123456789.+-", c) })
	if cut < 0 {
		return s, ""
	}
	return s[:cut], strings.TrimSpace(s[cut:])
}

// DurationUnits returns the units that ParseDuration reads.
func DurationUnits() []string { return []string{"s", "ms", "us", "ns", "ps"} }

// RateUnits returns the units that ParseRate reads.
func RateUnits() []string {
	return []string{"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", "B/s", "KB/s", "MB/s", "GB/s"}
}

// SizeUnits returns the units that ParseSize reads.
func SizeUnits() []string { return []string{"B", "KB", "MB", "GB", "KiB", "MiB", "GiB"} }
