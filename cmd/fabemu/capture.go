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
	"fabemu/emu/watch/capture"

	"github.com/spf13/cobra"
)

// captureFlags select the frames that are captured.
type captureFlags struct {
	emu.Capture
	time string
}

// The times that a capture may have.
const modelTime, wallTimes = "model", "wall"

func (f *captureFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringSliceVar(&f.Filter, "pcap-filter", nil,
		"capture these alone: ports (B:3), machines, links or flows, with commas between")
	flags.IntVar(&f.Snap, "pcap-snap", capture.DefaultSnap,
		"keep so many bytes of a data frame; 0: all")
	flags.BoolVar(&f.Both, "pcap-both", false, "record each frame at both ends of its link, not once")
	choice(c, &f.time, "pcap-time", modelTime, "time stamps of the capture: model, or wall", modelTime, wallTimes)
	goWith(c, "pcap", "", "pcap-filter", "pcap-snap", "pcap-both", "pcap-time")
}

// request returns the request of the flags for a capture to w.
func (f *captureFlags) request(w io.Writer) *emu.Capture {
	q := f.Capture
	q.To, q.WallTime = w, f.time == wallTimes
	return &q
}

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
		return fmt.Errorf("--pcap=%s: the name of a file in the folder of the results is wanted that ends with %s or %s",
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

// end ends the file. One in which nothing stands is removed.
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
		Use:   "capture SCENARIO",
		Short: "Run a scenario and write the frames on its links to standard output, for Wireshark",
		Long: `Run a scenario and write the frames on its links to standard output while the run goes
on, as pcapng:

    fabemu capture hpl2002/fig3b | wireshark -k -i -

The report of the run goes to standard error. The run ends when nobody reads any more.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeScenario,
		RunE: func(c *cobra.Command, names []string) error {
			if terminal.Is(os.Stdout) {
				return errors.New("a capture is no text: send it into a program (fabemu capture ... | wireshark -k -i -) or a file")
			}
			return f.live(c, names[0])
		},
	}
	f.addClock(c)
	f.capture.add(c)
	f.changes.add(c)
	return c
}

// live runs a scenario and captures it to standard output. The run ends when nobody reads that any more (untilEnded).
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
	o.Capture = f.capture.request(c.OutOrStdout())
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
		fmt.Fprintln(os.Stderr, "fabemu: nobody reads the capture any more: the run was ended")
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
