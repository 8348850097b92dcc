//go:build unix

package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// lockFolder locks a folder that is open, alone or shared with others, and reports whether
// it could: some file systems have no locks. The error is ErrHeld if another process has it
// locked in a way that keeps this one out.
func lockFolder(f *os.File, shared bool) (locked bool, err error) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, ErrHeld
	}
	return err == nil, nil
}

// Nameless returns a file for temporary data that is in no folder, so nothing is left of it when
// the process ends, even if it is killed. It returns nil if it cannot make one.
func Nameless() *os.File {
	f, err := os.CreateTemp("", "fabemu-")
	if err != nil {
		return nil
	}
	if os.Remove(f.Name()) != nil {
		f.Close()
		return nil
	}
	return f
}

// syncFolder brings the names in a folder to the disk, where the file system can.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil // a folder that may be written to and not read
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
