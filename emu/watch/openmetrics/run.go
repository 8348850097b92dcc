package openmetrics

import (
	"bufio"
	"io"
	"math"
	"slices"
	"strconv"

	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/run/guest"
	"fabemu/emu/run/mode"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/observe"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Names selects the names of metrics.
type Names string

// The names.
const (
	Own          Names = "fabemu"
	NodeExporter Names = "node-exporter"
)

// Write writes a snapshot under the names of n.
func (n Names) Write(to io.Writer, s *observe.Snapshot) error {
	w := &writer{Writer: bufio.NewWriter(to)}
	w.run(s)
	w.faults(s)
	if n == NodeExporter {
		w.nodes(s)
	} else {
		w.ports(s)
		w.flows(s)
		w.adapters(s)
		w.checks(s)
	}
	return w.end()
}

// each writes a family of n samples.
func (w *writer) each(name string, n int, sample func(i int) (float64, []label)) {
	w.begin(name)
	for i := range n {
		value, labels := sample(i)
		w.sample(value, labels...)
	}
}

// one writes a family of one sample.
func (w *writer) one(name string, value float64, labels ...label) {
	w.begin(name)
	w.sample(value, labels...)
}

// run writes the metrics of the run as a whole.
func (w *writer) run(s *observe.Snapshot) {
	w.one("fabemu_run", 1,
		label{"scenario", s.Scenario.Name}, label{"clock", string(s.Clock)},
		label{"seed", strconv.FormatUint(s.Scenario.Model.Seed, 10)})
	w.one("fabemu_run_model_seconds", s.Figures.End().Seconds())
	w.one("fabemu_run_wall_seconds", s.Wall.Seconds())
	w.one("fabemu_run_duration_seconds", s.End.Seconds())
	if s.Clock == mode.WallClock {
		w.one("fabemu_run_dilation", float64(s.Dilation))
	}
	if s.Level != "" {
		w.one("fabemu_run_verdict", 1, label{"level", string(s.Level)})
		w.one("fabemu_run_late_ratio", float64(s.Verdict.Pace.LateShare))
		w.one("fabemu_run_late_floor_ratio", float64(s.Verdict.Pace.FloorShare))
		w.one("fabemu_run_violations", float64(s.Verdict.Violations))
		w.one("fabemu_run_lost_datagrams", float64(s.Verdict.LostDatagrams))
	}
	w.one("fabemu_run_deadlocks", float64(len(s.Deadlocks)))
}

// faults writes the faults, and the frames that were discarded because of them, if there are any.
func (w *writer) faults(s *observe.Snapshot) {
	var begun, ended float64
	changes := s.Scenario.Changes()
	for _, c := range changes {
		switch {
		case c.Fault == "" || c.At > s.Now:
		case c.Ends:
			ended++
		default:
			begun++
		}
	}
	if begun > 0 {
		w.one("fabemu_fault_begun", begun)
		w.one("fabemu_fault_ended", ended)
		w.one("fabemu_fault_active", float64(len(scenario.Active(changes, s.Now))))
	}
	if len(s.Storms) > 0 {
		over := 0
		for i := range s.Storms {
			if s.Storms[i].To != unit.Never {
				over++
			}
		}
		w.one("fabemu_fault_storms", float64(len(s.Storms)))
		w.one("fabemu_fault_storms_ended", float64(over))
	}
	drops := slices.DeleteFunc(s.Figures.Drops(), func(d metrics.ReasonCount) bool { return !d.Reason.OfFault() })
	if len(drops) > 0 {
		w.each("fabemu_fault_dropped_packets", len(drops),
			func(i int) (float64, []label) {
				return float64(drops[i].Count), []label{{"reason", drops[i].Reason.String()}}
			})
	}
}

// portOf is a port and its figures.
type portOf struct {
	metrics.PortTotals
	state      *metrics.PortState
	ethernet   bool
	ofSwitch   bool
	block      float64 // bytes that PortState.Held counts by
	pausesSent int64   // PAUSE and PFC frames of this port that its far end received
	labels     []label // node, port, link
}

// portsOf returns all ports, by node and number.
func portsOf(s *observe.Snapshot) (all []portOf) {
	for i := range s.Fabric.Nodes {
		for k := range s.Fabric.Nodes[i].Ports {
			all = append(all, portAt(s, i, port.ID(k)))
		}
	}
	return all
}

func portAt(s *observe.Snapshot, node int, id port.ID) portOf {
	m := &s.Fabric.Nodes[node]
	at := m.Ports[id]
	p := portOf{
		PortTotals: s.Figures.Port(node, id), state: s.Port(node, id),
		ethernet: s.Fabric.Wires[at.Wire].Link.Family() == wire.Ethernet, ofSwitch: m.Switch != nil,
		block: wire.BlockSize,
		labels: []label{{"node", m.Name}, {"port", strconv.Itoa(int(id) + 1)},
			{"link", s.Fabric.LinkName(at.Out())}},
	}
	if p.ethernet {
		far := s.Fabric.Wires[at.Wire].Ends[1-at.End]
		p.block, p.pausesSent = 1, s.Figures.Port(far.Node, far.Port).Pauses
	}
	return p
}

// truth is 1 or 0.
func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// only returns v under a condition, and NaN, which is left out, otherwise.
func only(is bool, v float64) float64 {
	if is {
		return v
	}
	return math.NaN()
}

// ports writes the metrics of ports, under our own names.
func (w *writer) ports(s *observe.Snapshot) {
	all := portsOf(s)
	each := func(name string, of func(p *portOf) float64) {
		w.each(name, len(all), func(i int) (float64, []label) { return of(&all[i]), all[i].labels })
	}
	each("fabemu_port_transmit_bytes", func(p *portOf) float64 { return float64(p.Sent.Bytes) })
	each("fabemu_port_transmit_packets", func(p *portOf) float64 { return float64(p.Sent.Frames) })
	each("fabemu_port_receive_bytes", func(p *portOf) float64 { return float64(p.Received.Bytes) })
	each("fabemu_port_receive_packets", func(p *portOf) float64 { return float64(p.Received.Frames) })
	each("fabemu_port_dropped_packets", func(p *portOf) float64 { return float64(p.Drops) })
	each("fabemu_port_pause_frames_received", func(p *portOf) float64 { return only(p.ethernet, float64(p.Pauses)) })
	each("fabemu_port_pause_frames_sent", func(p *portOf) float64 { return only(p.ethernet, float64(p.pausesSent)) })
	each("fabemu_port_paused_seconds", func(p *portOf) float64 { return only(p.ethernet, p.Paused.Seconds()) })
	each("fabemu_port_credit_stall_seconds", func(p *portOf) float64 {
		return only(!p.ethernet, p.Sent.Stalled[port.NoCredit].Seconds())
	})
	each("fabemu_port_capacity_bytes_per_second", func(p *portOf) float64 {
		return p.state.Capacity.BytesPerSecond()
	})
	each("fabemu_port_up", func(p *portOf) float64 { return truth(!p.state.Down) })
	each("fabemu_buffer_bytes", func(p *portOf) float64 { return float64(p.state.Held) * p.block })
	each("fabemu_queue_bytes", func(p *portOf) float64 {
		return only(p.ofSwitch && p.state.Queue >= 0, float64(p.state.Queue))
	})
	each("fabemu_queue_ecn_marked_packets", func(p *portOf) float64 {
		return only(p.ofSwitch, float64(p.Sent.Marked))
	})
	w.begin("fabemu_port_stopped")
	for _, x := range s.Stalls {
		end := s.Fabric.Wires[x.Hop.Wire].Ends[x.Hop.From]
		p := portAt(s, end.Node, end.Port)
		class := label{"vl", strconv.Itoa(int(x.Class))}
		if p.ethernet {
			class.name = "priority"
		}
		w.sample(1, append(p.labels, class, label{"cause", x.Block.String()})...)
	}
	w.begin("fabemu_congestion_tree_flows")
	named := map[string]bool{}
	for _, t := range s.Trees {
		if !named[t.Words] {
			named[t.Words] = true
			w.sample(float64(len(t.Flows)), label{"tree", t.Words})
		}
	}
}

// flows writes the metrics of flows, under our own names.
func (w *writer) flows(s *observe.Snapshot) {
	type counts = metrics.FlowCounts
	type state = metrics.FlowState
	each := func(name string, of func(n *counts, x *state) float64) {
		w.each(name, len(s.Flows), func(i int) (float64, []label) {
			n := s.Figures.Flow(i)
			return of(&n, &s.Flows[i]), flowLabels(s.Fabric, i)
		})
	}
	each("fabemu_flow_receive_bytes", func(n *counts, _ *state) float64 { return float64(n.Bytes) })
	each("fabemu_flow_receive_packets", func(n *counts, _ *state) float64 { return float64(n.Frames) })
	each("fabemu_flow_ecn_marked_packets", func(n *counts, _ *state) float64 { return float64(n.Marked) })
	each("fabemu_flow_dropped_packets", func(n *counts, _ *state) float64 { return float64(n.Drops) })
	each("fabemu_flow_cnp_handled", func(n *counts, _ *state) float64 { return float64(n.Notified) })
	each("fabemu_flow_marked_acks", func(n *counts, _ *state) float64 { return float64(n.MarkedAcks) })
	each("fabemu_flow_retransmitted_packets", func(n *counts, _ *state) float64 { return float64(n.Retransmits) })
	each("fabemu_flow_transfers", func(n *counts, _ *state) float64 { return float64(n.Transfers) })
	each("fabemu_flow_rate_limit_bits_per_second", func(_ *counts, x *state) float64 {
		return only(x.Limit > 0, float64(x.Limit))
	})
	each("fabemu_flow_rate_target_bits_per_second", func(_ *counts, x *state) float64 {
		return only(x.Target > 0, float64(x.Target))
	})
	each("fabemu_flow_congestion_window_bytes", func(_ *counts, x *state) float64 {
		return only(x.Window > 0, float64(x.Window))
	})
	w.begin("fabemu_flow_stalled_seconds")
	for i := range s.Flows {
		n := s.Figures.Flow(i)
		for b := port.LinkBusy; b < port.Blocks; b++ {
			if n.Stalled[b] > 0 {
				w.sample(n.Stalled[b].Seconds(),
					append(flowLabels(s.Fabric, i), label{"cause", b.String()})...)
			}
		}
	}
}

func flowLabels(f *fabric.Fabric, i int) []label {
	return []label{{"flow", f.Flows[i].Name}, {"group", f.Flows[i].Group}}
}

// adapters writes the counters of guests' adapters, if there are any.
func (w *writer) adapters(s *observe.Snapshot) {
	if len(s.Adapters) == 0 {
		return
	}
	each := func(name string, of func(a *guest.RoCECounts) int64) {
		w.each("fabemu_adapter_"+name, len(s.Adapters), func(i int) (float64, []label) {
			a := &s.Adapters[i]
			return float64(of(&a.RoCECounts)), []label{{"node", s.Fabric.Nodes[a.Node].Name}}
		})
	}
	each("np_cnp_sent", func(a *guest.RoCECounts) int64 { return a.CNPSent })
	each("np_ecn_marked_roce_packets", func(a *guest.RoCECounts) int64 { return a.ECNMarked })
	each("rp_cnp_handled", func(a *guest.RoCECounts) int64 { return a.CNPHandled })
	each("rp_cnp_ignored", func(a *guest.RoCECounts) int64 { return a.CNPIgnored })
	each("out_of_pairs", func(a *guest.RoCECounts) int64 { return a.OutOfPairs })
	each("tx_discards", func(a *guest.RoCECounts) int64 { return a.Discards })
	each("rx_icrc_encapsulated", func(a *guest.RoCECounts) int64 { return a.Damaged })
	each("queue_pairs", func(a *guest.RoCECounts) int64 { return int64(a.Pairs) })
	w.begin("fabemu_adapter_rx_pause")
	for _, a := range s.Adapters {
		for p, n := range s.Figures.Classes(a.Node, 0) {
			w.sample(float64(n), label{"node", s.Fabric.Nodes[a.Node].Name}, label{"priority", strconv.Itoa(p)})
		}
	}
}

// checks writes the values of claims.
func (w *writer) checks(s *observe.Snapshot) {
	w.begin("fabemu_check_value")
	for i := range s.Checks {
		if c := &s.Checks[i]; c.Decided {
			w.sample(float64(c.Value), label{"check", c.ID}, label{"metric", c.Metric},
				label{"outcome", string(c.Outcome)})
		}
	}
}

// nodes writes the metrics under the names of node_exporter: its collectors netclass and netdev
// for all ports, and infiniband for ports of InfiniBand and for the counters of RoCE adapters. A
// device is a node; for netdev, which has no ports, each port of a switch is a device.
func (w *writer) nodes(s *observe.Snapshot) {
	f := s.Fabric
	all := portsOf(s)
	ib := func(name string, of func(p *portOf) float64) {
		w.each("node_infiniband_"+name, len(all), func(i int) (float64, []label) {
			p := &all[i]
			return only(!p.ethernet, of(p)), []label{{"device", p.labels[0].value}, {"port", p.labels[1].value}}
		})
	}
	ib("port_data_transmitted_bytes", func(p *portOf) float64 { return float64(p.Sent.Bytes) })
	ib("port_data_received_bytes", func(p *portOf) float64 { return float64(p.Received.Bytes) })
	ib("port_packets_transmitted", func(p *portOf) float64 { return float64(p.Sent.Frames + p.Sent.Acks) })
	ib("port_packets_received", func(p *portOf) float64 { return float64(p.Received.Frames + p.Received.Acks) })
	ib("port_transmit_wait", func(p *portOf) float64 {
		return math.Round(p.Sent.Stalled[port.NoCredit].Seconds() * 1e9)
	})
	// The counters of a RoCE adapter cover all flows that begin or end there.
	type adapter struct {
		node                           int
		marked, handled, sent, ignored float64 // the latter two only of guests
	}
	var adapters []*adapter
	known := map[int]*adapter{}
	at := func(node int) *adapter {
		if known[node] == nil {
			known[node] = &adapter{node: node}
			adapters = append(adapters, known[node])
		}
		return known[node]
	}
	for i := range f.Flows {
		if f.Flows[i].Family == wire.Ethernet {
			n := s.Figures.Flow(i)
			at(f.Flows[i].Dst).marked += float64(n.Marked)
			at(f.Flows[i].Src).handled += float64(n.Notified)
		}
	}
	for _, own := range s.Adapters {
		*at(own.Node) = adapter{own.Node, float64(own.ECNMarked), float64(own.CNPHandled), float64(own.CNPSent), float64(own.CNPIgnored)}
	}
	roce := func(name string, of func(*adapter) float64) {
		w.each("node_infiniband_"+name, len(adapters), func(i int) (float64, []label) {
			return of(adapters[i]), []label{{"device", f.Nodes[adapters[i].node].Name}, {"port", "1"}}
		})
	}
	roce("np_ecn_marked_roce_packets_received", func(a *adapter) float64 { return a.marked })
	roce("rp_cnp_packets_handled", func(a *adapter) float64 { return a.handled })
	if len(s.Adapters) > 0 {
		roce("np_cnp_packets_sent", func(a *adapter) float64 { return a.sent })
		roce("rp_cnp_ignored_packets_received", func(a *adapter) float64 { return a.ignored })
	}
	net := func(name string, of func(p *portOf) float64) {
		w.each("node_network_"+name, len(all), func(i int) (float64, []label) {
			device := all[i].labels[0].value
			if all[i].ofSwitch {
				device += "/" + all[i].labels[1].value
			}
			return of(&all[i]), []label{{"device", device}}
		})
	}
	net("transmit_bytes", func(p *portOf) float64 { return float64(p.Sent.Bytes) })
	net("receive_bytes", func(p *portOf) float64 { return float64(p.Received.Bytes) })
	net("transmit_packets", func(p *portOf) float64 { return float64(p.Sent.Frames + p.Sent.Acks) })
	net("receive_packets", func(p *portOf) float64 { return float64(p.Received.Frames + p.Received.Acks) })
	net("receive_drop", func(p *portOf) float64 { return float64(p.Drops) })
}
