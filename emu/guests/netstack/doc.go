// Package netstack is a host in a box: gVisor's TCP and IP (pkg/tcpip) on the clock of the
// model. It is a guest whose kernel is a part of this program, so that a stack which was not
// written for the fabric speaks over it on both clocks, and says the same each time: the same
// scenario and seed have the same event log.
//
// A Stack is what a TUN device is for other guests: packets of IP are read from it and written
// to it. Beyond that it has instants at which it does something by itself (Deadline, Advance),
// and programs (Send).
//
// # How it repeats itself
//
// Its timers lie in one heap, in the order of their time and of their making, and the caller
// runs them. Its random numbers are of a seed. Segments are handled by goroutines of its own,
// as many as there are processors; settle waits for them after each packet, timer and call, so
// that never more than one thing goes on. That is the dear part: some 10 us each.
//
// # Limitations
//
// The stack has no ECN (gvisor.dev/issue/995). Its reno recovers badly from many losses in one
// window, because it does not pace; cubic, with SACK and RACK, does well. It knows IPv4 and
// TCP, and answers pings. Its timers count nanoseconds.
package netstack
