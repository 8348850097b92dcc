package netns

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// offloads are tasks that the kernel leaves to a network card. A veth pair leaves them
// undone: frames at its other end would lack their checksums, or be several in one.
var offloads = [...]uint32{
	unix.ETHTOOL_STXCSUM, unix.ETHTOOL_SRXCSUM, unix.ETHTOOL_SSG, unix.ETHTOOL_STSO,
	unix.ETHTOOL_SGSO, unix.ETHTOOL_SGRO, unix.ETHTOOL_SFLAGS, // the flags are VLAN tags, large receive
}

// offloadsOfLinks are all off but for scatter-gather: without it, the kernel copies each packet of
// more than a page.
var offloadsOfLinks = [len(offloads)]uint32{2: 1}

// setOffloadsOff turns the offloads of an interface off, in the network namespace of
// the calling thread, except those that the kernel cannot turn off.
func setOffloadsOff(name string) error { return setOffloads(name, make([]uint32, len(offloads))) }

// setOffloads gives the offloads of an interface values, in the network namespace of the calling
// thread, except those that the kernel cannot change.
func setOffloads(name string, values []uint32) error {
	for i, command := range offloads[:min(len(values), len(offloads))] {
		if _, err := ethtool(name, command, values[i]); err != nil && !unsupported(err) {
			return fmt.Errorf("set the offloads of %s: %w", name, explain(err))
		}
	}
	return nil
}

// offloadsOf returns the values of the offloads of an interface, in the network namespace of the
// calling thread.
func offloadsOf(name string) (values []uint32, err error) {
	for _, command := range offloads {
		value, err := ethtool(name, command-1, 0) // each command that sets follows the one that reads
		if err != nil && !unsupported(err) {
			return nil, fmt.Errorf("read the offloads of %s: %w", name, explain(err))
		}
		values = append(values, value)
	}
	return values, nil
}

func unsupported(err error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL)
}

// ethtool sends an interface a command with a value, and returns the value that the
// kernel puts in its place.
func ethtool(name string, command, data uint32) (uint32, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	value := struct{ command, data uint32 }{command, data}
	request := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(&value)}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return 0, errno
	}
	return value.data, nil
}
