// Package netstack is a host in this program: gVisor's TCP and IP (pkg/tcpip) on the clock of the
// model. It is a guest whose kernel is a part of this program. So a stack that was not written
// for the fabric runs over it on both clocks, and repeats itself: the same scenario and seed have
// the same event log.
//
// A Stack has the methods of a TUN device: packets of IP are read from it and written to it. It
// also has timers (Deadline, Advance), and programs (Send).
//
// # How it repeats itself
//
// Its timers lie in one list, in the order of their time and of their making, and the caller runs
// them. Its random numbers come from a seed. Segments are handled by its own goroutines, one
// for each processor. The method finish waits for them after each packet, timer and call, so that
// only one of them is in flight. That costs some 10 µs each time.
//
// # Limitations
//
// The stack has no ECN (gvisor.dev/issue/995). Its reno recovers badly from many losses in one
// window, because it does not pace; cubic, with SACK and RACK, does well. It has IPv4 and TCP,
// and answers pings. Its timers count nanoseconds.
package netstack
