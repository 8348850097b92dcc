package proc

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
	"fabemu/emu/host"
	"fabemu/emu/links"
	"fabemu/emu/machines"
	"fabemu/emu/mistake"
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

// Plan is a run of a fabric in processes.
type Plan struct {
	Fabric    *fabric.Fabric
	Resolved  []byte // the scenario of the fabric, in YAML
	Placement Placement
	Carrier   links.Carrier
	Timing    string // see File
	Priority  bool   // the processes may put themselves before others
	Directory string // where the files are kept, in PartsDir
	Run       uint32 // tells the datagrams of this run from others
	Version   string // of this program
	// ByHand names parts that somebody else starts, and Waiting is told their files
	// when the run waits for them.
	ByHand  []string
	Waiting func(parts []*File)
	Started func(part string, pid int) // is told of each process that was started; may be nil
}

// Write writes the files of the parts, and returns the conductor of the run. Of the
// ends of links, those of processes that it starts are taken from l; if l is nil,
// all are opened by the parts themselves.
func (p *Plan) Write(l *links.Links) (*Conductor, error) {
	list := parts(p.Fabric, p.Placement)
	byHand, err := startedByHand(list, p.ByHand)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(p.Directory, PartsDir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	Tidy(dir)
	const scenarioFile = "scenario.yaml"
	if err := os.WriteFile(filepath.Join(dir, scenarioFile), p.Resolved, 0o666); err != nil {
		return nil, err
	}
	c := &Conductor{Dilation: p.Fabric.Scenario.Wall.Dilation, Wires: len(p.Fabric.Wires), Control: filepath.Join(dir, "control.sock"), Waiting: p.Waiting, Started: p.Started}
	for i := range p.Fabric.Machines {
		c.Ports = append(c.Ports, len(p.Fabric.Machines[i].Ports))
	}
	for _, x := range list {
		file := &File{
			Fabemu: p.Version, Part: x.name, Scenario: scenarioFile, Run: p.Run, Dilation: p.Fabric.Scenario.Wall.Dilation,
			Timing: p.Timing, Priority: p.Priority, Control: filepath.Base(c.Control), Status: fileOf(x.name) + ".sock",
		}
		s := Seat{File: file, Path: filepath.Join(dir, PartFile(x.name)), ByHand: byHand[x.name]}
		command := "node"
		if x.sw {
			command = "switchd"
		}
		s.Command = []string{"/proc/self/exe", command}
		for _, m := range x.machines {
			file.Machines = append(file.Machines, p.Fabric.Machines[m].Name)
			for _, at := range p.Fabric.Machines[m].Ports {
				end := End{Link: p.Fabric.Wires[at.Wire].Name, Wire: at.Wire, End: at.End, Kind: string(p.Carrier)}
				if l == nil {
					first := firstPort
					if p.Fabric.Scenario.Wall.UDPPort != 0 {
						first = p.Fabric.Scenario.Wall.UDPPort
					}
					end.Port, end.Peer = first+2*at.Wire+at.End, first+2*at.Wire+1-at.End
				} else {
					f, ok := l.Ends[at.Wire][at.End].(link.File)
					if !ok {
						return nil, mistake.Errorf("a %s link cannot be handed to another process", p.Carrier)
					}
					if v, ok := f.(*link.Veth); ok {
						end.PeerAddress = net.HardwareAddr(v.Peer()).String()
					}
					// A copy: the conductor closes its own when all have theirs.
					end.FD = FirstSocket + len(s.Sockets)
					copied, err := host.Duplicate(f.FD())
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
			return nil, mistake.Errorf("there is no part %q to be started by hand; there are %s", name, strings.Join(names, ", "))
		}
		byHand[name] = true
	}
	return byHand, nil
}

// PartFile returns the name of a part's file in PartsDir.
func PartFile(part string) string { return fileOf(part) + ".json" }

// fileOf makes a file's name of a machine's.
func fileOf(name string) string { return strings.ReplaceAll(name, "/", "-") }

// Conduct runs machines of the plan's fabric in processes: c is what Write has returned. sink
// is told what all machines report; with hold at the end, in its order.
func (p *Plan) Conduct(ctx context.Context, c *Conductor, f *drive.Fabric, sink trace.Sink, hold bool) (Outcome, error) {
	defer func() {
		for _, s := range c.Seats {
			for _, file := range s.Sockets {
				file.Close()
			}
		}
	}()
	c.Sink, c.Progress, c.Hold = sink, f.Progress, hold
	c.Restarts = p.Restarts(f, c)
	if p.Priority {
		defer KeepAwake("/proc/self/exe")()
	}
	out, err := c.Run(ctx)
	Tidy(filepath.Dir(c.Control)) // of parts that were started by hand, and killed
	return out, err
}

// Restarts returns which parts are killed and started again, and when. With a switch that
// shares its process with endpoints, these live on: it forgets.
func (p *Plan) Restarts(f *drive.Fabric, c *Conductor) (list []Restart) {
	if p.Placement != InProcesses {
		return nil
	}
	for _, change := range f.Changes {
		if change.Event.Kind != port.Restart {
			continue
		}
		for i := range c.Seats {
			if c.Seats[i].File.Part == p.Fabric.Machines[change.Machine].Name {
				list = append(list, Restart{Seat: i, At: change.At})
			}
		}
	}
	return list
}

// Serve runs one part of a run of a scenario to its end: what fabemu node and fabemu
// switchd do. control is the file descriptor of the conductor's socket, or 0 to wait for
// a conductor.
func Serve(ctx context.Context, file *File, s *scenario.Scenario, control int) error {
	s.Wall.Dilation = file.Dilation
	laidOut, err := fabric.Build(s)
	if err != nil {
		return &mistake.Error{Err: err}
	}
	progress := &drive.Progress{}
	p, err := Join(ctx, file, control, progress)
	if err != nil {
		return err
	}
	defer p.Close()
	all, err := machines.New(laidOut, machines.Schemes{}, trace.NewBatch(1, p))
	if err != nil {
		return &mistake.Error{Err: err}
	}
	all.Run, all.Progress = file.Run, progress
	for i := range laidOut.Machines {
		here := false
		for _, name := range file.Machines {
			here = here || name == laidOut.Machines[i].Name
		}
		if !here {
			all.Machines[i] = nil
		}
	}
	ends, err := openEnds(file, laidOut)
	if err != nil {
		return err
	}
	defer ends.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	epoch, settled, err := p.Begin(cancel)
	if err != nil {
		return err
	}
	defer host.HoldGC()()
	if file.Priority {
		defer host.RaisePriority()()
	}
	d := drive.Part{
		RealTime: file.Priority,
		Dilation: file.Dilation, Epoch: epoch, Links: ends.Ends, Longest: laidOut.Longest(), Actual: file.Timing == ActualTiming,
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
	timing, traffic, err := d.Run(ctx, all)
	out := Report{Timing: timing, Traffic: traffic}
	if err != nil && ctx.Err() == nil {
		out.Err = err.Error()
	}
	return errors.Join(err, p.Done(out))
}

// openEnds opens the ends of links of a part.
func openEnds(file *File, f *fabric.Fabric) (*links.Links, error) {
	l := links.Some(f)
	largest := int(f.Largest().Datagram)
	for _, e := range file.Links {
		if e.Wire < 0 || e.Wire >= len(f.Wires) || e.End < 0 || e.End > 1 {
			l.Close()
			return nil, mistake.Errorf("link %s: there is no end %d of wire %d", e.Link, e.End, e.Wire)
		}
		end, err := openEnd(e, &f.Wires[e.Wire], f.Scenario, largest)
		if err != nil {
			l.Close()
			return nil, fmt.Errorf("link %s: %w", e.Link, err)
		}
		l.Put(e.Wire, e.End, end)
	}
	return l, nil
}

// openEnd opens one end of a link of a part.
func openEnd(e End, w *fabric.Wire, s *scenario.Scenario, largest int) (link.Link, error) {
	switch {
	case e.Kind == string(links.UDP) && e.FD > 0:
		return link.AdoptUDP(e.FD)
	case e.Kind == string(links.UDP):
		return link.UDPEnd(e.Port, e.Peer, link.UDPOptions{Buffer: s.Wall.Buffer, Largest: largest})
	case e.Kind == string(links.Veth) && e.FD > 0:
		o := links.VethOptions(w)
		peer, err := net.ParseMAC(e.PeerAddress)
		if err != nil || len(peer) != len(o.Peer) {
			return nil, mistake.Errorf("%q is no hardware address", e.PeerAddress)
		}
		copy(o.Peer[:], peer)
		return link.AdoptVeth(e.FD, o)
	}
	return nil, mistake.Errorf("an end of kind %q cannot be opened here", e.Kind)
}
