package report

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// castagnoli is the polynomial of the sums of a binary event log.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// mostBlock is the most bytes in a block.
const mostBlock = 1 << 20

// blockWriter writes the first line of a binary event log, and then what it is given in blocks: the
// length, a sum, the bytes, and a sum. Numbers have 32 bits, low byte first. A sum is the CRC-32C
// of everything before it but the sums, so that blocks that are changed, exchanged or left out are
// found. The first sum of a block protects its length, on which the rest depends.
type blockWriter struct {
	w    io.Writer
	sum  uint32
	text []byte
}

// Write is the method of io.Writer.
func (b *blockWriter) Write(content []byte) (int, error) {
	b.text = b.text[:0]
	if b.sum == 0 {
		b.text = b.add(b.text, []byte(magicLine))
	}
	for block := range slices.Chunk(content, mostBlock) {
		b.text = b.add(b.text, binary.LittleEndian.AppendUint32(nil, uint32(len(block))))
		b.text = binary.LittleEndian.AppendUint32(b.text, b.sum)
		b.text = b.add(b.text, block)
		b.text = binary.LittleEndian.AppendUint32(b.text, b.sum)
	}
	if _, err := b.w.Write(b.text); err != nil {
		return 0, err
	}
	return len(content), nil
}

// add appends bytes that the sums cover.
func (b *blockWriter) add(to, content []byte) []byte {
	b.sum = crc32.Update(b.sum, castagnoli, content)
	return append(to, content...)
}

// errDamaged is the error of a binary event log that was changed.
var errDamaged = errors.New("this event log is damaged, or was changed: a sum is wrong")

// blockReader reads the contents of blocks. It gives out only blocks whose sums are right, but all
// of a last one that is cut off.
type blockReader struct {
	r      io.Reader
	sum    uint32
	begin  int64  // of the block in the contents
	block  []byte // its room
	unread []byte
	cut    bool // the last block is not whole
	err    error
}

// Read is the method of io.Reader.
func (b *blockReader) Read(to []byte) (int, error) {
	for len(b.unread) == 0 && b.err == nil {
		b.err = b.next()
	}
	n := copy(to, b.unread)
	b.unread = b.unread[n:]
	if len(b.unread) > 0 || b.err == nil {
		return n, nil
	}
	return n, b.err
}

// next reads the next block. io.EOF is the end of the file, or with cut the end of its last block.
func (b *blockReader) next() error {
	var head [8]byte
	if n, err := io.ReadFull(b.r, head[:]); err != nil {
		return b.end(n, err)
	}
	b.sum = crc32.Update(b.sum, castagnoli, head[:4])
	length := binary.LittleEndian.Uint32(head[:])
	if binary.LittleEndian.Uint32(head[4:]) != b.sum || length > mostBlock {
		return b.damaged()
	}
	b.block = slices.Grow(b.block[:0], int(length)+4)[:length+4]
	n, err := io.ReadFull(b.r, b.block)
	b.unread = b.block[:min(n, int(length))]
	if err != nil {
		return b.end(1, err)
	}
	if b.sum = crc32.Update(b.sum, castagnoli, b.unread); binary.LittleEndian.Uint32(b.block[length:]) != b.sum {
		b.unread = nil
		return b.damaged()
	}
	b.begin += int64(length)
	return nil
}

// end returns the error of a file that ends after some bytes of a part.
func (b *blockReader) end(n int, err error) error {
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	b.cut = n > 0
	return io.EOF
}

func (b *blockReader) damaged() error {
	return fmt.Errorf("%w, behind its first %d bytes of events", errDamaged, b.begin)
}
