package process

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"

	"fabemu/emu/host"
)

// AwakeCommand is the argument with which the program calls StayAwake.
const AwakeCommand = "awake"

// KeepAwake keeps the processors from going to sleep until the function that it
// returns is called: a processor that is asleep, most of all one of a virtual machine,
// takes from tens of microseconds to milliseconds to wake up, and processes that sleep
// between their frames would be late by that. For each processor it starts a process
// that does nothing, in the class SCHED_IDLE: it takes no time from anybody. program
// is the program to start; where that fails, nothing is kept awake. With a list of processors, only these are.
// The function returns how much processor time they have used.
func KeepAwake(program string, cpus ...int) (stop func() (seconds float64)) {
	var ends []func() float64
	children := host.NewChildGuard()
	many := runtime.NumCPU()
	if len(cpus) > 0 {
		many = len(cpus)
	}
	for i := range many {
		c := exec.Command(program, AwakeCommand)
		c.Args[0] = os.Args[0]
		in, err := c.StdinPipe() // it is closed with this process, however this process ends
		if err != nil {
			break
		}
		if children.Start(c) != nil {
			in.Close()
			break
		}
		if len(cpus) > 0 {
			pinTo(c.Process.Pid, cpus[i:i+1])
		}
		// In its class it may take long until it is its turn to notice its end, or to be gone.
		ends = append(ends, func() float64 {
			used := host.CPUOf(c.Process.Pid)
			in.Close()
			c.Process.Kill()
			go c.Wait()
			return used
		})
	}
	return func() (seconds float64) {
		for _, end := range ends {
			seconds += end()
		}
		children.Close()
		return seconds
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
