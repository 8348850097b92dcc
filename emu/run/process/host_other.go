//go:build !linux

package process

import (
	"errors"
	"os"
	"syscall"

	"fabemu/emu/run/lookahead"
)

// errSystem is the error of every call on this system.
var errSystem = errors.New("nodes in processes need Linux")

func socketPair() (ours, theirs *os.File, err error) { return nil, nil, errSystem }

func ownOnly(_, _ string, _ syscall.RawConn) error { return nil }

func processors() []int { return nil }

func keepThread([]int) (release func()) { return func() {} }

func newMemory(int) (*memory, error) { return nil, errSystem }

func (m *memory) path() string { return "" }

func (m *memory) close() {}

func openMemory(string) ([]uint64, error) { return nil, errSystem }

func newFutexBell(*lookahead.Board) lookahead.Waker { return nil }
