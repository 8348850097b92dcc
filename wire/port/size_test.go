package port

import (
	"testing"
	"unsafe"
)

// A slice of ports begins at a cache line, or 8 bytes behind it: what each frame needs of a port is
// in one line, and a port has two.
func TestSizeOfAPort(t *testing.T) {
	var p Port
	if hot, size := unsafe.Offsetof(p.armed)+1, unsafe.Sizeof(p); hot > 56 || size != 128 {
		t.Errorf("what each frame needs of a port ends at %d of %d bytes; want at most 56 of 128", hot, size)
	}
	if size := unsafe.Sizeof(VirtualLanes{}); size > 64 {
		t.Errorf("its credits have %d bytes; want a cache line", size)
	}
	var s Pausing
	if until := unsafe.Offsetof(s.until) + unsafe.Sizeof(s.until[0]); until > 64 || unsafe.Sizeof(s) > 208 {
		t.Errorf("what PAUSE needs of an Ethernet port ends at %d of %d bytes; want 64 of 208 at most", until, unsafe.Sizeof(s))
	}
}
