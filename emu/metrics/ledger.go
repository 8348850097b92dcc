package metrics

import (
	"encoding/binary"
	"iter"

	"fabemu/wire/unit"
)

// ledger is the transfers of a workload that have ended, in the order in which they did. A run may have millions of
// them, and figures such as a percentile of one size want all: so each takes the bytes of its numbers alone, about
// twenty, and its memory is never copied.
type ledger struct {
	pages [][]byte // each begins with a whole transfer
	n     int
	last  unit.Time // when the last of them ended
}

// page is the size of a page.
const page = 1 << 16

// mostBytes is the most that one transfer takes.
const mostBytes = 8 * binary.MaxVarintLen64

// add adds a transfer that has ended.
func (l *ledger) add(d *Done) {
	if k := len(l.pages); k == 0 || len(l.pages[k-1])+mostBytes > page {
		l.pages = append(l.pages, make([]byte, 0, page))
	}
	at := &l.pages[len(l.pages)-1]
	b := binary.AppendVarint(*at, int64(d.Ended-l.last))
	b = binary.AppendVarint(b, int64(d.Ended.Sub(d.Arrived)))
	for _, v := range [...]uint64{uint64(d.Alone), uint64(d.Src), uint64(d.Dst), uint64(d.Bytes), uint64(d.Again), uint64(d.Missing)} {
		b = binary.AppendUvarint(b, v)
	}
	*at, l.last = b, d.Ended
	l.n++
}

// all yields the transfers. Each is overwritten by the next one.
func (l *ledger) all() iter.Seq[*Done] {
	return func(yield func(*Done) bool) {
		var d Done
		for _, b := range l.pages {
			number := func() int64 {
				v, n := binary.Varint(b)
				b = b[n:]
				return v
			}
			count := func() uint64 {
				v, n := binary.Uvarint(b)
				b = b[n:]
				return v
			}
			for len(b) > 0 {
				d.Ended += unit.Time(number())
				d.Arrived = d.Ended - unit.Time(number())
				d.Alone, d.Src, d.Dst = unit.Duration(count()), int32(count()), int32(count())
				d.Bytes, d.Again, d.Missing = int64(count()), uint32(count()), uint32(count())
				if !yield(&d) {
					return
				}
			}
		}
	}
}

// copy returns the ledger as it is now, for another goroutine: its bytes never change. It uses the memory of
// the pages' places of an earlier copy again.
func (l *ledger) copy(before ledger) ledger {
	return ledger{pages: append(before.pages[:0], l.pages...), n: l.n, last: l.last}
}
