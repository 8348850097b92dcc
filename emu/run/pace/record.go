package pace

import (
	"time"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// Record has the measurements of a run by the wall driver. Wall times are in
// nanoseconds. T is the wall time of the longest data frame on a link.
type Record struct {
	Hops    int64     // frames handed over
	Reached unit.Time // model time that was run
	Wall    int64     // wall time that it took
	Held    int64     // of it, the time for which the run clock was held

	// Gaps are between consecutive data frames of a link, as an observer on the link measures them.
	// GapsOff of them differ from the gaps of the model by more than 5 % of T, in either direction.
	// In GapsHeld the clock was held; in the others GapError is the difference, in thousandths of
	// T.
	Gaps, GapsOff, GapsHeld int64
	GapError                Histogram
	Holds                   []Hold // those longer than T; the first 1000
	HoldCount               int64  // all
	HoldMost                int64  // the longest, in ns
	HoldMostT               int64  // the same in thousandths of the shortest T

	Lateness  Histogram // of data frames: how long after its due time on the run clock each left, in ns of wall time
	LatenessT Histogram // the same in thousandths of T
	Data      int64     // data frames sent
	Late      int64     // of them, later than 5 % of T
	LateT     int64     // and later than T
	Latest    int64     // the lateness of the latest, in thousandths of T
	Early     int64     // frames of any kind that left before their due time
	Worst     int       // wire whose gaps were off the most often; -1: none

	// Spun is the time that the loop spent waiting for an instant, and SpunLate the
	// part of it in which an instant would have found the loop away by more than 5 %
	// of T: their quotient is the floor of this machine, whatever the loop does.
	Spun, SpunLate int64
	// Slept is the time that the loop slept. The rest of Wall, without Spun and
	// Slept, is the time of events: the loop was busy.
	Slept int64

	Sent, Received int64   // datagrams
	Trains         int64   // calls of the kernel that sent them
	Full           int64   // times that the kernel had no room for one
	Lost           int64   // datagrams that the kernel lost
	Changed        int64   // datagrams that came back with other bytes
	Reordered      int64   // datagrams that overtook another one of their path
	Faults         []Fault // the first of these three
	Foreign        int64   // datagrams of others, dropped
	TooLong        int64   // datagrams longer than any of ours, dropped
	Unreachable    int64   // ICMP messages that the other end of a link cannot be reached
	Refused        [wire.Reasons]int64

	Silent []Silent // parts in other processes that did not answer, and for how long in all

	// Of several parts: reports to the coordinator and promises by it, and the wall
	// time, in ns, in which the loops waited for promises. No frame carries those.
	Reports, Promises, Waited int64
	Events                    int64 // that the loops did

	Moments []Moment // the run in equal parts of model time
}

// Moment has the measurements of a part of the run.
type Moment struct {
	From  unit.Time // it ends where the next begins
	Data  int64     // data frames sent
	Late  int64     // of them, later than 5 % of T
	Worst int64     // the latest, in ns
	Held  int64     // wall time for which the clock was held, in ns
}

// Moments is how many parts a run is divided into.
const Moments = 500

// Hold is a time for which the run clock was held, because the machine did not run the loop.
type Hold struct {
	At   unit.Time // model time
	Wall int64     // how long, in ns
}

// Fault is a frame that the kernel did not carry as it was sent.
type Fault struct {
	Kind FaultKind
	Path int    // 2*wire + which end sends
	Seq  uint32 // its number on the path, from 0
}

// FaultKind is the fate of a frame.
type FaultKind string

// The kinds of faults.
const (
	Missing    FaultKind = "lost"
	Altered    FaultKind = "changed"
	OutOfOrder FaultKind = "out of order"
)

// MaxFaults is how many faults are kept.
const MaxFaults = 10

// MaxHolds is how many holds are kept.
const MaxHolds = 1000

// New returns a Record with empty histograms: up to 100 s of lateness, in
// three digits.
func New() *Record {
	return &Record{
		Lateness:  NewHistogram(100_000_000_000),
		LatenessT: NewHistogram(100_000_000_000),
		GapError:  NewHistogram(100_000_000_000),
		Holds:     make([]Hold, 0, MaxHolds),
		Moments:   make([]Moment, 1, Moments+2),
		Worst:     -1,
	}
}

// HostClock describes the clock of a part on another host. The conductor measures it as NTP does
// (RFC 5905, section 8), over its connection to the part: the conductor records when it sends the
// request and when the reply arrives, the part when the request arrived and when it replies. Of
// several rounds the one with the shortest round trip counts.
type HostClock struct {
	Part      string
	Offset    time.Duration // by which the part's clock is ahead, at the start
	RoundTrip time.Duration // the shortest
	// Drift is by how much more it was ahead at the end. Error is the largest difference that it
	// may have had, at any time, from the offset that the run used: half of the round trip at the
	// start, or half of the round trip at the end plus the drift. Measured is set if the clock was
	// read at the end; otherwise Error holds for the start.
	Drift    time.Duration
	Error    time.Duration
	Measured bool
}
