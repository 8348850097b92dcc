//go:build !unix

package report

import "os"

// lockFolder locks nothing: this system has no locks on folders.
func lockFolder(*os.File) (locked bool, err error) { return false, nil }
