package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu"
	"fabemu/emu/base/files"
	"fabemu/emu/base/terminal"
	"fabemu/emu/host"
	"fabemu/emu/metrics"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/result/summary"
	"fabemu/emu/run/guest/netstack"
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/study/campaign"
	"fabemu/emu/watch/live"
	"fabemu/emu/watch/subnet"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
)

type runFlags struct {
	emu.Options
	changes
	resultFlags
	runChoices
	capture emu.Capture
	trace   traceFlags
	metrics metricsFlags
	hosts   fleetFlags

	repeated func(*emu.Result) // takes the result in place of standard output
	endless  bool              // an end by a signal is the usual end
}

// runChoices are the flags of run that no option of a package has.
type runChoices struct {
	// Slow the model down by this factor, so that this machine keeps up; auto: the lowest at which
	// it does in a run of at most an hour; auto:8h: of at most 8 hours (default: from the
	// scenario).
	Dilation string `flag:"dilation" group:"Scenario" arg:"N|auto" idle:"clock=virtual"`
	// Seed of the random numbers (default: from the scenario).
	Seed string `flag:"seed" arg:"N" needs:"!seeds"`
	// Repeat the run with the seeds 1 to N, and print means and their 95 % intervals: seeds.json.
	Seeds int `flag:"seeds" arg:"N" low:"2" high:"1000"`

	// Nice value of this process and those that it starts, from -20 (highest priority) to 19;
	// raising the priority needs root or CAP_SYS_NICE.
	Nice int `flag:"priority" group:"Clock" arg:"N" low:"-20" high:"19"`

	// Print result.json instead of the report; of several runs, one after another.
	JSON bool `flag:"json" group:"Results"`
	// Exit with status 1 unless the timing is at least faithful; refuse a cycle of buffers.
	Strict bool `flag:"strict"`
	// Only these links, groups, flows and workloads have curves in rates.svg and series.csv, such
	// as h*-A (default: from the scenario).
	Curves string `flag:"curves" arg:"NAME,..."`

	// Show the run in a browser: prints the address of a page, on this machine unless one is given.
	Page string `flag:"live" group:"Watching" arg:"HOST:PORT" lone:"127.0.0.1:0" needs:"!seeds"`
	// Wait for a subnet manager, such as opensm, at most this long (10m), and let it and other
	// programs of InfiniBand see the run: prints the variables that they need. Its forwarding
	// tables are the routes.
	Subnet string `flag:"subnet" arg:"TIME" lone:"10m" needs:"placement=goroutine;!seeds"`
	// Show no progress.
	Quiet bool `flag:"quiet"`
	// How progress is printed on standard error: for people (text), or as one JSON object a line,
	// five in a second.
	Show string `flag:"progress" def:"text" words:"text|json"`

	// Write the event log: events.jsonl; or as fabemu dump reads it (binary), in a third of the
	// time: events.bin.
	Log report.LogForm `flag:"events" group:"Event log" lone:"json" words:"json|binary"`
	// Record the feedback and rates of these flows, for fabemu bench limiter --replay:
	// recording-FLOW.txt.
	Record []string `flag:"record" arg:"FLOW,..."`

	// Capture all links for Wireshark: fabric.pcapng, or another name, which may end with
	// .pcapng.gz.
	Pcap string `flag:"pcap" group:"Capture" arg:"NAME" lone:"fabric.pcapng"`
	// Split the capture into numbered files of at most this size before compression, such as 20MB.
	Rotate string `flag:"pcap-rotate" arg:"SIZE" needs:"pcap"`

	// Write the files of the processes into --out, and run nothing.
	Dry bool `flag:"dry-run" group:"Processes" needs:"placement=process|domain;!seeds"`
}

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:               "run [SCENARIO...]",
		Short:             "Run scenarios (default: " + builtin.Default + ")",
		ValidArgsFunction: completeScenarios,
		RunE: func(c *cobra.Command, names []string) error {
			if len(names) == 0 {
				names = []string{builtin.Default}
			}
			return f.runAll(c, names)
		},
	}
	f.add(c)
	return c
}

func (f *runFlags) add(c *cobra.Command) {
	for _, flags := range []any{&f.changes, &f.resultFlags, &f.runChoices, &f.Options, &f.metrics, &f.Choice, &f.capture, &f.trace, &f.hosts} {
		add(c, flags)
	}
}

// misplaced refuses a name that is the value of a flag whose value is optional, and so has to
// follow "=".
func (f *runFlags) misplaced(names []string) error {
	for _, name := range names {
		_, port, err := net.SplitHostPort(name)
		switch {
		case f.Pcap == report.CaptureFile && (strings.HasSuffix(name, pcapngEnding) || strings.HasSuffix(name, gzipEnding)):
			return fmt.Errorf("%s is not a scenario: to give the capture that name, write --pcap=%s", name, filepath.Base(name))
		case f.Log == report.JSONLog && name == string(report.BinaryLog):
			return fmt.Errorf("%s is not a scenario: for an event log in that form, write --events=%[1]s", name)
		case f.Page == live.DefaultAddress && err == nil && port != "":
			return fmt.Errorf("%s is not a scenario: to serve the page at that address, write --live=%s", name, name)
		}
	}
	return nil
}

// open reads a scenario with the changes of all flags.
func (f *runFlags) open(c *cobra.Command, name string, sets ...scenario.Set) (*scenario.Scenario, error) {
	f.NewStack = netstack.New
	if c.Flags().Changed("priority") {
		if err := host.SetPriority(f.Nice); err != nil {
			return nil, fmt.Errorf("--%w", err)
		}
	}
	if _, auto, err := autoLimit(f.Dilation); err != nil {
		return nil, err
	} else if c.Flags().Changed("dilation") && !auto {
		if _, err := strconv.ParseInt(f.Dilation, 10, 64); err != nil {
			return nil, fmt.Errorf("--dilation %s: use a whole number such as 200, which makes the model 200 times slower, auto, or auto:8h", f.Dilation)
		}
		sets = append(sets, scenario.Set{Path: "wall.dilation", Value: f.Dilation, As: "--dilation " + f.Dilation})
	}
	if f.Curves != "" {
		sets = append(sets, scenario.Set{Path: "measure.curves", Value: f.Curves, As: "--curves " + f.Curves})
	}
	if c.Flags().Changed("seed") {
		sets = append(sets, scenario.Set{Path: "model.seed", Value: f.Seed, As: "--seed " + f.Seed})
	}
	s, err := f.changes.open(name, sets...)
	if err == nil {
		s.Endless = f.endless
		if f.Subnet != "" {
			s.Warnings = s.UnderManager()
		} else if f.Strict {
			err = refuseDeadlock(s)
		}
	}
	return s, err
}

// run runs one scenario.
func (f *runFlags) run(ctx context.Context, c *cobra.Command, s *scenario.Scenario) (err error) {
	if err := f.autoDilation(ctx, s); err != nil {
		return err
	}
	o := f.Options
	o.Version, o.Fleet, o.HostsOf = version(), f.hosts.fleet, f.hosts.of
	out := runFiles{capture: captureFile{name: report.CaptureFile, numbered: f.Rotate != ""}}
	if err := f.request(&o, &out.capture); err != nil {
		return err
	}
	dir, end, err := f.begin(f.base(s), report.Files(), f.old())
	if err != nil {
		return err
	}
	defer end()
	o.Directory, out.capture.dir = dir, dir
	if f.Dry {
		if err := emu.Dry(s, o); err != nil {
			return failure{err}
		}
		fmt.Fprintf(c.OutOrStdout(), "The files of the processes are in %s.\n", filepath.Join(dir, process.PartsDir))
		return nil
	}
	if err := report.RetirePartial(dir); err != nil {
		return failure{err}
	}
	o.Course = func(ctx context.Context, x *metrics.Course) {
		_ = report.WritePartial(ctx, dir, x, f.AllPoints) // the end of the run reports the same error
	}
	o.Waiting = func(parts []*process.File) { showWaiting(s, filepath.Join(dir, process.PartsDir), parts) }
	defer func() {
		if e := out.close(); e != nil && (err == nil || errors.As(err, new(exit))) {
			err = failure{e}
		}
	}()
	release := func() {}
	if f.Log != "" || len(f.Record) > 0 || o.Trace != nil || o.Capture != nil {
		release = files.Reserve(dir, roomForResults(s)) // long files may fill the disk
	}
	defer release()
	if err := out.open(f, dir, &o); err != nil {
		return failure{err}
	}
	showInterfaces(s)
	var sub *subnet.Server
	if f.Subnet != "" {
		if sub, s, err = f.openSubnet(ctx, s, &o); err != nil {
			return err
		}
		defer closeSubnet(sub, dir)
		if err := f.refuseDeadlock(s); err != nil {
			return err
		}
		sub.Swept = func(s *scenario.Scenario) { warnOfDeadlock(s) }
	}
	page, err := f.openPage(s, &o, out.capture)
	if err != nil {
		return err
	}
	defer page.close()
	if sub != nil {
		sub.Follow(o.Changes)
	}
	f.metrics.observe(&o)
	done := follow(s, &o, f.Quiet, f.Show == "json")
	page.observe(&o)
	result, err := emu.Run(ctx, s, o)
	done()
	release()
	if result == nil {
		return failure{err}
	}
	defer files.Reserve(dir, roomForPage)()
	if sub != nil {
		var failed error
		result.Subnet, failed = sub.Report()
		err = errors.Join(err, failed)
	}
	// The result is printed even where it cannot be written.
	if e := out.record(result); e != nil {
		result.Unwritten = append(result.Unwritten, e.Error())
		err = errors.Join(err, e)
	}
	err = errors.Join(err, result.Write(dir, summary.Pictures))
	page.End("The run is over. fabemu live " + dir + " shows its results.")
	switch {
	case f.repeated != nil:
		f.repeated(result)
	case f.JSON:
		_ = report.WriteJSON(c.OutOrStdout(), result.Result)
	default:
		_ = summary.WriteText(c.OutOrStdout(), result.Result, terminal.LookOf(os.Stdout), f.next(dir)...)
	}
	if err != nil && !(f.endless && ctx.Err() != nil) {
		return failure{err}
	}
	return exit(f.status(result.Result))
}

// roomForPage is how many bytes of the disk the files of a result leave for report.html.
const roomForPage = 256 << 10

// roomForResults returns how many bytes of the disk are kept for the results of a run that also
// writes logs or captures: result.json has some 500 bytes for a flow, a link and a buffer.
func roomForResults(s *scenario.Scenario) int {
	const least, each = 4 << 20, 2 << 10
	return least + each*(len(s.Flows)+len(s.Links)+len(s.Endpoints))
}

// showInterfaces names the interfaces of this machine that the run is about to change.
func showInterfaces(s *scenario.Scenario) {
	for i := range s.Endpoints {
		if g := &s.Endpoints[i].Guest; g.Interface != "" {
			fmt.Fprintf(os.Stderr, "fabemu: interface %s of this machine: promiscuous, and without offloads, until the end of the run\n", g.Interface)
		}
	}
}

// showWaiting shows the commands that start the parts that a run waits for.
func showWaiting(s *scenario.Scenario, dir string, parts []*process.File) {
	for _, p := range parts {
		command := "node"
		if s.IsSwitch(p.Part) {
			command = "switchd"
		}
		fmt.Fprintf(os.Stderr, "waiting for: fabemu %s %s\n", command, filepath.Join(dir, process.PartFile(p.Part)))
	}
}

// request sets the capture and the trace of a run, and refuses flags that do not go together.
func (f *runFlags) request(o *emu.Options, file *captureFile) (err error) {
	if f.Pcap != "" {
		q := f.capture // each of several runs has its own
		o.Capture = &q
		file.name = f.Pcap
		if err := file.checkName(); err != nil {
			return err
		}
	}
	if f.Rotate != "" {
		if o.Capture.Rotate, err = unit.ParseSize(f.Rotate); err != nil {
			return fmt.Errorf("--pcap-rotate: %w", err)
		}
		o.Capture.Next = file.next
	}
	if o.Trace, err = f.trace.request(); err != nil {
		return err
	}
	return o.Check()
}

// runFiles are the files that a run writes while it runs.
type runFiles struct {
	all      []*os.File
	recorded []*report.File // of these, those that are noted in the result
	capture  captureFile
}

// open makes the files that flags ask for, and hands them to the run.
func (w *runFiles) open(f *runFlags, dir string, o *emu.Options) (err error) {
	create := func(name string) *os.File {
		file, e := files.Create(filepath.Join(dir, name))
		if e == nil {
			w.all = append(w.all, file)
		}
		err = errors.Join(err, e)
		return file
	}
	record := func(name string) *report.File {
		file := report.NewFile(create(name))
		w.recorded = append(w.recorded, file)
		return file
	}
	if f.Log != "" {
		o.Events, o.EventForm = record(f.Log.File()), f.Log
	}
	if len(f.Record) > 0 {
		o.Recordings = map[string]io.Writer{}
	}
	for _, flow := range f.Record {
		o.Recordings[flow] = record(recordingFile(flow))
	}
	if o.Trace != nil {
		o.Trace.To = create(report.TraceFile)
	}
	if o.Capture != nil && err == nil {
		o.Capture.To, err = w.capture.next()
	}
	return err
}

// record notes files in the result of the run.
func (w *runFiles) record(r *emu.Result) (err error) {
	for _, file := range w.recorded {
		err = errors.Join(err, r.Record(file))
	}
	return err
}

// close ends the files, and removes empty ones of a run that has not begun.
func (w *runFiles) close() error {
	err := w.capture.end()
	for _, file := range w.all {
		if info, e := file.Stat(); e == nil && info.Size() == 0 {
			os.Remove(file.Name())
		}
		err = errors.Join(err, file.Close())
	}
	return err
}

// old are the files of an earlier run that go before a run begins.
func (f *runFlags) old() []string {
	if f.Dry {
		return nil
	}
	old := append(report.Files(), report.EventsFile, report.EventsBinary, report.TraceFile, report.PageFile, report.TransfersFile, report.LongTransfersFile)
	for _, picture := range []string{report.RatesFile, report.SlowdownFile} {
		old = append(old, plot.NamesOf(strings.TrimSuffix(picture, ".svg"))...)
	}
	for _, flow := range f.Record {
		old = append(old, recordingFile(flow))
	}
	return old
}

// base is the start of the name of a new directory for the results.
func (f *runFlags) base(s *scenario.Scenario) string {
	base := fileName(s.Name) + "-" + string(f.Clock)
	if f.Clock == emu.WallClock {
		base += fmt.Sprintf("-%d", s.Wall.Dilation)
	}
	return base
}

// recordingFile returns the name of the file with the recording of a flow.
func recordingFile(flow string) string { return "recording-" + fileName(flow) + ".txt" }

// status returns the exit status that a result deserves.
func (f *runFlags) status(r *report.Result) int {
	if r.Partial && !f.endless || r.Verdict.Level == report.Void || r.Stuck() || r.Broken() || len(r.Unwritten) > 0 {
		return exitFailed
	}
	failed := slices.ContainsFunc(r.Checks, func(c report.Check) bool { return c.Outcome == report.Fail })
	if failed || f.Strict && !r.Verdict.Level.Strict() {
		return exitCheck
	}
	return exitOK
}

// next returns lines with the commands that a person may want for the results in a folder.
func (f *runFlags) next(dir string) []string {
	if f.Quiet || f.Show == "json" {
		return nil
	}
	return []string{
		"Next:    " + campaign.Quote("fabemu", "report", dir) + "  # report.html, with curves",
		"         " + campaign.Quote("fabemu", "live", dir) + "  # the run in a browser",
	}
}
