package link_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"fabemu/wire/link"
	"fabemu/wire/unit"
)

// segmented skips where the kernel has no segmentation: the tests of trains without it remain.
func segmented(t testing.TB, l *link.Train) {
	t.Helper()
	if !l.Segments() {
		t.Skip("this kernel has no UDP_SEGMENT")
	}
}

// A train is one call of the system, up to 64 datagrams and 64 KiB, whatever their sizes.
func TestATrainIsOneCall(t *testing.T) {
	a, b := trainPair(t, link.UDPOptions{Buffer: 4 * unit.MiB})
	segmented(t, a)
	want := map[string]uint64{
		"growing": 2, "shrinking": 2, "one more than a packet": 2, "many": 9, "the longest": 3, "a byte longer": 2,
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

// To the kernel each datagram of a train is a datagram: a socket that knows no trains receives them one by one.
func TestEachDatagramOfATrainIsOneOfUDP(t *testing.T) {
	a, b := trainPair(t, link.UDPOptions{Buffer: 4 * unit.MiB})
	segmented(t, a)
	if err := unix.SetsockoptInt(b.FD(), unix.SOL_UDP, unix.UDP_GRO, 0); err != nil {
		t.Fatal(err)
	}
	train := trainOf(10, mixes[2].size)
	put(t, a, train)
	buf := make([]byte, 1<<16)
	for i, want := range train {
		n, err := unix.Read(b.FD(), buf)
		if err != nil {
			t.Fatal(err)
		}
		size := 2138
		if i == len(train)-1 {
			size = len(want)
		}
		if n != size || !bytes.HasPrefix(buf[:n], want) || len(bytes.Trim(buf[len(want):n], "\x00")) > 0 {
			t.Errorf("datagram %d came with %d bytes, want %d: %d and zeros", i, n, size, len(want))
		}
	}
}

func TestSegmentsSaysWhetherTheKernelTakesTrains(t *testing.T) {
	a, b := trainPair(t, link.UDPOptions{Single: true})
	if a.Segments() || b.Segments() {
		t.Error("an end that was asked to send each datagram by itself says that it sends trains")
	}
	train := trainOf(10, mixes[2].size)
	put(t, a, train)
	came(t, b, train)
	if c := a.Counts(); c.Trains != 10 || c.Datagrams != 10 {
		t.Errorf("counted %+v, want each datagram by itself", c)
	}
}

// refused calls f with a kernel that refuses sendmsg, and with it every train, but not a single datagram.
func refused(t *testing.T, errno unix.Errno, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine, and with it the filter
		err := forbid(unix.SYS_SENDMSG, errno)
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

// A device without segmentation is found with the first train: that leaves datagram by datagram.
func TestTrainFallsBackWhereTheKernelRefusesIt(t *testing.T) {
	for _, errno := range []unix.Errno{unix.EIO, unix.EINVAL, unix.EOPNOTSUPP} {
		a, b := trainPair(t, link.UDPOptions{Buffer: 4 * unit.MiB})
		segmented(t, a)
		train := trainOf(10, mixes[2].size)
		refused(t, errno, func() { put(t, a, train) })
		came(t, b, train)
		if c := a.Counts(); a.Segments() || c.Trains != 10 || c.Datagrams != 10 {
			t.Errorf("%v: segments %v, counted %+v, want each datagram by itself", errno, a.Segments(), c)
		}
	}
}

// A train that finds no room waits; the next call begins with less, and nothing is lost or overtaken. A part of
// it has left: the first datagram, which fills a packet.
func TestTrainThatFindsNoRoomWaits(t *testing.T) {
	for _, errno := range []unix.Errno{unix.EAGAIN, unix.ENOBUFS} {
		a, b := trainPair(t, link.UDPOptions{Buffer: 4 * unit.MiB})
		segmented(t, a)
		train := append([][]byte{pattern(link.MaxDatagram, 1)}, trainOf(100, mixes[0].size)...)
		fill(t, a, train)
		refused(t, errno, func() {
			for range 3 {
				if left, err := flush(a); left != 100 || !errors.Is(err, link.ErrFull) {
					t.Errorf("%v: Flush left %d: %v, want 100 and %v", errno, left, err, link.ErrFull)
				}
			}
		})
		came(t, b, train[:1])
		put(t, a, train[:1]) // behind what waits
		came(t, b, append(train[1:], train[0]))
		// 64, 32 and 16 were refused; 8, 16, 32 and the 44 that are left go, then the longest.
		if c := a.Counts(); c.Full != 3 || c.Trains != 6 || c.Datagrams != 102 {
			t.Errorf("%v: counted %+v, want 102 datagrams in 6 trains, full 3 times", errno, c)
		}
	}
}

// The report that nobody is there takes the place of a train, which waits for the next call.
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

// The kernel hands a packet over as it was sent. Whatever its bytes and the size of its segments are, what Next
// returns is its segments without zeros at their ends.
func FuzzTrain(f *testing.F) {
	f.Add([]byte{1}, uint16(1))
	f.Add([]byte{0}, uint16(1))
	f.Add(pattern(1000, 1), uint16(98))
	f.Add(append(make([]byte, 300), 7, 0, 0), uint16(100))
	f.Add(append(pattern(300, 1), make([]byte, 300)...), uint16(200))
	a, b := trainPair(f, link.UDPOptions{Buffer: 4 * unit.MiB})
	segmented(f, a)
	f.Fuzz(func(t *testing.T, bytesOf []byte, segment uint16) {
		if len(bytesOf) == 0 || len(bytesOf) > link.MaxDatagram {
			return
		}
		control := make([]byte, unix.CmsgSpace(2))
		if segment > 0 && len(bytesOf) > int(segment) {
			if len(bytesOf) > 64*int(segment) {
				return // the kernel refuses it
			}
			head := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
			head.Level, head.Type = unix.SOL_UDP, unix.UDP_SEGMENT
			head.SetLen(unix.CmsgLen(2))
			binary.NativeEndian.PutUint16(control[unix.CmsgLen(0):], segment)
		} else {
			control, segment = nil, uint16(len(bytesOf))
		}
		if _, err := unix.SendmsgN(a.FD(), bytesOf, control, nil, 0); err != nil {
			t.Fatal(err)
		}
		foreign := b.Foreign()
		for rest := bytesOf; len(rest) > 0; {
			n := min(int(segment), len(rest))
			want := bytes.TrimRight(rest[:n], "\x00")
			if rest = rest[n:]; len(want) == 0 {
				foreign++
			} else if got := next(t, b); !bytes.Equal(got, want) {
				t.Fatalf("a segment of %d bytes came as %d, want %d", n, len(got), len(want))
			}
		}
		if got, err := b.Next(); got != nil || err != nil || b.Foreign() != foreign {
			t.Fatalf("Next = %d bytes, %v behind the last; %d were foreign, want %d", len(got), err, b.Foreign(), foreign)
		}
	})
}
