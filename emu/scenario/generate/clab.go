package generate

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"fabemu/emu/base/errs"
	"fabemu/emu/scenario"
)

// lab is the part of a containerlab topology that describes links. Nodes are containers, named PREFIX-LAB-NODE.
type lab struct {
	Name     string
	Prefix   *string
	Topology struct {
		Defaults labNode
		Kinds    map[string]labNode
		Nodes    map[string]*labNode
		Links    []labLink
	}
}

type labNode struct {
	Kind        string
	NetworkMode string `yaml:"network-mode"`
}

type labLink struct {
	Type      string
	MTU       int
	Endpoints []any // "node:interface", or a mapping with node and interface
	Impaired  any   `yaml:"impairments"`
}

// The bounds of a guest's MTU, and the bytes of a packet of a flow that are beside its packet of IP.
const (
	leastLabMTU, mostLabMTU = 68, 8984
	usualLabMTU             = 1500
	besideLabMTU            = 32
	longestDevice           = 15
)

// labPair is the type of links between two nodes.
const labPair = "veth"

// odd are the characters that names of machines do not have.
var odd = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// FromClab returns the scenario with the links of a containerlab topology, whose text has a name in messages. Each end of
// a link is a guest in the container of its node. Links that a scenario cannot have are left out, each for a reason.
// The error is a *errs.Mistake.
func FromClab(file string, text []byte) (_ []byte, left []string, err error) {
	var x lab
	if err := yaml.Unmarshal(text, &x); err != nil {
		return nil, nil, errs.Errorf("%s: this is no containerlab topology: %w", file, err)
	}
	switch {
	case x.Name == "" || len(x.Topology.Nodes) == 0:
		return nil, nil, errs.Errorf("%s: this is no containerlab topology: it has no name, or no topology.nodes", file)
	case len(x.Topology.Links) == 0:
		return nil, nil, errs.Errorf("%s: the topology has no links", file)
	}
	var b, endpoints, links, flows bytes.Buffer
	taken, longest, some := map[string]bool{}, usualLabMTU, false
	for i, l := range x.Topology.Links {
		ends, why := x.ends(&l)
		for _, e := range ends {
			if why == "" && taken[e.container+":"+e.device] {
				why = fmt.Sprintf("%s of %s has a link already", e.device, e.node)
			}
		}
		mtu := max(l.MTU, 0)
		if mtu != 0 && (mtu < leastLabMTU || mtu > mostLabMTU) {
			left = append(left, fmt.Sprintf("the MTU of link %d, %d: %d to %d are possible", i+1, mtu, leastLabMTU, mostLabMTU))
			mtu = 0
		}
		if mtu == 0 {
			mtu = usualLabMTU
		}
		if why != "" {
			left = append(left, fmt.Sprintf("link %d: %s", i+1, why))
			continue
		}
		if l.Impaired != nil {
			left = append(left, fmt.Sprintf("the impairments of link %d: faults of the scenario take their place", i+1))
		}
		some, longest = true, max(longest, mtu)
		var names [2]string
		for k, e := range ends {
			taken[e.container+":"+e.device] = true
			names[k] = e.name(taken)
			fmt.Fprintf(&endpoints, "  - {name: %s, guest: {kind: tap, container: %s, device: %s, address: none, mtu: %dB}}\n",
				names[k], quote(e.container), quote(e.device), mtu)
		}
		fmt.Fprintf(&links, "  - {name: link%d, between: %s - %s}\n", i+1, names[0], names[1])
		fmt.Fprintf(&flows, "  - {name: there%d, from: %s, to: %s}\n  - {name: back%[1]d, from: %[3]s, to: %[2]s}\n", i+1, names[0], names[1])
	}
	if !some {
		return nil, left, errs.Errorf("%s: no link of the topology can be one of a scenario: %s", file, strings.Join(left, "; "))
	}
	name := odd.ReplaceAllString(x.Name, "_")
	if scenario.CheckName(name) != nil {
		name = "lab-" + name
	}
	b.WriteString("# The links of a containerlab topology. Deploy the topology without its section links, then run this file.\n")
	for _, why := range left {
		fmt.Fprintf(&b, "# Left out: %s\n", strings.Join(strings.Fields(why), " "))
	}
	fmt.Fprintf(&b, `name: %s
model: {duration: 86400s}
wall: {dilation: 1}
defaults:
  link: {rate: 1Gb/s, propagation: 1us, flow-control: pfc}
  flow: {packet: %dB}
endpoints:
%slinks:
%sflows:
%s`, name, longest+besideLabMTU, &endpoints, &links, &flows)
	return b.Bytes(), left, nil
}

// labEnd is one end of a link.
type labEnd struct{ node, device, container string }

// name returns a new name of a machine for the end.
func (e *labEnd) name(taken map[string]bool) string {
	base := odd.ReplaceAllString(e.node+"-"+e.device, "_")
	if c := base[0]; c < 'A' || c == '_' || c == '-' {
		base = "n" + base
	}
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	taken[name] = true
	return name
}

// ends returns the two ends of a link, or the reason why it has none.
func (x *lab) ends(l *labLink) (ends []labEnd, why string) {
	if l.Type != "" && l.Type != labPair {
		return nil, fmt.Sprintf("it is of type %s, and not a pair of interfaces of two nodes", l.Type)
	}
	if len(l.Endpoints) != 2 {
		return nil, fmt.Sprintf("it has %d endpoints, and not two", len(l.Endpoints))
	}
	for _, v := range l.Endpoints {
		e := labEnd{}
		switch v := v.(type) {
		case string:
			e.node, e.device, _ = strings.Cut(v, ":")
		case map[string]any:
			e.node, _ = v["node"].(string)
			e.device, _ = v["interface"].(string)
		}
		n, there := x.Topology.Nodes[e.node]
		switch {
		case slices.Contains([]string{"host", "mgmt-net", "macvlan", "dummy", "vxlan"}, e.node) && !there:
			return nil, fmt.Sprintf("its end %v is no node", v)
		case !there:
			return nil, fmt.Sprintf("the topology has no node of its end %v", v)
		case e.device == "" || len(e.device) > longestDevice || strings.ContainsAny(e.device, "/: \t\n"):
			return nil, fmt.Sprintf("the interface of its end %v is no name of a device in a container, such as eth1", v)
		}
		if n == nil {
			n = &labNode{}
		}
		kind := n.Kind
		if kind == "" {
			kind = x.Topology.Defaults.Kind
		}
		switch {
		case slices.Contains([]string{"bridge", "ovs-bridge", "host"}, kind):
			return nil, fmt.Sprintf("its node %s is a %s, and not a container", e.node, kind)
		case slices.Contains([]string{n.NetworkMode, x.Topology.Kinds[kind].NetworkMode}, "host"):
			return nil, fmt.Sprintf("its node %s has the network of the computer", e.node)
		}
		e.container = x.container(e.node, kind)
		ends = append(ends, e)
	}
	return ends, ""
}

// container returns the name of the container of a node, as containerlab makes it.
func (x *lab) container(node, kind string) string {
	switch {
	case kind == "ext-container" || x.Prefix != nil && *x.Prefix == "":
		return node
	case x.Prefix == nil:
		return "clab-" + x.Name + "-" + node
	case *x.Prefix == "__lab-name":
		return x.Name + "-" + node
	}
	return *x.Prefix + "-" + x.Name + "-" + node
}

// quote returns a text as YAML has it.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
