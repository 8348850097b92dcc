package dump

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/base/spelling"
	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
)

// pathsOf are the paths of the packets of some flows: the links that each has crossed, as the names
// of the interfaces say.
type pathsOf struct {
	names  []string
	wanted map[uint32]bool // queue pairs; of the present section
	on     map[packet]*trip
	counts map[uint32]map[string]*tally
}

// trip is a packet on its way.
type trip struct {
	links []string
	port  uint16 // of UDP, with RoCEv2 and UET
}

// tally is how many packets have taken a path, and with how many source ports.
type tally struct {
	packets int
	ports   map[uint16]bool
}

// section takes the names of flows of a section. It refuses a flow that is not there.
func (x *pathsOf) section(names Names) error {
	x.wanted, x.on = map[uint32]bool{}, map[packet]*trip{}
	if x.counts == nil {
		x.counts = map[uint32]map[string]*tally{}
	}
	var all []string
	for _, name := range names.flows {
		all = append(all, name)
	}
	slices.Sort(all)
	for _, want := range x.names {
		found := false
		for qp, name := range names.flows {
			if name == want || strings.HasPrefix(name, want+".") {
				x.wanted[qp], found = true, true
			}
		}
		if qp, err := strconv.ParseUint(want, 10, 24); err == nil && !found {
			x.wanted[uint32(qp)], found = true, true
		}
		if !found {
			return fmt.Errorf("--path: no flow of the capture is named %s%s; a queue pair is a number", want, spelling.DidYouMean(spelling.Nearest(want, all)))
		}
	}
	return nil
}

// take takes a packet of the capture, and prints the path of one that leaves for its destination.
func (x *pathsOf) take(w io.Writer, s *Summary, p *Packet, in *pcapng.Reader) error {
	f := &p.Frame
	if !x.wanted[f.QP] || f.Kind != wire.Data || p.Direction != pcapng.Outbound || p.Carried || p.again {
		return nil
	}
	e, key := s.endsOf(p), packet{f.QP, f.PSN}
	if e.here == 0 {
		return nil
	}
	t := x.on[key]
	if e.here == f.Src {
		if t = new(trip); f.Family == wire.RoCEv2 || f.Family == wire.UET {
			t.port = f.SourcePort()
		}
		x.on[key] = t
	}
	if t == nil {
		return nil // the capture lacks its begin
	}
	t.links = append(t.links, in.Interfaces[p.Interface].Description)
	if e.there != f.Dst {
		return nil
	}
	delete(x.on, key)
	path := strings.Join(t.links, " ")
	if x.counts[f.QP] == nil {
		x.counts[f.QP] = map[string]*tally{}
	}
	n := x.counts[f.QP][path]
	if n == nil {
		n = &tally{ports: map[uint16]bool{}}
		x.counts[f.QP][path] = n
	}
	n.packets++
	n.ports[t.port] = true
	_, err := fmt.Fprintf(w, "%6d %13s  %s psn=%d%s  %s\n", p.Number, seconds(p.Time), s.flowName(f.QP), f.PSN, portWord(t.port), path)
	return err
}

// portWord is the source port of a packet of RoCEv2.
func portWord(port uint16) string {
	if port == 0 {
		return ""
	}
	return fmt.Sprintf(" sport=%d", port)
}

// end prints how many packets have taken each path.
func (x *pathsOf) end(w io.Writer, s *Summary) error {
	if len(x.counts) == 0 {
		return errors.New("--path: the capture has no packet of these flows from its source to its destination: capture all links (--pcap without --pcap-filter)")
	}
	var qps []uint32
	for qp := range x.counts {
		qps = append(qps, qp)
	}
	slices.Sort(qps)
	for _, qp := range qps {
		var paths []string
		sum := 0
		for path, n := range x.counts[qp] {
			paths = append(paths, path)
			sum += n.packets
		}
		slices.SortFunc(paths, func(a, b string) int {
			return cmp.Or(cmp.Compare(x.counts[qp][b].packets, x.counts[qp][a].packets), cmp.Compare(a, b))
		})
		for _, path := range paths {
			n, ports := x.counts[qp][path], ""
			if !n.ports[0] {
				if ports = fmt.Sprintf(", %d source ports", len(n.ports)); len(n.ports) == 1 {
					ports = ", 1 source port"
				}
			}
			if _, err := fmt.Fprintf(w, "%s: %d of %d packets (%.3g %%)%s  %s\n", s.flowName(qp), n.packets, sum, 100*float64(n.packets)/float64(sum), ports, path); err != nil {
				return err
			}
		}
	}
	return nil
}
