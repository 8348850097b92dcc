package port

import "fabemu/wire/unit"

// BufferConfig describes a Buffer. Low is at most High, and High at most Room.
type BufferConfig struct {
	Room unit.Size // how much it holds
	High unit.Size // the sender must stop from here on; 0: it never has to
	Low  unit.Size // at or below this it may resume
}

// Buffer is an account of bytes with watermarks: for an input's partition, a shared pool, or the
// ingress of an endpoint.
type Buffer struct {
	BufferConfig
	used    unit.Size
	stopped bool
}

// NewBuffer returns an empty buffer.
func NewBuffer(c BufferConfig) Buffer { return Buffer{BufferConfig: c} }

// Store takes in n bytes. If there is no room for them it stores nothing and returns false.
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

// Free gives n bytes back. It panics if fewer bytes are stored.
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

// Stopped reports whether the sender must stop: High has been reached, and Low not since.
func (b *Buffer) Stopped() bool { return b.stopped }
