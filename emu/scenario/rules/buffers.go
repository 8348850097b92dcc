package rules

import (
	"fabemu/emu/scenario"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// overhead is the length of a packet on the wire without its payload.
const overhead = wire.HeaderSize + wire.ICRCSize + wire.VCRCSize

// buffers refuses a buffer with no room for the largest packet that crosses the link.
func buffers(s *scenario.Site, p *scenario.Problems) {
	for i := range s.Links {
		l, f, buffer := &s.Links[i], s.Largest(i), s.Link(i).Mention("buffer")
		if f == nil || l.Buffer.Bytes == 0 || !buffer.Given() {
			continue
		}
		need, have := scenario.BlocksOf(f.Packet), int(l.Buffer.Bytes/wire.BlockSize)
		if have < need {
			p.Add(buffer.Path,
				"the buffer of link %s cannot hold a packet of flow %s: %v and %d bytes of headers and CRCs are %d blocks of %d bytes, %dB, but %v are %d blocks",
				l.Name, f.Name, f.Packet, overhead, need, wire.BlockSize, need*wire.BlockSize, l.Buffer.Bytes, have)
		}
	}
}

// fullAt refuses a full-at above every buffer of the switch: it would never be reached.
func fullAt(s *scenario.Site, p *scenario.Problems) {
	for i := range s.Switches {
		w, given := &s.Switches[i], s.Switch(i).In("marking").Mention("full-at")
		full := cp.TraitsOf(w.Marking.Params).Full
		if !given.Given() || full == (unit.Room{}) || w.Kind != scenario.InputBuffered {
			continue
		}
		reached := false
		for _, k := range s.LinksOf(w.Name) {
			room := s.Links[k].Buffer
			payload := unit.Size(wire.MaxPayload)
			if f := s.Largest(k); f != nil {
				payload = f.Packet
			}
			reached = reached || scenario.BlocksIn(full, payload) <= scenario.BlocksIn(room, payload)
		}
		if !reached {
			p.Add(given.Path, "full-at is more than any buffer of switch %s holds: it would never be reached", w.Name)
		}
	}
}
