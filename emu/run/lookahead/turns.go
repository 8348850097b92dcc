package lookahead

import (
	"sync/atomic"

	"fabemu/wire/unit"
)

// Turns are words of a board by which parts that share a processor take turns, in a run whose order may be late.
// Each part has four, in place of its reports: the instant of its next event, which it writes itself; how many
// datagrams others have sent to it; the earliest due time of the frames in them, since it last looked; and its
// processor. Nobody waits for long because of the words of another part, so nothing is checked.
type Turns struct {
	*Board
	near []bool // by part: it shares the processor of this part
	read uint64 // datagrams to this part that it has read, or given up
}

// The words of a part, from the beginning of its record.
const (
	nextWord = iota
	countWord
	dueWord
	processorWord
)

// word returns a word of a part.
func (b *Board) word(part, n int) *uint64 { return &b.words[b.layout.records[part]+n] }

// LayTurns writes the first words of the turns. processor returns the processor of a part.
func (b *Board) LayTurns(processor func(part int) int) {
	for k := range b.parts {
		*b.word(k, dueWord), *b.word(k, processorWord) = uint64(unit.Never), uint64(processor(k))
	}
}

// Gone records that the process of a part was killed, so that no part waits for it. It calls ring with each that may.
func (b *Board) Gone(part int, ring func(part int)) {
	atomic.StoreUint64(b.word(part, nextWord), uint64(unit.Never))
	atomic.StoreUint64(b.word(part, dueWord), uint64(unit.Never))
	for k := range b.parts {
		ring(k)
	}
}

// NewTurns returns the turns of the part that has a board.
func NewTurns(b *Board) *Turns {
	t := &Turns{b, make([]bool, len(b.parts)), atomic.LoadUint64(b.word(b.me, countWord))}
	for k := range t.near {
		t.near[k] = *b.word(k, processorWord) == *b.word(b.me, processorWord)
	}
	return t
}

// Next writes the instant of the next event of this part.
func (t *Turns) Next(at unit.Time) {
	if w := t.word(t.me, nextWord); atomic.LoadUint64(w) != uint64(at) { // a store takes twenty times as long
		atomic.StoreUint64(w, uint64(at))
	}
}

// Sent writes, once a datagram has left for a machine of another part, when its frame is due. It returns that part,
// and whether it shares the processor of this one.
func (t *Turns) Sent(machine int, due unit.Time) (part int, near bool) {
	part = t.part[machine]
	atomic.AddUint64(t.word(part, countWord), 1)
	for w := t.word(part, dueWord); ; {
		before := atomic.LoadUint64(w)
		if before <= uint64(due) || atomic.CompareAndSwapUint64(w, before, uint64(due)) {
			return part, t.near[part]
		}
	}
}

// Missing reports whether datagrams were sent to this part that it has not read.
func (t *Turns) Missing() bool { return int64(atomic.LoadUint64(t.word(t.me, countWord))-t.read) > 0 }

// Any reports whether datagrams are missing, or were sent since the last Take.
func (t *Turns) Any() bool {
	return atomic.LoadUint64(t.word(t.me, dueWord)) != uint64(unit.Never) || t.Missing()
}

// Take records that this part is about to read all datagrams. Until it then calls Next, the others take the earliest
// frame for its next event.
func (t *Turns) Take() {
	w := t.word(t.me, dueWord)
	t.Next(min(unit.Time(atomic.LoadUint64(w)), unit.Time(atomic.LoadUint64(t.word(t.me, nextWord)))))
	atomic.StoreUint64(w, uint64(unit.Never))
}

// Read records that this part has read so many datagrams.
func (t *Turns) Read(n int64) { t.read += uint64(n) }

// GiveUp has the datagrams that are missing count as read.
func (t *Turns) GiveUp() { t.read = atomic.LoadUint64(t.word(t.me, countWord)) }

// First returns the part whose event is the first from an instant on, among those that share the processor of this
// part. A part whose event is earlier is late: late is called with it, and no part waits for it.
func (t *Turns) First(from unit.Time, late func(part int)) (first int) {
	least := uint64(unit.Never)
	first = t.me
	for k, near := range t.near {
		at := min(atomic.LoadUint64(t.word(k, nextWord)), atomic.LoadUint64(t.word(k, dueWord)))
		switch {
		case !near:
		case unit.Time(at) < from:
			late(k)
			if k == t.me { // it need not wait
				return k
			}
		case at < least:
			first, least = k, at
		}
	}
	return first
}
