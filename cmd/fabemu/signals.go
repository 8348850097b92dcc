package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"fabemu/emu/host"

	"github.com/spf13/cobra"
)

// goOnWithoutReaders makes a write to a pipe without a reader an error of that
// write: without it the runtime of Go ends the program there.
func goOnWithoutReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// sameAgain is how long a signal that comes once more is taken for the same: timeout(1)
// sends its signal to the process and to its group.
const sameAgain = 100 * time.Millisecond

// untilEnded returns the context of a command that runs something. It is done at the first
// of SIGINT (Ctrl-C), SIGTERM, SIGQUIT (Ctrl-\) and SIGHUP (the terminal is closed), or
// when something is written to standard output or standard error that has no reader any
// more: the measurements so far are written, everything that was made is removed, and nothing
// more is run. Afterwards another SIGINT ends the program at once, and another SIGQUIT shows
// the stacks of its goroutines; SIGTERM and SIGHUP, which come twice as a rule, have no effect
// any more. A SIGHUP that is ignored, as under nohup(1), stays so.
func untilEnded(c *cobra.Command) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(c.Context())
	came := make(chan os.Signal, 8)
	signal.Notify(came, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGPIPE)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(came, syscall.SIGHUP)
	}
	go func() {
		for {
			select {
			case s := <-came:
				if s == syscall.SIGPIPE && !host.Unread(os.Stdout) && !host.Unread(os.Stderr) {
					continue // of a socket
				}
				cancel()
				time.AfterFunc(sameAgain, func() { signal.Reset(os.Interrupt, syscall.SIGQUIT) })
			case <-ctx.Done():
			}
			return
		}
	}()
	return ctx, func() {
		if ctx.Err() == nil {
			signal.Stop(came)
		}
		cancel()
	}
}
