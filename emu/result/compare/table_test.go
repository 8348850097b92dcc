package compare_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/compare"
)

// The presets of DCQCN on one page: the keys that they differ in, the check and the queue of each.
func TestModelPresetsOnOnePage(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Chdir(t.TempDir())
	presets := []string{"paper", "ns3-rdma", "hpcc", "connectx"}
	check := "DQ-3c"
	for _, p := range presets {
		sets := runtest.Sets(t, "defaults.flow.control.preset="+p, "defaults.link.rate=1Gb/s")
		s, err := emu.Open("dcqcn/unequal", sets...)
		if err != nil {
			t.Fatal(err)
		}
		r, err := emu.Run(t.Context(), s, virtual)
		if err == nil {
			err = r.Write(p, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		check += fmt.Sprintf(" %.4g", float64(r.Checks[0].Value))
	}
	all, err := compare.Several(presets[0], presets[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	queue := "link.queue hot.S-B"
	for i, c := range all {
		for _, s := range c.Series {
			if s.Kind+" "+s.Name != "link.queue hot.S-B" {
				continue
			}
			if i == 0 {
				queue += fmt.Sprintf(" %.4g", float64(s.MeanA))
			}
			queue += fmt.Sprintf(" %.4g (%.3g %%)", float64(s.MeanB), 100*float64(s.Share))
		}
	}
	var b strings.Builder
	if err := compare.WriteText(&b, all, false); err != nil {
		t.Fatal(err)
	}
	page := regexp.MustCompile(` +`).ReplaceAllString(b.String(), " ")
	for _, want := range []string{
		"input paper ns3-rdma hpcc connectx\n",
		"flows.*.control.preset paper ns3-rdma hpcc connectx\n",
		"flows.*.control.rate-timer 55us 60us 300us 300us\n",
		"flows.*.control.cnp-per flow flow flow port\n",
		"\n" + check + " ", "\n" + queue + " bytes\n",
		"Event logs of paper and hpcc: neither run has an event log: run with --events.\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing in\n%s", want, page)
		}
	}
	if strings.Contains(page, ".gd ") {
		t.Errorf("gd is the same in all:\n%s", page)
	}
}
