package guest

import "fabemu/emu/run/guest/offload"

// How long, in ns, a packet may wait for the next one of its connection. Network cards wait like
// this between two interrupts. A packet that is late already waits longer: so fewer calls of the
// kernel move more packets, and the loop catches up.
const (
	holdLeast = 64_000
	holdMost  = 4_096_000
)

// card is the network card of a real guest: its device, and the tasks that its kernel leaves to a
// card.
type card struct {
	device  port
	clock   func() int64
	cut     offload.Cutter
	join    offload.Joiner
	buf     []byte
	strange uint64 // packets whose header of virtual networks cannot be: the root of a guest can write such
	refused int64  // packets that the kernel did not take, since the last flush
	failed  error
}

func newCard(d port, ethernet bool, clock func() int64) *card {
	c := &card{device: d, clock: clock, buf: make([]byte, offload.MaxSize), cut: offload.Cutter{Ethernet: ethernet}}
	c.join = offload.Joiner{Ethernet: ethernet, Write: func(b []byte, packets int) {
		taken, err := d.Write(b)
		if c.failed == nil {
			c.failed = err
		}
		if !taken {
			c.refused += int64(packets)
		}
	}}
	return c
}

// Read reads the next packet of the guest; 0: there is none.
func (c *card) Read(b []byte) (int, error) {
	for {
		if n := c.cut.Next(b); n > 0 {
			return n, nil
		}
		n, err := c.device.Read(c.buf)
		if n == 0 || err != nil {
			return 0, err
		}
		if c.cut.Cut(c.buf[:n]) != nil {
			c.strange++
		}
	}
}

// Dropped returns how many packets of the guest did not come, and how many its kernel dropped on
// the path in.
func (c *card) Dropped() (sent, received uint64, err error) {
	sent, received, err = c.device.Dropped()
	return sent + c.strange, received, err
}

// Write gives the guest a packet, now or soon.
func (c *card) Write(b []byte) (bool, error) {
	c.join.Add(b, c.clock())
	return true, c.failed
}

// flush gives the guest the packets that have waited for long enough, and returns how many its
// kernel has not taken since the last call.
func (c *card) flush(now int64) (refused int64, err error) {
	c.join.Flush(now - c.join.Hold)
	refused, err = c.refused, c.failed
	c.refused, c.failed = 0, nil
	return refused, err
}
