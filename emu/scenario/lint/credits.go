package lint

import (
	"fmt"

	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// maxGranted is the most blocks that a receiver grants in advance: half of
// the 12 bits of the counters.
const maxGranted = 2048

// credits warns of links that cannot run at their full rate, since more
// packets are in flight, or wait for their credit, than the buffer holds.
//
// The credit for a packet returns to the sender at the earliest one packet's time,
// twice the propagation and the forwarding delay of the receiver (none at an
// endpoint) after the packet began to leave. In that time the sender can send no
// more than fits into the buffer.
func credits(s *scenario.Site, p *scenario.Problems) {
	for i := range s.Links {
		l := &s.Links[i]
		for side, receiver := range [2]string{l.B, l.A} {
			f := s.LargestFrom(i, side)
			if f == nil || l.Family() != wire.InfiniBand {
				continue
			}
			time := l.Rate.Serialise(s.Length(f))
			trip := time + 2*l.Propagation
			forwarding := ""
			if w, ok := s.SwitchOf(receiver); ok {
				delay := s.Switches[w].ForwardingDelay
				trip += delay
				forwarding = fmt.Sprintf(", %v of forwarding", delay)
			}
			blocks := scenario.BlocksOf(f.Packet)
			room := scenario.BlocksIn(l.Buffer, f.Packet)
			holds := min(room, maxGranted) / blocks
			if unit.Duration(holds)*time >= trip {
				continue
			}
			enough := int((trip + time - 1) / time)
			remedy := fmt.Sprintf("a buffer of %d packets would be enough", enough)
			if enough*blocks > maxGranted {
				remedy = fmt.Sprintf("no buffer would be enough, since at most %d blocks of %d bytes are granted in advance",
					maxGranted, wire.BlockSize)
			}
			p.Add(s.Link(i).Where("buffer", "propagation"),
				"link %s cannot run at its full rate, only at %.3g %% of %v: the credit for a packet comes back after %v (%v of transmission, twice %v of propagation%s), and its buffer holds %d in that time. Nothing is lost; %s",
				l.Name, 100*float64(holds)*float64(time)/float64(trip), l.Rate, trip, time, l.Propagation, forwarding,
				holds, remedy)
		}
	}
}
