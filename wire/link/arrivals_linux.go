package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// arrivals is memory that a packet socket shares with the kernel (PACKET_RX_RING): places of one size, which the
// kernel fills in turn. No call of the system is needed to look whether a frame has come, nor to read it.
type arrivals struct {
	memory []byte
	size   int  // of a place
	of     int  // places in a block; none lies in two
	block  int  // bytes of a block
	n      int  // places
	at     int  // the oldest place that has not been given back
	taken  bool // its frame has been returned
}

// newArrivals makes the kernel put all arrivals into memory: room for opts.Ring frames of opts.Largest bytes,
// or a few more. It returns nil where the kernel has no memory to spare.
func newArrivals(fd int, opts VethOptions) (*arrivals, error) {
	const align, front = unix.TPACKET_ALIGNMENT, unix.SizeofTpacket2Hdr + unix.SizeofSockaddrLinklayer
	a := &arrivals{}
	// In front of a frame there are the kernel's data about it, and the room of a header of Ethernet and a little more.
	a.size = (front+align-1)/align*align + align + (headerSize+tagSize+opts.Largest+align-1)/align*align
	a.block = 1 << bits.Len(uint(max(a.size, 1<<16)-1))
	a.of = a.block / a.size
	blocks := (opts.Ring + a.of - 1) / a.of
	a.n = blocks * a.of
	request := unix.TpacketReq{
		Block_size: uint32(a.block), Block_nr: uint32(blocks), Frame_size: uint32(a.size), Frame_nr: uint32(a.n),
	}
	err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V2)
	if err == nil {
		err = unix.SetsockoptTpacketReq(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &request)
	}
	if errors.Is(err, unix.ENOMEM) {
		return nil, nil
	}
	if err == nil {
		a.memory, err = unix.Mmap(fd, 0, blocks*a.block, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		return nil, fmt.Errorf("have the kernel put %d frames of %d bytes into memory: %w", a.n, opts.Largest, err)
	}
	return a, nil
}

// place returns the oldest place that has not been given back.
func (a *arrivals) place() []byte {
	from := a.at/a.of*a.block + a.at%a.of*a.size
	return a.memory[from : from+a.size]
}

// release gives the place of the last frame back.
func (a *arrivals) release() {
	if a.taken {
		atomic.StoreUint32(&(*unix.Tpacket2Hdr)(unsafe.Pointer(&a.place()[0])).Status, unix.TP_STATUS_KERNEL)
		a.at = (a.at + 1) % a.n
		a.taken = false
	}
}

// next releases the last frame and returns the next one, from its first address on, or nil; and whether it is
// there as a whole. The kernel takes the tag of 802.1Q out of a frame; it is put back.
func (a *arrivals) next() (frame []byte, whole bool) {
	a.release()
	place := a.place()
	head := (*unix.Tpacket2Hdr)(unsafe.Pointer(&place[0]))
	status := atomic.LoadUint32(&head.Status)
	if a.taken = status&unix.TP_STATUS_USER != 0; !a.taken {
		return nil, false
	}
	from := int(head.Mac)
	frame = place[from : from+int(head.Snaplen)]
	if status&unix.TP_STATUS_VLAN_VALID != 0 && len(frame) >= addresses {
		kind := uint16(unix.ETH_P_8021Q)
		if status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
			kind = head.Vlan_tpid
		}
		frame = place[from-tagSize : from+int(head.Snaplen)] // the place has room in front: see newArrivals
		copy(frame[:addresses], frame[tagSize:])
		binary.BigEndian.PutUint32(frame[addresses:], uint32(kind)<<16|uint32(head.Vlan_tci))
	}
	return frame, head.Snaplen == head.Len
}
