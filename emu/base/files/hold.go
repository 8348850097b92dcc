package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrHeld is the error of a folder of results into which another process writes.
var ErrHeld = errors.New("another run is active there")

// Hold is the lock of a folder of results. The system releases it when the process ends, for
// whatever reason.
type Hold struct {
	folder *os.File
	alone  bool // the file system has locks, and no other process has this one
}

// Claim makes a folder unless it is there, takes its lock, and sees that files can be
// made in it. The error is ErrHeld if another process has the lock.
func Claim(dir string) (*Hold, error) { return claim(dir, false) }

// Join makes a folder as Claim does, but takes a shared lock, so any number of processes can join
// the same folder. The error is ErrHeld if a process has claimed the folder for itself. Processes
// on other machines may write there, too, because network file systems may not share the lock.
func Join(dir string) (*Hold, error) { return claim(dir, true) }

// claims is how often a folder may be removed while it is claimed.
const claims = 1000

func claim(dir string, shared bool) (*Hold, error) {
	for tries := 1; ; tries++ {
		if err := MakeAll(dir); err != nil {
			return nil, err
		}
		h, err := takeHold(dir, shared)
		if errors.Is(err, fs.ErrNotExist) && tries < claims {
			continue // another run has removed it, which had nothing to put there
		}
		if err != nil {
			return nil, err
		}
		if err := errors.Join(h.Tidy(probeFile), probe(dir)); err != nil {
			h.Release()
			return nil, err
		}
		return h, nil
	}
}

// probeFile is the file that is begun and removed to see that it can be.
const probeFile = "fabemu"

func probe(dir string) error {
	f, err := begin(filepath.Join(dir, probeFile))
	if err != nil {
		return fmt.Errorf("nothing can be written there: %w", err)
	}
	err = f.Close()
	if e := os.Remove(f.Name()); !errors.Is(e, fs.ErrNotExist) { // the process that claims the folder removes it
		err = errors.Join(err, e)
	}
	return err
}

// TakeHold takes the lock of a folder. The error is ErrHeld if another process has
// it. Where the system or the file system has no locks, other processes are not kept out.
func TakeHold(dir string) (*Hold, error) { return takeHold(dir, false) }

func takeHold(dir string, shared bool) (*Hold, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	h := &Hold{folder: folder}
	locked, err := lockFolder(folder, shared)
	if h.alone = locked && !shared; err == nil {
		err = h.exists()
	}
	if err != nil {
		h.Release()
		return nil, err
	}
	return h, nil
}

// exists returns fs.ErrNotExist if the process that had the lock before has removed the folder.
func (h *Hold) exists() error {
	mine, err := h.folder.Stat()
	if err != nil {
		return err
	}
	named, err := os.Stat(h.folder.Name())
	if err == nil && !os.SameFile(mine, named) {
		err = fs.ErrNotExist
	}
	return err
}

// Release gives the lock back.
func (h *Hold) Release() { h.folder.Close() }

// Alone reports whether no other process has the lock, as far as the file system can find out.
func (h *Hold) Alone() bool { return h.alone }

// Empty reports whether nothing is in the folder.
func (h *Hold) Empty() (bool, error) {
	f, err := os.Open(h.folder.Name())
	if err != nil {
		return false, err
	}
	defer f.Close()
	_, err = f.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}

// Retire removes the files of an earlier run, if the first of the names is there: that file proves
// that the others are whole, and goes before them, on the disk, too.
func (h *Hold) Retire(names ...string) error {
	for i, name := range names {
		err := os.Remove(filepath.Join(h.folder.Name(), name))
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		case i > 0:
		case err != nil:
			return nil
		default:
			if err := syncFolder(h.folder.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Tidy removes unfinished files that Write has begun under these names. Their writers are dead,
// because otherwise they would have the lock. Where there are no locks, nothing is removed.
func (h *Hold) Tidy(names ...string) error {
	if !h.alone {
		return nil
	}
	entries, err := os.ReadDir(h.folder.Name())
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

// Begun returns the name of the file that Write was to write, if something is the
// beginning of one.
func Begun(e fs.DirEntry) (name string, begun bool) {
	i := strings.LastIndexByte(e.Name(), '-')
	if i < 1 || e.Name()[0] != '.' || !e.Type().IsRegular() {
		return "", false
	}
	number := e.Name()[i+1:]
	return e.Name()[1:i], number != "" && strings.Trim(number, "0123456789") == ""
}
