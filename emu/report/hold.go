package report

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrHeld says that another process writes into a directory of results.
var ErrHeld = errors.New("a run is going on there")

// Hold is the lock of a directory of results. The system gives it back when the process
// ends, in whatever way.
type Hold struct {
	folder *os.File
	alone  bool // the file system has locks, and nobody else has this one
}

// TakeHold takes the lock of a directory. The error is ErrHeld if another process has
// it. Where the system or the file system has no locks nobody is kept out.
func TakeHold(dir string) (*Hold, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	alone, err := lockFolder(folder)
	if err != nil {
		folder.Close()
		return nil, err
	}
	return &Hold{folder, alone}, nil
}

// Release gives the lock back.
func (h *Hold) Release() { h.folder.Close() }

// Tidy removes what WriteFile has begun and not brought to its end, of files with these
// names. Their writers are dead: they would have the lock. Where there are no locks,
// nothing is removed.
func (h *Hold) Tidy(names ...string) error {
	if !h.alone {
		return nil
	}
	entries, err := h.folder.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name, begun := Begun(e); begun && slices.Contains(names, name) {
			err = errors.Join(err, os.Remove(filepath.Join(h.folder.Name(), e.Name())))
		}
	}
	return err
}

// Begun returns the name of the file that WriteFile was to write, if something is the
// beginning of one.
func Begun(e fs.DirEntry) (name string, begun bool) {
	i := strings.LastIndexByte(e.Name(), '-')
	if i < 1 || e.Name()[0] != '.' || !e.Type().IsRegular() {
		return "", false
	}
	number := e.Name()[i+1:]
	return e.Name()[1:i], number != "" && strings.Trim(number, "0123456789") == ""
}
