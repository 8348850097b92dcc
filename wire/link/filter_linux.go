package link

import (
	"fmt"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// EtherType is the type of the Ethernet header in front of a datagram that is not an Ethernet frame
// itself: the first of the two that IEEE 802 leaves for local experiments.
const EtherType = 0x88B6

// wholeFrame is how much of a frame a filter lets pass: all of it.
const wholeFrame = 1 << 18

// encapsulated passes the frames with our EtherType.
func encapsulated() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 12, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: EtherType, SkipFalse: 1},
		bpf.RetConstant{Val: wholeFrame},
		bpf.RetConstant{Val: 0},
	}
}

// ending passes the frames whose last two bytes are tail, and where there are trains those that
// have our EtherType.
func ending(tail uint16, trains bool) []bpf.Instruction {
	filter := []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtLen},
		bpf.ALUOpConstant{Op: bpf.ALUOpSub, Val: 2},
		bpf.TAX{},
		bpf.LoadIndirect{Off: 0, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(tail), SkipFalse: 1},
		bpf.RetConstant{Val: wholeFrame},
	}
	if trains {
		return append(filter, encapsulated()...)
	}
	return append(filter, bpf.RetConstant{Val: 0})
}

// attach makes the kernel drop frames that a filter does not pass, before it takes room in
// the buffer of the socket.
func attach(fd int, filter []bpf.Instruction) error {
	raw, err := bpf.Assemble(filter)
	if err != nil {
		return fmt.Errorf("assemble a packet filter: %w", err)
	}
	program := unix.SockFprog{Len: uint16(len(raw)), Filter: (*unix.SockFilter)(unsafe.Pointer(unsafe.SliceData(raw)))}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program); err != nil {
		return fmt.Errorf("attach a packet filter: %w", err)
	}
	return nil
}
