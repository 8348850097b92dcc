package proc

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
)

// AwakeCommand is the argument by which the program is told to StayAwake.
const AwakeCommand = "awake"

// KeepAwake keeps the processors from going to sleep until the function that it
// returns is called: a processor that is asleep, most of all one of a virtual machine,
// takes from tens of microseconds to milliseconds to wake up, and processes that sleep
// between their frames would be late by that. For each processor it starts a process
// that does nothing, in the class SCHED_IDLE: it takes no time from anybody. program
// is what to start; where that fails, nothing is kept awake. With a list of processors, only these are.
func KeepAwake(program string, cpus ...int) (stop func()) {
	var ends []func()
	cradle := NewCradle()
	many := runtime.NumCPU()
	if len(cpus) > 0 {
		many = len(cpus)
	}
	for i := range many {
		c := exec.Command(program, AwakeCommand)
		c.Args[0] = os.Args[0]
		in, err := c.StdinPipe() // its end is that of this process, however that ends
		if err != nil {
			break
		}
		if cradle.Start(c) != nil {
			in.Close()
			break
		}
		if len(cpus) > 0 {
			pinTo(c.Process.Pid, cpus[i:i+1])
		}
		// In its class it may take long until it is its turn to notice its end, or to be gone.
		ends = append(ends, func() { in.Close(); c.Process.Kill(); go c.Wait() })
	}
	return func() {
		for _, end := range ends {
			end()
		}
		cradle.Close()
	}
}

// StayAwake does nothing, without sleeping, until in comes to its end. Where it may not
// do so in the class SCHED_IDLE, it returns at once.
func StayAwake(in io.Reader) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if runWhenIdle() != nil {
		return
	}
	var ended atomic.Bool
	go func() {
		io.Copy(io.Discard, in)
		ended.Store(true)
	}()
	for !ended.Load() {
	}
}
