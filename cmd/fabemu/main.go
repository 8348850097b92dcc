// Command fabemu emulates lossless fabrics on real sockets.
//
//	fabemu run [SCENARIO...]      run scenarios; without a name, hpl2002/fig3b
//	fabemu list                   show the scenarios that come with the program
//	fabemu help [COMMAND]         list all commands, or explain one
//
// Each command is declared in its own file, with its flags and its help.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"fabemu/emu"
	"fabemu/emu/base/errs"

	"github.com/spf13/cobra"
)

// The exit statuses.
const (
	exitOK      = 0
	exitCheck   = 1
	exitMistake = 2
	exitFailed  = 3
	exitUntimed = 4 // of bench limiter --strict
)

func main() {
	goOnWithoutReaders()
	os.Exit(recovered(func() int { return execute(os.Args[1:]) }))
}

// recovered calls a function and returns its exit status. A panic is a failure, and not status 2,
// which Go gives it.
func recovered(call func() int) (status int) {
	defer errs.Catch(func(err error) {
		fmt.Fprintln(os.Stderr, "fabemu:", err)
		status = exitFailed
	})
	return call()
}

func rootCommand(out io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "fabemu COMMAND",
		Short:         "Emulate lossless fabrics on real sockets",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetOut(out)
	root.AddCommand(runCommand(), linkCommand(), importCommand(), topologyCommand(), reproduceCommand(), listCommand(), checkCommand(),
		schemaCommand(), generateCommand(), scaleCommand(), graphCommand(), reportCommand(), liveCommand(),
		doctorCommand(), compareCommand(), sweepCommand(), tuneCommand(), cleanupCommand(), benchCommand(),
		statusCommand(), eventsCommand(), setCommand(), execCommand(), shellCommand(), subnetCommand(), dissectorCommand(), dumpCommand(), captureCommand(),
		daemonCommand("node", "Run one endpoint of a run with --placement process"),
		daemonCommand("switchd", "Run one switch of a run with --placement process or domain"),
		agentCommand(), manCommand(), licensesCommand())
	root.SetHelpCommand(helpCommand(root))
	root.SetFlagErrorFunc(flagMistake)
	root.SetHelpFunc(showHelp)
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		prepare(c)
		if c.HasSubCommands() && c.RunE == nil {
			c.Args = knownCommand
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
	return root
}

// execute runs the command line and returns the exit status.
func execute(args []string) int {
	out := &output{to: os.Stdout}
	root := rootCommand(out)
	root.SetArgs(args)
	err := root.Execute()
	status := exit(exitOK)
	unread := errors.Is(out.err, syscall.EPIPE) // the reader has seen enough
	reported := err == nil || errors.As(err, &status) || unread && errors.Is(err, syscall.EPIPE)
	switch {
	case reported && (out.err == nil || unread):
		return int(status)
	case reported:
		err = out.err
	case errors.Is(err, context.Canceled):
		err = failure{errors.New("ended early")}
	}
	showHarmless("fabemu: %v\n", err)
	if out.err != nil {
		return exitFailed
	}
	return exitOf(err)
}

// exit is the error of a command that has reported all its errors by itself: its exit status.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// output is standard output. It holds the first error, so that a command whose output was
// lost fails, whether the command looked for errors or not.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.to.Write(b)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// failure is an error of a run, as opposed to one of its call.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// failed makes a failure of an error, if it is one.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return failure{err}
}

// exitOf returns the exit status for an error. An error that does not come from a run is a
// mistake in the call.
func exitOf(err error) int {
	var status exit
	switch {
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, new(failure)) && !errors.As(err, new(*emu.Mistake)), errors.As(err, new(*errs.Panic)):
		return exitFailed
	}
	return exitMistake
}
