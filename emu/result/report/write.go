package report

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/base/document"
	"fabemu/emu/base/files"
	"fabemu/emu/metrics"
)

// The files that WriteDir writes. EventsFile and EventsBinary are written by an EventLog,
// CaptureFile by package capture.
const (
	ResultFile   = "result.json"
	SeriesFile   = "series.csv"
	ResolvedFile = "resolved.yaml"
	RatesFile    = "rates.svg"
	SlowdownFile = "slowdown.svg" // only of workloads
	PageFile     = "report.html"  // a report for browsers, one file that opens offline
	EventsFile   = "events.jsonl"
	EventsBinary = "events.bin"
	CaptureFile  = "fabric.pcapng"
	TraceFile    = "fabric.pftrace"
)

// Files returns the names of the files that WriteDir writes. ResultFile, which stands for
// the completeness of the others, is the first.
func Files() []string { return []string{ResultFile, SeriesFile, ResolvedFile, RatesFile} }

// Draw draws the pictures of a run.
type Draw func(r *Result, series []metrics.Series) []Picture

// Picture is a picture in a file of this name.
type Picture struct {
	Name string
	document.Drawing
}

// WriteDir writes the results of a run to a directory, which it makes if it does not exist:
// resolved.yaml (unless resolved is nil), series.csv, the files of a workload, rates.svg, and
// result.json last. Each file appears whole or not at all; series.csv takes the place of the one by
// WritePartial. Where the disk has no room for all, result.json comes first and then the others in
// this order (files.WriteAll): r.Unwritten names those that are not there, and so does the error.
// It sets r.Directory. The pictures are the caller's (package summary); draw may be nil.
func WriteDir(dir string, r *Result, c *metrics.Collector, resolved []byte, draw Draw) error {
	lost := func(name string, err error) {
		delete(r.Files, name)
		r.Unwritten = append(r.Unwritten, fmt.Sprintf("results: %s is not written: %v", name, files.Reason(err)))
	}
	if err := files.MakeAll(dir); err != nil {
		lost(dir, err)
		return fmt.Errorf("results: %w", err)
	}
	series := c.Outline()
	if r.AllPoints {
		series = c.Series()
	}
	all := []files.File{{Name: ResultFile, Write: func(w io.Writer) error { return WriteJSON(w, r) }}}
	add := func(name string, write func(io.Writer) error) {
		all = append(all, files.File{Name: name, Write: func(w io.Writer) error {
			sum := sha256.New()
			err := write(io.MultiWriter(w, sum))
			r.record(name, hex.EncodeToString(sum.Sum(nil)))
			return err
		}})
	}
	if resolved != nil {
		add(ResolvedFile, func(w io.Writer) error { _, err := w.Write(resolved); return err })
	}
	add(SeriesFile, func(w io.Writer) error { return WriteSeries(w, r, series) })
	if name := transfersFile(r); name != "" {
		add(name, func(w io.Writer) error { return writeTransfers(w, name, c) })
	}
	if draw != nil {
		for _, p := range draw(r, series) {
			add(p.Name, p.SVG)
		}
	}
	err := files.WriteAll(dir, all, lost)
	r.Directory = dir
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	return nil
}

// File is a file that is written while a run runs. Its sum is taken on the way, because reading a
// long log again takes time.
type File struct {
	file *os.File
	sum  hash.Hash
}

// NewFile returns one that is written to f, which is empty.
func NewFile(f *os.File) *File { return &File{f, sha256.New()} }

// Write is the method of io.Writer.
func (f *File) Write(b []byte) (int, error) {
	n, err := f.file.Write(b)
	f.sum.Write(b[:n])
	return n, err
}

// Record brings a file of this run to the disk, and notes its sum in r.Files.
func (r *Result) Record(f *File) error {
	r.record(filepath.Base(f.file.Name()), hex.EncodeToString(f.sum.Sum(nil)))
	return f.file.Sync()
}

func (r *Result) record(name, sum string) {
	if r.Files == nil {
		r.Files = map[string]string{}
	}
	r.Files[name] = sum
}

// sumOf reads a file for its sum, in hexadecimal.
func sumOf(path string) (string, error) {
	f, err := files.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// longList is the number of elements from which on a list of a result is written one by one.
const longList = 1000

// WriteJSON writes a value for people and programs, as in result.json: ">=" stays as it is. The
// long lists of a struct are written element by element: the text of all links of a large fabric
// takes more memory than its nodes. Bytes and raw JSON are lists, too, but have another form.
func WriteJSON(w io.Writer, v any) error {
	x := reflect.Indirect(reflect.ValueOf(v))
	if x.Kind() != reflect.Struct {
		return encode(w, "", v)
	}
	short, lists := reflect.New(x.Type()).Elem(), map[string]reflect.Value{} // by the line that is there instead
	short.Set(x)
	for i := range x.NumField() {
		key := x.Type().Field(i).Tag.Get("json") // a list with an option would have no such line
		list := x.Field(i)
		structs := list.Kind() == reflect.Slice && list.Type().Elem().Kind() == reflect.Struct
		if structs && list.Len() >= longList && key != "" && !strings.Contains(key, ",") {
			short.Field(i).SetZero()
			lists[`  "`+key+`": null`] = list
		}
	}
	var text bytes.Buffer
	if err := encode(&text, "", short.Addr().Interface()); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for line := range strings.Lines(text.String()) {
		name := strings.TrimRight(line, ",\n")
		list, long := lists[name]
		if !long {
			out.WriteString(line)
			continue
		}
		between := strings.TrimSuffix(name, "null") + "[\n    "
		for i := range list.Len() {
			text.Reset()
			if err := encode(&text, "    ", list.Index(i).Addr().Interface()); err != nil {
				return err
			}
			out.WriteString(between)
			out.Write(bytes.TrimSpace(text.Bytes()))
			between = ",\n    "
		}
		out.WriteString("\n  ]" + line[len(name):])
	}
	return out.Flush()
}

// encode writes a value, with a prefix ahead of each line but the first.
func encode(w io.Writer, prefix string, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, "  ")
	return e.Encode(v)
}

// seriesDigits is the number of digits in series: more than are needed, and too few to
// show the rounding of floats.
const seriesDigits = 10

// WriteSeries writes series as a table with the columns time_ps, kind, name and
// value; an undefined value is empty. The first row is the verdict: its kind is
// "verdict" and its name the level, so that the table does not go about without
// it. A wall run has the kind "pace" too: the share of data frames that left late,
// the latest, and the wall time in which the driver did not run.
func WriteSeries(w io.Writer, r *Result, series []metrics.Series) error {
	return writeSeries(context.Background(), w, string(r.Verdict.Level), append(series[:len(series):len(series)], r.Pace...))
}

// partial replaces the level of the verdict, in the series of an active run or
// was killed.
const partial = "partial"

// WritePartial writes series.csv for a running run: the course of the figures so far, with
// all points or as an outline. The verdict in its first row is "partial". It ends early
// with an error when ctx ends.
func WritePartial(ctx context.Context, dir string, x *metrics.Course, allPoints bool) error {
	series := x.Outline
	if allPoints {
		series = x.Series
	}
	return files.Write(filepath.Join(dir, SeriesFile), func(w io.Writer) error {
		return writeSeries(ctx, w, partial, series())
	})
}

// RetirePartial removes the file that WritePartial has left of a run that was killed.
func RetirePartial(dir string) error {
	path := filepath.Join(dir, SeriesFile)
	f, err := files.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	head := make([]byte, len(seriesHead(partial)))
	_, err = io.ReadFull(f, head)
	f.Close() // before it is removed: Windows wants that
	if err != nil || string(head) != seriesHead(partial) {
		return nil
	}
	return os.Remove(path)
}

// seriesHead returns the first two rows of series.csv.
func seriesHead(verdict string) string {
	return "time_ps,kind,name,value\n0,verdict," + verdict + ",\n"
}

func writeSeries(ctx context.Context, w io.Writer, verdict string, series []metrics.Series) error {
	out := bufio.NewWriterSize(w, 1<<16)
	out.WriteString(seriesHead(verdict)) // the writer keeps its first error
	// Most of the work is the text of numbers. Series share their instants, and many values stay.
	var stamps, end []byte
	var ends []int // of the stamps
	for k, s := range series {
		if err := ctx.Err(); err != nil {
			return err
		}
		if k == 0 || !slices.Equal(s.Times, series[k-1].Times) {
			stamps, ends = stamps[:0], ends[:0]
			for _, t := range s.Times {
				stamps = strconv.AppendInt(stamps, int64(t), 10)
				ends = append(ends, len(stamps))
			}
		}
		middle, begin := cells(s.Kind, s.Name), 0
		for i, v := range s.Values {
			if i == 0 || v != s.Values[i-1] {
				if end = append(end[:0], middle...); Number(v).Known() {
					end = strconv.AppendFloat(end, v, 'g', seriesDigits, 64)
				}
				end = append(end, '\n')
			}
			out.Write(stamps[begin:ends[i]])
			if _, err := out.Write(end); err != nil {
				return err
			}
			begin = ends[i]
		}
	}
	return out.Flush()
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
