//go:build !linux

package host

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"time"

	"fabemu/wire/unit"
)

// SetPriority returns a *errs.Mistake: it needs Linux.
func SetPriority(int) error { return NeedsLinux("a priority") }

// GiveWay does nothing.
func GiveWay() {}

// OwnCPU is not known here.
func OwnCPU() float64 { return 0 }

func childrenCPU() float64 { return 0 }

// Duplicate returns an error: sockets are handed over on Linux.
func Duplicate(int) (*os.File, error) { return nil, errors.New("sockets are handed over on Linux") }

// LimitSilence does nothing here.
func LimitSilence(*net.TCPConn, time.Duration) {}

// OwnGroup does nothing on this system.
func OwnGroup(*exec.Cmd) {}

func tieToParent(*exec.Cmd) {}

// AddressRoom finds no limit on this system.
func AddressRoom() (free unit.Size, limited bool) { return 0, false }

// Peer is not known here.
func Peer(net.Conn) int { return 0 }

// Stopped is not known here.
func Stopped(int) bool { return false }

// InGroup does nothing: the command ends with its context, and its children do not.
func InGroup(*exec.Cmd) {}

func PassCredentials(*net.UnixConn) error { return NeedsLinux("a socket with credentials") }

func ReadCredentials(*net.UnixConn, []byte) (int, *net.UnixAddr, int, int, error) {
	return 0, nil, 0, -1, PassCredentials(nil)
}

// Gone is not known here.
func Gone(int) bool { return false }
