package netns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

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

// lockWait is how long another process may have a lock that this one needs: some
// milliseconds as a rule.
const lockWait = 5 * time.Second

// await tries to lock a file until it can, for lockWait at most. The error names the
// processes that hold the lock.
func await(ctx context.Context, f *os.File, lock func() error) error {
	for end := time.Now().Add(lockWait); ; {
		err := lock()
		switch {
		case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES):
			return err
		case time.Now().After(end):
			return fmt.Errorf("%s has been locked for %v%s", f.Name(), lockWait, holders(f))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// holders names the processes that hold a lock on a file, as far as the kernel shows them:
// it lists locks with the open files of a process.
func holders(f *os.File) string {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return ""
	}
	file := fmt.Sprintf(" %02x:%02x:%d ", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	var names []string
	open, _ := filepath.Glob("/proc/[0-9]*/fdinfo/*")
	for _, path := range open {
		info, _ := os.ReadFile(path) // it may be closed by now
		if i := bytes.Index(info, []byte("\nlock:")); i < 0 || !bytes.Contains(info[i:], []byte(file)) {
			continue
		}
		process := filepath.Dir(filepath.Dir(path))
		name, _ := os.ReadFile(filepath.Join(process, "comm"))
		names = append(names, fmt.Sprintf("process %s (%s)", filepath.Base(process), bytes.TrimSpace(name)))
	}
	if len(names) == 0 {
		return ""
	}
	return " by " + strings.Join(slices.Compact(names), ", ")
}

// errOthers reports that a file in runDir is not of this program, in spite of its name.
var errOthers = errors.New("this file has no label of ours")

// lock is the lock of a run, held. The kernel releases it of it when the process ends,
// however it does; children do not inherit it.
type lock struct {
	file *os.File
	name string
}

// makeRunDir makes runDir, for its owner only: a process that can open a file can lock it,
// and the lock of a file shows that a run lives.
func makeRunDir() error {
	if err := os.MkdirAll(runDir, 0o700); err != nil {
		return err
	}
	return os.Chmod(runDir, 0o700) // it may have been there
}

// claim makes the file of a new run, locked, with its label.
func claim(l label) (*lock, error) {
	if err := makeRunDir(); err != nil {
		return nil, err
	}
	held, err := newLock(l.run, l.String()+"\n")
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("a run with the id %08x is there already, or has left %s: start this one again, it will have another id",
			l.run, lockName(l.run))
	}
	return held, err
}

// newLock makes the file of a run with a text. It is locked when it gets its name: without a lock
// another process would take the run for a dead one. The error is fs.ErrExist if there is one.
func newLock(run uint32, text string) (held *lock, err error) {
	name := lockName(run)
	fd, err := unix.Open(runDir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	nameless := err == nil
	if !nameless { // a file system without such files
		fd, err = unix.Open(name, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	held = &lock{file: os.NewFile(uintptr(fd), name), name: name}
	err = held.tryLock()
	if err == nil {
		_, err = held.file.WriteString(text)
	}
	if err == nil && nameless {
		err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
	}
	if err == nil {
		return held, nil
	}
	if !nameless {
		err = errors.Join(err, os.Remove(name))
	}
	return nil, errors.Join(err, held.release())
}

// seize locks the file of a run, and makes it if there is none, with its folder: the namespaces of
// a dead run can be all that is left. Another process that removes the same run holds the lock for
// a moment.
func seize(ctx context.Context, run uint32) (*lock, error) {
	if err := makeRunDir(); err != nil {
		return nil, err
	}
	for {
		f, err := os.OpenFile(lockName(run), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			held, err := newLock(run, "")
			if errors.Is(err, fs.ErrExist) {
				continue // another process was faster
			}
			return held, err
		}
		if err != nil {
			return nil, err
		}
		held := &lock{file: f, name: f.Name()}
		if err := await(ctx, f, held.tryLock); err != nil {
			return nil, errors.Join(err, held.release())
		}
		mine, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, held.release())
		}
		if named, err := os.Stat(held.name); err == nil && os.SameFile(mine, named) {
			return held, nil
		}
		// The last holder has removed the file: this one has no name any more.
		if err := held.release(); err != nil {
			return nil, err
		}
	}
}

// tryLock locks the file, if no other process has.
func (l *lock) tryLock() error {
	err := unix.FcntlFlock(l.file.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart})
	if err != nil {
		return fmt.Errorf("lock %s: %w", l.name, err)
	}
	return nil
}

// end removes the file, unless something of the run could not be removed, and releases it of the
// lock afterwards: a process that waits for the lock sees then that the file is gone.
func (l *lock) end(wrong error) error {
	if wrong == nil {
		if wrong = os.Remove(l.name); errors.Is(wrong, fs.ErrNotExist) {
			wrong = nil
		}
	}
	return errors.Join(wrong, l.release())
}

// mostLock is how much of the file of a run is read.
const mostLock = 1 << 20

// attach records in the file of a run, behind its label, the path of a namespace that was there
// before it.
func (l *lock) attach(path string) error {
	_, err := fmt.Fprintln(l.file, path)
	return err
}

// attachedTo returns the paths that attach has recorded.
func attachedTo(run uint32) []string {
	f, err := os.OpenFile(lockName(run), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil // the run has just ended
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, mostLock))
	all := strings.Split(string(b), "\n")
	return slices.DeleteFunc(all[1:], func(path string) bool { return !filepath.IsAbs(path) })
}

// release releases it of the lock, and leaves the file.
func (l *lock) release() error { return l.file.Close() }

// inspect reads the file of a run: whether it exists, whether it is locked, and the label
// in it. It takes no lock, so it blocks no other process. The error is errOthers for a file
// with something else in it. An empty file was made to remove the traces of its run.
func inspect(run uint32) (there, held bool, l label, err error) {
	f, err := os.OpenFile(lockName(run), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, label{}, nil
	}
	if err != nil {
		return false, false, label{}, err
	}
	defer f.Close()
	// Only the lock of a writer is in the way of a reader, and only that lock shows that
	// the run lives.
	query := &unix.Flock_t{Type: unix.F_RDLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, query); err != nil {
		return true, false, label{}, fmt.Errorf("look at the lock of %s: %w", f.Name(), err)
	}
	b, err := io.ReadAll(io.LimitReader(f, mostLock))
	if err != nil {
		return true, false, label{}, err
	}
	first, _, _ := strings.Cut(string(b), "\n")
	l, labelled := parseLabel(first)
	if len(b) > 0 && (!labelled || l.run != run) {
		return true, false, label{}, errOthers
	}
	if query.Type == unix.F_UNLCK { // it may have been removed since it was opened
		mine, err := f.Stat()
		named, gone := os.Stat(f.Name())
		if err == nil && (gone != nil || !os.SameFile(mine, named)) {
			return false, false, label{}, nil
		}
	}
	return true, query.Type != unix.F_UNLCK, l, nil
}
