package capture

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"fabemu/emu/base/errs"
	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Request selects the frames of a run that are captured, and their destination.
type Request struct {
	To io.Writer // an io.WriterAt gets the verdict into its first block, too
	// Capture only these ports (B:3), nodes, links and flows.
	//
	// A link or a direction of it ("trunk", "trunk.A-B") means the ports at its ends, or the one
	// that sends. A name of both kinds is the name of a port, node or link. If ports are named,
	// frames are captured there; if flows or their groups are named, their frames are captured. No
	// name is everything. The names are written into the file.
	Filter []string `flag:"pcap-filter" group:"Capture" arg:"NAME,..." needs:"pcap"`
	// Keep this many bytes of a data frame, and headers in any case; 0: all.
	//
	// Wireshark calls packets of InfiniBand and RoCE that are cut Malformed. 128 leaves all
	// headers, also in the packet of a host. Frames of other kinds are kept whole.
	Snap int `flag:"pcap-snap" arg:"BYTES" needs:"pcap" def:"0" low:"0" high:"65535"`
	// Record each frame at both ends of its link.
	//
	// By default a frame is recorded once: data where it is sent, a control frame where it takes
	// effect.
	Both bool `flag:"pcap-both" needs:"pcap"`
	// Rotate, if not 0, is how many bytes a file may have, Options.Smallest at least. Then
	// Next ends it and begins the next one; each can be read by itself.
	Rotate unit.Size
	Next   func() (io.Writer, error)
	// Time of the stamps: model time, or wall time.
	Time Time `flag:"pcap-time" needs:"pcap" def:"model" words:"model|wall"`
}

// Time is a word for the stamps of frames; empty: model.
type Time string

// WallTime is that of the wall clock.
const WallTime Time = "wall"

// DefaultSnap is the snap length of captures on the command line: whole frames, since Wireshark's
// dissector of InfiniBand shows no packet whose payload is cut (parse_PAYLOAD).
const DefaultSnap = 0

// HeaderSnap is a snap length with room for all headers, also in the packet of a host, and for none
// of the payload that makes a capture large.
const HeaderSnap = 128

// Begin begins the capture of a run of a fabric, which keeps to the wall clock or not, in this
// process or in others; the comment describes the run. The driver's goroutine calls now for the
// scenario with the events that have come so far.
func Begin(f *fabric.Fabric, q *Request, wall, apart bool, comment string, now func() *scenario.Scenario) (*Capture, error) {
	o := Options{Request: *q, Ports: portsOf(f), Wall: wall, Apart: apart, ByPacket: f.Scenario.ByPacket()}
	if err := narrow(&o, f, q.Filter); err != nil {
		return nil, err
	}
	o.Names, o.Nodes = make(map[uint32]string), make(map[wire.LID]string)
	for i := range f.Nodes {
		o.Nodes[f.Nodes[i].LID] = f.Nodes[i].Name
	}
	for i := range f.Flows {
		o.Names[f.Flows[i].QP] = f.Flows[i].Name
	}
	o.Comment = comment + ". Times are model times, from 1970 on"
	if q.Time == WallTime {
		o.Comment = comment + ". Times are wall times"
	}
	var last *scenario.Scenario
	o.Faults = func(from unit.Time) (all []Fault, changed bool) {
		if s := now(); s != last {
			last, changed, all = s, true, faultsOf(f, s, from)
		}
		return all, changed
	}
	if o.Rotate > 0 && o.Rotate < o.Smallest() {
		return nil, errs.Errorf("a capture in files of %v: the start and the end of each file, and a frame, take %v",
			o.Rotate, o.Smallest())
	}
	return New(q.To, o), nil
}

// faultsOf returns the begins and ends of the faults of links from an instant on, at the ports
// where they have an effect. The changes of other events are events of ports.
func faultsOf(f *fabric.Fabric, s *scenario.Scenario, from unit.Time) (all []Fault) {
	for _, x := range s.Changes() {
		e := &s.Events[x.Event]
		if x.At < from {
			continue
		}
		for w := range f.Wires {
			for k, here := range e.Seen(f.Wires[w].Link) {
				if here {
					all = append(all, Fault{x.At, 2*w + k, x.What})
				}
			}
		}
	}
	return all
}

// portsOf returns the ports of a fabric as interfaces: the ports of wire i are 2i and
// 2i+1.
func portsOf(f *fabric.Fabric) []Port {
	var ports []Port
	for i := range f.Wires {
		w := &f.Wires[i]
		for end, e := range w.Ends {
			peer := w.Ends[1-end].Node
			ports = append(ports, Port{
				Node: e.Node, Port: e.Port,
				Name:        fmt.Sprintf("%s:%d <- %s", f.Nodes[e.Node].Name, e.Port, f.Nodes[peer].Name),
				Description: f.LinkName(fabric.Hop{Wire: i, From: end}),
				Ethernet:    w.Link.Family() == wire.Ethernet,
				Rate:        w.Link.Rate,
				Comment:     parametersOf(f, w.Link),
			})
		}
	}
	return ports
}

// parametersOf returns what proofs need to know of a link: the credits of its virtual channels, or
// the response of its ports to PAUSE; empty: nothing.
func parametersOf(f *fabric.Fabric, l *scenario.Link) string {
	switch {
	case l.Response != port.Response{}:
		return "response=" + l.Response.String()
	case l.FlowControl != port.ChannelCredits:
		return ""
	}
	c := &l.CBFC
	return fmt.Sprintf("cbfc framing=%d credit=%d overhead=%d limit=%d port-limit=%d lossless=%02x channels=%x",
		f.Framing(), c.Credit, c.Overhead, c.Limit, c.PortLimit, c.Lossless, c.Channels)
}

// narrow puts the names of a filter into o.
func narrow(o *Options, f *fabric.Fabric, names []string) error {
	for _, name := range names {
		found := false
		for i := range f.Wires {
			for end, e := range f.Wires[i].Ends {
				p := 2*i + end
				switch port, _, _ := strings.Cut(o.Ports[p].Name, " "); name {
				case f.Wires[i].Name, f.Nodes[e.Node].Name, port, o.Ports[p].Description:
					found = true
					if o.Only == nil {
						o.Only = make([]bool, len(o.Ports))
					}
					o.Only[p] = true
				}
			}
		}
		for i := range f.Flows {
			if found || f.Flows[i].Name != name && f.Flows[i].Group != name {
				continue
			}
			if o.Flows == nil {
				o.Flows = map[uint32]bool{}
			}
			o.Flows[f.Flows[i].QP] = true
		}
		if !found && !slices.ContainsFunc(f.Flows, func(w fabric.Flow) bool { return w.Name == name || w.Group == name }) {
			port, _, _ := strings.Cut(o.Ports[0].Name, " ")
			return errs.Errorf("capture filter: %q is not a port, node, link or flow of this scenario; a port is named such as %s",
				name, port)
		}
	}
	return nil
}
