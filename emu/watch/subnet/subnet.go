package subnet

import (
	"fmt"
	"slices"

	"fabemu/emu/base/errs"
	"fabemu/emu/fabric"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
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
	traps       []trap
	routes      map[[2]int]int        // by switch and destination, the wire of the run's route
	lanes       [][]scenario.LaneRule // by node, of the run
	levels      map[[2]int]int        // by source and destination of a path, its service level: see Levels
	cut, lifted []bool                // by wire: a manager has taken it down in the run; it has come up since
	down        []bool                // by wire: an event of the scenario has taken it down
	totals      []totals              // by number of the port; empty: the run has not begun
	fields      []field               // of the table of figures
	flows       []scenario.Flow       // of the run
	now         unit.Time             // of the run
	stirred     bool                  // a forwarding table has changed since this was last read
	inBand      bool                  // MADs cross the links of a model
	launched    []launched            // in-band, by nodes
	asked       map[uint64]request    // those that await an answer, by mad.id
	number      uint32                // of the last packet in-band
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

// request is a request of a client that awaits an answer: one in-band, or an SMP that was passed on
// to another client.
type request struct {
	Packet
	to    int // the client that is to answer; -1: an agent
	tries int
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

// New returns the management side of a fabric whose ports a manager must bring up. All links must
// be InfiniBand.
func New(f *fabric.Fabric) (*Subnet, error) {
	if len(f.Nodes) > mostLID {
		return nil, errs.Errorf("%d nodes: a subnet has %d unicast LIDs", len(f.Nodes), mostLID)
	}
	s := &Subnet{fabric: f, flows: f.Scenario.Flows, clients: map[int]*attached{}, levels: map[[2]int]int{}, quiet: map[int]int{}, asked: map[uint64]request{},
		down: make([]bool, len(f.Wires)), cut: make([]bool, len(f.Wires)), lifted: make([]bool, len(f.Wires))}
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

// guid returns the GUID of a port; that of port 0 is that of the node. Its company identifier is a
// local one.
func guid(node, port int) uint64 { return 0x02FABE<<40 | uint64(node+1)<<8 | uint64(port) }

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
	for id, r := range s.asked {
		switch client {
		case r.Packet.mad().client():
			delete(s.asked, id)
		case r.to:
			s.refuse(id)
		}
	}
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

// trap sends a notice of a node to its subnet manager, if there is one: its type and number, where
// its details have the LID, and the CapabilityMask of trap 144.
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
	s.traps = append(s.traps, trap{i, p})
}

// trap is a trap that a node is to send.
type trap struct {
	node int
	Packet
}

// flush sends the traps, which the handling of a MAD may cause.
func (s *Subnet) flush() {
	for i := range s.traps {
		s.tell(s.traps[i].node, &s.traps[i].Packet)
	}
	s.traps = s.traps[:0]
}

// tell sends a packet of a node to its subnet manager. It reports whether there is one.
func (s *Subnet) tell(i int, p *Packet) bool {
	own := s.own(i)
	copy(p[atDLID:], own.info[18:20])
	copy(p[atSLID:], own.info[16:18])
	be.PutUint64(p[atLength:], uint64(len(p.mad())))
	return be.Uint16(p[atDLID:]) != 0 && s.post(s.home(i), p)
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

// mostTries is how many times an SMP is sent to a client that does not answer. Drivers of channel
// adapters do the same, and libumad2sim does not. OpenSM relies on it: it ignores SMInfo requests
// until it has discovered its own port, and never asks twice.
const mostTries = 4

// Repeat sends the traps again that no manager has acknowledged, and the SMPs that no client has
// answered. Call it about once a second.
func (s *Subnet) Repeat() {
	for id, r := range s.asked {
		if r.to < 0 {
			continue
		}
		if r.tries++; r.tries > mostTries {
			s.refuse(id)
			continue
		}
		if s.asked[id] = r; r.tries > 1 { // the first call is less than a second later
			s.send(r.to, &r.Packet)
		}
	}
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
	s.flush()
	all := s.out
	s.out = nil
	return all
}

func (s *Subnet) send(client int, p *Packet) { s.out = append(s.out, Delivery{client, *p}) }

// Handle handles a packet from a client. The answer, and the MADs that it causes, are in the
// Outbox.
func (s *Subnet) Handle(client int, p *Packet) {
	c := s.clients[client]
	if c == nil {
		return
	}
	s.Counts.MADs++
	m := p.mad()
	be.PutUint64(p[atLength:], uint64(len(m)))
	be.PutUint32(p[atStatus:], 0)
	was := *p
	was.mad().setClient(client)
	if m.response() && m.client() == self && !c.sm {
		return // only managers know service levels
	}
	if (!m.directed() || m.routed()) && be.Uint16(p[atSLID:]) == 0 {
		copy(p[atSLID:], s.at(c.place).info[16:18])
	}
	if !m.response() {
		m.setClient(client)
	}
	id := was.mad().id()
	if s.inBand && m.asks() && len(s.asked) < mostAsked {
		s.asked[id] = request{Packet: was, to: -1}
	}
	if m.wrong() || !s.post(c.place, p) {
		s.asked[id] = request{Packet: was}
		s.refuse(id)
	}
}

// refuse returns a request to its client because nothing answers it.
func (s *Subnet) refuse(id uint64) {
	r := s.asked[id]
	delete(s.asked, id)
	s.Counts.Refused++
	m := r.Packet.mad()
	client := m.client()
	m.setClient(0)
	be.PutUint32(r.Packet[atStatus:], timedOut)
	s.send(client, &r.Packet)
}

// post sends a packet from a place. It reports whether it arrives where it is taken in, and its
// answer too.
func (s *Subnet) post(at place, p *Packet) bool {
	if s.inBand {
		return s.launch(at, p)
	}
	to, ok := s.lead(at, be.Uint16(p[atDLID:]), p.mad())
	return ok && s.arrive(to, p)
}

// arrive takes in a packet at the node for which it is. It reports whether the packet needs no
// answer, or is answered.
func (s *Subnet) arrive(at place, p *Packet) bool {
	m, to := p.mad(), -1
	agent := m.smp() && m.attribute() != attrSMInfo && m.method() != methodTrap || m.class() == classPerf || m.class() == classCC
	switch c := s.clients[m.client()]; {
	case m[3] == methodRepress:
		delete(s.quiet, at.node)
		if c == nil || c.node != at.node {
			return true
		}
		to = m.client() // it was the trap of a manager
	case m.response() && m.client() == self:
		if m.class() == classSA {
			s.learn(m)
		}
		return true
	case m.response():
		if c == nil || c.node != at.node {
			return false
		}
		to = m.client()
		delete(s.asked, m.id())
		m.setClient(0)
	case agent && m.method() != methodGet && !m.sets():
		return s.reply(at, p, statusMethod)
	case agent:
		status, ok := s.serve(at, m)
		return ok && s.reply(at, p, status)
	case m.smp() || m.class() == classSA:
		to = s.manager(at.node)
	default:
		for id, c := range s.clients {
			if c.node == at.node && id != m.client() && (to < 0 || id < to) {
				to = id
			}
		}
	}
	switch {
	case to >= 0:
		if m.asks() {
			if delete(s.asked, m.id()); m.smp() && len(s.asked) < mostAsked {
				s.asked[m.id()] = request{Packet: *p, to: to}
			}
		}
		s.send(to, p)
		return true
	case slices.Contains([]byte{methodSend, methodTrap, methodReport}, m.method()):
		return false
	case m.smp():
		return s.reply(at, p, statusAttribute)
	}
	return s.reply(at, p, statusVersion)
}

// reply answers a packet with a status.
func (s *Subnet) reply(at place, p *Packet, status uint16) bool {
	p.mad().answer(status)
	p.turn()
	return s.post(at, p)
}

// mostHops is how many links a MAD crosses at most, in case the forwarding tables form a loop.
const mostHops = 64

// lead returns the place where a MAD arrives; without one, where packets of data do.
func (s *Subnet) lead(at place, lid uint16, m *mad) (place, bool) {
	for hop := range mostHops + 1 {
		out := s.next(at, lid, m, hop == 0)
		if out <= here {
			return at, out == here
		}
		at = s.nodes[at.node].ports[out].peer
	}
	return at, false
}

// Results of next.
const here, nowhere = 0, -1

// next returns the port by which a MAD leaves the node where it begins, or where it has come in by
// a port; here: it is for that node. Only switches pass MADs on, over links that are up. Links that
// carry data must be active.
func (s *Subnet) next(at place, lid uint16, m *mad, begins bool) int {
	n, out, least := &s.nodes[at.node], 1, byte(stateInit)
	if m == nil || !m.smp() {
		least = stateActive
	}
	first, end := s.lids(at.node)
	own := first != 0 && uint32(lid) >= first && uint32(lid) < end
	directed := m != nil && m.directed()
	if directed && m.routed() && m[6] == 0 { // its directed part begins at a LID, and ends there on the way back
		directed = own && !m.response() || begins && m.response()
	}
	if directed {
		over, ends := m.hop(at.port, begins)
		if ends && !(m.routed() && m.response()) {
			return here
		}
		if directed = !ends; directed {
			out = over
		}
	}
	switch {
	case directed:
	case own:
		return here
	case lid == 0:
		out = nowhere
	case n.isSwitch:
		out = n.forward(lid)
	}
	if !begins && !n.isSwitch || out < 1 || out >= len(n.ports) || n.ports[out].state() < least {
		return nowhere
	}
	return out
}

// forward returns the port for a LID in the forwarding table of a switch; 255 if it has none.
func (n *node) forward(lid uint16) int {
	block, set := n.tables[key(attrLinear, 0, int(lid/64))]
	if !set || lid > be.Uint16(n.info[atTop:]) {
		return 255
	}
	return int(block[lid%64])
}
