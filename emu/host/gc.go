package host

import (
	"runtime"
	"runtime/debug"
)

// HoldGC keeps the garbage collector from running, unless memory grows by 1 GiB
// over what is in use, and returns the function that lets it go again. A run does
// not allocate in its steady state, but other goroutines may.
func HoldGC() (release func()) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	limit := debug.SetMemoryLimit(-1)
	percent := debug.SetGCPercent(-1)
	debug.SetMemoryLimit(min(limit, int64(m.Sys)+1<<30))
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}
