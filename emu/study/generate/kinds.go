package generate

import (
	"fmt"
	"math"
)

// values are the values of a template of kinds.tmpl for a number of endpoints. sharing is the number of flows
// that share a link.
type values map[string]any

func dumbbell(n int) values {
	pairs := n / 2
	return values{"sharing": pairs, "left": names("l", 1, pairs), "right": names("r", 1, n-pairs), "receivers": names("r", 1, pairs)}
}

func incast(n int) values { return values{"sharing": n - 1, "senders": names("s", 1, n-1)} }

func parkingLot(n int) values {
	m := n - 1
	return values{"sharing": 4, "switches": m, "others": m - 1, "senders": names("e", 1, m), "chain": numbered(nil, "s", m)}
}

func fatTree(n int) values {
	k := 2
	for k*k*k/4 < n {
		k += 2
	}
	half, edges := k/2, k*k/2
	all := numbered(nil, "core", half*half)
	var links []string
	next := 1
	for p := range k {
		top, leaf := fmt.Sprintf("top%d-", p+1), fmt.Sprintf("leaf%d-", p+1)
		all = numbered(numbered(all, top, half), leaf, half)
		links = append(links, fmt.Sprintf("# pod %d", p+1))
		for i := range half {
			links = append(links, "- "+joined(fmt.Sprint(top, i+1), names("core", i*half+1, (i+1)*half)))
		}
		for i := range half {
			links = append(links, "- "+joined(names(leaf, 1, half), fmt.Sprint(top, i+1)))
		}
		for i := range half {
			at := p*half + i
			if hosts := upTo(n, at+1, edges) - upTo(n, at, edges); hosts > 0 {
				links = append(links, "- "+joined(names("h", next, next+hosts-1), fmt.Sprint(leaf, i+1)))
				next += hosts
			}
		}
	}
	return halves(n, values{"sharing": half, "pods": k, "chain": all, "links": links})
}

func leafSpine(n int) values {
	leaves := 2 // with as many links up as down at each, if n is a square
	for leaves*leaves < n {
		leaves++
	}
	spines := (n + leaves - 1) / leaves
	var links []string
	for i := range leaves {
		leaf := fmt.Sprint("leaf", i+1)
		links = append(links, "- "+joined(leaf, names("spine", 1, spines)))
		if low, high := upTo(n, i, leaves), upTo(n, i+1, leaves); high > low {
			links = append(links, "- "+joined(names("h", low+1, high), leaf))
		}
	}
	all := numbered(numbered(nil, "leaf", leaves), "spine", spines)
	return halves(n, values{"sharing": spines, "leaves": leaves, "chain": all, "links": links})
}

// halves adds the endpoints, and the halves that send to each other.
func halves(n int, v values) values {
	each := n / 2
	v["hosts"], v["near"], v["far"] = names("h", 1, n), names("h", 1, each), names("h", each+1, 2*each)
	return v
}

// upTo returns how many of n endpoints the first leaves have. of is the number of all leaves, and each has the
// same number of endpoints, or one more or less.
func upTo(n, leaves, of int) int { return (n*leaves + of - 1) / of }

func hpl2002(n int) values {
	local := (n - 3 + 1) / 2
	remote := n - 3 - local
	held := min(remote, 4) // the link serves packets in the order of arrival
	return values{
		"sharing": local + remote, "local": local, "remote": remote, "held": held, "queued": local + held,
		"locals": names("B", 1, local), "remotes": names("A", 1, remote),
		"share": math.Round(100*(float64(local)/float64(local+held)-0.03)) / 100,
	}
}
