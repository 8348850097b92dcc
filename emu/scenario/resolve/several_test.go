package resolve_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fabemu/emu/metrics"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/resolve"
)

// A mistake in one value of a right scenario is one mistake: nothing that only follows from it is
// listed. Each value in turn becomes one that no field can have, and each key an unknown one.
func TestConsequencesAreNotListed(t *testing.T) {
	texts := map[string][]byte{}
	files, _ := filepath.Glob("testdata/*.yaml")
	for _, file := range files {
		if src, err := os.ReadFile(file); err == nil && !strings.Contains(file, ".bad.") {
			texts[file] = src
		}
	}
	for _, name := range []string{"hpl2002/fig3b", "guest/iperf", "guest/mixed", "workload/web-search", "workload/all-reduce", "pfc/watchdog", "pfc/storm", "infiniband/vl-arbitration", "infiniband/lash-ring", "hpcc/incast", "cbfc/channels", "cca/levels", "roce/go-back-n", "links/length"} {
		src, err := builtin.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = src
	}
	if len(texts) < 12 {
		t.Fatalf("%d scenarios", len(texts))
	}
	value := regexp.MustCompile(`([\w-]+):( +)([^\s,{}\[\]#"'>|&]+)`)
	for name, src := range texts {
		for i, m := range value.FindAllSubmatchIndex(src, -1) {
			if testing.Short() && i%7 != 0 {
				continue
			}
			for _, with := range [][2]int{{m[6], m[7]}, {m[2], m[3]}} {
				text := string(src[:with[0]]) + "§" + string(src[with[1]:])
				line := strings.Count(text[:with[0]], "\n") + 1
				_, err := resolve.Load(filepath.Base(name), []byte(text), nil, resolve.CheckMetrics(metrics.Checker()))
				list := (*scenario.Errors)(nil)
				if err == nil || !errors.As(err, &list) {
					continue // a text, or a value that is not needed
				}
				for _, e := range list.List {
					if e.Line != line && !strings.Contains(e.Message, "§") && !strings.Contains(e.Message, "missing: ") {
						t.Errorf("%s: %s in line %d instead of %q: %v", name, "§", line, src[with[0]:with[1]], e)
					}
				}
			}
		}
	}
}
