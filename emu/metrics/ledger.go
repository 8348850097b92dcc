package metrics

import (
	"encoding/binary"
	"fmt"
	"iter"
	"os"

	"fabemu/emu/base/files"
	"fabemu/wire/unit"
)

// ledger is the transfers of a workload that have ended, in the order in which they did. A run may
// have millions of them, and figures such as a percentile of one size need all, so each takes about
// twenty bytes. The first pages stay in memory, and later ones go to an unlinked temporary file, of
// which nothing is left however the run ends.
type ledger struct {
	pages []sheet
	file  *os.File // where pages are, each at its place; nil: none is
	n     int
	last  unit.Time // when the last of them ended
}

// sheet is a page. It begins with a whole transfer.
type sheet struct {
	bytes  []byte // nil: they are in the file
	length int    // there
}

// page is the size of a page, and inMemory is how many stay in memory where a file takes the
// others.
const (
	page     = 1 << 16
	inMemory = 4
)

// mostBytes is the most that one transfer takes.
const mostBytes = 8 * binary.MaxVarintLen64

// add adds a transfer that has ended.
func (l *ledger) add(d *Done) {
	if k := len(l.pages); k == 0 || len(l.pages[k-1].bytes)+mostBytes > page {
		l.away(k - 1)
		l.pages = append(l.pages, sheet{bytes: make([]byte, 0, page)})
	}
	at := &l.pages[len(l.pages)-1].bytes
	b := binary.AppendVarint(*at, int64(d.Ended-l.last))
	b = binary.AppendVarint(b, int64(d.Ended.Sub(d.Arrived)))
	for _, v := range [...]uint64{uint64(d.Ideal), uint64(d.Src), uint64(d.Dst), uint64(d.Bytes), uint64(d.Again), uint64(d.Missing)} {
		b = binary.AppendUvarint(b, v)
	}
	*at, l.last = b, d.Ended
	l.n++
}

// away puts a page that is full into the file. Where that cannot be, it stays in memory.
func (l *ledger) away(k int) {
	if k < inMemory {
		return
	}
	if l.file == nil {
		l.file = files.Nameless()
	}
	if p := &l.pages[k]; l.file != nil {
		if _, err := l.file.WriteAt(p.bytes, int64(k)*page); err == nil {
			*p = sheet{length: len(p.bytes)}
		}
	}
}

// read returns the bytes of a page. The buffer may be used for them.
func (l *ledger) read(k int, buffer *[]byte) []byte {
	p := &l.pages[k]
	if p.bytes != nil {
		return p.bytes
	}
	if *buffer == nil {
		*buffer = make([]byte, page)
	}
	b := (*buffer)[:p.length]
	if _, err := l.file.ReadAt(b, int64(k)*page); err != nil {
		panic(fmt.Errorf("metrics: ended flows cannot be read back: %w", err))
	}
	return b
}

// all yields the transfers. Each is overwritten by the next one.
func (l *ledger) all() iter.Seq[*Done] {
	return func(yield func(*Done) bool) {
		var d Done
		var buffer []byte
		for k := range l.pages {
			b := l.read(k, &buffer)
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
				d.Ideal, d.Src, d.Dst = unit.Duration(count()), int32(count()), int32(count())
				d.Bytes, d.Again, d.Missing = int64(count()), uint32(count()), uint32(count())
				if !yield(&d) {
					return
				}
			}
		}
	}
}

// copy returns the ledger as it is now, for another goroutine: its bytes never change. It uses the
// memory of the pages' places of an earlier copy again.
func (l *ledger) copy(before ledger) ledger {
	return ledger{pages: append(before.pages[:0], l.pages...), file: l.file, n: l.n, last: l.last}
}
