package port

import (
	"testing"
	"unsafe"
)

// "It is small, because a large fabric has many ports."
func TestSizeOfAPort(t *testing.T) {
	var p Port
	if size := unsafe.Sizeof(p); size > 96 {
		t.Errorf("a port has %d bytes; want 96 at most", size)
	}
	if size := unsafe.Sizeof(VirtualLanes{}); size > 64 {
		t.Errorf("its credits have %d bytes; want a cache line", size)
	}
	var s Pausing
	if until := unsafe.Offsetof(s.until) + unsafe.Sizeof(s.until[0]); until > 64 || unsafe.Sizeof(s) > 208 {
		t.Errorf("what PAUSE needs of an Ethernet port ends at %d of %d bytes; want 64 of 208 at most", until, unsafe.Sizeof(s))
	}
}
