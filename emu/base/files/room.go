package files

import (
	"os"
	"sync"
)

// Reserve takes so many bytes of a folder's disk until release is called: what others write
// meanwhile leaves that much room. Where there is less, nothing is reserved. A file system that
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
	block := make([]byte, 64<<10)
	for ; bytes > 0; bytes -= len(block) {
		if _, err := f.Write(block); err != nil {
			release()
			break
		}
	}
	return release
}
