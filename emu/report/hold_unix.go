//go:build unix

package report

import (
	"errors"
	"os"
	"syscall"
)

// lockFolder locks a folder that is open, and reports whether it could: some file
// systems have no locks. The error is ErrHeld if another process has it locked.
func lockFolder(f *os.File) (locked bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, ErrHeld
	}
	return err == nil, nil
}
