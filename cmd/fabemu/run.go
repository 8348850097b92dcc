package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"fabemu/emu"
	"fabemu/emu/files"
	"fabemu/emu/live"
	"fabemu/emu/proc"
	"fabemu/emu/report"
	"fabemu/emu/scenario"
	"fabemu/emu/scenarios"
	"fabemu/emu/terminal"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// runFlags are the flags of run.
type runFlags struct {
	clock, link, verify, out    string
	timing, dilation            string
	seed                        uint64
	changes                     changes
	force, json, strict, events bool
	priority, dry               bool
	loops                       int
	codec, digest, points       bool
	pcap, rotate                string
	placement, sync             string
	byHand                      []string
	hosts                       fleetFlags
	capture                     captureFlags
	record                      []string
	trace                       traceFlags
	page                        string
	metrics                     metricsFlags
	quiet                       bool
}

func runCommand(status *int) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [SCENARIO...]",
		Short: "Run scenarios; without a name, " + scenarios.Default,
		Long: "Run scenarios, one after another; without a name, " + scenarios.Default + `.

Each has its results in a directory of its own: a new one under results/, or with
--out DIR that one, and of several runs one in it for each, by the scenario's name.

` + callText,
		ValidArgsFunction: completeScenarios,
		RunE: func(c *cobra.Command, names []string) (err error) {
			if err := belong(c); err != nil {
				return err
			}
			if len(names) == 0 {
				names = []string{scenarios.Default}
			}
			*status, err = f.runAll(c, names)
			return err
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.clock, "clock", "wall", "wall, or virtual: as fast as it goes")
	flags.StringVar(&f.timing, "timing", "ideal", "what machines are told on the wall clock: ideal, the instants of the model, or actual, the measured ones")
	flags.StringVar(&f.link, "link", "udp", "what carries the frames of a wall run: udp, veth (pairs of interfaces between network namespaces; needs root), or pipe (memory of this process)")
	flags.StringVar(&f.dilation, "dilation", "", "wall time per model time: a number, or auto: as low as this computer can (default: the scenario's)")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of all that is random (default: the scenario's)")
	flags.StringVar(&f.out, "out", "", "directory for the results (default: a new one under results/)")
	flags.BoolVar(&f.force, "force", false, "write into --out even if something is there")
	flags.BoolVar(&f.events, "events", false, "write the event log too: "+report.EventsFile)
	flags.StringVar(&f.pcap, "pcap", "", "write a capture of all links for Wireshark too: "+report.CaptureFile+", or with --pcap=NAME.pcapng.gz that, compressed by gzip")
	flags.Lookup("pcap").NoOptDefVal = report.CaptureFile
	flags.StringVar(&f.rotate, "pcap-rotate", "", "write the capture in files with numbers, each of this size at most before it is compressed, such as 20MB")
	f.capture.add(c)
	flags.StringSliceVar(&f.record, "record", nil, "write what these flows are told, with times, for fabemu bench limiter --replay: "+toldFile("FLOW"))
	f.trace.add(c)
	flags.StringVar(&f.page, "live", "", "show the run in a browser while it goes on: the address of a page is printed; it is on this computer alone, unless --live=HOST:PORT names another address")
	flags.Lookup("live").NoOptDefVal = live.DefaultAddress
	f.metrics.add(c)
	flags.BoolVar(&f.quiet, "quiet", false, "show nothing while the run goes on: neither the view of it that a terminal has, nor lines elsewhere")
	flags.BoolVar(&f.json, "json", false, "print "+report.ResultFile+" instead of the report; of several runs, one after another")
	flags.BoolVar(&f.strict, "strict", false, "fail if the timing is not faithful at least")
	codecFlag(flags, &f.codec)
	digestFlag(flags, &f.digest)
	flags.BoolVar(&f.points, "all-points", false, "have "+report.SeriesFile+" hold every point that was measured, up to 20 in each measure.window, and not only those that a picture shows")
	flags.StringVar(&f.verify, "verify", "short", "compare a wall run with the virtual clock: on, off, or short, which is if it takes seconds")
	flags.BoolVar(&f.priority, "priority", true, "give this process the highest priority while a wall run goes on, where the system allows it")
	flags.IntVar(&f.loops, "loops", 0, "how many loops share the machines of a run in this process, each on a processor of its own; the log is the same with any number (default: on the virtual clock as many as help, at most one less than there are processors; on the wall clock one)")
	flags.StringVar(&f.placement, "placement", "goroutine", "where the machines of a wall run live: goroutine (all in this process), process (one each), domain (one for each switch with its endpoints), or hosts (a share on each of several computers)")
	flags.StringSliceVar(&f.byHand, "by-hand", nil, "with --placement process or domain: machines whose processes you start yourself (fabemu node, fabemu switchd)")
	flags.BoolVar(&f.dry, "dry-run", false, "with --placement process or domain: write the files of the processes into --out, and run nothing")
	flags.StringVar(&f.sync, "sync", "", "how processes keep the order of events: exact (that of the virtual clock, and the run takes as long as it takes), or late (each does all at its time, and frames can be overtaken); default: exact below a dilation of "+strconv.Itoa(proc.LateFrom))
	complete(c, "sync", string(emu.Exact), string(emu.Late))
	complete(c, "placement", string(emu.InGoroutines), string(emu.InProcesses), string(emu.InDomains), string(emu.InHosts))
	f.hosts.addRun(c)
	complete(c, "clock", string(emu.WallClock), string(emu.VirtualClock))
	complete(c, "timing", string(emu.IdealTiming), string(emu.ActualTiming))
	complete(c, "link", string(emu.UDP), string(emu.Veth), string(emu.Pipe))
	complete(c, "verify", string(emu.VerifyShort), string(emu.VerifyOn), string(emu.VerifyOff))
	f.changes.add(c)
	return c
}

// codecFlag adds the flag that has frames go through their bytes on the virtual clock.
func codecFlag(flags *pflag.FlagSet, codec *bool) {
	flags.BoolVar(codec, "codec", false, "virtual clock: have each frame go through its bytes, as on the wall clock; without, frames are handed over as values, which is faster and gives the same figures (with --pcap they always go through bytes)")
}

// digestFlag adds the flag that has the event log condensed.
func digestFlag(flags *pflag.FlagSet, digest *bool) {
	flags.BoolVar(digest, "digest", false, "virtual clock: condense the event log into 32 digits in the results, which are the same for two runs only if all machines did the same; a wall run has them always")
}

// showIdle tells of flags that were given and that nothing heeds.
func (f *runFlags) showIdle(c *cobra.Command) {
	if f.clock != string(emu.VirtualClock) {
		return
	}
	for _, name := range []string{"link", "dilation", "verify", "priority"} {
		if c.Flags().Changed(name) {
			fmt.Fprintf(os.Stderr, "fabemu: warning: --%s is of no effect on the virtual clock\n", name)
		}
	}
}

// open reads a scenario with the changes of all flags.
func (f *runFlags) open(c *cobra.Command, name string) (*scenario.Scenario, error) {
	var sets []scenario.Set
	if c.Flags().Changed("dilation") && f.dilation != "auto" {
		sets = append(sets, scenario.Set{Path: "wall.dilation", Value: f.dilation, As: "--dilation " + f.dilation})
	}
	if c.Flags().Changed("seed") {
		seed := strconv.FormatUint(f.seed, 10)
		sets = append(sets, scenario.Set{Path: "model.seed", Value: seed, As: "--seed " + seed})
	}
	return f.changes.open(name, sets...)
}

// run runs one scenario and returns the exit status.
func (f *runFlags) run(ctx context.Context, c *cobra.Command, s *scenario.Scenario) (status int, err error) {
	if err := f.autoDilation(ctx, s); err != nil {
		return 0, err
	}
	options := emu.Options{
		Clock: emu.Clock(f.clock), Link: emu.Carrier(f.link), Verify: emu.Verify(f.verify), Timing: emu.Timing(f.timing),
		Priority: f.priority, Version: version(), Placement: emu.Placement(f.placement), Sync: emu.Sync(f.sync), ByHand: f.byHand, Loops: f.loops, Codec: f.codec, Digest: f.digest,
		AllPoints: f.points, Fleet: f.hosts.fleet, HostsOf: f.hosts.of,
	}
	file := captureFile{name: report.CaptureFile, numbered: f.rotate != ""}
	if f.pcap != "" {
		if options.Capture, err = f.capture.capture(nil); err != nil {
			return 0, err
		}
		file.name = f.pcap
		if err := file.checkName(); err != nil {
			return 0, err
		}
	}
	if f.rotate != "" {
		if options.Capture.Rotate, err = unit.ParseSize(f.rotate); err != nil {
			return 0, fmt.Errorf("--pcap-rotate: %w", err)
		}
		options.Capture.Next = file.next
	}
	if options.Trace, err = f.trace.request(); err != nil {
		return 0, err
	}
	if err := options.Check(); err != nil {
		return 0, err
	}
	dir, hold, err := f.directory(s)
	if err != nil {
		return 0, err
	}
	defer hold.Release()
	defer os.Remove(dir) // it stays if something is in it
	options.Directory, file.dir = dir, dir
	if f.dry {
		if err := emu.Dry(s, options); err != nil {
			return 0, failure{err}
		}
		fmt.Fprintf(c.OutOrStdout(), "The files of the processes are in %s.\n", filepath.Join(dir, proc.PartsDir))
		return exitOK, nil
	}
	options.Waiting = func(parts []*proc.File) {
		for _, p := range parts {
			command := "node"
			if s.IsSwitch(p.Part) {
				command = "switchd"
			}
			fmt.Fprintf(os.Stderr, "waiting for: fabemu %s %s\n", command, filepath.Join(dir, proc.PartsDir, proc.PartFile(p.Part)))
		}
	}
	old := append(report.Files(), report.EventsFile, report.TraceFile, report.OpenMetricsFile, report.PageFile, report.PNGFile)
	for _, flow := range f.record {
		old = append(old, toldFile(flow))
	}
	if err := hold.Retire(old...); err != nil {
		return 0, failure{err}
	}
	var log *os.File
	if f.events {
		if log, err = files.Create(filepath.Join(dir, report.EventsFile)); err != nil {
			return 0, failure{err}
		}
		defer log.Close()
		options.Events = log
	}
	if options.Trace != nil {
		traced, failed := files.Create(filepath.Join(dir, report.TraceFile))
		if failed != nil {
			return 0, failure{failed}
		}
		defer func() {
			if info, e := traced.Stat(); e == nil && info.Size() == 0 {
				os.Remove(traced.Name()) // the run has not begun
			}
			if e := traced.Close(); err == nil && e != nil {
				status, err = exitFailed, failure{e}
			}
		}()
		options.Trace.To = traced
	}
	if options.Capture != nil {
		var failed error
		if options.Capture.To, failed = file.next(); failed != nil {
			return 0, failure{failed}
		}
		defer func() {
			if e := file.end(); err == nil && e != nil {
				status, err = exitFailed, failure{e}
			}
		}()
	}
	var recordings []*os.File
	for _, flow := range f.record {
		file, failed := files.Create(filepath.Join(dir, toldFile(flow)))
		if failed != nil {
			return 0, failure{failed}
		}
		defer file.Close()
		recordings = append(recordings, file)
		if options.Told == nil {
			options.Told = map[string]io.Writer{}
		}
		options.Told[flow] = file
	}
	page, err := f.openPage(s, &options, file)
	if err != nil {
		return 0, err
	}
	defer page.close()
	f.metrics.observe(&options)
	done := follow(s, &options, f.quiet)
	result, err := emu.Run(ctx, s, options)
	done()
	if result == nil {
		for _, file := range recordings {
			os.Remove(file.Name()) // nothing is in it
		}
		return 0, failure{err}
	}
	// The result is printed even where it cannot be written.
	var failed error
	if log != nil {
		failed = result.Record(log.Name())
	}
	for _, file := range recordings {
		failed = errors.Join(failed, result.Record(file.Name()))
	}
	failed = errors.Join(failed, f.metrics.write(dir, s, result))
	if failed = errors.Join(failed, result.Write(dir)); failed != nil {
		result.Unwritten = append(result.Unwritten, failed.Error())
		err = errors.Join(err, failed)
	}
	page.end("The run is over. fabemu live " + dir + " shows its results.")
	if f.json {
		err = errors.Join(err, writing(report.WriteJSON(c.OutOrStdout(), result.Result)))
	} else {
		err = errors.Join(err, writing(report.WriteText(c.OutOrStdout(), result.Result, terminal.LookOf(os.Stdout))))
	}
	if err != nil {
		return 0, failure{err}
	}
	return f.status(result.Result), nil
}

// toldFile returns the name of the file of what a flow was told.
func toldFile(flow string) string { return "told-" + fileName(flow) + ".txt" }

// status returns the exit status that a result deserves.
func (f *runFlags) status(r *report.Result) int {
	if r.Partial || r.Verdict.Level == report.Void || len(r.Unwritten) > 0 {
		return exitFailed
	}
	for _, check := range r.Checks {
		if check.Outcome == report.Fail {
			return exitCheck
		}
	}
	if f.strict && !r.Verdict.Level.Strict() {
		return exitCheck
	}
	return exitOK
}

// directory makes the directory for the results of a run.
func (f *runFlags) directory(s *scenario.Scenario) (string, *files.Hold, error) {
	base := fileName(s.Name) + "-" + f.clock
	if f.clock == string(emu.WallClock) {
		base += fmt.Sprintf("-%d", s.Wall.Dilation)
	}
	return resultsDirectory(f.out, base, f.force, report.Files())
}

// resultsDirectory makes the directory for results, and holds it: out, or where that is
// empty a new one under results/ whose name begins with base. Nothing that is there is
// overwritten, unless force says so. What a process that was killed has begun of files
// is removed.
func resultsDirectory(out, base string, force bool, names []string) (dir string, hold *files.Hold, err error) {
	if out == "" {
		if out, err = newDirectory(base); err != nil {
			return "", nil, notThere("results", err)
		}
	}
	if hold, err = files.Claim(out); err != nil {
		return "", nil, notThere(out, err)
	}
	// Only who holds it knows that nobody writes there.
	empty, err := hold.Empty()
	switch {
	case err == nil && !empty && !force:
		err = fmt.Errorf("%s is not empty; choose another --out, or --force to write into it", out)
	case err == nil:
		err = hold.Tidy(names...)
	}
	if err != nil {
		hold.Release()
		return "", nil, err
	}
	return out, hold, nil
}

// notThere says that results cannot be in a place.
func notThere(place string, err error) error {
	return fmt.Errorf("%s: %w; choose another place with --out", place, err)
}

// newDirectory makes a directory under results/ that was not there before.
func newDirectory(base string) (string, error) {
	if err := files.MakeAll("results"); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		dir := filepath.Join("results", fmt.Sprintf("%s-%d", base, n))
		if err := os.Mkdir(dir, 0o777); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
}
