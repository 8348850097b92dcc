package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"fabemu/emu/base/files"
	"fabemu/emu/metrics"
	"fabemu/wire/unit"
)

// Dir is a directory that WriteDir has written.
type Dir struct {
	*Result
	Series   []metrics.Series // without units
	Resolved []byte
}

// The most bytes of result files that are read into memory: many times the longest that runs have
// written.
const (
	mostResult = 1 << 28
	mostBytes  = 1 << 30
)

// ReadDir reads the results of a run, in each form up to Form. A directory in which something is
// missing, or that a newer version has written in a newer form, or whose files are of two runs, is
// refused. The error lists all that is wrong with it. A file that the result says found no room on
// the disk (Unwritten) may be missing.
func ReadDir(dir string) (*Dir, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is not a results directory", dir)
	}
	d := &Dir{Result: &Result{}}
	var missing, others []string
	var wrong []error
	read := func(name string, take func([]byte) error) {
		most := int64(mostBytes)
		if name == ResultFile {
			most = mostResult
		}
		b, err := files.Read(filepath.Join(dir, name), most)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if d.Files[name] != "" || len(d.Unwritten) == 0 { // the result names a file that found no room
				missing = append(missing, name)
			}
			return
		case err == nil:
			if sum := sha256.Sum256(b); d.Files != nil && name != ResultFile &&
				d.Files[name] != hex.EncodeToString(sum[:]) {
				others = append(others, name)
			}
			err = take(b)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
		}
	}
	read(ResultFile, func(b []byte) error { return readResult(b, d.Result) })
	read(SeriesFile, func(b []byte) (err error) { d.Series, err = readSeries(b); return err })
	read(ResolvedFile, func(b []byte) error { d.Resolved = b; return nil })
	for _, name := range []string{RatesFile, TransfersFile, LongTransfersFile, SlowdownFile} { // where a caller draws, or of a workload
		if want := d.Files[name]; want != "" {
			sum, err := sumOf(filepath.Join(dir, name))
			switch {
			case errors.Is(err, fs.ErrNotExist):
				missing = append(missing, name)
			case err != nil:
				wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
			case want != sum:
				others = append(others, name)
			}
		}
	}
	if len(missing) > 0 {
		hint := ""
		if len(missing) == 3 {
			hint = "; it does not seem to be a directory that fabemu run has written"
		} else if missing[0] == ResultFile {
			hint = "; it is written last, so the run did not finish"
		}
		wrong = append([]error{fmt.Errorf("%s is incomplete: it lacks %s%s", dir, strings.Join(missing, ", "), hint)}, wrong...)
	} else if len(wrong) > 0 {
		wrong = append([]error{fmt.Errorf("%s cannot be read", dir)}, wrong...)
	}
	if len(others) > 0 {
		wrong = append(wrong, mixed(dir, others...))
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	d.Directory = dir
	for _, s := range d.Series {
		if s.Kind == "pace" {
			d.Pace = append(d.Pace, s)
		}
	}
	return d, nil
}

// Verify compares a file of a results directory with its sum in ResultFile. Where there is no such
// sum, as beside a file that was copied elsewhere, there is nothing to compare.
func Verify(path string) error {
	dir, name := filepath.Dir(path), filepath.Base(path)
	b, err := files.Read(filepath.Join(dir, ResultFile), mostResult)
	var result struct{ Files map[string]string }
	if err != nil || json.Unmarshal(b, &result) != nil || result.Files[name] == "" {
		return nil
	}
	sum, err := sumOf(path)
	if err == nil && sum != result.Files[name] {
		err = mixed(dir, name)
	}
	return err
}

// mixed reports that files are not the ones that a result was written with.
func mixed(dir string, names ...string) error {
	return fmt.Errorf("%s is a mix of two runs, or was changed: %s is not the file that %s was written with",
		dir, strings.Join(names, ", "), ResultFile)
}

// Events opens the event log of the run, as lines of JSON. The error is fs.ErrNotExist if it has
// none.
func (d *Dir) Events() (io.ReadCloser, error) {
	name := JSONLog.File()
	if d.Files[name] == "" {
		name = BinaryLog.File()
	}
	if d.Files[name] == "" {
		return nil, fs.ErrNotExist
	}
	path := filepath.Join(d.Directory, name)
	sum, err := sumOf(path)
	if err != nil {
		return nil, err
	}
	if d.Files[name] != sum {
		return nil, mixed(d.Directory, name)
	}
	f, err := files.Open(path)
	if err != nil || name == JSONLog.File() {
		return f, err
	}
	l, err := NewEventReader(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{l, f}, nil
}

// readResult reads result.json. A key that its form does not have, or that is not there, is a sign
// of another program.
func readResult(b []byte, r *Result) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(b, &keys); err != nil {
		return fmt.Errorf("it is cut short or is not JSON: %w", err)
	}
	var lacks []string
	for _, key := range []string{"form", "fabemu", "scenario", "clock", "seed", "duration_ps", "window_ps", "verdict", "checks", "phases", "flows", "links", "machine", "files"} {
		if keys[key] == nil {
			lacks = append(lacks, key)
		}
	}
	other, form := "an unknown version of fabemu", 0
	json.Unmarshal(keys["fabemu"], &other)
	if err := json.Unmarshal(keys["form"], &form); err == nil && form > Form {
		return fmt.Errorf("written by version %s of fabemu in form %d, and this version reads forms up to %d: "+
			"read it with version %[1]s or a newer one", other, form, Form)
	}
	if len(lacks) > 0 {
		return fmt.Errorf("written by %s in another form: it lacks %s", other, strings.Join(lacks, ", "))
	}
	if form == 1 {
		b = upgraded(keys)
	}
	in := json.NewDecoder(bytes.NewReader(b))
	in.DisallowUnknownFields()
	if err := in.Decode(r); err != nil {
		return fmt.Errorf("written by %s in another form: %w", other, err)
	}
	return nil
}

// upgraded returns a result in form 1 as the present form has it: there a node was called a
// machine, as the computer is. Within a text the quotes of a key would be escaped.
func upgraded(keys map[string]json.RawMessage) []byte {
	for key, raw := range keys {
		if key == "event_choice" {
			raw = bytes.ReplaceAll(raw, []byte(`"machines":`), []byte(`"nodes":`))
		}
		if key == "verdict" {
			raw = bytes.ReplaceAll(raw, []byte(`"statements":`), []byte(`"reports":`))
		}
		if key != "machine" {
			keys[key] = bytes.ReplaceAll(raw, []byte(`"machine":`), []byte(`"node":`))
		}
	}
	b, _ := json.Marshal(keys) // of values that were read from JSON
	return b
}

// readSeries reads series.csv. The verdict, its first row, is no series.
func readSeries(b []byte) ([]metrics.Series, error) {
	in := csv.NewReader(bytes.NewReader(b))
	head, err := in.Read()
	if err != nil || strings.Join(head, ",") != "time_ps,kind,name,value" {
		return nil, fmt.Errorf("it does not start with the columns time_ps, kind, name, value")
	}
	var all []metrics.Series
	index := map[[2]string]int{}
	for {
		row, err := in.Read()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return all, nil
			}
			return nil, err
		}
		if row[1] == "verdict" {
			continue
		}
		t, err := strconv.ParseInt(row[0], 10, 64)
		v := math.NaN()
		if err == nil && row[3] != "" {
			v, err = strconv.ParseFloat(row[3], 64)
		}
		if err != nil {
			line, _ := in.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		key := [2]string{row[1], row[2]}
		i, ok := index[key]
		if !ok {
			i = len(all)
			index[key] = i
			all = append(all, metrics.Series{Kind: row[1], Name: row[2]})
		}
		all[i].Times, all[i].Values = append(all[i].Times, unit.Time(t)), append(all[i].Values, v)
	}
}
