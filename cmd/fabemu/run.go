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
	"fabemu/emu/result/report"
	"fabemu/emu/result/summary"
	"fabemu/emu/run/guest/netstack"
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/study/campaign"
	"fabemu/emu/watch/live"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
)

// runFlags are the flags of run.
type runFlags struct {
	emu.Options
	resultFlags
	dilation                         string
	curves                           string
	seed                             uint64
	seeds, priority                  int
	repeated                         *[]*report.Result // takes the result in place of standard output
	endless                          bool              // an end by a signal is the usual end
	changes                          changes
	json, strict, events, quiet, dry bool
	pcap, rotate                     string
	hosts                            fleetFlags
	capture                          captureFlags
	record                           []string
	trace                            traceFlags
	page, progress                   string
	metrics                          metricsFlags
}

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [SCENARIO...]",
		Short: "Run scenarios; without a name, " + builtin.Default,
		Long: "Run scenarios, one after another; without a name, " + builtin.Default + `.

Each run writes its results into a directory of its own: a new one under results/, or DIR
with --out DIR. Several runs have a directory each in DIR, by the name of the scenario.

` + callText,
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

// add adds all flags of run.
func (f *runFlags) add(c *cobra.Command) {
	f.addClock(c)
	flags := c.Flags()
	f.resultFlags.add(c)
	flags.IntVar(&f.seeds, "seeds", 0, "repeat the run with the seeds 1 to this number, each in a directory of its own, "+
		"and print means with their 95 % intervals: "+report.SeedsFile)
	flags.BoolVar(&f.events, "events", false, "write the event log too: "+report.EventsFile)
	flags.StringSliceVar(&f.Choice.Kinds, "events-kinds", nil, "write events of these kinds alone, such as transfer-end,cnm; the digest is of all events")
	flags.StringSliceVar(&f.Choice.Machines, "events-machines", nil, "write events of these machines alone")
	flags.StringSliceVar(&f.Choice.Flows, "events-flows", nil, "write events of these flows, groups of flows and workloads alone")
	goWith(c, "events", "", "events-kinds", "events-machines", "events-flows")
	flags.StringVar(&f.pcap, "pcap", "", "write a capture of all links for Wireshark too: "+report.CaptureFile+", or with --pcap=NAME.pcapng.gz that file, compressed by gzip")
	flags.Lookup("pcap").NoOptDefVal = report.CaptureFile
	flags.StringVar(&f.rotate, "pcap-rotate", "", "write the capture in files with numbers, each of this size at most before it is compressed, such as 20MB")
	goWith(c, "pcap", "", "pcap-rotate")
	f.capture.add(c)
	flags.StringSliceVar(&f.record, "record", nil, "record the feedback and rates that the sources of these flows receive, with times, for fabemu bench limiter --replay: "+recordingFile("FLOW"))
	f.trace.add(c)
	flags.StringVar(&f.page, "live", "", "show the run in a browser while it goes on: the address of a page is printed; it is on this computer alone, unless --live=HOST:PORT names another address")
	flags.Lookup("live").NoOptDefVal = live.DefaultAddress
	f.metrics.add(c)
	flags.BoolVar(&f.quiet, "quiet", false, "show no progress while the run goes on")
	choice(c, &f.progress, "progress", "text", "how far the run is, on standard error: text, or json, for other programs: a line at the begin and five in a second, each an object", "text", "json")
	flags.BoolVar(&f.json, "json", false, "print "+report.ResultFile+" instead of the report; of several runs, one after another")
	flags.BoolVar(&f.strict, "strict", false, "fail if the timing is not faithful at least")
	codecFlag(flags, &f.Codec)
	digestFlag(flags, &f.Digest)
	flags.StringVar(&f.curves, "curves", "", "links, groups, flows and workloads whose curves alone are in "+report.RatesFile+" and "+report.SeriesFile+", with commas between; \"h[1-8]-A\" and h*-A are bands of several (default: the scenario's)")
	flags.BoolVar(&f.AllPoints, "all-points", false, "write every measured point to "+report.SeriesFile+", up to 20 in each measure.window, and not only the points that a picture shows")
	choice(c, &f.Verify, "verify", emu.VerifyShort, "compare a wall run with the virtual clock: on, off, or short: only if that takes seconds",
		emu.VerifyShort, emu.VerifyOn, emu.VerifyOff)
	flags.IntVar(&f.Loops, "loops", 0, "on the virtual clock, how many loops share the machines, each on a processor of its own; the log is the same with any number (default: as many as help, at most one less than there are processors)")
	choice(c, &f.Placement, "placement", emu.InGoroutines, "where the machines of a wall run live: goroutine (all in this process), process (one each), domain (one for each switch with its endpoints), or hosts (a share on each of several computers)",
		emu.InGoroutines, emu.InProcesses, emu.InDomains, emu.InHosts)
	flags.StringSliceVar(&f.ByHand, "by-hand", nil, "with --placement process or domain: machines whose processes you start yourself (fabemu node, fabemu switchd)")
	flags.BoolVar(&f.dry, "dry-run", false, "with --placement process or domain: write the files of the processes into --out, and run nothing")
	choice(c, &f.Pin, "pin", process.PinOn, "who puts the loops of processes on processors: on (those that wait for one another share one), or off (the system)",
		process.PinOn, process.PinOff)
	flags.BoolVar(&f.YesThisOne, "yes-this-one", false, "let an interface of this computer be a guest that carries the default route: the computer is cut off while the run goes on")
	f.hosts.addRun(c)
	f.changes.add(c)
}

// misplaced refuses a name that is the value of a flag whose value is optional, and so has to follow "=".
func (f *runFlags) misplaced(names []string) error {
	for _, name := range names {
		_, port, err := net.SplitHostPort(name)
		switch {
		case f.pcap == report.CaptureFile && (strings.HasSuffix(name, pcapngEnding) || strings.HasSuffix(name, gzipEnding)):
			return fmt.Errorf("%s is no scenario: if the capture is to have that name, write --pcap=%s", name, filepath.Base(name))
		case f.page == live.DefaultAddress && err == nil && port != "":
			return fmt.Errorf("%s is no scenario: if the page is to have that address, write --live=%s", name, name)
		}
	}
	return nil
}

// addClock adds the flags for the time of a run, and for the carrier of its frames.
func (f *runFlags) addClock(c *cobra.Command) {
	choice(c, &f.Clock, "clock", emu.WallClock, "wall, or virtual: as fast as it goes", emu.WallClock, emu.VirtualClock)
	choice(c, &f.Timing, "timing", emu.IdealTiming, "the time of rate limiters and reaction points on the wall clock: ideal, the instants of the model, or actual, the measured ones",
		emu.IdealTiming, emu.ActualTiming)
	choice(c, &f.Link, "link", "", "the carrier of the frames of a wall run: trains (UDP, frames that leave together in one datagram: tcpdump -i lo shows it as one packet, and Wireshark with the add-on each frame), udp (a datagram a frame), veth (pairs of interfaces between network namespaces; needs root), or pipe (memory of this process) (default: trains; udp between processes)",
		emu.Trains, emu.UDP, emu.Veth, emu.Pipe)
	c.Flags().StringVar(&f.dilation, "dilation", "", "wall time per model time: a number, or auto: the smallest that this machine sustains in trials of 0.4 s (default: the scenario's)")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the random numbers (default: the scenario's)")
	c.Flags().IntVar(&f.priority, "priority", 0, "nice value of this process and those that it starts, from -20 (highest priority) to 19; raising the priority needs root or CAP_SYS_NICE")
}

// showIdle warns of flags that were given and have no effect.
func (f *runFlags) showIdle(c *cobra.Command) {
	if f.Clock != emu.VirtualClock {
		return
	}
	for _, name := range []string{"link", "dilation", "verify"} {
		if c.Flags().Changed(name) {
			fmt.Fprintf(os.Stderr, "fabemu: warning: --%s is of no effect on the virtual clock\n", name)
		}
	}
}

// open reads a scenario with the changes of all flags.
func (f *runFlags) open(c *cobra.Command, name string, sets ...scenario.Set) (*scenario.Scenario, error) {
	f.NewStack = netstack.New
	if c.Flags().Changed("priority") {
		if err := host.SetPriority(f.priority); err != nil {
			return nil, fmt.Errorf("--%w", err)
		}
	}
	if c.Flags().Changed("dilation") && f.dilation != "auto" {
		if _, err := strconv.ParseInt(f.dilation, 10, 64); err != nil {
			return nil, fmt.Errorf("--dilation %s: a whole number is wanted, such as 200 (1 is as fast as the model, 200 is 200 times slower), or auto: the smallest that this machine sustains",
				f.dilation)
		}
		sets = append(sets, scenario.Set{Path: "wall.dilation", Value: f.dilation, As: "--dilation " + f.dilation})
	}
	if f.curves != "" {
		sets = append(sets, scenario.Set{Path: "measure.curves", Value: f.curves, As: "--curves " + f.curves})
	}
	if c.Flags().Changed("seed") {
		seed := strconv.FormatUint(f.seed, 10)
		sets = append(sets, scenario.Set{Path: "model.seed", Value: seed, As: "--seed " + seed})
	}
	s, err := f.changes.open(name, sets...)
	if err == nil {
		s.Endless = f.endless
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
	out := runFiles{capture: captureFile{name: report.CaptureFile, numbered: f.rotate != ""}}
	if err := f.request(&o, &out.capture); err != nil {
		return err
	}
	dir, end, err := f.begin(f.base(s), report.Files(), f.old())
	if err != nil {
		return err
	}
	defer end()
	o.Directory, out.capture.dir = dir, dir
	if f.dry {
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
	if err := out.open(f, dir, &o); err != nil {
		return failure{err}
	}
	showInterfaces(s)
	page, err := f.openPage(s, &o, out.capture)
	if err != nil {
		return err
	}
	defer page.close()
	f.metrics.observe(&o)
	done := follow(s, &o, f.quiet, f.progress == "json")
	page.observe(&o)
	result, err := emu.Run(ctx, s, o)
	done()
	if result == nil {
		return failure{err}
	}
	// The result is printed even where it cannot be written.
	if e := errors.Join(out.record(result), result.Write(dir, summary.Pictures)); e != nil {
		result.Unwritten = append(result.Unwritten, e.Error())
		err = errors.Join(err, e)
	}
	page.End("The run is over. fabemu live " + dir + " shows its results.")
	switch {
	case f.repeated != nil:
		*f.repeated = append(*f.repeated, result.Result)
	case f.json:
		_ = report.WriteJSON(c.OutOrStdout(), result.Result)
	default:
		_ = summary.WriteText(c.OutOrStdout(), result.Result, terminal.LookOf(os.Stdout), f.next(dir)...)
	}
	if err != nil && !(f.endless && ctx.Err() != nil) {
		return failure{err}
	}
	return exit(f.status(result.Result))
}

// showInterfaces names the interfaces of this computer that the run is about to change.
func showInterfaces(s *scenario.Scenario) {
	for i := range s.Endpoints {
		if g := &s.Endpoints[i].Guest; g.Interface != "" {
			fmt.Fprintf(os.Stderr, "fabemu: interface %s of this computer: promiscuous, and without offloads, until the end of the run\n", g.Interface)
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
	if f.pcap != "" {
		o.Capture = f.capture.request(nil)
		file.name = f.pcap
		if err := file.checkName(); err != nil {
			return err
		}
	}
	if f.rotate != "" {
		if o.Capture.Rotate, err = unit.ParseSize(f.rotate); err != nil {
			return fmt.Errorf("--pcap-rotate: %w", err)
		}
		o.Capture.Next = file.next
	}
	if o.Trace, err = f.trace.request(); err != nil {
		return err
	}
	return o.Check()
}

// runFiles are the files that a run writes while it goes on.
type runFiles struct {
	all      []*os.File
	recorded []*os.File // of these, those that are noted in the result
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
	if f.events {
		o.Events = create(report.EventsFile)
	}
	if len(f.record) > 0 {
		o.Told = map[string]io.Writer{}
	}
	for _, flow := range f.record {
		o.Told[flow] = create(recordingFile(flow))
	}
	w.recorded = w.all
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
		err = errors.Join(err, r.Record(file.Name()))
	}
	return err
}

// close ends the files. Those in which nothing stands, of a run that has not begun, are removed.
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
	if f.dry {
		return nil
	}
	old := append(report.Files(), report.EventsFile, report.TraceFile, report.PageFile, report.PNGFile,
		report.SlowdownFile, report.TransfersFile, report.LongTransfersFile)
	for _, flow := range f.record {
		old = append(old, recordingFile(flow))
	}
	return old
}

// base is the begin of the name of a new directory for the results.
func (f *runFlags) base(s *scenario.Scenario) string {
	base := fileName(s.Name) + "-" + string(f.Clock)
	if f.Clock == emu.WallClock {
		base += fmt.Sprintf("-%d", s.Wall.Dilation)
	}
	return base
}

// recordingFile returns the name of the file with the recording of a flow.
func recordingFile(flow string) string { return "told-" + fileName(flow) + ".txt" }

// status returns the exit status that a result deserves.
func (f *runFlags) status(r *report.Result) int {
	if r.Partial && !f.endless || r.Verdict.Level == report.Void || len(r.Unwritten) > 0 {
		return exitFailed
	}
	failed := slices.ContainsFunc(r.Checks, func(c report.Check) bool { return c.Outcome == report.Fail })
	if failed || f.strict && !r.Verdict.Level.Strict() {
		return exitCheck
	}
	return exitOK
}

// next returns lines with the commands that a person may want for the results in a folder.
func (f *runFlags) next(dir string) []string {
	if f.quiet || f.progress == "json" {
		return nil
	}
	return []string{
		"Next:    " + campaign.Quote("fabemu", "report", dir) + "  # report.html, with curves",
		"         " + campaign.Quote("fabemu", "live", dir) + "  # the run in a browser",
	}
}
