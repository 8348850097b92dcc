package scenario

import (
	"fabemu/wire/unit"
)

// shortRun has the changes of a short run: when things happen, and which claims come
// out then. The fabric and the ranges of claims stay.
type shortRun struct {
	Duration unit.Duration `key:"duration" need:"given" low:"above 0s" also:"length|time" doc:"model.duration of the short run."`
	// wall.dilation of the short run.
	Dilation int64         `key:"dilation" computed:"wall.dilation" low:"1" high:"2147483648" also:"slowdown"`
	Window   unit.Duration `key:"window" computed:"measure.window" low:"above 0s" doc:"measure.window of the short run."`
	// All events of the short run.
	Events []Event `key:"events" form:"events" computed:"the scenario's events" values:"a list of events, such as {at: 2s, link: trunk, rate: 0.5Gb/s}"`
	// Intervals of the checks in the short run; their ranges stay.
	Expect []shortCheck `key:"expect" named:"id" values:"a list of checks, such as {id: C1, during: [42ms, 60ms]}"`
}

// shortCheck has the changes of a check in a short run.
type shortCheck struct {
	ID string `key:"id" form:"name" values:"a name such as IB-5a" need:"given" doc:"Name of a check of the scenario."`
	// Start and end of the measurement.
	During [2]unit.Duration `key:"during" need:"given" values:"start and end, such as [42ms, 60ms]"`
	// Expected outcome in the short run.
	Expected Expected `key:"expected" words:"holds|differs" computed:"as in the scenario"`
	Reason   string   `key:"reason" form:"text" doc:"Why the claim does not hold; required with differs."`
}
