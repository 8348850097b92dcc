package report

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"fabemu/wire/trace"
)

// The first line of a binary event log.
const (
	magicWords = "fabemu events "
	magicLine  = magicWords + "2\n"
	firstLine  = magicWords + "1\n" // of a log without blocks
)

// IsEventLog reports whether a binary event log, of any version, begins with b.
func IsEventLog(b []byte) bool { return bytes.HasPrefix(b, []byte(magicWords)) }

// EventReader reads a binary event log. Its text is that of the same log in the form JSONLog.
type EventReader struct {
	in     *bufio.Reader
	blocks *blockReader // below it; nil: a log without
	packer *trace.Packer
	lines  *lines
	events int    // that were read
	line   []byte // the last
	rest   []byte // of it, for Read
}

// NewEventReader reads the head of a log. The error says what is there instead, or is that of r.
func NewEventReader(r io.Reader) (*EventReader, error) {
	l := &EventReader{}
	head := make([]byte, len(magicLine))
	n, err := io.ReadFull(r, head)
	switch magic := string(head[:n]); {
	case !IsEventLog(head):
		return nil, fmt.Errorf("this is no binary event log: its first bytes are %q", magic)
	case err != nil:
		return nil, l.short(err)
	case magic == magicLine:
		l.blocks = &blockReader{r: r, sum: crc32.Checksum(head, castagnoli)}
		r = l.blocks
	case magic != firstLine:
		return nil, fmt.Errorf("this event log begins with %q, and this version of fabemu reads %q: read it with a newer one", magic, magicLine)
	}
	l.in = bufio.NewReaderSize(r, 1<<16)
	head = head[:4]
	_, err = io.ReadFull(l.in, head)
	size := binary.LittleEndian.Uint32(head)
	if err == nil && size > mostResult {
		return nil, fmt.Errorf("this event log has %d bytes of names, and %d are the most: something else has written it", size, mostResult)
	}
	var text bytes.Buffer // it grows with what comes
	if err == nil {
		_, err = io.CopyN(&text, l.in, int64(size))
	}
	if err != nil {
		return nil, l.short(err)
	}
	var of names
	if err := json.Unmarshal(text.Bytes(), &of); err != nil {
		return nil, fmt.Errorf("the names of this event log: %w", err)
	}
	if of.Nodes == nil {
		of.Nodes, of.Old = of.Old, nil
	}
	l.packer, l.lines = trace.NewPacker(len(of.Nodes)), newLines(&of)
	return l, nil
}

// short explains an error of the reader below, where it is an end too early.
func (l *EventReader) short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, trace.ErrTruncated) {
		return fmt.Errorf("this event log is cut off after %d events: its run was killed or has failed, or the file was not copied whole", l.events)
	}
	return err
}

// Line returns the next line. It is valid until the next call. io.EOF is the end of a complete log;
// if the log is cut off, the error comes after all its lines.
func (l *EventReader) Line() ([]byte, error) {
	b, err := l.in.Peek(trace.MaxPacked) // near the end there are fewer
	if err != nil && err != io.EOF {
		return nil, err
	}
	if len(b) >= 4 && binary.LittleEndian.Uint32(b) == 0 {
		if len(b) > 4 {
			return nil, errors.New("this event log has bytes after its end: something else has written to it")
		}
		if l.blocks != nil && l.blocks.cut {
			return nil, l.short(io.ErrUnexpectedEOF)
		}
		return nil, io.EOF
	}
	e, n, err := l.packer.Next(b)
	if errors.Is(err, trace.ErrTruncated) {
		return nil, l.short(err)
	} else if err != nil {
		return nil, fmt.Errorf("event %d of this event log: %w", l.events+1, err)
	}
	l.in.Discard(n) // they are there
	l.events++
	l.line = l.lines.Append(l.line[:0], &e)
	return l.line, nil
}

// Read is the method of io.Reader.
func (l *EventReader) Read(b []byte) (n int, err error) {
	if len(l.rest) == 0 {
		l.rest, err = l.Line()
	}
	n = copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, err
}
