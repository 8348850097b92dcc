package generate

import "math"

// values are the values of a template of kinds.tmpl. sharing is the number of flows that share a
// link.
type values map[string]any

func dumbbell(o *Options, _ *scheme) (values, error) {
	n := o.Endpoints
	pairs := n / 2
	return values{"sharing": pairs, "left": names("l", 1, pairs), "right": names("r", 1, n-pairs), "receivers": names("r", 1, pairs)}, nil
}

func incast(o *Options, _ *scheme) (values, error) {
	return values{"sharing": o.Endpoints - 1, "senders": names("s", 1, o.Endpoints-1)}, nil
}

func parkingLot(o *Options, _ *scheme) (values, error) {
	m := o.Endpoints - 1
	return values{"sharing": 4, "chain": m, "others": m - 1, "senders": names("e", 1, m)}, nil
}

func hpl2002(o *Options, s *scheme) (values, error) {
	n := o.Endpoints
	local := (n - 3 + 1) / 2
	remote := n - 3 - local
	held := min(remote, 4) // the link serves packets in the order of arrival
	v := values{
		"sharing": local + remote, "local": local, "remote": remote, "held": held, "queued": local + held,
		"locals": names("B", 1, local), "remotes": names("A", 1, remote),
		"share":  math.Round(100*(float64(local)/float64(local+held)-0.03)) / 100,
		"window": 1, "hint": "The figures 3(a) to (d) have scheme: naive, input or input-output here,",
	}
	return v, nil
}
