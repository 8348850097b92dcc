package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fabemu/emu"
	"fabemu/emu/base/files"
	"fabemu/emu/result/report"
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/capture"
	"fabemu/emu/watch/capture/pcapng"
	"fabemu/emu/watch/live"
	"fabemu/emu/watch/observe"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
)

type liveFlags struct {
	// Serve the page at this address; port 0 is any free one.
	Address string `flag:"at" group:"Output" arg:"HOST:PORT" def:"127.0.0.1:0"`
	outFile
}

func liveCommand() *cobra.Command {
	var f liveFlags
	c := &cobra.Command{
		Use:   "live DIR",
		Short: "Show the results of a run in a browser, moment by moment",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := report.ReadDir(args[0])
			if err != nil {
				return &emu.Mistake{Err: err}
			}
			scene, moments, err := live.Results(d)
			if err != nil {
				return &emu.Mistake{Err: fmt.Errorf("%s: %w", args[0], err)}
			}
			if f.Name != "" {
				return f.save(c, scene, moments)
			}
			return f.serve(c, args[0], scene, moments)
		},
	}
	add(c, &f)
	return c
}

// save writes the page as one file.
func (f *liveFlags) save(c *cobra.Command, scene *live.Scene, moments []*live.Moment) error {
	if c.Flags().Changed("at") {
		return fmt.Errorf("--at and --out exclude each other: the page is served, or written to a file")
	}
	if exists(f.Name) && !f.Force {
		return isThere(f.Name)
	}
	err := files.Write(f.Name, func(w io.Writer) error { return live.WritePage(w, scene, moments) })
	if err == nil {
		fmt.Fprintln(c.OutOrStdout(), f.Name)
	}
	return failed(err)
}

// serve serves the page until the command is ended.
func (f *liveFlags) serve(c *cobra.Command, dir string, scene *live.Scene, moments []*live.Moment) error {
	ctx, stop := untilEnded(c)
	defer stop()
	var can live.Options
	if path := filepath.Join(dir, report.CaptureFile); exists(path) {
		can.Save = saveFrom(path)
	}
	s, err := live.New(scene, can)
	if err != nil {
		return failure{err}
	}
	for _, m := range moments {
		s.Show(m)
	}
	s.End("")
	page, err := s.Listen(f.Address)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.OutOrStdout(), page)
	<-ctx.Done()
	(&runPage{Server: s}).close()
	return nil
}

// exists reports whether there is a file, or may be.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// saveFrom returns a function that cuts a part of model time out of a capture.
func saveFrom(path string) func(w io.Writer, from, until unit.Time) error {
	return func(w io.Writer, from, until unit.Time) error {
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		return pcapng.Cut(w, in, int64(from)/1000, int64(until)/1000)
	}
}

// runPage is the interface of an active run, for programs and, where one is wanted, with a page.
type runPage struct {
	*live.Server
	control *live.Control
}

// openPage serves a run at a socket in the folder of its results, and at the address of a page
// where one is wanted. The capture is the one that the run writes, if any.
func (f *runFlags) openPage(s *scenario.Scenario, o *emu.Options, file captureFile) (p *runPage, err error) {
	control := &live.Control{Scenario: s, Clock: o.Clock}
	switch {
	case o.Clock == emu.VirtualClock:
		control.Refused = "it is on the virtual clock: write the event into the scenario"
	case o.Placement != emu.InGoroutines:
		control.Refused = "its nodes are separate processes: write the event into the scenario"
	default:
		o.Changes = &observe.Changes{}
		control.Apply = o.Changes.Apply
	}
	can := live.Options{Control: control}
	if o.Capture != nil && o.Capture.Time != capture.WallTime && !file.numbered && strings.HasSuffix(file.name, pcapngEnding) {
		can.Save = saveFrom(filepath.Join(file.dir, file.name))
	}
	var scene *live.Scene
	if f.Page != "" {
		laidOut, err := emu.Prepare(s)
		if err != nil {
			return nil, err
		}
		scene = live.NewScene(s, laidOut)
		if scene.Clock = o.Clock; o.Clock == emu.WallClock {
			scene.Dilation = s.Wall.Dilation
		}
	}
	server, err := live.New(scene, can)
	if err != nil {
		return nil, failure{err}
	}
	if scene != nil {
		address, err := server.Listen(f.Page)
		if err != nil {
			return nil, fmt.Errorf("--live: %w", err)
		}
		o.Observe = append(o.Observe,
			observe.Request{Name: "the page", Observer: live.NewObserver(scene, server.Show), Every: live.Every})
		fmt.Fprintf(os.Stderr, "%s: the page of the run is %s\n", s.Name, address)
	}
	if socket, err := process.ListenAt(filepath.Join(o.Directory, live.SocketFile)); err == nil {
		server.Serve(socket)
	} else {
		fmt.Fprintf(os.Stderr, "fabemu: warning: fabemu set, status and events cannot reach this run: %v\n", err)
	}
	return &runPage{server, control}, nil
}

// observe has the run's interface see the run. On the virtual clock it looks at the progress unless
// others observe the run: one that is observed has one loop.
func (p *runPage) observe(o *emu.Options) {
	if o.Clock == emu.WallClock || len(o.Observe) > 0 {
		o.Observe = append(o.Observe, p.control.Request())
		return
	}
	show := o.Progress
	o.Progress = func(s emu.Status) {
		p.control.Progress(s)
		if show != nil {
			show(s)
		}
	}
}

// close ends the interface. Browsers get the last moments, as far as that takes no more than a
// second.
func (p *runPage) close() {
	p.End("The run has failed.") // unless its end is known
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	p.Close(ctx) // a browser that is too slow goes without
}
