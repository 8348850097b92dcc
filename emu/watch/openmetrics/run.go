package openmetrics

import (
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
	w := newWriter(to)
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

// help returns the description of a quantity, from the one table, of links or of flows.
func help(quantity string, ofFlows bool) string {
	for _, q := range metrics.Quantities() {
		if q.Name == quantity {
			if ofFlows {
				return q.Flows
			}
			return q.Links
		}
	}
	panic("openmetrics: there is no quantity " + quantity + "; this is a bug")
}

// each writes a family of n samples.
func (w *writer) each(f family, n int, sample func(i int) (float64, []label)) {
	w.begin(f)
	for i := range n {
		value, labels := sample(i)
		w.sample(value, labels...)
	}
}

// one writes a family of one sample.
func (w *writer) one(name string, k kind, help string, value float64, labels ...label) {
	w.begin(family{name, k, help})
	w.sample(value, labels...)
}

// run writes the metrics of the run as a whole.
func (w *writer) run(s *observe.Snapshot) {
	w.one("fabemu_run", info, "The run of these metrics.", 1,
		label{"scenario", s.Scenario.Name}, label{"clock", string(s.Clock)},
		label{"seed", strconv.FormatUint(s.Scenario.Model.Seed, 10)})
	w.one("fabemu_run_model_seconds", counter,
		"Model time up to which all counters are complete. Divide rates by the rate of this one: all other metrics count seconds of the model.",
		s.Figures.End().Seconds())
	w.one("fabemu_run_wall_seconds", counter, "Wall time since the start of the run.", s.Wall.Seconds())
	w.one("fabemu_run_duration_seconds", gauge, "How long the run is to last, in model time.", s.End.Seconds())
	if s.Clock == mode.WallClock {
		w.one("fabemu_run_dilation", gauge, "Wall time per model time that the run keeps to.", float64(s.Dilation))
	}
	if s.Level != "" {
		w.one("fabemu_run_verdict", info, "The verdict so far: how far the figures of the run can be trusted.", 1,
			label{"level", string(s.Level)})
		w.one("fabemu_run_late_ratio", gauge,
			"Share of the data frames that left late: by more than 5 % of a packet time.",
			float64(s.Verdict.Pace.LateShare))
		w.one("fabemu_run_late_floor_ratio", gauge, "The same for a loop that only waits, on this machine.",
			float64(s.Verdict.Pace.FloorShare))
		w.one("fabemu_run_violations", counter, "Promises of the fabric that were broken.",
			float64(s.Verdict.Violations))
		w.one("fabemu_run_lost_datagrams", counter, "Datagrams that the kernel lost.", float64(s.Verdict.LostDatagrams))
	}
	w.one("fabemu_run_deadlocks", counter, "Cycles of waiting that were found.", float64(len(s.Deadlocks)))
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
		w.one("fabemu_fault_begun", counter, "Faults that have started, by events of the scenario or by hand.", begun)
		w.one("fabemu_fault_ended", counter, "Events that have ended a fault.", ended)
		w.one("fabemu_fault_active", gauge, "Faults that last.", float64(len(scenario.Active(changes, s.Now))))
	}
	if len(s.Storms) > 0 {
		over := 0
		for i := range s.Storms {
			if s.Storms[i].To != unit.Never {
				over++
			}
		}
		w.one("fabemu_fault_storms", counter, "PFC storms that watchdogs have found.", float64(len(s.Storms)))
		w.one("fabemu_fault_storms_ended", counter, "Of them, those that ended.", float64(over))
	}
	drops := slices.DeleteFunc(s.Figures.Drops(), func(d metrics.ReasonCount) bool { return !d.Reason.OfFault() })
	if len(drops) > 0 {
		w.each(family{"fabemu_fault_dropped_packets", counter,
			"Frames that were discarded by a fault, as its consequence, or by a PFC watchdog, by the reason."}, len(drops),
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
		labels: []label{{"machine", m.Name}, {"port", strconv.Itoa(int(id) + 1)},
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
	each := func(name string, k kind, help string, of func(p *portOf) float64) {
		w.each(family{name, k, help}, len(all), func(i int) (float64, []label) { return of(&all[i]), all[i].labels })
	}
	each("fabemu_port_transmit_bytes", counter,
		"Data that left by the port, headers included, ACKs and flow control not.",
		func(p *portOf) float64 { return float64(p.Sent.Bytes) })
	each("fabemu_port_transmit_packets", counter, "Data frames that left by the port.",
		func(p *portOf) float64 { return float64(p.Sent.Frames) })
	each("fabemu_port_receive_bytes", counter, "Data that the far end has sent to the port.",
		func(p *portOf) float64 { return float64(p.Received.Bytes) })
	each("fabemu_port_receive_packets", counter, "Data frames that the far end has sent to the port.",
		func(p *portOf) float64 { return float64(p.Received.Frames) })
	each("fabemu_port_dropped_packets", counter, "Links: "+help("drops", false)+".",
		func(p *portOf) float64 { return float64(p.Drops) })
	each("fabemu_port_pause_frames_received", counter, "PAUSE and PFC frames that came.",
		func(p *portOf) float64 { return only(p.ethernet, float64(p.Pauses)) })
	each("fabemu_port_pause_frames_sent", counter, "PAUSE and PFC frames that the port has sent, and that came.",
		func(p *portOf) float64 { return only(p.ethernet, float64(p.pausesSent)) })
	each("fabemu_port_paused_seconds", counter, "Time in which the far end had paused the port, for some priority.",
		func(p *portOf) float64 { return only(p.ethernet, p.Paused.Seconds()) })
	each("fabemu_port_credit_stall_seconds", counter, "Time in which frames waited for lack of credit.",
		func(p *portOf) float64 { return only(!p.ethernet, p.Sent.Stalled[port.NoCredit].Seconds()) })
	each("fabemu_port_capacity_bytes_per_second", gauge, "The link rate.",
		func(p *portOf) float64 { return p.state.Capacity.BytesPerSecond() })
	each("fabemu_port_up", gauge, "Whether the link is up.", func(p *portOf) float64 { return truth(!p.state.Down) })
	each("fabemu_buffer_bytes", gauge,
		"Content of the buffer behind the port; on Ethernet the data that came by it and has not left.",
		func(p *portOf) float64 { return float64(p.state.Held) * p.block })
	each("fabemu_queue_bytes", gauge, "Data that waits in the switch for the link of the port.",
		func(p *portOf) float64 { return only(p.ofSwitch && p.state.Queue >= 0, float64(p.state.Queue)) })
	each("fabemu_queue_ecn_marked_packets", counter, "Data frames that were marked as they left by the port.",
		func(p *portOf) float64 { return only(p.ofSwitch, float64(p.Sent.Marked)) })
	w.begin(family{"fabemu_port_stopped", gauge,
		"Whether flow control keeps frames back that wait for the port, of a priority or virtual lane."})
	for _, x := range s.Stalls {
		end := s.Fabric.Wires[x.Hop.Wire].Ends[x.Hop.From]
		p := portAt(s, end.Node, end.Port)
		class := label{"vl", strconv.Itoa(int(x.Class))}
		if p.ethernet {
			class.name = "priority"
		}
		w.sample(1, append(p.labels, class, label{"cause", x.Block.String()})...)
	}
	w.begin(family{"fabemu_congestion_tree_flows", gauge,
		"Flows that wait for the root of a congestion tree, by the root."})
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
	each := func(name string, k kind, help string, of func(n *counts, x *state) float64) {
		w.each(family{name, k, help}, len(s.Flows), func(i int) (float64, []label) {
			n := s.Figures.Flow(i)
			return of(&n, &s.Flows[i]), flowLabels(s.Fabric, i)
		})
	}
	each("fabemu_flow_receive_bytes", counter, "Data of the flow that was received whole, headers included.",
		func(n *counts, _ *state) float64 { return float64(n.Bytes) })
	each("fabemu_flow_receive_packets", counter, "Data frames of the flow that were received whole.",
		func(n *counts, _ *state) float64 { return float64(n.Frames) })
	each("fabemu_flow_ecn_marked_packets", counter, "Of these, the marked ones.",
		func(n *counts, _ *state) float64 { return float64(n.Marked) })
	each("fabemu_flow_dropped_packets", counter, "Flows: "+help("drops", true)+".",
		func(n *counts, _ *state) float64 { return float64(n.Drops) })
	each("fabemu_flow_cnp_handled", counter, "Flows: "+help("notifications", true)+".",
		func(n *counts, _ *state) float64 { return float64(n.Notified) })
	each("fabemu_flow_marked_acks", counter, "ACKs that the source took in and that carry a mark back.",
		func(n *counts, _ *state) float64 { return float64(n.MarkedAcks) })
	each("fabemu_flow_retransmitted_packets", counter, "Segments that the source has sent again.",
		func(n *counts, _ *state) float64 { return float64(n.Retransmits) })
	each("fabemu_flow_transfers", counter, "Messages that have ended.",
		func(n *counts, _ *state) float64 { return float64(n.Transfers) })
	each("fabemu_flow_rate_limit_bits_per_second", gauge, "The rate of the source's rate limiter.",
		func(_ *counts, x *state) float64 { return only(x.Limit > 0, float64(x.Limit)) })
	each("fabemu_flow_rate_target_bits_per_second", gauge, "The rate that its reaction point aims at.",
		func(_ *counts, x *state) float64 { return only(x.Target > 0, float64(x.Target)) })
	each("fabemu_flow_congestion_window_bytes", gauge, "Congestion window of TCP.",
		func(_ *counts, x *state) float64 { return only(x.Window > 0, float64(x.Window)) })
	w.begin(family{"fabemu_flow_stalled_seconds", counter,
		"Time in which the source was kept from sending, by the cause."})
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
	each := func(name string, k kind, help string, of func(a *guest.RoCECounts) int64) {
		w.each(family{"fabemu_adapter_" + name, k, help}, len(s.Adapters), func(i int) (float64, []label) {
			a := &s.Adapters[i]
			return float64(of(&a.RoCECounts)), []label{{"machine", s.Fabric.Nodes[a.Node].Name}}
		})
	}
	each("np_cnp_sent", counter, "CNPs that the guest's adapter has sent.", func(a *guest.RoCECounts) int64 { return a.CNPSent })
	each("np_ecn_marked_roce_packets", counter, "Marked packets of RoCEv2 that came to it.", func(a *guest.RoCECounts) int64 { return a.ECNMarked })
	each("rp_cnp_handled", counter, "CNPs that came for a queue pair with a reaction point.", func(a *guest.RoCECounts) int64 { return a.CNPHandled })
	each("rp_cnp_ignored", counter, "Other CNPs that came.", func(a *guest.RoCECounts) int64 { return a.CNPIgnored })
	each("out_of_pairs", counter, "Packets of queue pairs for which it had no place.", func(a *guest.RoCECounts) int64 { return a.OutOfPairs })
	each("tx_discards", counter, "Packets, and CNPs, for which it had no room.", func(a *guest.RoCECounts) int64 { return a.Discards })
	each("queue_pairs", gauge, "Queue pairs that the guest sends to.", func(a *guest.RoCECounts) int64 { return int64(a.Pairs) })
	w.begin(family{"fabemu_adapter_rx_pause", counter, "PFC frames that came, by the priority."})
	for _, a := range s.Adapters {
		for p, n := range s.Figures.Classes(a.Node, 0) {
			w.sample(float64(n), label{"machine", s.Fabric.Nodes[a.Node].Name}, label{"priority", strconv.Itoa(p)})
		}
	}
}

// checks writes the values of claims.
func (w *writer) checks(s *observe.Snapshot) {
	w.begin(family{"fabemu_check_value", gauge, "Value of a claim of the scenario, once it is known."})
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
	ib := func(name, help string, of func(p *portOf) float64) {
		w.each(family{"node_infiniband_" + name, counter, help}, len(all), func(i int) (float64, []label) {
			p := &all[i]
			return only(!p.ethernet, of(p)), []label{{"device", p.labels[0].value}, {"port", p.labels[1].value}}
		})
	}
	ib("port_data_transmitted_bytes", "Number of data octets transmitted on all links",
		func(p *portOf) float64 { return float64(p.Sent.Bytes) })
	ib("port_data_received_bytes", "Number of data octets received on all links",
		func(p *portOf) float64 { return float64(p.Received.Bytes) })
	ib("port_packets_transmitted", "Number of packets transmitted on all VLs by this port (including errors)",
		func(p *portOf) float64 { return float64(p.Sent.Frames + p.Sent.Acks) })
	ib("port_packets_received", "Number of packets received on all VLs by this port (including errors)",
		func(p *portOf) float64 { return float64(p.Received.Frames + p.Received.Acks) })
	ib("port_transmit_wait",
		"Number of ticks during which the port had data to transmit but no data was sent during the entire tick. A tick is 1 ns of model time.", func(p *portOf) float64 {
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
	roce := func(name, help string, of func(*adapter) float64) {
		w.each(family{"node_infiniband_" + name, counter, help}, len(adapters), func(i int) (float64, []label) {
			return of(adapters[i]), []label{{"device", f.Nodes[adapters[i].node].Name}, {"port", "1"}}
		})
	}
	roce("np_ecn_marked_roce_packets_received",
		"Number of RoCEv2 packets received by the notification point which were marked for experienced congestion (bits where the ECN field is set to CE)",
		func(a *adapter) float64 { return a.marked })
	roce("rp_cnp_packets_handled",
		"Number of CNP packets handled by the Reaction Point to throttle the transmission rate",
		func(a *adapter) float64 { return a.handled })
	if len(s.Adapters) > 0 {
		roce("np_cnp_packets_sent", "Number of CNP packets sent by the Notification Point", func(a *adapter) float64 { return a.sent })
		roce("rp_cnp_ignored_packets_received", "Number of CNP packets received and ignored by the Reaction Point", func(a *adapter) float64 { return a.ignored })
	}
	net := func(name, help string, of func(p *portOf) float64) {
		w.each(family{"node_network_" + name, counter, help}, len(all), func(i int) (float64, []label) {
			device := all[i].labels[0].value
			if all[i].ofSwitch {
				device += "/" + all[i].labels[1].value
			}
			return of(&all[i]), []label{{"device", device}}
		})
	}
	net("transmit_bytes", "Network device statistic transmit_bytes.",
		func(p *portOf) float64 { return float64(p.Sent.Bytes) })
	net("receive_bytes", "Network device statistic receive_bytes.",
		func(p *portOf) float64 { return float64(p.Received.Bytes) })
	net("transmit_packets", "Network device statistic transmit_packets.",
		func(p *portOf) float64 { return float64(p.Sent.Frames + p.Sent.Acks) })
	net("receive_packets", "Network device statistic receive_packets.",
		func(p *portOf) float64 { return float64(p.Received.Frames + p.Received.Acks) })
	net("receive_drop", "Network device statistic receive_drop.", func(p *portOf) float64 { return float64(p.Drops) })
}
