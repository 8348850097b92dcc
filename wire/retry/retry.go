package retry

import (
	"slices"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// Modulus is the range of sequences: 20 bits (UE 1.0; the SAI text has no number, the SONiC text a
// range of 524288 frames, which is half of it).
const Modulus = 1 << 20

// TxState is the state of a sender (SAI: sai_port_llr_tx_status_t).
type TxState uint8

// The states of a sender.
const (
	Init    TxState = iota // it sends INIT until the echo has come
	Advance                // it sends new frames
	Replay                 // it retransmits frames
	Flush                  // it has given up, and does not start again by itself
)

func (s TxState) String() string {
	return unit.Word(s, []string{Init: "INIT", Advance: "ADVANCE", Replay: "REPLAY", Flush: "FLUSH"})
}

// RxState is the state of a receiver (SAI: sai_port_llr_rx_status_t).
type RxState uint8

// The states of a receiver.
const (
	Off      RxState = iota // no INIT has come
	SendAcks                // all is well
	SendNack                // a frame is missing, and a NACK is due
	NackSent                // it waits for that frame
)

func (s RxState) String() string {
	return unit.Word(s, []string{Off: "OFF", SendAcks: "SEND_ACKS", SendNack: "SEND_NACK", NackSent: "NACK_SENT"})
}

// Set is a control ordered set. An ACK and a NACK have the sequence of the last frame that was
// passed on; INIT and its echo have the sequence of the first frame to come.
type Set struct {
	Kind     wire.Kind // LLRAck, LLRNack, LLRInit or LLRInitEcho
	Sequence uint32
}

// Verdict is whether a frame may leave.
type Verdict uint8

// The verdicts.
const (
	Plain     Verdict = iota // it leaves without a sequence
	Protected                // it leaves with one
	Dropped                  // it is to be dropped
	Full                     // it waits: as much awaits an ACK as may
	Replaying                // it waits while other frames are retransmitted
	Closed                   // it waits: the handshake is not over, or never will be
)

// An Owner of an End holds the bodies of its frames and reports their losses.
type Owner interface {
	// Free ends a copy that an End has kept.
	Free(f *wire.Frame)
	// Lost reports a frame that the peer has sent and that will never be passed on.
	Lost(now unit.Time, f *wire.Frame)
	// Counted reports a counter that is not of every frame. Of a set f is of no kind.
	Counted(now unit.Time, c Counter, f wire.Frame, sequence uint32)
}

// kept is a frame in the replay buffer.
type kept struct {
	frame  wire.Frame
	length unit.Size // on the line
	sent   unit.Time // when it left for the first time
}

// End is one end of a link with retry: a sender and a receiver.
type End struct {
	profile Profile
	owner   Owner
	modulus uint32 // a power of two
	counts  [Counters]uint64

	tx      TxState
	next    uint32 // sequence of the next new frame
	kept    []kept // frames that await their ACK, from head on
	head    int
	bytes   unit.Size
	again   int           // REPLAY: the next frame to be retransmitted
	replays int           // in a row
	since   unit.Time     // when the replay timer began
	initAt  unit.Time     // INIT: when it is repeated
	every   unit.Duration // and how often

	rx       RxState
	expected uint32
	last     uint32       // the sequence of the frame that came last
	seen     uint32       // sequences before it have come, or were lost on the link
	missing  []wire.Frame // those from expected on to seen
	acks     bool         // something awaits an ACK of ours
	ackAt    unit.Time    // when it may be sent at the earliest
	echo     bool         // INIT has come
	news     bool         // something became due, or a frame may leave that could not
	full     bool         // a frame waits for an ACK
	freed    bool         // an ACK has come for a frame
	down     unit.Time    // since when the link is down
	due      unit.Time    // no later than Deadline; unknown: it is to be computed
	moved    bool         // due became earlier, or was computed, since TakeTimerMoved
}

// unknown is the instant of a deadline that is to be computed.
const unknown unit.Time = -1

// leastEvery is the least time between two INITs.
const leastEvery = unit.Microsecond

// NewEnd returns an end whose first frames wait for the handshake, which is due at once.
func NewEnd(p Profile, owner Owner) *End {
	return &End{profile: p, owner: owner, modulus: Modulus, every: max(p.Timer, leastEvery),
		last: Modulus - 1, down: unit.Never, due: unknown, moved: true}
}

// TxState returns the state of the sender.
func (e *End) TxState() TxState { return e.tx }

// TakeNews reports, once, whether the owner has to call Next although no deadline of before has
// passed, or may send a frame that it could not.
func (e *End) TakeNews() bool {
	news := e.news
	e.news = false
	return news
}

// TakeFreed reports, once, whether an ACK has come for a frame. Next has nothing to send for it,
// unless TakeNews reports so.
func (e *End) TakeFreed() bool {
	freed := e.freed
	e.freed = false
	return freed
}

func (e *End) count(now unit.Time, c Counter, f *wire.Frame, sequence uint32) {
	e.counts[c]++
	if f == nil {
		e.owner.Counted(now, c, wire.Frame{}, sequence)
		return
	}
	e.owner.Counted(now, c, *f, sequence) // a pointer would have all frames of callers on the heap
}

// Permits returns whether a frame that takes n bytes of the link may leave.
func (e *End) Permits(f *wire.Frame, n unit.Size) Verdict {
	action := e.profile.Init
	switch {
	case !(f.Kind.Control() || e.profile.Eligible>>(f.Lane&7)&1 == 1):
		return Plain
	case e.tx == Advance && (f.Kind.Control() || len(e.kept)-e.head < e.profile.Frames && e.bytes+n <= e.profile.Bytes):
		return Protected
	case e.tx == Advance:
		e.full = true
		return Full
	case e.tx == Replay:
		return Replaying
	case e.tx == Flush:
		action = e.profile.Flush
	}
	switch {
	case action == BestEffort || f.Kind.Control():
		return Plain
	case action == Discard:
		return Dropped
	}
	return Closed
}

// Opens reports whether any frame that takes n bytes of the link may leave, protected or not. It
// may be false although Lets lets it.
func (e *End) Opens(n unit.Size) bool {
	return e.tx == Advance && len(e.kept)-e.head < e.profile.Frames && e.bytes+n <= e.profile.Bytes
}

// Keep numbers a frame that is Protected, leaves now and takes n bytes of the link until end. The
// copy belongs to the End.
func (e *End) Keep(now, end unit.Time, f *wire.Frame, n unit.Size) (sequence uint32) {
	if e.head == len(e.kept) {
		e.kept, e.head = e.kept[:0], 0
		e.since = end
		e.stale()
	} else if e.head > len(e.kept)/2 && len(e.kept) == cap(e.kept) {
		e.kept = e.kept[:copy(e.kept, e.kept[e.head:])]
		e.head = 0
	}
	i := len(e.kept)
	if i == cap(e.kept) {
		e.kept = slices.Grow(e.kept, 1)
	}
	e.kept = e.kept[:i+1]
	k := &e.kept[i] // filled field by field: a literal would be copied twice
	k.frame, k.length, k.sent = *f, n, now
	e.bytes += n
	e.counts[TxOK]++
	sequence = e.next
	e.next = e.mod(e.next + 1)
	return sequence
}

// Discarded counts a frame whose verdict was Dropped.
func (e *End) Discarded(now unit.Time, f *wire.Frame) { e.count(now, TxDiscard, f, e.next) }

// oldest returns the sequence of the first frame that awaits its ACK.
func (e *End) oldest() uint32 {
	return e.mod(e.next + e.modulus - uint32(len(e.kept)-e.head))
}

// Next returns the set, or the frame to be retransmitted with its sequence, that is due on an idle
// link, ahead of all other frames. For a frame the caller then calls Again. The gap is the time of
// the spacing of ACKs on the link.
func (e *End) Next(now unit.Time, gap unit.Duration) (s Set, again *wire.Frame, sequence uint32, due bool) {
	e.stale()
	e.expire(now)
	switch {
	case e.echo:
		e.echo = false
		e.counts[TxInitEcho]++
		return Set{wire.LLRInitEcho, e.expected}, nil, 0, true
	case e.rx == SendNack:
		e.rx, e.ackAt = NackSent, now.Add(gap)
		e.counts[TxNack]++
		return Set{wire.LLRNack, e.before(e.expected)}, nil, 0, true
	case e.tx == Init && e.initAt <= now:
		e.initAt = now.Add(e.every)
		e.counts[TxInit]++
		return Set{wire.LLRInit, e.next}, nil, 0, true
	case e.acks && e.rx == SendAcks && e.ackAt <= now:
		e.acks, e.ackAt = false, now.Add(gap)
		e.counts[TxAck]++
		return Set{wire.LLRAck, e.before(e.expected)}, nil, 0, true
	case e.tx == Replay:
		k := &e.kept[e.again]
		return s, &k.frame, e.mod(e.oldest() + uint32(e.again-e.head)), true
	}
	return s, nil, 0, false
}

// mod returns a sequence, which may be too high by some wraps.
func (e *End) mod(sequence uint32) uint32 { return sequence & (e.modulus - 1) }

func (e *End) before(sequence uint32) uint32 { return e.mod(sequence + e.modulus - 1) }

// Again notes that the frame that Next has returned leaves now and takes the line until end.
func (e *End) Again(now, end unit.Time) {
	e.counts[TxOK]++
	e.stale()
	k := &e.kept[e.again]
	e.count(now, Replayed, &k.frame, e.mod(e.oldest()+uint32(e.again-e.head)))
	e.again++
	if e.again == len(e.kept) {
		e.replayed(now)
		e.since = end
	}
}

// replayed ends a replay.
func (e *End) replayed(now unit.Time) {
	e.tx, e.news = Advance, true
	e.count(now, TxReplay, nil, e.oldest())
}

// Deadline returns when Next has something to send.
func (e *End) Deadline() unit.Time {
	e.due, e.moved = e.deadline(), true
	return e.due
}

// Bound returns an instant that is no later than Deadline, in fewer steps: an ACK that frees frames
// postpones the timer, which is noted only once the timer has come.
func (e *End) Bound() unit.Time { return e.due }

// Due reports whether Deadline is no later than t.
func (e *End) Due(t unit.Time) bool { return e.due <= t && e.Deadline() <= t }

// TakeTimerMoved reports whether Bound may have become earlier since it last reported so, or since
// the deadline has come.
func (e *End) TakeTimerMoved() bool {
	moved := e.moved
	e.moved = false
	return moved
}

// stale notes that the deadline may be any.
func (e *End) stale() { e.due, e.moved = unknown, true }

// deadline computes the result of Deadline, which stores it.
func (e *End) deadline() unit.Time {
	at := unit.Never
	if e.echo || e.rx == SendNack || e.tx == Replay {
		return 0
	}
	if e.tx == Init {
		at = e.initAt
	}
	if e.acks && e.rx == SendAcks {
		at = min(at, e.ackAt)
	}
	if e.head < len(e.kept) {
		at = min(at, e.since.Add(e.profile.Timer))
		if e.profile.DataAge > 0 {
			at = min(at, e.kept[e.head].sent.Add(e.profile.DataAge))
		}
	}
	return at
}

// expire does all that a timer wants.
func (e *End) expire(now unit.Time) {
	if e.head == len(e.kept) {
		return
	}
	if age := e.profile.DataAge; age > 0 && e.kept[e.head].sent.Add(age) <= now {
		e.flush(now)
	} else if e.tx == Advance && e.since.Add(e.profile.Timer) <= now {
		e.count(now, Timeout, &e.kept[e.head].frame, e.oldest())
		e.replay(now)
	}
}

// replay begins a replay of all that awaits its ACK, unless there were as many as may be.
func (e *End) replay(now unit.Time) {
	if e.replays == e.profile.Count {
		e.flush(now)
		return
	}
	e.replays++
	e.tx, e.again, e.news = Replay, e.head, true
}

// flush gives up all frames that await their ACK.
func (e *End) flush(now unit.Time) {
	e.free(len(e.kept) - e.head)
	e.count(now, Flushed, nil, e.next)
	e.replays, e.news, e.tx = 0, true, Flush
	if e.profile.Reinit {
		e.tx, e.initAt = Init, now
	}
}

// free takes the first n frames out of the replay buffer.
func (e *End) free(n int) {
	for range n {
		k := &e.kept[e.head]
		e.bytes -= k.length
		e.owner.Free(&k.frame)
		e.head++
	}
}

// Take takes in a set of the peer. One that does not fit is counted and has no effect.
func (e *End) Take(now unit.Time, s Set) {
	if s.Kind != wire.LLRAck || e.tx != Advance { // an ACK puts the timer off, and makes nothing due
		e.stale()
	}
	if s.Sequence >= e.modulus {
		e.count(now, RxAckNackSeqError, nil, s.Sequence)
		return
	}
	switch s.Kind {
	case wire.LLRAck:
		e.counts[RxAck]++
		e.acknowledged(now, s.Sequence, false)
	case wire.LLRNack:
		e.counts[RxNack]++
		e.acknowledged(now, s.Sequence, true)
	case wire.LLRInit:
		e.counts[RxInit]++
		e.begin(now, s.Sequence)
	case wire.LLRInitEcho:
		e.counts[RxInitEcho]++
		if e.tx == Init && s.Sequence == e.next {
			e.tx, e.news = Advance, true
			e.count(now, Ready, nil, e.next)
		}
	}
}

// acknowledged takes in an ACK or NACK of all frames up to one.
func (e *End) acknowledged(now unit.Time, sequence uint32, nack bool) {
	n := int(e.mod(sequence + 1 + e.modulus - e.oldest()))
	if e.tx == Init || e.tx == Flush || n > len(e.kept)-e.head {
		e.count(now, RxAckNackSeqError, nil, sequence)
		return
	}
	if n > 0 {
		if e.since > now {
			e.stale()
		}
		e.free(n)
		e.replays, e.since = 0, now // an early call of the timer does nothing
		e.news, e.full, e.freed = e.news || e.full || e.acks && e.rx == SendAcks, false, true
	}
	if e.tx == Replay {
		if e.again = max(e.again, e.head); e.again == len(e.kept) {
			e.replayed(now)
		}
	}
	if nack && e.head < len(e.kept) {
		e.replay(now)
	}
}

// begin resets the receiver: the peer sends this sequence next.
func (e *End) begin(now unit.Time, sequence uint32) {
	e.lose(now)
	e.rx, e.expected, e.seen, e.last = SendAcks, sequence, sequence, e.before(sequence)
	e.acks, e.ackAt = false, now
	e.echo, e.news = true, true
}

// lose reports all missing frames as lost.
func (e *End) lose(now unit.Time) {
	for i := range e.missing {
		e.owner.Lost(now, &e.missing[i])
	}
	e.missing, e.expected = e.missing[:0], e.seen
}

// Missed notes a protected frame that was lost on the link, so that its end can be reported if it
// never comes. A real receiver does not see it, and nothing else follows from it here.
func (e *End) Missed(now unit.Time, f *wire.Frame, sequence uint32) {
	e.note(now, f, sequence)
	e.count(now, LostOnLink, f, sequence)
}

// note keeps a frame that was sent for the first time and does not arrive in its turn.
func (e *End) note(now unit.Time, f *wire.Frame, sequence uint32) {
	if sequence != e.seen {
		return
	}
	e.seen = e.mod(e.seen + 1)
	lost := *f
	if lost.HasBody() {
		lost.Extension = wire.Extension{} // its body is gone
	}
	e.missing = append(e.missing, lost)
	if e.rx == Off { // it will not be retransmitted
		e.lose(now)
	}
}

// Receive takes in a protected frame, whose FCS may be bad, and reports whether it is to be passed
// on: it is the one that is expected. All others end here.
func (e *End) Receive(now unit.Time, f *wire.Frame, sequence uint32, good bool) (pass bool) {
	if before := e.before(sequence); good && e.last == before && e.rx == SendAcks && sequence == e.expected && sequence == e.seen {
		e.last, e.expected, e.seen = sequence, e.mod(sequence+1), e.mod(sequence+1) // as nearly all frames
		e.counts[RxOK]++
		e.counts[RxExpectedSeqGood]++
		e.owe()
		return true
	}
	ahead := e.mod(sequence + e.modulus - e.expected)
	duplicate := ahead >= e.modulus/2
	if e.mod(e.last+e.modulus-sequence) < e.modulus/2 { // not behind the one that came last
		e.count(now, RxReplay, nil, sequence)
	}
	e.last = sequence
	e.stale()
	if good {
		e.counts[RxOK]++
	} else {
		e.count(now, RxBad, f, sequence)
	}
	switch {
	case e.rx == Off:
		e.note(now, f, sequence)
		return false
	case duplicate:
		e.count(now, RxDuplicateSeq, f, sequence)
		e.owe()
		return false
	case good && ahead == 0:
		e.counts[RxExpectedSeqGood]++
		e.arrived()
		return true
	case good:
		e.count(now, RxMissingSeq, f, sequence)
	case ahead == 0:
		e.count(now, RxExpectedSeqBad, f, sequence)
	default:
		e.count(now, RxMissingSeq, f, sequence)
	}
	if e.note(now, f, sequence); e.rx == SendAcks {
		e.rx, e.news = SendNack, true
	}
	return false
}

// arrived notes that the expected frame has come.
func (e *End) arrived() {
	if e.seen == e.expected {
		e.seen = e.mod(e.seen + 1)
	} else {
		e.missing = e.missing[:copy(e.missing, e.missing[1:])]
	}
	e.expected = e.mod(e.expected + 1)
	if e.rx != SendAcks { // an ACK that was owed before the NACK is due again
		e.rx, e.news = SendAcks, true
	}
	e.owe()
}

// owe makes an ACK due.
func (e *End) owe() {
	if !e.acks {
		e.acks, e.news, e.moved, e.due = true, true, true, min(e.due, e.ackAt)
	}
}

// LinkDown notes that the link is down. It reports whether the link must start with a handshake
// when it is up.
func (e *End) LinkDown(now unit.Time) (again bool) {
	e.down = now
	if e.profile.PCSLost > 0 {
		return false
	}
	e.Restart(now)
	return true
}

// LinkUp notes that the link is up, and reports whether it begins again.
func (e *End) LinkUp(now unit.Time) (again bool) {
	e.news = true
	e.stale()
	if e.profile.PCSLost > 0 && now.Sub(e.down) <= e.profile.PCSLost {
		return false
	}
	e.Restart(now)
	return true
}

// Restart forgets all that was sent and received.
func (e *End) Restart(now unit.Time) {
	e.stale()
	e.lose(now)
	if e.head < len(e.kept) {
		e.flush(now)
	}
	e.tx, e.initAt, e.replays = Init, now, 0
	e.rx, e.acks, e.echo, e.news = Off, false, false, true
}
