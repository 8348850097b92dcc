package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"fabemu/emu"
	"fabemu/emu/files"
)

// The files of a sweep.
const (
	PlanFile  = "sweep.json"
	TableFile = "sweep.csv"
	CellsDir  = "cells"
)

// directory is where a sweep is kept.
type directory struct {
	path   string
	layout *layout
	hold   *files.Hold
	cut    bool // the plan that is there is the beginning of this one, or nothing
}

// claim makes a directory that of a sweep, or finds that it is. The plan is written
// before anything else, so that whenever the program is killed a later call knows
// what the rest is of. With force, what an earlier sweep has made there is removed.
// Other files are never touched.
func claim(path string, l *layout, force bool) (*directory, error) {
	d := &directory{path: path, layout: l}
	var err error
	if d.hold, err = files.Claim(path); errors.Is(err, files.ErrHeld) {
		return nil, &emu.Mistake{Err: fmt.Errorf("%s: %w: wait for its end, or choose another --out", path, err)}
	} else if err != nil {
		return nil, &emu.Mistake{Err: fmt.Errorf("%s: %w; choose another --out", path, err)}
	}
	if err := d.begin(force); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *directory) close() { d.hold.Release() }

// begin finds out what the directory holds, and makes it that of this sweep.
func (d *directory) begin(force bool) error {
	before, err := d.before()
	if err != nil && !force {
		return &emu.Mistake{Err: err}
	}
	known := before != nil && err == nil
	switch differs := error(nil); {
	case force:
	case known:
		if differs = d.layout.same(before); differs != nil {
			return &emu.Mistake{Err: fmt.Errorf("%s is of another sweep: %w; choose another --out, or --force to begin anew there", d.path, differs)}
		}
	default:
		foreign, err := d.foreign()
		if err != nil {
			return err
		}
		if foreign != "" {
			return &emu.Mistake{Err: fmt.Errorf("%s is not empty, and not of this sweep (there is %s); choose another --out, or --force to write into it", d.path, foreign)}
		}
	}
	if err := files.MakeFolder(filepath.Join(d.path, CellsDir)); err != nil {
		return &emu.Mistake{Err: err}
	}
	if force {
		if err := d.clear(before); err != nil {
			return err
		}
	}
	if err := d.tidy(); err != nil {
		return err
	}
	if force || !known {
		return files.Write(filepath.Join(d.path, PlanFile), d.layout.write)
	}
	return nil
}

// before returns the plan that is there; nil if there is none. The beginning of this
// plan, which a power cut may leave, is none.
func (d *directory) before() (*layout, error) {
	b, err := os.ReadFile(filepath.Join(d.path, PlanFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	before := new(layout)
	if err == nil {
		var whole bytes.Buffer
		if err := d.layout.write(&whole); err != nil {
			return nil, err
		}
		b = flushed(b)
		if d.cut = len(b) < whole.Len() && bytes.HasPrefix(whole.Bytes(), b); d.cut {
			return nil, nil
		}
		err = json.Unmarshal(b, before)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w; choose another --out, or --force to begin anew there", filepath.Join(d.path, PlanFile), err)
	}
	return before, nil
}

// flushed returns the part of a file that had come to the disk before a power cut: some
// file systems fill the rest with zeros.
func flushed(b []byte) []byte { return bytes.TrimRight(b, "\x00") }

// foreign names something in a directory without a plan that this sweep would not have
// left there; empty if there is nothing of the kind.
func (d *directory) foreign() (string, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		name, begun := files.Begun(e)
		switch {
		case begun && d.owns(name):
		case d.cut && d.owns(e.Name()):
		case e.Name() == CellsDir && e.IsDir():
			inner, err := os.ReadDir(filepath.Join(d.path, CellsDir))
			if err != nil {
				return "", err
			}
			for _, e := range inner {
				if path := filepath.Join(CellsDir, e.Name()); !d.begunCell(e) {
					return path, nil
				}
			}
		default:
			return e.Name(), nil
		}
	}
	return "", nil
}

// owns reports whether this sweep writes a file of that name.
func (d *directory) owns(name string) bool {
	return name == PlanFile || name == TableFile || slices.ContainsFunc(d.layout.Drawings, func(x drawing) bool { return x.File == name })
}

// begunCell reports whether something is a cell of this plan, or as much of one as a
// kill or a power cut leaves.
func (d *directory) begunCell(e fs.DirEntry) bool {
	if name, begun := files.Begun(e); begun {
		return cellName.MatchString(name)
	}
	if !cellName.MatchString(e.Name()) || !e.Type().IsRegular() {
		return false
	}
	b, err := os.ReadFile(filepath.Join(d.path, CellsDir, e.Name()))
	head := fmt.Appendf(nil, "{\n  \"plan\": %q,", d.layout.id)
	b = flushed(b)
	return err == nil && bytes.Equal(b[:min(len(b), len(head))], head[:min(len(b), len(head))])
}

// cellName is the name of a cell's file.
var cellName = regexp.MustCompile(`^\d{6,7}\.json$`)

// clear removes what an earlier sweep has made: its cells, and, as far as its plan is
// known, its table and its figures.
func (d *directory) clear(before *layout) error {
	var remove []string
	entries, err := os.ReadDir(filepath.Join(d.path, CellsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && cellName.MatchString(e.Name()) {
			remove = append(remove, filepath.Join(CellsDir, e.Name()))
		}
	}
	if d.cut {
		before = d.layout
	}
	if before != nil {
		remove = append(remove, TableFile)
		for _, x := range before.Drawings {
			if filepath.Base(x.File) == x.File && strings.HasSuffix(x.File, figureSuffix) {
				remove = append(remove, x.File)
			}
		}
	}
	for _, name := range remove {
		if err := os.Remove(filepath.Join(d.path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// tidy removes files that a call that was killed has not brought to their end.
func (d *directory) tidy() error {
	for sub, mine := range map[string]func(name string) bool{
		".":      d.owns,
		CellsDir: cellName.MatchString,
	} {
		entries, err := os.ReadDir(filepath.Join(d.path, sub))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if name, begun := files.Begun(e); !begun || !mine(name) {
				continue
			}
			if err := os.Remove(filepath.Join(d.path, sub, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// cellPath returns the file of a cell.
func (d *directory) cellPath(c *cell) string {
	return filepath.Join(d.path, CellsDir, fmt.Sprintf("%06d.json", c.number))
}

// cellFile is what a cell's file has: what came out, and by which plan.
type cellFile struct {
	Plan string `json:"plan"`
	*Cell
}

// read returns what an earlier call has made of a cell by this plan, or nil.
func (d *directory) read(c *cell) *Cell {
	b, err := os.ReadFile(d.cellPath(c))
	if err != nil {
		return nil
	}
	var f cellFile
	if json.Unmarshal(b, &f) != nil || f.Plan != d.layout.id || f.Cell == nil || f.Number != c.number || !slices.Equal(f.Values, c.values) {
		return nil
	}
	return f.Cell
}

// write writes what came out of a cell.
func (d *directory) write(c *cell, out *Cell) error {
	return files.Write(d.cellPath(c), func(w io.Writer) error { return encode(w, cellFile{d.layout.id, out}) })
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
