package doctor

import "golang.org/x/sys/unix"

// openFiles returns how many files this process may have open, and how far it may raise
// that.
func openFiles() (now, most uint64, err error) {
	var files unix.Rlimit
	err = unix.Getrlimit(unix.RLIMIT_NOFILE, &files)
	return files.Cur, files.Max, err
}
