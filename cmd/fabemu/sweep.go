package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fabemu/emu"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/study/campaign"
	"fabemu/emu/study/sweep"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
)

// sweepFlags are the flags of sweep.
type sweepFlags struct {
	campaignFlags
	sweep.Plan
	sets   []string
	during string
	jobs   int
}

func sweepCommand() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep SCENARIO --set PATH=VALUE,VALUE,...",
		Short: "Run a scenario over lists of values",
		Long: `Run a scenario once for each combination of values, and write a table and figures.

--set takes the paths of run, with several values: --set defaults.link.buffer=2packets,4packets.
On the virtual clock several runs go on at a time. A sweep that was ended or killed continues
where it was when it is called again with the same --out. A sweep with more values, or another
one in the same directory, repeats no run whose inputs are the same. --force repeats all.

` + campaignText,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeScenarios,
		RunE:              func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	f.register(c)
	c.AddCommand(exportCommand("SCENARIO", completeScenarios, &sweepFlags{}))
	return c
}

// job is the sweep as engines take it.
func (f *sweepFlags) job(c *cobra.Command, scenario string, e *exportFlags) (*campaign.Job, error) {
	p, err := f.planOf(c, scenario)
	if err != nil {
		return nil, err
	}
	cells, err := sweep.Cells(p)
	if err != nil {
		return nil, err
	}
	src, file, err := builtin.Find(scenario)
	if err != nil {
		return nil, err
	}
	j := &campaign.Job{
		Kind: sweep.Kind, Name: scenario, Workers: "--jobs", Table: sweep.TableFile, Cells: cells,
		Wall: f.clock == emu.WallClock,
	}
	if file == scenario {
		j.Name = filepath.Base(scenario)
		if e.engine == campaign.Kubernetes {
			j.Scenario = &campaign.File{Path: "/scenario/" + j.Name, Text: string(src)}
			scenario = j.Scenario.Path
		}
	}
	return j, e.fill(c, j, scenario, f.out)
}

// register declares the flags.
func (f *sweepFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringArrayVar(&f.sets, "set", nil, "vary a field of the scenario: PATH=VALUE,VALUE,... (may be repeated)")
	flags.IntVar(&f.Seeds, "seeds", 0,
		"repeat each run with the seeds 1 to this number; the figures and "+sweep.MeansFile+" have means and 95 % intervals")
	flags.StringArrayVar(&f.Metrics, "metric", nil,
		"a figure to measure, an expression such as root.B-BC.utilisation (may be repeated; default: the scenario's checks)")
	flags.StringVar(&f.during, "during", "", "FROM,TO: the time over which metrics are taken (default: all after the first fifth)")
	flags.BoolVar(&f.Short, "short", false, "take the short run of the scenario, as its section short describes it")
	flags.IntVar(&f.jobs, "jobs", 0, "virtual clock: how many runs at a time (default: as many as there are processors)")
	flags.BoolVar(&f.Large, "large", false, fmt.Sprintf("allow more than %d runs", sweep.MaxCells))
	f.campaignFlags.register(c, "jobs")
	flags.Lookup("out").Usage = "directory for the results (default: one under results/)"
	flags.Lookup("force").Usage = "repeat all runs, and write into a directory with other files, which stay"
}

// planOf turns the flags into a plan, and sets the directory for its results.
func (f *sweepFlags) planOf(c *cobra.Command, scenario string) (sweep.Plan, error) {
	p := f.Plan
	p.Fabemu, p.Scenario, p.Clock, p.Codec = version(), scenario, string(f.clock), f.codec
	if scenario == "-" {
		return p, errors.New("a sweep reads its scenario more than once: standard input will not do")
	}
	switch {
	case p.Seeds < 2 && c.Flags().Changed("seeds"):
		return p, tooFewSeeds(p.Seeds)
	case len(f.sets) == 0 && p.Seeds == 0:
		return p, fmt.Errorf("a sweep varies something: give it --set PATH=VALUE,VALUE, such as --set defaults.link.buffer=2packets,4packets, or --seeds 10; a single run is fabemu run %s",
			scenario)
	case f.jobs < 0 || f.jobs == 0 && c.Flags().Changed("jobs"):
		return p, fmt.Errorf("--jobs %d: one at least is wanted", f.jobs)
	}
	if f.clock == emu.WallClock {
		p.Link = string(f.link)
	}
	for _, text := range f.sets {
		a, err := sweep.ParseAxis(text)
		if err != nil {
			return p, err
		}
		p.Axes = append(p.Axes, a)
	}
	if p.Seeds > 0 {
		p.Repeat(p.Seeds)
	}
	if f.during != "" {
		from, to, found := strings.Cut(f.during, ",")
		a, err := unit.ParseDuration(strings.TrimSpace(from))
		b, err2 := unit.ParseDuration(strings.TrimSpace(to))
		if err := errors.Join(err, err2); err != nil || !found || a >= b {
			return p, fmt.Errorf("--during %s: two instants are wanted, such as 100ms,500ms", f.during)
		}
		p.FromPs, p.ToPs = int64(a), int64(b)
	}
	if f.out == "" {
		f.out = filepath.Join("results", "sweep-"+fileName(scenario))
	}
	return p, nil
}

func (f *sweepFlags) run(c *cobra.Command, scenario string) error {
	share, err := f.share()
	if err != nil {
		return err
	}
	p, err := f.planOf(c, scenario)
	if err != nil {
		return err
	}
	if f.list {
		cells, err := sweep.Cells(p)
		if err != nil {
			return err
		}
		f.print(c, commandOf(c, sweep.Kind, scenario, f.out), cells)
		return nil
	}
	var cells []sweep.Cell
	var missing []campaign.Cell
	if f.table {
		cells, missing, err = sweep.Draw(p, f.out)
	} else {
		ctx, stop := untilEnded(c)
		defer stop()
		o := sweep.Options{Share: share, Jobs: f.jobs, Force: f.force, Progress: cellsDone(sweep.Kind),
			Warn: func(text string) { fmt.Fprintln(os.Stderr, "fabemu: warning:", text) }}
		cells, err = sweep.Run(ctx, p, f.out, o)
	}
	if err != nil {
		return f.endedEarly(sweep.Kind, err)
	}
	void := 0
	for _, c := range cells {
		if c.Level == report.Void {
			void++
		}
	}
	status := max(showMissing(sweep.Kind, missing), showVoid(sweep.Kind, void, len(cells)))
	if f.table && cells == nil {
		return exit(status)
	}
	if !share.All() {
		f.showShare(sweep.Kind, share, len(cells))
		return exit(status)
	}
	write := sweep.WriteTable
	if p.Seeds > 0 {
		write = sweep.WriteMeans
	}
	_ = write(c.OutOrStdout(), &p, cells)
	fmt.Fprintf(os.Stderr, "sweep: the table and the figures are in %s\n", f.out)
	return exit(status)
}
