package generate

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"fabemu/emu/base/errs"
	"fabemu/emu/scenario"
	"fabemu/wire"
)

// lab is the part of a containerlab topology that describes links. Nodes are containers, named
// PREFIX-LAB-NODE.
type lab struct {
	Name     string
	Prefix   *string
	Topology struct {
		Defaults labNode
		Kinds    map[string]labNode
		Groups   map[string]labNode
		Nodes    map[string]*labNode
		Links    []labLink
	}
}

type labNode struct {
	Kind        string
	Group       string
	NetworkMode labMode `yaml:"network-mode"`
	Components  []struct{ Slot string }
}

// labMode is the network of a container.
type labMode string

// The networks that are not the usual one, which has a device for management.
const (
	hostNetwork labMode = "host"
	noNetwork   labMode = "none"
)

type labLink struct {
	Type       string
	MTU        int
	Endpoints  []any // "node:interface", or a mapping
	IPv4, IPv6 []string
	Impaired   any `yaml:"impairments"`
}

// The bytes of a packet of a flow that are next to a guest's packet of IP, the MTU of a link of
// containerlab, and the bounds of a guest's.
const (
	besideLabMTU            = 30
	usualLabMTU             = 9500
	leastLabMTU, mostLabMTU = 68, wire.MaxMSDU - besideLabMTU
	longestDevice           = 15
)

// odd are the characters that names of nodes do not have.
var odd = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// FromClab returns the scenario with the links of a containerlab topology, whose text has a name in
// messages. Its variables have the values of an environment. Each end of a link is a guest in the
// container of its node. Links that a scenario cannot have are left out, each for a reason. The
// error is a *errs.Mistake.
func FromClab(file string, text []byte, environment func(name string) (string, bool)) (out Imported, err error) {
	if err := checkSize(file, text); err != nil {
		return out, err
	}
	if at := templated(string(text)); at > 0 {
		return out, errs.Errorf("%s:%d: this is a template ({{): import the topology that containerlab makes of it (containerlab deploy --export-rendered FILE)", file, at)
	}
	plain, err := expand(string(text), environment)
	if err != nil {
		return out, errs.Errorf("%s: %w", file, err)
	}
	var x lab
	if err := yaml.Unmarshal([]byte(plain), &x); err != nil {
		return out, errs.Errorf("%s: this is not a containerlab topology: %w", file, err)
	}
	names := x.Name
	if x.Prefix != nil {
		names += *x.Prefix
	}
	switch {
	case x.Name == "" || len(x.Topology.Nodes) == 0:
		return out, errs.Errorf("%s: this is not a containerlab topology: it has no name, or no topology.nodes", file)
	case strings.Contains(names, "$"):
		return out, errs.Errorf("%s: the name or the prefix, %s, has a variable without a value: set it in the environment", file, names)
	case strings.Contains(names, "__git"):
		return out, errs.Errorf("%s: the name, %s, changes with the commit of its repository: write it out", file, names)
	case len(x.Topology.Links) == 0:
		return out, errs.Errorf("%s: the topology has no links", file)
	}
	var b, endpoints, links, flows bytes.Buffer
	taken, longest, bounded := map[string]bool{}, 0, map[string][]string{}
	for i, l := range x.Topology.Links {
		ends, why := x.ends(&l)
		for _, e := range ends {
			if why == "" && taken[e.container+":"+e.device] {
				why = fmt.Sprintf("%s of %s has a link already", e.device, e.node)
			}
		}
		if why != "" {
			out.Left = append(out.Left, fmt.Sprintf("link %d: %s", i+1, why))
			continue
		}
		mtu := min(max(cmp.Or(l.MTU, usualLabMTU), leastLabMTU), mostLabMTU)
		if mtu != l.MTU {
			what := fmt.Sprintf("the MTU %d", cmp.Or(l.MTU, usualLabMTU))
			if l.MTU == 0 {
				what += ", containerlab's default"
			}
			what += fmt.Sprintf(": %d to %d are possible, and %d is the MTU of link", leastLabMTU, mostLabMTU, mtu)
			bounded[what] = append(bounded[what], strconv.Itoa(i+1))
		}
		if l.Impaired != nil {
			out.Left = append(out.Left, fmt.Sprintf("the impairments of link %d: faults of the scenario take their place", i+1))
		}
		longest = max(longest, mtu)
		var names [2]string
		for k, e := range ends {
			taken[e.container+":"+e.device] = true
			names[k] = e.name(taken)
			own, without := e.fields(taken)
			out.Left = append(out.Left, without...)
			fmt.Fprintf(&endpoints, "  - {name: %s, guest: {kind: tap, container: %s, device: %s, %s, mtu: %dB}}\n",
				names[k], quote(e.container), quote(e.device), own, mtu)
		}
		fmt.Fprintf(&links, "  - {name: link%d, between: %s - %s}\n", i+1, names[0], names[1])
		fmt.Fprintf(&flows, "  - {name: there%d, from: %s, to: %s}\n  - {name: back%[1]d, from: %[3]s, to: %[2]s}\n", i+1, names[0], names[1])
	}
	for _, what := range slices.Sorted(maps.Keys(bounded)) {
		out.Left = append(out.Left, what+" "+strings.Join(bounded[what], ", "))
	}
	if longest == 0 {
		return out, errs.Errorf("%s: no link of the topology can be one of a scenario: %s", file, strings.Join(out.Left, "; "))
	}
	name := odd.ReplaceAllString(x.Name, "_")
	if scenario.CheckName(name) != nil {
		name = "lab-" + name
	}
	b.WriteString("# The links of a containerlab topology. Deploy the topology without its section links, then run this file.\n")
	b.WriteString(out.comments())
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
	out.Scenario = b.Bytes()
	return out, nil
}

// labEnd is one end of a link.
type labEnd struct {
	node, kind, container, device string
	mac, ipv4, ipv6               string
}

// addressed are the kinds whose configuration containerlab writes the addresses of links into.
var addressed = []string{"nokia_srlinux", "srl", "arista_ceos", "ceos", "cisco_iol", "vyosnetworks_vyos"}

// fields returns the fields of the guest with the addresses of the end, and why some are left out.
// No two ends have one address.
func (e *labEnd) fields(taken map[string]bool) (own string, left []string) {
	address := "address: none"
	for _, a := range []struct {
		key, text string
		bits      int
	}{{"mac", e.mac, 48}, {"ipv4", e.ipv4, 32}, {"ipv6", e.ipv6, 128}} {
		text, why := a.text, ""
		if a.bits == 48 {
			mac, err := scenario.ReadMAC(text)
			if text = mac.String(); err != nil {
				why = err.Error()
			}
		} else if p, err := netip.ParsePrefix(text); err != nil || p.Addr().BitLen() != a.bits || !p.Addr().IsGlobalUnicast() {
			why = "it is not a host address with a prefix length, such as 10.0.0.1/24"
		} else if slices.Contains(addressed, e.kind) {
			why = "containerlab writes it into the configuration of kind " + e.kind + ": write it there"
		}
		unique, _, _ := strings.Cut(text, "/")
		switch {
		case a.text == "":
		case why != "":
			left = append(left, fmt.Sprintf("%s %s of %s:%s: %s", a.key, a.text, e.node, e.device, why))
		case taken[unique]:
			left = append(left, fmt.Sprintf("%s %s of %s:%s: another end has it, too", a.key, a.text, e.node, e.device))
		case a.bits == 32:
			address = "address: " + text
			taken[unique] = true
		default:
			own += ", " + a.key + ": " + quote(text)
			taken[unique] = true
		}
	}
	return address + own, left
}

// name returns a new name of a node for the end.
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
	if !slices.Contains([]string{"", "brief", "veth", "veth-stitch"}, strings.ToLower(strings.TrimSpace(l.Type))) {
		return nil, fmt.Sprintf("it is of type %s, and not a pair of interfaces of two nodes", l.Type)
	}
	if len(l.Endpoints) != 2 {
		return nil, fmt.Sprintf("it has %d endpoints, and not two", len(l.Endpoints))
	}
	for i, v := range l.Endpoints {
		e, name := labEnd{}, ""
		if i < len(l.IPv4) {
			e.ipv4 = l.IPv4[i]
		}
		if i < len(l.IPv6) {
			e.ipv6 = l.IPv6[i]
		}
		switch v := v.(type) {
		case string:
			e.node, name, _ = strings.Cut(v, ":")
		case map[string]any:
			for key, to := range map[string]*string{"node": &e.node, "interface": &name, "mac": &e.mac, "ipv4": &e.ipv4, "ipv6": &e.ipv6} {
				if text, ok := v[key]; ok {
					*to = fmt.Sprint(text)
				}
			}
		}
		n, there := x.Topology.Nodes[e.node]
		switch {
		case slices.Contains([]string{"host", "mgmt-net", "macvlan", "dummy", "vxlan"}, e.node) && !there:
			return nil, fmt.Sprintf("its end %v is not a node", v)
		case !there:
			return nil, fmt.Sprintf("the topology has no node of its end %v", v)
		}
		if n == nil {
			n = &labNode{}
		}
		t := &x.Topology
		group := t.Groups[n.Group]
		e.kind = cmp.Or(n.Kind, group.Kind, t.Defaults.Kind)
		mode := cmp.Or(n.NetworkMode, group.NetworkMode, t.Kinds[e.kind].NetworkMode, t.Defaults.NetworkMode)
		switch {
		case slices.Contains([]string{"bridge", "ovs-bridge", "host"}, e.kind):
			return nil, fmt.Sprintf("its node %s is a %s, and not a container", e.node, e.kind)
		case mode == hostNetwork:
			return nil, fmt.Sprintf("its node %s has the network of the machine", e.node)
		}
		var err error
		if e.device, err = device(e.kind, name); err != nil {
			return nil, fmt.Sprintf("the interface of its end %v %v", v, err)
		}
		srl := e.kind == "nokia_srlinux" || e.kind == "srl"
		switch managed := labMode(strings.ToLower(string(mode))) != noNetwork; {
		case e.device == "lo":
			return nil, fmt.Sprintf("the container of its end %v has a device lo already: take another interface", v)
		case managed && (e.device == "eth0" || srl && e.device == "mgmt0"):
			return nil, fmt.Sprintf("the container of its end %v has a device %s already, for management: take another interface, or network-mode: none", v, e.device)
		}
		e.container = x.container(e.node, e.kind)
		if len(n.Components) > 1 && e.kind == "nokia_srsim" { // a container for each, in one network
			e.container += "-" + strings.ToLower(n.Components[0].Slot)
		}
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

// quote returns a text as in YAML.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
