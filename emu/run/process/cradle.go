package process

import (
	"os/exec"
	"runtime"
)

// Cradle starts processes that end when this one does, however that ends, and even if they
// are stopped then: the kernel kills them when the thread that has started them is gone.
// So one thread starts them all, and stays until close.
type Cradle struct{ work chan func() }

// NewCradle returns a cradle, with its thread.
func NewCradle() Cradle {
	c := Cradle{make(chan func())}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for f := range c.work {
			f()
		}
	}()
	return c
}

// Start starts a process.
func (c Cradle) Start(command *exec.Cmd) error {
	tieToParent(command)
	err := make(chan error)
	c.work <- func() { err <- command.Start() }
	return <-err
}

// Close lets the thread go. Processes that it has started are to have ended.
func (c Cradle) Close() { close(c.work) }
