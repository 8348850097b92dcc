package wire

import (
	"bytes"
	"encoding/binary"
)

// zeroStep is the run length of zero bytes up to which states are looked up byte by byte. Each
// multiple of it up to zeroStep*zeroSteps has an operator of its own.
const (
	zeroStep  = 128
	zeroSteps = 72 // to 9216 bytes: MaxMSDU and what pads a frame
)

// operator takes the state of a CRC to the one after a run of zero bytes. A CRC is linear, so
// that it is a matrix over bits; it is kept as one table for each of the eight nibbles of the
// state, whose images add up.
type operator [8][16]uint32

// apply returns the image of a state.
func (m *operator) apply(s uint32) uint32 {
	return m[0][s&15] ^ m[1][s>>4&15] ^ m[2][s>>8&15] ^ m[3][s>>12&15] ^
		m[4][s>>16&15] ^ m[5][s>>20&15] ^ m[6][s>>24&15] ^ m[7][s>>28]
}

// operatorOf returns the operator of a linear function.
func operatorOf(image func(s uint32) uint32) *operator {
	m := new(operator)
	for nibble := range m {
		for bit := range 4 {
			at := image(1 << (4*nibble + bit))
			for v := range 1 << bit {
				m[nibble][1<<bit|v] = m[nibble][v] ^ at
			}
		}
	}
	return m
}

// crcRows say what each byte in front of some zeros adds to the state of a CRC behind them: a CRC is linear, so
// that the state is the sum.
type crcRows [crcReach + 3][256]uint32

// crcReach is how far in front of the zeros the first such byte may stand.
const crcReach = 78

// of8 returns what a byte adds that stands so far in front of the zeros: 1 is next to them.
func (r *crcRows) of8(at int, v byte) uint32 { return r[at+3][v] }

// of16 is of8 of two bytes, the high one first, which stands there.
func (r *crcRows) of16(at int, v uint64) uint32 { return r[at+3][byte(v>>8)] ^ r[at+2][byte(v)] }

// ofState returns what a state adds that the CRC has so far in front of the zeros.
func (r *crcRows) ofState(at int, s uint32) uint32 {
	return r[at][s>>24] ^ r[at+1][byte(s>>16)] ^ r[at+2][byte(s>>8)] ^ r[at+3][byte(s)]
}

// crcTable holds what it takes to compute one reflected CRC of at most 32 bits.
// The state is that of the shift register: the caller sets the initial value and
// inverts the result.
type crcTable struct {
	// many[n] is the operator of n*zeroStep zero bytes, and rows[n] are those for n zero bytes. They are
	// pointers because the compiler would add up anew for each look where they stand.
	many [zeroSteps + 1]*operator
	rows [zeroStep + ICRCSize]*crcRows
	// image[n][v] is the state after n zero bytes, from one whose highest byte is v and the
	// others zero. From n = 4 on it is the state after byte v and n - 4 zeros, from state 0.
	image [zeroStep + ICRCSize + crcReach + 2][256]uint32
}

// newCRC computes the tables of a reflected polynomial.
func newCRC(poly uint32) *crcTable {
	t := new(crcTable)
	for v := range uint32(256) {
		s := v
		for n := range 4 {
			t.image[n][v] = v << (24 - 8*n)
		}
		for range 8 {
			if s&1 != 0 {
				s = s>>1 ^ poly
			} else {
				s >>= 1
			}
		}
		t.image[4][v] = s
	}
	for n := 5; n < len(t.image); n++ {
		further, one := &t.image[n], &t.image[4]
		for v, s := range &t.image[n-1] {
			further[v] = s>>8 ^ one[byte(s)]
		}
	}
	for n := range t.rows {
		t.rows[n] = (*crcRows)(t.image[n:])
	}
	t.many[0] = operatorOf(func(s uint32) uint32 { return s })
	step := operatorOf(func(s uint32) uint32 { return t.fewZeros(t.fewZeros(s, zeroStep-1), 1) })
	for n := 1; n <= zeroSteps; n++ {
		t.many[n] = operatorOf(func(s uint32) uint32 { return step.apply(t.many[n-1].apply(s)) })
	}
	return t
}

// update returns the state after the bytes of p.
func (t *crcTable) update(s uint32, p []byte) uint32 {
	for len(p) >= 16 {
		x, y := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
		s = fold((*[8][256]uint32)(t.image[12:]), x^uint64(s)) ^ fold((*[8][256]uint32)(t.image[4:]), y)
		p = p[16:]
	}
	if len(p) >= 8 {
		s = t.step8(s, binary.LittleEndian.Uint64(p))
		p = p[8:]
	}
	if len(p) >= 4 {
		s = t.step4(s, binary.LittleEndian.Uint32(p))
		p = p[4:]
	}
	for _, v := range p {
		s = s>>8 ^ t.image[4][byte(s)^v]
	}
	return s
}

// step8 returns the state after the eight bytes of x, the lowest first.
func (t *crcTable) step8(s uint32, x uint64) uint32 {
	return fold((*[8][256]uint32)(t.image[4:]), x^uint64(s))
}

// fold adds up what eight tables say of the bytes of x, the lowest first.
func fold(t *[8][256]uint32, x uint64) uint32 {
	return t[7][byte(x)] ^ t[6][byte(x>>8)] ^ t[5][byte(x>>16)] ^ t[4][byte(x>>24)] ^
		t[3][byte(x>>32)] ^ t[2][byte(x>>40)] ^ t[1][byte(x>>48)] ^ t[0][byte(x>>56)]
}

// step4 returns the state after the four bytes of x, the lowest first.
func (t *crcTable) step4(s, x uint32) uint32 { return t.fewZeros(s^x, 4) }

// padding returns the state after n zero bytes, in a time that does not depend on n as long
// as n is at most zeroStep*zeroSteps: the payload of every data packet is such a run.
func (t *crcTable) padding(s uint32, n int) uint32 {
	for ; n >= zeroStep*zeroSteps; n -= zeroStep * zeroSteps {
		s = t.many[zeroSteps].apply(s)
	}
	return t.fewZeros(t.many[n/zeroStep].apply(s), n%zeroStep)
}

// fewZeros returns the state after n zero bytes, fewer than zeroStep.
func (t *crcTable) fewZeros(s uint32, n int) uint32 { return t.rows[n].ofState(0, s) }

// allZero reports whether p has no byte but zeros.
func allZero(p []byte) bool {
	for len(p) > len(zeros) {
		if !bytes.Equal(p[:len(zeros)], zeros[:]) {
			return false
		}
		p = p[len(zeros):]
	}
	return bytes.Equal(p, zeros[:len(p)])
}

// zeros are what padding is compared with: p with itself, a byte on, would be read across what
// has just been written.
var zeros [4096]byte
