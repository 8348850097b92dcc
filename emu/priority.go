package emu

import (
	"os"
	"strconv"
	"syscall"
)

// raisePriority gives all threads of this process the highest nice value, as far
// as the system allows, and returns the function that takes it back. New threads
// inherit it.
func raisePriority() (restore func()) {
	const highest = -20
	before, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil || setPriority(highest) != nil {
		return func() {}
	}
	// The system call answers 20 - nice, so that it never looks like an error.
	return func() { setPriority(20 - before) }
}

// setPriority sets the nice value of each thread: on Linux each has its own.
func setPriority(nice int) error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, id, nice); err != nil && err != syscall.ESRCH {
			return err
		}
	}
	return nil
}
