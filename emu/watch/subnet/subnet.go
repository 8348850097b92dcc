package subnet

import (
	"fmt"
	"slices"

	"fabemu/emu/base/errs"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// mostLID is the greatest unicast LID.
const mostLID = 0xBFFF

// Subnet is the management side of a fabric. It is not safe for concurrent use.
type Subnet struct {
	Counts report.Subnet

	fabric      *fabric.Fabric
	nodes       []node
	clients     map[int]*attached
	out         []Delivery
	routes      map[[2]int]int        // by switch and destination, the wire of the run's route
	lanes       [][]scenario.LaneRule // by node, of the run
	levels      map[[2]int]int        // by source and destination of a path, its service level: see Levels
	cut, lifted []bool                // by wire: a manager has taken it down in the run; it has come up since
	down        []bool                // by wire: an event of the scenario has taken it down
	totals      []metrics.PortTotals  // by number of the port; empty: the run has not begun
	states      []metrics.PortState   // by number of the port
	marks       []marks               // by node
	flows       []scenario.Flow       // of the run
	now         unit.Time             // of the run
	ack         int64                 // bytes of an ACK on the link
	stirred     bool                  // a forwarding table has changed since this was last read
	quiet       map[int]int           // by switch, how many times an unacknowledged trap has yet to be repeated
}

// A Delivery is a MAD for a client.
type Delivery struct {
	Client int
	Packet Packet
}

// attached is a client at a node.
type attached struct {
	place
	sm bool // it is the subnet manager at this node
}

// place is a port of a node: 0 is the management port of a switch.
type place struct{ node, port int }

// node is the agent of a node.
type node struct {
	*fabric.Node
	isSwitch bool
	base     int                 // number of the port with the LID: 0 at a switch, else 1
	ports    []portInfo          // by number, from 0; a channel adapter has no port 0
	info     [20]byte            // SwitchInfo
	tables   map[[3]int][64]byte // stored as they were set: see table
	cc       congestion
}

// Bits of SwitchInfo, and where LinearFDBTop is.
const (
	stateChange = 1 << 2 // PortStateChange, in byte 11
	atTop       = 6
)

// portInfo is a port: its PortInfo, its wire and its counters.
type portInfo struct {
	info     [64]byte
	wire     int // in the fabric; -1: a management port
	number   int // among the ports of all nodes, without management ports
	peer     place
	disabled bool              // PortPhysicalState has been set to Disabled
	zero     map[[2]int]uint64 // by attribute and field, the values of its counters at their reset
}

// New returns the management side of a fabric whose ports a manager must bring up. All links must be InfiniBand.
func New(f *fabric.Fabric) (*Subnet, error) {
	if len(f.Nodes) > mostLID {
		return nil, errs.Errorf("%d nodes: a subnet has %d unicast LIDs", len(f.Nodes), mostLID)
	}
	s := &Subnet{fabric: f, flows: f.Scenario.Flows, clients: map[int]*attached{}, levels: map[[2]int]int{}, quiet: map[int]int{},
		down: make([]bool, len(f.Wires)), cut: make([]bool, len(f.Wires)), lifted: make([]bool, len(f.Wires))}
	framing := f.Framing()
	s.ack = int64(framing.Length(&wire.Frame{Kind: wire.Ack, Family: wire.InfiniBand}))
	for i := range f.Wires {
		if l := f.Wires[i].Link; l.FlowControl != port.Credits {
			return nil, errs.Errorf("link %s has flow-control: %s: a subnet manager is for InfiniBand (credit) only", l.Name, l.FlowControl)
		}
	}
	number := 0
	for i := range f.Nodes {
		m := &f.Nodes[i]
		if len(m.Ports) > 254 {
			return nil, errs.Errorf("%s has %d ports: an InfiniBand switch has at most 254", m.Name, len(m.Ports))
		}
		n := node{Node: m, isSwitch: m.Switch != nil, tables: map[[3]int][64]byte{}, ports: []portInfo{{wire: -1}}}
		if n.ports[0].begin(s, i, 0); !n.isSwitch {
			n.base = 1
		}
		be.PutUint16(n.info[0:], linearCap)
		be.PutUint16(n.info[4:], multicastCap)
		be.PutUint16(n.info[14:], pkeyCap)
		for k, at := range m.Ports {
			peer := f.Peer(at)
			n.ports = append(n.ports, portInfo{wire: at.Wire, peer: place{peer.Node, int(peer.Port) + 1}, number: number, zero: map[[2]int]uint64{}})
			n.ports[k+1].begin(s, i, k+1)
			number++
		}
		s.nodes = append(s.nodes, n)
		s.beginCongestion(i)
	}
	s.lanes = make([][]scenario.LaneRule, len(s.nodes))
	s.Relaned()
	return s, nil
}

// guid returns the GUID of a port; that of port 0 is that of the node. Its company identifier is a local one.
func guid(node, port int) uint64 { return 0x02FABE<<40 | uint64(node+1)<<8 | uint64(port) }

// at returns the port at a place.
func (s *Subnet) at(p place) *portInfo { return &s.nodes[p.node].ports[p.port] }

// home returns the place of a client that is attached to a node: the port with its LID.
func (s *Subnet) home(i int) place { return place{i, s.nodes[i].base} }

// own returns the port with the LID of a node: at a switch, the management port.
func (s *Subnet) own(i int) *portInfo { return s.at(s.home(i)) }

// Attach attaches a client to a node. It refuses a second subnet manager at a node.
func (s *Subnet) Attach(client, node int, sm bool) error {
	if sm && s.manager(node) >= 0 {
		return fmt.Errorf("%s has a subnet manager already", s.nodes[node].Name)
	}
	s.clients[client] = &attached{place: s.home(node)}
	s.SetManager(client, sm)
	return nil
}

// Detach removes a client, whether it has disconnected or died.
func (s *Subnet) Detach(client int) {
	s.SetManager(client, false)
	delete(s.clients, client)
}

// SetManager sets whether a client is a subnet manager; the port reports the change by trap 144.
func (s *Subnet) SetManager(client int, sm bool) {
	c := s.clients[client]
	if c == nil || c.sm == sm {
		return
	}
	c.sm = sm
	p := s.at(c.place)
	if p.info[23] &^= capSM; s.manager(c.node) >= 0 {
		p.info[23] |= capSM
	}
	s.trap(c.node, 4, 144, 16, p.info[20:24]) // informational
}

// manager returns the client that is the subnet manager at a node; -1 if there is none.
func (s *Subnet) manager(node int) int {
	for id, c := range s.clients {
		if c.sm && c.node == node {
			return id
		}
	}
	return -1
}

// trap sends a notice of a node to its subnet manager, if there is one: its type and number, where its details have the LID, and
// the CapabilityMask of trap 144.
func (s *Subnet) trap(i int, kind byte, number uint16, atLID int, mask []byte) {
	var p Packet
	m, lid := p.mad(), s.own(i).info[16:18]
	m[0], m[1], m[2], m[3] = 1, classSMP, 1, methodTrap
	be.PutUint16(m[16:], attrNotice)
	d := m.data()
	d[0], d[3] = 0x80|kind, s.nodes[i].nodeType() // generic
	be.PutUint16(d[4:], number)
	copy(d[6:], lid)
	copy(d[atLID:], lid)
	copy(d[20:], mask)
	s.tell(i, &p)
}

// tell sends a packet of a node to its subnet manager. It reports whether there is one.
func (s *Subnet) tell(i int, p *Packet) bool {
	own := s.own(i)
	at, ok := s.routed(s.home(i), be.Uint16(own.info[18:]), false)
	client := s.manager(at.node)
	if !ok || client < 0 {
		return false
	}
	copy(p[atDLID:], own.info[18:20])
	copy(p[atSLID:], own.info[16:18])
	be.PutUint64(p[atLength:], uint64(len(p.mad())))
	s.send(client, p)
	return true
}

// mostTraps is how many times a trap is repeated that no manager acknowledges.
const mostTraps = 10

// changed reports a change of the state of a link at a switch by trap 128.
func (s *Subnet) changed(i int) {
	if n := &s.nodes[i]; n.isSwitch {
		n.info[11] |= stateChange
		s.quiet[i] = mostTraps
		s.notice(i)
	}
}

func (s *Subnet) notice(i int) { s.trap(i, 1, 128, 10, nil) } // urgent

// Repeat sends the traps again that no manager has acknowledged. Call it about once a second.
func (s *Subnet) Repeat() {
	for i, left := range s.quiet {
		if s.quiet[i] = left - 1; left <= 1 || s.nodes[i].info[11]&stateChange == 0 {
			delete(s.quiet, i)
			continue
		}
		s.notice(i)
	}
}

// Cut reports whether a manager has disabled a port of a wire.
func (s *Subnet) Cut(wire int) bool {
	ends := s.ends(wire)
	return s.at(ends[0]).disabled || s.at(ends[1]).disabled
}

func (s *Subnet) ends(wire int) (ends [2]place) {
	for k, e := range s.fabric.Wires[wire].Ends {
		ends[k] = place{e.Node, int(e.Port) + 1}
	}
	return ends
}

// train sets the states of the ports of a wire that has come up or gone down.
func (s *Subnet) train(wire int) {
	up := !s.down[wire] && !s.Cut(wire)
	for _, end := range s.ends(wire) {
		switch p := s.at(end); {
		case p.disabled:
			p.setState(stateDown, physicalDisabled)
		case !up:
			p.setState(stateDown, physicalPolling)
		default:
			p.setState(stateInit, physicalUp)
		}
		s.changed(end.node)
	}
}

// Outbox returns the MADs to send, and empties the outbox.
func (s *Subnet) Outbox() []Delivery {
	all := s.out
	s.out = nil
	return all
}

func (s *Subnet) send(client int, p *Packet) { s.out = append(s.out, Delivery{client, *p}) }

// Handle handles a packet from a client. The answer, and the MADs that it causes, are in the Outbox.
func (s *Subnet) Handle(client int, p *Packet) {
	c := s.clients[client]
	if c == nil {
		return
	}
	s.Counts.MADs++
	m := p.mad()
	be.PutUint64(p[atLength:], uint64(len(m)))
	be.PutUint32(p[atStatus:], 0)
	if !s.handle(client, c, p, m) {
		s.Counts.Refused++
		be.PutUint32(p[atStatus:], timedOut)
		s.send(client, p)
	}
}

// handle reports whether a packet has been answered, or needs no answer.
func (s *Subnet) handle(client int, c *attached, p *Packet, m *mad) bool {
	if m.wrong() {
		return false
	}
	if !m.directed() && be.Uint16(p[atSLID:]) == 0 {
		copy(p[atSLID:], s.at(c.place).info[16:18])
	}
	at, ok := s.lead(c.place, be.Uint16(p[atDLID:]), m)
	if !ok {
		return false
	}
	agent := m.smp() && m.attribute() != attrSMInfo && m.method() != methodTrap || m.class() == classPerf || m.class() == classCC
	switch {
	case m[3] == methodRepress:
		delete(s.quiet, at.node)
		s.pass(client, at, p, m) // the trap may be one of a manager
		return true
	case m.response() || !agent:
		return s.pass(client, at, p, m)
	case m.method() != methodGet && !m.sets():
		m.answer(statusMethod)
	default:
		var status uint16
		if status, ok = s.serve(at, m); !ok {
			return false
		}
		m.answer(status)
	}
	return s.reply(client, c, at, p, m)
}

// reply sends an answer back from the place where the request arrived.
func (s *Subnet) reply(client int, c *attached, at place, p *Packet, m *mad) bool {
	p.turn()
	if back, ok := s.lead(at, be.Uint16(p[atDLID:]), m); !ok || back.node != c.node {
		p.turn()
		return false // the return path is interrupted
	}
	s.send(client, p)
	return true
}

// pass passes a MAD on to the client at a place. If no client there accepts a request, the answer is a status.
func (s *Subnet) pass(client int, at place, p *Packet, m *mad) bool {
	to := -1
	switch {
	case m.response() && m.client() == self:
		if s.clients[client].sm && m.class() == classSA {
			s.learn(m)
		}
		return true
	case m.response():
		if c := s.clients[m.client()]; c != nil && c.node == at.node {
			to = m.client()
		}
	case m.smp() || m.class() == classSA:
		to = s.manager(at.node)
	default:
		for id, c := range s.clients {
			if c.node == at.node && id != client && (to < 0 || id < to) {
				to = id
			}
		}
	}
	switch {
	case to >= 0:
		if !m.response() {
			m.setClient(client)
		}
		s.send(to, p)
		return true
	case m.response() || slices.Contains([]byte{methodSend, methodTrap, methodReport}, m.method()):
		return false
	case m.smp():
		m.answer(statusAttribute)
	default:
		m.answer(statusVersion)
	}
	return s.reply(client, s.clients[client], at, p, m)
}

// lead returns the place where a MAD arrives. It fills in the return path of a directed route.
func (s *Subnet) lead(at place, lid uint16, m *mad) (place, bool) {
	if !m.directed() {
		return s.routed(at, lid, !m.smp())
	}
	hops, ok := m.hops(), true
	if m.response() {
		for i := hops; i > 0 && ok; i-- {
			at, ok = s.cross(place{at.node, int(m.back()[i])}, i < hops)
		}
		return at, ok
	}
	for i := 1; i <= hops && ok; i++ {
		m.back()[i-1] = byte(at.port)
		at, ok = s.cross(place{at.node, int(m.path()[i])}, i > 1)
	}
	m.back()[hops] = byte(at.port)
	return at, ok
}

// cross returns the other end of the link at a port, if it is up. Only switches pass MADs on.
func (s *Subnet) cross(p place, passing bool) (place, bool) {
	n := &s.nodes[p.node]
	if passing && !n.isSwitch || p.port < 1 || p.port >= len(n.ports) || n.ports[p.port].state() < stateInit {
		return p, false
	}
	return n.ports[p.port].peer, true
}

// mostHops is how many links a MAD crosses at most, in case the forwarding tables form a loop.
const mostHops = 64

// routed returns the place to which the forwarding tables lead. Links that carry data must be active.
func (s *Subnet) routed(at place, lid uint16, data bool) (place, bool) {
	for hop := 0; hop < mostHops && lid != 0; hop++ {
		n := &s.nodes[at.node]
		if first, end := s.lids(at.node); uint32(lid) >= first && uint32(lid) < end && first != 0 {
			if n.isSwitch && hop == 0 {
				at.port = 0
			}
			return at, true
		}
		out, ok := place{at.node, 1}, n.isSwitch || hop == 0
		if n.isSwitch {
			out.port = n.forward(lid)
		}
		if !ok || data && out.port < len(n.ports) && n.ports[out.port].state() != stateActive {
			break
		}
		if at, ok = s.cross(out, hop > 0); !ok {
			break
		}
	}
	return at, false
}

// forward returns the port for a LID in the forwarding table of a switch; 255 if it has none.
func (n *node) forward(lid uint16) int {
	block, set := n.tables[key(attrLinear, 0, int(lid/64))]
	if !set || lid > be.Uint16(n.info[atTop:]) {
		return 255
	}
	return int(block[lid%64])
}
