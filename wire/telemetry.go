package wire

import (
	"encoding/binary"
	"fmt"
	"slices"

	"fabemu/wire/unit"
)

// Hop is the state of an output of a switch at the instant at which a packet begins to leave by it:
// an entry of the telemetry that a Data packet of RoCEv2 collects, and that its ACK carries back
// (RoCE.Telemetry).
type Hop struct {
	Time  unit.Time // that instant
	Sent  unit.Size // all that has left by the output before the packet, on the link
	Queue unit.Size // all that waits behind it
	Rate  unit.Rate // of the line
}

// Telemetry is the form of the entries of a packet.
type Telemetry uint8

// The forms.
const (
	NoTelemetry Telemetry = iota
	// Rounded has 64 bits: three of the rate, 24 of the time in ns, 20 of Sent in units of 128
	// bytes, 17 of Queue in units of 80 bytes, as the simulator of HPCC (int-header.h). Time and
	// Sent wrap, and Queue ends at its limit.
	Rounded
	// Exact has 24 bytes: the time in ps, Sent, Queue, and the rate in kb/s.
	Exact
)

// MaxHops is how many switches telemetry has room for.
const MaxHops = 5

// Units and ranges of Rounded.
const (
	hopTick       = unit.Nanosecond
	hopTimes      = unit.Duration(1<<24) * hopTick
	hopSentUnit   = 128 * unit.Byte
	hopSents      = (1 << 20) * hopSentUnit
	hopQueueUnit  = 80 * unit.Byte
	hopQueues     = 1 << 17
	hopRateUnit   = 1000 // of Exact, in b/s
	telemetryHead = 4
)

// hopRates are the rates that Rounded has codes for. The simulator of HPCC has the first five, and
// leaves three codes free.
var hopRates = [8]unit.Rate{25e9, 50e9, 100e9, 200e9, 400e9, 10e9, 40e9, 800e9}

// telemetryBits are the flags of a frame with each form.
var telemetryBits = [...]headerBits{NoTelemetry: 0, Rounded: bitRounded, Exact: bitExact}

// Telemetry returns the form of the telemetry that a packet of RoCEv2 has.
func (f *Frame) Telemetry() Telemetry {
	switch f.Bits & (bitRounded | bitExact) {
	case bitRounded:
		return Rounded
	case bitExact:
		return Exact
	}
	return NoTelemetry
}

// RatesOfTelemetry returns the rates that Rounded has codes for, in Gb/s and in their order.
func RatesOfTelemetry() (list []int) {
	for _, r := range slices.Sorted(slices.Values(hopRates[:])) {
		list = append(list, int(r/1e9))
	}
	return list
}

// Fits reports whether the form can describe a line of this rate.
func (t Telemetry) Fits(r unit.Rate) bool {
	if t == Rounded {
		return slices.Contains(hopRates[:], r)
	}
	return r%hopRateUnit == 0 && r/hopRateUnit < 1<<32
}

// entry returns the size of an entry, in bytes.
func (t Telemetry) entry() int { return [...]int{NoTelemetry: 0, Rounded: 8, Exact: 24}[t] }

// Size returns the size of the header in a packet, in bytes: a head of four, and room for MaxHops
// entries.
func (t Telemetry) Size() int {
	if t == NoTelemetry {
		return 0
	}
	return telemetryHead + MaxHops*t.entry()
}

// Since returns the time since an earlier entry of the same output, and the length of everything
// that has left since.
func (h *Hop) Since(before *Hop, form Telemetry) (time unit.Duration, sent unit.Size) {
	time, sent = h.Time.Sub(before.Time), h.Sent-before.Sent
	if form == Rounded && time < 0 {
		time += hopTimes
	}
	if form == Rounded && sent < 0 {
		sent += hopSents
	}
	return time, sent
}

// telemetryBody is the type of a Body that is the telemetry of a packet: no EtherType, and on no
// wire.
const telemetryBody = 1

// appendEmpty appends the header without an entry.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+---------------+-------------------------------+
//	| Form 1, 2     |  Hops 0 to 5  |               0               |  0
//	+---------------+---------------+-------------------------------+
//	|  MaxHops entries; the last ones may be zeros                  |  4
//
// A packet that has passed more switches has 255 hops.
func (t Telemetry) appendEmpty(b []byte) []byte {
	at := len(b)
	if b = appendZeros(b, t.Size()); t != NoTelemetry {
		b[at] = byte(t)
	}
	return b
}

// tooManyHops is the number of hops of a packet that has passed more than MaxHops switches.
const tooManyHops = 255

// PutTelemetry gives a Data packet of RoCEv2 that collects telemetry the header, without an entry.
func (s *Bodies) PutTelemetry(f *Frame) {
	b := s.take(f)
	b.Type, b.Bytes = telemetryBody, f.Telemetry().appendEmpty(b.Bytes[:0])
}

// AddHop adds an entry to the telemetry of a packet, if it has one.
func (s *Bodies) AddHop(f *Frame, h *Hop) {
	b := s.Of(f)
	if b.Type != telemetryBody {
		return
	}
	form, n := Telemetry(b.Bytes[0]), int(b.Bytes[1])
	if n >= MaxHops {
		b.Bytes[1] = tooManyHops
		return
	}
	b.Bytes[1]++
	at := b.Bytes[telemetryHead+n*form.entry():]
	if form == Exact {
		binary.BigEndian.PutUint64(at, uint64(h.Time))
		binary.BigEndian.PutUint64(at[8:], uint64(h.Sent))
		binary.BigEndian.PutUint32(at[16:], uint32(min(h.Queue, 1<<32-1)))
		binary.BigEndian.PutUint32(at[20:], uint32(h.Rate/hopRateUnit))
		return
	}
	v := uint64(max(slices.Index(hopRates[:], h.Rate), 0))
	v = v<<24 | uint64(unit.Duration(h.Time)/hopTick)&(1<<24-1)
	v = v<<20 | uint64(h.Sent/hopSentUnit)&(1<<20-1)
	v = v<<17 | uint64(min(h.Queue/hopQueueUnit, hopQueues-1))
	binary.BigEndian.PutUint64(at, v)
}

// Hops appends the entries of a packet's telemetry to list, in the order of the switches. It
// refuses telemetry that was cut, or that has more hops than room; a body of another kind has no
// entry.
func (b Body) Hops(list []Hop) ([]Hop, error) {
	if b.Type != telemetryBody {
		return list, nil
	}
	if err := checkTelemetry(b.Bytes, Telemetry(b.Bytes[0])); err != nil {
		return list, err
	}
	if b.Bytes[1] > MaxHops {
		return list, refuse("telemetry.Hops", 1, ErrRange)
	}
	return appendHops(list, b.Bytes), nil
}

// appendHops appends the entries of a header that is right.
func appendHops(list []Hop, b []byte) []Hop {
	form := Telemetry(b[0])
	for n := range int(min(b[1], MaxHops)) {
		at := b[telemetryHead+n*form.entry():]
		v := binary.BigEndian.Uint64(at)
		if form == Exact {
			list = append(list, Hop{Time: unit.Time(v), Sent: unit.Size(binary.BigEndian.Uint64(at[8:])),
				Queue: unit.Size(binary.BigEndian.Uint32(at[16:])),
				Rate:  unit.Rate(binary.BigEndian.Uint32(at[20:])) * hopRateUnit})
			continue
		}
		list = append(list, Hop{Time: unit.Time(unit.Duration(v>>37&(1<<24-1)) * hopTick),
			Sent: unit.Size(v>>17&(1<<20-1)) * hopSentUnit, Queue: unit.Size(v&(hopQueues-1)) * hopQueueUnit,
			Rate: hopRates[v>>61]})
	}
	return list
}

// checkTelemetry refuses bytes that are no header of a form.
func checkTelemetry(b []byte, form Telemetry) error {
	switch {
	case len(b) < form.Size():
		return refuse("telemetry", len(b), ErrTruncated)
	case Telemetry(b[0]) != form:
		return refuse("telemetry.Form", 0, ErrRange)
	case b[1] > MaxHops && b[1] != tooManyHops:
		return refuse("telemetry.Hops", 1, ErrRange)
	case b[2]|b[3] != 0:
		return refuse("telemetry.Reserved", 2, ErrReserved)
	case !allZero(b[telemetryHead+int(min(b[1], MaxHops))*form.entry() : form.Size()]):
		return refuse("telemetry.Hops", 1, ErrRange)
	}
	return nil
}

// Words describes telemetry or a MAD for people: of each hop its time, bytes sent, bytes that wait,
// and the rate. Of a body of another kind it is empty.
func (b Body) Words() (words string) {
	if mad := b.MAD(); mad != nil {
		return madWords(mad)
	}
	if b.Type != telemetryBody {
		return ""
	}
	words = fmt.Sprintf(" hops=%d", b.Bytes[1])
	for _, h := range appendHops(nil, b.Bytes) {
		words += fmt.Sprintf(" hop=%v,%v,%v,%v", unit.Duration(h.Time), h.Sent, h.Queue, h.Rate)
	}
	return words
}
