package dump

import (
	"errors"
	"fmt"
	"maps"

	"fabemu/emu/capture/pcapng"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Kind is what a check is about.
type Kind string

// The kinds of checks.
const (
	Reading   Kind = "reading"  // frames that cannot be read
	Checksum  Kind = "checksum" // ICRC, VCRC, LPCRC, FCS
	Credit    Kind = "credit"   // FCTBS against FCCL
	Sequence  Kind = "sequence" // of links and of flows
	PauseKept Kind = "pause"    // nothing is sent while paused
	Tags      Kind = "tag"      // rate-limited tags against BCN messages
	Probes    Kind = "probe"    // answers against the probes of E2CM
)

// Kinds returns all kinds of checks.
func Kinds() []Kind { return []Kind{Reading, Checksum, Credit, Sequence, PauseKept, Tags, Probes} }

// Incomplete is the kind of what is no mistake: something is missing from the capture.
const Incomplete Kind = "incomplete"

// Gap is a reason for which a capture does not prove all that it could.
type Gap string

// The gaps.
const (
	CutFrames  Gap = "frames were cut: their checksums are not proved"
	NoBegin    Gap = "parts of captures follow on none that was read"
	NotThere   Gap = "frames are missing from the capture"
	NoCredit   Gap = "frames were sent on lanes whose credit the capture does not show"
	NoMessages Gap = "rate-limited tags, or BCN messages that answer them, come from where the capture does not look"
	NoProbes   Gap = "answers are to probes that the capture does not show"
	NoTally    Gap = "flow control packets are not at the port that sent them: their FCTBS is not proved"
	InDoubt    Gap = "mistakes would be there if nothing were missing: they prove nothing"
	Dropped    Gap = "frames of flows are missing that were dropped on their way, as the capture says"
	Unreadable Gap = "packets were cut so short that they cannot be read"
)

// Gaps returns all gaps.
func Gaps() []Gap {
	return []Gap{NoBegin, NotThere, InDoubt, Dropped, Unreadable, CutFrames, NoCredit, NoTally, NoMessages, NoProbes}
}

// Problem is something that a capture shows to be wrong, or missing.
type Problem struct {
	Number int // of the packet
	Kind   Kind
	Text   string
}

func (p Problem) String() string { return fmt.Sprintf("packet %d: %s: %s", p.Number, p.Kind, p.Text) }

// Checker checks the packets of a capture, in their order.
type Checker struct {
	Found   map[Kind]int // problems
	Checked map[Kind]int // what was looked at: packets, or frames that had to keep to a limit
	Gaps    map[Gap]int  // what is not proved

	problems  []Problem
	suspects  map[where][]Problem // by the port that told the limit: nothing that it told may be missing
	lanes     map[lane]*account
	sequences map[sequence]uint32
	dropped   map[packet]bool // of which the capture says so
	pauses    map[where]*pause
	rates     map[where]unit.Rate // of links whose rate has changed
	begun     map[where]uint16    // incarnations of ports, where frames were carried
	limits    map[limited]*limit  // by flow
	above     map[tag]bool        // of a queue above Qeq, by its congestion point
	tags      map[tag]bool        // that frames have carried
	probes    map[limited]*probes // by flow
}

// NewChecker returns a Checker that has seen nothing.
func NewChecker() *Checker {
	return &Checker{
		Found: map[Kind]int{}, Checked: map[Kind]int{}, Gaps: map[Gap]int{}, suspects: map[where][]Problem{},
		lanes: map[lane]*account{}, sequences: map[sequence]uint32{}, dropped: map[packet]bool{}, pauses: map[where]*pause{},
		rates: map[where]unit.Rate{}, begun: map[where]uint16{}, limits: map[limited]*limit{},
		above: map[tag]bool{}, tags: map[tag]bool{}, probes: map[limited]*probes{},
	}
}

// where is a port: of a run, by its number, or an interface of the capture.
type where struct {
	run    uint32
	number int
	seen   bool // an interface
}

// peer is the port at the other end of a link, where ports have numbers.
func (w where) peer() where { w.number ^= 1; return w }

// Check looks at the next packet and returns what is wrong with it, and what it shows to
// have been wrong or to be missing before. The result is valid until the next call.
func (c *Checker) Check(p *Packet) []Problem {
	c.problems = c.problems[:0]
	at, out, placed := place(p)
	if p.Missing > 0 {
		c.missing(p, p.Missing, "%d frames are missing in front of this one", p.Missing)
		c.forget(func(where) bool { return true })
	}
	switch {
	case p.Err == nil:
		c.Checked[Reading]++
	case p.beyondCut():
		c.Gaps[Unreadable]++
		c.forget(func(w where) bool { return w == at })
	default:
		c.Checked[Reading]++
		c.found(p, Reading, "%v", p.Err)
	}
	switch {
	case p.BadSum != "":
		c.Checked[Checksum]++
		c.found(p, Checksum, "%s is wrong", p.BadSum)
	case p.Frame.Kind == 0 && p.Headers == nil:
	case p.Cut:
		c.Gaps[CutFrames]++
	default:
		c.Checked[Checksum]++
	}
	if p.Other == emptyRecord {
		c.changed(p, at)
		return c.problems
	}
	c.tagged(p, at.run)
	c.answered(p, at.run)
	if placed {
		c.sequence(p, at)
		switch f := &p.Frame; {
		case f.Kind == wire.FlowControl:
			c.told(p, at, out)
		case f.Kind == wire.Pause || f.Kind == wire.PriorityPause:
			c.paused(p, at, out)
		case out:
			c.credit(p, at)
			c.kept(p, at)
		}
	}
	return c.problems
}

// End takes in the statistics at the end of a file. What is suspected then stays in
// doubt, as does all that a capture shows which says at its end alone that it lacks frames.
func (c *Checker) End(statistics []pcapng.Statistics) {
	for _, list := range c.suspects {
		c.doubt(len(list))
	}
	clear(c.suspects)
	lost := 0
	for _, s := range statistics {
		lost += int(min(s.Dropped, 1<<40))
	}
	if lost <= c.Gaps[NotThere] {
		return
	}
	c.Gaps[NotThere] = lost
	for _, k := range []Kind{Credit, Sequence, PauseKept, Tags, Probes} {
		c.doubt(c.Found[k])
		c.Found[k] = 0
	}
}

// doubt notes n mistakes that what is missing may explain.
func (c *Checker) doubt(n int) {
	if n > 0 {
		c.Gaps[InDoubt] += n
	}
}

// missing notes that n frames are not in the capture.
func (c *Checker) missing(p *Packet, n int, format string, args ...any) {
	c.Gaps[NotThere] += n
	c.problems = append(c.problems, Problem{p.Number, Incomplete, fmt.Sprintf(format, args...)})
}

// forget drops what is known of ports.
func (c *Checker) forget(of func(where) bool) {
	maps.DeleteFunc(c.lanes, func(l lane, _ *account) bool { return of(l.where) })
	maps.DeleteFunc(c.sequences, func(s sequence, _ uint32) bool { return of(s.where) })
	maps.DeleteFunc(c.pauses, func(w where, _ *pause) bool { return of(w) })
	clear(c.limits)
	clear(c.above)
	clear(c.tags)
	clear(c.probes)
}

// beyondCut says whether a packet cannot be read because too little of it was
// captured: that proves nothing.
func (p *Packet) beyondCut() bool {
	const widest = 4 // bytes of a field that can be refused
	var at *wire.ParseError
	return p.snapped && errors.As(p.Err, &at) && (at.Reason == wire.ErrTruncated || at.Offset+widest > p.have)
}

func (c *Checker) found(p *Packet, k Kind, format string, args ...any) {
	c.report(Problem{p.Number, k, fmt.Sprintf(format, args...)})
}

// report notes problems.
func (c *Checker) report(problems ...Problem) {
	for _, p := range problems {
		c.Found[p.Kind]++
	}
	c.problems = append(c.problems, problems...)
}

// exceeded notes that a frame goes beyond what its port was told. Of a link itself a word
// may be missing in between, by which it might: the next that comes from there shows it.
func (c *Checker) exceeded(p *Packet, at where, k Kind, format string, args ...any) {
	if !p.Carried {
		c.found(p, k, format, args...)
		return
	}
	c.suspects[at.peer()] = append(c.suspects[at.peer()], Problem{p.Number, k, fmt.Sprintf(format, args...)})
}

// place says which port has seen a packet, and whether it went out there.
func place(p *Packet) (at where, out, placed bool) {
	if p.Carried {
		return where{run: p.Trailer.Run, number: int(p.Trailer.Port)}, true, true
	}
	return where{number: p.Interface, seen: true}, p.Direction == pcapng.Outbound, p.Direction != pcapng.Unknown
}

// known returns what is known of a key, which is made where nothing is.
func known[K comparable, V any](m map[K]*V, k K) *V {
	if m[k] == nil {
		m[k] = new(V)
	}
	return m[k]
}
