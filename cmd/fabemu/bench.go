package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"fabemu/emu/base/files"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/report"
	"fabemu/emu/study/limiters"
	"fabemu/emu/study/limiters/program"
	"fabemu/emu/watch/feedback"

	"github.com/spf13/cobra"
)

// benchCommand measures parts of a fabric by themselves.
func benchCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Measure rate limiters, of this program or of others"}
	c.AddCommand(benchLimiterCommand())
	return c
}

// benchFlags are the flags of bench limiter.
type benchFlags struct {
	limiters.Options
	program.Program
	exec, replay, speed string
	json, strict        bool
	resultFlags
}

func benchLimiterCommand() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "limiter [NAME...]",
		Short: "Measure rate limiters in situations that limiters get wrong",
		Long: `Put rate limiters into situations that limiters get wrong, and report the measurements:
the error of the rate, bursts, gaps, the delay from a change of the rate to the reaction,
fairness; for a figure out of its limits, the packets around it.

A NAME is a limiter of this program, or a reaction point, which is put into loops with a
bottleneck; without a NAME all limiters are measured. --exec starts a program in any
language and talks to it over its standard input and output, --socket talks to one that
listens there; docs/guide/limiters.md is the protocol. With --exec the arguments go
to the program: fabemu bench limiter --exec python3 -- limiter.py

The tables go to standard output; limiter.json and report.html, one file with the charts,
into a new directory under results/, or --out.

A case fails in which the program breaks the protocol, or gives no answer in time. The next
case starts the program anew.

Exit status: 0 when all cases pass, 1 when one fails,
2 for a mistake in the call, 3 when the bench was ended early or could not be written; with
--strict, 4 when none fails and this computer was too busy to time one in real time.`,
		RunE: f.run,
	}
	flags := c.Flags()
	flags.StringVar(&f.exec, "exec", "",
		"start this program, one process for each limiter; words after the first are arguments")
	flags.StringVar(&f.Socket, "socket", "",
		"talk to the program that listens at this Unix socket, one connection for each limiter")
	flags.DurationVar(&f.Patience, "patience", program.DefaultPatience,
		"how long an answer of the program, and its end, may take")
	flags.StringSliceVar(&f.Cases, "case", nil,
		"the cases, by name, pattern or the part before the slash (default: all)")
	flags.IntVar(&f.Packets, "packets", 0,
		"about how many packets a case has at most (default: all; for a program's limiter 2000)")
	choice(c, &f.Clock, "clock", bothClocks, "virtual; wall: over a socket, in real time; or both",
		report.VirtualClock, report.WallClock, bothClocks)
	flags.StringVar(&f.replay, "replay", "",
		"replay the recorded feedback of a flow (fabemu run --record) to a limiter, or to a reaction point: then NAME is a law, or --exec a program")
	flags.StringVar(&f.speed, "speed", speedMost,
		"with --replay: 1 is real time, over sockets, 1/N so many times slower, and max the virtual clock, as fast as it goes")
	goWith(c, "replay", "", "speed")
	goWith(c, "!replay", "", "case", "packets", "clock", "strict")
	f.resultFlags.add(c)
	flags.BoolVar(&f.strict, "strict", false,
		"exit with status 4 when a case passes and is not timed, because this computer was too busy")
	flags.BoolVar(&f.json, "json", false,
		"print "+benchFile+" instead of the tables; of several limiters, one after another")
	return c
}

// bothClocks is the value of --clock that stands for both.
const bothClocks report.Clock = "both"

// benchFile has the figures of a limiter.
const benchFile = "limiter.json"

// subjects returns the limiters that the call names.
func (f *benchFlags) subjects(args []string) ([]*limiters.Subject, error) {
	f.Stderr = os.Stderr
	switch {
	case f.Patience <= 0:
		return nil, fmt.Errorf("--patience %v: a time is wanted, such as 5s", f.Patience)
	case f.Packets < 0:
		return nil, fmt.Errorf("--packets %d: a number from 0 on is wanted", f.Packets)
	case f.exec != "" && f.Socket != "":
		return nil, errors.New("--exec and --socket: one program is wanted")
	case f.exec != "":
		f.Command = append(strings.Fields(f.exec), args...)
		if len(f.Command) == 0 {
			return nil, errors.New("--exec: a program is wanted")
		}
	case f.Socket != "" && len(args) > 0:
		return nil, fmt.Errorf("--socket goes without %q", args[0])
	case f.Socket == "":
		return limiters.Named(args, f.replay != "")
	}
	return []*limiters.Subject{limiters.InProgram(&f.Program)}, nil
}

// A measurement measures one limiter.
type measurement func(context.Context, *limiters.Subject) (*limiters.Result, error)

// run measures limiters.
func (f *benchFlags) run(c *cobra.Command, args []string) error {
	ctx, stop := untilEnded(c)
	defer stop()
	all, err := f.subjects(args)
	if err != nil {
		return err
	}
	n := newNotice("bench")
	measure, err := f.measuring(n)
	if err != nil {
		return err
	}
	worst, untimed := exitOK, false
	for i, s := range all {
		if i > 0 && !f.json {
			fmt.Fprintln(c.OutOrStdout())
		}
		r, err := measure(ctx, s)
		n.end()
		if err != nil {
			return err
		}
		if err := f.write(c, r, len(all) > 1); err != nil {
			return err
		}
		switch {
		case r.Partial:
			worst = exitFailed
		case !r.Good():
			worst = max(worst, exitCheck)
		}
		untimed = untimed || !r.Timed()
		if ctx.Err() != nil {
			break
		}
	}
	if worst == exitOK && f.strict && untimed {
		worst = exitUntimed
	}
	return exit(worst)
}

// measuring returns the measurement that the flags ask for.
func (f *benchFlags) measuring(n *notice) (measurement, error) {
	o := f.Options
	o.Fabemu, o.Done = version(), func(o *limiters.Outcome) {
		if n.terminal {
			n.write(o.Case)
		}
	}
	if o.Clock == bothClocks {
		o.Clock = ""
	}
	if f.replay == "" {
		return func(ctx context.Context, s *limiters.Subject) (*limiters.Result, error) {
			return limiters.Run(ctx, s, o)
		}, nil
	}
	dilation, err := dilationOf(f.speed)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(f.replay)
	if err != nil {
		return nil, err
	}
	recording, err := feedback.Parse(f.replay, text)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, s *limiters.Subject) (*limiters.Result, error) {
		return limiters.Replay(ctx, recording, s, dilation, o)
	}, nil
}

// speedMost is the value of --speed that stands for the virtual clock.
const speedMost = "max"

// dilationOf returns how many times slower than real time a speed is; 0 for the virtual
// clock.
func dilationOf(speed string) (int64, error) {
	if speed == speedMost {
		return 0, nil
	}
	text, slower := strings.CutPrefix(speed, "1/")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt32 || !slower && n != 1 {
		return 0, fmt.Errorf("--speed %s: 1 is real time, 1/N is so many times slower, and max the virtual clock, which is as fast as this computer", speed)
	}
	return n, nil
}

// write prints the result of a limiter, and writes it into its directory.
func (f *benchFlags) write(c *cobra.Command, r *limiters.Result, several bool) error {
	to, names := f.resultFlags, []string{benchFile, report.PageFile}
	if to.out != "" && several {
		to.out = filepath.Join(to.out, fileName(r.Limiter))
	}
	dir, end, err := to.begin("limiter-"+fileName(r.Limiter), names, names)
	if err != nil {
		return err
	}
	defer end()
	page := filepath.Join(dir, report.PageFile)
	unwritten := errors.Join(files.Write(page, r.WriteHTML), files.Write(filepath.Join(dir, benchFile), r.WriteJSON))
	if f.json {
		_ = r.WriteJSON(c.OutOrStdout())
	} else {
		_ = r.WriteText(c.OutOrStdout(), terminal.LookOf(os.Stdout))
		if unwritten == nil {
			fmt.Fprintf(os.Stderr, "bench: the charts are in %s\n", page)
		}
	}
	return failed(unwritten)
}
