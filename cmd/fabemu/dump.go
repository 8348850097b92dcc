package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"fabemu/emu/capture/pcapng"
	"fabemu/emu/dump"

	"github.com/spf13/cobra"
)

func dumpCommand(status *int) *cobra.Command {
	var o dump.Options
	c := &cobra.Command{
		Use:   "dump FILE",
		Short: "Print a capture, one line a frame, and check what it shows",
		Long: `Print a capture, one line a frame, with the words of the event log. FILE is a capture of
a run (--pcap), one that tcpdump took of its links, or one of InfiniBand or RoCE that
others took, pcapng or pcap, compressed by gzip or not; "-" is standard input.

With --check, checksums, credit, sequences and pauses are verified as far as the capture
shows them, and the exit status is 1 when something is wrong.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			in := io.Reader(os.Stdin)
			if args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer file.Close()
				in = file
			}
			if o.Quiet {
				o.Check = true
			}
			out := bufio.NewWriterSize(c.OutOrStdout(), 1<<16)
			summary, err := dump.Dump(out, in, o)
			var cut *pcapng.Error
			if o.Check && (err == nil || summary.Packets > 0 && errors.As(err, &cut)) {
				err = errors.Join(err, summary.Text(out)) // of a file that is cut short, as far as it goes
			}
			err = errors.Join(err, out.Flush())
			if errors.Is(err, syscall.EPIPE) {
				return nil // who reads has seen enough
			}
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if summary.Problems() > 0 {
				*status = exitCheck
			}
			return nil
		},
	}
	c.Flags().BoolVar(&o.Check, "check", false, "verify what the capture shows")
	c.Flags().BoolVar(&o.Quiet, "quiet", false, "print only what is wrong; with --check")
	return c
}
