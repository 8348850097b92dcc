package host

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// LateGC delays the first garbage collection until 32 MB are in use, instead of Go's 4 MB. A
// scenario that was read stays in memory, so an earlier collection takes time and frees little. The
// first collection, or release, restores the usual setting, so that large scenarios take no more
// memory. A GOGC of the user's own stays as it is.
func LateGC() (release func()) {
	const usual, late = 100, 800 // percent; of 4 MB at the first collection
	if percent := debug.SetGCPercent(late); percent != usual {
		debug.SetGCPercent(percent)
		return func() {}
	}
	release = sync.OnceFunc(func() { debug.SetGCPercent(usual) })
	runtime.AddCleanup(new([64]byte), func(release func()) { release() }, release)
	return release
}

// HoldGC keeps the garbage collector from running, unless memory grows by 1 GiB
// over the present use, and returns the function that restores it. A run does
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
