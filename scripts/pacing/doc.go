// Command pacing lets frames of 2068 bytes go out at one each 206.8 us, by
// several means side by side, and says how well each keeps the time:
//
//	fabemu      the line of an endpoint on the wall clock, at dilation 100, over UDP
//	htb         a kernel qdisc on a veth pair between two network namespaces
//	tbf         another one, there; once more with a burst of a single frame
//	time.Sleep  a program that sleeps until each instant, over UDP
//
// Usage, as root, with the ip and tc commands of iproute2:
//
//	go run ./scripts/pacing [ROUNDS [SECONDS]]
//
// The means take turns, ROUNDS times for SECONDS each (default 5 and 1), and the
// rounds are pooled, so that what disturbs the computer for a while does not fall
// on one of them alone. The gaps are those between the kernel's own time stamps at
// the receiver. The first 100 of each round do not count. A frame counts with its
// 14 bytes of Ethernet at the qdiscs, and with its 2068 bytes of InfiniBand on the
// line of fabemu.
//
// The namespaces have names of this process (fabemu-pacing-...) and are removed
// at the end, after an interrupt too. Nothing else of the network is touched.
package main
