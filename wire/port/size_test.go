package port

import (
	"testing"
	"unsafe"
)

// "It is two cache lines: a large fabric has many."
func TestSizeOfAPort(t *testing.T) {
	var p Port
	if size, second := unsafe.Sizeof(p), unsafe.Offsetof(p.due); size != 128 || second != 64 {
		t.Errorf("a port has %d bytes, and what frames that leave need begins at %d; want 128 and 64", size, second)
	}
	var s pausing
	if until := unsafe.Offsetof(s.until) + unsafe.Sizeof(s.until[0]); until > 64 || unsafe.Sizeof(s) > 208 {
		t.Errorf("what PAUSE needs of an Ethernet port ends at %d of %d bytes; want 64 of 208 at most", until, unsafe.Sizeof(s))
	}
}
