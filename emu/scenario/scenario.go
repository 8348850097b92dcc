package scenario

import "fabemu/wire/unit"

// Scenario is a fabric and what is to happen in it, with every default filled
// in and every name expanded: what Load returns and what emu.Run takes.
type Scenario struct {
	Name        string
	Source      string // where it comes from: document and figure
	Description string // one line for lists
	Model       Model
	Wall        Wall
	Switches    []Switch
	Endpoints   []string
	Links       []Link
	Flows       []Flow // in the order of the file, one for each sender of a range
	Events      []Event
	Measure     Measure
	Expect      []Check

	// Warnings is what Load noticed that is right, but probably not meant, by
	// position. They are no part of the scenario: it is the same without them.
	Warnings []Warning
}

// Model says how long the fabric runs, in model time, and from which seed.
type Model struct {
	Duration unit.Duration
	Seed     uint64
	Framing  string // "paper" or "wire": which length of a frame paces the line (wire.Framing)
}

// Wall says how model time follows the wall clock.
type Wall struct {
	Dilation int64     // wall time per model time: a whole factor, 1 or more
	UDPPort  int       // first UDP port of the fabric; 0 lets the kernel choose
	Buffer   unit.Size // receive buffer to ask for, for each socket
}

// Switch is a switch and how it marks.
type Switch struct {
	Name            string
	Kind            string        // "input-buffered"
	ForwardingDelay unit.Duration // first bit in to first bit out, at the least
	Crossbar        string        // "multi-output" (model M1) or "single-output" (model M2)
	Bypass          int           // single-output: how often a frame may be overtaken; 4 in the paper
	Marking         Marking
}

// Marking says which packets a switch marks, and when.
type Marking struct {
	Scheme      string // "none", "naive", "input", "input-output"
	Threshold   int    // input-output: frames that wait for an output
	Exceeds     string // ">=" or ">": how the threshold is compared
	Counts      string // "waiting" or "waiting-and-sending": what cnt1 counts
	FullAt      Buffer // footnote 3: occupancy that counts as full; zero means the whole buffer
	SkipBlocked bool   // footnote 4: do not mark what waits for a link without credit
	Selection   string // "counters" or "scan": which packets a marking event selects
	IdleExempt  bool   // an output that is idle is not congested (part of model M2)
}

// Buffer is a room for frames: a number of packets of the largest size that
// crosses it, or a number of bytes. One of the two is zero.
type Buffer struct {
	Packets int
	Bytes   unit.Size
}

// Link is a link between two machines. Both directions are alike.
type Link struct {
	Name        string // as given, or "A - B"
	A, B        string // names of switches or endpoints
	Rate        unit.Rate
	Propagation unit.Duration
	FlowControl string        // "credit"
	Buffer      Buffer        // of each receiver, for data; ACKs have a lane and a room of their own
	Resend      unit.Duration // flow control packets are repeated at this interval at the latest
}

// Flow is traffic from one endpoint to another.
type Flow struct {
	Name    string // "local.B1"; for a flow that is not one of a range, its group's name
	Group   string // "local"
	From    string
	To      string
	Start   unit.Duration
	Stop    unit.Duration // zero: at the end of the run
	Jitter  unit.Duration // the start is delayed by a random part of it, drawn from the seed
	Traffic string        // "greedy" or "constant"
	Rate    unit.Rate     // constant: payload and header per second
	Packet  unit.Size     // payload
	Window  int           // packets that may await their ACK
	Limiter string        // "ipd"
	Control Control
}

// Control is the law by which a source changes its rate.
type Control struct {
	Law          string  // "fixed", "lipd", "fimd", "aimd"
	RmaxOverRmin int64   // highest rate (the link's) over the lowest
	Factor       float64 // fimd, aimd: m, what a mark divides the rate by
}

// Event is a change of the fabric at a time.
type Event struct {
	At   unit.Duration
	Link string
	Rate unit.Rate // the link runs at this rate from its next frame on
}

// Measure says how results are taken.
type Measure struct {
	Window unit.Duration // rates are means over a sliding window of this length
}

// Check is a claim and the range in which it holds.
type Check struct {
	ID       string
	Source   string // sentence or figure of the document
	Claim    string
	Metric   string // an expression of package emu/metrics
	During   [2]unit.Duration
	Low      float64
	High     float64
	Expected string // "holds" or "differs"
	Reason   string // why it differs
	Why      string // why low and high are what they are
}

// IsSwitch reports whether s has a switch of that name.
func (s *Scenario) IsSwitch(name string) bool {
	for i := range s.Switches {
		if s.Switches[i].Name == name {
			return true
		}
	}
	return false
}
