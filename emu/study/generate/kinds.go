package generate

import (
	"fmt"
	"math"
)

func dumbbell(f *file) {
	pairs := f.n / 2
	left, right := names("l", 1, pairs), names("r", 1, f.n-pairs)
	to := names("r", 1, pairs)
	f.line("description: %d senders on the left, as many receivers on the right, and one trunk for all.", pairs)
	f.model(pairs)
	f.defaults()
	f.line("switches: {left: {}, right: {}}")
	f.line("endpoints: [%s, %s]", left, right)
	f.line("links:")
	f.line("  - %s", joined(left, "left"))
	f.line("  - {name: trunk, between: left - right}")
	f.line("  - %s", joined(right, "right"))
	f.line("flows:")
	f.line("  - {name: pairs, from: %s, to: %s} # l1 to r1, l2 to r2 and so on", left, to)
	f.line("expect:")
	f.check("full", "the trunk is full", "trunk.left-right.utilisation", 0.98, 1)
	f.check("fair", "all senders get the same", "pairs.fairness", 0.98, 1)
}

func incast(f *file) {
	senders := names("s", 1, f.n-1)
	f.line("description: %d senders meet at one receiver.", f.n-1)
	f.model(f.n - 1)
	f.defaults()
	f.line("switches: {S: {}}")
	f.line("endpoints: [%s, sink]", senders)
	f.line("links:")
	f.line("  - %s", joined(senders, "S"))
	f.line("  - {name: exit, between: S - sink}")
	f.line("flows:")
	f.line("  - {name: incast, from: %s, to: sink}", senders)
	f.line("expect:")
	f.check("full", "the link to the receiver is full", "exit.S-sink.utilisation", 0.98, 1)
	f.check("fair", "all senders get the same", "incast.fairness", 0.98, 1)
}

func parkingLot(f *file) {
	m := f.n - 1
	senders := names("e", 1, m)
	f.line("description: A chain of %d switches with a sender at each; who is nearest to the exit gets most.", m)
	f.model(4)
	f.defaults()
	var chain []string
	for i := range m {
		chain = append(chain, fmt.Sprintf("s%d", i+1))
	}
	f.switches(chain)
	f.line("endpoints: [%s, sink]", senders)
	f.line("links:")
	f.line("  - %s", joined(senders, names("s", 1, m)))
	if m > 1 {
		f.line("  - %s # s1 to s2, s2 to s3 and so on", joined(names("s", 1, m-1), names("s", 2, m)))
	}
	f.line("  - {name: exit, between: s%d - sink}", m)
	f.line("flows:")
	if m > 1 {
		f.line("  - {name: far, from: %s, to: sink}", names("e", 1, m-1))
	}
	f.line("  - {name: near, from: e%d, to: sink}", m)
	f.line("expect:")
	f.check("full", "the exit is full", fmt.Sprintf("exit.s%d-sink.utilisation", m), 0.98, 1)
	if m > 1 {
		f.check("half", "the nearest sender gets as much as all others together", "near.rate / far.rate", 0.95, 1.05)
	}
}

func fatTree(f *file) {
	k := 2
	for k*k*k/4 < f.n {
		k += 2
	}
	half, edges := k/2, k*k/2
	each := f.n / 2
	f.line("description: A fat tree of %d pods with %d endpoints, each of which sends to one in another half of the tree.", k, f.n)
	f.model(half)
	f.line("routing: ecmp # flows are spread over all shortest paths by a hash")
	f.defaults()
	var all []string
	for i := range half * half {
		all = append(all, fmt.Sprintf("core%d", i+1))
	}
	for p := range k {
		for i := range half {
			all = append(all, fmt.Sprintf("top%d-%d", p+1, i+1))
		}
		for i := range half {
			all = append(all, fmt.Sprintf("leaf%d-%d", p+1, i+1))
		}
	}
	f.switches(all)
	f.line("endpoints: [%s]", names("h", 1, f.n))
	f.line("links:")
	next := 1
	for p := range k {
		f.line("  # pod %d", p+1)
		for i := range half {
			f.line("  - %s", joined(fmt.Sprintf("top%d-%d", p+1, i+1), names("core", i*half+1, (i+1)*half)))
		}
		for i := range half {
			f.line("  - %s", joined(names(fmt.Sprintf("leaf%d-", p+1), 1, half), fmt.Sprintf("top%d-%d", p+1, i+1)))
		}
		for i := range half {
			leaf := p*half + i
			hosts := upTo(f.n, leaf+1, edges) - upTo(f.n, leaf, edges)
			if hosts == 0 {
				continue
			}
			f.line("  - %s", joined(names("h", next, next+hosts-1), fmt.Sprintf("leaf%d-%d", p+1, i+1)))
			next += hosts
		}
	}
	f.line("flows:")
	f.line("  - {name: there, from: %s, to: %s}", names("h", 1, each), names("h", each+1, 2*each))
	f.line("  - {name: back, from: %s, to: %s}", names("h", each+1, 2*each), names("h", 1, each))
	f.spread()
}

// spread writes what holds where each endpoint sends to one, and the hash puts several
// flows on some links and none on others.
func (f *file) spread() {
	f.line("expect:")
	f.line("  # A flow has its link to itself, or shares others with some; on the average there are")
	f.line("  # as many links as flows at each stage.")
	f.check("share", "the flows have a good part of their links", "there.utilisation", 0.3, 1)
	f.check("fair", "what the hash leaves is not the same for all", "there.fairness", 0.5, 1)
}

func leafSpine(f *file) {
	leaves := 2 // with as many links up as down at each, if n is a square
	for leaves*leaves < f.n {
		leaves++
	}
	spines := (f.n + leaves - 1) / leaves
	each := f.n / 2
	f.line("description: %d leaves, each with a link to each of %d spines, and %d endpoints, each of which sends to one in the other half.",
		leaves, spines, f.n)
	f.model(spines)
	f.line("routing: ecmp # flows are spread over all shortest paths by a hash")
	f.defaults()
	var all []string
	for i := range leaves {
		all = append(all, fmt.Sprintf("leaf%d", i+1))
	}
	for i := range spines {
		all = append(all, fmt.Sprintf("spine%d", i+1))
	}
	f.switches(all)
	f.line("endpoints: [%s]", names("h", 1, f.n))
	f.line("links:")
	for i := range leaves {
		f.line("  - %s", joined(fmt.Sprintf("leaf%d", i+1), names("spine", 1, spines)))
		if low, high := upTo(f.n, i, leaves), upTo(f.n, i+1, leaves); high > low {
			f.line("  - %s", joined(names("h", low+1, high), fmt.Sprintf("leaf%d", i+1)))
		}
	}
	f.line("flows:")
	f.line("  - {name: there, from: %s, to: %s}", names("h", 1, each), names("h", each+1, 2*each))
	f.line("  - {name: back, from: %s, to: %s}", names("h", each+1, 2*each), names("h", 1, each))
	f.spread()
}

// upTo returns how many of n endpoints the first leaves of so many have, when all
// have the same, or one more or less.
func upTo(n, leaves, of int) int { return (n*leaves + of - 1) / of }

func hpl2002(f *file) {
	local := (f.n - 3 + 1) / 2
	remote := f.n - 3 - local
	locals, remotes := names("B", 1, local), names("A", 1, remote)
	f.line("source: HPL-2002-224, Fig. 1 and Table I")
	f.line("description: %d local and %d remote senders overload one link; a victim shares only the way to it.",
		local, remote)
	f.model(local + remote)
	f.line("defaults:")
	f.line("  link: {rate: %v, buffer: 4 packets}", f.rate)
	f.line("  # The figures 3(a) to (d) have scheme: naive, input or input-output here,")
	f.line("  switch: {marking: {scheme: none}}")
	f.line("  # and law: lipd here.")
	f.line("  flow: {packet: 2048B, window: 1, control: {law: fixed}}")
	f.line("switches: {A: {}, B: {}}")
	f.line("endpoints: [%s, AV, %s, BC, BV]", remotes, locals)
	f.line("links:")
	f.line("  - %s", joined(remotes, "A"))
	f.line("  - AV - A")
	f.line("  - %s", joined(locals, "B"))
	f.line("  - {name: trunk, between: A - B}")
	f.line("  - {name: root, between: B - BC}")
	f.line("  - B - BV")
	f.line("flows:")
	f.line("  - {name: local, from: %s, to: BC}", locals)
	f.line("  - {name: remote, from: %s, to: BC}", remotes)
	f.line("  - {name: victim, from: AV, to: BV}")
	held := min(remote, 4)
	f.line("expect:")
	f.check("root", `"the link to destination B_C is oversubscribed"`, "root.B-BC.utilisation", 0.98, 1)
	// The link serves packets in the order of arrival.
	f.line("  # With a packet of each local flow no more than %d of the others wait, which is", held)
	f.line("  # what the buffer at the end of the trunk holds: at least %d of %d are local.", local, local+held)
	f.check("local", "the local flows take at least their part of the order of arrival", "local.utilisation",
		round(float64(local)/float64(local+held)-0.03), 1)
}

// round cuts a number to two digits after the point.
func round(v float64) float64 { return math.Round(100*v) / 100 }
