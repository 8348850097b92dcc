package port

import "fabemu/wire/unit"

// BufferConfig describes a Buffer. Low is at most High, and High at most Room.
type BufferConfig struct {
	Room unit.Size // how much it holds
	High unit.Size // from here on the sender is to stop; 0: nobody is ever stopped
	Low  unit.Size // at or below this it may go on
}

// Buffer is an account of bytes with watermarks: an input's partition, a shared pool,
// an endpoint's ingress.
type Buffer struct {
	BufferConfig
	used    unit.Size
	stopped bool
}

// NewBuffer returns an empty buffer.
func NewBuffer(c BufferConfig) Buffer { return Buffer{BufferConfig: c} }

// Store takes in n bytes. It reports false, and stores nothing, when there is no room
// for them.
func (b *Buffer) Store(n unit.Size) bool {
	if b.used+n > b.Room {
		return false
	}
	b.used += n
	if b.High > 0 && b.used >= b.High {
		b.stopped = true
	}
	return true
}

// Free gives n bytes back. It panics when so many were not stored.
func (b *Buffer) Free(n unit.Size) {
	if n > b.used {
		panic("port: freed more than was stored")
	}
	b.used -= n
	if b.used <= b.Low {
		b.stopped = false
	}
}

// Used returns how much is stored.
func (b *Buffer) Used() unit.Size { return b.used }

// Stopped reports whether High was reached, and Low not since: the sender is to stop.
func (b *Buffer) Stopped() bool { return b.stopped }
