package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/guide/results.md names each file that runs, sweeps and reproductions write, and each column
// of their tables.
func TestResultsDocumentHasEachFileAndColumn(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	const incast = "../../docs/examples/incast.yaml"
	page := text(t, "../../docs/guide/results.md")
	var quoted []string
	for _, found := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(page, -1) {
		quoted = append(quoted, found[1])
	}
	section := func(heading string) string {
		_, s, found := strings.Cut(page, "\n## "+heading+"\n")
		if !found {
			t.Fatalf("no section %q", heading)
		}
		s, _, _ = strings.Cut(s, "\n## ")
		return s
	}
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		out := filepath.Join(dir, name)
		command(t, append(append([]string{binary}, args...), "--out", out)...)
		return out
	}
	head := func(name string) []string {
		line, _, _ := strings.Cut(text(t, name), "\n")
		return strings.Split(line, ",")
	}

	plain := run("plain", "run", incast, "--clock", "virtual", "--events", "--pcap", "--perfetto", "--record", "bystander")
	command(t, binary, "report", plain)
	work := run("work", "run", "workload/web-search", "--short", "--clock", "virtual")
	qcn := run("qcn", "run", "qcn/unit-step", "--clock", "virtual", "--set", "model.duration=60ms")
	wall := run("wall", "run", "dcqcn/incast-pfc", "--dilation", "1000", "--verify", "off", "--set", "model.duration=100us")
	swept := run("swept", "sweep", incast, "--seeds", "2", "--set", "defaults.switch.marking.threshold=4,6")
	tuned := run("tuned", "tune", "dcqcn/incast-pfc", "--scheme", "dcqcn", "--metric", "sources.rate", "--highest", "--trials", "2", "--judge", "2",
		"--set", "model.duration=200us")
	paper := run("paper", "reproduce", "hpl2002/fig2", "--seeds", "1")
	bench := run("bench", "bench", "limiter", "token-bucket", "--case", "step", "--clock", "virtual")

	kinds := map[string]bool{}
	for _, dir := range []string{plain, work, qcn, wall, swept, tuned, paper, bench} {
		for _, file := range filesIn(t, dir) {
			known := slices.ContainsFunc(quoted, func(q string) bool {
				return q == file || strings.HasPrefix(file, strings.TrimSuffix(q, "/")+"/") || q == strings.NewReplacer("bystander", "FLOW", "dcqcn-tuned", "SCHEME-tuned").Replace(file)
			})
			if !known && (dir == swept || dir == paper) && strings.HasSuffix(file, ".svg") { // by metrics and figures
				known = true
			}
			if !known {
				t.Errorf("the page does not name %s", file)
			}
			if file == "series.csv" {
				for line := range strings.Lines(text(t, filepath.Join(dir, file))) {
					kinds[strings.Split(line, ",")[1]] = true
				}
			}
		}
	}
	delete(kinds, "kind") // the header
	series := section("series.csv")
	for kind := range kinds {
		general := kind
		if at := strings.Index(kind, ".stalled."); at >= 0 {
			if cause := kind[at+len(".stalled."):]; !strings.Contains(series, "`"+cause+"`") {
				t.Errorf("series.csv: no cause %s", cause)
			}
			general = kind[:at] + ".stalled.CAUSE"
		}
		if !strings.Contains(series, "`"+general+"`") {
			t.Errorf("series.csv: no kind %s", kind)
		}
	}
	if len(kinds) < 12 {
		t.Errorf("the runs have the kinds %v only", kinds)
	}
	var result map[string]any
	if err := json.Unmarshal([]byte(text(t, filepath.Join(tuned, "tune.json"))), &result); err != nil {
		t.Fatal(err)
	}
	for key := range result {
		if key != "fabemu" && !strings.Contains(section("Files of a search"), "`"+key+"`") && !strings.Contains(section("Files of a search"), "`"+key+"[]`") {
			t.Errorf("tune.json: no key %s", key)
		}
	}
	for _, c := range []struct {
		heading, file string
		ours          []string // columns whose names come from the call
	}{
		{"series.csv", filepath.Join(plain, "series.csv"), nil},
		{"transfers.csv: flow completion times (FCT)", filepath.Join(work, "transfers.csv"), nil},
		{"Files of a reproduction", filepath.Join(paper, "claims.csv"), nil},
		{"Files of a sweep", filepath.Join(swept, "sweep.csv"), []string{"defaults.switch.marking.threshold", "model.seed", "no-spreading"}},
		{"Files of a sweep", filepath.Join(swept, "means.csv"), []string{"defaults.switch.marking.threshold", "no-spreading"}},
		{"Files of a search", filepath.Join(tuned, "trials.csv"), nil},
	} {
		for _, column := range head(c.file) {
			if strings.HasPrefix(column, "defaults.") || column == "sources.rate" || slices.Contains(c.ours, column) {
				continue // as in the call
			}
			if !strings.Contains(section(c.heading), "`"+strings.Replace(column, "no-spreading", "ID", 1)+"`") {
				t.Errorf("%s: no column %q", c.file, column)
			}
		}
	}
}

// filesIn returns the files below a folder, by their paths in it.
func filesIn(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, err = filepath.Rel(dir, name)
			all = append(all, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
