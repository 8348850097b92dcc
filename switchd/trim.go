package switchd

import (
	"fmt"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Trimming is what an output-queued switch does with data packets that find no room, where no flow
// control promises it: it cuts them and sends their headers on with a priority of their own, so
// that their destinations know at once what is missing. SAI calls it packet trimming
// (SAI-Proposal-Packet-Trimming). What cannot be cut (wire.Frame.Trim) is dropped, and so is what
// finds no room in the queue of that priority either.
//
// The headers have memory of their own, of Limit at each output. A packet that a switch before has
// cut takes it too, if it finds no other room, and so does each frame of that priority that cannot
// be cut: ACKs that say what was trimmed are not lost because data fill the memory. The queue of
// the priority does not count for an output limit: Limit takes its place there.
type Trimming struct {
	// Bytes that are left of a packet, from its header of IP on, in words of 4 bytes. none: nothing
	// is trimmed.
	// Source: SAI: SAI_SWITCH_ATTR_PACKET_TRIM_SIZE
	Size unit.Size `key:"size" def:"128B" none:"none" low:"64B" high:"1024B" also:"trim-size|packet-trim-size"`
	// Priority of trimmed packets.
	// Source: sonic-mgmt, tests/packet_trimming; SAI: SAI_SWITCH_ATTR_PACKET_TRIM_QUEUE_INDEX
	Priority uint8 `key:"priority" def:"6" low:"0" high:"7" also:"queue|queue-index|queue_index|switch-priority"`
	// DSCP of packets that a switch has trimmed towards another switch.
	// Source: Cumulus Linux 5.14; SAI: SAI_SWITCH_ATTR_PACKET_TRIM_DSCP_VALUE
	DSCP uint8 `key:"dscp" def:"11" low:"0" high:"63" also:"dscp_value|symmetric-dscp"`
	// The same of packets that it has trimmed towards an endpoint. The same value as dscp: nobody
	// can distinguish them.
	// Source: Cumulus Linux 5.14; SAI: SAI_PACKET_TRIM_DSCP_RESOLUTION_MODE_FROM_TC
	LastHopDSCP uint8 `key:"last-hop-dscp" def:"21" low:"0" high:"63" also:"last-hop"`
	// Most bytes that wait for an output with this priority; a trimmed packet beyond it is dropped.
	// This memory comes in addition to that of the switch.
	Limit unit.Size `key:"limit" def:"100KB" low:"64B"`
}

// Codes returns the DSCPs of trimmed packets.
func (t *Trimming) Codes() wire.TrimCodes {
	return wire.TrimCodes{Fabric: t.DSCP, LastHop: t.LastHopDSCP}
}

// check refuses values that do not work, where some priorities are lossless, a bit each.
func (t *Trimming) check(c *OutputQueuedConfig, lossless uint8) error {
	switch {
	case t.Size == 0 && *t == (Trimming{}):
		return nil
	case t.Size < wire.TrimLeast || t.Size > wire.TrimMost || t.Priority >= port.Priorities || t.DSCP > 63 || t.LastHopDSCP > 63 || t.Limit < 1:
		return fmt.Errorf("trimming %+v: a size is from %v to %v, there are %d priorities and 64 DSCPs, and a limit is above 0", *t, wire.TrimLeast, wire.TrimMost, port.Priorities)
	case lossless>>t.Priority&1 == 1:
		return fmt.Errorf("trimmed packets have priority %d, which flow control keeps from being dropped", t.Priority)
	case len(c.LastHop) != len(c.Ports):
		return fmt.Errorf("%d of %d ports are known to lead to an endpoint or to a switch", len(c.LastHop), len(c.Ports))
	}
	return nil
}

// trims is the state of Trimming.
type trims struct {
	Trimming
	last   []bool      // by output: it leads to an endpoint
	coming []unit.Size // by output: of output.coming, what has the priority of trimmed packets
}

func newTrims(c *OutputQueuedConfig) *trims {
	if c.Trim.Size == 0 {
		return nil
	}
	return &trims{Trimming: c.Trim, last: c.LastHop, coming: make([]unit.Size, len(c.LastHop))}
}

// held returns how much waits for an output, or is coming for it, with the priority of trimmed
// packets.
func (s *OutputQueued) held(out int) unit.Size {
	return s.outputs[out].queue[s.trims.Priority].bytes + s.trims.coming[out]
}

// overfull reports whether an output has no room for a frame, where its limit is exceeded if all
// counts that was known to wait for it. Some of that may have left.
func (s *OutputQueued) overfull(now unit.Time, out int, f *wire.Frame, n unit.Size) bool {
	all := s.queued(now, out) + n
	if all <= s.outputLimit || s.trims == nil {
		return all > s.outputLimit
	}
	held := s.held(out)
	if f.Lane == s.trims.Priority {
		return held+n > s.trims.Limit
	}
	return all-held > s.outputLimit
}

// trim is refuse in a switch that trims, for a frame that may be dropped. It reports whether that
// is done: the frame was cut, or takes the memory of trimmed packets as it is.
func (s *OutputQueued) trim(now unit.Time, p, out int, a *port.Arrival) bool {
	if s.belts != nil { // it is of another priority, and the output must know what waits
		s.takeBack(now, out)
	}
	t, pt, rest := s.trims, &s.ports[p], *a
	f, dscp, last := &rest.Frame, t.DSCP, int64(0)
	if t.last[out] {
		dscp, last = t.LastHopDSCP, 1
	}
	before, cut := f.Kind == wire.Trimmed, false
	if !before {
		if cut = f.Trim(t.Size, dscp); !cut && f.Lane != t.Priority {
			return false
		}
	}
	f.Lane = t.Priority
	rest.Length = s.ports[out].Framing().Length(f)
	full := s.held(out)+rest.Length > t.Limit
	if full && !before && !cut {
		return false
	}
	pt.Free(now, &a.Frame)
	switch {
	case full:
		pt.Lost(now, &a.Frame, trace.TrimFull)
	case cut:
		pt.Lost(now, &a.Frame, trace.Trimmed)
	}
	if full || cut {
		dropped := int64(0)
		if full {
			dropped = 1
		}
		s.rec.Emit(trace.Event{At: now, Kind: trace.Trim, Port: uint16(out), Lane: f.Lane, Flow: f.QP, PSN: f.PSN, Bytes: uint32(rest.Length),
			A: last, B: dropped})
	}
	if !full {
		s.arrive(now, p, out, &rest, ownFrame) // no input's memory holds it
	}
	return true
}

// counts counts a frame that comes for an output, or has come: n bytes, or as many less.
func (t *trims) counts(out int, lane uint8, n unit.Size) {
	if t != nil && lane == t.Priority {
		t.coming[out] += n
	}
}
