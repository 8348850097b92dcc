package switchd

import (
	"testing"
	"unsafe"
)

// What a large fabric has many of keeps to whole cache lines of 64 bytes.
func TestSizesOfASwitch(t *testing.T) {
	var s Switch
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
		{"the output side of a port that queues", unsafe.Sizeof(output{}), 312},
		{"what an input has taken of it", unsafe.Sizeof(occupancy{}), 16},
	} {
		if c.size > c.max {
			t.Errorf("%s: %d bytes, want at most %d", c.what, c.size, c.max)
		}
	}
}
