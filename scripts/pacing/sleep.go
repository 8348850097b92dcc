package main

import (
	"context"
	"errors"
	"time"

	"fabemu/wire/link"
	"fabemu/wire/unit"
)

// sleep paces frames as a program does that knows no better: it sleeps until the
// next instant, and instants follow one another at the wanted gap, however late it
// wakes.
func sleep(ctx context.Context, length time.Duration) (arrivals, error) {
	out := arrivals{stamps: make([]int64, 0, int(length/gapNs)+1000)}
	a, b, err := link.UDPPair(link.UDPOptions{Buffer: 128 * unit.KiB, Stamp: true})
	if err != nil {
		return out, err
	}
	defer a.Close()
	defer b.Close()
	frame, in := make([]byte, frameBytes), make([]byte, frameBytes)
	begin := time.Now()
	for due := time.Duration(0); due < length; due += gapNs {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		time.Sleep(due - time.Since(begin))
		if err := a.Send(frame); err != nil {
			return out, err
		}
		out.sent++
		if err := out.collect(b, in); err != nil {
			return out, err
		}
	}
	for end := time.Now(); int64(len(out.stamps)) < out.sent && time.Since(end) < 50*time.Millisecond; {
		if err := out.collect(b, in); err != nil {
			return out, err
		}
	}
	return out, nil
}

// collect reads what waits at the end of a link.
func (a *arrivals) collect(l *link.UDP, in []byte) error {
	for {
		n, stamp, err := l.RecvStamped(in)
		switch {
		case err != nil:
			return err
		case n == 0:
			return nil
		case stamp == 0:
			return errors.New("a datagram came without a time stamp")
		}
		a.stamps = append(a.stamps, stamp)
	}
}
