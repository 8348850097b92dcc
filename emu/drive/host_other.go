//go:build !linux

package drive

// Monotonic returns a clock of this process: others have their own here.
func Monotonic() func() int64 { return monotonic() }

func shortenSlack() {}

func raiseThread() (restore func()) { return func() {} }
