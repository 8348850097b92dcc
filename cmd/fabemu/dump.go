package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"fabemu/emu/base/terminal"
	"fabemu/emu/result/report"
	"fabemu/emu/watch/capture/dump"
	"fabemu/emu/watch/capture/pcapng"

	"github.com/spf13/cobra"
)

func dumpCommand() *cobra.Command {
	var o dump.Options
	c := &cobra.Command{
		Use:   "dump FILE...",
		Short: "Print a capture, one line per frame, and check the frames; or print a binary event log",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			files, logs := make([]io.Reader, len(args)), 0
			for i, name := range args {
				file := os.Stdin
				if name != "-" {
					var err error
					if file, err = os.Open(name); err != nil {
						return err
					}
					defer file.Close()
					if err := report.Verify(name); err != nil {
						return err
					}
				}
				in := bufio.NewReader(file)
				if head, _ := in.Peek(1 << 5); report.IsEventLog(head) {
					logs++
				}
				files[i] = in
			}
			if o.Quiet {
				o.Check = true
			}
			out := bufio.NewWriterSize(c.OutOrStdout(), 1<<16)
			problems, err := 0, error(nil)
			switch {
			case logs == 0:
				problems, err = dumpCapture(out, o, files)
			case len(args) > 1 || o.Check:
				err = errors.New("an event log is printed alone, and --check is for captures")
			default:
				err = dumpEvents(out, files[0])
			}
			err = errors.Join(err, out.Flush())
			if errors.Is(err, syscall.EPIPE) {
				return nil // the reader is gone
			}
			if err != nil {
				return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
			}
			if problems > 0 {
				return exit(exitCheck)
			}
			return nil
		},
	}
	add(c, &o)
	return c
}

// dumpCapture prints a capture, and returns how many problems its frames have.
func dumpCapture(out io.Writer, o dump.Options, files []io.Reader) (problems int, err error) {
	summary, err := dump.Dump(terminal.Filter(out), o, files...)
	if o.Check && (err == nil || summary.Packets > 0 && errors.As(err, new(*pcapng.Error))) {
		err = errors.Join(err, summary.Text(out)) // of a file that is cut short, as far as it goes
	}
	return summary.Problems(), err
}

// dumpEvents prints a binary event log.
func dumpEvents(out io.Writer, file io.Reader) error {
	log, err := report.NewEventReader(file)
	for harmless := terminal.Filter(out); err == nil; {
		var line []byte
		if line, err = log.Line(); err == nil {
			_, err = harmless.Write(line)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return err
}
