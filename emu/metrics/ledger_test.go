package metrics

import (
	"slices"
	"testing"

	"fabemu/wire/unit"
)

// A ledger yields the transfers that it was given, over many pages, most of which are in a file, in
// about twenty bytes each; a copy has those that it had.
func TestLedger(t *testing.T) {
	r := unit.NewRandom(1, 1)
	var l, early ledger
	var want []Done
	now := unit.Time(0)
	for k := range 50_000 {
		now = now.Add(unit.Duration(r.Below(600_000)))
		took := unit.Duration(1_000_000 + r.Below(200_000_000))
		d := Done{Src: int32(r.Below(64)), Dst: int32(r.Below(64)), Bytes: int64(r.Below(2_000_000)), Arrived: now.Add(-took), Ended: now,
			Ideal: took / 2}
		if k%1000 == 0 { // any values
			d.Again, d.Missing, d.Bytes = uint32(r.Below(1<<32)), uint32(r.Below(1<<32)), int64(r.Below(1<<50))
		}
		want = append(want, d)
		if l.add(&d); k == 20_000 {
			early = l.copy(early)
		}
	}
	for _, c := range []struct {
		of   *ledger
		want []Done
	}{{&l, want}, {&early, want[:20_001]}} {
		var got []Done
		for d := range c.of.all() {
			got = append(got, *d)
		}
		if !slices.Equal(got, c.want) || c.of.n != len(c.want) {
			t.Errorf("%d transfers come back of %d, or others", len(got), len(c.want))
		}
	}
	if each := float64(len(l.pages)*page) / float64(l.n); each > 20 {
		t.Errorf("%.1f bytes for each transfer", each)
	}
	held := 0
	for k := range l.pages {
		held += cap(l.pages[k].bytes)
	}
	if most := (inMemory + 1) * page; l.file != nil && held > most || len(l.pages) < 2*inMemory {
		t.Errorf("%d bytes of %d pages are in memory, and %d are the most", held, len(l.pages), most)
	}
	for range l.all() { // it may end early
		break
	}
}
