package host

import (
	"os/exec"
	"runtime"
)

// ChildGuard starts processes that end when this one does, however that ends, and even if they
// are stopped then: the kernel kills them when the thread that has started them is gone.
// So one thread starts them all, and stays until close.
type ChildGuard struct{ work chan func() }

// NewChildGuard returns a guard and starts its thread.
func NewChildGuard() ChildGuard {
	c := ChildGuard{make(chan func())}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for f := range c.work {
			f()
		}
	}()
	return c
}

func (c ChildGuard) Start(command *exec.Cmd) error {
	tieToParent(command)
	err := make(chan error)
	c.work <- func() { err <- command.Start() }
	return <-err
}

// Close lets the thread go. Processes that it has started are to have ended.
func (c ChildGuard) Close() { close(c.work) }
