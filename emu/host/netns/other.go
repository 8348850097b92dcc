//go:build !linux

package netns

import (
	"context"
	"errors"

	"fabemu/wire/link"
)

// ErrPrivilege is what every call says on this system.
var ErrPrivilege = errors.New("network namespaces and veth pairs need Linux")

// Missing says that namespaces cannot be built here.
func Missing() error { return ErrPrivilege }

// Run is what there is of a run in namespaces: nothing.
type Run struct {
	ID         uint32
	Lives      bool
	PID        int
	Namespaces []string
}

func (*Run) String() string { return "" }

// Lock returns nothing: there is no lock.
func (*Run) Lock() string { return "" }

// Remove fails.
func (*Run) Remove(context.Context) error { return ErrPrivilege }

// Find finds nothing.
func Find() ([]*Run, error) { return nil, ErrPrivilege }

// Topology is what Build would build.
type Topology struct{ Ends [][2]Port }

// Close closes nothing.
func (*Topology) Close() error { return nil }

// Port is one end of a link that cannot be built.
type Port struct{}

// Open fails.
func (Port) Open(link.VethOptions) (*link.Veth, error) { return nil, ErrPrivilege }

// Build fails.
func Build(context.Context, Plan) (*Topology, error) { return nil, ErrPrivilege }
