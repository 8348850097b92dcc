package scenario

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/base/files"
	"fabemu/node/traffic"
	"fabemu/wire/unit"
)

// Listed returns the transfers of a workload whose table is in a file, by the place of the endpoint
// that sends.
//
// The table has comma-separated values and a head with the names of its columns. The columns from,
// to, bytes and at are read, in any order: names of endpoints, a number of bytes, and a duration
// such as 1.5us since the workload's start. In place of at there may be arrived_ps, a number of
// picoseconds, as in the table of transfers that a run writes.
func (w *Workload) Listed() ([][]traffic.Arrival, error) {
	f, err := files.Open(w.Transfers)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() > mostListed {
		err = fmt.Errorf("%s has %d bytes, and a table of transfers at most %d", filepath.Base(w.Transfers), info.Size(), mostListed)
	}
	if err != nil {
		return nil, err
	}
	t := transferTable{workload: w, all: make([][]traffic.Arrival, len(w.Members())), place: map[string]int{}}
	for i, name := range w.Members() {
		t.place[name] = i
	}
	if err := t.read(f); err != nil {
		return nil, fmt.Errorf("%s:%w", filepath.Base(w.Transfers), err)
	}
	for _, of := range t.all {
		slices.SortStableFunc(of, func(a, b traffic.Arrival) int { return cmp.Compare(a.At, b.At) })
	}
	return t.all, nil
}

// mostListed is the most bytes of a table of transfers.
const mostListed = 1 << 30

// transferTable is a table of transfers that is being read.
type transferTable struct {
	workload *Workload
	place    map[string]int // of endpoints
	column   map[string]int // by name; -1: there is none
	all      [][]traffic.Arrival
}

func (t *transferTable) read(file io.Reader) error {
	r := csv.NewReader(file)
	r.ReuseRecord = true
	head, err := r.Read()
	if err != nil {
		return fmt.Errorf("1: there is no head with the columns at, from, to and bytes: %w", err)
	}
	t.column = map[string]int{"at": -1, "arrived_ps": -1, "from": -1, "to": -1, "bytes": -1}
	for i, name := range head {
		name = strings.ToLower(strings.TrimSpace(name))
		switch before, read := t.column[name]; {
		case read && before >= 0:
			return fmt.Errorf("1: two columns have the name %s: leave one out", name)
		case read:
			t.column[name] = i
		}
	}
	for _, name := range []string{"from", "to", "bytes"} {
		if t.column[name] < 0 {
			return fmt.Errorf("1: there is no column %s: the columns are at, from, to and bytes", name)
		}
	}
	if t.column["at"] < 0 && t.column["arrived_ps"] < 0 {
		return errors.New("1: there is no column at: the columns are at, from, to and bytes")
	}
	for {
		row, err := r.Read()
		var wrong *csv.ParseError
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &wrong):
			return fmt.Errorf("%d: %w", wrong.StartLine, wrong.Err)
		case err != nil:
			return err
		}
		if err := t.add(row); err != nil {
			line, _ := r.FieldPos(0)
			return fmt.Errorf("%d: %w", line, err)
		}
	}
}

func (t *transferTable) add(row []string) error {
	cell := func(name string) string { return strings.TrimSpace(row[t.column[name]]) }
	from, ok := t.place[cell("from")]
	to, known := t.place[cell("to")]
	switch {
	case !ok:
		return fmt.Errorf("%.40q sends, and workload %s is over %s", cell("from"), t.workload.Name, t.workload.Over)
	case !known:
		return fmt.Errorf("%.40q receives, and workload %s is over %s", cell("to"), t.workload.Name, t.workload.Over)
	case from == to:
		return fmt.Errorf("%s sends to itself", cell("from"))
	}
	bytes, err := strconv.ParseInt(cell("bytes"), 10, 64)
	if err != nil || bytes < 1 || bytes > traffic.MostBytes {
		return fmt.Errorf("%.40q is not a number of bytes from 1 to %d", cell("bytes"), int64(traffic.MostBytes))
	}
	var at unit.Duration
	if t.column["at"] >= 0 {
		at, err = unit.ParseDuration(cell("at"))
	} else {
		n, wrong := strconv.ParseInt(cell("arrived_ps"), 10, 64)
		if at = unit.Duration(n); wrong != nil || n < 0 {
			err = fmt.Errorf("%.40q is not a number of picoseconds since the start", cell("arrived_ps"))
		}
	}
	if err != nil {
		return err
	}
	t.all[from] = append(t.all[from], traffic.Arrival{At: unit.Time(t.workload.Start).Add(at), To: to, Size: unit.Size(bytes)})
	return nil
}
