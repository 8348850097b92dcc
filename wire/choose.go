package wire

import "math/bits"

// Choose returns which of n equal paths a frame takes at a switch, from 0 to n - 1. It
// depends on the name of the frame's flow, so that all frames of a flow take the same one
// and keep their order, and on the switch's seed (ChoiceSeed): with one seed for all,
// switches one behind the other would choose alike, and the second would leave all but
// one of its paths idle.
//
// The name of a flow is both addresses and the queue pair. It stands for all that a switch
// would hash in addition to the addresses: the UDP source port of RoCEv2, which differs from
// queue pair to queue pair (InfiniBand Annex A17.9.2); of a guest's frame qp is its Entropy. A
// frame on the return path, an ACK or a notification, has its own addresses and therefore its own
// path. n is above 0.
func Choose(seed uint64, src, dst LID, qp uint32, n int) int {
	h, _ := bits.Mul64(mix(seed^(uint64(src)<<48|uint64(dst)<<32|uint64(qp))), uint64(n))
	return int(h)
}

// ChoiceSeed returns the seed of a switch for Choose, from the seed of the run.
func ChoiceSeed(seed uint64, node int) uint64 { return mix(mix(seed) + uint64(node)) }

// mix makes each bit of its result depend on each bit of x: one step of SplitMix64
// (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
