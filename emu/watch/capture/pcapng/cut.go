package pcapng

import (
	"errors"
	"io"
	"strings"
)

// Cut copies a capture, but of its packets only those from an instant until another one, in
// the units of Packet.Time, and not its statistics. Where in ends in the middle of a block,
// as a capture that is still being written, the copy ends before it.
func Cut(w io.Writer, in io.Reader, from, until int64) error {
	r, err := NewReader(in)
	switch {
	case err != nil:
		return err
	case !r.ng:
		return r.fail("this is not pcapng")
	}
	for {
		r.start = r.at
		if _, err := r.in.Peek(1); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		statistics := len(r.Statistics)
		p, err := r.next()
		if torn := (*Error)(nil); errors.As(err, &torn) && strings.HasPrefix(torn.What, "the file ends") {
			return nil
		}
		if err != nil {
			return err
		}
		if p != nil && (p.Time < from || p.Time > until) || len(r.Statistics) > statistics {
			continue
		}
		if _, err := w.Write(r.block); err != nil {
			return err
		}
	}
}
