package papers

import (
	"math"
	"strings"

	"fabemu/emu/result/report"
)

// Null is the null result of a claim: its value if the scheme does nothing, or if
// all is equal. A claim means something only if its range excludes that value.
type Null struct {
	Value *float64 // argued, in the unit of the range; NaN: nothing is there to measure
	Set   []string // or measured: the same quantity of the same runs with these changes, one seed each
	How   string   // why it has this value
	None  string   // or why the claim has none
}

// NullResult is the null result of a claim as it is known after the runs.
type NullResult struct {
	Value    report.Number `json:"value"` // null: nothing to measure, or no value
	Measured []string      `json:"measured_with,omitempty"`
	How      string        `json:"how,omitempty"`
	None     string        `json:"none,omitempty"` // why there is none
	Within   bool          `json:"within"`         // the range does not exclude it: the claim means nothing
}

// given reports whether there is a null result, or a reason for its absence.
func (n Null) given() bool { return n.Value != nil || n.Set != nil || n.How != "" || n.None != "" }

// unknown returns the quantity to measure for the null result, or nil.
func (c *Claim) unknown() *Quantity {
	if c.Null.Set == nil {
		return nil
	}
	return new(c.Value.with(func(r Run) Run { return r.Once().With(c.Null.Set...) }))
}

// excludes reports whether the range of the claim excludes a value.
func (c *Claim) excludes(v float64) bool { return !(v >= c.Low && v <= c.High) }

// nullResult is the null result with the value that was measured, if one was.
func (c *Claim) nullResult(measured float64) *NullResult {
	n := &c.Null
	if !n.given() {
		return nil
	}
	r := &NullResult{Value: report.Missing(), Measured: n.Set, How: n.How, None: n.None}
	switch {
	case n.Value != nil:
		r.Value = report.Number(*n.Value)
	case n.Set != nil:
		r.Value = report.Number(measured)
	}
	r.Within = !c.excludes(float64(r.Value))
	return r
}

// value prints the null result of a claim; a dash: it has none.
func (n *NullResult) value(c *ClaimResult) string {
	if n.None != "" {
		return "–"
	}
	s := c.print(float64(n.Value), 3)
	if math.IsNaN(float64(n.Value)) {
		s = "no value"
	}
	if n.Within {
		s += ", WITHIN THE RANGE"
	}
	return s
}

// why is the reason for the null result, or for its absence.
func (n *NullResult) why() string {
	if len(n.Measured) > 0 {
		return "measured with " + strings.Join(n.Measured, " ") + ": " + n.How
	}
	return n.How + n.None
}
