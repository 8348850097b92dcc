package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"fabemu/emu/files"
	"fabemu/emu/proc"
	"fabemu/emu/scenario"
	"fabemu/emu/terminal"

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
		return failed(proc.Attend(ctx, fleet))
	}
	all, err := openAll(names, func(name string) (*scenario.Scenario, error) { return f.open(c, name) })
	if err != nil {
		return err
	}
	for _, s := range all {
		showWarnings(s)
	}
	f.showIdle(c)
	if err := f.metrics.listen(); err != nil {
		return err
	}
	defer f.metrics.close()
	ctx, stop := untilEnded(c)
	defer stop()
	if len(all) == 1 {
		return f.run(ctx, c, all[0])
	}

	if f.out != "" { // one call at a time, whichever of the runs is going on
		hold, err := files.Claim(f.out)
		if err != nil {
			return notThere(f.out, err)
		}
		defer hold.Release()
		defer os.Remove(f.out) // it stays if something is in it
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
		if f.out != "" {
			base := fileName(s.Name)
			if within[base]++; within[base] > 1 {
				base = fmt.Sprintf("%s-%d", base, within[base])
			}
			one.out = filepath.Join(f.out, base)
		}
		if i > 0 && !f.json {
			fmt.Fprintln(c.OutOrStdout())
		}
		if err := one.run(ctx, c, s); err != nil {
			if !errors.As(err, new(exit)) {
				sayHarmless("fabemu: %s: %v\n", s.Name, err)
			}
			worst = max(worst, exitOf(err))
		}
	}
	return exit(worst)
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
		return "-" // no name, or that of a folder above
	}
	return name
}

// openAll reads scenarios. Its error holds what is wrong with any of them.
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

// showWarnings tells what Load noticed about a scenario.
func showWarnings(s *scenario.Scenario) {
	for _, w := range s.Warnings {
		if w.Line == 0 {
			sayHarmless("fabemu: warning: %s: %s\n", s.Name, strings.TrimPrefix(w.String(), s.Name+": "))
			continue
		}
		sayHarmless("fabemu: warning: %v\n%s\n", w, w.Excerpt)
	}
}

// sayHarmless writes text of a scenario or of other programs to standard error.
func sayHarmless(format string, args ...any) {
	fmt.Fprint(os.Stderr, terminal.Harmless(fmt.Sprintf(format, args...)))
}
