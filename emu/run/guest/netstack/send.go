package netstack

import (
	"bytes"
	"fmt"
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"fabemu/emu/run/guest"
	"fabemu/wire/unit"
)

// sending is a program of a stack (guest.Sending).
type sending struct {
	stack   *Stack
	to      netip.Addr
	size    int64 // 0: without end
	written int64
	shut    bool           // there is nothing more to write
	e       tcpip.Endpoint // nil: not begun
	begun   time.Duration
	took    time.Duration // from begun until all was acknowledged; 0: not yet
	failed  tcpip.Error
}

// Send starts a program at an instant, which sends this many bytes to the host at another address;
// 0 bytes: without end.
func (s *Stack) Send(at unit.Time, to netip.Addr, size int64) guest.Sending {
	x := &sending{stack: s, to: to, size: size}
	s.clock.AfterFunc(time.Duration(at/unit.Time(unit.Nanosecond)), x.begin)
	s.sendings = append(s.sendings, x)
	return x
}

// begin opens the connection.
func (x *sending) begin() {
	x.begun = x.stack.clock.passed()
	e, err := x.stack.stack.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, new(waiter.Queue))
	if err != nil {
		x.failed = err
		return
	}
	x.e = e
	err = e.Connect(tcpip.FullAddress{NIC: nic, Addr: tcpip.AddrFrom4(x.to.As4()), Port: port})
	if _, started := err.(*tcpip.ErrConnectStarted); err != nil && !started {
		x.failed = err
	}
}

// chunk is the data that a program writes at a time.
var chunk = make([]byte, 64<<10)

// work writes as much as the stack has room for, and reports whether it wrote any. When all is
// written it closes its half of the connection.
func (x *sending) work() (some bool) {
	if x.e == nil || x.took > 0 || x.failed != nil {
		return false
	}
	for x.size == 0 || x.written < x.size {
		n := int64(len(chunk))
		if x.size > 0 {
			n = min(n, x.size-x.written)
		}
		wrote, err := x.e.Write(bytes.NewReader(chunk[:n]), tcpip.WriteOptions{})
		if err != nil {
			if _, full := err.(*tcpip.ErrWouldBlock); !full && tcp.EndpointState(x.e.State()) != tcp.StateSynSent {
				x.failed = err
			}
			return some
		}
		x.written += wrote
		some = true
	}
	if !x.shut {
		x.shut, some = true, true
		_ = x.e.Shutdown(tcpip.ShutdownWrite)
	}
	switch tcp.EndpointState(x.e.State()) {
	case tcp.StateFinWait2, tcp.StateTimeWait, tcp.StateClose: // the FIN behind all of it has been acknowledged
		x.took = x.stack.clock.passed() - x.begun
	case tcp.StateError:
		x.failed = x.e.LastError()
	}
	return some
}

// Sent describes the sending so far. If it is not whole yet, the other end has counted the bytes;
// end is nil if that is a real host, which has no count.
func (x *sending) Sent(end guest.Stack) guest.Sent {
	r := guest.Sent{To: x.to.String(), Whole: x.took > 0, Endless: x.size == 0}
	took := x.took
	if took == 0 {
		took = x.stack.clock.passed() - x.begun
	}
	if x.e != nil {
		r.Bytes = x.written
		if local, err := x.e.GetLocalAddress(); !r.Whole && err == nil {
			local.NIC = 0
			r.Bytes = 0
			if end != nil {
				r.Bytes = end.(*Stack).read[local]
			}
		}
		stats := x.e.Stats().(*tcp.Stats)
		r.Segments = stats.SegmentsSent.Value()
		r.Retransmits = stats.SendErrors.Retransmits.Value()
		r.FastRetransmits = stats.SendErrors.FastRetransmit.Value()
		r.Timeouts = stats.SendErrors.Timeouts.Value()
	}
	if took > 0 && x.e != nil {
		r.Seconds = took.Seconds()
		r.BitsPerSecond = float64(8*r.Bytes) / r.Seconds
	}
	if x.failed != nil {
		r.Error = fmt.Sprint(x.failed)
	} else if x.e == nil {
		r.Error = "never started"
	}
	return r
}
