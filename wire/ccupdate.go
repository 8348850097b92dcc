package wire

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// The numbers of credit-based flow control of Ultra Ethernet.
const (
	Channels      = 32      // virtual channels of a port
	CreditModulus = 1 << 20 // the range of its cyclic counters of credits
	halfChannels  = 16      // the channels of one CC_Update
	mostCounters  = 8       // counters that a frame as a value holds: a port has a channel for each priority at most
)

// CCExtension is the extension of a CCUpdate: the counters of credits consumed of 16 virtual
// channels, of which at most 8 are not zero.
type CCExtension struct {
	upper  uint16 // 1: about channels 16 to 31
	used   uint16 // the channels with a counter that is not zero, a bit each, from the first of this half on
	high   uint32 // the high four bits of their counters, the first channel's in the low bits
	counts [mostCounters]uint16
}

// CCOf returns a part for the channels of one half, upper or lower, with counters that are all
// zero.
func CCOf(upper bool) (p CCExtension) {
	if upper {
		p.upper = 1
	}
	return p
}

// first returns the first channel that the part is about.
func (p *CCExtension) first() uint8 { return uint8(p.upper) * halfChannels }

// Set sets the counter of credits consumed of a channel. Channels come in rising order. It reports
// false if the channel is in the other half, or not in order, or if the part is full.
func (p *CCExtension) Set(channel uint8, consumed uint32) bool {
	i, n := int(channel)-int(p.first()), bits.OnesCount16(p.used)
	if consumed %= CreditModulus; consumed == 0 {
		return i >= 0 && i < halfChannels
	}
	if i < 0 || i >= halfChannels || p.used>>i != 0 || n == mostCounters {
		return false
	}
	p.used |= 1 << i
	p.counts[n] = uint16(consumed)
	p.high |= consumed >> 16 << (4 * n)
	return true
}

// Consumed returns the counter of a channel, and false if it is in the other half.
func (p *CCExtension) Consumed(channel uint8) (uint32, bool) {
	i := int(channel) - int(p.first())
	if i < 0 || i >= halfChannels {
		return 0, false
	}
	if p.used>>i&1 == 0 {
		return 0, true
	}
	n := bits.OnesCount16(p.used & (1<<i - 1))
	return p.high>>(4*n)&0xF<<16 | uint32(p.counts[n]), true
}

// The fields of a CC_Update that never change.
const (
	opcodeExtension = 0xFFFE   // a MAC control frame of an organisation (IEEE 802.3, annex 31C)
	companyUEC      = 0xFA7ACB // the company identifier of the Ultra Ethernet Consortium
	ccLower         = 1        // the type for channels 0 to 15
	ccUpper         = 2        // the type for channels 16 to 31
)

// appendCCUpdate appends a CC_Update behind its EtherType, the high byte of each field first:
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+-------------------------------+-------------------------------+
//	|         Opcode = FFFE         |         CID = FA7ACB          |
//	+---------------+---------------+---------------+---------------+
//	|               |  Type, 1 or 2 |  16 counters, 20 bits each    |
//	+---------------+---------------+  ...
//
// The layout is section 5.2.6.2 of the Ultra Ethernet specification 1.0 as a public description of
// a switch quotes it. That the counters follow in the order of the channels, without a gap, is
// ours.
func appendCCUpdate(b []byte, f *Frame, _ Body) []byte {
	p := f.CC()
	b = binary.BigEndian.AppendUint32(b, opcodeExtension<<16|companyUEC>>8)
	b = append(b, companyUEC&0xFF, ccLower+uint8(p.upper))
	for i := p.first(); i < p.first()+halfChannels; i += 2 {
		even, _ := p.Consumed(i)
		odd, _ := p.Consumed(i + 1)
		b = append(b, uint8(even>>12))
		b = binary.BigEndian.AppendUint32(b, even<<20|odd)
	}
	return b
}

// parseCCUpdate completes f with a CC_Update, all but the FCS, which is MinFrame long. Of one that
// another program wrote it refuses more than 8 counters that are not zero: a Frame cannot hold
// them.
func parseCCUpdate(f *Frame, b []byte) error {
	const company, kind, counters = 16, 19, 20
	id := binary.BigEndian.Uint32(b[company:])
	switch {
	case id>>8 != companyUEC:
		return refuse("CC_Update.CID", company, ErrUnsupported)
	case b[kind] != ccLower && b[kind] != ccUpper:
		return refuse("CC_Update.Type", kind, ErrUnsupported)
	}
	p := f.CC()
	f.Kind, *p = CCUpdate, CCOf(b[kind] == ccUpper)
	for i := range uint8(halfChannels) {
		at := counters + int(i)/2*5
		counter := binary.BigEndian.Uint32(b[at:]) >> 12 // of an even channel
		if i%2 != 0 {
			counter = binary.BigEndian.Uint32(b[at+1:]) & (CreditModulus - 1)
		}
		if !p.Set(p.first()+i, counter) {
			return refuse("CC_Update.Counter", at, ErrUnsupported)
		}
	}
	return wantSize(b, counters+halfChannels/2*5)
}

// ccFields are the fields of a CC_Update; those of its channels that are not zero.
var ccFields = []Field{
	{text: func(b []byte, f *Frame) []byte {
		p := f.CC()
		for i := p.first(); i < p.first()+halfChannels; i++ {
			if v, _ := p.Consumed(i); v != 0 {
				b = fmt.Appendf(b, " vc=%d cc=%d", i, v)
			}
		}
		return b
	}},
	{Filter: "vc", Title: "Virtual channel", Type: "uint8", ByHand: true},
	{Filter: "cc", Title: "Credits consumed, modulo 2^20", Type: "uint32", ByHand: true},
}
