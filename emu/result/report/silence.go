package report

import (
	"fabemu/emu/metrics"
	"fabemu/wire/port"
)

// Silence is the longest time in which a flow had something to send, or in flight, and
// delivered nothing.
type Silence struct {
	Flow    string `json:"flow"`
	FromPs  int64  `json:"from_ps"`
	ToPs    int64  `json:"to_ps"`
	Lasting bool   `json:"lasting"`         // until the end of the run
	Cause   string `json:"cause,omitempty"` // a port.Block, or Dropped; empty: not known
	Link    string `json:"link,omitempty"`  // the line that is kept so at the end, the last one on the path of the flow; empty: its source
	Limit   int64  `json:"limit,omitempty"` // rate-limited: the rate that the limiter let through, in bits per second
	Lost    *Loss  `json:"lost,omitempty"`  // where and why most of its frames were dropped meanwhile
}

// Dropped is the cause of a silence whose flow could send: its frames were dropped, as Silence.Lost
// says.
const Dropped = "dropped"

// silencesOf puts the silences of a run into the terms of reports.
func silencesOf(v *metrics.View) (all []Silence) {
	for _, s := range v.Silences() {
		out := Silence{Flow: v.Fabric().Flows[s.Flow].Name, FromPs: int64(s.From), ToPs: int64(s.To),
			Lasting: s.Lasting, Limit: int64(s.Limit)}
		switch {
		case s.Dropped:
			out.Cause = Dropped
		case s.Block != port.Open && s.Block != port.Idle:
			out.Cause = s.Block.String()
		}
		if s.Lost.Count > 0 {
			l := lossOf(v.Fabric(), &s.Lost)
			out.Lost = &l
		}
		if s.By != nil {
			out.Link = v.Fabric().LinkName(*s.By)
		}
		all = append(all, out)
	}
	return all
}
