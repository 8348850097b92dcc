package campaign

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"fabemu/emu/base/errs"
	"fabemu/emu/base/files"
	"fabemu/emu/result/report"
)

// CellsDir is the folder with the result of each cell.
const CellsDir = "cells"

// mostBytes is how long the file of a cell may be: many times the usual length.
const mostBytes = 1 << 28

// Plan is the runs of a campaign, and the files that are drawn of their results.
type Plan struct {
	What  string   // the campaign in messages: "sweep"
	Cells []Cell   // all of them, or the only one that a call does
	Files []string // tables and figures; of these the first is removed first (Directory.Retire)
}

// Mode is what a call does with a directory.
type Mode int

// The modes.
const (
	Everything Mode = iota // does all cells, alone
	Anew                   // the same, and repeats those that are done
	Part                   // does a share, while others do theirs
	Drawing                // draws the cells that are done
)

// Directory is where a campaign is kept.
type Directory struct {
	path string
	plan *Plan
	mode Mode
	hold *files.Hold
}

// Claim takes a directory for a campaign, alone or together with other calls. A directory that has
// files but no folder for cells is refused, except with Anew. Files that the campaign does not
// write are never touched. An obstacle is a *errs.Mistake.
func Claim(path string, p *Plan, mode Mode) (*Directory, error) {
	d := &Directory{path: path, plan: p, mode: mode}
	if mode == Drawing && !d.begun() {
		return nil, errs.Errorf("%s has nothing of this %s: there is no folder %s", path, p.What, CellsDir)
	}
	err := d.take()
	if errors.Is(err, files.ErrHeld) {
		return nil, errs.Errorf("%s: %w: wait for its end, or choose another --out", path, err)
	} else if err != nil {
		return nil, errs.Errorf("%s: %w; choose another --out", path, err)
	}
	if err := d.open(); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// begun reports whether the directory has a folder for cells.
func (d *Directory) begun() bool {
	_, err := os.Stat(filepath.Join(d.path, CellsDir))
	return err == nil
}

// take takes the lock.
func (d *Directory) take() (err error) {
	if d.mode != Part {
		if d.hold, err = files.Claim(d.path); d.mode != Drawing || !errors.Is(err, files.ErrHeld) {
			return err
		}
	}
	d.hold, err = files.Join(d.path)
	return err
}

// Close gives the directory back.
func (d *Directory) Close() { d.hold.Release() }

// open makes the folder for cells, unless the directory belongs to something else.
func (d *Directory) open() error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, unfinished := files.Begun(e); !unfinished && d.mode != Anew && !d.begun() {
			return errs.Errorf("%s is not empty, and not of a %s (there is %s); "+
				"choose another --out, or --force to write into it", d.path, d.plan.What, e.Name())
		}
	}
	if err := files.MakeFolder(filepath.Join(d.path, CellsDir)); err != nil {
		return &errs.Mistake{Err: err}
	}
	return d.tidy()
}

// cellName is the name of a cell's file.
var cellName = regexp.MustCompile(`^[0-9a-f]{12}\.json$`)

// tidy removes unfinished files of calls that were killed. While there are other calls, it cannot
// distinguish their files from these.
func (d *Directory) tidy() error {
	if !d.hold.Alone() {
		return nil
	}
	folder := filepath.Join(d.path, CellsDir)
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if name, unfinished := files.Begun(e); unfinished && cellName.MatchString(name) {
			err = cmp.Or(err, os.Remove(filepath.Join(folder, e.Name())))
		}
	}
	return cmp.Or(err, d.hold.Tidy(slices.Clone(d.plan.Files)...))
}

// cellFile is the content of a cell's file.
type cellFile struct {
	ID     string          `json:"id"`  // the hash, by which the file is named, too
	Sum    string          `json:"sum"` // of the ID and the result, without spaces: a result that was changed is found
	Result json.RawMessage `json:"result"`
}

// sum computes Sum.
func (f *cellFile) sum() string {
	var text bytes.Buffer
	text.WriteString(f.ID + "\n")
	json.Compact(&text, f.Result) // it is JSON
	sum := sha256.Sum256(text.Bytes())
	return hex.EncodeToString(sum[:])
}

// read reads the result of a cell into result, a pointer, and reports whether there is one. A file
// that a power cut has left cut short is none. The error is that of a file that is whole, and not
// what was written.
func (d *Directory) read(c *Cell, result any) (bool, error) {
	name := filepath.Join(d.path, CellsDir, c.File())
	b, err := files.Read(name, mostBytes)
	if err != nil || !json.Valid(b) {
		return false, nil
	}
	var f cellFile
	err = strict(b, &f)
	switch {
	case err != nil:
	case f.ID != c.hash():
		err = fmt.Errorf("it has the ID %q", f.ID)
	case f.Sum != f.sum():
		err = errors.New("its sum is wrong")
	default:
		err = strict(f.Result, result)
	}
	if err != nil {
		return false, fmt.Errorf("%s, the result of %s, was changed, or another program has written it: %w; remove it, and call again to repeat this run",
			name, cmp.Or(c.Name, c.ID), err)
	}
	return true, nil
}

// strict decodes JSON. An unknown key is an error.
func strict(b []byte, to any) error {
	in := json.NewDecoder(bytes.NewReader(b))
	in.DisallowUnknownFields()
	return in.Decode(to)
}

func (d *Directory) write(c *Cell, result any) error {
	b, err := json.Marshal(result)
	if err != nil {
		return err
	}
	f := cellFile{ID: c.hash(), Result: b}
	f.Sum = f.sum()
	return d.Write(filepath.Join(CellsDir, c.File()), func(w io.Writer) error { return report.WriteJSON(w, f) })
}

// Write writes a file of the campaign, as files.Write does. It writes it again if a call that
// tidies up has removed the unfinished file: a call on another machine may not see that there are
// others.
func (d *Directory) Write(name string, write func(io.Writer) error) (err error) {
	for range 3 {
		if err = files.Write(filepath.Join(d.path, name), write); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

// Retire removes the files drawn before, the first of Plan.Files first, since it shows that the
// others are complete.
func (d *Directory) Retire() error { return d.hold.Retire(d.plan.Files...) }
