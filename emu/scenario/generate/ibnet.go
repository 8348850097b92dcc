package generate

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/base/errs"
	"fabemu/emu/scenario"
)

// The lines of an InfiniBand topology: a node with its identifier and its description, and a port
// with the other end of its link.
var (
	netNode  = regexp.MustCompile(`^(Switch|Ca|Hca|Rt)\s+(\d+)\s+"([^"]+)"(?:\s*#\s*"([^"]*)")?`)
	netPort  = regexp.MustCompile(`^\[(\d+)\](?:\([0-9a-fA-F]+\))?\s+"([^"]+)"\[(\d+)\](.*)$`)
	netSpeed = regexp.MustCompile(`(\d+)x(SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR)\b`)
)

// netRates are data rates of a lane in Gb/s.
var netRates = map[string]float64{"SDR": 2, "DDR": 4, "QDR": 8, "FDR10": 10, "FDR": 13.636, "EDR": 25, "HDR": 50, "NDR": 100}

// netEnd is a port of a node.
type netEnd struct {
	node string
	port int
}

// netLink is a link between two ports.
type netLink struct {
	ends [2]netEnd
	rate string
	at   int // line
}

// net is an InfiniBand topology.
type net struct {
	nodes []string // identifiers, in order
	names map[string]string
	ports map[string]int // 0: a switch; else the ports of a channel adapter
	links []netLink
}

// FromNet returns the scenario for an InfiniBand topology, as ibnetdiscover prints it and ibsim
// reads it. file is the name of the text in messages. Each port of a channel adapter with several
// is an endpoint. The error is a *errs.Mistake.
func FromNet(file string, text []byte) ([]byte, error) {
	x, err := readNet(string(text))
	if err != nil {
		return nil, errs.Errorf("%s:%w", file, err)
	}
	var switches, endpoints, links bytes.Buffer
	var hosts []string
	degree := map[string]int{}
	for _, l := range x.ordered() {
		var names [2]string
		for k, e := range l.ends {
			names[k] = x.names[e.node]
			if x.ports[e.node] == 0 {
				continue
			}
			if x.ports[e.node] > 1 {
				names[k] += "-" + strconv.Itoa(e.port)
			}
			if degree[names[k]]++; degree[names[k]] > 1 {
				return nil, errs.Errorf("%s:%d: port %d of %s has two links", file, l.at, e.port, x.names[e.node])
			}
			hosts = append(hosts, names[k])
		}
		fmt.Fprintf(&links, "  - {between: %s, rate: %s}\n", quote(names[0]+" - "+names[1]), l.rate)
	}
	for _, id := range x.nodes {
		if x.ports[id] == 0 {
			fmt.Fprintf(&switches, "  %s: {}\n", quote(x.names[id]))
			continue
		}
		for _, h := range hosts {
			if rest, ok := strings.CutPrefix(h, x.names[id]); ok && (rest == "" || x.ports[id] > 1 && rest[0] == '-' && strings.Trim(rest[1:], "0123456789") == "") {
				fmt.Fprintf(&endpoints, "  - %s\n", quote(h))
			}
		}
	}
	if len(hosts) < 2 {
		return nil, errs.Errorf("%s: fewer than two channel adapters have links", file)
	}
	return fmt.Appendf(nil, `# The topology of an InfiniBand subnet. Give it flows of your own.
name: subnet
model: {duration: 10ms}
defaults:
  link: {propagation: 10ns, flow-control: credit, buffer: 4 packets}
  flow: {traffic: greedy, packet: 2048B}
switches:
%sendpoints:
%slinks:
%sflows:
  - {name: there, from: %s, to: %s}
`, &switches, &endpoints, &links, quote(hosts[0]), quote(hosts[len(hosts)-1])), nil
}

// readNet reads a topology. An error starts with its line number.
func readNet(text string) (*net, error) {
	x := &net{names: map[string]string{}, ports: map[string]int{}}
	taken, peers := map[string]bool{}, map[netEnd]netEnd{}
	speeds := map[netEnd]string{}
	var all []netLink
	node, n := "", 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if m := netNode.FindStringSubmatch(line); m != nil {
			if node = m[3]; x.names[node] != "" {
				return nil, fmt.Errorf("%d: a second node %q", n, node)
			}
			base := strings.Trim(odd.ReplaceAllString(m[3], "-"), "-")
			if described := strings.Trim(odd.ReplaceAllString(m[4], "-"), "-"); described != "" {
				base = described
			}
			if scenario.CheckName(base) != nil {
				base = "node-" + base
			}
			name := base
			for k := 2; taken[name]; k++ {
				name = fmt.Sprintf("%s-%d", base, k)
			}
			taken[name] = true
			x.nodes, x.names[node] = append(x.nodes, node), name
			if m[1] != "Switch" {
				x.ports[node], _ = strconv.Atoi(m[2])
				x.ports[node] = max(x.ports[node], 1)
			}
			continue
		}
		m := netPort.FindStringSubmatch(line)
		if m == nil {
			continue // comments, GUIDs
		}
		if node == "" {
			return nil, fmt.Errorf("%d: a port without a node", n)
		}
		a, _ := strconv.Atoi(m[1])
		b, _ := strconv.Atoi(m[3])
		from, to := netEnd{node, a}, netEnd{m[2], b}
		if other, twice := peers[from]; twice && other != to {
			return nil, fmt.Errorf("%d: port %d has two links", n, a)
		}
		if s := netSpeed.FindStringSubmatch(m[4]); s != nil {
			width, _ := strconv.Atoi(s[1])
			speeds[from] = strconv.FormatFloat(min(float64(width), 12)*netRates[s[2]], 'f', -1, 64) + "Gb/s"
		}
		if back, known := peers[to]; known && back != from {
			return nil, fmt.Errorf("%d: port %d of %q has another link", n, b, m[2])
		} else if peers[from] = to; !known {
			all = append(all, netLink{ends: [2]netEnd{from, to}, at: n})
		}
	}
	for _, l := range all {
		if x.names[l.ends[1].node] == "" {
			return nil, fmt.Errorf("%d: there is no node %q", l.at, l.ends[1].node)
		}
		if l.rate = speeds[l.ends[0]]; l.rate == "" {
			l.rate = "8Gb/s" // 4x SDR, the default of ibsim
		}
		x.links = append(x.links, l)
	}
	return x, nil
}

// ordered returns the links in an order in which the links of each node follow its ports, if there
// is such an order.
func (x *net) ordered() (all []netLink) {
	at := map[string][]int{} // by switch, its links by port; each port of a channel adapter is an endpoint
	for i, l := range x.links {
		for k := range l.ends {
			if node := l.ends[k].node; x.ports[node] == 0 {
				at[node] = append(at[node], i)
			}
		}
	}
	port := func(node string, i int) int {
		if l := x.links[i]; l.ends[0].node == node {
			return l.ends[0].port
		}
		return x.links[i].ends[1].port
	}
	for node, list := range at {
		slices.SortFunc(list, func(a, b int) int { return port(node, a) - port(node, b) })
	}
	done := make([]bool, len(x.links))
	first := func(e netEnd, i int) bool { // of the links of a switch that are left
		for x.ports[e.node] == 0 && done[at[e.node][0]] {
			at[e.node] = at[e.node][1:]
		}
		return x.ports[e.node] > 0 || at[e.node][0] == i
	}
	for len(all) < len(x.links) {
		before := len(all)
		for i, l := range x.links {
			if !done[i] && first(l.ends[0], i) && first(l.ends[1], i) {
				done[i], all = true, append(all, l)
			}
		}
		if len(all) == before { // the ports of a node cannot be in order
			i := slices.Index(done, false)
			done[i], all = true, append(all, x.links[i])
		}
	}
	return all
}
