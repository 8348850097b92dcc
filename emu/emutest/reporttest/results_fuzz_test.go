package reporttest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/base/terminal"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/compare"
	"fabemu/emu/result/report"
	"fabemu/emu/result/seeds"
	"fabemu/emu/result/summary"
	"fabemu/emu/watch/live"
)

// FuzzResults: whatever the files of a folder of results hold, all that reads one shows it or
// returns an error. The sums of files in the result are made right, so that readers do not end at
// them.
func FuzzResults(f *testing.F) {
	const good = "../../../cmd/fabemu/testdata/0.1.0/run"
	names := []string{report.ResultFile, report.SeriesFile, report.ResolvedFile, report.RatesFile}
	var files [4][]byte
	for i, name := range names {
		b, err := os.ReadFile(filepath.Join(good, name))
		if err != nil {
			f.Fatal(err)
		}
		files[i] = b
	}
	// The first instants of its series are enough.
	series := strings.Join(strings.SplitAfter(string(files[1]), "\n")[:200], "")
	means := []byte(`{"fabemu": "0.1.0", "scenario": "first", "runs": ["."], "void": 0, "figures": [{"kind": "check", "name": "full", "mean": 1, "low": 0, "high": null, "passed": 1, "failed": 0}],
		"slowdowns": [{"workload": "web", "seeds": 2, "open": 1, "flows": 9, "from": 1, "to": 30, "mean": {"value": 2, "low": 1, "high": 4}, "sizes": [{"flows": 4}, {"flows": 5, "p50": null}]}]}`)
	sum := func(b string) string {
		h := sha256.Sum256([]byte(b))
		return hex.EncodeToString(h[:])
	}
	write := func(t testing.TB, dir, result, series, resolved, means string) {
		for i, text := range []string{series, resolved} {
			result = strings.ReplaceAll(result, sum(string(files[i+1])), sum(text))
		}
		for name, text := range map[string]string{report.ResultFile: result, report.SeriesFile: series, report.ResolvedFile: resolved,
			report.RatesFile: string(files[3]), seeds.File: means} {
			path := filepath.Join(dir, name)
			if name == seeds.File && text == "" {
				os.Remove(path)
			} else if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir, other := f.TempDir(), f.TempDir()
	write(f, other, string(files[0]), series, string(files[2]), "")
	if _, err := report.ReadDir(other); err != nil {
		f.Fatal(err)
	}
	f.Add(string(files[0]), series, string(files[2]), "")
	const each = 30
	for i, b := range [][]byte{files[0], []byte(series), files[2], means} {
		for _, m := range runtest.Mutants(b, each) {
			seed := [4]string{string(files[0]), series, string(files[2]), ""}
			seed[i] = string(m)
			f.Add(seed[0], seed[1], seed[2], seed[3])
		}
	}
	f.Fuzz(func(t *testing.T, result, series, resolved, means string) {
		write(t, dir, result, series, resolved, means)
		if all, err := compare.Several(dir, other); err == nil {
			if err := compare.WriteText(io.Discard, all, true); err != nil {
				t.Error(err)
			}
		}
		if r, err := seeds.Read(dir); err == nil {
			if err := summary.WriteRepetitions(io.Discard, r); err != nil {
				t.Error(err)
			}
		}
		d, err := report.ReadDir(dir)
		if err != nil {
			return
		}
		if err := summary.WriteHTML(io.Discard, d); err != nil {
			t.Error(err)
		}
		if err := summary.WriteText(io.Discard, d.Result, terminal.Look{}); err != nil {
			t.Error(err)
		}
		live.Results(d)
	})
}
