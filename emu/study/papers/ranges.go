package papers

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strings"
	"sync"
)

// Range says when the accepted range of a claim was committed, which scripts/ranges.py finds out
// from git.
type Range struct {
	When   When   `json:"when"`             // empty: the claim is of no page
	Commit string `json:"commit,omitempty"` // of the first result; Later: that changed the range
	Date   string `json:"date,omitempty"`
}

// When is the order of a range and the first result of its claim.
type When string

// The orders.
const (
	Before   When = "before"   // the range came first, and has not changed
	Unproved When = "unproved" // the history does not show that
	Later    When = "after"    // the range was changed when a result was known
)

// rangesText has a row for each claim in docs/papers: its page and ID, the range, and what Range
// has.
//
//go:embed words/ranges.csv
var rangesText string

// ranges are the rows by page and claim, and one of each page without a claim.
var ranges = sync.OnceValue(func() map[[2]string][]string {
	all := make(map[[2]string][]string)
	for _, row := range must(csv.NewReader(strings.NewReader(rangesText)).ReadAll()) {
		all[[2]string{row[0], row[1]}], all[[2]string{row[0]}] = row[2:], row[2:]
	}
	return all
})

// pageOf returns the name of the page of a paper: of TCP over RED, tcp.
func pageOf(p *Paper) string { return strings.TrimSuffix(p.Name, "-red") }

// rangeOf returns when the range of a claim was committed.
func rangeOf(p *Paper, c *ClaimResult) Range {
	switch row := ranges()[[2]string{pageOf(p), c.ID}]; {
	case row == nil && ranges()[[2]string{pageOf(p)}] == nil:
		return Range{} // of no page
	case row == nil:
		return Range{When: Unproved}
	case row[0] != c.Accepted():
		return Range{When: Later}
	default:
		return Range{When(row[1]), row[2], row[3]}
	}
}

// mark is the mark of a range in a table.
func (r *Range) mark() string {
	return map[When]string{Unproved: "†", Later: "‡"}[r.When]
}

// says describes the order, in the notes of a report.
func (r *Range) says() string {
	at := ""
	if r.Commit != "" {
		at = fmt.Sprintf(" (%s, %s)", r.Commit, r.Date)
	}
	switch r.When {
	case Before:
		return "Committed before the first result" + at + "."
	case Later:
		return "Changed when a result was known" + at + "."
	case Unproved:
		return "The history does not show that it was committed before the first result" + at + "."
	}
	return ""
}
