package proc

import (
	"os/exec"
	"runtime"
)

// cradle starts processes that end when this one does, however that ends, and even if they
// are stopped then: the kernel kills them when the thread that has started them is gone.
// So one thread starts them all, and stays until close.
type cradle struct{ work chan func() }

func newCradle() cradle {
	c := cradle{make(chan func())}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for f := range c.work {
			f()
		}
	}()
	return c
}

// start starts a process.
func (c cradle) start(command *exec.Cmd) error {
	tieToParent(command)
	err := make(chan error)
	c.work <- func() { err <- command.Start() }
	return <-err
}

// close lets the thread go. Processes that it has started are to have ended.
func (c cradle) close() { close(c.work) }
