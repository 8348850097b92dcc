package dump

import (
	"fmt"
	"strconv"

	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Append appends p as a line without an end: the time, the port, the event, and the
// frame with the words of the event log. It uses the names of flows and nodes.
func (p *Packet) Append(b []byte, names Names) []byte {
	b = fmt.Appendf(b, "%6d %13s  ", p.Number, seconds(p.Time))
	where, what := p.Port, "seen"
	switch {
	case p.Other == emptyRecord:
		what = "event"
	case p.Carried:
		where = fmt.Sprintf("run %08x port %d", p.Trailer.Run, p.Trailer.Port)
		what = "start"
	case p.Direction == pcapng.Outbound:
		what = "start"
	case p.Direction == pcapng.Inbound:
		what = "arrive"
	}
	if where == "" {
		where = fmt.Sprintf("interface %d", p.Interface)
	}
	b = fmt.Appendf(b, "%-16s  %-6s  ", where, what)
	switch {
	case p.Frame.Kind != 0:
		b = append(appendFrame(b, &p.Frame, names), p.Body...)
		b = fmt.Appendf(b, " bytes=%d", p.Size)
	case p.Headers != nil:
		b = p.appendHeaders(b)
	case p.Pause != "":
		b = append(b, p.Pause...)
	case p.Err != nil:
		b = fmt.Appendf(b, "unreadable: %v", p.Err)
	case p.Other == emptyRecord:
		b = append(b, "no frame"...)
	default:
		b = append(append(b, "other: "...), p.Other...)
	}
	if p.Carried {
		if sequence, ok := p.Trailer.Preamble.Sequence(); ok {
			b = fmt.Appendf(b, " retry=%d", sequence)
		}
		b = fmt.Appendf(b, " seq=%d head=%v due=%v", p.Trailer.Seq, p.Trailer.Head, p.Trailer.Due)
	}
	if p.BadSum != "" {
		b = append(append(b, " wrong="...), p.BadSum...)
	}
	if p.Cut {
		b = append(b, " cut"...)
	}
	if p.Comment != "" {
		b = append(append(b, "  # "...), p.Comment...)
	}
	return b
}

// seconds prints ns as seconds.
func seconds(ns int64) string {
	if ns < 0 {
		return unit.Duration(ns * 1000).String()
	}
	return fmt.Sprintf("%d.%09d", ns/1e9, ns%1e9)
}

// appendFrame appends a frame in words.
func appendFrame(b []byte, f *wire.Frame, names Names) []byte {
	b = append(b, f.Kind.String()...)
	number := func(key string, n int64) {
		b = append(append(append(b, ' '), key...), '=')
		b = strconv.AppendInt(b, n, 10)
	}
	node := func(key string, l wire.LID) {
		if name, ok := names.nodes[l]; ok {
			b = append(append(append(append(b, ' '), key...), '='), name...)
		} else {
			number(key, int64(l))
		}
	}
	if !f.Kind.Control() {
		if name, ok := names.flows[f.QP]; ok {
			b = append(append(b, " flow="...), name...)
		} else {
			number("qp", int64(f.QP))
		}
	}
	if !f.Kind.Control() && f.Kind != wire.TCP && f.Kind != wire.CNP { // TCP has seq, a CNP has no number
		number("psn", int64(f.PSN))
	}
	if f.Kind.Traffic() || f.Kind == wire.Ack || f.Kind == wire.CNP || f.Kind == wire.Trimmed || f.Kind == wire.Management {
		number("lane", int64(f.Lane))
		node("src", f.Src)
		node("dst", f.Dst)
	}
	return f.AppendWords(b)
}

// appendHeaders appends a packet that others wrote.
func (p *Packet) appendHeaders(b []byte) []byte {
	h := p.Headers
	b = fmt.Appendf(b, "%s opcode=%#02x qp=%d psn=%d", [...]string{"infiniband", "roce", "roce-v2"}[p.RoCE], uint8(h.BTH.Opcode), h.BTH.DestQP, h.BTH.PSN)
	if h.Local {
		b = fmt.Appendf(b, " lane=%d src=%d dst=%d", h.LRH.VL, h.LRH.SLID, h.LRH.DLID)
	}
	if h.BTH.FECN {
		b = append(b, " fecn"...)
	}
	if h.BTH.BECN {
		b = append(b, " becn"...)
	}
	return fmt.Appendf(b, " bytes=%d", p.Size)
}
