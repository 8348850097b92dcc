package generate

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"fabemu/wire"
)

// clos has the numbers of the nodes of a Clos network of two or three stages.
type clos struct {
	pods, leaves, perLeaf int // leaves of a pod, endpoints of a leaf
	tops, cores           int // switches above the leaves of a pod, and above each of these
}

// upwards returns how many links a switch of a tier has upwards, if so many lead down from it.
func (o *Options) upwards(tier, down int) (int, error) {
	over := o.Oversubscription[tier]
	capacity := float64(down) * float64(o.Rates[tier]) / float64(o.Rates[tier+1])
	want := capacity / over
	n := math.Round(want)
	if n >= 1 && math.Abs(want-n) < 1e-6*n {
		return int(n), nil
	}
	low := max(1, math.Floor(want))
	return 0, fmt.Errorf("%d links of %v downwards and an oversubscription of %v need %.3g links of %v upwards: "+
		"%v would be an oversubscription of %.4g, and %v one of %.4g",
		down, o.Rates[tier], over, want, o.Rates[tier+1], low, capacity/low, low+1, capacity/(low+1))
}

// user is a switch and the number of its links, with the flags that make them fewer.
type user struct {
	name  string
	links int
	flags string
}

// fits refuses switches with more links than ports, and more nodes than a subnet can have.
func (o *Options) fits(switches int, users ...user) error {
	for _, u := range users {
		if o.Ports > 0 && u.links > o.Ports {
			return fmt.Errorf("a %s has %d links, and --k %d gives a switch %d ports: give a larger --k, or less of %s",
				u.name, u.links, o.Ports, o.Ports, u.flags)
		}
	}
	if o.Endpoints > MaxEndpoints {
		return fmt.Errorf("%d endpoints are too many: at most %d are possible", o.Endpoints, MaxEndpoints)
	}
	if switches+o.Endpoints > int(wire.MaxLID) {
		return fmt.Errorf("%d switches and %d endpoints are more than the %d addresses (LIDs) of a subnet: make it smaller",
			switches, o.Endpoints, wire.MaxLID)
	}
	return nil
}

func leafSpine(o *Options, s *scheme) (values, error) {
	// Each leaf has as many links up as down, if the number of endpoints is a square.
	c := clos{leaves: 2, perLeaf: o.Ports / 2}
	for c.leaves*c.leaves < o.Endpoints {
		c.leaves++
	}
	c.leaves = cmp.Or(o.Leaves, o.Ports, c.leaves)
	if o.dimension() == "" {
		c.perLeaf = (o.Endpoints + c.leaves - 1) / c.leaves
	} else {
		c.perLeaf = cmp.Or(o.PerLeaf, c.perLeaf, 4)
		o.Endpoints = c.leaves * c.perLeaf
	}
	var err error
	if c.tops, err = o.upwards(0, c.perLeaf); err != nil {
		return nil, err
	}
	if err = o.fits(c.leaves+c.tops, user{"leaf", c.perLeaf + c.tops, "--hosts-per-leaf"},
		user{"spine", c.leaves, "--leaves"}); err != nil {
		return nil, err
	}
	leaves, spines := names("leaf", 1, c.leaves), names("spine", 1, c.tops)
	links := spread(o.Endpoints, c.leaves, func(h, l [2]int) string {
		return o.link(s, 0, joined(names("h", h[0], h[1]), names("leaf", l[0], l[1])))
	})
	links = append(links, o.link(s, 1, meshed(leaves, spines)))
	return o.halves(values{"sharing": c.perLeaf, "leaves": c.leaves, "spines": c.tops,
		"switches": []string{leaves, spines}, "links": links}, o.Endpoints), nil
}

func fatTree(o *Options, s *scheme) (values, error) {
	k := cmp.Or(o.Ports, 2)
	if o.dimension() != "" {
		k = cmp.Or(o.Ports, 4)
	}
	for k*k*k/4 < o.Endpoints {
		k += 2
	}
	c := clos{pods: cmp.Or(o.Pods, k), leaves: cmp.Or(o.Leaves, k/2), perLeaf: cmp.Or(o.PerLeaf, k/2)}
	if o.dimension() != "" {
		o.Endpoints = c.pods * c.leaves * c.perLeaf
	}
	var err error
	if c.tops, err = o.upwards(0, c.perLeaf); err != nil {
		return nil, fmt.Errorf("the leaves: %w", err)
	}
	if c.cores, err = o.upwards(1, c.leaves); err != nil {
		return nil, fmt.Errorf("the switches above the leaves: %w", err)
	}
	if err = o.fits(c.pods*(c.leaves+c.tops)+c.tops*c.cores, user{"leaf", c.perLeaf + c.tops, "--hosts-per-leaf"},
		user{"switch above the leaves", c.leaves + c.cores, "--leaves"}, user{"core", c.pods, "--pods"}); err != nil {
		return nil, err
	}
	switches := []string{names("leaf", 1, c.pods*c.leaves)}
	links := spread(o.Endpoints, c.pods*c.leaves, func(h, l [2]int) string {
		return o.link(s, 0, joined(names("h", h[0], h[1]), names("leaf", l[0], l[1])))
	})
	links = append(links, "# in the pods")
	for p := range c.pods {
		tops := names(fmt.Sprintf("top%d-", p+1), 1, c.tops)
		links = append(links, o.link(s, 1, meshed(names("leaf", p*c.leaves+1, (p+1)*c.leaves), tops)))
	}
	links = append(links, "# between the pods")
	for t := range c.tops {
		tops := names("top", 1, c.pods, fmt.Sprintf("-%d", t+1))
		switches = append(switches, tops)
		links = append(links, o.link(s, 2, meshed(tops, names("core", t*c.cores+1, (t+1)*c.cores))))
	}
	switches = append(switches, names("core", 1, c.tops*c.cores))
	v := values{"sharing": c.perLeaf, "pods": c.pods, "switches": switches, "links": links}
	return o.halves(v, o.Endpoints), nil
}

func railOptimised(o *Options, s *scheme) (values, error) {
	rails := cmp.Or(o.Rails, 8)
	hosts := o.Endpoints / rails
	c := clos{pods: cmp.Or(o.Pods, 2)}
	if o.dimension() == "" {
		c.perLeaf = (hosts + c.pods - 1) / c.pods
	} else {
		c.perLeaf = cmp.Or(o.PerLeaf, o.Ports/2, 2)
		hosts = c.pods * c.perLeaf
		o.Endpoints = hosts * rails
	}
	if hosts*rails != o.Endpoints || hosts < 2 {
		return nil, fmt.Errorf("%d endpoints are not a whole number of hosts, at least two, with %d links each: %d would be",
			o.Endpoints, rails, max(2, hosts+1)*rails)
	}
	var err error
	if c.tops, err = o.upwards(0, c.perLeaf); err != nil {
		return nil, err
	}
	if err = o.fits(rails*c.pods+c.tops, user{"leaf", c.perLeaf + c.tops, "--hosts-per-leaf"},
		user{"spine", rails * c.pods, "--rails or --pods"}); err != nil {
		return nil, err
	}
	spines := names("spine", 1, c.tops)
	var endpoints, switches, links, lines []string
	for r := range rails {
		rail, line := fmt.Sprintf("rail%d-", r+1), fmt.Sprintf("-r%d", r+1)
		endpoints = append(endpoints, names("h", 1, hosts, line))
		links = append(links, spread(hosts, c.pods, func(h, l [2]int) string {
			return o.link(s, 0, joined(names("h", h[0], h[1], line), names(rail, l[0], l[1])))
		})...)
		lines = append(lines, line)
	}
	for p := range c.pods {
		leaves := names("rail", 1, rails, fmt.Sprintf("-%d", p+1))
		switches = append(switches, leaves)
		links = append(links, o.link(s, 1, meshed(leaves, spines)))
	}
	return o.halves(values{"sharing": c.perLeaf, "rails": rails, "hosts": hosts, "pods": c.pods, "spines": c.tops,
		"members": endpoints, "switches": append(switches, spines), "links": links, "lines": lines}, hosts), nil
}

// spread writes the links of n endpoints to so many leaves. Each has the same number, or one more
// or less, and leaves in a row with the same number have a line together.
func spread(n, leaves int, line func(hosts, leaves [2]int) string) (lines []string) {
	upTo := func(leaf int) int { return (n*leaf + leaves - 1) / leaves }
	for at := 0; at < leaves; {
		end := at + 1
		for end < leaves && upTo(end+1)-upTo(end) == upTo(at+1)-upTo(at) {
			end++
		}
		if upTo(end) > upTo(at) {
			lines = append(lines, line([2]int{upTo(at) + 1, upTo(end)}, [2]int{at + 1, end}))
		}
		at = end
	}
	return lines
}

// halves adds the two halves of the hosts, which send to each other, and how much of their links
// they get at least.
func (o *Options) halves(v values, hosts int) values {
	v["half"], v["next"], v["last"] = hosts/2, hosts/2+1, hosts/2*2
	if v["members"] == nil {
		v["members"] = []string{names("h", 1, hosts)}
	}
	over := 1.0
	for _, x := range o.Oversubscription {
		over *= x
	}
	v["over"], v["share"] = over, math.Round(1000*0.3/over)/1000
	return v
}

// meshed returns links from each to each: "leaf[1-4] x spine[1-2]".
func meshed(a, b string) string { return strings.Replace(joined(a, b), " - ", " x ", 1) }
