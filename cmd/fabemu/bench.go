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
	"fabemu/emu/run/feedback"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/program"
	"fabemu/emu/study/limiters"

	"github.com/spf13/cobra"
)

// benchCommand measures parts of a fabric by themselves.
func benchCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Measure rate limiters of this program and of others"}
	c.AddCommand(benchLimiterCommand())
	return c
}

type benchFlags struct {
	limiters.Options
	program.Program
	limiterFlags
	resultFlags
}

// limiterFlags are the flags of bench limiter that package limiters does not have.
type limiterFlags struct {
	// Start this program, one process for each limiter; words after the first are arguments.
	Exec string `flag:"exec" group:"Program" arg:"COMMAND"`
	// Replay recorded feedback of a flow (fabemu run --record) to a limiter, or to a reaction
	// point: NAME is then an algorithm, or --exec a program.
	Replay string `flag:"replay" group:"Measurement" arg:"FILE"`
	// Speed of the replay: real time over sockets (1), N times slower (1/N), or as fast as possible
	// on the virtual clock (max).
	Speed string `flag:"speed" arg:"1|1/N|max" needs:"replay" def:"max"`
	// Exit with status 4 if a case passes but is not timed, because this machine was too busy.
	Strict bool `flag:"strict" group:"Results" needs:"!replay"`
	// Print limiter.json instead of the tables; of several limiters, one after another.
	JSON bool `flag:"json"`
}

func benchLimiterCommand() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "limiter [NAME...]",
		Short: "Measure rate limiters in situations that limiters get wrong",
		RunE:  f.run,
	}
	add(c, &f.limiterFlags, "exec")
	add(c, &f.Program)
	add(c, &f.Options)
	add(c, &f.limiterFlags, "replay", "speed")
	add(c, &f.resultFlags)
	add(c, &f.limiterFlags, "strict", "json")
	return c
}

// bothClocks is the value of --clock that stands for both.
const bothClocks mode.Clock = "both"

// benchFile has the figures of a limiter.
const benchFile = "limiter.json"

// subjects returns the limiters that the call names.
func (f *benchFlags) subjects(args []string) ([]*limiters.Subject, error) {
	f.Stderr = os.Stderr
	switch {
	case f.Patience <= 0:
		return nil, fmt.Errorf("--patience %v: use a time such as 5s", f.Patience)
	case f.Exec != "" && f.Socket != "":
		return nil, errors.New("--exec and --socket exclude each other")
	case f.Exec != "":
		f.Command = append(strings.Fields(f.Exec), args...)
		if len(f.Command) == 0 {
			return nil, errors.New("--exec: give the program to start")
		}
	case f.Socket != "" && len(args) > 0:
		return nil, fmt.Errorf("--socket takes no argument, and there is %q", args[0])
	case f.Socket == "":
		return limiters.Named(args, f.Replay != "")
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
		if i > 0 && !f.JSON {
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
	if worst == exitOK && f.Strict && untimed {
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
	if f.Replay == "" {
		return func(ctx context.Context, s *limiters.Subject) (*limiters.Result, error) {
			return limiters.Run(ctx, s, o)
		}, nil
	}
	dilation, err := dilationOf(f.Speed)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(f.Replay)
	if err != nil {
		return nil, err
	}
	recording, err := feedback.Parse(f.Replay, text)
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
		return 0, fmt.Errorf("--speed %s: use 1 for real time, 1/N for N times slower, or max for the virtual clock", speed)
	}
	return n, nil
}

// write prints the result of a limiter, and writes it into its directory.
func (f *benchFlags) write(c *cobra.Command, r *limiters.Result, several bool) error {
	to, names := f.resultFlags, []string{benchFile, report.PageFile}
	if to.Out != "" && several {
		to.Out = filepath.Join(to.Out, fileName(r.Limiter))
	}
	dir, end, err := to.begin("limiter-"+fileName(r.Limiter), names, names)
	if err != nil {
		return err
	}
	defer end()
	page := filepath.Join(dir, report.PageFile)
	unwritten := errors.Join(files.Write(page, r.WriteHTML), files.Write(filepath.Join(dir, benchFile), r.WriteJSON))
	if f.JSON {
		_ = r.WriteJSON(c.OutOrStdout())
	} else {
		_ = r.WriteText(c.OutOrStdout(), terminal.LookOf(os.Stdout))
		if unwritten == nil {
			fmt.Fprintf(os.Stderr, "bench: the charts are in %s\n", page)
		}
	}
	return failed(unwritten)
}
