package spray

import "fabemu/wire/unit"

// Policy chooses paths.
type Policy uint8

// The policies.
const (
	None      Policy = iota // one path for all packets
	Oblivious               // all paths in turns, in another order each time
	Bitmap                  // the same, but paths with penalties are left out
	REPS                    // paths that an unmarked ACK has come back from, else a random one
	Mixed                   // such paths, else those of Bitmap
)

func (Policy) Words() []string { return []string{"none", "oblivious", "bitmap", "reps", "mixed"} }

func (p Policy) String() string { return unit.Word(p, p.Words()) }

// Learns reports whether a policy uses feedback.
func (p Policy) Learns() bool { return p > Oblivious }

// Feedback is what the source has learned of a path.
type Feedback uint8

// The kinds of feedback.
const (
	Good    Feedback = iota // a packet has arrived unmarked
	Marked                  // it has arrived with a mark
	Lost                    // it is lost, as later ones have shown
	Expired                 // its timeout has expired
)

// Sprayer chooses the paths of a flow. Time never goes back.
type Sprayer interface {
	// Next returns the path of the next packet, a number of 14 bits.
	Next(now unit.Time) uint16
	// Learn takes in what was learned of a path that Next has returned.
	Learn(now unit.Time, path uint16, f Feedback)
}

// New returns the Sprayer of a policy over so many paths, a power of two up to 2^14; nil: the
// policy is None.
func New(p Policy, paths int, r *unit.Random) Sprayer {
	switch p {
	case Oblivious:
		o := newRounds(paths, r)
		return &o
	case Bitmap:
		return newBitmap(paths, r)
	case REPS:
		return &reps{random: r, paths: paths}
	case Mixed:
		return &mixed{bitmap: newBitmap(paths, r), good: make([]uint16, paths)}
	}
	return nil
}

// Paths is the largest number of paths.
const Paths = 1 << 14

// rounds is the policy Oblivious: in each round each path once, in the order of the numbers after
// an XOR with a number that is drawn for the round. The bits above those of paths are drawn once.
type rounds struct {
	random *unit.Random
	upper  uint16
	mask   uint16
	index  uint16
	xor    uint16
}

func newRounds(paths int, r *unit.Random) rounds {
	mask := uint16(paths - 1)
	o := rounds{random: r, mask: mask}
	o.upper = uint16(r.Below(Paths)) &^ mask
	o.xor = o.draw()
	return o
}

func (o *rounds) draw() uint16 { return uint16(o.random.Below(uint64(o.mask) + 1)) }

// path is the present path, without its upper bits.
func (o *rounds) path() uint16 { return (o.index ^ o.xor) & o.mask }

// step goes to the next path.
func (o *rounds) step() {
	if o.index++; o.index > o.mask {
		o.index, o.xor = 0, o.draw()
	}
}

func (o *rounds) Next(unit.Time) uint16 {
	p := o.path() | o.upper
	o.step()
	return p
}

func (*rounds) Learn(unit.Time, uint16, Feedback) {}

// The penalties of Bitmap. Each turn that a path is passed over is one less.
const (
	markedPenalty = 1
	lostPenalty   = 4
	mostPenalty   = 15 // also of a timeout
)

// bitmap is the policy Bitmap.
type bitmap struct {
	rounds
	penalties []uint8
}

func newBitmap(paths int, r *unit.Random) *bitmap {
	return &bitmap{rounds: newRounds(paths, r), penalties: make([]uint8, paths)}
}

// Next passes over paths with a penalty. Only the first of them has its penalty reduced. If all
// have one, it takes the last one that it looks at.
func (b *bitmap) Next(now unit.Time) uint16 {
	if p := &b.penalties[b.path()]; *p > 0 {
		*p--
		for range b.penalties {
			if b.step(); b.penalties[b.path()] == 0 {
				break
			}
		}
	}
	return b.rounds.Next(now)
}

func (b *bitmap) Learn(_ unit.Time, path uint16, f Feedback) {
	p := &b.penalties[path&b.mask]
	*p = min(*p+[...]uint8{Good: 0, Marked: markedPenalty, Lost: lostPenalty, Expired: mostPenalty}[f], mostPenalty)
}

// The constants of REPS.
const (
	remembered = 8                     // paths
	frozenFor  = 10 * unit.Millisecond // after a timeout, only remembered paths are used for so long
	explores   = 16                    // packets that then take random paths
)

// reps is the policy REPS: a ring of the paths that came back last.
type reps struct {
	random  *unit.Random
	paths   int
	ring    [remembered]uint16
	fresh   [remembered]bool // the path was not used since it came back
	head    int              // the next to be written
	count   int              // that were
	news    int              // fresh ones
	frozen  bool
	until   unit.Time // frozen: for so long
	turn    int       // frozen: the next to be used
	explore int       // packets
}

func (s *reps) any() uint16 { return uint16(s.random.Below(uint64(s.paths))) }

func (s *reps) Next(unit.Time) uint16 {
	switch {
	case s.explore > 0:
		s.explore--
		return s.any()
	case s.frozen && s.count > 0:
		i := s.turn
		s.turn = (i + 1) % s.count
		s.use(i)
		return s.ring[i]
	case s.frozen || s.news == 0:
		return s.any()
	}
	i := (s.head + remembered - s.news) % remembered
	s.use(i)
	return s.ring[i]
}

func (s *reps) use(i int) {
	if s.fresh[i] {
		s.fresh[i] = false
		s.news--
	}
}

func (s *reps) Learn(now unit.Time, path uint16, f Feedback) {
	if f == Expired && !s.frozen && s.explore == 0 {
		s.frozen, s.until = true, now.Add(frozenFor)
	}
	if s.frozen && now > s.until {
		*s = reps{random: s.random, paths: s.paths, explore: explores}
	}
	if f != Good {
		return
	}
	if !s.fresh[s.head] {
		s.news++
	}
	s.ring[s.head], s.fresh[s.head] = path, true
	s.head = (s.head + 1) % remembered
	s.count = min(s.count+1, remembered)
}

// mixed is the policy Mixed: paths that came back are used once each, in their order.
type mixed struct {
	*bitmap
	good        []uint16 // a ring
	first, wait int
}

func (m *mixed) Next(now unit.Time) uint16 {
	if m.wait == 0 {
		return m.bitmap.Next(now)
	}
	p := m.good[m.first]
	m.first = (m.first + 1) % len(m.good)
	m.wait--
	return p
}

func (m *mixed) Learn(now unit.Time, path uint16, f Feedback) {
	m.bitmap.Learn(now, path, f)
	if f == Good && m.wait < len(m.good) {
		m.good[(m.first+m.wait)%len(m.good)] = path
		m.wait++
	}
}
