//go:build !race

package bench_test

import (
	"testing"

	"fabemu/emu/study/bench"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire/param"
)

// No law of the product is found at fault.
func TestFiguresOfOurLaws(t *testing.T) {
	for _, law := range rp.Laws() {
		if law.Hears == rp.Nothing {
			continue
		}
		point := map[string]func(cp.Site) (cp.Notifier, error){"qcn": qcn, "bcn": bcn, "e2cm": ecm}[law.Name]
		if law.Hears == rp.Marks {
			point = bench.Answered(law)
		} else if (point != nil) != (law.Hears == rp.Notifications) {
			t.Errorf("this test does not know what notifies %s", law.Name)
			continue
		}
		new := func(s rp.Site) rp.Controller {
			c, err := law.New(param.Defaults(law.Params), s)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		for _, l := range bench.Loops() {
			r, err := bench.MeasureController(new, point, l)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %s: %v", law.Name, l.Name, r)
			for _, f := range r.Faults {
				t.Errorf("%s: %s: %v", law.Name, l.Name, f)
			}
		}
	}
}

func qcn(s cp.Site) (cp.Notifier, error) { return cp.NewQCN(param.Defaults(cp.QCNParams{}), s) }
func bcn(s cp.Site) (cp.Notifier, error) { return cp.NewBCN(param.Defaults(cp.BCNParams{}), s) }

// ecm is the congestion points that E2CM stands on.
func ecm(s cp.Site) (cp.Notifier, error) {
	p := param.Defaults(cp.BCNParams{})
	p.Version = cp.ECM
	p.Complete(func(key string) bool { return key == "version" })
	return cp.NewBCN(p, s)
}
