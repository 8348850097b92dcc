package papers

import (
	"slices"
	"testing"

	"fabemu/emu/result/report"
)

// Each claim of a page has its row, and each row its claim: scripts/ranges.py writes them again.
func TestRanges(t *testing.T) {
	claims := map[[2]string]bool{}
	for _, d := range documents {
		for i := range d.paper.Figures {
			d.paper.Figures[i].whole()
			for _, c := range d.paper.Figures[i].Claims {
				x := ClaimResult{Unit: c.Unit, Above: c.Above, Below: c.Below, Judged: report.Judged{ID: c.ID, Low: report.Number(c.Low), High: report.Number(c.High)}}
				key := [2]string{pageOf(d.paper), c.ID}
				if claims[key] = true; ranges()[key] == nil || ranges()[key][0] != x.Accepted() {
					t.Errorf("%s %s: the row is %q, and the range %s: call scripts/ranges.py", d.paper.Name, c.ID, ranges()[key], x.Accepted())
				}
			}
		}
	}
	for key, row := range ranges() {
		if key[0] != "page" && key[1] != "" && (!claims[key] || !slices.Contains([]When{Before, Unproved, Later}, When(row[1]))) {
			t.Errorf("a row of no claim, or of no order: %q %q", key, row)
		}
	}
}

// A range that is not the one of its row was changed later, and one without a row is unproved.
func TestRangeOf(t *testing.T) {
	p := &Paper{Name: "hpl2002"}
	for _, c := range []struct {
		id        string
		low, high float64
		want      When
		mark      string
	}{
		{"IB-1c", 0.037, 0.043, Before, ""}, {"IB-1c", 0.036, 0.043, Later, "‡"}, {"IB-0", 0, 1, Unproved, "†"},
	} {
		x := ClaimResult{Unit: Percent, Judged: report.Judged{ID: c.id, Low: report.Number(c.low), High: report.Number(c.high)}}
		if r := rangeOf(p, &x); r.When != c.want || r.mark() != c.mark || r.says() == "" || (r.Commit != "") != (c.want == Before) {
			t.Errorf("%s from %v: %+v %q, want %s", c.id, c.low, r, r.mark(), c.want)
		}
	}
}
