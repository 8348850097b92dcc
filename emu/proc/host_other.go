//go:build !linux

package proc

import (
	"errors"
	"os"
	"syscall"
)

// errSystem is what every call says on this system.
var errSystem = errors.New("machines in processes need Linux")

func socketPair() (ours, theirs *os.File, err error) { return nil, nil, errSystem }

func ownGroup() *syscall.SysProcAttr { return nil }

func runWhenIdle() error { return errSystem }
