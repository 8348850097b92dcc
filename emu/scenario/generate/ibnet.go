package generate

import (
	"bytes"
	"cmp"
	"container/heap"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/base/errs"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// The lines of an InfiniBand topology: a node with its identifier and its description, a port with
// the other end of its link, and the defaults of ibsim. Behind a port are the width and the speed
// of its link, or the options of ibsim.
var (
	netNode   = regexp.MustCompile(`^(Switch|Ca|Hca|Rt)\s+(\d+)\s+"([^"]+)"(?:\s*#\s*"([^"]*)")?`)
	netPort   = regexp.MustCompile(`^\[(\d+)\](?:\([0-9a-fA-F]+\))?\s+"([^"]+)"\s*\[(\d+)\](.*)$`)
	netUsual  = regexp.MustCompile(`^(width|speed|extspeed)\s*=\s*(\S+)`)
	netSpeed  = regexp.MustCompile(`\b(\d+)x([A-Za-z][A-Za-z0-9]*)`)
	netOption = regexp.MustCompile(`\b([wse])=(\w+)`)
	netList   = regexp.MustCompile(`^(CA|SW|RT)\s+\d+\s+\d+\s+0x[0-9a-f]+ `)
	netSHARP  = regexp.MustCompile(`(?i)aggregation node`)
)

// LaneRates are the data rates of one lane, by the names of speeds.
func LaneRates() map[string]unit.Rate {
	return map[string]unit.Rate{"SDR": 2e9, "DDR": 4e9, "QDR": 8e9, "FDR10": 10e9, "FDR": 13_636_363_636, "EDR": 25e9,
		"HDR": 50e9, "NDR": 100e9, "XDR": 200e9}
}

// netWidths are the lanes of a link, and netSpeeds and netExtended its speeds, by the bits of the
// options of ibsim, which are those of PortInfo.
var (
	netWidths   = []int{1, 4, 8, 12, 2}
	netSpeeds   = []string{"SDR", "DDR", "QDR"}
	netExtended = []string{"FDR", "EDR", "HDR", "NDR"}
)

// usualSpeed is the rate of a link without a speed: ibsim's default.
const (
	usualSpeed     = unit.Rate(8e9)
	usualSpeedWord = "4xSDR"
)

// usualForwarding is the forwarding delay of a switch whose scenario states none.
const usualForwarding = 40 * unit.Nanosecond

// netEnd is a port of a node.
type netEnd struct {
	node string
	port int
}

// netSide is what a file says of one end of a link.
type netSide struct {
	line    int
	rate    unit.Rate // of the link; 0: the line does not state it
	unknown string    // a width and speed that are none
	options [3]int    // w, s and e of ibsim
	given   [3]bool   // of the options, or of the defaults in the file
}

// netLink is a link between two ports.
type netLink struct {
	ends [2]netEnd
	rate unit.Rate
	at   int // line
}

// netPlace is a node of the file.
type netPlace struct {
	id, description string
	isSwitch        bool
	ports           int
	name            string // of a switch; of an adapter, what the names of its ports begin with
}

// net is an InfiniBand topology.
type net struct {
	Imported
	file  string
	nodes []*netPlace // in order
	byID  map[string]*netPlace
	links []netLink
}

// FromNet returns the scenario for an InfiniBand topology, as ibnetdiscover prints it and ibsim
// reads it. file is the name of the text in messages. Each linked port of a channel adapter with
// several is an endpoint. Links that join the same switches have names with the number of the port
// at the one whose name comes first: A-p33. Switches wait for the header of a packet on their
// slowest link. The error is a *errs.Mistake.
func FromNet(file string, text []byte) (Imported, error) {
	if err := checkSize(file, text); err != nil {
		return Imported{}, err
	}
	x := &net{file: file, byID: map[string]*netPlace{}}
	if err := x.read(string(text)); err != nil {
		return Imported{}, err
	}
	err := x.write()
	return x.Imported, err
}

// write writes the scenario.
func (x *net) write() error {
	names, ends, hosts := namer{}, map[netEnd]string{}, map[string][]string{}
	linked := map[string][]netEnd{}
	for _, l := range x.links {
		for _, e := range l.ends {
			linked[e.node] = append(linked[e.node], e)
		}
	}
	for _, n := range x.nodes {
		if n.isSwitch && linked[n.id] != nil {
			n.name = names.name(cmp.Or(n.description, n.id), "")
		}
	}
	ordered := x.ordered()
	for _, n := range x.nodes {
		for _, e := range linked[n.id] {
			suffix := ""
			if n.ports > 1 {
				suffix = "-" + strconv.Itoa(e.port)
			}
			if !n.isSwitch {
				ends[e] = names.name(cmp.Or(n.description, n.id), suffix)
				hosts[n.id] = append(hosts[n.id], ends[e])
			}
		}
	}
	var switches, endpoints, links bytes.Buffer
	slow, together, joined := map[string]unit.Rate{}, map[[2]string]int{}, map[string]string{}
	pair := func(l netLink) [2]string {
		return [2]string{min(l.ends[0].node, l.ends[1].node), max(l.ends[0].node, l.ends[1].node)}
	}
	for _, l := range ordered {
		together[pair(l)]++
	}
	for _, l := range ordered {
		var between [2]string
		for k, e := range l.ends {
			if between[k] = ends[e]; between[k] == "" {
				between[k] = x.byID[e.node].name
			}
			if r := slow[e.node]; r == 0 || l.rate < r {
				slow[e.node] = l.rate
			}
		}
		name := ""
		if together[pair(l)] > 1 && x.byID[l.ends[0].node].isSwitch && x.byID[l.ends[1].node].isSwitch {
			k := 0 // as the order of the file does not matter
			if between[1] < between[0] {
				k = 1
			}
			name = fmt.Sprintf("name: %s, ", quote(fmt.Sprintf("%s-p%d", between[k], l.ends[k].port)))
		}
		fmt.Fprintf(&links, "  - {%sbetween: %s, rate: %s}\n", name, quote(between[0]+" - "+between[1]), l.rate.InBits())
		join(joined, between[0], between[1])
	}
	for _, n := range x.nodes {
		switch {
		case n.isSwitch && n.name == "":
			x.Left = append(x.Left, fmt.Sprintf("switch %q: it has no links", cmp.Or(n.description, n.id)))
		case n.isSwitch:
			delay := ""
			if header := slow[n.id].Serialise(wire.HeaderSize); header > usualForwarding {
				delay = fmt.Sprintf("forwarding-delay: %v", header)
			}
			fmt.Fprintf(&switches, "  %s: {%s}\n", quote(n.name), delay)
		default:
			for _, h := range hosts[n.id] {
				fmt.Fprintf(&endpoints, "  - %s\n", quote(h))
			}
		}
	}
	from, to := "", ""
	last := map[string]string{} // of each part of the subnet, its last endpoint
	var all []string
	for _, n := range x.nodes {
		for _, h := range hosts[n.id] {
			all = append(all, h)
			last[root(joined, h)] = h
		}
	}
	for _, h := range all {
		if to = last[root(joined, h)]; to != h {
			from = h
			break
		}
	}
	if from == "" {
		return errs.Errorf("%s: no links join two channel adapters", x.file)
	}
	x.Scenario = fmt.Appendf(nil, `# The topology of an InfiniBand subnet. Give it flows of your own.
%sname: subnet
model: {duration: 10ms}
defaults:
  link: {propagation: 10ns, flow-control: credit, buffer: 4 packets}
  flow: {traffic: greedy, packet: 2048B}
switches:
%sendpoints:
%slinks:
%sflows:
  - {name: there, from: %s, to: %s}
`, x.comments(), &switches, &endpoints, &links, quote(from), quote(to))
	return nil
}

// root returns the node that stands for all that are joined to a node.
func root(joined map[string]string, node string) string {
	for joined[node] != "" {
		if up := joined[joined[node]]; up != "" {
			joined[node] = up
		}
		node = joined[node]
	}
	return node
}

// join notes that two nodes are joined.
func join(joined map[string]string, a, b string) {
	if a, b = root(joined, a), root(joined, b); a != b {
		joined[b] = a
	}
}

// wrong returns a mistake in a line.
func (x *net) wrong(line int, format string, args ...any) error {
	return errs.Errorf("%s:%d: %s", x.file, line, fmt.Sprintf(format, args...))
}

// read reads a topology.
func (x *net) read(text string) error {
	peers, sides := map[netEnd]netEnd{}, map[netEnd]*netSide{}
	usual, given := [3]int{1 << 1, 1 << 0, 0}, [3]bool{} // ibsim's: 4x, SDR
	var order []netEnd
	var node *netPlace
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if m := netNode.FindStringSubmatch(line); m != nil {
			if x.byID[m[3]] != nil {
				return x.wrong(n, "a second node %q", m[3])
			}
			ports, err := strconv.ParseUint(m[2], 10, 16)
			if err != nil {
				return x.wrong(n, "%s ports: a node has at most 255", m[2])
			}
			node = &netPlace{id: m[3], description: m[4], isSwitch: m[1] == "Switch", ports: int(ports)}
			x.nodes, x.byID[node.id] = append(x.nodes, node), node
			continue
		}
		if m := netUsual.FindStringSubmatch(line); m != nil {
			k := slices.Index([]string{"width", "speed", "extspeed"}, m[1])
			var err error
			if usual[k], err = mask(k, m[2]); err != nil {
				return x.wrong(n, "%s=%v", m[1], err)
			}
			given[k] = true
			continue
		}
		if netList.MatchString(line) {
			return x.wrong(n, "this is a list of ports, as ibnetdiscover -p prints it: import the output of ibnetdiscover without -p")
		}
		if strings.HasPrefix(line, "include ") || strings.HasPrefix(line, "do ") {
			x.Left = append(x.Left, fmt.Sprintf("%s:%d: %s: only ibsim does that", x.file, n, line))
			continue
		}
		m := netPort.FindStringSubmatch(line)
		if m == nil {
			continue // comments, GUIDs
		}
		if node == nil {
			return x.wrong(n, "a port without a node")
		}
		a, _ := strconv.Atoi(m[1])
		b, _ := strconv.Atoi(m[3])
		from, to := netEnd{node.id, a}, netEnd{m[2], b}
		if other, twice := peers[from]; twice && other != to {
			return x.wrong(n, "port %d of %s has two links", a, node.id)
		}
		if peers[from] == (netEnd{}) {
			order = append(order, from)
		}
		side := &netSide{line: n, options: usual, given: given}
		peers[from], sides[from] = to, side
		rest := m[4]
		if at := strings.LastIndexByte(rest, '"'); at >= 0 {
			rest = rest[at+1:] // a description may look like a speed
		}
		if s := netSpeed.FindStringSubmatch(rest); s != nil {
			width, _ := strconv.Atoi(s[1])
			if lane := LaneRates()[s[2]]; lane > 0 && slices.Contains(netWidths, width) {
				side.rate = lane * unit.Rate(width)
			} else {
				side.unknown = s[0]
			}
		}
		options, _, _ := strings.Cut(m[4], "#")
		for _, o := range netOption.FindAllStringSubmatch(options, -1) {
			k := strings.Index("wse", o[1])
			var err error
			if side.options[k], err = mask(k, o[2]); err != nil {
				return x.wrong(n, "%s=%v", o[1], err)
			}
			side.given[k] = true
		}
	}
	return x.connect(order, peers, sides)
}

// mask reads an option of ibsim: bits of widths, of speeds, or of extended speeds.
func mask(option int, text string) (int, error) {
	most := []int{len(netWidths), len(netSpeeds), len(netExtended)}[option]
	v, err := strconv.ParseUint(text, 0, most)
	if err != nil || v == 0 && option == 0 {
		return 0, fmt.Errorf("%s is not a sum of codes, at most %d", text, 1<<most-1)
	}
	if v == 0 && option == 1 {
		v = 1 << 2 // ibsim's: QDR
	}
	return int(v), nil
}

// connect makes links of the ports, with their rates.
func (x *net) connect(order []netEnd, peers map[netEnd]netEnd, sides map[netEnd]*netSide) error {
	missing, unknown, words, taken := []int{}, map[string][]int{}, []string{}, map[netEnd]int{}
	for _, from := range order {
		to, side := peers[from], sides[from]
		other := sides[to]
		ends := [2]*netPlace{x.byID[from.node], x.byID[to.node]}
		switch {
		case ends[1] == nil:
			return x.wrong(side.line, "there is no node %q", to.node)
		case other != nil && peers[to] != from:
			return x.wrong(max(side.line, other.line), "port %d of %s has another link, by line %d", to.port, to.node, min(side.line, other.line))
		case other != nil && (other.line < side.line || from == to):
			if from == to {
				x.Left = append(x.Left, fmt.Sprintf("%s:%d: port %d of %s is linked to itself", x.file, side.line, from.port, from.node))
			}
			continue // read with the other end
		case taken[to] > 0:
			return x.wrong(side.line, "port %d of %s has another link, by line %d", to.port, to.node, taken[to])
		case from.node == to.node:
			x.Left = append(x.Left, fmt.Sprintf("%s:%d: ports %d and %d of %s are linked to each other", x.file, side.line, from.port, to.port, from.node))
			continue
		}
		taken[to] = side.line
		if k := slices.IndexFunc(ends[:], func(n *netPlace) bool { return !n.isSwitch && netSHARP.MatchString(n.description) }); k >= 0 {
			x.Left = append(x.Left, fmt.Sprintf("%s:%d: %q, the SHARP node of %s: its place is in the switch", x.file, side.line,
				ends[k].description, cmp.Or(ends[1-k].description, ends[1-k].id)))
			continue
		}
		if other == nil {
			other = side
		}
		rate, err := x.rateOf(side, other)
		if err != nil {
			return err
		}
		if word := cmp.Or(side.unknown, other.unknown); rate == 0 && word != "" {
			if unknown[word] == nil {
				words = append(words, word)
			}
			unknown[word] = append(unknown[word], side.line)
		} else if rate == 0 {
			missing = append(missing, side.line)
		}
		x.links = append(x.links, netLink{ends: [2]netEnd{from, to}, rate: cmp.Or(rate, usualSpeed), at: side.line})
	}
	for _, word := range words {
		x.warn(unknown[word], fmt.Sprintf("the speed %s is unknown", word))
	}
	if len(missing) > 0 {
		x.warn(missing, "the link has no speed")
	}
	return nil
}

// warn warns of the links in some lines whose speed is not known.
func (x *net) warn(lines []int, what string) {
	more := ""
	if n := len(lines) - 1; n > 0 {
		more = fmt.Sprintf(", and for %d more, up to line %d", n, lines[n])
	}
	x.Warnings = append(x.Warnings, fmt.Sprintf("%s:%d: %s: %s (%s) is taken%s", x.file, lines[0], what, usualSpeed.InBits(), usualSpeedWord, more))
}

// rateOf returns the rate of a link by what the file says of its two ends; 0: it does not say.
func (x *net) rateOf(a, b *netSide) (unit.Rate, error) {
	switch {
	case a.rate > 0 && b.rate > 0 && a.rate != b.rate:
		slow := min(a.rate, b.rate)
		x.Warnings = append(x.Warnings, fmt.Sprintf("%s:%d: the link has another speed in line %d: %s, the lower one, is taken", x.file, a.line, b.line, slow.InBits()))
		return slow, nil
	case a.rate > 0 || b.rate > 0:
		return max(a.rate, b.rate), nil
	case !slices.Contains(a.given[1:], true) && !slices.Contains(b.given[1:], true) && !a.given[0] && !b.given[0]:
		return 0, nil
	}
	var common [3]int
	for k := range common {
		common[k] = a.options[k] & b.options[k]
	}
	for k, what := range []string{"width", "speed"} {
		if common[k] == 0 {
			return 0, x.wrong(a.line, "the ends of the link have no %s in common: the codes are %d, and %d in line %d",
				what, a.options[k], b.options[k], b.line)
		}
	}
	lane := netSpeeds[bits.Len(uint(common[1]))-1]
	if common[2] > 0 {
		lane = netExtended[bits.Len(uint(common[2]))-1]
	}
	width := 0
	for k, lanes := range netWidths {
		if common[0]>>k&1 == 1 {
			width = max(width, lanes)
		}
	}
	rate := LaneRates()[lane] * unit.Rate(width)
	if !slices.Contains(a.given[1:], true) && !slices.Contains(b.given[1:], true) {
		x.Warnings = append(x.Warnings, fmt.Sprintf("%s:%d: the link has a width and no speed: %s (%dx%s) is taken", x.file, a.line, rate.InBits(), width, lane))
	}
	return rate, nil
}

// ordered returns the links in an order in which the links of each switch follow its ports, as far
// as there is such an order. Crossed cables have none, and are taken by names and ports, so that
// the order of the nodes in the file does not matter.
func (x *net) ordered() (all []netLink) {
	at := map[string][]int{} // by switch, its links by port; each port of a channel adapter is an endpoint
	for i, l := range x.links {
		for _, e := range l.ends {
			if x.byID[e.node].isSwitch {
				at[e.node] = append(at[e.node], i)
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
	done, ready := make([]bool, len(x.links)), &indices{}
	key := func(i int) (name string, port int) {
		for _, e := range x.links[i].ends {
			if own := x.byID[e.node].name; own != "" && (name == "" || own < name) {
				name, port = own, e.port
			}
		}
		return name, port
	}
	left := make([]int, len(x.links)) // in the order of their keys: those at no switch are never blocked
	for i := range left {
		left[i] = i
	}
	slices.SortFunc(left, func(a, b int) int {
		one, port := key(a)
		other, another := key(b)
		return cmp.Or(strings.Compare(one, other), port-another)
	})
	first := func(i int) bool { // it is the first at both of its ends that is left
		for _, e := range x.links[i].ends {
			for len(at[e.node]) > 0 && done[at[e.node][0]] {
				at[e.node] = at[e.node][1:]
			}
			if x.byID[e.node].isSwitch && at[e.node][0] != i {
				return false
			}
		}
		return true
	}
	for i := range x.links {
		if first(i) {
			heap.Push(ready, i)
		}
	}
	for len(all) < len(x.links) {
		if ready.Len() == 0 { // the ports of a node cannot be in order
			for done[left[0]] {
				left = left[1:]
			}
			heap.Push(ready, left[0])
		}
		i := heap.Pop(ready).(int)
		if done[i] {
			continue
		}
		done[i], all = true, append(all, x.links[i])
		for _, e := range x.links[i].ends {
			for len(at[e.node]) > 0 && done[at[e.node][0]] {
				at[e.node] = at[e.node][1:]
			}
			if more := at[e.node]; len(more) > 0 && first(more[0]) {
				heap.Push(ready, more[0])
			}
		}
	}
	return all
}

// indices is a heap of numbers.
type indices []int

func (h indices) Len() int           { return len(h) }
func (h indices) Less(i, j int) bool { return h[i] < h[j] }
func (h indices) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *indices) Push(v any)        { *h = append(*h, v.(int)) }
func (h *indices) Pop() (v any) {
	last := len(*h) - 1
	v, *h = (*h)[last], (*h)[:last]
	return v
}
