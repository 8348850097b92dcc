//go:build !unix

package host

import "os"

// Unread reports nothing: this system has no signal of pipes.
func Unread(*os.File) bool { return false }
