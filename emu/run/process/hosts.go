package process

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/fabric"
	"fabemu/emu/host/fleet"
	"fabemu/emu/run/carrier"
	"fabemu/emu/run/mode"
	"fabemu/wire/link"
)

// work describes the share of another host, as rank 0 sends it.
type work struct {
	File     *File
	Scenario string // in YAML
}

// betweenHosts is the kind of an end of a link whose other end is on another host.
const betweenHosts = "hosts"

// HostOf places nodes on a host.
type HostOf struct {
	Nodes string // a name, or a pattern for path.Match
	Rank  int
}

// ParseHostOf reads "NODE=HOST".
func ParseHostOf(text string) (HostOf, error) {
	nodes, rank, ok := strings.Cut(text, "=")
	h := HostOf{Nodes: strings.TrimSpace(nodes)}
	_, err := fmt.Sscanf(rank+"\n", "%d\n", &h.Rank)
	if _, bad := path.Match(h.Nodes, ""); !ok || err != nil || h.Nodes == "" || bad != nil || h.Rank < 0 {
		return h, errs.Errorf("%q does not assign a node to a host: write NODE=HOST, such as A=0 or \"local*=1\"",
			text)
	}
	return h, nil
}

// share returns the parts of the hosts, without their names. If the plan does not choose
// the hosts of nodes, it cuts few links.
func (p *Plan) share() ([]part, error) {
	f, size := p.Fabric, p.Fleet.Size
	of := f.Partition(size)
	if len(p.HostsOf) > 0 {
		var err error
		if of, err = p.chosen(); err != nil {
			return nil, err
		}
	}
	list := make([]part, size)
	for m, rank := range of {
		list[rank].nodes = append(list[rank].nodes, m)
	}
	used := 0
	for _, x := range list {
		if len(x.nodes) > 0 {
			used++
		}
	}
	if used < size {
		return nil, errs.Errorf("the nodes are on %d of %d hosts: start fewer hosts, or distribute the nodes with --hosts-map",
			used, size)
	}
	return list, nil
}

// chosen returns the rank of the host of each node, as HostsOf assigns it.
func (p *Plan) chosen() ([]int, error) {
	f := p.Fabric
	of := slices.Repeat([]int{-1}, len(f.Nodes))
	var wrong []error
	for _, h := range p.HostsOf {
		found := false
		for m := range f.Nodes {
			if ok, _ := path.Match(h.Nodes, f.Nodes[m].Name); ok || h.Nodes == f.Nodes[m].Name {
				of[m], found = h.Rank, true
			}
		}
		switch {
		case !found:
			wrong = append(wrong, fmt.Errorf("there is no node %q to place on host %d", h.Nodes, h.Rank))
		case h.Rank >= p.Fleet.Size:
			wrong = append(wrong, fmt.Errorf("node %q cannot be on host %d: there are hosts 0 to %d",
				h.Nodes, h.Rank, p.Fleet.Size-1))
		}
	}
	var nowhere []string
	for m := range f.Nodes {
		if of[m] >= 0 {
			continue
		}
		if f.Nodes[m].Switch == nil { // it is on the host of its switch
			of[m] = of[f.Peer(f.Nodes[m].Ports[0]).Node]
		}
		if of[m] < 0 {
			nowhere = append(nowhere, f.Nodes[m].Name)
		}
	}
	if len(nowhere) > 0 {
		wrong = append(wrong, fmt.Errorf("these nodes have no host: %s",
			strings.Join(nowhere, ", ")))
	}
	if len(wrong) > 0 {
		return nil, &errs.Mistake{Err: errors.Join(wrong...)}
	}
	return of, nil
}

// meeting is the setup of a run on several hosts, by rank 0.
type meeting struct {
	*conductor
	gathering *fleet.Gathering
	links     *carrier.Links         // of this host
	of        []int                  // by node: the rank of its host
	ranks     []*participant         // by rank; that of this host has no connection and no open end of a link
	bound     map[fabric.Port]string // the addresses of the ends of links between hosts
}

// meet waits for the other hosts, distributes the nodes, and opens the links.
func (p *Plan) meet(ctx context.Context) (m *meeting, err error) {
	list, err := p.share()
	if err != nil {
		return nil, err
	}
	m = &meeting{links: carrier.Some(p.Fabric), of: make([]int, len(p.Fabric.Nodes)), bound: map[fabric.Port]string{}}
	defer func() {
		if err != nil {
			m.leave()
			if m.conductor != nil {
				m.conductor.close()
			}
			err = errors.Join(err, m.links.Close())
		}
	}()
	if m.gathering, err = fleet.Gather(p.Fleet); err != nil {
		return m, err
	}
	others, err := m.gathering.Wait(ctx)
	if err != nil {
		return m, err
	}
	m.invite(p, list, others)
	dir, err := p.folder()
	if err != nil {
		return m, err
	}
	m.conductor = p.conductor(dir)
	defer context.AfterFunc(ctx, func() {
		for _, peer := range others {
			peer.SetDeadline(time.Now())
		}
	})()
	if err := m.open(); err != nil {
		return m, cmp.Or(ctx.Err(), err)
	}
	own, err := p.participant(list[0], dir, m.links)
	m.add(own)
	if err == nil {
		err = own.Write(own.path)
	}
	if err != nil {
		return m, err
	}
	for _, s := range m.ranks[1:] {
		m.add(s)
	}
	return m, nil
}

// invite writes the share of each host, and names the parts in list.
func (m *meeting) invite(p *Plan, list []part, others []*fleet.Peer) {
	for rank, x := range list {
		for _, node := range x.nodes {
			m.of[node] = rank
		}
	}
	for rank := range list {
		x, s, name := &list[rank], &participant{nodes: list[rank].nodes}, fleet.Here()
		if rank > 0 {
			s.away = others[rank-1]
			name = s.away.Name
		}
		x.name = fmt.Sprintf("host-%d-%s", rank, name)
		s.File = p.file(*x)
		s.Links = p.endsOf(*x, m.of)
		m.ranks = append(m.ranks, s)
	}
}

// open makes all hosts open their ends of links, and connect those that lead to other hosts.
func (m *meeting) open() error {
	f := m.plan.Fabric
	// Each host is reached at the address from which it connected, and this host at the
	// address to which it connected.
	ends, err := openShare(m.ranks[0].File, f, m.links, func(e End) netip.Addr {
		return m.ranks[m.of[f.Peer(fabric.Port{Wire: e.Wire, End: e.End}).Node]].away.Here()
	})
	if err != nil {
		return err
	}
	m.note(ends)
	for _, s := range m.ranks[1:] {
		s.away.SetDeadline(time.Now().Add(startTimeout))
		if err := writeJSON(s.away, share, work{s.File, string(m.plan.Resolved)}); err != nil {
			return fmt.Errorf("%s: %w", s.Part, err)
		}
	}
	for _, s := range m.ranks[1:] {
		var ends []End
		if err := await(s.away, bound, &ends); err != nil {
			return fmt.Errorf("%s: %w", s.Part, err)
		}
		m.note(ends)
	}
	for _, s := range m.ranks {
		others := m.leading(s.Links)
		if s.away == nil {
			err = connectShare(others, f, m.links)
		} else if err = writeJSON(s.away, peers, others); err == nil {
			err = s.away.SetDeadline(time.Time{})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.Part, err)
		}
	}
	return nil
}

// note keeps the addresses that ends are bound to.
func (m *meeting) note(ends []End) {
	for _, e := range ends {
		m.bound[fabric.Port{Wire: e.Wire, End: e.End}] = e.Address
	}
}

// leading returns the ends that lead to other hosts, with the addresses there.
func (m *meeting) leading(ends []End) (list []End) {
	for _, e := range ends {
		if e.Kind == betweenHosts {
			if e.End == 0 {
				m.between = append(m.between, e.Wire)
			}
			e.PeerAddress = m.bound[fabric.Port{Wire: e.Wire, End: 1 - e.End}]
			list = append(list, e)
		}
	}
	return list
}

// leave closes the connections.
func (m *meeting) leave() {
	if m.gathering != nil {
		m.gathering.Close()
	}
	for _, s := range m.ranks {
		if s.away != nil {
			s.away.Close()
		}
	}
}

// endsOf returns the ends of links at the nodes of a host.
func (p *Plan) endsOf(x part, of []int) (ends []End) {
	for _, m := range x.nodes {
		for _, at := range p.Fabric.Nodes[m].Ports {
			e := End{Link: p.Fabric.Wires[at.Wire].Name, Wire: at.Wire, End: at.End, Kind: string(mode.UDP)}
			if of[p.Fabric.Peer(at).Node] != of[m] {
				e.Kind = betweenHosts
			}
			if p.Fabric.Scenario.Wall.UDPPort != 0 {
				e.Port = p.portOf(at)
			}
			ends = append(ends, e)
		}
	}
	return ends
}

// openShare opens the links of a host: those between its nodes, and its ends of links to other
// hosts, which it returns with the addresses that they are bound to. here returns the address of
// this host for an end.
func openShare(file *File, f *fabric.Fabric, l *carrier.Links, here func(End) netip.Addr) (ends []End, err error) {
	o := link.UDPOptions{Buffer: f.Scenario.Wall.Buffer, Largest: int(f.Largest().Datagram)}
	for _, e := range file.Links {
		if err := e.check(f); err != nil {
			return nil, err
		}
		switch {
		case l.Ends[e.Wire][e.End] != nil:
			continue
		case e.Kind == string(mode.UDP):
			o.Port, o.Fragments = 0, false
			if e.Port != 0 {
				o.Port = e.Port - e.End
			}
			a, b, err := link.UDPPair(o)
			if err != nil {
				return nil, fmt.Errorf("link %s: %w", e.Link, err)
			}
			l.Put(e.Wire, 0, a)
			l.Put(e.Wire, 1, b)
			l.Granted(o.Buffer, min(a.Granted(), b.Granted()))
		case e.Kind == betweenHosts && e.Port >= 0 && e.Port <= 65535:
			o.Fragments = true
			u, err := link.BindUDP(netip.AddrPortFrom(here(e), uint16(e.Port)), o)
			if err != nil {
				return nil, fmt.Errorf("link %s: %w", e.Link, err)
			}
			l.Put(e.Wire, e.End, u)
			l.Granted(o.Buffer, u.Granted())
			e.Address = netip.AddrPortFrom(here(e), uint16(u.LocalPort())).String()
			ends = append(ends, e)
		default:
			return nil, errs.Errorf("link %s: an end of kind %q at port %d cannot be opened here",
				e.Link, e.Kind, e.Port)
		}
	}
	return ends, nil
}

// connectShare connects the ends of links between hosts to their other ends.
func connectShare(ends []End, f *fabric.Fabric, l *carrier.Links) error {
	largest := int(f.Largest().Datagram)
	narrowest := largest
	for _, e := range ends {
		if err := e.check(f); err != nil {
			return err
		}
		u, ok := l.Ends[e.Wire][e.End].(*link.UDP)
		to, err := netip.ParseAddrPort(e.PeerAddress)
		if !ok || err != nil {
			return fmt.Errorf("link %s: it does not lead from here to %q", e.Link, e.PeerAddress)
		}
		whole, err := u.Connect(to)
		if err != nil {
			return fmt.Errorf("link %s: %w", e.Link, err)
		}
		narrowest = min(narrowest, whole)
	}
	if narrowest < largest {
		l.Warnings = append(l.Warnings, fmt.Sprintf(
			"datagrams of up to %d bytes reach other hosts in fragments, because only %d bytes fit into a packet: an MTU of %d on the path avoids that", largest, narrowest, largest+48))
	}
	return nil
}

// await reads the content of the next message, which must be of a kind.
func await(peer *fleet.Peer, wanted kind, v any) error {
	k, b, err := read(peer.In, nil)
	switch {
	case err != nil:
		if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
			return errors.New("it sends nothing any more")
		}
		return fmt.Errorf("its connection is lost (%w)", err)
	case k == done:
		var r Report
		if json.Unmarshal(b, &r) == nil && r.Err != "" {
			return errors.New(r.Err)
		}
		return errors.New("a signal has ended it there")
	case k == quit:
		return errors.New("rank 0 has ended the run before it began")
	case k != wanted:
		return fmt.Errorf("a message of kind %q where %q is expected", byte(k), byte(wanted))
	}
	return json.Unmarshal(b, v)
}
