package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"fabemu/emu"
	"fabemu/emu/base/files"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/result/seeds"
	"fabemu/emu/result/summary"
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"

	"github.com/spf13/cobra"
)

// runAll runs scenarios one after another; the exit status is the worst. All
// are read before the first is run, so that a mistake in the last does not show
// after an hour.
func (f *runFlags) runAll(c *cobra.Command, names []string) error {
	if err := f.hosts.find(f.Placement, f.Clock, len(names)); err != nil {
		return err
	}
	if fleet := f.hosts.fleet; fleet != nil && fleet.Rank > 0 { // the scenario comes from rank 0
		ctx, stop := untilEnded(c)
		defer stop()
		return failed(process.Attend(ctx, fleet))
	}
	if err := f.misplaced(names); err != nil {
		return err
	}
	all, err := openAll(names, func(name string) (*scenario.Scenario, error) { return f.open(c, name) })
	if err != nil {
		return err
	}
	for _, s := range all {
		showWarnings(s)
	}
	for _, s := range all {
		err = errors.Join(err, f.refuseLacking(s))
	}
	if err != nil {
		return err
	}
	if c.Flags().Changed("seeds") {
		if all, err = f.bySeed(c, names); err != nil {
			return err
		}
	}
	if err := f.metrics.listen(); err != nil {
		return err
	}
	defer f.metrics.close()
	ctx, stop := untilEnded(c)
	defer stop()
	switch {
	case f.Seeds > 0:
		return f.repeat(ctx, c, all)
	case len(all) == 1:
		return f.run(ctx, c, all[0])
	}

	if f.Out != "" { // one call at a time, whichever of the runs is going on
		hold, err := files.Claim(f.Out)
		if err != nil {
			return notThere(f.Out, err)
		}
		defer hold.Release()
		defer os.Remove(f.Out) // it stays if something is in it
	}
	return f.runEach(ctx, c, all)
}

// runEach runs several scenarios.
func (f *runFlags) runEach(ctx context.Context, c *cobra.Command, all []*scenario.Scenario) error {
	worst := exitOK
	within := map[string]int{}
	for i, s := range all {
		if ctx.Err() != nil {
			return exit(exitFailed)
		}
		one := *f
		if f.Out != "" {
			base := fileName(s.Name)
			if within[base]++; within[base] > 1 {
				base = fmt.Sprintf("%s-%d", base, within[base])
			}
			one.Out = filepath.Join(f.Out, base)
		}
		if i > 0 && !f.JSON {
			fmt.Fprintln(c.OutOrStdout())
		}
		if err := one.run(ctx, c, s); err != nil {
			if !errors.As(err, new(exit)) {
				showHarmless("fabemu: %s: %v\n", s.Name, err)
			}
			worst = max(worst, exitOf(err))
		}
	}
	return exit(worst)
}

// bySeed reads a scenario once for each seed.
func (f *runFlags) bySeed(c *cobra.Command, names []string) ([]*scenario.Scenario, error) {
	switch {
	case len(names) > 1:
		return nil, fmt.Errorf("--seeds repeats one scenario, not %d: call fabemu run for each", len(names))
	case names[0] == "-":
		return nil, errors.New("--seeds reads the scenario more than once, so it cannot come from standard input")
	case f.Placement == emu.InHosts:
		return nil, errors.New("--seeds and --placement hosts exclude each other: call fabemu run for each seed, with --seed")
	}
	var all []*scenario.Scenario
	for seed := range f.Seeds {
		text := strconv.Itoa(seed + 1)
		s, err := f.open(c, names[0], scenario.Set{Path: "model.seed", Value: text, As: "--seeds, seed " + text})
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// repeat runs a scenario with each seed, and prints and writes the means.
func (f *runFlags) repeat(ctx context.Context, c *cobra.Command, all []*scenario.Scenario) error {
	dir, end, err := f.begin(f.base(all[0])+"-seeds", []string{seeds.File}, []string{seeds.File, seeds.TableFile, report.SlowdownFile})
	if err != nil {
		return err
	}
	defer end()
	var results []seeds.Run
	var runs []string
	strict := false
	worst := exitOK
	for i, s := range all {
		if ctx.Err() != nil {
			break
		}
		one := *f
		run := fmt.Sprintf("seed-%d", i+1)
		one.Out, one.repeated = filepath.Join(dir, run), func(r *emu.Result) {
			results = append(results, seeds.Of(r.Result, r.Metrics.View()))
			strict = strict || f.Strict && !r.Verdict.Level.Strict()
		}
		if err := one.run(ctx, c, s); err != nil {
			if !errors.As(err, new(exit)) {
				return fmt.Errorf("%s: %w", run, err)
			}
			worst = max(worst, exitOf(err))
		}
		runs = append(runs, run)
	}
	if ctx.Err() != nil || len(results) < len(all) {
		fmt.Fprintf(os.Stderr, "fabemu: ended after %d of %d seeds; their results are in %s, without means\n",
			len(results), len(all), dir)
		return exit(exitFailed)
	}
	means := seeds.Repeat(results)
	means.Fabemu, means.Scenario, means.Runs = version(), all[0].Name, runs
	means.Slowdowns = seeds.Pool(results)
	if f.JSON {
		_ = report.WriteJSON(c.OutOrStdout(), means)
	} else {
		_ = summary.WriteRepetitions(c.OutOrStdout(), means)
		lines := append(append([]string{""}, f.next(filepath.Join(dir, runs[0]))...), "Results: "+dir)
		fmt.Fprintln(c.OutOrStdout(), strings.Join(lines, "\n"))
	}
	switch {
	case worst == exitFailed:
	case strict || means.Fails():
		worst = exitCheck
	default:
		worst = exitOK
	}
	_, err = summary.DrawRepetitions(dir, means, &plot.Style{})
	return errors.Join(failed(errors.Join(means.Write(dir), err)), exit(worst))
}

// fileName makes a name for files of the name of a scenario, or of a program of others.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' || unicode.IsControl(r) {
			return '-'
		}
		return r
	}, name)
	if strings.Trim(name, ".") == "" {
		return "-" // no name, or the name of a folder above
	}
	return name
}

// openAll reads scenarios. Its error holds the mistakes in all of them.
func openAll(names []string, open func(name string) (*scenario.Scenario, error)) ([]*scenario.Scenario, error) {
	if err := onceFromInput(names); err != nil {
		return nil, err
	}
	var all []*scenario.Scenario
	var wrong []error
	for _, name := range names {
		s, err := open(name)
		if err != nil {
			wrong = append(wrong, err)
		}
		all = append(all, s)
	}
	return all, errors.Join(wrong...)
}

// onceFromInput refuses a call that names standard input twice.
func onceFromInput(names []string) error {
	if i := slices.Index(names, "-"); i >= 0 && slices.Contains(names[i+1:], "-") {
		return errors.New(`"-", standard input, can be read once`)
	}
	return nil
}

// showWarnings shows the warnings about a scenario.
func showWarnings(s *scenario.Scenario) {
	for _, w := range s.Warnings {
		if w.Line == 0 {
			showHarmless("fabemu: warning: %s: %s\n", s.Name, strings.TrimPrefix(w.String(), s.Name+": "))
			continue
		}
		showHarmless("fabemu: warning: %v\n%s\n", w, w.Excerpt)
	}
}

// showHarmless writes text of a scenario or of other programs to standard error.
func showHarmless(format string, args ...any) {
	fmt.Fprint(os.Stderr, terminal.Harmless(fmt.Sprintf(format, args...)))
}
