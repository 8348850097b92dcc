package mode

// Clock is the clock that drives a run.
type Clock string

// The clocks.
const (
	WallClock    Clock = "wall"    // real time, slowed down by the dilation of the scenario
	VirtualClock Clock = "virtual" // from event to event, as fast as possible
)

// TimeSource is the time of rate limiters and reaction points on the wall clock.
type TimeSource string

// The time sources.
const (
	IdealTiming  TimeSource = "ideal"  // the instants of the model: the log equals the virtual clock's
	ActualTiming TimeSource = "actual" // the measured wall time over the dilation
)

// Carrier is the kind of links that carry the datagrams of a wall run.
type Carrier string

// The carriers.
const (
	UDP  Carrier = "udp"  // sockets on the loopback interface: two for each link, or with trains two for all links
	Unix Carrier = "unix" // a pair of SOCK_SEQPACKET sockets for each link, or with trains for all
	Veth Carrier = "veth" // a network namespace for each node, a veth pair for each link
	Pipe Carrier = "pipe" // memory of this process
)

// Packing is how frames that leave together are put into packets.
type Packing string

// The choices.
const (
	Trains Packing = "trains" // up to 64 frames in a packet, which one system call sends
	Single Packing = "single" // each frame in its own packet
)

// Over names a kind of links and the packets on it, for people: "udp", "veth in trains".
func (c Carrier) Over(p Packing) string {
	if p == Trains {
		return string(c) + " in trains"
	}
	return string(c)
}

// Placement is where nodes run on the wall clock.
type Placement string

// The placements.
const (
	InGoroutines Placement = "goroutine" // each node has its own goroutine, in one process
	InProcesses  Placement = "process"   // each node has its own process
	InDomains    Placement = "domain"    // each switch and its endpoints have a process
	InHosts      Placement = "hosts"     // several nodes run a share of the nodes each, in one process
)

// Pin chooses how the loops of processes are assigned to CPUs.
type Pin string

// The choices.
const (
	// PinOn puts the loops that wait for each other on one CPU, where they wake each other fastest.
	// If links are so long that nodes work at the same time, it distributes the loops over all
	// CPUs.
	PinOn Pin = "on"
	// PinOff leaves the loops to the operating system.
	PinOff Pin = "off"
)

// Verify selects the wall runs that are compared with the virtual clock afterwards: by the event
// log if its order is exact, by sums over flows otherwise. Under actual timing the virtual clock
// then hands the measured instants to limiters and reaction points.
type Verify string

// When to verify.
const (
	VerifyShort Verify = "short" // if that takes a few seconds at most
	VerifyOn    Verify = "on"
	VerifyOff   Verify = "off"
)

// Hold is when the run clock may be held, because the machine does not run the program in time.
type Hold string

// When to hold the clock.
const (
	HoldAuto Hold = "auto" // in runs without guests, which read their own clocks
	HoldOn   Hold = "on"   // always
	HoldOff  Hold = "off"  // never: what the machine is late with leaves late
)

// Settings choose how a scenario is run. They are options of a run, and part of its result. The
// tags and the comments of fields are those of the flags of fabemu run, too.
type Settings struct {
	// In real time, over sockets (wall), or as fast as possible (virtual).
	Clock Clock `json:"clock" flag:"clock" group:"Clock" def:"wall" words:"wall|virtual"`
	// Time source of rate limiters and reaction points: the instants of the model, or the measured
	// time.
	Timing TimeSource `json:"timing" flag:"timing" idle:"clock=virtual" def:"ideal" words:"ideal|actual"`
	// Where the nodes of a wall run execute: all in this process (goroutine), one process each
	// (process), one for each switch with its endpoints (domain), or a share on each of several
	// machines (hosts).
	Placement Placement `json:"placement" flag:"placement" group:"Processes" def:"goroutine" words:"goroutine|process|domain|hosts"`
	// What carries the frames: UDP, Unix sockets (SEQPACKET), veth pairs between network namespaces
	// (needs root), or memory (pipe).
	Link Carrier `json:"link" flag:"link" group:"Clock" idle:"clock=virtual" def:"udp" words:"udp|unix|veth|pipe"`
	// Packets over sockets: frames that leave together share one (trains), or each has its own
	// (single); default: trains, and single between processes.
	Packing Packing `json:"packing,omitempty" flag:"packing" idle:"clock=virtual" words:"trains|single"`
	// On the virtual clock, encode and decode each frame as on the wall clock, which is slower and
	// changes no result.
	//
	// By default frames are handed over as values there, unless there is a capture: it shows the
	// frames as they were read back.
	Codec bool `json:"codec" flag:"codec"`
	// Number of loops that share the nodes on the virtual clock, each on its own CPU; the log does
	// not depend on it (default: as many as help).
	//
	// 0 means as many as help, at most as many as there are CPUs. The wall clock has one loop.
	Loops int `json:"loops" flag:"loops" arg:"N" low:"0" high:"4096"`
	// Dilation is the wall time for each unit of model time. As an option, 0 is what the scenario
	// says (wall.dilation); in a result, 0 is the virtual clock, which has none.
	Dilation int64 `json:"dilation"`
	// When to hold the run clock while this machine is late, so that no gap between frames is too
	// short: always (on), never (off), or in runs without guests, which read their own clocks
	// (auto).
	Hold Hold `json:"-" flag:"hold" idle:"clock=virtual" def:"auto" words:"auto|on|off"`
}

// Wall reports whether the run keeps to the wall clock.
func (s *Settings) Wall() bool { return s.Clock != VirtualClock }

// Apart reports whether nodes live in their own processes.
func (s *Settings) Apart() bool { return s.Placement != "" && s.Placement != InGoroutines }
