package process

import (
	"cmp"
	"errors"
	"hash/fnv"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/base/files"
	"fabemu/emu/fabric"
	"fabemu/emu/host"
	"fabemu/emu/host/fleet"
	"fabemu/emu/run/carrier"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/measured"
	"fabemu/emu/run/mode"
	"fabemu/wire/link"
	"fabemu/wire/unit"
)

// PartsDir is the folder, within the folder of the results, for the files of a run's processes:
// each part has a description (.json), a log (.log) and a status socket (.sock).
const PartsDir = "parts"

// firstPort is the first UDP port of a fabric with parts that are started by hand,
// unless the scenario names one: both sides need it beforehand.
const firstPort = 21000

// part is the nodes that share a process.
type part struct {
	name  string
	nodes []int
	sw    bool // it has a switch
}

// parts divides a fabric.
func parts(f *fabric.Fabric, p mode.Placement) []part {
	var list []part
	at := make([]int, len(f.Nodes)) // the part of each switch
	for i := range f.Nodes {
		if home := f.Home(i); p == mode.InDomains && home != i {
			list[at[home]].nodes = append(list[at[home]].nodes, i)
			continue
		}
		at[i] = len(list)
		list = append(list, part{f.Nodes[i].Name, []int{i}, f.Nodes[i].Switch != nil})
	}
	return list
}

// Plan is a run of a fabric on the wall clock, in this process or in others.
type Plan struct {
	Fabric   *fabric.Fabric
	Resolved []byte // the scenario of the fabric, in YAML
	mode.Settings
	Pin     mode.Pin // how loops are assigned to processors; empty: PinOn
	ID      uint32   // a number that the datagrams of this run carry
	Version string   // of this program

	// Directory is where the files of processes are kept, in PartsDir. Empty: a temporary folder,
	// which Run removes.
	Directory string
	// ByHand names parts that the user starts, and Waiting receives their files when the run waits
	// for them.
	ByHand  []string
	Waiting func(parts []*File)
	// Fleet is the set of hosts of a placement on several, of which this is rank 0. HostsOf places
	// nodes on them; a later entry overrides earlier ones. An endpoint that no entry names is on
	// the host of its switch. Without entries the nodes are distributed so that few links are cut.
	Fleet    *fleet.Fleet
	HostsOf  []HostOf
	Measured *drive.Measured       // shows the wall clock to endpoints of this process; nil: they have ideal times
	Epoch    func(began time.Time) // is called at model time 0, or with processes shortly before; may be nil

	// Records chooses the frames at a port that other processes report for the Tap of the fabric.
	// Missed receives the number that they could not report. Both may be nil.
	Records func(port int, control, received bool) bool
	Missed  func(frames int64)

	// Actual receives, with actual timing, the recorded readings of limiters and reaction points in
	// other processes; otherwise it is nil.
	Actual *measured.Time

	Hooks Hooks
}

// Hooks are calls and values that tests insert into a run.
type Hooks struct {
	Wrap    func(link.Link) link.Link  // around each end of a link
	Started func(part string, pid int) // is called with each process that was started
	Clock   func() int64               // drive.Wall.Clock
	Buffer  unit.Size                  // of sockets, instead of the scenario's
	Collect bool                       // leave the garbage collector on
	Epoch   func()                     // is called when model time 0 is now
	// Suspended replaces pace.Suspended.
	Suspended func() time.Duration
	Memory    error // why there is no memory to share
}

// Dry writes the files of the parts, so that all of them can be started by hand.
func (p *Plan) Dry() error {
	switch {
	case p.Placement == mode.InGoroutines || p.Placement == mode.InHosts:
		return errs.Errorf("a dry run writes the files of processes: use placement %s or %s", mode.InProcesses, mode.InDomains)
	case p.Link != mode.UDP:
		return errs.Errorf("a dry run writes files of parts with links of kind udp, not %s", p.Link)
	case p.Directory == "":
		return errs.Errorf("a dry run writes the files of processes: name a directory for them")
	}
	_, err := p.write(nil, false)
	return err
}

// write writes the files of the parts, and returns the conductor of the run. The ends of links
// in processes that it starts are taken from l; if l is nil,
// the parts open all ends themselves. The parts share memory, if possible.
func (p *Plan) write(l *carrier.Links, share bool) (c *conductor, err error) {
	list := parts(p.Fabric, p.Placement)
	byHand, err := startedByHand(list, p.ByHand)
	if err != nil {
		return nil, err
	}
	dir, err := p.folder()
	if err != nil {
		return nil, err
	}
	c = p.conductor(dir)
	if err := p.fill(c, list, byHand, l, share); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// fill assigns participants to the parts of a run, and writes their files.
func (p *Plan) fill(c *conductor, list []part, byHand map[string]bool, l *carrier.Links, share bool) error {
	if share {
		c.share(len(list))
	}
	for _, x := range list {
		s, err := p.participant(x, filepath.Dir(c.control), l)
		c.add(s)
		if err != nil {
			return err
		}
		s.byHand = byHand[x.name]
		s.Board = c.boardOf(s)
	}
	c.pin()
	for _, s := range c.participants {
		if err := s.Write(s.path); err != nil {
			return err
		}
	}
	return nil
}

// The names of files in PartsDir.
const (
	scenarioFile  = "scenario.yaml"
	controlSocket = "control.sock"
)

// folder makes the folder of the parts, and writes the scenario into it.
func (p *Plan) folder() (string, error) {
	dir := filepath.Join(p.Directory, PartsDir)
	if err := errors.Join(files.MakeAll(p.Directory), files.MakeFolder(dir)); err != nil {
		return "", &errs.Mistake{Err: err}
	}
	Tidy(dir)
	return dir, files.Replace(filepath.Join(dir, scenarioFile), p.Resolved)
}

// conductor returns the conductor of the run, which has no parts yet.
func (p *Plan) conductor(dir string) *conductor {
	c := &conductor{plan: p, control: filepath.Join(dir, controlSocket)}
	for i := range p.Fabric.Nodes {
		c.ports = append(c.ports, len(p.Fabric.Nodes[i].Ports))
	}
	return c
}

// mostReadings is how many readings of the clock a part records at most, so that they fit into a
// message.
const mostReadings = 5_000_000

// file returns the file of a part, without its links.
func (p *Plan) file(x part) *File {
	f := &File{
		Fabemu: p.Version, Part: x.name, Scenario: scenarioFile, Run: p.ID, Settings: p.Settings,
		Fixed: p.Hold == mode.HoldOff, Frames: p.framesOf(x),
	}
	for _, m := range x.nodes {
		f.Nodes = append(f.Nodes, p.Fabric.Nodes[m].Name)
	}
	if p.Actual != nil {
		f.Readings = min(p.Actual.Keep(), mostReadings)
	}
	return f
}

// participant returns the participant of a part, whose file is to be written.
func (p *Plan) participant(x part, dir string, l *carrier.Links) (*participant, error) {
	s := &participant{File: p.file(x), nodes: x.nodes, path: filepath.Join(dir, PartFile(x.name)), daemon: "node"}
	s.Control, s.Status = controlSocket, fileOf(x.name)+".sock"
	if x.sw {
		s.daemon = "switchd"
	}
	for _, m := range x.nodes {
		for _, at := range p.Fabric.Nodes[m].Ports {
			end := End{Link: p.Fabric.Wires[at.Wire].Name, Wire: at.Wire, End: at.End, Kind: string(p.Link)}
			if l == nil {
				end.Port, end.Peer = p.portOf(at), p.portOf(fabric.Port{Wire: at.Wire, End: 1 - at.End})
			} else {
				f, ok := l.Ends[at.Wire][at.End].(link.File)
				if !ok {
					return s, errs.Errorf("a %s link cannot be handed to another process", p.Link)
				}
				if v, ok := f.(*link.Veth); ok {
					end.PeerAddress = net.HardwareAddr(v.Peer()).String()
				}
				// A copy: the conductor closes its own when all parts have theirs.
				end.FD = firstSocket + len(s.sockets)
				copied, err := host.Duplicate(f.FD())
				if err != nil {
					return s, err
				}
				s.sockets = append(s.sockets, copied)
			}
			s.Links = append(s.Links, end)
		}
	}
	return s, nil
}

// portOf returns the UDP port of an end of a link, which both sides need beforehand.
func (p *Plan) portOf(at fabric.Port) int {
	return cmp.Or(p.Fabric.Scenario.Wall.UDPPort, firstPort) + 2*at.Wire + at.End
}

// startedByHand returns which parts the user starts.
func startedByHand(list []part, wanted []string) (map[string]bool, error) {
	names, byHand := make([]string, len(list)), make(map[string]bool)
	for i, p := range list {
		names[i] = p.name
	}
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return nil, errs.Errorf("there is no part %q to be started by hand; there are %s",
				name, strings.Join(names, ", "))
		}
		byHand[name] = true
	}
	return byHand, nil
}

// PartFile returns the name of a part's file in PartsDir.
func PartFile(part string) string { return fileOf(part) + ".json" }

// fileOf makes a file name from the name of a node.
func fileOf(name string) string { return strings.ReplaceAll(name, "/", "-") }

// Check returns an *errs.Mistake if the placement of a plan, its carrier and its parts that are
// started by hand are incompatible, or not supported on this system. The virtual clock has no
// carrier.
func (p *Plan) Check(virtual bool) error {
	switch apart := p.Placement != mode.InGoroutines; {
	case p.Placement == mode.InHosts && p.Link != mode.UDP:
		return errs.Errorf("placement %s has links of kind udp between hosts, not %s", mode.InHosts, p.Link)
	case p.Placement == mode.InHosts && len(p.ByHand) > 0:
		return errs.Errorf("with placement %s hosts are started by hand, not parts: fabemu agent --join HOST:PORT", mode.InHosts)
	case p.Placement == mode.InHosts && p.Fleet == nil:
		return errs.Errorf("placement %s needs a fleet of hosts", mode.InHosts)
	case p.Placement != mode.InHosts && (p.Fleet != nil || len(p.HostsOf) > 0):
		return errs.Errorf("other hosts take part with placement %s, not %s", mode.InHosts, p.Placement)
	case p.Pin != "" && p.Pin != mode.PinOn && p.Pin != mode.PinOff:
		return errs.Unknown("pin", p.Pin, mode.PinOn, mode.PinOff)
	case apart && p.Link == mode.Pipe:
		return errs.Errorf("placement %s needs links between processes: udp, unix or veth", p.Placement)
	case apart && p.Packing == mode.Trains:
		return errs.Errorf("packing %s requires placement %s: processes send each frame in its own packet", mode.Trains, mode.InGoroutines)
	case p.Link == mode.Pipe && p.Packing == mode.Trains:
		return errs.Errorf("packing %s requires links of kind udp, unix or veth: memory has no packets", mode.Trains)
	case !apart && len(p.ByHand) > 0:
		return errs.Errorf("a part can be started by hand with placement %s or %s", mode.InProcesses, mode.InDomains)
	case len(p.ByHand) > 0 && p.Link != mode.UDP:
		return errs.Errorf("a part that is started by hand has links of kind udp, not %s", p.Link)
	case apart:
		return host.NeedsLinux("placement " + string(p.Placement))
	case !virtual && p.Link != mode.Pipe:
		return host.NeedsLinux("a wall run over links of kind " + string(p.Link))
	}
	return nil
}

// distant reports whether the links between parts are so long that their nodes work at the same
// time: at least a quarter of a packet time.
func (p *Plan) distant(of []int) bool {
	f, longest := p.Fabric, p.Fabric.Longest()
	for w, wire := range f.Wires {
		if of[wire.Ends[0].Node] == of[wire.Ends[1].Node] {
			continue
		}
		if min(f.Least(w, 0), f.Least(w, 1)) < longest[w]/4 {
			return false
		}
	}
	return true
}

// pin chooses the processors for the loops of parts, which all run on this machine.
func (r *conductor) pin() {
	list := processors()
	if r.plan.Pin == mode.PinOff || len(list) == 0 {
		return
	}
	spread := r.plan.distant(r.partOf())
	if !spread {
		list = list[len(list)-1:]
	}
	share := r.plan.Fabric.Partition(len(list))
	for _, s := range r.participants {
		s.CPUs = []int{list[share[s.nodes[0]]]}
		s.Spread = spread
	}
}

// NewID returns a number that distinguishes the datagrams of a run from those of all other runs on
// this machine.
func NewID(resolved []byte) uint32 {
	return ID(resolved, uint64(time.Now().UnixNano())^uint64(os.Getpid())<<32)
}

// ID returns the number of a run. Runs of the same scenario have different salts.
func ID(resolved []byte, salt uint64) uint32 {
	h := fnv.New64a()
	h.Write(resolved)
	mixed := (h.Sum64() ^ salt) * 0x9E3779B97F4A7C15
	return uint32(mixed >> 32)
}
