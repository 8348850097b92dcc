package reporttest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
// them. Each input has one reader, so that there are many inputs a second.
func FuzzResults(f *testing.F) {
	runtest.MinimizeLittle(f)
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
	var result bytes.Buffer // with less white space to change
	if err := json.Compact(&result, files[0]); err != nil {
		f.Fatal(err)
	}
	files[0] = result.Bytes()
	// Every 80th row of its series is enough, with all of the first instant.
	rows := strings.SplitAfter(string(files[1]), "\n")
	var some []string
	for i, row := range rows {
		if i == 0 || strings.HasPrefix(row, "0,") || i%80 == 0 {
			some = append(some, row)
		}
	}
	series := strings.Join(some, "")
	means := []byte(`{"fabemu": "0.1.0", "scenario": "first", "runs": ["."], "void": 0, "figures": [{"kind": "check", "name": "full", "mean": 1, "low": 0, "high": null, "passed": 1, "failed": 0}],
		"slowdowns": [{"workload": "web", "seeds": 2, "open": 1, "flows": 9, "from": 1, "to": 30, "mean": {"value": 2, "low": 1, "high": 4}, "sizes": [{"flows": 4}, {"flows": 5, "p50": null}]}]}`)
	sum := func(b []byte) string {
		h := sha256.Sum256(b)
		return hex.EncodeToString(h[:])
	}
	sums := [2]string{sum(files[1]), sum(files[2])}
	written := make(map[string]string) // what each file holds
	write := func(t testing.TB, dir, result, series, resolved, means string) {
		result = strings.ReplaceAll(result, sums[0], sum([]byte(series)))
		result = strings.ReplaceAll(result, sums[1], sum([]byte(resolved)))
		for name, text := range map[string]string{report.ResultFile: result, report.SeriesFile: series, report.ResolvedFile: resolved,
			report.RatesFile: string(files[3]), seeds.File: means} {
			path := filepath.Join(dir, name)
			if was, ok := written[path]; ok && was == text {
				continue
			}
			if name == seeds.File && text == "" {
				os.Remove(path)
			} else if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			written[path] = text
		}
	}
	dir, other := f.TempDir(), f.TempDir()
	write(f, other, string(files[0]), series, string(files[2]), "")
	if _, err := report.ReadDir(other); err != nil {
		f.Fatal(err)
	}
	readers := []func(t *testing.T){
		func(t *testing.T) {
			if all, err := compare.Several(dir, other); err == nil {
				if err := compare.WriteText(io.Discard, all, true); err != nil {
					t.Error(err)
				}
			}
		},
		func(t *testing.T) {
			if d, err := report.ReadDir(dir); err == nil {
				if err := summary.WriteText(io.Discard, d.Result, terminal.Look{}); err != nil {
					t.Error(err)
				}
				live.Results(d)
			}
		},
		func(t *testing.T) {
			if d, err := report.ReadDir(dir); err == nil {
				if err := summary.WriteHTML(io.Discard, d); err != nil {
					t.Error(err)
				}
			}
		},
		func(t *testing.T) {
			if r, err := seeds.Read(dir); err == nil {
				if err := summary.WriteRepetitions(io.Discard, r); err != nil {
					t.Error(err)
				}
			}
		},
	}
	for reader := range readers[:3] {
		f.Add(string(files[0]), series, string(files[2]), "", uint8(reader))
	}
	f.Add(string(files[0]), series, string(files[2]), string(means), uint8(3))
	for i, b := range [][]byte{files[0], []byte(series), files[2], means} {
		for j, m := range runtest.Seeds(runtest.Mutants(b, 30), 6) {
			seed, reader := [4]string{string(files[0]), series, string(files[2]), ""}, j%3
			if seed[i] = string(m); i == 3 {
				reader = 3
			}
			f.Add(seed[0], seed[1], seed[2], seed[3], uint8(reader))
		}
	}
	f.Fuzz(func(t *testing.T, result, series, resolved, means string, reader uint8) {
		write(t, dir, result, series, resolved, means)
		readers[int(reader)%len(readers)](t)
	})
}
