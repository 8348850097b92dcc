package retry

import (
	"math/rand/v2"
	"testing"

	"fabemu/wire"
	"fabemu/wire/unit"
)

const (
	frameTime = 100 * unit.Nanosecond
	flight    = 250 * unit.Nanosecond
	testGap   = 200 * unit.Nanosecond
)

// profile is one for the link of the rig: about 8 frames fit into a round trip.
func profile() Profile {
	return Profile{Frames: 16, Bytes: 1 << 20, Timer: 3 * unit.Microsecond, Count: 3, Spacing: 2048, Reinit: true,
		Init: Block, Flush: Block, Eligible: 0xFF}
}

// carried is a frame or a set on a link.
type carried struct {
	due      unit.Time
	set      Set
	isSet    bool
	frame    wire.Frame
	sequence uint32
	plain    bool
	fate     fate
}

type fate uint8

const (
	whole fate = iota
	lost
	bad
)

// station is an end with a line to the other one.
type station struct {
	*End
	line      unit.Time // is free from here on
	out       []carried
	spoils    func(*carried) fate
	passed    []uint32 // numbers of the frames that were passed on
	gone      []uint32 // numbers of the frames that were reported as lost
	dropped   []uint32
	toSend    int
	sent      uint32
	kept      int // copies that are not freed
	nacks     []uint32
	replayed  []unit.Time
	delivered []unit.Time
}

func (s *station) Free(*wire.Frame)                { s.kept-- }
func (s *station) Lost(_ unit.Time, f *wire.Frame) { s.gone = append(s.gone, f.PSN) }
func (s *station) Counted(now unit.Time, c Counter, _ wire.Frame, _ uint32) {
	if c == Replayed {
		s.replayed = append(s.replayed, now)
	}
}

// rig is two stations and the lines between them.
type rig struct {
	a, b *station
	now  unit.Time
}

func newRig(p Profile, modulus uint32) *rig {
	r := &rig{a: new(station), b: new(station)}
	for _, s := range []*station{r.a, r.b} {
		s.End = NewEnd(p, s)
		s.modulus, s.last = modulus, modulus-1
		s.spoils = func(*carried) fate { return whole }
	}
	return r
}

// put puts something on a link.
func (s *station) put(now unit.Time, c carried, d unit.Duration) {
	s.line = now.Add(d)
	c.due, c.fate = s.line.Add(flight), s.spoils(&c)
	s.out = append(s.out, c)
}

// serve fills the link of a station.
func (s *station) serve(now unit.Time) {
	if s.line > now {
		return
	}
	if set, again, sequence, due := s.Next(now, testGap); due {
		if again == nil {
			s.put(now, carried{set: set, isSet: true}, unit.Nanosecond)
			if set.Kind == wire.LLRNack {
				s.nacks = append(s.nacks, set.Sequence)
			}
			return
		}
		s.put(now, carried{frame: *again, sequence: sequence}, frameTime)
		s.Again(now, s.line)
		return
	}
	if s.toSend == 0 {
		return
	}
	f := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, PSN: s.sent}
	c := carried{frame: f}
	switch s.Permits(&f, 1000) {
	case Protected:
		c.sequence = s.Keep(now, now.Add(frameTime), &f, 1000)
		s.kept++
	case Plain:
		c.plain = true
	case Dropped:
		s.Discarded(now, &f)
		s.dropped = append(s.dropped, f.PSN)
		s.toSend, s.sent, s.line = s.toSend-1, s.sent+1, now.Add(frameTime)
		return
	default:
		return
	}
	s.toSend, s.sent = s.toSend-1, s.sent+1
	s.put(now, c, frameTime)
}

// take hands a station all that is due from its peer.
func (s *station) take(now unit.Time, peer *station) {
	for len(peer.out) > 0 && peer.out[0].due <= now {
		c := peer.out[0]
		peer.out = peer.out[1:]
		switch {
		case c.isSet && c.fate == whole:
			s.Take(now, c.set)
		case c.isSet:
		case c.plain && c.fate != whole:
			s.gone = append(s.gone, c.frame.PSN)
		case c.fate == lost:
			s.Missed(now, &c.frame, c.sequence)
		case c.plain || s.Receive(now, &c.frame, c.sequence, c.fate == whole):
			s.passed = append(s.passed, c.frame.PSN)
			s.delivered = append(s.delivered, now)
		}
	}
}

// next returns when something happens at a station.
func (s *station) next(now unit.Time, peer *station) unit.Time {
	if bound, want := s.Bound(), s.deadline(); bound > want || s.Due(now) != (want <= now) {
		panic("the deadline is before its bound")
	}
	at := max(s.Deadline(), s.line)
	if s.toSend > 0 && s.line > now {
		at = min(at, s.line)
	}
	if len(peer.out) > 0 {
		at = min(at, peer.out[0].due)
	}
	return at
}

// run runs until an instant, or until nothing is left to do.
func (r *rig) run(until unit.Time) {
	for {
		r.a.take(r.now, r.b)
		r.b.take(r.now, r.a)
		r.a.serve(r.now)
		r.b.serve(r.now)
		at := min(r.a.next(r.now, r.b), r.b.next(r.now, r.a))
		if at > until || at == unit.Never {
			r.now = until
			return
		}
		r.now = max(at, r.now)
	}
}

// ready runs the handshake.
func (r *rig) ready() *rig {
	r.run(unit.Time(2 * unit.Microsecond))
	return r
}

// inOrder reports the first number that does not follow the one before.
func inOrder(t *testing.T, got []uint32, n int) {
	t.Helper()
	if len(got) != n {
		t.Errorf("%d frames were passed on, want %d", len(got), n)
	}
	for i, psn := range got {
		if psn != uint32(i) {
			t.Fatalf("frame %d is number %d", psn, i)
		}
	}
}

// nth spoils one protected frame, by its number among all that leave.
func nth(k int, how fate) func(*carried) fate {
	n := 0
	return func(c *carried) fate {
		if c.isSet || c.plain {
			return whole
		}
		if n++; n == k {
			return how
		}
		return whole
	}
}

// SAI: "TX status INIT ... RX status SEND_ACKS": each end sends INIT, and its echo makes the other
// ADVANCE.
func TestHandshake(t *testing.T) {
	r := newRig(profile(), Modulus)
	if r.a.TxState() != Init || r.a.RxState() != Off {
		t.Errorf("%v, %v", r.a.TxState(), r.a.RxState())
	}
	r.ready()
	for _, s := range []*station{r.a, r.b} {
		if s.TxState() != Advance || s.RxState() != SendAcks {
			t.Errorf("%v, %v", s.TxState(), s.RxState())
		}
		for _, c := range []Counter{TxInit, RxInit, TxInitEcho, RxInitEcho, Ready} {
			if s.Count(c) != 1 {
				t.Errorf("%v %d, want 1", c, s.Count(c))
			}
		}
	}
}

// "INIT ... is repeated until its echo has come": whichever of the two is lost.
func TestHandshakeWithLoss(t *testing.T) {
	for k := range 4 {
		r, n := newRig(profile(), Modulus), 0
		spoil := func(*carried) fate {
			if n++; n <= k {
				return lost
			}
			return whole
		}
		r.a.spoils, r.b.spoils = spoil, spoil
		r.run(unit.Time(40 * unit.Microsecond))
		if r.a.TxState() != Advance || r.b.TxState() != Advance {
			t.Errorf("%d sets were lost: %v, %v", k, r.a.TxState(), r.b.TxState())
		}
	}
}

// SAI: "The LLR_NACK includes the sequence number of the most recent successfully received LLR
// frame", the receiver "discards all subsequent received frames until a frame with the expected
// sequence number is received" and "does not send any further ACK or NACK messages during this
// period"; the sender "retransmits those frames whose sequence number is greater".
func TestOneLoss(t *testing.T) {
	for _, how := range []fate{lost, bad} {
		r := newRig(profile(), Modulus).ready()
		r.a.spoils, r.a.toSend = nth(50, how), 100
		r.run(unit.Time(100 * unit.Microsecond))
		inOrder(t, r.b.passed, 100)
		if len(r.b.nacks) != 1 || r.b.nacks[0] != 48 {
			t.Errorf("NACKs %v, want one of 48", r.b.nacks)
		}
		a, b := r.a, r.b
		again := a.Count(Replayed)
		want := map[Counter]uint64{
			TxNack: 1, RxOK: 100 + again - 1, RxExpectedSeqGood: 100, RxDuplicateSeq: 0, RxReplay: 1, RxMissingSeq: again - 1,
		}
		if how == bad {
			want[RxBad], want[RxExpectedSeqBad] = 1, 1
		} else {
			want[LostOnLink] = 1
		}
		for c, n := range want {
			if b.Count(c) != n {
				t.Errorf("fate %d: %v %d, want %d", how, c, b.Count(c), n)
			}
		}
		if a.Count(TxReplay) != 1 || a.Count(RxNack) != 1 || a.Count(Timeout) != 0 || a.Count(TxOK) != 100+again {
			t.Errorf("fate %d: the sender has %v", how, a.counts)
		}
		if frames, bytes := a.Outstanding(); frames != 0 || bytes != 0 || a.kept != 0 || len(b.missing) != 0 {
			t.Errorf("%d frames, %v, %d copies are left, %d missing", frames, bytes, a.kept, len(b.missing))
		}
	}
}

// SAI: "A replay timer is maintained at LLR Tx to handle cases where: the last packet is lost, or
// an LLR_NACK is lost, or no LLR_ACKs or LLR_NACKs are received". The test plan, case 9: within 10
// % of the configured value, and not before.
func TestTimer(t *testing.T) {
	t.Run("the last frame is lost", func(t *testing.T) {
		r := newRig(profile(), Modulus).ready()
		r.a.spoils, r.a.toSend = nth(1, lost), 1
		from := r.now
		r.run(unit.Time(100 * unit.Microsecond))
		inOrder(t, r.b.passed, 1)
		if wait := r.a.replayed[0].Sub(from.Add(frameTime)); wait != r.a.profile.Timer {
			t.Errorf("it was sent again after %v, want %v", wait, r.a.profile.Timer)
		}
	})
	t.Run("the NACK is lost", func(t *testing.T) {
		r := newRig(profile(), Modulus).ready()
		r.a.spoils, r.a.toSend = nth(3, lost), 10
		r.b.spoils = func(c *carried) fate {
			if c.set.Kind == wire.LLRNack {
				return lost
			}
			return whole
		}
		r.run(unit.Time(100 * unit.Microsecond))
		inOrder(t, r.b.passed, 10)
		if r.a.Count(Timeout) == 0 {
			t.Error("the timer did not begin a replay")
		}
	})
	t.Run("ACKs are lost", func(t *testing.T) {
		r := newRig(profile(), Modulus).ready()
		n := 0
		r.a.toSend = 10
		r.b.spoils = func(c *carried) fate {
			if n++; c.set.Kind == wire.LLRAck && n < 5 {
				return lost
			}
			return whole
		}
		r.run(unit.Time(100 * unit.Microsecond))
		inOrder(t, r.b.passed, 10)
		if frames, _ := r.a.Outstanding(); frames != 0 {
			t.Errorf("%d frames await their ACK", frames)
		}
	})
}

// "The most frames that may await their ACK": the scale-up plan's LLR-07 with a limit of 10 frames,
// and LLR-05, that after REPLAY_COUNT_MAX replays the sender flushes.
func TestLimitsAndFlush(t *testing.T) {
	p := profile()
	p.Frames, p.Reinit = 10, false
	for _, action := range []Action{BestEffort, Block, Discard} {
		p.Flush = action
		r := newRig(p, Modulus).ready()
		r.a.toSend = 1000
		r.b.spoils = func(c *carried) fate {
			if c.isSet {
				return lost
			}
			return whole
		}
		r.run(unit.Time(1000 * unit.Microsecond))
		if r.a.TxState() != Flush || r.a.Count(TxReplay) != 3 || r.b.Count(RxOK) != 40 || r.b.Count(RxDuplicateSeq) != 30 {
			t.Errorf("%v: %v, %d replays, RX_OK %d, duplicates %d; want FLUSH, 3, 40, 30", action, r.a.TxState(),
				r.a.Count(TxReplay), r.b.Count(RxOK), r.b.Count(RxDuplicateSeq))
		}
		want := map[Action][2]int{BestEffort: {1000, 0}, Block: {10, 0}, Discard: {10, 990}}[action]
		if len(r.b.passed) != want[0] || len(r.a.dropped) != want[1] || r.a.kept != 0 {
			t.Errorf("%v: %d passed on, %d dropped, %d copies left; want %v", action, len(r.b.passed), len(r.a.dropped), r.a.kept, want)
		}
	}
}

// The scale-up plan's LLR-09: with RE_INIT_ON_FLUSH the sender begins again, and all that was lost
// is reported once.
func TestReinit(t *testing.T) {
	r := newRig(profile(), Modulus).ready()
	r.a.toSend = 200
	n := 0
	r.a.spoils = func(c *carried) fate {
		if n++; !c.isSet && n > 20 && r.now < unit.Time(30*unit.Microsecond) {
			return lost
		}
		return whole
	}
	r.run(unit.Time(200 * unit.Microsecond))
	if r.a.Count(Flushed) != 1 || r.a.Count(Ready) != 2 || r.a.TxState() != Advance {
		t.Errorf("flushed %d times, ready %d times, %v", r.a.Count(Flushed), r.a.Count(Ready), r.a.TxState())
	}
	if len(r.b.gone) == 0 || len(r.b.passed)+len(r.b.gone) != 200 {
		t.Errorf("%d passed on and %d lost, want 200 together", len(r.b.passed), len(r.b.gone))
	}
	seen := map[uint32]bool{}
	for _, psn := range append(r.b.passed, r.b.gone...) {
		if seen[psn] {
			t.Errorf("frame %d ended twice", psn)
		}
		seen[psn] = true
	}
}

// SAI: "Data remains in the replay buffer for too long without receiving a successful LLR_ACK".
func TestDataAge(t *testing.T) {
	p := profile()
	p.DataAge, p.Count, p.Reinit = 20*unit.Microsecond, 255, false
	r := newRig(p, Modulus).ready()
	r.a.toSend = 1
	r.a.spoils = func(*carried) fate { return lost }
	from := r.now
	r.run(from.Add(p.DataAge) - 1)
	if r.a.TxState() == Flush {
		t.Error("it has flushed before the frame was too old")
	}
	r.run(from.Add(p.DataAge + unit.Microsecond))
	if r.a.TxState() != Flush {
		t.Errorf("%v after %v", r.a.TxState(), p.DataAge)
	}
}

// "A link that is down for no longer goes on where it was": PCS_LOST_TIMEOUT.
func TestPCSLost(t *testing.T) {
	for _, c := range []struct {
		limit, down unit.Duration
		again       bool
	}{{0, unit.Microsecond, true}, {5 * unit.Microsecond, 5 * unit.Microsecond, false}, {5 * unit.Microsecond, 6 * unit.Microsecond, true}} {
		p := profile()
		p.PCSLost = c.limit
		r := newRig(p, Modulus).ready()
		r.a.LinkDown(r.now)
		if again := r.a.LinkUp(r.now.Add(c.down)); again != c.again || (r.a.TxState() == Init) != c.again {
			t.Errorf("limit %v, down for %v: again %v, %v", c.limit, c.down, again, r.a.TxState())
		}
	}
}

// "No frame twice, none out of order": ten wraps of the sequence, with a modulus that wraps soon;
// and ACKs, NACKs, frames and replays spoiled at random in both directions.
func TestRandomFaultsAndWraps(t *testing.T) {
	for _, c := range []struct {
		modulus uint32
		share   float64
		frames  int
	}{{64, 0, 700}, {64, 0.02, 3000}, {256, 0.1, 5000}, {64, 0.3, 2000}} {
		random := rand.New(rand.NewPCG(uint64(c.modulus), uint64(c.frames)))
		p := profile()
		p.Count = 255
		r := newRig(p, c.modulus).ready()
		faults := 0
		spoil := func(*carried) fate {
			if random.Float64() >= c.share {
				return whole
			}
			faults++
			return fate(1 + random.IntN(2))
		}
		for _, s := range []*station{r.a, r.b} {
			s.spoils, s.toSend = spoil, c.frames
		}
		r.run(unit.Time(unit.Second))
		inOrder(t, r.a.passed, c.frames)
		inOrder(t, r.b.passed, c.frames)
		if r.a.Count(Flushed)+r.b.Count(Flushed) > 0 || (faults == 0) != (c.share == 0) {
			t.Errorf("share %v: %d faults, flushed %d", c.share, faults, r.a.Count(Flushed)+r.b.Count(Flushed))
		}
		if wraps := c.frames / int(c.modulus); wraps < 10 {
			t.Errorf("the sequence wrapped %d times", wraps)
		}
	}
}

// "An ACK of no frame that awaits one" is counted and has no effect, and so has a sequence that is
// too large.
func TestForgedSets(t *testing.T) {
	r := newRig(profile(), Modulus).ready()
	r.a.toSend = 3
	r.run(r.now.Add(2 * frameTime))
	before, _ := r.a.Outstanding()
	for _, s := range []Set{{wire.LLRAck, 100}, {wire.LLRNack, 100}, {wire.LLRAck, Modulus}, {wire.LLRNack, 1<<32 - 1}, {wire.LLRAck, Modulus - 2}, {wire.Kind(9), 0}} {
		r.a.Take(r.now, s)
	}
	if after, _ := r.a.Outstanding(); after != before || before == 0 || r.a.Count(RxAckNackSeqError) != 5 || r.a.TxState() != Advance {
		t.Errorf("%d of %d frames await their ACK, %d errors, %v", after, before, r.a.Count(RxAckNackSeqError), r.a.TxState())
	}
	r.run(unit.Time(50 * unit.Microsecond))
	inOrder(t, r.b.passed, 3)
}

// An ACK that was owed before a NACK is due again as soon as the missing frame has come: the owner
// has to look.
func TestAckOwedBeforeANack(t *testing.T) {
	e := newRig(profile(), Modulus).ready().b
	now, f := unit.Time(3*unit.Microsecond), &wire.Frame{Kind: wire.Data}
	e.Receive(now, f, 0, true)
	e.Receive(now, f, 2, true)
	if s, _, _, ok := e.Next(now, 0); !ok || s != (Set{wire.LLRNack, 0}) {
		t.Fatalf("%v, %v; want a NACK of 0", s, ok)
	}
	e.TakeNews()
	e.Receive(now, f, 1, true)
	if !e.TakeNews() {
		t.Error("nothing asks for the ACK that is owed")
	}
	if s, _, _, ok := e.Next(now, 0); !ok || s != (Set{wire.LLRAck, 1}) {
		t.Errorf("%v, %v; want an ACK of 1", s, ok)
	}
}

// Whatever comes, an End neither panics nor passes a frame on that is not the expected one.
func FuzzEnd(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Add([]byte("\x02\x00\x03\x00\x05\x00\x06\x01\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := profile()
		p.Frames = 4
		s := new(station)
		s.End = NewEnd(p, s)
		s.modulus, s.last = 16, 15
		now := unit.Time(0)
		for len(b) >= 2 {
			op, n := b[0], uint32(b[1]%20)
			b = b[2:]
			now = now.Add(unit.Duration(op) * 37 * unit.Nanosecond)
			frame := wire.Frame{Kind: wire.Data, Family: wire.Ethernet}
			switch op % 8 {
			case 0, 1, 2, 3:
				s.Take(now, Set{wire.LLRAck + wire.Kind(op%4), n})
			case 4:
				expected := s.expected
				if s.Receive(now, &frame, n%16, op&8 == 0) && (n%16 != expected || s.rx == Off) {
					t.Fatalf("%d was passed on, %d was expected", n%16, expected)
				}
			case 5:
				s.Missed(now, &frame, n%16)
			case 6:
				if s.Permits(&frame, 100) == Protected {
					s.Keep(now, now.Add(frameTime), &frame, 100)
					s.kept++
				}
			case 7:
				if _, again, sequence, due := s.Next(now, testGap); due && again != nil {
					if sequence >= 16 {
						t.Fatalf("sequence %d", sequence)
					}
					s.Again(now, now.Add(frameTime))
				}
			}
			if bound, want := s.Bound(), s.deadline(); bound > want || s.Due(now) != (want <= now) || op&16 != 0 && s.Deadline() != want {
				t.Fatalf("a deadline of %v at the earliest, at %v; computed %v", bound, now, want)
			}
			frames, bytes := s.Outstanding()
			if frames != s.kept || frames > 4 || bytes != unit.Size(100*frames) || len(s.missing) > 16 {
				t.Fatalf("%d frames, %v, %d copies, %d missing", frames, bytes, s.kept, len(s.missing))
			}
		}
	})
}

// Of n attempts of the frame that is next, n p fail, and each failure takes w frames of the link,
// from the bad frame to its replay: the goodput is (1-p)/(1-p+pw). Here a bad frame is known when
// all of it has come; its NACK is on the link for 1 ns, and waits behind nothing; then the frame
// that has begun leaves: 100 + 250 + 1 + 250 ns, rounded up to whole frames of 100 ns, are w = 7.
// The null result, one frame of the link for each failure, is 1-p, and not within 2 % of any.
func TestGoodput(t *testing.T) {
	const w, frames = 7, 200_000
	for _, p := range []float64{0.005, 0.01, 0.02} {
		random := rand.New(rand.NewPCG(1, uint64(1000*p)))
		r := newRig(profile(), Modulus).ready()
		r.a.toSend = frames
		r.a.spoils = func(c *carried) fate {
			if !c.isSet && random.Float64() < p {
				return bad
			}
			return whole
		}
		from := r.now
		r.run(unit.Time(unit.Second))
		inOrder(t, r.b.passed, frames)
		got := float64(frames) * frameTime.Seconds() / r.b.delivered[frames-1].Sub(from.Add(flight)).Seconds()
		want := (1 - p) / (1 - p + p*w)
		if got/want < 0.98 || got/want > 1.02 || (1-p)/want < 1.02 {
			t.Errorf("p %v: a goodput of %.4f, want %.4f", p, got, want)
		}
	}
}

// RxState returns the state of the receiver.
func (e *End) RxState() RxState { return e.rx }

// Count returns a counter.
func (e *End) Count(c Counter) uint64 { return e.counts[c] }

// Outstanding returns how many frames, and bytes on the link, await their ACK.
func (e *End) Outstanding() (frames int, bytes unit.Size) { return len(e.kept) - e.head, e.bytes }
