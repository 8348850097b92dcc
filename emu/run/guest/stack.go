package guest

import (
	"net/netip"

	"fabemu/wire/unit"
)

// Stack is a host inside this program, on the clock of the model: the device of a guest of kind
// netstack, and its programs. Package netstack has one, with gVisor's TCP.
type Stack interface {
	port

	// Advance runs the timers that are due at an instant, and Deadline returns when the next one
	// is.
	Advance(now unit.Time)
	Deadline() unit.Time

	// Send starts a program at an instant. It opens a connection to the stack at another address
	// and sends this many bytes, as fast as it may; 0 bytes: without end.
	Send(at unit.Time, to netip.Addr, bytes int64) Sending

	// Close ends the stack. Closing twice does no harm.
	Close()
}

// StackConfig describes a stack.
type StackConfig struct {
	Address netip.Prefix
	MTU     int    // longest packet of IP that it sends, in bytes
	Queue   int    // packets that it keeps until they are read; it drops more
	TCP     string // congestion control, one of scenario.NetstackTCP; empty: the first of them
	Seed    uint64
}

// NewStack makes a stack at time 0, which accepts connections.
type NewStack func(StackConfig) (Stack, error)

// Sending is a program of a stack that sends.
type Sending interface {
	// Sent describes the sending so far. If it is not whole yet, the other end has counted the
	// bytes; end is nil if that is a real host, which has no count.
	Sent(end Stack) Sent
}

// Sent describes the progress of a sending.
type Sent struct {
	To              string  `json:"to"`
	Bytes           int64   `json:"bytes"` // read by the other end
	Seconds         float64 `json:"seconds"`
	BitsPerSecond   float64 `json:"bits_per_second"`
	Segments        uint64  `json:"segments"`
	Retransmits     uint64  `json:"retransmits"`
	FastRetransmits uint64  `json:"fast_retransmits"` // recoveries that began with duplicate ACKs
	Timeouts        uint64  `json:"timeouts"`
	Whole           bool    `json:"whole"`   // all bytes are acknowledged
	Endless         bool    `json:"endless"` // it sends until the end of the run
	Error           string  `json:"error,omitempty"`
}
