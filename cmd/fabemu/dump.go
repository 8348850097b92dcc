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
	"fabemu/emu/watch/capture/dump"
	"fabemu/emu/watch/capture/pcapng"

	"github.com/spf13/cobra"
)

func dumpCommand() *cobra.Command {
	var o dump.Options
	c := &cobra.Command{
		Use:   "dump FILE...",
		Short: "Print a capture, one line per frame, and check the frames",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			files := make([]io.Reader, len(args))
			for i, name := range args {
				if files[i] = os.Stdin; name == "-" {
					continue
				}
				file, err := os.Open(name)
				if err != nil {
					return err
				}
				defer file.Close()
				files[i] = file
			}
			if o.Quiet {
				o.Check = true
			}
			out := bufio.NewWriterSize(c.OutOrStdout(), 1<<16)
			summary, err := dump.Dump(terminal.Filter(out), o, files...)
			if o.Check && (err == nil || summary.Packets > 0 && errors.As(err, new(*pcapng.Error))) {
				err = errors.Join(err, summary.Text(out)) // of a file that is cut short, as far as it goes
			}
			err = errors.Join(err, out.Flush())
			if errors.Is(err, syscall.EPIPE) {
				return nil // the reader is gone
			}
			if err != nil {
				return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
			}
			if summary.Problems() > 0 {
				return exit(exitCheck)
			}
			return nil
		},
	}
	add(c, &o)
	return c
}
