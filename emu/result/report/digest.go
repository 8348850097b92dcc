package report

import (
	"fmt"
	"math/bits"

	"fabemu/wire/trace"
)

// Digest is a trace.Sink that condenses the event log of a run. Each node's
// log is taken by itself, in its own order, so the sum does not depend on how
// the events of different nodes come mixed: two runs have the same sum when
// every node saw and did the same in both.
//
// Every field of an event counts. It is not a cryptographic hash: a difference is missed by chance
// in one of 2^64 cases, and one that is missed can be made on purpose.
type Digest struct{ nodes []state }

// state is the digest of one node's log.
type state struct{ a, b, events uint64 }

// NewDigest returns the digest of a fabric with a number of nodes. Events of other nodes must not
// be recorded.
func NewDigest(nodes int) *Digest {
	d := &Digest{nodes: make([]state, nodes)}
	for i := range d.nodes {
		d.nodes[i] = state{a: seedA + uint64(i), b: seedB ^ uint64(i)}
	}
	return d
}

// Odd constants without a pattern: the fractions of the square roots of 2, 3, 5
// and 7 in 64 bits, made odd.
const (
	seedA = 0x6a09e667f3bcc909
	seedB = 0xbb67ae8584caa73b
	keyA  = 0x3c6ef372fe94f82b
	keyB  = 0xa54ff53a5f1d36f1
)

// Record takes e into the log of its node.
//
// The event is read as seven words. Two words at a time are added to the state
// and multiplied into 128 bits, whose halves are folded together; the state
// that is carried on depends on all before, so order counts.
func (d *Digest) Record(e *trace.Event) {
	s := &d.nodes[e.Node]
	a, b := s.a, s.b
	a = fold(a^uint64(e.At), keyA^uint64(e.A)) + b
	b = fold(b^uint64(e.B), keyB^(uint64(e.Seq)<<32|uint64(e.Bytes))) + a
	a = fold(a^(uint64(e.Flow)<<32|uint64(e.PSN)), keyA^(uint64(e.Port)<<16|uint64(e.Kind)<<8|uint64(e.Lane))) + b
	s.a, s.b = bits.RotateLeft64(a, 23), b
	s.events++
}

// fold multiplies to 128 bits and adds the halves. The plain sum with both
// factors keeps a factor of zero from wiping out the other one.
func fold(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return (hi ^ lo) + x + bits.RotateLeft64(y, 32)
}

// Sum returns the digest of all nodes' logs so far, 32 hexadecimal digits.
func (d *Digest) Sum() string {
	all := state{a: seedA, b: seedB}
	for _, s := range d.nodes {
		all.a = fold(all.a^s.a, keyA^s.b) + all.b
		all.b = fold(all.b^s.events, keyB^all.a) + all.a
	}
	return fmt.Sprintf("%016x%016x", all.a, all.b)
}
