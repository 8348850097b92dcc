package campaign

import (
	"bytes"
	"cmp"
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

// mostBytes is how long a plan or the file of a cell may be: many times their usual length.
const mostBytes = 1 << 28

// Plan is the plan of the campaign in a directory.
type Plan struct {
	Kind   string   // "sweep": the plan is in sweep.json
	What   string   // its name in messages
	Header any      // the content of that file; with Whole equal headers are of the same plan
	Cells  []Cell   // all of them; those that are laid out, if it is not Whole
	Whole  bool     // all cells are laid out
	Files  []string // files drawn of the cells: tables, figures; PlanFile and cells are not among them

	// Earlier reads the header of an earlier plan. It returns the differences from
	// this plan, or nil, and the files that were drawn of it. err reports a text that is no header.
	Earlier func(header []byte) (differs error, drawn []string, err error)
}

// PlanFile returns the name of the file that holds the header.
func (p *Plan) PlanFile() string { return p.Kind + ".json" }

// Begun reports whether a directory has a plan: then a call that does one cell need not lay
// out the others.
func Begun(dir, kind string) bool {
	_, err := os.Stat(filepath.Join(dir, kind+".json"))
	return err == nil
}

// Mode is the way in which a call uses a directory.
type Mode int

// The modes.
const (
	Everything Mode = iota // does all cells, alone
	Anew                   // the same, whatever is there
	Part                   // does a share, beside others
	Drawing                // draws the cells that are done
)

// Directory is where a campaign is kept.
type Directory struct {
	path string
	plan *Plan
	hold *files.Hold
	cut  bool // the plan that is there is the beginning of this one, or nothing
}

// Claim takes a directory for a campaign, or finds it taken by the same one. The plan is written
// before anything else, so that whenever the program is killed a later call can identify
// the rest. With Anew, the files of an earlier campaign of the kind are removed.
// Other files are never touched. An obstacle is a *errs.Mistake.
func Claim(path string, p *Plan, mode Mode) (*Directory, error) {
	if mode == Drawing && !Begun(path, p.Kind) {
		return nil, errs.Errorf("%s has nothing of this %s: there is no %s", path, p.What, p.PlanFile())
	}
	d := &Directory{path: path, plan: p}
	err := d.take(mode)
	if errors.Is(err, files.ErrHeld) {
		return nil, errs.Errorf("%s: %w: wait for its end, or choose another --out", path, err)
	} else if err != nil {
		return nil, errs.Errorf("%s: %w; choose another --out", path, err)
	}
	if err := d.begin(mode); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// take takes the lock.
func (d *Directory) take(mode Mode) (err error) {
	if mode != Part {
		if d.hold, err = files.Claim(d.path); mode != Drawing || !errors.Is(err, files.ErrHeld) {
			return err
		}
	}
	d.hold, err = files.Join(d.path)
	return err
}

// Close gives the directory back.
func (d *Directory) Close() { d.hold.Release() }

// begin reads the content of the directory, and takes it for this campaign. Others may
// do the same at the time.
func (d *Directory) begin(mode Mode) error {
	for {
		known, drawn, err := d.before()
		switch {
		case mode == Anew:
			return d.anew(drawn)
		case err != nil:
			return &errs.Mistake{Err: err}
		case known:
			return errors.Join(d.folder(), d.tidy())
		case !d.plan.Whole:
			return errs.Errorf("%s: the plan has gone from there meanwhile: call again", d.path)
		}
		foreign, err := d.foreign()
		if err != nil {
			return err
		}
		if foreign != "" && !d.cut && Begun(d.path, d.plan.Kind) {
			continue // somebody has begun just now
		}
		if foreign != "" {
			return errs.Errorf("%s is not empty, and not of this %s (there is %s); "+
				"choose another --out, or --force to write into it", d.path, d.plan.What, foreign)
		}
		if err := errors.Join(d.folder(), d.tidy()); err != nil {
			return err
		}
		write := files.WriteNew
		if d.cut {
			write = files.Write
		}
		if err := write(filepath.Join(d.path, d.plan.PlanFile()), d.plan.write); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// folder makes the folder for cells.
func (d *Directory) folder() error {
	if err := files.MakeFolder(filepath.Join(d.path, CellsDir)); err != nil {
		return &errs.Mistake{Err: err}
	}
	return nil
}

// anew removes the files of an earlier campaign, and writes the plan.
func (d *Directory) anew(drawn []string) error {
	if d.cut {
		drawn = d.plan.Files
	}
	if err := errors.Join(d.folder(), d.clear(drawn), d.tidy()); err != nil {
		return err
	}
	return files.Write(filepath.Join(d.path, d.plan.PlanFile()), d.plan.write)
}

// write writes the file of the plan.
func (p *Plan) write(w io.Writer) error { return report.WriteJSON(w, p.Header) }

// before reports whether the directory has this plan, and returns the files that were drawn of any plan
// there. The beginning of this plan, which a power cut may leave, is none.
func (d *Directory) before() (known bool, drawn []string, err error) {
	path := filepath.Join(d.path, d.plan.PlanFile())
	b, err := files.Read(path, mostBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil, nil
	}
	var differs error
	if err == nil {
		var whole bytes.Buffer
		if err := d.plan.write(&whole); err != nil {
			return false, nil, err
		}
		b = flushed(b)
		if d.cut = len(b) < whole.Len() && bytes.HasPrefix(whole.Bytes(), b); d.cut {
			return false, nil, nil
		}
		differs, drawn, err = d.plan.Earlier(b)
	}
	switch {
	case err != nil:
		return false, nil, fmt.Errorf("%s cannot be read: %w; %s", path, err, otherwise)
	case differs != nil:
		return false, drawn, fmt.Errorf("%s is of another %s: %w; %s", d.path, d.plan.What, differs, otherwise)
	}
	return true, drawn, nil
}

// otherwise is the advice about a plan that is in the way.
const otherwise = "choose another --out, or --force to begin anew there"

// flushed returns the part of a file that had come to the disk before a power cut: some
// file systems fill the rest with zeros.
func flushed(b []byte) []byte { return bytes.TrimRight(b, "\x00") }

// foreign names something in a directory without a plan that this campaign would not have
// left there; empty if there is nothing of the kind.
func (d *Directory) foreign() (string, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		name, begun := files.Begun(e)
		switch {
		case begun && (d.owns(name) || name == files.ProbeFile):
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

// owns reports whether this campaign writes a file of that name.
func (d *Directory) owns(name string) bool {
	return name == d.plan.PlanFile() || slices.Contains(d.plan.Files, name)
}

// begunCell reports whether something is a cell of this plan, or as much of one as a
// kill or a power cut leaves.
func (d *Directory) begunCell(e fs.DirEntry) bool {
	if name, begun := files.Begun(e); begun {
		return cellName.MatchString(name)
	}
	i := slices.IndexFunc(d.plan.Cells, func(c Cell) bool { return c.File() == e.Name() })
	if i < 0 || !e.Type().IsRegular() {
		return false
	}
	b, err := files.Read(filepath.Join(d.path, CellsDir, e.Name()), mostBytes)
	head := fmt.Appendf(nil, "{\n  \"id\": %q,", d.plan.Cells[i].ID)
	b = flushed(b)
	return err == nil && bytes.Equal(b[:min(len(b), len(head))], head[:min(len(b), len(head))])
}

// cellName is the name of a cell's file.
var cellName = regexp.MustCompile(`^\d{6,7}\.json$`)

// File returns the name of the cell's file in CellsDir.
func (c *Cell) File() string { return fmt.Sprintf("%06d.json", c.Number) }

// clear removes the work of an earlier campaign: its cells, and the files that were drawn of them.
func (d *Directory) clear(drawn []string) error {
	err := d.remove(func(e fs.DirEntry) bool { return e.Type().IsRegular() && cellName.MatchString(e.Name()) })
	if err != nil {
		return err
	}
	for _, name := range drawn {
		if err := os.Remove(filepath.Join(d.path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// tidy removes unfinished files of calls that were killed. While there
// are other calls, it cannot distinguish their files from these.
func (d *Directory) tidy() error {
	if !d.hold.Alone() {
		return nil
	}
	return cmp.Or(d.hold.Tidy(append(slices.Clone(d.plan.Files), d.plan.PlanFile())...), d.remove(func(e fs.DirEntry) bool {
		name, begun := files.Begun(e)
		return begun && cellName.MatchString(name)
	}))
}

// remove removes some files of the folder for cells.
func (d *Directory) remove(unwanted func(fs.DirEntry) bool) error {
	folder := filepath.Join(d.path, CellsDir)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !unwanted(e) {
			continue
		}
		if err := os.Remove(filepath.Join(folder, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// cellFile is the content of a cell's file.
type cellFile struct {
	ID     string `json:"id"`
	Result any    `json:"result"`
}

// read reads the result of a cell into result, a pointer, and reports
// whether there is one.
func (d *Directory) read(c *Cell, result any) bool {
	b, err := files.Read(filepath.Join(d.path, CellsDir, c.File()), mostBytes)
	if err != nil {
		return false
	}
	f := cellFile{Result: new(json.RawMessage)}
	return json.Unmarshal(b, &f) == nil && f.ID == c.ID && json.Unmarshal(*f.Result.(*json.RawMessage), result) == nil
}

func (d *Directory) write(c *Cell, result any) error {
	return d.Write(filepath.Join(CellsDir, c.File()), func(w io.Writer) error {
		return report.WriteJSON(w, cellFile{c.ID, result})
	})
}

// Write writes a file of the campaign, as files.Write does. It is written again if somebody
// who tidied up has removed it half done: a call on another computer may not see that there
// are others.
func (d *Directory) Write(name string, write func(io.Writer) error) (err error) {
	for range 3 {
		if err = files.Write(filepath.Join(d.path, name), write); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

// Retire removes the files drawn before, the first of Plan.Files first, since it stands for the
// completeness of the others.
func (d *Directory) Retire() error { return d.hold.Retire(d.plan.Files...) }
