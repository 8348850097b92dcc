package generate

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"fabemu/emu/base/errs"
	"fabemu/wire/unit"
)

// mostHosts is how many hosts a topology of htsim may have: the longest range of names.
const mostHosts = 1 << 16

// htsimTier is a tier of switches in htsim: 0 has the hosts. Links are those downwards.
type htsimTier struct {
	line     int // in the file; 0: the file does not have the tier
	rate     unit.Rate
	up, down int // links of a switch
	bundle   int // links between two switches
	over     int // capacity downwards over capacity upwards
	latency  unit.Duration
	delay    unit.Duration // of a switch
	given    map[string]bool
}

// htsimTopology is a fat tree of htsim, with two or three tiers.
type htsimTopology struct {
	nodes, podSize int
	tiers          []htsimTier
}

// pods, tors, aggs and cores are how many there are.
func (x *htsimTopology) pods() int { return x.nodes / x.podSize }
func (x *htsimTopology) tors() int { return x.nodes / x.tiers[0].down }
func (x *htsimTopology) aggs() int { return x.tors() * x.tiers[0].up / x.tiers[1].down }
func (x *htsimTopology) cores() int {
	if len(x.tiers) < 3 {
		return 0
	}
	return x.aggs() * x.tiers[1].up / x.tiers[2].down
}

// FromHTSim returns the scenario for a fat tree of htsim, and for its connections if there are any
// (connectionFile is then not empty). Host 3 is h3, and switches are tor0, agg0 and core0, with
// htsim's numbers. All links have PFC, and connections are transfers over RoCEv2. The error is a
// *errs.Mistake.
func FromHTSim(file string, text []byte, connectionFile string, connections []byte) (out Imported, err error) {
	if err := cmp.Or(checkSize(file, text), checkSize(connectionFile, connections)); err != nil {
		return out, err
	}
	x, err := readHTSim(file, text, &out)
	if err != nil {
		return out, err
	}
	flows, end := fmt.Sprintf("  - {name: f1, from: h0, to: h%d, priority: 3, size: 1MB}\n", x.nodes-1), 10*unit.Millisecond
	if connectionFile != "" {
		if flows, end, err = htsimFlows(connectionFile, connections, x, &out); err != nil {
			return out, err
		}
	}
	longest := 0.0
	var switches bytes.Buffer
	for k, name := range []string{"tor", "agg", "core"}[:len(x.tiers)] {
		t := &x.tiers[k]
		fmt.Fprintf(&switches, "  %q: {forwarding-delay: %v}\n", htsimRange(name, 0, []int{x.tors(), x.aggs(), x.cores()}[k]), max(t.delay, unit.Nanosecond))
		longest = max(longest, t.latency.Seconds()*float64(t.rate)/8)
	}
	out.Scenario = fmt.Appendf(nil, `# A fat tree of htsim. Give its flows an algorithm: generate --scheme has some.
%sname: htsim
model: {duration: %v}
routing: ecmp
defaults:
  link: {flow-control: pfc}
  switch: {kind: output-queued, memory: %dKB per port}
  flow: {packet: 4096B, traffic: transfers, transport: rocev2}
switches:
%sendpoints: [%q]
links:
%sflows:
%s`, out.comments(), end, memoryFor(longest), &switches, htsimRange("h", 0, x.nodes), x.links(), flows)
	return out, nil
}

// gigabits is a rate in Gb/s.
func gigabits(r unit.Rate) int { return int(r / 1e9) }

// memoryFor returns the kilobytes of memory for each port of a switch whose longest link holds so
// many bytes: frames in flight there and back, of two priorities.
func memoryFor(longest float64) int { return 300 + 100*int(math.Ceil(4*longest/100e3)) }

// htsimRange is so many nodes from a number on.
func htsimRange(name string, from, count int) string {
	return fmt.Sprintf("%s[%d-%d]", name, from, from+count-1)
}

// links writes the links as a scenario has them.
func (x *htsimTopology) links() string {
	var b strings.Builder
	add := func(tier int, own, between string) {
		t := &x.tiers[tier]
		fmt.Fprintf(&b, "  - {%sbetween: %q, rate: %s, propagation: %v}\n", own, between, t.rate.InBits(), t.latency)
	}
	single := func(tier int, low, high string) {
		for k := range x.tiers[tier].bundle {
			own := ""
			if x.tiers[tier].bundle > 1 {
				own = fmt.Sprintf("name: %s-%s-%d, ", low, high, k+1)
			}
			add(tier, own, low+" - "+high)
		}
	}
	add(0, "", htsimRange("h", 0, x.nodes)+" - "+htsimRange("tor", 0, x.tors()))
	tors, aggs := x.tors()/x.pods(), x.aggs()/x.pods()
	for pod := range x.pods() {
		if x.tiers[1].bundle == 1 {
			add(1, "", htsimRange("tor", pod*tors, tors)+" x "+htsimRange("agg", pod*aggs, aggs))
			continue
		}
		for tor := range tors {
			for agg := range aggs {
				single(1, fmt.Sprintf("tor%d", pod*tors+tor), fmt.Sprintf("agg%d", pod*aggs+agg))
			}
		}
	}
	for agg := range x.aggs() * (len(x.tiers) - 2) {
		for core := agg % aggs; core < x.cores(); core += aggs {
			single(2, fmt.Sprintf("agg%d", agg), fmt.Sprintf("core%d", core))
		}
	}
	return b.String()
}

// readHTSim reads a topology.
func readHTSim(file string, text []byte, out *Imported) (*htsimTopology, error) {
	x, tiers := &htsimTopology{}, [3]htsimTier{}
	count, tier, last := 0, (*htsimTier)(nil), 0
	header := map[string]*int{"nodes": &x.nodes, "podsize": &x.podSize, "tiers": &count}
	for line, words := range wordsOf(text) {
		wrong := func(format string, args ...any) error {
			return errs.Errorf("%s:%d: %s", file, line, fmt.Sprintf(format, args...))
		}
		last = line
		key := strings.ToLower(words[0])
		number := func(low, high int) (int, error) {
			if len(words) < 2 {
				return 0, wrong("%s has no value", words[0])
			}
			n, err := strconv.Atoi(words[1])
			if err != nil || n < low || n > high {
				return 0, wrong("%s %.40s: a whole number from %d to %d is expected", words[0], words[1], low, high)
			}
			return n, nil
		}
		var err error
		switch {
		case key == "tier":
			var n int
			if n, err = number(0, 2); err != nil {
				return nil, err
			}
			if tier = &tiers[n]; tier.line > 0 {
				return nil, wrong("tier %d has begun in line %d", n, tier.line)
			}
			*tier = htsimTier{line: line, bundle: 1, over: 1, given: map[string]bool{}}
		case tier == nil:
			at := header[key]
			if at == nil {
				out.Left = append(out.Left, fmt.Sprintf("%s:%d: %.40s: htsim does not read it", file, line, words[0]))
				continue
			}
			*at, err = number(1, mostHosts)
		case tier.given[key]:
			err = wrong("the tier has a second %s", words[0])
		default:
			tier.given[key] = true
			err = tier.read(key, number, func(why string) {
				out.Left = append(out.Left, fmt.Sprintf("%s:%d: %.40s: %s", file, line, words[0], why))
			})
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case last == 0:
		return nil, errs.Errorf("%s: the file is empty", file)
	case x.nodes == 0 || x.podSize == 0 || count == 0:
		return nil, errs.Errorf("%s: Nodes, Tiers and Podsize are needed before the first tier", file)
	case count < 2 || count > 3:
		return nil, errs.Errorf("%s: Tiers %d: htsim has fat trees with 2 or 3 tiers", file, count)
	}
	x.tiers = tiers[:count]
	for k := range x.tiers {
		t := &x.tiers[k]
		if t.line == 0 {
			return nil, errs.Errorf("%s: tier %d is missing", file, k)
		}
		if t.rate == 0 || t.latency == 0 || t.down == 0 || t.up == 0 && k+1 < count {
			return nil, errs.Errorf("%s:%d: tier %d needs Downlink_speed_Gbps, Downlink_Latency_ns, Radix_Down and, below the top, Radix_Up", file, t.line, k)
		}
	}
	for k := count; k < 3; k++ {
		if tiers[k].line > 0 {
			out.Left = append(out.Left, fmt.Sprintf("%s:%d: tier %d: the file has Tiers %d", file, tiers[k].line, k, count))
		}
	}
	if tier, err := x.check(); err != nil {
		return nil, errs.Errorf("%s:%d: %w", file, x.tiers[tier].line, err)
	}
	return x, nil
}

// read reads a field of a tier.
func (t *htsimTier) read(key string, number func(low, high int) (int, error), leave func(why string)) (err error) {
	var n int
	switch key {
	case "downlink_speed_gbps":
		n, err = number(1, 100_000)
		t.rate = unit.Rate(n) * 1e9
	case "downlink_latency_ns":
		n, err = number(1, 1_000_000_000)
		t.latency = unit.Duration(n) * unit.Nanosecond
	case "switch_latency_ns":
		n, err = number(0, 1_000_000_000)
		t.delay = unit.Duration(n) * unit.Nanosecond
	case "radix_up":
		t.up, err = number(1, mostHosts)
	case "radix_down":
		t.down, err = number(1, mostHosts)
	case "bundle":
		t.bundle, err = number(1, mostHosts)
	case "oversubscribed":
		t.over, err = number(1, mostHosts)
	case "queue_up", "queue_down":
		leave("with PFC, a queue ends where the memory does: see memory and headroom")
	default:
		leave("htsim does not read it")
	}
	return err
}

// check refuses what htsim refuses: numbers of which no fat tree can be made. It returns the tier
// that is wrong.
func (x *htsimTopology) check() (tier int, err error) {
	t := x.tiers
	pods := x.pods()
	switch {
	case x.nodes%x.podSize != 0:
		return 0, fmt.Errorf("%d nodes are no whole number of pods of %d", x.nodes, x.podSize)
	case len(t) == 2 && pods > 1:
		return 0, fmt.Errorf("with two tiers all nodes are one pod: Podsize %d", x.nodes)
	case x.podSize%t[0].down != 0:
		return 0, fmt.Errorf("a pod of %d nodes is no whole number of switches with Radix_Down %d", x.podSize, t[0].down)
	case t[0].bundle != 1:
		return 0, fmt.Errorf("a Bundle of %d: hosts have one link", t[0].bundle)
	case t[0].down/t[0].up != t[0].over:
		return 0, fmt.Errorf("Radix_Down %d and Radix_Up %d are not Oversubscribed %d", t[0].down, t[0].up, t[0].over)
	}
	for k := range t[1:] {
		low, high := &t[k], &t[k+1]
		if down, up := gigabits(low.rate)*low.down, gigabits(high.rate)*low.up*low.over; down != up {
			return k, fmt.Errorf("%d links of %s downwards and %d of %s upwards are not Oversubscribed %d",
				low.down, low.rate.InBits(), low.up, high.rate.InBits(), low.over)
		}
		if low.up%high.bundle != 0 || high.down%high.bundle != 0 {
			return k + 1, fmt.Errorf("a Bundle of %d does not divide Radix_Down %d, and Radix_Up %d of tier %d", high.bundle, high.down, low.up, k)
		}
	}
	if tors := x.podSize / t[0].down; tors*t[1].bundle != t[1].down {
		return 1, fmt.Errorf("Radix_Down %d: a pod has %d switches of tier 0, with Bundle %d links to each", t[1].down, tors, t[1].bundle)
	}
	if len(t) == 3 && t[2].down != pods*t[2].bundle {
		return 2, fmt.Errorf("Radix_Down %d: there are %d pods, with Bundle %d links to each", t[2].down, pods, t[2].bundle)
	}
	if links := x.tors()*t[0].up + x.aggs()*t[1].up*(len(t)-2); links > mostListed {
		return 0, fmt.Errorf("%d links between switches are too many: at most %d are possible", links, mostListed)
	}
	return 0, nil
}
