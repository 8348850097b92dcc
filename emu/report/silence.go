package report

import (
	"fmt"

	"fabemu/emu/metrics"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Silence is the longest time in which a flow had something to send, or under way, and
// delivered nothing.
type Silence struct {
	Flow    string `json:"flow"`
	FromPs  int64  `json:"from_ps"`
	ToPs    int64  `json:"to_ps"`
	Lasting bool   `json:"lasting"`         // until the end of the run
	Cause   string `json:"cause,omitempty"` // a port.Block; empty: not known
	Link    string `json:"link,omitempty"`  // the line that is kept so at the end, the last one on the way of the flow; empty: its source
	Limit   int64  `json:"limit,omitempty"` // rate-limited: what the rate limiter let through, in bits per second
}

// silencesOf puts the silences of a run into the terms of reports.
func silencesOf(c *metrics.Collector) (all []Silence) {
	for _, s := range c.Silences() {
		out := Silence{Flow: c.Fabric().Flows[s.Flow].Name, FromPs: int64(s.From), ToPs: int64(s.To),
			Lasting: s.Lasting, Limit: int64(s.Limit)}
		if s.Block != port.Open && s.Block != port.Idle {
			out.Cause = s.Block.String()
		}
		if s.By != nil {
			out.Link = c.Fabric().LinkName(*s.By)
		}
		all = append(all, out)
	}
	return all
}

// when says from when to when a flow was silent.
func (s *Silence) when() string {
	if s.Lasting {
		return fmt.Sprintf("from %v to the end", unit.Time(s.FromPs))
	}
	return fmt.Sprintf("from %v to %v", unit.Time(s.FromPs), unit.Time(s.ToPs))
}

// why says what kept a flow.
func (s *Silence) why() string {
	switch {
	case s.Cause == "":
		return "cause unknown: nothing kept its source, and no line on its way was stopped"
	case s.Link != "":
		return s.Cause + " at " + s.Link
	case s.Limit > 0:
		return fmt.Sprintf("%s to %v", s.Cause, unit.Rate(s.Limit))
	}
	return s.Cause + " at its source"
}

// silent is the title of the section about silences.
func (r *Result) silent() string {
	return fmt.Sprintf("Flows that had something to send and delivered nothing for %v or longer",
		unit.Duration(r.PatiencePs))
}
