package main

import (
	"cmp"
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

type sweepFlags struct {
	axisFlags
	campaignFlags
	changes changes
	plan    sweep.Plan
	how     sweep.Options
}

// axisFlags are the flags of sweep that package sweep does not have as they are.
type axisFlags struct {
	// Vary a field of the scenario (repeatable).
	Sets []string `flag:"set" group:"Scenario" arg:"PATH=VALUE,VALUE,..." each:"true"`
	// Compare schemes, each with all that it needs: algorithm, marking, telemetry, thresholds,
	// transport.
	Schemes []string `flag:"scheme" arg:"NAME,..." each:"true"`
	// Model time over which metrics are taken (default: transfers count as in the report of a run,
	// all but those of the warm-up; other metrics leave out the first fifth).
	During string `flag:"during" group:"Runs" arg:"FROM,TO"`
}

func sweepCommand() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:               "sweep SCENARIO",
		Short:             "Run a scenario over lists of values",
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
	p, err := f.planOf(scenario)
	if err != nil {
		return nil, err
	}
	cells, err := sweep.Cells(p)
	if err != nil {
		return nil, err
	}
	j := &campaign.Job{Kind: sweep.Kind, Workers: "--jobs", Table: sweep.TableFile, Cells: cells, Wall: f.options.Clock == emu.WallClock}
	if err := e.fillScenario(c, j, scenario, f.Out); err != nil || e.engine != campaign.Kubernetes {
		return j, err
	}
	return j, e.takeSchemes(j)
}

// takeSchemes makes files with schemes come along to Kubernetes: in the call their names there take
// the place of their names here.
func (f *exportFlags) takeSchemes(j *campaign.Job) error {
	for i := range j.Command[1:] {
		if j.Command[i] != "--scheme" {
			continue
		}
		names := sweep.ParseSchemes(j.Command[i+1 : i+2]).Values
		for k, name := range names {
			if !sweep.IsFile(name) {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			names[k] = podFolder + filepath.Base(name)
			j.Files = append(j.Files, campaign.File{Path: names[k], Text: string(text)})
		}
		j.Command[i+1] = strings.Join(names, ",")
	}
	return nil
}

// podFolder is where the pods of Kubernetes find the files that come along.
const podFolder = "/scenario/"

// fillScenario fills a job of a campaign of a scenario, which comes along to Kubernetes if it is a
// file.
func (f *exportFlags) fillScenario(c *cobra.Command, j *campaign.Job, scenario, out string) error {
	src, file, err := builtin.Find(scenario)
	if err != nil {
		return err
	}
	if j.Name = scenario; file == scenario {
		j.Name = filepath.Base(scenario)
		if f.engine == campaign.Kubernetes {
			scenario = podFolder + j.Name
			j.Files = append(j.Files, campaign.File{Path: scenario, Text: string(src)})
		}
	}
	return f.fill(c, j, scenario, out)
}

func (f *sweepFlags) register(c *cobra.Command) {
	add(c, &f.axisFlags, "scheme", "set")
	add(c, &f.changes, "short")
	add(c, &f.plan)
	add(c, &f.axisFlags, "during")
	add(c, &f.how)
	add(c, &f.how.Style)
	f.campaignFlags.register(c)
}

// planOf turns the flags into a plan, and sets the directory for its results.
func (f *sweepFlags) planOf(scenario string) (sweep.Plan, error) {
	p := f.plan
	p.Fabemu, p.Scenario, p.Short, p.Clock, p.Codec = version(), scenario, f.changes.Short, string(f.options.Clock), f.options.Codec
	if scenario == "-" {
		return p, errors.New("a sweep reads its scenario more than once, so it cannot come from standard input")
	}
	if len(f.Sets) == 0 && f.Schemes == nil && p.Seeds == 0 {
		return p, fmt.Errorf("a sweep varies something: pass --set PATH=VALUE,VALUE, such as --set defaults.link.buffer=2packets,4packets, or --scheme dcqcn,hpcc, or --seeds 10; for a single run, use fabemu run %s",
			scenario)
	}
	if err := f.fillPlan(&p, f.options.Clock, f.options.Link); err != nil {
		return p, err
	}
	if f.Schemes != nil {
		axis, variants, err := sweep.LoadSchemes(f.Schemes)
		if err != nil {
			return p, err
		}
		p.Axes, p.Variants = append(p.Axes, axis), variants
	}
	if p.Seeds > 0 {
		p.Repeat(1, p.Seeds)
	}
	if f.Out == "" {
		f.Out = filepath.Join("results", "sweep-"+fileName(scenario))
	}
	return p, nil
}

// fillPlan takes the settings, the time of the metrics and the link into a plan.
func (f *axisFlags) fillPlan(p *sweep.Plan, clock emu.Clock, link emu.Carrier) error {
	if clock == emu.WallClock {
		p.Link = string(link)
	}
	for _, text := range f.Sets {
		a, err := sweep.ParseAxis(text)
		if err != nil {
			return err
		}
		p.Axes = append(p.Axes, a)
	}
	if f.During == "" {
		return nil
	}
	from, to, found := strings.Cut(f.During, ",")
	a, err := unit.ParseDuration(strings.TrimSpace(from))
	b, err2 := unit.ParseDuration(strings.TrimSpace(to))
	if err := errors.Join(err, err2); err != nil || !found || a >= b {
		return fmt.Errorf("--during %s: give a start and an end, such as 100ms,500ms", f.During)
	}
	p.FromPs, p.ToPs = int64(a), int64(b)
	return nil
}

func (f *sweepFlags) run(c *cobra.Command, scenario string) error {
	share, err := f.share()
	if err := cmp.Or(err, f.how.Style.Check()); err != nil {
		return err
	}
	p, err := f.planOf(scenario)
	if err != nil {
		return err
	}
	if f.Plan {
		cells, err := sweep.Cells(p)
		if err != nil {
			return err
		}
		f.print(c, commandOf(c, sweep.Kind, scenario, f.Out), cells)
		return nil
	}
	var cells []sweep.Cell
	var missing []campaign.Cell
	if f.Table {
		cells, missing, err = sweep.Draw(p, f.Out, f.how.Style)
	} else {
		ctx, stop := untilEnded(c)
		defer stop()
		o := f.how
		o.Share, o.Force, o.Progress = share, f.Force, cellsDone(sweep.Kind)
		o.Warn = func(text string) { fmt.Fprintln(os.Stderr, "fabemu: warning:", text) }
		o.Say = func(text string) { fmt.Fprintln(os.Stderr, "sweep:", text) }
		cells, err = sweep.Run(ctx, p, f.Out, o)
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
	if f.Table && cells == nil {
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
	fmt.Fprintf(os.Stderr, "sweep: the table and the figures are in %s\n", f.Out)
	return exit(status)
}
