package report

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"fabemu/emu/files"
	"fabemu/emu/metrics"
	"fabemu/wire/unit"
)

// The files that WriteDir writes. EventsFile is written by an EventLog,
// CaptureFile by package capture.
const (
	ResultFile   = "result.json"
	SeriesFile   = "series.csv"
	ResolvedFile = "resolved.yaml"
	RatesFile    = "rates.svg"
	PNGFile      = "rates.png" // written by WritePNG
	EventsFile   = "events.jsonl"
	CaptureFile  = "fabric.pcapng"
	TraceFile    = "fabric.pftrace"
	// OpenMetricsFile is written by package openmetrics.
	OpenMetricsFile = "series.openmetrics"
)

// Files returns the names of the files that WriteDir writes: ResultFile, which says that
// the others are whole, is the first.
func Files() []string { return []string{ResultFile, SeriesFile, ResolvedFile, RatesFile} }

// WriteDir writes the results of a run to a directory, which is made where it
// does not exist: series.csv, resolved.yaml (unless resolved is nil), rates.svg,
// and result.json at last, so that where it stands everything stands. Each file
// appears whole or not at all. It sets r.Directory.
func WriteDir(dir string, r *Result, c *metrics.Collector, resolved []byte) error {
	if err := files.MakeAll(dir); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	series := c.Outline()
	if r.AllPoints {
		series = c.Series()
	}
	all := []struct {
		name  string
		write func(io.Writer) error
	}{
		{SeriesFile, func(w io.Writer) error { return WriteSeries(w, r, series) }},
		{ResolvedFile, func(w io.Writer) error { _, err := w.Write(resolved); return err }},
		{RatesFile, func(w io.Writer) error { return WriteRates(w, r, series) }},
		{ResultFile, func(w io.Writer) error { return WriteJSON(w, r) }},
	}
	for _, f := range all {
		if f.name == ResolvedFile && resolved == nil {
			continue
		}
		sum := sha256.New()
		err := files.Write(filepath.Join(dir, f.name),
			func(w io.Writer) error { return f.write(io.MultiWriter(w, sum)) })
		if err != nil {
			return fmt.Errorf("results: %w", err)
		}
		if f.name != ResultFile {
			r.record(f.name, sum)
		}
	}
	r.Directory = dir
	return nil
}

// Record brings a file of this run to the disk, and notes its sum in r.Files.
func (r *Result) Record(path string) error {
	sum, err := sumOf(path)
	if err != nil {
		return err
	}
	r.record(filepath.Base(path), sum)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (r *Result) record(name string, sum hash.Hash) {
	if r.Files == nil {
		r.Files = map[string]string{}
	}
	r.Files[name] = hex.EncodeToString(sum.Sum(nil))
}

// sumOf reads a file for its sum.
func sumOf(path string) (hash.Hash, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return sum, err
}

// WriteJSON writes r as result.json has it.
func WriteJSON(w io.Writer, r *Result) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// seriesDigits is how many digits series have: more than are needed, fewer than
// show how floats round.
const seriesDigits = 10

// WriteSeries writes series as a table with the columns time_ps, kind, name and
// value; an undefined value is empty. The first row is the verdict: its kind is
// "verdict" and its name the level, so that the table does not go about without
// it. A wall run has the kind "pace" too: the share of data frames that left late,
// the latest, and the wall time in which the driver did not run.
func WriteSeries(w io.Writer, r *Result, series []metrics.Series) error {
	out := bufio.NewWriterSize(w, 1<<16)
	out.WriteString("time_ps,kind,name,value\n")
	fmt.Fprintf(out, "0,verdict,%s,\n", r.Verdict.Level)
	var value []byte
	stamps := map[*unit.Time][]string{} // by the first of them: many series share their times
	for _, s := range append(series[:len(series):len(series)], r.Pace...) {
		middle, times := cells(s.Kind, s.Name), stampsOf(stamps, s.Times)
		last := math.Inf(1)
		for i, v := range s.Values {
			if v != last {
				value = value[:0]
				if Number(v).Known() {
					value = strconv.AppendFloat(value, v, 'g', seriesDigits, 64)
				}
				value, last = append(value, '\n'), v
			}
			out.WriteString(times[i]) // an error stays in out until Flush
			out.Write(middle)
			out.Write(value)
		}
	}
	return out.Flush()
}

// stampsOf returns times as text.
func stampsOf(known map[*unit.Time][]string, times []unit.Time) []string {
	if len(times) == 0 {
		return nil
	}
	texts := known[&times[0]]
	for _, t := range times[min(len(texts), len(times)):] {
		texts = append(texts, strconv.FormatInt(int64(t), 10))
	}
	known[&times[0]] = texts
	return texts
}

// cells returns two cells of a CSV table with a comma before, between and after
// them, quoted where they must be.
func cells(a, b string) []byte {
	if !strings.ContainsAny(a+b, "\" ,\r\n") {
		return []byte("," + a + "," + b + ",")
	}
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	w.Write([]string{"", a, b}) // writing to memory does not fail
	w.Flush()
	return append(bytes.TrimSuffix(text.Bytes(), []byte("\n")), ',')
}
