package seeds

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"fabemu/emu/base/files"
	"fabemu/emu/result/report"
)

// Load reads what each run contributes from its results directory, within dir.
func (r *Repetitions) Load(dir string) (runs []Run, err error) {
	for _, name := range r.Runs {
		d, err := report.ReadDir(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		run := of(d.Result)
		if len(r.Slowdowns) > 0 {
			if run.Samples, err = samplesIn(d); err != nil {
				return nil, fmt.Errorf("%s: %w", d.Directory, err)
			}
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// samplesIn returns the same as SamplesOf from the table of a run's flows, but parallel jobs have
// samples too, and open flows are not counted.
func samplesIn(d *report.Dir) (all []Sample, err error) {
	name := report.TransfersFile
	if d.Files[name] == "" {
		name = report.LongTransfersFile
	}
	f, err := files.Open(filepath.Join(d.Directory, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var in io.Reader = f
	if name == report.LongTransfersFile {
		if in, err = gzip.NewReader(f); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	flows := make([][]flow, len(d.Workloads))
	if err := readFlows(in, d.Workloads, flows); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for k := range flows {
		all = append(all, pack(d.Workloads[k].Name, 0, flows[k]))
	}
	return all, nil
}

// readFlows reads the flows of each workload that count and completed.
func readFlows(in io.Reader, workloads []report.Workload, flows [][]flow) error {
	table := csv.NewReader(in)
	table.ReuseRecord = true
	head, err := table.Read()
	if err != nil {
		return err
	}
	var at [5]int
	for i, column := range []string{"workload", "bytes", "arrived_ps", "slowdown", "packets_missing"} {
		if at[i] = slices.Index(head, column); at[i] < 0 {
			return fmt.Errorf("it has no column %s", column)
		}
	}
	for {
		row, err := table.Read()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		workload, open, missing := row[at[0]], row[at[3]] == "", row[at[4]] != "0"
		k := slices.IndexFunc(workloads, func(w report.Workload) bool { return w.Name == workload })
		if k < 0 {
			return fmt.Errorf("%s has no workload %q", report.ResultFile, workload)
		}
		if open || missing {
			continue
		}
		bytes, err := strconv.ParseInt(row[at[1]], 10, 64)
		arrived, err2 := strconv.ParseInt(row[at[2]], 10, 64)
		slowdown, err3 := strconv.ParseFloat(row[at[3]], 64)
		if err := errors.Join(err, err2, err3); err != nil {
			line, _ := table.FieldPos(0)
			return fmt.Errorf("line %d: %w", line, err)
		}
		if arrived >= workloads[k].FromPs {
			flows[k] = append(flows[k], flow{bytes: bytes, slowdown: slowdown})
		}
	}
}
