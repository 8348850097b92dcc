package lookahead

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync/atomic"
	"unsafe"

	"fabemu/wire/unit"
)

// Board is a Coordinator in memory that the parts of a run on one machine share: each part writes
// reports about its progress to its own record, reads the records of the others, and computes their
// promises itself. There is no lock: whatever a part was doing when it died, the others read its
// last complete report.
//
// A record has room for two reports and the number of the last one. The owner overwrites the older
// report, and then writes the number. A check word over the report and its number shows a reader
// that words are missing or were overwritten by another program. A report stays true, in whatever
// order the reports of several parts were read: a later one only adds to it.
//
// Each part has a bell, a word that another part sets when the next event can happen (Wake). That
// part also wakes the owner of the bell if it sleeps.
type Board struct {
	*Coordinator
	// Ahead is set if parts look for promises beyond the first event of all. Where links are so
	// short that hardly any other event can happen before that, the search costs more than it
	// gains.
	Ahead   bool
	me      int   // none: it only reads
	part    []int // by node
	rank    []int // by number of a path: its place in the order of events of one instant
	words   []uint64
	layout  layout
	numbers []uint64 // by part, of the report that was read last
	sums    []uint64 // by part, of its content; for an observer

	others unit.Time // as of Earliest; -1: to be found
	buf    []uint64
	stale  []int // places in paths whose receiver has reported more than was read
	turns  []turn
}

// The activities of a part after a report, in its record.
const (
	acts  = iota // it continues
	waits        // until it may do its next event, and that is due on the wall clock; an earlier frame wakes it
	ended        // it has come to the end of the run
)

const (
	boardMagic  = 0x6661_626d_7500_0000 // "fabmu"
	boardLayout = boardMagic | 2        // and the version of all that follows

	headWords  = 4     // the layout, the run, the fabric, and how many nodes; then the part of each node
	line       = 8     // words: the words of different parts lie in different lines of a cache
	recordHead = 3     // the check word, the activity, and the instant of the next event
	outWords   = 4     // claim, floor, due, and how many were seen and sent
	inWords    = 2     // need, and how many were seen
	readTries  = 1_000 // of a report, while its owner writes others
)

// layout is where the words of a board are.
type layout struct {
	held    int // how long the run clock has been held, in ns
	lost    int // by path, the number up to which frames are given up
	bells   int
	numbers int
	records []int // by part, the first of its two reports
	sizes   []int // by part, of a report: its head, paths out, paths in
	all     int
}

// whole rounds a number of words up to lines.
func whole(words int) int { return (words + line - 1) / line * line }

// layOut lays out the board of a coordinator for so many nodes.
func (c *Coordinator) layOut(nodes int) (l layout) {
	l.held = whole(headWords + nodes)
	l.lost = l.held + line
	l.bells = l.lost + whole(len(c.paths))
	l.numbers = l.bells + whole(len(c.parts))
	l.all = l.numbers + whole(len(c.parts))
	for k := range c.parts {
		size := recordHead + outWords*len(c.parts[k].out) + inWords*len(c.parts[k].in)
		l.records, l.sizes = append(l.records, l.all), append(l.sizes, size)
		l.all += whole(2 * size)
	}
	return l
}

// BoardWords returns how many words are enough for the board of a fabric.
func BoardWords(nodes, wires, parts int) int {
	return headWords + nodes + 6*line + 2*wires*(1+2*(outWords+inWords)) + parts*(2+2*recordHead+line)
}

// print condenses the values on which all parts of a run must agree, besides its number.
func print(f Fabric, rank []int) uint64 {
	h := fnv.New64a()
	binary.Write(h, binary.LittleEndian, f.Least)
	binary.Write(h, binary.LittleEndian, f.Passing)
	for _, v := range rank {
		binary.Write(h, binary.LittleEndian, int64(v))
	}
	return h.Sum64()
}

// Lay writes the head of a board into words that are all 0. part[m] is the part of node m, rank[n]
// is the position of path n in the order of events of one instant, and run is the number of the
// run.
func Lay(f Fabric, part, rank []int, run uint32, words []uint64) {
	words[1], words[2], words[3] = uint64(run), print(f, rank), uint64(len(part))
	for m, k := range part {
		words[headWords+m] = uint64(k)
	}
	atomic.StoreUint64(&words[0], boardLayout)
}

// NewBoard returns the board of a run, in words that Lay has prepared, for the part of the given
// node; if that is negative, for an observer.
func NewBoard(f Fabric, rank []int, run uint32, node int, words []uint64) (*Board, error) {
	nodes := len(f.Passing)
	if len(words) < headWords+nodes || words[0] != boardLayout {
		return nil, errors.New("it is not a board of this version")
	}
	part := make([]int, nodes)
	for m, k := range words[headWords : headWords+nodes] {
		part[m] = int(k)
	}
	if words[1] != uint64(run) || words[2] != print(f, rank) || words[3] != uint64(nodes) ||
		slices.Min(part) < 0 || slices.Max(part) >= nodes {
		return nil, errors.New("it is the board of another run")
	}
	c, err := New(f, part)
	if err != nil {
		return nil, err
	}
	b := &Board{
		Coordinator: c, me: none, part: part, rank: rank, words: words, layout: c.layOut(nodes),
		numbers: make([]uint64, len(c.parts)), sums: make([]uint64, len(c.parts)),
	}
	if len(words) < b.layout.all {
		return nil, fmt.Errorf("it has %d words instead of %d", len(words), b.layout.all)
	}
	if node >= 0 {
		b.me = part[node]
	}
	b.buf = make([]uint64, slices.Max(b.layout.sizes))
	return b, nil
}

// Me returns the number of this part.
func (b *Board) Me() int { return b.me }

// First returns the first node of a part.
func (b *Board) First(part int) int { return slices.Index(b.part, part) }

// BadRecord reports a record of a part that is impossible.
type BadRecord struct {
	Part int
	Err  error
}

func (b *BadRecord) Error() string { return b.Err.Error() }

// Boundary returns the boundary of this part.
func (b *Board) Boundary() *Boundary { return b.parts[b.me].Boundary }

// Own returns the report of this part, to be filled in before State or Publish.
func (b *Board) Own() *Report { return &b.parts[b.me].reported }

// State takes in the report of this part, which other parts do not see yet.
func (b *Board) State() error {
	b.others = -1
	return b.take(b.me)
}

// Publish writes the last report of this part where others read it, and whether the part then
// waits.
func (b *Board) Publish(wait bool) error {
	p, s := &b.parts[b.me], &b.parts[b.me].reported
	activity := uint64(acts)
	if s.Over {
		activity = ended
	} else if wait {
		activity = waits
	}
	w := append(b.buf[:0], 0, activity, uint64(s.Next))
	for _, x := range p.out {
		y, due, base := &b.paths[x], unit.Never, b.paths[x].sent
		if len(y.under) > 0 {
			due, base = y.under[0].due, y.seen
		}
		w = append(w, uint64(y.claim), uint64(y.floor), uint64(due), uint64(base)<<32|uint64(y.sent))
	}
	for k := range p.in {
		w = append(w, uint64(s.In[k].Need), uint64(s.In[k].Seen))
	}
	n := b.numbers[b.me] + 1
	w[0] = check(w, n)
	at := b.record(b.me, n)
	for i, v := range w {
		if to := &b.words[at+i]; atomic.LoadUint64(to) != v { // a store takes twenty times as long
			atomic.StoreUint64(to, v)
		}
	}
	b.numbers[b.me] = n
	atomic.StoreUint64(&b.words[b.layout.numbers+b.me], n)
	return nil
}

// record returns where report n of a part begins.
func (b *Board) record(part int, n uint64) int {
	return b.layout.records[part] + int(n%2)*b.layout.sizes[part]
}

// check returns the check word of report n, whose words are w; the first of them does not count.
func check(w []uint64, n uint64) uint64 {
	for _, v := range w[1:] {
		n = (n ^ v) * 0x9E3779B97F4A7C15
		n ^= n >> 32
	}
	return n
}

// Look reads the reports of other parts since the last call. It returns whether there were any. The
// error is a *BadRecord.
func (b *Board) Look() (some bool, err error) {
	before := b.steps
	b.stale = b.stale[:0]
	for k := range b.parts {
		if k != b.me && atomic.LoadUint64(&b.words[b.layout.numbers+k]) != b.numbers[k] {
			if err := b.read(k); err != nil {
				return false, err
			}
		}
	}
	for i := 0; i < len(b.stale); i++ {
		y := &b.paths[b.stale[i]]
		if int32(y.seen-y.base) < 0 && y.to != b.me && i < readTries {
			if err := b.read(y.to); err != nil {
				return false, err
			}
		}
		if int32(y.seen-y.base) < 0 {
			return false, &BadRecord{y.from, fmt.Errorf("it takes %d frames on path %d for seen, and %d are: %w", y.base, y.number, y.seen, errReport)}
		}
	}
	return b.steps != before, nil
}

// read reads the last report of a part.
func (b *Board) read(k int) error {
	number, w := &b.words[b.layout.numbers+k], b.buf[:b.layout.sizes[k]]
	for range readTries {
		n := atomic.LoadUint64(number)
		at := b.record(k, n)
		for i := range w {
			w[i] = atomic.LoadUint64(&b.words[at+i])
		}
		switch {
		case n == b.numbers[k]:
			return nil
		case n > b.numbers[k] && check(w, n) == w[0]:
			b.numbers[k] = n
			if !b.repeats(k, w) {
				b.steps++
			}
			if err := b.adopt(k, w); err != nil {
				return &BadRecord{k, err}
			}
			return nil
		case n < b.numbers[k] || atomic.LoadUint64(number) == n:
			return &BadRecord{k, fmt.Errorf("report %d is torn: %w", n, errReport)}
		}
	}
	return &BadRecord{k, fmt.Errorf("its reports change faster than they can be read: %w", errReport)}
}

// repeats reports whether a part states the same as before: it does not get on then. Only an
// observer wants that.
func (b *Board) repeats(k int, w []uint64) bool {
	if b.me != none {
		return false
	}
	before := b.sums[k]
	b.sums[k] = check(w, 0)
	return b.sums[k] == before
}

// adopt takes in a report that was read.
func (b *Board) adopt(k int, w []uint64) error {
	p := &b.parts[k]
	b.others = -1
	p.heard, p.waits, p.reported.Over, p.reported.Next = true, w[1] == waits, w[1] == ended, unit.Time(w[2])
	in := w[recordHead+outWords*len(p.out):]
	if w[1] > ended || p.reported.Next < 0 {
		return errReport
	}
	for _, x := range p.in {
		if err := b.paths[x].take(Incoming{unit.Time(in[0]), uint32(in[1])}); err != nil {
			return err
		}
		in = in[inWords:]
	}
	w = w[recordHead:]
	for _, x := range p.out {
		y := &b.paths[x]
		claim, floor, due, base, sent := unit.Time(w[0]), unit.Time(w[1]), unit.Time(w[2]), uint32(w[3]>>32), uint32(w[3])
		w = w[outWords:]
		if claim < 0 || floor < 0 || due < 0 || int32(sent-y.sent) < 0 || int32(base-y.base) < 0 || int32(sent-base) < 0 ||
			(base != sent) != (due != unit.Never) {
			return fmt.Errorf("%d frames sent on path %d, due at %v: %w", int32(sent-y.sent), y.number, due, errReport)
		}
		y.claim, y.floor, y.sent, y.base, y.under = claim, floor, sent, base, y.under[:0]
		if int32(y.seen-base) < 0 { // it has read a later report of the receiver
			b.stale = append(b.stale, x)
		}
		if int32(y.seen-sent) >= 0 {
			continue
		}
		if due < y.promised && base == y.seen { // otherwise it may belong to a frame that was seen since
			return y.broken(due)
		}
		y.under = append(y.under, sending{sent, due})
	}
	return nil
}

// Sent returns how many frames have been sent, as far as reports show, on the path at index k of
// Boundary.In.
func (b *Board) Sent(k int) uint32 { return b.paths[b.parts[b.me].in[k]].sent }

// Promised returns the earliest due time of a frame on the path at index k of Boundary.In, other
// than those that this part had seen by its last State.
func (b *Board) Promised(k int) unit.Time { return b.paths[b.parts[b.me].in[k]].promised }

// May computes the promises of the other parts, and reports whether they are enough for this part,
// with Ahead.
func (b *Board) May() bool {
	if !b.Ahead {
		return false
	}
	may, most := true, unit.Time(0)
	p := &b.parts[b.me]
	for _, x := range p.in {
		most = max(most, b.paths[x].need)
	}
	b.find(most)
	for _, x := range p.in {
		y := &b.paths[x]
		y.promised = max(y.promised, b.least(x))
		may = may && y.need <= y.promised
	}
	return may
}

// Earliest returns the earliest instant at which another part can have an event, by the reports
// that were read and the last State of this part. An event that no report shows has a cause, which
// is no later: an event of the same part, or a frame, whose cause is an event elsewhere. So the
// first of them is none before the instants in the reports.
func (b *Board) Earliest() unit.Time {
	if b.others < 0 {
		b.others = unit.Never
		for k := range b.parts {
			if k != b.me {
				b.others = min(b.others, b.turn(k).at)
			}
		}
	}
	return b.others
}

// turn is the next event of a part.
type turn struct {
	at   unit.Time
	part int
	via  int // the place in paths of the frame that it has not seen; none: the event is its own
}

// Wake calls ring with the parts that wait and whose next event can happen, the earliest first,
// until it finds one whose event cannot; without Ahead, with the first only. A part whose own event
// is due after now, on the wall clock, wakes up by itself. The caller reads the clock
// after Publish: a part that wakes up by then sees the published report.
func (b *Board) Wake(now unit.Time, ring func(part int)) {
	turns, first := b.turns[:0], unit.Never
	for k := range b.parts {
		t := b.turn(k)
		first = min(first, t.at)
		if k != b.me && b.parts[k].waits && (t.via != none || t.at <= now) {
			turns = append(turns, t)
		}
	}
	b.turns = turns
	for late := unit.Never; len(turns) > 0; { // late is when the first is due that cannot
		i, last := 0, len(turns)-1
		for k := range turns {
			if turns[k].at < turns[i].at {
				i = k
			}
		}
		t := turns[i]
		turns[i], turns = turns[last], turns[:last]
		switch {
		case t.at > late, t.at > first && !b.Ahead:
			return
		case t.at > first && !b.can(&t): // the first of all can
			late = t.at
		default:
			if ring(t.part); !b.Ahead {
				return
			}
		}
	}
}

// turn returns the next event of a part.
func (b *Board) turn(k int) turn {
	p := &b.parts[k]
	t := turn{p.reported.Next, k, none}
	if p.reported.Over {
		t.at = unit.Never
		return t
	}
	for _, x := range p.in {
		y := &b.paths[x]
		if len(y.under) == 0 || y.under[0].due >= y.need {
			continue
		}
		if due := y.under[0].due; t.via == none || due < t.at || due == t.at && b.rank[y.number] < b.rank[b.paths[t.via].number] {
			t.at, t.via = due, x
		}
	}
	return t
}

// can reports whether an event can happen.
func (b *Board) can(t *turn) bool {
	p, most := &b.parts[t.part], unit.Time(0)
	for _, x := range p.in {
		most = max(most, b.need(t, x))
	}
	b.find(most)
	return !slices.ContainsFunc(p.in, func(x int) bool { return b.least(x) < b.need(t, x) })
}

// need returns the promise that an event needs on a path.
func (b *Board) need(t *turn, x int) unit.Time {
	y := &b.paths[x]
	switch {
	case t.via == none || y.need == 0: // of frames that are there the first is the earliest
		return y.need
	case x == t.via:
		return 0
	case b.rank[y.number] < b.rank[b.paths[t.via].number]:
		return t.at + 1
	}
	return t.at
}

// Owing does the same as Coordinator.Owing.
func (b *Board) Owing() (part int, at unit.Time, ok bool) {
	for k := range b.parts {
		if p := &b.parts[k]; p.waits {
			t := b.turn(k)
			p.waits = !b.can(&t)
			defer func() { p.waits = true }()
		}
	}
	return b.Coordinator.Owing()
}

// GiveUp records the frames that were sent and have not arrived as lost, as Coordinator.GiveUp
// does, and calls ring with each part that misses some. Only one reader of a board does that.
func (b *Board) GiveUp(there func(part int) bool, ring func(part int)) {
	b.giveUp(there, func(k int) {
		for _, x := range b.parts[k].in {
			atomic.StoreUint64(&b.words[b.layout.lost+x], uint64(b.paths[x].lost))
		}
		ring(k)
	})
}

// Lost returns the number up to which frames that have not arrived are lost, on the path at index k
// of Boundary.In.
func (b *Board) Lost(k int) uint32 {
	return uint32(atomic.LoadUint64(&b.words[b.layout.lost+b.parts[b.me].in[k]]))
}

// Held returns how long the clock of the run has been held, in ns of wall time.
func (b *Board) Held() int64 { return int64(atomic.LoadUint64(&b.words[b.layout.held])) }

// Raise holds the clock for longer. It reports false if another part has done so since it was held
// for from.
func (b *Board) Raise(from, to int64) bool {
	return atomic.CompareAndSwapUint64(&b.words[b.layout.held], uint64(from), uint64(to))
}

// Bell returns the word of a part that other parts set when it should read the board again.
func (b *Board) Bell(part int) *uint32 {
	return (*uint32)(unsafe.Pointer(&b.words[b.layout.bells+part]))
}
