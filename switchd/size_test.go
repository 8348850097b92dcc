package switchd

import (
	"testing"
	"unsafe"
)

// What a large fabric has many of keeps to whole cache lines of 64 bytes. A slice begins with a
// line, or 8 bytes behind its beginning if it has pointers.
func TestSizesOfASwitch(t *testing.T) {
	var s Switch
	var o output
	var in input
	for _, c := range []struct {
		what      string
		size, max uintptr
	}{
		{"the input side of a port", unsafe.Sizeof(ingress{}), 64},
		{"the output side of a port", unsafe.Sizeof(egress{}), 64},
		{"a frame in a buffer", unsafe.Sizeof(slot{}), 128},
		{"what a chassis needs for each event", unsafe.Offsetof(s.touched) + unsafe.Sizeof(s.touched), 128},
		{"what a switch needs for each event", unsafe.Offsetof(s.delay) + unsafe.Sizeof(s.delay), 320},
		{"a switch", unsafe.Sizeof(s), 512},
		{"what each frame needs of an output that queues", unsafe.Offsetof(o.queue) + unsafe.Offsetof(o.queue[0].frames), 64},
		{"the output side of a port that queues", unsafe.Sizeof(o), 256},
		{"what a planned frame needs of an input", unsafe.Offsetof(in.arriving), 56},
		{"the input side of a port that queues", unsafe.Sizeof(in), 64},
		{"what a planned frame needs of an output", unsafe.Sizeof(belt{}), 56},
	} {
		if c.size > c.max {
			t.Errorf("%s: %d bytes, want at most %d", c.what, c.size, c.max)
		}
	}
}
