package node

import (
	"fmt"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// IPVersion is a version of IP.
type IPVersion uint8

// The versions of IP.
const (
	IPv4 IPVersion = iota
	IPv6
)

// Words returns the words for the versions.
func (IPVersion) Words() []string { return []string{"ipv4", "ipv6"} }

// PathMTU is one of the values of a connection's path MTU.
type PathMTU uint8

// Words returns the words for the sizes (IBTA Volume 1, 9.7.2).
func (PathMTU) Words() []string { return []string{"256B", "512B", "1024B", "2048B", "4096B"} }

// Size returns the size.
func (m PathMTU) Size() unit.Size { return 256 << m }

// RoCEParams are the parameters of a flow with RoCEv2.
type RoCEParams struct {
	IP IPVersion `key:"ip" def:"ipv4" also:"ip-version" doc:"The version of IP."`
	// The path MTU of the connection: no packet has a larger payload.
	// Source: IBTA Volume 1, 9.7.2
	MTU PathMTU `key:"mtu" def:"4096B" also:"path-mtu"`
	// Packets that may await their ACK; none: half of the 24-bit sequence numbers, as many as can be distinguished.
	Window int `key:"window" none:"none" def:"none" low:"1" high:"8388608"`
	// An ACK is asked for by each so-manieth packet, and by one that ends a transfer, fills the window, or has no other
	// behind it. An ACK is for all packets up to its own.
	AckEvery int `key:"ack-every" def:"1" low:"1" high:"65536" also:"ack-coalescing"`
	// After so long without a new ACK the oldest packet that awaits one is sent again, and all behind it. Adapters have
	// 4.096us times a power of two.
	// Source: perftest, -u 14: 4.096us times 2^14
	Timeout unit.Duration `key:"ack-timeout" def:"67.108864ms" none:"never" low:"above 0s" also:"timeout|local-ack-timeout"`
	// The DSCP of data; the priority of the flow follows from it by model.dscp.
	DSCP    uint8 `key:"dscp" low:"0" high:"63" computed:"the lowest that model.dscp has for the priority of the flow"`
	AckDSCP uint8 `key:"ack-dscp" low:"0" high:"63" computed:"the DSCP of data" doc:"The DSCP of ACKs and NAKs, likewise."`
	ECN     bool  `key:"ecn" def:"true" doc:"Data may be marked: it has ECT(0) (RFC 3168)."`
	// An ACK has BECN if a packet that it acknowledges was marked, as feedback for a law that uses the marks of ACKs.
	// Adapters do not; notification is by CNPs (Annex A17).
	Echo bool `key:"echo" def:"false"`

	AckPriority uint8 // the priority of AckDSCP
	CNPDSCP     uint8 // the DSCP of CNPs
	Stamped     bool  // packets and ACKs carry time stamps, for an algorithm with Delays

	Telemetry wire.Telemetry // what packets collect and ACKs carry back, if they have time stamps
}

// takes reports whether a frame is of the form of a flow with these parameters; nil: one with another transport.
func (p *RoCEParams) takes(f *wire.Frame) bool {
	return (f.Family == wire.RoCEv2) == (p != nil) && (p == nil || f.Stamped() == p.Stamped && f.Telemetry() == p.Telemetry)
}

// Frame makes f, a data frame, a frame of RoCEv2.
func (p RoCEParams) Frame(f *wire.Frame) {
	f.Family = wire.RoCEv2
	f.SetRoCE(wire.RoCE{IPv6: p.IP == IPv6, DSCP: p.DSCP, ECT: p.ECN, Stamped: p.Stamped, Telemetry: p.Telemetry})
}

// Ack returns an ACK or a NAK of such a flow.
func (p RoCEParams) Ack(nak bool) wire.Frame {
	f := wire.Frame{Kind: wire.Ack, Family: wire.RoCEv2, Lane: p.AckPriority}
	f.SetRoCE(wire.RoCE{IPv6: p.IP == IPv6, DSCP: p.AckDSCP, NAK: nak, Stamped: p.Stamped, Telemetry: p.Telemetry})
	return f
}

// maxOutstanding is how many packets may await their ACK at most: an ACK names one of them
// by 24 bits, and an old one is distinguished from a new one (IBTA Volume 1, 9.7.2).
const maxOutstanding = 1 << 23

// RoCE is the transport of a reliable connection of RoCEv2, on Ethernet, which uses the packets of InfiniBand (IBTA
// Volume 1, 9.7; Annex A17). Links may lose packets. The destination accepts packets in order; for one that is ahead
// of its turn it sends a NAK, PSN sequence error, and no other NAK until the packet that it asks for has arrived
// (9.7.5.2.8). After a NAK, and when no ACK has arrived within the timeout, the source goes back to the oldest
// packet that awaits its ACK: go-back-N. A packet that arrives again is acknowledged again.
type RoCE struct{ RoCEParams }

func (t RoCE) check(f wire.Family) error {
	switch {
	case f != wire.RoCEv2:
		return fmt.Errorf("frames of %v, and its transport is RoCEv2", f)
	case t.Window < 0 || t.Window > maxOutstanding || t.Timeout < 0 || t.AckEvery < 1:
		return fmt.Errorf("a window of %d, a timeout of %v and an ACK for each %d packets: a window is at most %d, and an ACK wants a packet",
			t.Window, t.Timeout, t.AckEvery, maxOutstanding)
	}
	return nil
}

func (t RoCE) sending() *window {
	w := &window{Acknowledged: Acknowledged{Window: t.Window, Timeout: t.Timeout, Loses: true}, expires: unit.Never}
	if w.Window == 0 {
		w.Window = maxOutstanding
	}
	return w
}

func (t RoCE) receiving() receiving {
	return receiving{acks: true, again: true, loses: true, roce: &t.RoCEParams}
}

// asks reports whether the next packet of a flow, which ends a transfer or not, asks for an ACK.
func (s *source) asks(last bool) bool {
	every := uint64(s.roce.AckEvery)
	alone := s.body != nil || !s.greedy && s.offered <= 1
	w := s.window
	return last || alone || s.count%every == every-1 || w.n+1 >= w.Window ||
		w.most > 0 && w.underway+2*s.full > w.most
}

// takeTelemetry reads the telemetry that an ACK has carried back, for its source. Telemetry with more hops than
// room is refused; the ACK counts.
func (e *Endpoint) takeTelemetry(now unit.Time, s *source, f *wire.Frame) {
	var err error
	if s.window.hops, err = e.out.Bodies.Of(f).Hops(s.window.hops[:0]); err != nil {
		e.rec.Emit(trace.Event{At: now, Kind: trace.Refuse, Lane: f.Lane, Flow: f.QP, PSN: f.PSN, A: int64(trace.TooManyHops)})
	}
	e.out.Bodies.Free(f)
}

// nak goes back to the packet that a NAK asks for, which is the oldest that awaits its ACK: the
// others were acknowledged by it. One that comes late asks for nothing.
func (s *source) nak(now unit.Time, f *wire.Frame, rec *trace.Recorder) {
	oldest := uint32(s.count-uint64(s.window.inFlight())) & psnMask
	if f.PSN == oldest && s.window.inFlight() > 0 {
		s.again(now, trace.SequenceError, rec)
	}
}
