package node

import (
	"testing"
	"unsafe"
)

// Structs of which a large fabric has many stay small, and the fields that each frame needs are
// adjacent.
func TestSizesOfAnEndpoint(t *testing.T) {
	var e Endpoint
	var s source
	for _, c := range []struct {
		what      string
		size, max uintptr
	}{
		{"what a flow control packet needs of an endpoint", unsafe.Offsetof(e.owesControl) + 1, 192},
		{"what a packet needs of an endpoint", unsafe.Offsetof(e.ready) + unsafe.Sizeof(e.ready), 352},
		{"an endpoint", unsafe.Sizeof(e), 792},
		{"what an ACK needs of a flow", unsafe.Offsetof(s.pacer) + unsafe.Sizeof(s.pacer), 64},
		{"a flow at its source", unsafe.Sizeof(s), 664},
		{"a flow at its destination", unsafe.Sizeof(sink{}), 104},
	} {
		if c.size > c.max {
			t.Errorf("%s: %d bytes, want at most %d", c.what, c.size, c.max)
		}
	}
}
