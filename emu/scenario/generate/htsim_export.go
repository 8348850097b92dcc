package generate

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/base/errs"
	"fabemu/emu/scenario"
	"fabemu/node/traffic"
	"fabemu/wire/unit"
)

// htsimTree is a scenario as a fat tree of htsim.
type htsimTree struct {
	*scenario.Scenario
	htsimTopology
	levels  [4][]string       // hosts, and switches by tier, in htsim's order
	level   map[string]int    // of a node
	numbers map[string]int    // of hosts
	links   map[[2]string]int // by their ends, the lower first: how many there are
	up      map[string][]string
}

// htsimTreeOf returns a scenario as a fat tree. The error is a *errs.Mistake.
func htsimTreeOf(s *scenario.Scenario) (*htsimTree, error) {
	x := &htsimTree{Scenario: s, level: map[string]int{}, numbers: map[string]int{}, links: map[[2]string]int{}, up: map[string][]string{}}
	for _, step := range []func() error{x.findLevels, x.measure, x.order, x.count} {
		if err := step(); err != nil {
			return nil, errs.Errorf("%s: no fat tree of htsim: %w", s.Name, err)
		}
	}
	return x, nil
}

// findLevels finds the tier of each switch: how far it is from the nearest endpoint.
func (x *htsimTree) findLevels() error {
	next := map[string][]string{}
	for i := range x.Links {
		l := &x.Links[i]
		next[l.A], next[l.B] = append(next[l.A], l.B), append(next[l.B], l.A)
	}
	var queue []string
	for i := range x.Endpoints {
		x.level[x.Endpoints[i].Name] = 0
		queue = append(queue, x.Endpoints[i].Name)
	}
	for k := 0; k < len(queue); k++ {
		for _, to := range next[queue[k]] {
			if _, been := x.level[to]; !been {
				x.level[to] = x.level[queue[k]] + 1
				queue = append(queue, to)
			}
		}
	}
	for i := range x.Switches {
		if name := x.Switches[i].Name; x.level[name] == 0 {
			return fmt.Errorf("switch %s has no path to an endpoint", name)
		}
	}
	highest := 0
	for _, level := range x.level {
		highest = max(highest, level)
	}
	if highest < 2 || highest > 3 {
		return fmt.Errorf("it has %d tiers of switches, and htsim has 2 or 3", highest)
	}
	x.tiers = make([]htsimTier, highest)
	return nil
}

// measure reads the rates and delays of the tiers, which each are the same everywhere.
func (x *htsimTree) measure() error {
	for i := range x.Links {
		l := &x.Links[i]
		low, high := l.A, l.B
		if x.level[low] > x.level[high] {
			low, high = high, low
		}
		if x.level[low]+1 != x.level[high] {
			return fmt.Errorf("link %s joins two switches of tier %d", l.Name, x.level[low]-1)
		}
		t := &x.tiers[x.level[low]]
		if t.rate == 0 {
			t.rate, t.latency = l.Rate, l.Propagation
		}
		switch {
		case t.rate != l.Rate || t.latency != l.Propagation:
			return fmt.Errorf("link %s has %s and %v, and another link of tier %d has %s and %v", l.Name, l.Rate.InBits(), l.Propagation, x.level[low], t.rate.InBits(), t.latency)
		case l.Rate%1e9 != 0 || l.Propagation%unit.Nanosecond != 0:
			return fmt.Errorf("link %s has %s and %v: htsim has whole Gb/s and ns", l.Name, l.Rate.InBits(), l.Propagation)
		}
		if x.links[[2]string{low, high}]++; x.links[[2]string{low, high}] == 1 {
			x.up[low] = append(x.up[low], high)
		}
	}
	known := map[int]bool{}
	for i := range x.Switches {
		w := &x.Switches[i]
		level := x.level[w.Name]
		t := &x.tiers[level-1]
		if !known[level] {
			known[level], t.delay = true, w.ForwardingDelay
		}
		if t.delay != w.ForwardingDelay || t.delay%unit.Nanosecond != 0 {
			return fmt.Errorf("switch %s has a forwarding-delay of %v, and tier %d has %v: htsim has whole ns, the same in a tier", w.Name, w.ForwardingDelay, level-1, t.delay)
		}
	}
	return nil
}

// order puts hosts and switches into htsim's order: by pods, and the switches of a pod by the cores
// that they lead to.
func (x *htsimTree) order() error {
	joined, under := map[string]string{}, map[string][]string{}
	for i := range x.Endpoints {
		name := x.Endpoints[i].Name
		for _, tor := range x.up[name] {
			under[tor] = append(under[tor], name)
			if len(under[tor]) == 1 {
				x.levels[1] = append(x.levels[1], tor)
				for _, agg := range x.up[tor] {
					join(joined, tor, agg)
				}
			}
		}
	}
	pods := map[string]int{}
	for _, tor := range x.levels[1] {
		if _, known := pods[root(joined, tor)]; !known {
			pods[root(joined, tor)] = len(pods)
		}
	}
	pod := func(name string) int { return pods[root(joined, name)] }
	slices.SortStableFunc(x.levels[1], func(a, b string) int { return pod(a) - pod(b) })
	for _, tor := range x.levels[1] {
		for _, host := range under[tor] {
			x.numbers[host] = len(x.levels[0])
			x.levels[0] = append(x.levels[0], host)
		}
	}
	above, places := map[string]string{}, map[string]int{}
	for i := range x.Switches {
		name := x.Switches[i].Name
		if level := x.level[name]; level > 1 {
			x.levels[level] = append(x.levels[level], name)
			slices.Sort(x.up[name])
			above[name] = strings.Join(x.up[name], "\n")
			if _, known := places[above[name]]; !known && level == 2 {
				places[above[name]] = len(places)
			}
		}
	}
	slices.SortStableFunc(x.levels[2], func(a, b string) int { return cmp.Or(pod(a)-pod(b), places[above[a]]-places[above[b]]) })
	x.nodes, x.podSize = len(x.levels[0]), len(x.levels[0])/len(pods)
	if len(x.tiers) == 2 {
		return nil
	}
	if len(x.levels[2])%len(pods) != 0 {
		return fmt.Errorf("%d switches of tier 1 are in %d pods", len(x.levels[2]), len(pods))
	}
	positions, seen := len(x.levels[2])/len(pods), map[string]bool{}
	for k, agg := range x.levels[2] {
		if k/positions != pod(agg) || above[agg] != above[x.levels[2][k%positions]] {
			return fmt.Errorf("switch %s has other switches above it than those of other pods", agg)
		}
		for _, core := range x.up[agg] {
			if k < positions && seen[core] {
				return fmt.Errorf("switch %s is above several switches of a pod", core)
			}
			seen[core] = true
		}
	}
	return nil
}

// count reads how many links the switches of each tier have, which are the same everywhere.
func (x *htsimTree) count() error {
	same := func(what string, all []string, of func(string) int) (int, error) {
		for _, name := range all {
			if of(name) != of(all[0]) {
				return 0, fmt.Errorf("%s has %d %s, and %s has %d", name, of(name), what, all[0], of(all[0]))
			}
		}
		return of(all[0]), nil
	}
	down, up := map[string]int{}, map[string]int{}
	for ends, n := range x.links {
		up[ends[0]] += n
		down[ends[1]] += n
	}
	for k := range x.tiers {
		t, all := &x.tiers[k], x.levels[k+1]
		var err error
		if t.down, err = same("links downwards", all, func(name string) int { return down[name] }); err != nil {
			return err
		}
		if t.up, err = same("links upwards", all, func(name string) int { return up[name] }); err != nil {
			return err
		}
		first := x.levels[k][0]
		t.bundle = x.links[[2]string{first, x.up[first][0]}]
		for _, low := range x.levels[k] {
			for _, high := range x.up[low] {
				if n := x.links[[2]string{low, high}]; n != t.bundle {
					return fmt.Errorf("%s and %s have %d links, and %s and %s have %d", low, high, n, first, x.up[first][0], t.bundle)
				}
			}
		}
	}
	for k := range x.tiers[1:] {
		low, high := &x.tiers[k], &x.tiers[k+1]
		low.over = max(gigabits(low.rate)*low.down/(gigabits(high.rate)*low.up), 1)
	}
	x.tiers[len(x.tiers)-1].over = 1
	if tier, err := x.check(); err != nil {
		return fmt.Errorf("tier %d: %w", tier, err)
	}
	return nil
}

// HTSim returns the topology of a scenario as htsim reads it. A forwarding-delay of 1ns, the least,
// is none. The error is a *errs.Mistake.
func HTSim(s *scenario.Scenario) ([]byte, error) {
	x, err := htsimTreeOf(s)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "Nodes %d\nTiers %d\nPodsize %d\n", x.nodes, len(x.tiers), x.podSize)
	for k, t := range x.tiers {
		fmt.Fprintf(&b, "\nTier %d\nDownlink_speed_Gbps %d\nRadix_Down %d\n", k, gigabits(t.rate), t.down)
		if t.up > 0 {
			fmt.Fprintf(&b, "Radix_Up %d\nOversubscribed %d\n", t.up, t.over)
		}
		if k > 0 {
			fmt.Fprintf(&b, "Bundle %d\n", t.bundle)
		}
		if t.delay == unit.Nanosecond {
			t.delay = 0
		}
		fmt.Fprintf(&b, "Downlink_Latency_ns %d\nSwitch_Latency_ns %d\n", t.latency/unit.Nanosecond, t.delay/unit.Nanosecond)
	}
	return b.Bytes(), nil
}

// HTSimConnections returns the flows of a scenario as connections of htsim, and those that are left
// out: flows other than greedy ones and single transfers of one size, and workloads. Flows f1, f2,
// ... keep their numbers if all have such names. The error is a *errs.Mistake.
func HTSimConnections(s *scenario.Scenario) (text []byte, left []string, err error) {
	x, err := htsimTreeOf(s)
	if err != nil {
		return nil, nil, err
	}
	type connection struct {
		*scenario.Flow
		id   int
		size unit.Size
	}
	var all []connection
	ids := map[int]bool{}
	for i := range s.Flows {
		f := &s.Flows[i]
		c := connection{Flow: f}
		c.id, _ = strconv.Atoi(strings.TrimPrefix(f.Name, "f"))
		switch {
		case f.Traffic == traffic.Greedy && f.Stop == 0:
		case f.Traffic == traffic.Transfers && f.Count <= 1 && f.Rate == 0 && hasOneSize(f):
			sizes := f.Size.Distribution()
			c.size, _ = sizes.Single()
		default:
			left = append(left, fmt.Sprintf("flow %s: htsim has single transfers of one size, and flows without end", f.Name))
			continue
		}
		if c.size > math.MaxInt32 {
			left = append(left, fmt.Sprintf("flow %s: htsim has transfers of at most %d bytes", f.Name, math.MaxInt32))
			continue
		}
		if c.id > 0 && f.Name == fmt.Sprintf("f%d", c.id) {
			ids[c.id] = true
		}
		all = append(all, c)
	}
	for i := range s.Workloads {
		left = append(left, fmt.Sprintf("workload %s: htsim has single transfers", s.Workloads[i].Name))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "Nodes %d\nConnections %d\n", x.nodes, len(all))
	for i, c := range all {
		if len(ids) != len(all) {
			c.id = i + 1
		}
		fmt.Fprintf(&b, "%d->%d id %d start %d size %d\n", x.numbers[c.From], x.numbers[c.To], c.id, c.Start/unit.Picosecond, c.size)
	}
	return b.Bytes(), left, nil
}
