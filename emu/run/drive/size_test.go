package drive

import (
	"testing"
	"unsafe"
)

// What a large fabric has many of stays small: paths two to a cache line, a frame in flight two
// lines, and a node half of one.
func TestSizesOfTheOrder(t *testing.T) {
	for _, c := range []struct {
		what      string
		size, max uintptr
	}{
		{"a path", unsafe.Sizeof(path{}), 32},
		{"a frame under way", unsafe.Sizeof(flight{}), 128},
		{"the place of a machine", unsafe.Sizeof(slotted{}), 32},
	} {
		if c.size > c.max {
			t.Errorf("%s: %d bytes, want at most %d", c.what, c.size, c.max)
		}
	}
}
