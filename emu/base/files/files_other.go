//go:build !unix

package files

import "os"

// lockFolder locks nothing: this system has no locks on folders.
func lockFolder(f *os.File, shared bool) (locked bool, err error) { return false, nil }

// Nameless returns nil: this system has no files without a name.
func Nameless() *os.File { return nil }

// syncFolder does nothing: this system flushes no folders.
func syncFolder(string) error { return nil }
