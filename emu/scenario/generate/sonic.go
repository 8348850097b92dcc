package generate

import (
	"bytes"
	"cmp"
	"fmt"
	"math/bits"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/base/errs"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// sonicMetre is the propagation delay of a metre of cable.
const sonicMetre = 5 * unit.Nanosecond

// usualCable is the length of a cable that a file does not state, in metres.
const usualCable = 5

// portUp is the admin_status of a port that is used.
const portUp = "up"

// usualPortSpeed is the rate of a port without a speed.
const usualPortSpeed unit.Rate = 100e9

// sonicPort is a port of a switch.
type sonicPort struct {
	name, alias string
	line        int
	rate        unit.Rate
	propagation unit.Duration
	to, toPort  string // its neighbour
	at          int    // the line that names the neighbour; 0: there is none
	linked      bool
}

// sonicSwitch is a switch of SONiC.
type sonicSwitch struct {
	file   string
	host   string // its name in the files of neighbours
	name   string // in the scenario
	db     *sonicValue
	left   notes        // what has no counterpart
	doubts notes        // values taken instead of those that are missing
	ports  []*sonicPort // those that are up, by their numbers
	fields []string     // of the scenario, but kind
	ecn    bool         // queues mark
	pfc    scenario.Priorities
	dscp   map[int]int
	dscpAt int
}

// FromSONiC returns the scenario for switches with these config_db.json files. Ports are linked as
// DEVICE_NEIGHBOR says. A neighbour without a file, and a port that is up without a neighbour, is
// an endpoint for each link. Priorities are traffic classes. The error is a *errs.Mistake.
func FromSONiC(files []File) (out Imported, err error) {
	var all []*sonicSwitch
	byHost, names := map[string]*sonicSwitch{}, namer{}
	for _, f := range files {
		w := &sonicSwitch{file: f.Name}
		if w.db, err = parseSONiC(f, &w.left); err != nil {
			return out, err
		}
		base := strings.TrimSuffix(filepath.Base(f.Name), filepath.Ext(f.Name))
		w.host = cmp.Or(w.db.get("DEVICE_METADATA").get("localhost").word("hostname"), base, "sonic")
		if other := byHost[w.host]; other != nil {
			return out, errs.Errorf("%s: the hostname %.60q is that of %s, too", f.Name, w.host, other.file)
		}
		w.name = names.name(w.host, "")
		byHost[w.host], all = w, append(all, w)
		for _, step := range []func() error{w.readPorts, w.readMaps, w.readBuffers, w.readWatchdog, w.readQueues} {
			if err := step(); err != nil {
				return out, err
			}
		}
	}
	fabric := sonicFabric{all: all, byHost: byHost, names: names}
	if err := fabric.connect(); err != nil {
		return out, err
	}
	text := fabric.text()
	for _, w := range all {
		out.Left = append(append(out.Left, w.left.list(w.file)...), w.db.unused(w.file)...)
		out.Warnings = append(out.Warnings, w.doubts.list(w.file)...)
	}
	out.Scenario = fmt.Appendf(nil, "# Switches of SONiC. Give them flows of your own.\n%s%s", out.comments(), text)
	return out, nil
}

// readPorts reads the ports that are up, with their cables and neighbours.
func (w *sonicSwitch) readPorts() error {
	table := w.db.get("PORT")
	if table == nil {
		return errs.Errorf("%s: there is no table PORT", w.file)
	}
	neighbours, cables := w.db.get("DEVICE_NEIGHBOR"), w.db.get("CABLE_LENGTH")
	down, inner, unstated := 0, 0, 0
	for _, name := range table.keys {
		v := table.get(name)
		p := &sonicPort{name: name, line: v.line, alias: v.word("alias")}
		n := neighbours.get(name)
		state, role := v.word("admin_status"), v.word("role")
		switch {
		case role != "" && role != "Ext":
			inner = cmp.Or(inner, v.line)
			v.ignore()
			continue
		case state != portUp && (state != "" || n == nil):
			down++
			v.ignore()
			continue
		}
		mbps, err := w.number(v, "speed", 1, 1e8, 0)
		if err != nil {
			return err
		}
		if p.rate = unit.Rate(mbps) * 1e6; mbps == 0 {
			w.doubts.add(v.line, "a port has no speed: %s is taken", usualPortSpeed.InBits())
			p.rate = usualPortSpeed
		}
		metres := float64(usualCable)
		length := (*sonicValue)(nil)
		if cables != nil && len(cables.keys) > 0 {
			length = cables.get(cables.keys[0]).get(name)
		}
		if length == nil {
			unstated = cmp.Or(unstated, v.line)
		} else if metres, err = strconv.ParseFloat(strings.TrimSuffix(length.text, "m"), 64); err != nil || !(metres >= 0 && metres <= 1e8) {
			return w.wrong(length.line, "%.40q is not the length of a cable, such as 5m", length.text)
		}
		p.propagation = max(unit.Duration(metres*float64(sonicMetre)), unit.Nanosecond)
		if n != nil {
			p.to, p.toPort, p.at = n.word("name"), n.word("port"), n.line
		}
		w.ports = append(w.ports, p)
	}
	if down > 0 {
		w.left.add(table.line, "PORT: %d ports that are not up", down)
	}
	if inner > 0 {
		w.left.add(inner, "PORT: ports within the device")
	}
	if unstated > 0 {
		w.doubts.add(unstated, "ports without a length in CABLE_LENGTH: %dm is taken", usualCable)
	}
	slices.SortStableFunc(w.ports, func(a, b *sonicPort) int { return portNumber(a.name) - portNumber(b.name) })
	return nil
}

// portNumber returns the number at the end of a name.
func portNumber(name string) int {
	n, _ := strconv.Atoi(name[len(strings.TrimRight(name, "0123456789")):])
	return n
}

// sonicFabric is switches of SONiC with the links between them.
type sonicFabric struct {
	all       []*sonicSwitch
	byHost    map[string]*sonicSwitch
	names     namer
	endpoints []string
	links     []sonicLink
	from, to  string // two endpoints that links join
}

// sonicLink is a link of a port, to another or to an endpoint.
type sonicLink struct {
	from, to    string
	pair        string // of two switches
	port        string
	rate        unit.Rate
	propagation unit.Duration
}

// connect links the ports.
func (x *sonicFabric) connect() error {
	several := map[string]int{}
	for _, w := range x.all {
		for _, p := range w.ports {
			if p.linked {
				continue
			}
			p.linked = true
			if p.to == w.host {
				w.left.add(p.at, "DEVICE_NEIGHBOR: ports that are linked to their own switch")
				continue
			}
			l := sonicLink{from: w.name, port: p.name, rate: p.rate, propagation: p.propagation}
			if other := x.byHost[p.to]; p.to != "" && other != nil {
				q, err := w.peer(p, other)
				if err != nil {
					return err
				}
				q.linked = true
				if l.to, l.pair = other.name, min(w.name, other.name)+" "+max(w.name, other.name); q.rate != p.rate {
					l.rate = min(p.rate, q.rate)
					w.doubts.add(p.line, "a port has %s, and its neighbour in %s %s: the lower speed is taken", p.rate.InBits(), other.file, q.rate.InBits())
				}
				l.propagation = max(p.propagation, q.propagation)
			} else {
				host := cmp.Or(p.to, w.host+"-"+p.name)
				several[host]++
				suffix := ""
				if several[host] > 1 {
					suffix = fmt.Sprintf("-link%d", several[host])
				}
				l.to = x.names.name(host, suffix)
				x.endpoints = append(x.endpoints, l.to)
			}
			x.links = append(x.links, l)
		}
	}
	joined := map[string]string{}
	for _, l := range x.links {
		join(joined, l.from, l.to)
	}
	if x.from, x.to = x.ends(joined); x.from == "" {
		return errs.Errorf("%s: no links join two endpoints: ports that are up and lead to a neighbour without a file, or to none", x.all[0].file)
	}
	return nil
}

// peer returns the port of another switch that a port is linked to.
func (w *sonicSwitch) peer(p *sonicPort, other *sonicSwitch) (*sonicPort, error) {
	for _, q := range other.ports {
		if q.name != p.toPort && (q.alias != p.toPort || q.alias == "") {
			continue
		}
		back := q.at == 0 || q.to == w.host && (q.toPort == p.name || q.toPort == p.alias)
		if !back || q.linked {
			return nil, w.wrong(p.at, "%s is linked to %s of %s, which has another neighbour in %s:%d", p.name, q.name, other.host, other.file, cmp.Or(q.at, q.line))
		}
		return q, nil
	}
	return nil, w.wrong(p.at, "%s is linked to port %.60q of %s, and %s has no such port that is up", p.name, p.toPort, p.to, other.file)
}

// text writes the scenario, but for the comments.
func (x *sonicFabric) text() []byte {
	var switches, links, endpoints bytes.Buffer
	pairs := map[string]int{}
	longest, dscp, pfc, ecn := 0.0, (*sonicSwitch)(nil), scenario.Priorities(0), false
	for _, l := range x.links {
		pairs[l.pair]++
		longest = max(longest, l.propagation.Seconds()*float64(l.rate)/8)
	}
	for _, w := range x.all {
		pfc, ecn = pfc|w.pfc, ecn || w.ecn
		if dscp == nil && w.dscp != nil {
			dscp = w
		}
		if dscp != nil && w.dscp != nil && dscp.dscpList() != w.dscpList() {
			w.left.add(w.dscpAt, "DSCP_TO_TC_MAP: a scenario has one map, and takes that of %s", dscp.host)
		}
	}
	for _, w := range x.all {
		fields := w.fields
		if pfc != 0 {
			fields = append([]string{"lossless: " + w.pfc.String()}, fields...)
		}
		fmt.Fprintf(&switches, "  %s: {%s}\n", quote(w.name), strings.Join(fields, ", "))
	}
	for _, l := range x.links {
		own := ""
		if l.pair != "" && pairs[l.pair] > 1 {
			own = fmt.Sprintf("name: %s, ", quote(l.from+"-"+l.port))
		}
		fmt.Fprintf(&links, "  - {%sbetween: %s, rate: %s, propagation: %v}\n", own, quote(l.from+" - "+l.to), l.rate.InBits(), l.propagation)
	}
	for _, e := range x.endpoints {
		fmt.Fprintf(&endpoints, "  - %s\n", quote(e))
	}
	control, algorithm, model := "none", "", ""
	if pfc != 0 {
		control = "pfc"
	}
	carried := scenario.AllPriorities
	if dscp != nil {
		model, carried = dscp.dscpList(), dscp.carried()
	}
	priority := bits.TrailingZeros8(uint8(cmp.Or(pfc&carried, carried)))
	if ecn {
		algorithm = fmt.Sprintf(", control: {algorithm: dcqcn, cnp-priority: %d}", bits.Len8(uint8(carried))-1)
	}
	return fmt.Appendf(nil, `name: sonic
model: {duration: 10ms%s}
routing: ecmp
defaults:
  link: {flow-control: %s}
  switch: {kind: output-queued, memory: %dKB per port}
  flow: {packet: 1024B, transport: rocev2, priority: %d%s}
switches:
%sendpoints:
%slinks:
%sflows:
  - {name: there, from: %s, to: %s}
`, model, control, memoryFor(longest), priority, algorithm, &switches, &endpoints, &links, quote(x.from), quote(x.to))
}

// ends returns two endpoints that links join.
func (x *sonicFabric) ends(joined map[string]string) (from, to string) {
	last := map[string]string{}
	for _, e := range x.endpoints {
		last[root(joined, e)] = e
	}
	for _, e := range x.endpoints {
		if to = last[root(joined, e)]; to != e {
			return e, to
		}
	}
	return "", ""
}

// dscpList writes a map as a field of the model: what differs from the class selector. A DSCP that
// is not in the map has class 0.
func (w *sonicSwitch) dscpList() string {
	var all []string
	for dscp := range 64 {
		if class := w.dscp[dscp]; class != dscp/8 {
			all = append(all, fmt.Sprintf("{dscp: %d, priority: %d}", dscp, class))
		}
	}
	if all == nil {
		return ""
	}
	return ", dscp: [" + strings.Join(all, ", ") + "]"
}

// carried is the classes that have a DSCP.
func (w *sonicSwitch) carried() (set scenario.Priorities) {
	for dscp := range 64 {
		set |= 1 << w.dscp[dscp]
	}
	return set
}
