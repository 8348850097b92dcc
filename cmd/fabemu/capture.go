package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"fabemu/emu"
	"fabemu/emu/base/files"
	"fabemu/emu/base/terminal"
	"fabemu/emu/host"
	"fabemu/emu/result/summary"

	"github.com/spf13/cobra"
)

// captureFile writes a capture into a folder: compressed by gzip if its name ends so, and
// in files with numbers if a size is given for each.
type captureFile struct {
	dir, name string
	numbered  bool
	n         int
	file      *os.File
	packed    *gzip.Writer
}

// The endings of the names of captures.
const (
	pcapngEnding = ".pcapng"
	gzipEnding   = pcapngEnding + ".gz"
)

// checkName refuses the name of a capture with another ending, or with a folder.
func (f *captureFile) checkName() error {
	if strings.ContainsAny(f.name, `/\`) ||
		!strings.HasSuffix(f.name, pcapngEnding) && !strings.HasSuffix(f.name, gzipEnding) {
		return fmt.Errorf("--pcap=%s: give the name of a file in the folder of the results that ends with %s or %s",
			f.name, pcapngEnding, gzipEnding)
	}
	return nil
}

// next ends the file, if one has begun, and begins the next.
func (f *captureFile) next() (io.Writer, error) {
	if err := f.end(); err != nil {
		return nil, err
	}
	f.n++
	name := f.name
	if f.numbered {
		base, _, _ := strings.Cut(name, pcapngEnding)
		name = fmt.Sprintf("%s-%05d%s", base, f.n, name[len(base):])
	}
	var err error
	if f.file, err = files.Create(filepath.Join(f.dir, name)); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(name, gzipEnding) {
		return f.file, nil
	}
	f.packed = gzip.NewWriter(f.file)
	return f.packed, nil
}

// end ends the file, and removes it if it is empty.
func (f *captureFile) end() (err error) {
	if f.file == nil {
		return nil
	}
	if info, e := f.file.Stat(); e == nil && info.Size() == 0 {
		os.Remove(f.file.Name())
	} else if f.packed != nil {
		err = f.packed.Close()
	}
	err = errors.Join(err, f.file.Close())
	f.file, f.packed = nil, nil
	return err
}

func captureCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:               "capture SCENARIO",
		Short:             "Run a scenario and write its frames to standard output, for Wireshark",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeScenario,
		RunE: func(c *cobra.Command, names []string) error {
			if terminal.Is(os.Stdout) {
				return errors.New("a capture is binary: write it to a file, or to a program (fabemu capture ... | wireshark -k -i -)")
			}
			return f.live(c, names[0])
		},
	}
	add(c, &f.changes)
	add(c, &f.runChoices, "seed", "dilation", "priority")
	add(c, &f.Options, "clock", "timing", "link")
	add(c, &f.capture)
	return c
}

// live runs a scenario and captures it to standard output. The run ends when the reader is gone
// (untilEnded).
func (f *runFlags) live(c *cobra.Command, name string) error {
	s, err := f.open(c, name)
	if err != nil {
		return err
	}
	showWarnings(s)
	ctx, stop := untilEnded(c)
	defer stop()
	o := f.Options
	o.Version = version()
	f.capture.To = c.OutOrStdout()
	o.Capture = &f.capture
	if err := o.Check(); err != nil {
		return err
	}
	if err := f.autoDilation(ctx, s); err != nil {
		return err
	}
	p := newProgress(s, o.Clock)
	o.Progress = p.show
	result, err := emu.Run(ctx, s, o)
	p.end()
	if host.Unread(os.Stdout) {
		fmt.Fprintln(os.Stderr, "fabemu: the reader of the capture has ended, and so has the run")
		return exit(exitFailed)
	}
	if result == nil || err != nil {
		return failure{err}
	}
	if err := summary.WriteText(os.Stderr, result.Result, terminal.LookOf(os.Stderr)); err != nil {
		return failure{err}
	}
	return exit(f.status(result.Result))
}
