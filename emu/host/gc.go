package host

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// LateGC has the garbage collector begin when 32 MB are in use, and not at the 4 MB of Go: a scenario that is
// read is kept, so that to look in between for what is not takes time and frees little. It goes on as usual
// from the first collection on, so that large scenarios take no more memory, or when release is called.
// Where GOGC says how it is to be, that is so.
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
