package guest

import (
	"bytes"
	"errors"
	"testing"

	"fabemu/emu/run/guest/offload"
)

// refusing is a device whose kernel takes nothing.
type refusing struct{ fake }

func (*refusing) Write([]byte) (bool, error) { return false, nil }

// TestCard: packets are behind a header of virtual networks at the device, and without one at the
// fabric; a packet that waits is written when its time has come.
func TestCard(t *testing.T) {
	now := int64(1e9)
	d := &fake{}
	c := newCard(d, false, func() int64 { return now })
	p := packet(t, [4]byte{10, 0, 0, 2}, 0, 100)
	d.sent = [][]byte{append(make([]byte, offload.HeaderSize), p...)}
	b := make([]byte, 2000)
	if n, err := c.Read(b); err != nil || !bytes.Equal(b[:n], p) {
		t.Errorf("read %x, %v; want %x", b[:n], err, p)
	}
	if n, err := c.Read(b); n != 0 || err != nil {
		t.Errorf("read %d bytes more, %v", n, err)
	}
	if taken, err := c.Write(p); !taken || err != nil {
		t.Errorf("written: %t, %v", taken, err)
	}
	if len(d.received) != 1 || !bytes.Equal(d.received[0][offload.HeaderSize:], p) {
		t.Errorf("the device got %x", d.received)
	}
	strange := append(make([]byte, offload.HeaderSize), p...)
	strange[1] = 5 // a large segment of UDP
	d.sent = [][]byte{{1, 2, 3}, strange, append(make([]byte, offload.HeaderSize), p...)}
	if n, err := c.Read(b); err != nil || !bytes.Equal(b[:n], p) {
		t.Errorf("behind strange packets: %x, %v; want %x", b[:n], err, p)
	}
	if sent, _, err := c.Dropped(); sent != 7+2 || err != nil {
		t.Errorf("dropped %d, %v", sent, err)
	}
}

// TestCardCountsRefusedPackets: a packet that the kernel does not take is counted once, and an
// error of the device is returned once.
func TestCardCountsRefusedPackets(t *testing.T) {
	c := newCard(&refusing{}, false, func() int64 { return 0 })
	_, _ = c.Write(packet(t, [4]byte{10, 0, 0, 2}, 0, 100))
	for _, want := range []int64{1, 0} {
		if refused, err := c.flush(0); refused != want || err != nil {
			t.Errorf("refused %d, %v; want %d", refused, err, want)
		}
	}
	c.failed = errors.New("gone")
	if _, err := c.flush(0); err == nil {
		t.Error("no error")
	}
	if _, err := c.flush(0); err != nil {
		t.Errorf("the error comes again: %v", err)
	}
}
