package netns

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// runDir holds a file for each run that has namespaces, named by its id. The file
// is locked as long as the run lives, and holds the label of the run.
const runDir = "/run/fabemu"

// lockName returns the file of a run.
func lockName(run uint32) string { return filepath.Join(runDir, fmt.Sprintf("%08x", run)) }

// parseRun reads the id of a run.
func parseRun(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 16, 32)
	return uint32(n), err == nil && fmt.Sprintf("%08x", n) == s
}

// errHeld says that another process holds the lock of a run.
var errHeld = errors.New("another process holds the lock of this run")

// errOthers says that a file in runDir is not of this program, whatever its name is.
var errOthers = errors.New("this file has no label of ours")

// lock is the lock of a run, held. The kernel lets go of it when the process ends,
// however it does; children do not inherit it.
type lock struct {
	file *os.File
	name string
}

// claim makes the file of a new run, locked. The file is locked before it has a
// name, so nobody ever sees it otherwise.
func claim(l label) (*lock, error) {
	if err := os.MkdirAll(runDir, 0o755); err != nil {
		return nil, err
	}
	fd, err := unix.Open(runDir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, &os.PathError{Op: "create a file in", Path: runDir, Err: err}
	}
	held := &lock{file: os.NewFile(uintptr(fd), lockName(l.run)), name: lockName(l.run)}
	_, err = fmt.Fprintln(held.file, l)
	if err == nil {
		err = held.take()
	}
	if err == nil {
		err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, held.name, unix.AT_SYMLINK_FOLLOW)
		if errors.Is(err, unix.EEXIST) {
			err = fmt.Errorf("a run with the id %08x is there already, or has left %s: start this one again, it will have another id", l.run, held.name)
		}
	}
	if err != nil {
		return nil, errors.Join(err, held.release())
	}
	return held, nil
}

// seize locks the file of a run that should be dead, and makes one if there is
// none, and the folder for it: a namespace can be all that is left. The error is errHeld
// if somebody has the lock.
func seize(run uint32) (*lock, error) {
	if err := os.MkdirAll(runDir, 0o755); err != nil {
		return nil, err
	}
	for {
		f, err := os.OpenFile(lockName(run), os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return nil, err
		}
		held := &lock{file: f, name: f.Name()}
		if err := held.take(); err != nil {
			return nil, errors.Join(err, held.release())
		}
		mine, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, held.release())
		}
		if named, err := os.Stat(held.name); err == nil && os.SameFile(mine, named) {
			return held, nil
		}
		// Who had the lock has taken the file away: this is one without a name.
		if err := held.release(); err != nil {
			return nil, err
		}
	}
}

// wholeFile is a lock on all of a file, for one owner.
func wholeFile() *unix.Flock_t { return &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart} }

// take locks the file.
func (l *lock) take() error {
	err := unix.FcntlFlock(l.file.Fd(), unix.F_OFD_SETLK, wholeFile())
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		return errHeld
	case err != nil:
		return fmt.Errorf("lock %s: %w", l.name, err)
	}
	return nil
}

// remove removes the file and lets go of the lock, in this order: who waits for it
// sees that it is gone.
func (l *lock) remove() error {
	err := os.Remove(l.name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, l.release())
}

// release lets go of the lock, and leaves the file.
func (l *lock) release() error { return l.file.Close() }

// inspect reads the file of a run: whether there is one, whether it is locked, and
// the label in it. It takes no lock, so it is in nobody's way. The error is errOthers
// for a file with something else in it; an empty one was made to remove what its run
// has left.
func inspect(run uint32) (there, held bool, l label, err error) {
	f, err := os.Open(lockName(run))
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, label{}, nil
	}
	if err != nil {
		return false, false, label{}, err
	}
	defer f.Close()
	query := wholeFile()
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, query); err != nil {
		return true, false, label{}, fmt.Errorf("look at the lock of %s: %w", f.Name(), err)
	}
	b, err := io.ReadAll(io.LimitReader(f, 1024))
	if err != nil {
		return true, false, label{}, err
	}
	l, labelled := parseLabel(string(trimLine(b)))
	if len(b) > 0 && (!labelled || l.run != run) {
		return true, false, label{}, errOthers
	}
	return true, query.Type != unix.F_UNLCK, l, nil
}

// trimLine returns b without the newline at its end.
func trimLine(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		return b[:n-1]
	}
	return b
}
