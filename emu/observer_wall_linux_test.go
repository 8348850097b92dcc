//go:build timing

package emu

import (
	"errors"
	"fmt"
	"math/bits"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/host"
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/unit"
)

// An observer captures what comes to one end of a link, as tcpdump does, with the time stamps of
// the kernel. The packets stay in its buffer until the run is over, so that reading them does not
// disturb it.
type observer struct {
	fd    int
	front int // the headers in front of the first datagram
}

// watchEnd returns an observer of the interface and the port of an end.
func watchEnd(l link.File) (o observer, err error) {
	at, err := unix.Getsockname(l.FD())
	if err != nil {
		return o, err
	}
	device := 1 // the loopback interface of any namespace
	filter := []bpf.Instruction{bpf.RetConstant{Val: 1 << 16}}
	switch at := at.(type) {
	case *unix.SockaddrLinklayer:
		device, o.front = at.Ifindex, 14
	case *unix.SockaddrInet4:
		o.front = 14 + 20 + 8
		filter = []bpf.Instruction{
			bpf.LoadAbsolute{Off: 14 + 9, Size: 1},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_UDP, SkipTrue: 3},
			bpf.LoadAbsolute{Off: 14 + 20 + 2, Size: 2},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(at.Port), SkipTrue: 1},
			bpf.RetConstant{Val: 1 << 16},
			bpf.RetConstant{},
		}
	default:
		return o, fmt.Errorf("no observer for %T", at)
	}
	raw, err := bpf.Assemble(filter)
	if err != nil {
		return o, err
	}
	space, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l.FD()), unix.SIOCGSKNS, 0)
	if errno != 0 {
		return o, errno
	}
	defer unix.Close(int(space))
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread, which is in another namespace, ends with the goroutine
		failed <- func() error {
			if err := unix.Setns(int(space), unix.CLONE_NEWNET); err != nil {
				return err
			}
			o.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
			return errors.Join(err,
				unix.SetsockoptInt(o.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 1<<28),
				unix.SetsockoptInt(o.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
				unix.SetsockoptInt(o.fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
				unix.SetsockoptSockFprog(o.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
					&unix.SockFprog{Len: uint16(len(raw)), Filter: (*unix.SockFilter)(unsafe.Pointer(&raw[0]))}),
				unix.Bind(o.fd, &unix.SockaddrLinklayer{Protocol: bits.ReverseBytes16(unix.ETH_P_ALL), Ifindex: device}))
		}()
	}()
	return o, <-failed
}

// packets calls each with the datagrams of the packets that came, and their time stamps.
func (o observer) packets(each func(datagram []byte, at int64)) error {
	defer unix.Close(o.fd)
	packet, extra := make([]byte, 1<<17), make([]byte, 256)
	for {
		n, m, _, _, err := unix.Recvmsg(o.fd, packet, extra, 0)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.ENETDOWN):
			continue // the interface is gone, the packets are not
		case err != nil:
			return err
		}
		messages, err := unix.ParseSocketControlMessage(extra[:m])
		if err != nil || len(messages) != 1 || n < o.front {
			return fmt.Errorf("a packet of %d bytes with %d control messages: %w", n, len(messages), err)
		}
		at := (*unix.Timespec)(unsafe.Pointer(&messages[0].Data[0])).Nano()
		rest := packet[o.front:n]
		begin, lengths := link.Split(rest)
		if len(lengths) == 0 {
			each(rest, at)
		}
		for rest = rest[begin:]; len(lengths) > 0; lengths = lengths[2:] {
			size := int(lengths[0])<<8 | int(lengths[1])
			each(rest[:size], at)
			rest = rest[size:]
		}
	}
}

// gapsSeen returns how many gaps between data frames the observers of a run see, and how many of
// them are off.
func gapsSeen(f *fabric.Fabric, observers []observer) (gaps, off int64, err error) {
	type frame struct {
		at   int64
		head unit.Time
	}
	dilation := f.Scenario.Wall.Dilation
	last := make(map[int]frame) // by path
	for _, o := range observers {
		err = errors.Join(err, o.packets(func(datagram []byte, at int64) {
			t, _, _ := wire.ParseTrailer(datagram)
			path := int(t.Port)
			if _, ok := runtest.Frame(datagram, path); !ok {
				return
			}
			if before, ok := last[path]; ok {
				gaps++
				by := float64(at-before.at) - float64(t.Head-before.head)*float64(dilation)/1000
				if max(by, -by) > float64(f.Longest()[path/2])*float64(dilation)/1000/20 {
					off++
				}
			}
			last[path] = frame{at, t.Head}
		}))
	}
	return gaps, off, err
}

// A run claims no better gaps between frames than an observer of the link sees, in trains and
// single packets, whether the machine is busy or not; nor worse ones.
func TestWallGapsAreThoseOfAnObserver(t *testing.T) {
	needNamespaces(t)
	for _, busy := range []bool{false, true} {
		for _, carrier := range []Carrier{UDP, Veth} {
			for _, packing := range []Packing{Trains, Single} {
				t.Run(fmt.Sprintf("%s/%s/busy=%v", carrier, packing, busy), func(t *testing.T) {
					if busy {
						hog(t)
					}
					s := runtest.Short(t, "hpl2002/fig2", "2500us", "wall.dilation=60")
					var lock sync.Mutex
					var observers []observer
					o := Options{Settings: Settings{Link: carrier, Packing: packing}, Verify: VerifyOff, test: process.Hooks{Wrap: func(l link.Link) link.Link {
						x, err := watchEnd(l.(link.File))
						if err != nil {
							t.Fatal(err)
						}
						lock.Lock()
						defer lock.Unlock()
						observers = append(observers, x)
						return l
					}}}
					r, err := Run(t.Context(), s, o)
					if err != nil {
						t.Fatal(err)
					}
					compareGaps(t, s, r, observers)
				})
			}
		}
	}
}

func compareGaps(t *testing.T, s *scenario.Scenario, r *Result, observers []observer) {
	t.Helper()
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	gaps, off, err := gapsSeen(f, observers)
	if err != nil {
		t.Fatal(err)
	}
	p := &r.Verdict.Pace
	claimed, seen := float64(p.OffShare), float64(off)/float64(gaps)
	t.Logf("%d gaps: %.4f are off, %.4f were seen to be", gaps, claimed, seen)
	if gaps != p.Gaps || gaps < 1000 {
		t.Errorf("%d gaps were measured, %d seen", p.Gaps, gaps)
	}
	// The kernel may date the first frames of a machine not at all: the run then takes the worst.
	if claimed < seen-0.001 || claimed > seen+0.02 {
		t.Errorf("the run has %.4f of the gaps off, the observer %.4f", claimed, seen)
	}
}

// hog runs a shell that never pauses until the test is over.
func hog(t *testing.T) {
	t.Helper()
	guard := host.NewChildGuard()
	t.Cleanup(guard.Close)
	shell := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
	if err := guard.Start(shell); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shell.Wait() })
}
