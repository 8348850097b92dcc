package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fabemu/emu"
	"fabemu/emu/report"
	"fabemu/emu/study/sweep"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
)

func sweepCommand(status *int) *cobra.Command {
	var sets, metrics []string
	var during, out, clock, link string
	var jobs int
	var force, large, short, codec bool
	c := &cobra.Command{
		Use:   "sweep SCENARIO --set PATH=VALUE,VALUE,...",
		Short: "Run a scenario over lists of values",
		Long: `Run a scenario once for each combination of values, and write a table and figures.

--set takes the paths of run, with several values: --set defaults.link.buffer=2packets,4packets.
On the virtual clock several runs go on at a time. A sweep that was ended or killed goes
on where it was when it is called again with the same --out. The directory of another
sweep is refused, unless --force says to begin anew there.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeScenarios,
		RunE: func(c *cobra.Command, args []string) error {
			p := sweep.Plan{Fabemu: version(), Scenario: args[0], Metrics: metrics, Clock: clock, Codec: codec, Large: large, Short: short}
			if args[0] == "-" {
				return errors.New("a sweep reads its scenario more than once: standard input will not do")
			}
			wall := clock == string(emu.WallClock)
			switch {
			case wall && c.Flags().Changed("jobs"):
				return errors.New("--jobs goes with --clock virtual: on the wall clock one run comes after another")
			case !wall && c.Flags().Changed("link"):
				return errors.New("--link goes with --clock wall")
			case jobs < 0 || jobs == 0 && c.Flags().Changed("jobs"):
				return fmt.Errorf("--jobs %d: one at least is wanted", jobs)
			}
			if wall {
				p.Link = link
			}
			for _, text := range sets {
				a, err := sweep.ParseAxis(text)
				if err != nil {
					return err
				}
				p.Axes = append(p.Axes, a)
			}
			if during != "" {
				from, to, found := strings.Cut(during, ",")
				a, err := unit.ParseDuration(strings.TrimSpace(from))
				b, err2 := unit.ParseDuration(strings.TrimSpace(to))
				if err := errors.Join(err, err2); err != nil || !found || a >= b {
					return fmt.Errorf("--during %s: two instants are wanted, such as 100ms,500ms", during)
				}
				p.FromPs, p.ToPs = int64(a), int64(b)
			}
			if out == "" {
				out = filepath.Join("results", "sweep-"+fileName(args[0]))
			}
			ctx, stop := untilEnded(c)
			defer stop()
			last := -1
			o := sweep.Options{Jobs: jobs, Force: force, Priority: true, Progress: func(s sweep.Status) {
				if percent := 100 * s.Done / s.Cells; percent/5 != last/5 || s.Done == s.Cells {
					last = percent
					fmt.Fprintf(os.Stderr, "sweep: %d of %d runs are done (%d before) %s\n", s.Done, s.Cells, s.Before, s.Name)
				}
			}}
			cells, err := sweep.Run(ctx, p, out, o)
			switch {
			case errors.Is(err, context.Canceled):
				*status = exitFailed
				fmt.Fprintf(os.Stderr, "sweep: ended early; call it again with --out %s and it goes on\n", out)
				return nil
			case err != nil:
				return failure{err}
			}
			if err := writing(sweep.WriteTable(c.OutOrStdout(), &p, cells)); err != nil {
				return err
			}
			if n := voidCells(cells); n > 0 {
				*status = exitFailed
				fmt.Fprintf(os.Stderr, "sweep: %d of %d runs are void: their figures do not stand\n", n, len(cells))
			}
			fmt.Fprintf(os.Stderr, "sweep: the table and the figures are in %s\n", out)
			return nil
		},
	}
	f := c.Flags()
	f.StringArrayVar(&sets, "set", nil, "vary a field of the scenario: PATH=VALUE,VALUE,... (may be repeated)")
	f.StringArrayVar(&metrics, "metric", nil, "what to measure, an expression such as root.B-BC.utilisation (may be repeated; default: the scenario's checks)")
	f.StringVar(&during, "during", "", "FROM,TO: what metrics are taken over (default: all after the first fifth)")
	f.BoolVar(&short, "short", false, "take the short run of the scenario, as its section short describes it")
	f.StringVar(&clock, "clock", "virtual", "virtual, or wall: one run after another")
	f.StringVar(&link, "link", "udp", "what carries the frames of a wall run: udp or pipe")
	f.IntVar(&jobs, "jobs", 0, "virtual clock: how many runs at a time (default: as many as there are processors)")
	f.StringVar(&out, "out", "", "directory for the results (default: one under results/)")
	f.BoolVar(&force, "force", false, "begin anew in --out, whatever is there: what an earlier sweep has made is removed, other files stay")
	f.BoolVar(&large, "large", false, fmt.Sprintf("more than %d runs are meant", sweep.MaxCells))
	codecFlag(f, &codec)
	complete(c, "clock", string(emu.VirtualClock), string(emu.WallClock))
	complete(c, "link", string(emu.UDP), string(emu.Pipe))
	return c
}

// voidCells returns how many runs of a sweep are void.
func voidCells(cells []sweep.Cell) int {
	n := 0
	for _, c := range cells {
		if c.Level == report.Void {
			n++
		}
	}
	return n
}
