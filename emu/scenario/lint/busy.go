package lint

import (
	"math/bits"

	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/retry"
	"fabemu/wire/unit"
)

// retries warns of links whose retry cannot keep them busy.
func retries(s *scenario.Site, p *scenario.Problems) {
	for i := range s.Links {
		l := &s.Links[i]
		if !l.Retry.On() {
			continue
		}
		t := s.RetryTimes(i)
		busy := retry.BytesIn(t.Rate, t.ACK) + t.Largest
		if held := min(l.Retry.Bytes, unit.Size(l.Retry.Frames)*t.Largest); held < busy {
			p.Add(s.Link(i).Path(), "the retry of link %s cannot keep the link busy: at most %d frames of %v and %v await their ACK, and %v leave before it can arrive. %s",
				l.Name, l.Retry.Frames, t.Largest, l.Retry.Bytes, busy, t)
		}
	}
}

// channels warns of links on which one virtual channel has too few credits to keep the link busy.
func channels(s *scenario.Site, p *scenario.Problems) {
	for i := range s.Links {
		l := &s.Links[i]
		frame := s.LongestOfChannels(i)
		if l.FlowControl != port.ChannelCredits || frame == 0 {
			continue
		}
		_, rate := s.Rates(l)
		most := l.CBFC.Most()
		gap, took := rate.Serialise(l.CBFC.CFMin), rate.Serialise(frame)
		round := 2*l.Propagation + gap + took + rate.Serialise(wire.OrderedSetSize)
		hi, lo := bits.Mul64(uint64(round), uint64(rate))
		need, _ := bits.Div64(hi, lo, 8*uint64(unit.Second)) // bytes that leave in the round
		each := l.CBFC.Credits(frame)
		frames := (unit.Size(need) + frame - 1) / frame
		if have := unit.Size(most / each); have < frames {
			key, share := "limit", 100*float64(have)*float64(took)/float64(round)
			if l.CBFC.PortLimit > 0 {
				key = "port-limit"
			}
			p.Add(s.Link(i).In("cbfc").Where(key), "link %s: the credits of a channel do not keep the link busy: %d credits are %d frames of %v, and in a round of %v the link sends %d: %v there, %v back, %v between CF_Updates, %v for the frame. A channel gets at most %.3g %% of the link; %d credits keep it busy",
				l.Name, most, have, frame, round, frames, l.Propagation, l.Propagation, gap, took, share, int(frames)*each)
		}
	}
}
