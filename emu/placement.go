package emu

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fabemu/emu/drive"
	"fabemu/emu/fabric"
	"fabemu/emu/proc"
	"fabemu/emu/report"
	"fabemu/emu/scenario"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Placement says where machines live in a wall run.
type Placement string

// The placements.
const (
	InGoroutines Placement = "goroutine" // each machine has a goroutine of its own, in one process
	InProcesses  Placement = "process"   // each has a process of its own
	InDomains    Placement = "domain"    // each switch and the endpoints at it have a process
)

// PartsDir is the folder, in that of the results, with what concerns the processes
// of a run: the file of each part, what it wrote (.log), its status socket (.sock).
const PartsDir = "parts"

// firstPort is the first UDP port of a fabric with parts that are started by hand,
// unless the scenario names one: both sides must know it beforehand.
const firstPort = 21000

// part is some machines that share a process.
type part struct {
	name     string
	machines []int
	sw       bool // it has a switch
}

// parts divides a fabric.
func parts(f *fabric.Fabric, p Placement) []part {
	var list []part
	at := make([]int, len(f.Machines)) // the part of each switch
	for i := range f.Machines {
		m := &f.Machines[i]
		if p == InDomains && m.Switch == nil {
			w := f.Wires[m.Ports[0].Wire]
			if peer := w.Ends[1-m.Ports[0].End].Machine; f.Machines[peer].Switch != nil {
				list[at[peer]].machines = append(list[at[peer]].machines, i)
				continue
			}
		}
		at[i] = len(list)
		list = append(list, part{m.Name, []int{i}, m.Switch != nil})
	}
	return list
}

// plan writes the files of the parts, and returns the conductor of the run. Of the
// ends of links, those of processes that it starts are taken from l; if l is nil,
// all are opened by the parts themselves.
func (r *run) plan(id uint32, l *links) (*proc.Conductor, error) {
	list := parts(r.fabric, r.options.Placement)
	byHand, err := startedByHand(list, r.options.ByHand)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(r.options.Directory, PartsDir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	proc.Tidy(dir)
	const scenarioFile = "scenario.yaml"
	if err := os.WriteFile(filepath.Join(dir, scenarioFile), r.resolved, 0o666); err != nil {
		return nil, err
	}
	c := &proc.Conductor{Wires: len(r.fabric.Wires), Control: filepath.Join(dir, "control.sock"), Waiting: r.options.Waiting, Started: r.options.test.started}
	for i := range r.fabric.Machines {
		c.Ports = append(c.Ports, len(r.fabric.Machines[i].Ports))
	}
	for _, p := range list {
		file := &proc.File{
			Fabemu: r.options.Version, Part: p.name, Scenario: scenarioFile, Run: id, Dilation: r.scenario.Wall.Dilation,
			Timing: string(r.options.Timing), Priority: r.options.Priority, Control: filepath.Base(c.Control), Status: fileOf(p.name) + ".sock",
		}
		s := proc.Seat{File: file, Path: filepath.Join(dir, PartFile(p.name)), ByHand: byHand[p.name]}
		command := "node"
		if p.sw {
			command = "switchd"
		}
		s.Command = []string{"/proc/self/exe", command}
		for _, m := range p.machines {
			file.Machines = append(file.Machines, r.fabric.Machines[m].Name)
			for _, at := range r.fabric.Machines[m].Ports {
				end := proc.End{Link: r.fabric.Wires[at.Wire].Name, Wire: at.Wire, End: at.End, Kind: string(r.options.Link)}
				if l == nil {
					first := firstPort
					if r.scenario.Wall.UDPPort != 0 {
						first = r.scenario.Wall.UDPPort
					}
					end.Port, end.Peer = first+2*at.Wire+at.End, first+2*at.Wire+1-at.End
				} else {
					f, ok := l.ends[at.Wire][at.End].(link.File)
					if !ok {
						return nil, mistakef("a %s link cannot be handed to another process", r.options.Link)
					}
					if v, ok := f.(*link.Veth); ok {
						end.PeerAddress = net.HardwareAddr(v.Peer()).String()
					}
					// A copy: the conductor closes its own when all have theirs.
					end.FD = proc.FirstSocket + len(s.Sockets)
					copied, err := duplicate(f.FD())
					if err != nil {
						return nil, err
					}
					s.Sockets = append(s.Sockets, copied)
				}
				file.Links = append(file.Links, end)
			}
		}
		if err := file.Write(s.Path); err != nil {
			return nil, err
		}
		c.Seats = append(c.Seats, s)
	}
	return c, nil
}

// startedByHand returns which parts somebody else starts.
func startedByHand(list []part, wanted []string) (map[string]bool, error) {
	names, byHand := make([]string, len(list)), make(map[string]bool)
	for i, p := range list {
		names[i] = p.name
	}
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return nil, mistakef("there is no part %q to be started by hand; there are %s", name, strings.Join(names, ", "))
		}
		byHand[name] = true
	}
	return byHand, nil
}

// PartFile returns the name of a part's file in PartsDir.
func PartFile(part string) string { return fileOf(part) + ".json" }

// fileOf makes a file's name of a machine's.
func fileOf(name string) string { return strings.ReplaceAll(name, "/", "-") }

// conduct runs the fabric in processes.
func (r *run) conduct(ctx context.Context, f *drive.Fabric, sink trace.Sink) (report.Figures, error) {
	if r.options.Directory == "" {
		dir, err := os.MkdirTemp("", "fabemu-")
		if err != nil {
			return report.Figures{}, err
		}
		defer os.RemoveAll(dir) // made here, for this run
		r.options.Directory = dir
	}
	r.runID = f.Run
	var l *links
	if len(r.options.ByHand) == 0 {
		var err error
		if l, err = r.connect(ctx); err != nil {
			return report.NoFigures(), err
		}
		defer r.disconnect(l)
	}
	c, err := r.plan(f.Run, l)
	if err != nil {
		return report.Figures{}, err
	}
	defer func() {
		for _, s := range c.Seats {
			for _, file := range s.Sockets {
				file.Close()
			}
		}
	}()
	c.Sink, c.Progress = sink, f.Progress
	c.Restarts = r.restarts(f, c)
	c.Dilation = r.scenario.Wall.Dilation
	c.Hold = r.options.Events != nil // a log has its order
	if r.options.Priority {
		defer proc.KeepAwake("/proc/self/exe")()
	}
	cpu := startCPUMeter()
	out, err := c.Run(ctx)
	proc.Tidy(filepath.Dir(c.Control)) // of parts that were started by hand, and killed
	r.began = out.Began
	if out.Timing == nil {
		return report.Figures{}, err
	}
	figures := r.figures(out.Timing)
	r.moments = momentsOf(out.Timing)
	figures.ForeignCPUs = cpu.foreign()
	return figures, err
}

// restarts returns which parts are killed and started again, and when. With a switch that
// shares its process with endpoints, these live on: it forgets.
func (r *run) restarts(f *drive.Fabric, c *proc.Conductor) (list []proc.Restart) {
	if r.options.Placement != InProcesses {
		return nil
	}
	for _, change := range f.Changes {
		if change.Event.Kind != port.Restart {
			continue
		}
		for i := range c.Seats {
			if c.Seats[i].File.Part == r.fabric.Machines[change.Machine].Name {
				list = append(list, proc.Restart{Seat: i, At: change.At})
			}
		}
	}
	return list
}

// Dry writes the files of the parts of a run into a directory, for parts that are
// to be started by hand, and runs nothing.
func Dry(s *scenario.Scenario, o Options) error {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return err
	}
	if o.Placement == InGoroutines {
		return mistakef("a dry run writes the files of processes: placement %s or %s is wanted", InProcesses, InDomains)
	}
	if o.Link != UDP {
		return mistakef("a dry run writes files of parts with links of kind udp, not %s", o.Link)
	}
	if o.Directory == "" {
		return mistakef("a dry run writes the files of processes: a directory for them is wanted")
	}
	r, err := prepare(s, o)
	if err != nil {
		return err
	}
	r.runID = r.id(0)
	_, err = r.plan(r.runID, nil)
	return err
}

// Serve runs one part of a run to its end: what fabemu node and fabemu switchd do.
// path is its file; control the file descriptor of the conductor's socket, or 0 to
// wait for a conductor.
func Serve(ctx context.Context, path string, control int, version string) error {
	file, err := proc.Read(path)
	if err != nil {
		return &Mistake{err}
	}
	if file.Fabemu != version {
		return mistakef("%s was written by version %s of this program; this is %s", path, file.Fabemu, version)
	}
	s, err := Open(file.Scenario)
	if err != nil {
		return err
	}
	s.Wall.Dilation = file.Dilation
	fabric, err := fabric.Build(s)
	if err != nil {
		return &Mistake{err}
	}
	progress := &drive.Progress{}
	p, err := proc.Join(ctx, file, control, progress)
	if err != nil {
		return err
	}
	defer p.Close()
	machines, err := build(s, fabric, Schemes{}, trace.NewBatch(1, p))
	if err != nil {
		return &Mistake{err}
	}
	machines.Run, machines.Progress = file.Run, progress
	for i := range fabric.Machines {
		here := false
		for _, name := range file.Machines {
			here = here || name == fabric.Machines[i].Name
		}
		if !here {
			machines.Machines[i] = nil
		}
	}
	ends, err := open(file, fabric, s)
	if err != nil {
		return err
	}
	defer ends.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	epoch, settled, err := p.Begin(cancel)
	if err != nil {
		return err
	}
	defer holdGC()()
	if file.Priority {
		defer raisePriority()()
	}
	r := &run{scenario: s, fabric: fabric}
	d := drive.Part{
		RealTime: file.Priority,
		Dilation: file.Dilation, Epoch: epoch, Links: ends.ends, Longest: r.longest(), Actual: file.Timing == string(ActualTiming),
		From: unit.Time(file.FromPs), Incarnation: file.Incarnation, Idle: p.Idle,
		Settle: func() error {
			if err := p.Ended(); err != nil {
				return err
			}
			select {
			case <-settled:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	}
	timing, traffic, err := d.Run(ctx, machines)
	out := proc.Report{Timing: timing, Traffic: traffic}
	if err != nil && ctx.Err() == nil {
		out.Err = err.Error()
	}
	return errors.Join(err, p.Done(out))
}

// open opens the ends of links of a part.
func open(file *proc.File, f *fabric.Fabric, s *scenario.Scenario) (*links, error) {
	l := &links{ends: make([][2]link.Link, len(f.Wires))}
	largest := (&run{scenario: s, fabric: f}).datagram()
	for _, e := range file.Links {
		if e.Wire < 0 || e.Wire >= len(f.Wires) || e.End < 0 || e.End > 1 {
			l.close()
			return nil, mistakef("link %s: there is no end %d of wire %d", e.Link, e.End, e.Wire)
		}
		end, err := openEnd(e, &f.Wires[e.Wire], s, largest)
		if err != nil {
			l.close()
			return nil, fmt.Errorf("link %s: %w", e.Link, err)
		}
		l.closer = append(l.closer, end)
		l.ends[e.Wire][e.End] = end
	}
	return l, nil
}

// openEnd opens one end of a link of a part.
func openEnd(e proc.End, w *fabric.Wire, s *scenario.Scenario, largest int) (link.Link, error) {
	switch {
	case e.Kind == string(UDP) && e.FD > 0:
		return link.AdoptUDP(e.FD)
	case e.Kind == string(UDP):
		return link.UDPEnd(e.Port, e.Peer, link.UDPOptions{Buffer: s.Wall.Buffer, Largest: largest})
	case e.Kind == string(Veth) && e.FD > 0:
		o := vethOptions(w)
		peer, err := net.ParseMAC(e.PeerAddress)
		if err != nil || len(peer) != len(o.Peer) {
			return nil, mistakef("%q is no hardware address", e.PeerAddress)
		}
		copy(o.Peer[:], peer)
		return link.AdoptVeth(e.FD, o)
	}
	return nil, mistakef("an end of kind %q cannot be opened here", e.Kind)
}
