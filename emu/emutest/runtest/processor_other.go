//go:build !linux

package runtest

import (
	"testing"
	"time"
)

// ProcessorTime skips the test.
func ProcessorTime(t testing.TB) time.Duration {
	t.Helper()
	t.Skip("processor time is measured on Linux")
	return 0
}
