package dump

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

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
	probes    map[limited]*probes // by flow
}

// NewChecker returns a Checker that has seen nothing.
func NewChecker() *Checker {
	return &Checker{
		Found: map[Kind]int{}, Checked: map[Kind]int{}, Gaps: map[Gap]int{}, suspects: map[where][]Problem{},
		lanes: map[lane]*account{}, sequences: map[sequence]uint32{}, dropped: map[packet]bool{}, pauses: map[where]*pause{},
		rates: map[where]unit.Rate{}, begun: map[where]uint16{}, limits: map[limited]*limit{},
		probes: map[limited]*probes{},
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

type lane struct {
	where
	lane uint8
}

// account is the credit of a lane at the port that sends on it.
type account struct {
	sent, limit uint16
	tells       bool // it is here that its flow control packets are seen as they leave
	sentKnown   bool // FCTBS is known
	limitKnown  bool
	coming      []grant // limits that are not due yet
}

// grant is a limit that counts from an instant on.
type grant struct {
	due   unit.Time
	limit uint16
}

// sequence is what is numbered.
type sequence struct {
	where
	direction pcapng.Direction
	kind      wire.Kind
	src       wire.LID
	qp        uint32
}

// packet is one of a flow.
type packet struct{ qp, psn uint32 }

// pause is how long a port must not send, by priority, in ps.
type pause struct {
	from, until [8]int64
}

// modulus and half are the range of block counters, and how far a limit may be ahead
// (IBTA Volume 1, 7.9.4.3).
const (
	modulus = 4096
	half    = modulus / 2
)

// Check looks at the next packet and returns what is wrong with it, and what it shows to
// have been wrong or to be missing before. The result is valid until the next call.
func (c *Checker) Check(p *Packet) []Problem {
	c.problems = c.problems[:0]
	at, out, known := place(p)
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
	if known {
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
func place(p *Packet) (at where, out, known bool) {
	if p.Carried {
		return where{run: p.Trailer.Run, number: int(p.Trailer.Port)}, true, true
	}
	return where{number: p.Interface, seen: true}, p.Direction == pcapng.Outbound, p.Direction != pcapng.Unknown
}

// sequence checks that nothing is missing in front of a packet.
func (c *Checker) sequence(p *Packet, at where) {
	if p.Carried {
		if c.begun[at] != p.Trailer.Incarnation { // its link was down: nobody is paused
			c.begun[at] = p.Trailer.Incarnation
			delete(c.pauses, at)
			delete(c.pauses, at.peer())
		}
		s := sequence{where: at, direction: pcapng.Outbound, qp: uint32(p.Trailer.Incarnation)}
		last, seen := c.sequences[s]
		switch ahead := int32(p.Trailer.Seq - last - 1); {
		case !seen:
			c.doubt(len(c.suspects[at]))
		case ahead > 0: // nobody can tell whether the link lost them or who captured it
			c.missing(p, int(ahead), "port %d: sequence %d comes after %d", p.Trailer.Port, p.Trailer.Seq, last)
			c.doubt(len(c.suspects[at]))
			c.forget(func(w where) bool { return w == at || w == at.peer() })
		default:
			c.Checked[Sequence]++
			if ahead < 0 {
				c.found(p, Sequence, "port %d: sequence %d comes after %d", p.Trailer.Port, p.Trailer.Seq, last)
			}
			c.report(c.suspects[at]...)
		}
		delete(c.suspects, at)
		c.sequences[s] = p.Trailer.Seq
	}
	f := &p.Frame
	if f.Kind != wire.Data && f.Kind != wire.Ack || f.Family == wire.RoCEv2 { // which sends again what is lost, and has ACKs for many
		return
	}
	if strings.Contains(p.Comment, "dropped: ") {
		c.dropped[packet{f.QP, f.PSN}] = true
	}
	s := sequence{at, p.Direction, f.Kind, f.Src, f.QP}
	last, seen := c.sequences[s]
	if seen {
		c.Checked[Sequence]++
		ahead := (f.PSN - last - 1) & 0xFFFFFF
		if ahead >= 1<<23 {
			return // sent again, or by a longer way: no gap, nor is what goes on behind it
		}
		switch {
		case ahead == 0:
		case c.droppedOf(f.QP, last+1, ahead) == ahead:
			c.Gaps[Dropped] += int(ahead)
		default:
			c.found(p, Sequence, "%v of queue pair %d: packet %d comes after %d", f.Kind, f.QP, f.PSN, last)
		}
	}
	c.sequences[s] = f.PSN
}

// droppedOf returns how many of n packets of a flow, from psn on, the capture says to be dropped.
func (c *Checker) droppedOf(qp, psn, n uint32) (dropped uint32) {
	for k := range min(n, uint32(len(c.dropped))) {
		if c.dropped[packet{qp, (psn + k) & 0xFFFFFF}] {
			dropped++
		}
	}
	return dropped
}

// account returns the credit of a lane.
func (c *Checker) account(at where, n uint8) *account {
	l := lane{at, n}
	a := c.lanes[l]
	if a == nil {
		a = &account{}
		c.lanes[l] = a
	}
	return a
}

// told takes in a flow control packet: what its sender has sent, and how far its
// peer may go.
func (c *Checker) told(p *Packet, at where, out bool) {
	f := &p.Frame
	if out {
		a := c.account(at, f.Lane)
		if a.sentKnown && f.Op != wire.OpInit { // with that a link begins anew
			c.Checked[Credit]++
			if a.sent != f.FCTBS {
				c.found(p, Credit, "lane %d: FCTBS says that %d blocks were sent, the capture has %d",
					f.Lane, f.FCTBS, a.sent)
			}
		}
		a.sent, a.sentKnown, a.tells = f.FCTBS, true, true
	}
	switch {
	case p.Carried:
		a := c.account(at.peer(), f.Lane)
		a.coming = append(a.coming, grant{p.Trailer.Due, f.FCCL})
	case !out:
		a := c.account(at, f.Lane)
		if f.Op == wire.OpInit && !a.sentKnown { // nothing is sent before it
			a.sent, a.sentKnown = 0, true
		}
		a.limit, a.limitKnown = f.FCCL, true
		if !a.tells {
			c.Gaps[NoTally]++
		}
	}
}

// credit checks that there was credit for a frame that was sent.
func (c *Checker) credit(p *Packet, at where) {
	n, blocks := p.Frame.Lane, p.Frame.Blocks()
	switch {
	case p.Frame.Delimiter() == wire.DataPacket:
	case p.Headers != nil && p.Headers.Local: // others have written it, but it was carried all the same
		n, blocks = p.Headers.LRH.VL, (p.Size+wire.BlockSize-1)/wire.BlockSize
	default:
		return
	}
	a := c.account(at, n)
	for len(a.coming) > 0 && a.coming[0].due <= p.Trailer.Head {
		a.limit, a.limitKnown = a.coming[0].limit, true
		a.coming = slices.Delete(a.coming, 0, 1)
	}
	a.sent = (a.sent + uint16(blocks)) % modulus
	if !a.sentKnown || !a.limitKnown {
		c.Gaps[NoCredit]++
		if left, said := p.creditLeft(); said && a.limitKnown { // from here on it is reckoned
			a.sent, a.sentKnown = (a.limit-left)%modulus, true
		}
		return
	}
	c.Checked[Credit]++
	if (a.limit-a.sent)%modulus > half {
		c.exceeded(p, at, Credit, "lane %d is overdrawn: %d blocks were sent with this frame of %d, the limit is %d",
			n, a.sent, blocks, a.limit)
	}
}

// creditLeft returns what the sender says to be left of its credit, in a capture of a run.
func (p *Packet) creditLeft() (blocks uint16, said bool) {
	_, text, _ := strings.Cut(p.Comment, "credit ")
	text, _, said = strings.Cut(text, " blocks")
	n, err := strconv.ParseUint(text, 10, 12)
	return uint16(n), said && err == nil
}

// instant returns when a packet was on the line (sent), or could be acted on, in ps.
func instant(p *Packet, out bool) int64 {
	switch {
	case p.Carried && out:
		return int64(p.Trailer.Head)
	case p.Carried:
		return int64(p.Trailer.Due)
	}
	return p.Time * 1000
}

// changed takes in an event of a port. With a link that goes down or comes up a pause is
// over, and the quanta of the next one are counted in bits of the rate that it has then. With
// new routes a flow may come by another port, which has not seen the frames before.
func (c *Checker) changed(p *Packet, at where) {
	what, figure, _ := strings.Cut(p.Comment, " ")
	switch what {
	case "dropped:":
		if _, frame, found := strings.Cut(figure, " ("); found {
			var x packet
			if _, err := fmt.Sscanf(frame, "flow %d, psn %d)", &x.qp, &x.psn); err == nil {
				c.dropped[x] = true
			}
		}
	case "routes-change":
		maps.DeleteFunc(c.sequences, func(s sequence, _ uint32) bool { return s.seen })
	case "link-down", "link-up", "restart":
		delete(c.pauses, at)
		maps.DeleteFunc(c.lanes, func(l lane, _ *account) bool { return l.where == at })
	case "rate-change":
		delete(c.pauses, at)
		if rate, err := unit.ParseRate(figure); err == nil {
			c.rates[at] = rate
		}
	}
}

// paused takes in a PAUSE or PFC frame.
func (c *Checker) paused(p *Packet, at where, out bool) {
	if p.Carried {
		at, out = at.peer(), false
	}
	if out {
		return // it stops the other end, which sees it come
	}
	s := c.pauses[at]
	if s == nil {
		s = &pause{}
		c.pauses[at] = s
	}
	f := &p.Frame
	rate, changed := c.rates[at]
	if !changed {
		rate = unit.Rate(p.Speed)
	}
	if p.Carried && p.Trailer.Duration > 0 {
		rate = unit.Rate(float64(p.Trailer.Length) * 8e12 / float64(p.Trailer.Duration))
	}
	if rate <= 0 {
		return
	}
	from := instant(p, false)
	for n := range s.until {
		class := uint8(1) << n
		switch {
		case f.Kind == wire.Pause, f.Classes&f.Stopped&class != 0:
			s.from[n], s.until[n] = from, from+int64(float64(f.Quanta)*wire.Quantum*1e12/float64(rate))
		case f.Classes&class != 0:
			s.from[n], s.until[n] = from, from
		}
	}
}

// kept checks that a frame was not sent while its port or priority was paused.
func (c *Checker) kept(p *Packet, at where) {
	f := &p.Frame
	s := c.pauses[at]
	if s == nil || f.Kind == 0 || f.Lane > 7 || f.Delimiter() != wire.StartOfFrame {
		return
	}
	c.Checked[PauseKept]++
	// Stamps of a capture are cut to nanoseconds.
	const cut = 1000
	if start := instant(p, true); start >= s.from[f.Lane] && start+cut < s.until[f.Lane] {
		c.exceeded(p, at, PauseKept, "priority %d is sent %v before its pause ends",
			f.Lane, unit.Duration(s.until[f.Lane]-start))
	}
}

// limited is a flow that BCN may limit; of queue pair 0, all flows of its source.
type limited struct {
	run uint32
	src wire.LID
	qp  uint32
}

// limit is what a capture shows of a flow and its limiter, and of all of a source whether
// there are messages to it.
type limit struct {
	met    bool            // there is a data frame,
	begun  bool            // and the first is that with which the flow begins
	told   map[uint64]bool // the congestion points that have told the source of a queue above Qeq
	tagged map[uint64]bool // those whose tag its frames have carried
}

// limit returns what is known of a flow.
func (c *Checker) limit(of limited) *limit {
	l := c.limits[of]
	if l == nil {
		l = &limit{told: map[uint64]bool{}, tagged: map[uint64]bool{}}
		c.limits[of] = l
	}
	return l
}

// tagged checks that a rate-limited tag follows a message of its congestion point about a
// queue above Qeq, and that a message about one below answers a tag. Where the capture
// does not look at the links that the flow begins on, or the messages go back on, there is
// no proof: it has then not seen the begin of the flow, or no message to its source.
func (c *Checker) tagged(p *Packet, run uint32) {
	f := &p.Frame
	switch {
	case f.Kind == wire.BCN:
		c.limit(limited{run, f.Dst, 0}).told[f.CPID] = true
		l := c.limit(limited{run, f.Dst, f.QP})
		switch {
		case f.QOffset < 0 || f.Flags&wire.BCNSevere != 0:
			l.told[f.CPID] = true
		case l.tagged[f.CPID]:
			c.Checked[Tags]++
		case l.begun:
			c.found(p, Tags,
				"congestion point %#x tells queue pair %d of a queue that is not above Qeq, and no frame has carried its tag",
				f.CPID, f.QP)
		default:
			c.Gaps[NoMessages]++
		}
	case f.Kind == wire.Data && f.Family != wire.InfiniBand:
		l := c.limit(limited{run, f.Src, f.QP})
		if !l.met {
			l.met, l.begun = true, f.PSN == 0
		}
		switch {
		case f.CPID == 0:
			return
		case l.told[f.CPID]:
			c.Checked[Tags]++
		case l.tagged[f.CPID]: // as the first, of which it was said
		case l.begun && len(c.limit(limited{run, f.Src, 0}).told) > 0:
			c.found(p, Tags,
				"a frame of queue pair %d has the tag of congestion point %#x, which has not told its source of a queue above Qeq",
				f.QP, f.CPID)
		default:
			c.Gaps[NoMessages]++
		}
		l.tagged[f.CPID] = true
	}
}

// probes is what a capture shows of the probes of a flow: the last that it has met of each
// number modulo the size of the ring.
type probes struct{ ring [256]wire.Frame }

// answered checks that a probe says the same on all of its way, and that an answer says of
// its probe what that has said, and came no earlier. Where the capture has met no probe of
// the flow, or not that one, there is no proof.
func (c *Checker) answered(p *Packet, run uint32) {
	f := &p.Frame
	if f.Kind != wire.Probe {
		return
	}
	answer := f.Flags&wire.ProbeAnswer != 0
	of := limited{run, f.Src, f.QP}
	if answer {
		of.src = f.Dst
	}
	l := c.probes[of]
	if l == nil {
		l = &probes{}
		c.probes[of] = l
	}
	was := &l.ring[f.PSN%uint32(len(l.ring))]
	met := was.Kind == wire.Probe && was.PSN == f.PSN
	switch {
	case !met && answer:
		c.Gaps[NoProbes]++
		return
	case !met:
		*was = *f
		return
	}
	c.Checked[Probes]++
	switch {
	case f.SentAt != was.SentAt:
		c.found(p, Probes, "probe %d of queue pair %d was sent at %v, and this says %v",
			f.PSN, f.QP, was.SentAt, f.SentAt)
	case f.Flags&wire.ProbeCounted == 0 && f.Value != was.Value:
		c.found(p, Probes, "probe %d of queue pair %d counts %d bytes, and this says %d",
			f.PSN, f.QP, was.Value, f.Value)
	case answer && f.CameAt < f.SentAt:
		c.found(p, Probes, "probe %d of queue pair %d came at %v, before it was sent", f.PSN, f.QP, f.CameAt)
	}
}
