package link_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"fabemu/emu/host/netns"
	"fabemu/wire/link"
	"fabemu/wire/unit"
)

// A train is one call of the system, up to 64 datagrams and 64 KiB, whatever their sizes.
func TestATrainIsOneCall(t *testing.T) {
	a, b := trainPair(t, link.UDPOptions{Buffer: 4 * unit.MiB})
	want := map[string]uint64{
		"one more than a packet": 2, "many": 4, "the longest": 3, "a byte longer": 2,
	}
	for name, train := range trains() {
		before := a.Counts()
		put(t, a, train)
		came(t, b, train)
		if n := a.Counts().Trains - before.Trains; n != max(1, want[name]) {
			t.Errorf("%s: %d datagrams in %d trains, want %d", name, len(train), n, max(1, want[name]))
		}
	}
}

// On the wire a packet has its datagrams, their lengths, their number and a zero. A datagram that
// leaves by itself is a packet as it is.
func TestTrainOnTheWire(t *testing.T) {
	a, b := trainPair(t, link.UDPOptions{})
	put(t, a, [][]byte{[]byte("one")})
	put(t, a, [][]byte{[]byte("one"), bytes.Repeat([]byte{7}, 258), {9}})
	want := [][]byte{
		[]byte("one"),
		slices.Concat([]byte("one"), bytes.Repeat([]byte{7}, 258), []byte{9}, []byte{0, 3, 1, 2, 0, 1, 3, 0}),
	}
	buf := make([]byte, 1<<16)
	for i, want := range want {
		if n, err := unix.Read(b.FD(), buf); err != nil || !bytes.Equal(buf[:max(n, 0)], want) {
			t.Errorf("packet %d came as % x, %v, want % x", i, buf[:max(n, 0)], err, want)
		}
	}
}

// refused calls f with a kernel that refuses to send.
func refused(t *testing.T, errno unix.Errno, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine, and with it the filter
		err := forbid(unix.SYS_SENDTO, errno)
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Skipf("a filter of system calls is not to be had: %v", err)
	}
}

// forbid has a system call of this thread fail.
func forbid(call uint32, errno unix.Errno) error {
	raw, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(raw)), Filter: (*unix.SockFilter)(unsafe.Pointer(unsafe.SliceData(raw)))}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}

// A train that finds no room waits. The next call begins with less, and nothing is lost or
// overtaken.
func TestTrainThatFindsNoRoomWaits(t *testing.T) {
	for _, errno := range []unix.Errno{unix.EAGAIN, unix.ENOBUFS} {
		a, b := trainPair(t, link.UDPOptions{Buffer: 4 * unit.MiB})
		train := trainOf(100, mixes[0].size)
		fill(t, a, train)
		refused(t, errno, func() {
			for range 3 {
				if left, err := flush(a); left != 100 || !errors.Is(err, link.ErrFull) {
					t.Errorf("%v: Flush left %d: %v, want 100 and %v", errno, left, err, link.ErrFull)
				}
			}
		})
		put(t, a, train[:1]) // behind what waits
		came(t, b, append(train, train[0]))
		// 64, 32 and 16 were refused; 8, 16, 32 and the 45 that are left go.
		if c := a.Counts(); c.Full != 3 || c.Trains != 4 || c.Datagrams != 101 {
			t.Errorf("%v: counted %+v, want 101 datagrams in 4 trains, full 3 times", errno, c)
		}
	}
}

// The report that the peer is closed takes the place of a train, which waits for the next call.
func TestTrainToAClosedEndWaits(t *testing.T) {
	a, b := trainPair(t, link.UDPOptions{})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	fill(t, a, trainOf(5, mixes[0].size))
	left, err := a.Flush()
	for end := time.Now().Add(patience); err == nil && time.Now().Before(end); left, err = a.Flush() {
		if left != 0 {
			t.Fatalf("Flush left %d and said nothing", left)
		}
		fill(t, a, trainOf(5, mixes[0].size))
	}
	if left != 5 || !link.IsICMP(err) {
		t.Errorf("Flush left %d: %v, want 5 and %v", left, err, link.ErrPeerClosed)
	}
	if left, err := a.Flush(); left != 0 || err != nil {
		t.Errorf("the call after the report left %d: %v", left, err)
	}
}

// A packet from outside is a datagram, or a train whose lengths agree with it, or it is counted as
// foreign. Nothing else comes out, and what comes behind it still does. With the rights for
// namespaces a packet also crosses a veth pair, behind an Ethernet header.
func FuzzTrain(f *testing.F) {
	f.Add([]byte{1})
	f.Add([]byte{0})
	f.Add([]byte{1, 0})
	f.Add([]byte("a train\x00\x01\x00\x06\x02\x00"))
	f.Add([]byte("a train\x00\x00\x00\x07\x02\x00")) // one has no bytes
	f.Add([]byte("a train\x00\x01\x00\x07\x02\x00")) // a byte is missing
	f.Add([]byte("a train\x00\x01\x00\x05\x02\x00")) // a byte is left
	f.Add([]byte("a train\x00\x07\xff\x00"))         // the lengths are not there
	a, b := trainPair(f, link.UDPOptions{Buffer: 4 * unit.MiB})
	var c, d vethTrain
	if netns.Missing() == nil {
		c, d = vethTrains(f, link.VethMTU, link.VethOptions{Buffer: 4 * unit.MiB})
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		if len(packet) == 0 || len(packet) > link.MaxDatagram {
			return
		}
		crossesAsTrain(t, a, b, packet, nil)
		if d.Train != nil {
			crossesAsTrain(t, c.Train, d.Train, packet, frame(c.port, link.EtherType))
		}
	})
}

// crossesAsTrain sends a packet behind some bytes, and compares what it is taken for with what it
// is.
func crossesAsTrain(t *testing.T, a, b *link.Train, packet, front []byte) {
	t.Helper()
	foreign := b.Foreign()
	if _, err := unix.SendmsgN(a.FD(), append(front, packet...), nil, nil, 0); err != nil {
		t.Fatal(err)
	}
	mark := []byte("the mark behind it")
	send(t, a, mark)
	var all, lengths []byte
	n := 0
	got := next(t, b)
	for ; !bytes.Equal(got, mark); got = next(t, b) {
		n++
		all = append(all, got...)
		lengths = binary.BigEndian.AppendUint16(lengths, uint16(len(got)))
	}
	whole := slices.Concat(all, lengths, []byte{byte(n), 0})
	switch {
	case bytes.Equal(packet, mark), n == 1 && packet[len(packet)-1] != 0 && bytes.Equal(all, packet):
	case n > 0 && n < 256 && bytes.Equal(whole, packet):
	case n == 0 && packet[len(packet)-1] == 0 && b.Foreign() == foreign+1:
	default:
		t.Fatalf("% x came as %d datagrams, %d more foreign", packet, n, b.Foreign()-foreign)
	}
}
