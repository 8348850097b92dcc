//go:build !linux

package netns

import (
	"context"
	"errors"
	"os/exec"
	"time"

	"fabemu/wire/link"
)

// ErrPrivilege is the error of every call on this system.
var ErrPrivilege = errors.New("network namespaces and veth pairs need Linux")

// Missing returns ErrPrivilege: namespaces cannot be built here.
func Missing() error { return ErrPrivilege }

func (*Run) String() string { return "" }

// Lock returns nothing: there is no lock.
func (*Run) Lock() string { return "" }

// Possible reports false.
func Possible() bool { return false }

func (*Run) Remove(context.Context) error { return ErrPrivilege }

func Find() ([]*Run, error) { return nil, ErrPrivilege }

// Inside is a thread that cannot enter a namespace.
type Inside struct{}

func Enter(string, []Host) (*Inside, error) { return nil, ErrPrivilege }

func (*Inside) Start(*exec.Cmd) error { return ErrPrivilege }

func (*Inside) Exec(string, []string) error { return ErrPrivilege }

// Close does nothing.
func (*Inside) Close() {}

func LiveGuests() ([]LiveGuest, error) { return nil, ErrPrivilege }

// RemoveDead does nothing.
func RemoveDead(context.Context) {}

// Topology is the type of Build's result.
type Topology struct {
	Ends    [][2]Port
	Devices []*Device
}

// Device is a device that cannot be made.
type Device struct{ Name, Namespace string }

func (*Device) Read([]byte) (int, error) { return 0, ErrPrivilege }

func (*Device) Write([]byte) (bool, error) { return false, ErrPrivilege }

func (*Device) Dropped() (sent, received uint64, err error) { return 0, 0, ErrPrivilege }

// Poll is a Poll of no device.
type Poll struct{}

func NewPoll([]*Device) (*Poll, error) { return nil, ErrPrivilege }

// Wait returns at once.
func (*Poll) Wait(time.Duration, func(int)) {}

// Close does nothing.
func (*Poll) Close() error { return nil }

// Close does nothing.
func (*Topology) Close() error { return nil }

// Port is one end of a link that cannot be built.
type Port struct{}

func (Port) Open(link.VethOptions) (*link.Veth, error) { return nil, ErrPrivilege }

func Build(context.Context, Plan) (*Topology, error) { return nil, ErrPrivilege }

// Changes returns none.
func (*Device) Changes() []Change { return nil }
