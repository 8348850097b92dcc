package emu

import (
	"fmt"

	"fabemu/emu/drive"
	"fabemu/emu/scenario"
	"fabemu/emu/topo"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/node/traffic"
	"fabemu/switchd"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// builder turns a fabric that is laid out into machines that run.
type builder struct {
	scenario *scenario.Scenario
	fabric   *topo.Fabric
	framing  wire.Framing
	packet   int       // the largest data frame, in blocks
	length   unit.Size // and its length on the line
	datagram unit.Size // and with its trailer in a datagram
	events   trace.Sink
}

// measure finds the largest data frame.
func (b *builder) measure() {
	if b.scenario.Model.Framing == "wire" {
		b.framing = wire.WireFraming
	}
	for i := range b.fabric.Flows {
		frame := wire.Frame{Kind: wire.Data, Payload: uint32(b.fabric.Flows[i].Packet)}
		b.packet = max(b.packet, frame.Blocks())
		b.length = max(b.length, b.framing.Length(&frame))
		b.datagram = max(b.datagram, frame.WireSize()+wire.TrailerSize)
	}
}

// build makes the machines of a scenario; they report to events.
func build(s *scenario.Scenario, f *topo.Fabric, events trace.Sink) (*drive.Fabric, error) {
	b := &builder{scenario: s, fabric: f, events: events}
	b.measure()
	out := &drive.Fabric{End: unit.Time(s.Model.Duration)}
	for i := range f.Machines {
		var m drive.Machine
		var err error
		if f.Machines[i].Switch != nil {
			m, err = b.newSwitch(i)
		} else {
			m, err = b.newEndpoint(i)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Machines[i].Name, err)
		}
		out.Machines = append(out.Machines, m)
	}
	for _, w := range f.Wires {
		out.Wires = append(out.Wires, [2]drive.End{{Machine: w.Ends[0].Machine, Port: w.Ends[0].Port}, {Machine: w.Ends[1].Machine, Port: w.Ends[1].Port}})
	}
	out.Watch = b.watch()
	for _, e := range s.Events {
		for i := range f.Wires {
			w := &f.Wires[i]
			if w.Name != e.Link {
				continue
			}
			for _, end := range w.Ends {
				out.Changes = append(out.Changes, drive.Change{At: unit.Time(e.At), Machine: end.Machine, Event: port.Event{Port: end.Port, Kind: port.RateChange, Rate: e.Rate}})
			}
		}
	}
	return out, nil
}

// watch says how often to look for deadlock: rarely enough to cost nothing, and not
// before each port has told its credit anew and what was under way has come.
func (b *builder) watch() *drive.Watch {
	const looks = 100 // in a run
	w := &drive.Watch{Every: b.scenario.Model.Duration / looks}
	for i := range b.fabric.Wires {
		l := b.fabric.Wires[i].Link
		w.Every = max(w.Every, l.Resend+10*(l.Propagation+l.Rate.Serialise(b.length)))
	}
	w.Idle = 10 * w.Every
	for i := range b.fabric.Flows {
		w.Settled = max(w.Settled, b.fabric.Flows[i].Start)
	}
	return w
}

// room returns a buffer in blocks of credit.
func (b *builder) room(r scenario.Buffer) int {
	if r.Packets > 0 {
		return r.Packets * b.packet
	}
	return int(r.Bytes / wire.BlockSize)
}

// port describes one port of a machine.
func (b *builder) port(p topo.Port) port.Config {
	w := &b.fabric.Wires[p.Wire]
	peer := w.Ends[1-p.End].Machine
	return port.Config{
		Rate:        w.Link.Rate,
		Propagation: w.Link.Propagation,
		Framing:     b.framing,
		CutThrough:  b.fabric.Machines[peer].Switch != nil,
		Room:        b.room(w.Link.Buffer),
		Resend:      w.Link.Resend,
	}
}

func (b *builder) newSwitch(i int) (*switchd.Switch, error) {
	m := &b.fabric.Machines[i]
	s, marking := m.Switch, &m.Switch.Marking
	c := switchd.Config{
		Index:  i,
		Routes: m.Routes,
		Delay:  s.ForwardingDelay,
		Single: s.Crossbar == "single-output",
		Bypass: s.Bypass,
		Marking: cp.Config{
			Scheme:      marking.Scheme,
			Threshold:   marking.Threshold,
			MoreThan:    marking.Exceeds == ">",
			SkipBlocked: marking.SkipBlocked,
			IdleExempt:  marking.IdleExempt,
			Scan:        marking.Selection == "scan",
		},
		CountSending: marking.Counts == "waiting-and-sending",
		Packet:       b.packet,
		FullAt:       b.room(marking.FullAt),
	}
	for _, p := range m.Ports {
		c.Ports = append(c.Ports, b.port(p))
	}
	return switchd.New(c, b.events)
}

func (b *builder) newEndpoint(i int) (*node.Endpoint, error) {
	m := &b.fabric.Machines[i]
	c := node.Config{Index: i, LID: m.LID, Port: b.port(m.Ports[0])}
	for k := range b.fabric.Flows {
		f := &b.fabric.Flows[k]
		if f.Dst == i {
			c.Sinks = append(c.Sinks, f.QP)
		}
		if f.Src != i {
			continue
		}
		frame := wire.Frame{Kind: wire.Data, Payload: uint32(f.Packet)}
		controller, err := rp.New(rp.Config{
			Law: f.Control.Law, Max: c.Port.Rate, Ratio: f.Control.RmaxOverRmin,
			Length: b.framing.Length(&frame), Factor: f.Control.Factor,
		})
		if err != nil {
			return nil, fmt.Errorf("flow %s: %w", f.Name, err)
		}
		flow := node.Flow{
			QP: f.QP, Dst: b.fabric.Machines[f.Dst].LID, Payload: uint32(f.Packet), Window: f.Window,
			Start: f.Start, Stop: f.Stop, Limiter: node.NewInterPacketDelay(c.Port.Rate), Controller: controller,
		}
		if f.Traffic == "constant" {
			flow.Traffic, err = traffic.New(traffic.Config{Kind: traffic.Constant, Start: f.Start, Rate: f.Rate, Length: b.framing.Length(&frame)})
			if err != nil {
				return nil, fmt.Errorf("flow %s: %w", f.Name, err)
			}
		}
		c.Flows = append(c.Flows, flow)
	}
	return node.New(c, b.events)
}
