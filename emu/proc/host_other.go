//go:build !linux

package proc

import (
	"errors"
	"os"
	"os/exec"

	"fabemu/emu/council"
	"fabemu/emu/drive"
)

// errSystem is what every call says on this system.
var errSystem = errors.New("machines in processes need Linux")

func socketPair() (ours, theirs *os.File, err error) { return nil, nil, errSystem }

// OwnGroup does nothing on this system.
func OwnGroup(*exec.Cmd) {}

func tieToParent(*exec.Cmd) {}

func processors() []int { return nil }

func pinTo(int, []int) {}

func keepThread(bool, []int) (release func()) { return func() {} }

func runWhenIdle() error { return errSystem }

func newMemory(int) (*memory, error) { return nil, errSystem }

func (m *memory) path() string { return "" }

func (m *memory) close() {}

func openMemory(string) ([]uint64, error) { return nil, errSystem }

func newFutexBell(*council.Board) drive.Bell { return nil }

func newBell() (bell, error) { return nil, errSystem }
