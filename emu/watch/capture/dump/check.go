package dump

import (
	"errors"
	"fmt"
	"strings"

	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
	"fabemu/wire/retry"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Kind is the subject of a check.
type Kind string

// The kinds of checks.
const (
	Reading    Kind = "reading"  // frames that cannot be read
	Checksum   Kind = "checksum" // ICRC, VCRC, LPCRC, FCS
	Credit     Kind = "credit"   // FCTBS against FCCL
	Sequence   Kind = "sequence" // of links and of flows
	PauseKept  Kind = "pause"    // nothing is sent while paused
	Deliveries Kind = "delivery" // packets of flows, from end to end, and their ACKs
	Tags       Kind = "tag"      // rate-limited tags against BCN messages
	Probes     Kind = "probe"    // answers against the probes of E2CM
)

// Kinds returns all kinds of checks.
func Kinds() []Kind {
	return []Kind{Reading, Checksum, Credit, Sequence, Deliveries, PauseKept, Tags, Probes}
}

// Incomplete is the kind of a problem that is not a mistake: something is missing from the capture.
const Incomplete Kind = "incomplete"

// Gap is a reason for which a capture does not prove all that it could.
type Gap string

// The gaps.
const (
	CutFrames   Gap = "frames were cut: their checksums are not proved"
	NoBegin     Gap = "parts of a split capture are missing"
	NotThere    Gap = "frames are missing from the capture"
	NoCredit    Gap = "frames were sent on lanes whose credit the capture does not show"
	NoMessages  Gap = "rate-limited tags, or BCN messages that answer them, come from outside the capture"
	NoProbes    Gap = "answers are to probes that the capture does not show"
	NoTally     Gap = "flow control packets are not at the port that sent them: their FCTBS is not proved"
	InDoubt     Gap = "mistakes would be there if nothing were missing: they prove nothing"
	Dropped     Gap = "frames of flows are missing because they were dropped, as the capture reports"
	Unreadable  Gap = "packets were cut so short that they cannot be read"
	NotFollowed Gap = "frames were not followed: the capture lacks the begin or an end of their flow"
	NoReader    Gap = "packets have a link type that this program does not read"
)

func Gaps() []Gap {
	return []Gap{NoBegin, NotThere, InDoubt, Dropped, Unreadable, NoReader, CutFrames, NoCredit, NoTally, NoMessages, NoProbes, NotFollowed}
}

// Problem is a mistake that a capture shows, or a sign that frames are missing from it.
type Problem struct {
	Number int // of the packet
	Kind   Kind
	Text   string
}

func (p Problem) String() string { return fmt.Sprintf("packet %d: %s: %s", p.Number, p.Kind, p.Text) }

// Checker checks the packets of a capture, in their order.
type Checker struct {
	Found   map[Kind]int // problems
	Checked map[Kind]int // packets that were checked, or frames that had to keep to a limit
	Gaps    map[Gap]int  // packets that prove nothing

	problems []Problem
	ports    map[where]*portRecord
	flows    map[flow]*flowRecord
	dropped  map[packet]bool // packets that the capture reports as dropped

	layout    layout
	names     Names
	travels   map[uint32]*travel // by queue pair
	gone      int                // packets of flows without retransmission that the capture reports as dropped
	disturbed bool               // a fault has repeated frames, or changed their order
	delayed   map[int]bool       // by interface: a fault has delayed frames of its link
}

// NewChecker returns a Checker that has seen nothing.
func NewChecker() *Checker {
	return &Checker{Found: map[Kind]int{}, Checked: map[Kind]int{}, Gaps: map[Gap]int{}, dropped: map[packet]bool{}}
}

// where is a port: of a run, by its number, or an interface of the capture.
type where struct {
	run    uint32
	number int
	seen   bool // an interface
}

// peer is the port at the other end of a link, where ports have numbers.
func (w where) peer() where { w.number ^= 1; return w }

type portRecord struct {
	rate     unit.Rate // of its link since it has changed; 0: it has not
	suspects []Problem // frames beyond a limit that this port has set, if no later limit is missing
	history
}

// history is the part of a record that does not survive a gap in the capture.
type history struct {
	lanes   map[uint8]*laneCredit
	numbers map[sequence]*number
	pause   *pause // nil: the port has not been paused

	counters map[counter]*uint32 // of virtual channels, plus one
	channels map[uint8]*channel
	retry    retried
}

func (c *Checker) port(at where) *portRecord { return entry(&c.ports, at) }

// entry returns the entry of a key in a map. It makes the entry, and the map, if there is none.
func entry[K comparable, V any](m *map[K]*V, k K) *V {
	if *m == nil {
		*m = map[K]*V{}
	}
	if (*m)[k] == nil {
		(*m)[k] = new(V)
	}
	return (*m)[k]
}

// Check returns the problems of the next packet, and the earlier problems that this packet proves.
// The result is valid until the next call.
func (c *Checker) Check(p *Packet) []Problem {
	c.problems = c.problems[:0]
	at, out, placed := place(p)
	if p.Missing > 0 {
		c.missing(p, p.Missing, "%d frames are missing in front of this one", p.Missing)
		c.forgetAll()
	}
	switch {
	case p.Unknown:
		c.Gaps[NoReader]++
		c.forget(at)
	case p.Err == nil:
		c.Checked[Reading]++
	case p.beyondCut():
		c.Gaps[Unreadable]++
		c.forget(at)
	default:
		c.Checked[Reading]++
		c.found(p, Reading, "%v", p.Err)
	}
	switch {
	case p.BadSum != "":
		c.Checked[Checksum]++
		if !p.corrupted() {
			c.found(p, Checksum, "%s is wrong", p.BadSum)
		}
	case p.Frame.Kind == 0 && p.Headers == nil:
	case p.Cut:
		c.Gaps[CutFrames]++
	default:
		c.Checked[Checksum]++
		if p.corrupted() {
			c.found(p, Checksum, "the capture reports it as corrupted, and its checksums are right")
		}
	}
	if p.Other == emptyRecord {
		c.portEvent(p, at)
		return c.problems
	}
	if placed {
		c.checkSequence(p, at)
		c.follow(p)
	}
	if p.ended() {
		return c.problems
	}
	c.checkTag(p, at.run)
	c.checkProbe(p, at.run)
	if placed {
		switch f := &p.Frame; {
		case f.Kind == wire.FlowControl:
			c.grant(p, at, out)
		case f.Kind == wire.CFUpdate || f.Kind == wire.CCUpdate:
			c.counters(p, at, out)
			c.checkMessage(p, at, out)
		case f.Kind == wire.Pause || f.Kind == wire.PriorityPause:
			c.pause(p, at, out)
		case f.Kind >= wire.LLRAck && f.Kind.OrderedSet():
			c.retrySet(p, at, out)
		case out && !p.again: // a frame that is retransmitted has kept them before
			c.checkCredit(p, at)
			c.checkChannel(p, at)
			c.checkPause(p, at)
		}
	}
	return c.problems
}

// ended reports whether a frame had no effect at the port that received it, as the capture of a run
// reports: it was lost, corrupted or refused, or the retry of its link discarded it.
func (p *Packet) ended() bool {
	return strings.Contains(p.Comment, "dropped: ") || strings.Contains(p.Comment, "retry: ")
}

// corrupted reports whether the capture of a run reports that a frame had bit errors on its link,
// so that its check sequence must be wrong.
func (p *Packet) corrupted() bool {
	return strings.Contains(p.Comment, "dropped: "+trace.BadFCS.String()) || strings.Contains(p.Comment, "retry: "+retry.RxBad.String())
}

// End takes the statistics at the end of a file. Suspects then stay in doubt. If only the
// statistics report missing frames, all problems of the capture are in doubt.
func (c *Checker) End(statistics []pcapng.Statistics) {
	for _, port := range c.ports {
		c.doubt(len(port.suspects))
		port.suspects = nil
	}
	c.countMissing()
	lost := 0
	for _, s := range statistics {
		lost += int(min(s.Dropped, 1<<40))
	}
	if lost <= c.Gaps[NotThere] {
		return
	}
	c.Gaps[NotThere] = lost
	for _, k := range []Kind{Credit, Sequence, Deliveries, PauseKept, Tags, Probes} {
		c.doubt(c.Found[k])
		c.Found[k] = 0
	}
}

// doubt counts n mistakes that missing frames may explain.
func (c *Checker) doubt(n int) {
	if n > 0 {
		c.Gaps[InDoubt] += n
	}
}

// missing records that n frames are not in the capture.
func (c *Checker) missing(p *Packet, n int, format string, args ...any) {
	c.Gaps[NotThere] += n
	c.problems = append(c.problems, Problem{p.Number, Incomplete, fmt.Sprintf(format, args...)})
}

// forget drops the history of ports, and of all flows.
func (c *Checker) forget(ports ...where) {
	for _, at := range ports {
		c.port(at).history = history{}
	}
	clear(c.flows)
	for _, t := range c.travels {
		t.unclear = true
	}
}

// forgetAll drops the history of all ports and flows.
func (c *Checker) forgetAll() {
	for _, port := range c.ports {
		port.history = history{}
	}
	c.forget()
}

// beyondCut reports whether a packet cannot be read because the capture has too little of it. Such
// a packet proves nothing.
func (p *Packet) beyondCut() bool {
	const widest = 4 // bytes of a field that can be refused
	var at *wire.ParseError
	return p.snapped && errors.As(p.Err, &at) && (at.Reason == wire.ErrTruncated || at.Offset+widest > p.have)
}

func (c *Checker) found(p *Packet, k Kind, format string, args ...any) {
	c.report(Problem{p.Number, k, fmt.Sprintf(format, args...)})
}

func (c *Checker) report(problems ...Problem) {
	for _, p := range problems {
		c.Found[p.Kind]++
	}
	c.problems = append(c.problems, problems...)
}

// exceeded records that a frame goes beyond the limit of its port. In a capture of a link a later
// limit may be missing that permits the frame: the next frame from the port that sets it shows
// that.
func (c *Checker) exceeded(p *Packet, at where, k Kind, format string, args ...any) {
	if !p.Carried {
		c.found(p, k, format, args...)
		return
	}
	peer := c.port(at.peer())
	peer.suspects = append(peer.suspects, Problem{p.Number, k, fmt.Sprintf(format, args...)})
}

// place returns the port that has seen a packet, and whether the packet left there.
func place(p *Packet) (at where, out, placed bool) {
	if p.Carried {
		return where{run: p.Trailer.Run, number: int(p.Trailer.Port)}, true, true
	}
	return where{number: p.Interface, seen: true}, p.Direction == pcapng.Outbound, p.Direction != pcapng.Unknown
}
