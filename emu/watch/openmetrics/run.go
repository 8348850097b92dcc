package openmetrics

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/run/mode"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/observe"
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
	w := &writer{Writer: bufio.NewWriter(to), families: familiesOf(s.Figures)}
	w.run(s)
	w.faults(s)
	w.links(s, n)
	if n == Own {
		w.stops(s)
	}
	for of := range labels {
		w.objects(s, n, metrics.Object(of))
	}
	if n == Own {
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
	w.one("fabemu_run_model_seconds", s.Figures.Until().Seconds())
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

// portOf is a port, with the direction of its link that leaves it and the one that comes to it.
type portOf struct {
	out, in  fabric.Hop
	ethernet bool
	labels   []label // node, port, link
	device   string  // of a switch with the port
}

// portsOf returns all ports, by node and number.
func portsOf(f *fabric.Fabric) (all []portOf) {
	for i := range f.Nodes {
		for k := range f.Nodes[i].Ports {
			all = append(all, portAt(f, i, port.ID(k)))
		}
	}
	return all
}

func portAt(f *fabric.Fabric, node int, id port.ID) portOf {
	m := &f.Nodes[node]
	at := m.Ports[id]
	p := portOf{
		out: at.Out(), in: at.In(), ethernet: metrics.InBytes(f, at.Wire), device: m.Name,
		labels: []label{{"node", m.Name}, {"port", strconv.Itoa(int(id) + 1)}, {"link", f.LinkName(at.Out())}},
	}
	if m.Switch != nil {
		p.device += "/" + p.labels[1].value
	}
	return p
}

// labelsFor returns the labels of a port under a name: a device of node_exporter's collector
// infiniband is a node, and of netdev, which has no ports, each port of a switch.
func (p *portOf) labelsFor(name string) []label {
	switch {
	case strings.HasPrefix(name, "node_infiniband_"):
		return []label{{"device", p.labels[0].value}, p.labels[1]}
	case strings.HasPrefix(name, "node_"):
		return []label{{"device", p.device}}
	}
	return p.labels
}

// has reports whether a name of a metric is one of n.
func (n Names) has(name string) bool { return strings.HasPrefix(name, "node_") == (n == NodeExporter) }

// links writes the figures of links, as metrics of their ports.
func (w *writer) links(s *observe.Snapshot, n Names) {
	all := portsOf(s.Fabric)
	for f := range s.Figures.Figures(metrics.Link) {
		for k := range f.Prometheus {
			e := &f.Prometheus[k]
			if !n.has(e.Name) {
				continue
			}
			w.begin(e.Name)
			for i := range all {
				x := metrics.At{View: s.Figures, Hop: all[i].out}
				if e.Far {
					x.Hop = all[i].in
				}
				w.figure(f, e, x, all[i].labelsFor(e.Name))
			}
		}
	}
}

// labels are the labels of objects by their kind, under a name of a metric.
var labels = [...]func(x metrics.At, name string) []label{
	metrics.Flow: func(x metrics.At, _ string) []label {
		flow := &x.Fabric().Flows[x.Flow]
		return []label{{"flow", flow.Name}, {"group", flow.Group}}
	},
	metrics.Workload:   func(x metrics.At, _ string) []label { return []label{{"workload", x.String()}} },
	metrics.Collective: func(x metrics.At, _ string) []label { return []label{{"workload", x.String()}} },
	metrics.Adapter: func(x metrics.At, name string) []label {
		if strings.HasPrefix(name, "node_") {
			return []label{{"device", x.String()}, {"port", "1"}}
		}
		return []label{{"node", x.String()}}
	},
}

// objects writes the figures of the objects of a kind that has labels.
func (w *writer) objects(s *observe.Snapshot, n Names, of metrics.Object) {
	if labels[of] == nil {
		return
	}
	for f := range s.Figures.Figures(of) {
		for k := range f.Prometheus {
			e := &f.Prometheus[k]
			if !n.has(e.Name) {
				continue
			}
			for x := range s.Figures.Objects(of) {
				w.begin(e.Name)
				w.figure(f, e, x, labels[of](x, e.Name))
			}
		}
	}
}

// figure writes the samples of a figure of an object: one, or one for each of its parts.
func (w *writer) figure(f *metrics.Figure, e *metrics.Exposed, x metrics.At, labels []label) {
	if e.Where != nil && !e.Where(x) {
		return
	}
	as := e.As
	if as == nil {
		as = func(v float64) float64 { return v }
	}
	if f.By() == "" {
		w.sample(as(f.Read(x)), labels...)
	}
	f.Each(x, func(part string, v float64) { w.sample(as(v), append(labels, label{f.By(), part})...) })
}

// stops writes which ports flow control stops, and the congestion trees.
func (w *writer) stops(s *observe.Snapshot) {
	w.begin("fabemu_port_stopped")
	for _, x := range s.Stalls {
		end := s.Fabric.Wires[x.Hop.Wire].Ends[x.Hop.From]
		p := portAt(s.Fabric, end.Node, end.Port)
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
