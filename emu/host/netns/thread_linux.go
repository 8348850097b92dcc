package netns

import (
	"errors"
	"fmt"
	"runtime"

	"fabemu/emu/base/errs"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// apart runs f on a thread that f may bring into another network namespace, and brings it
// back. If that fails, the thread ends with its goroutine, and no other goroutine gets it.
func apart(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		back, err := away(f)
		if back {
			runtime.UnlockOSThread()
		}
		done <- err
	}()
	return <-done
}

// away runs f and reports whether the calling thread is back in its first namespace.
func away(f func() error) (back bool, err error) {
	home, err := netns.Get()
	if err != nil {
		return true, fmt.Errorf("look at the network namespace of a thread: %w", explain(err))
	}
	defer home.Close()
	err = called(f)
	return netns.Set(home) == nil, err
}

// called returns the error of f, or its panic as an error.
func called(f func() error) (err error) {
	defer errs.Into(&err)
	return f()
}

// errNoSpace reports a file that is not a network namespace.
var errNoSpace = errors.New("it is not a network namespace: ip netns list shows their names, and /proc/PID/ns/net is the one of a process")

// openSpace opens the network namespace of a path, and no other file: to open a pipe would wait for
// its other end.
func openSpace(path string) (netns.NsHandle, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return netns.None(), err
	}
	if st.Type != unix.NSFS_MAGIC {
		return netns.None(), errNoSpace
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return netns.None(), err
	}
	if kind, err := unix.IoctlRetInt(fd, unix.NS_GET_NSTYPE); err != nil || kind != unix.CLONE_NEWNET {
		unix.Close(fd)
		return netns.None(), errNoSpace
	}
	return netns.NsHandle(fd), nil
}

// within runs f in the network namespace of a path.
func within(path string, f func() error) error {
	return apart(func() error {
		ns, err := openSpace(path)
		if err != nil {
			return fmt.Errorf("open %s: %w", path, explain(err))
		}
		defer ns.Close()
		if err := netns.Set(ns); err != nil {
			return fmt.Errorf("enter %s: %w", path, explain(err))
		}
		return f()
	})
}

// lookInto calls f with a netlink handle into the network namespace of a path.
func lookInto(path string, f func(h *netlink.Handle) error) error {
	ns, err := openSpace(path)
	if err != nil {
		return fmt.Errorf("open it: %w", explain(err))
	}
	defer ns.Close()
	h, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("open a netlink socket: %w", explain(err))
	}
	defer h.Close()
	return f(h)
}

// Possible reports whether this process can make a network namespace. It makes one and removes it.
func Possible() bool {
	return apart(func() error {
		ns, err := netns.New()
		if err == nil {
			err = ns.Close()
		}
		return err
	}) == nil
}
