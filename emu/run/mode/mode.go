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
