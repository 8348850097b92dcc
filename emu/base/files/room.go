package files

import (
	"os"
	"sync"
)

// Reserve takes so many bytes of a folder's disk until release is called: what others write
// meanwhile leaves that much room. It takes at most half of what there is. A file system that
// compresses may reserve less.
func Reserve(dir string, bytes int) (release func()) {
	f, err := os.CreateTemp(dir, ".room-")
	if err != nil {
		return func() {}
	}
	nameless := os.Remove(f.Name()) == nil // nothing is left of it when the process is killed
	release = sync.OnceFunc(func() {
		f.Close()
		if !nameless {
			os.Remove(f.Name())
		}
	})
	block, taken := make([]byte, 64<<10), int64(0)
	for err == nil && taken < 2*int64(bytes) {
		var n int
		n, err = f.Write(block)
		taken += int64(n)
	}
	if f.Truncate(taken/2) != nil {
		release()
	}
	return release
}
