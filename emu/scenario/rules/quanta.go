package rules

import (
	"fabemu/emu/scenario"
	"fabemu/wire/port"
)

// quanta refuses a PAUSE that would expire before it could be repeated, and a response in quanta
// that takes too long at the rate of the link.
func quanta(s *scenario.Site, p *scenario.Problems) {
	least := port.LeastQuanta(s.Model.Framing)
	for i := range s.Links {
		l := &s.Links[i]
		if given := s.Link(i).Mention("quanta"); given.Given() && l.FlowControl.Pauses() && l.Quanta < least {
			p.Add(given.Path,
				"a PAUSE of %d quanta expires before it can be repeated behind the longest frame, or leaves no time for one: give at least %d",
				l.Quanta, least)
		}
		slowest, _ := s.Rates(l)
		if given := s.Link(i).Mention("response"); given.Given() && l.Response.At(slowest) > port.MaxResponse {
			p.Add(given.Path, "a response of %v takes %v at %v: it must be at most %v",
				l.Response, l.Response.At(slowest), slowest, port.MaxResponse)
		}
	}
}
