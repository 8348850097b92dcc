package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"fabemu/emu"
	"fabemu/emu/base/errs"
	"fabemu/emu/base/terminal"
	"fabemu/emu/host"
	"fabemu/emu/host/doctor"
	"fabemu/emu/result/report"
	"fabemu/emu/run/guest/netstack"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/study/propose"

	"github.com/spf13/cobra"
)

// diagnosis is the output of doctor --json.
type diagnosis struct {
	Fabemu string `json:"fabemu"` // version
	*doctor.Report
	Scenario string            `json:"scenario"`
	Proposal *propose.Proposal `json:"proposal"`
}

func doctorCommand() *cobra.Command {
	var x changes
	var f commonFlags
	c := &cobra.Command{
		Use:               "doctor [SCENARIO]",
		Short:             "Examine this machine, and find a dilation for a scenario by trial",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeScenario,
		RunE: func(c *cobra.Command, args []string) error {
			name := builtin.Default
			if len(args) == 1 {
				name = args[0]
			}
			s, err := x.open(name)
			if err != nil {
				return err
			}
			ctx, stop := untilEnded(c)
			defer stop()
			d, err := diagnose(ctx, s)
			if err != nil {
				return failure{err}
			}
			if f.JSON {
				_ = report.WriteJSON(c.OutOrStdout(), d)
			} else {
				d.print(c.OutOrStdout(), terminal.LookOf(os.Stdout))
			}
			return nil
		},
	}
	add(c, &x)
	add(c, &f, "json")
	return c
}

// diagnose makes trials of a scenario and examines the machine, and shows on standard error that it
// does.
func diagnose(ctx context.Context, s *scenario.Scenario) (*diagnosis, error) {
	if err := host.NeedsLinux("doctor"); err != nil {
		return nil, err
	}
	meter := host.StartCPUMeter()
	p, err := findDilation(ctx, s, emu.Options{NewStack: netstack.New}, propose.Longest)
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	}
	if err != nil { // the findings may have the reason
		p = &propose.Proposal{Dilation: s.Wall.Dilation, Trials: []propose.Trial{}, Reason: "There was no trial: " + err.Error() + "."}
		time.Sleep(time.Second / 2) // for the meter
	}
	load := doctor.Load{}
	if others, stolen := meter.Load(); !math.IsNaN(others) { // NaN: the kernel does not count it
		load = doctor.Load{Foreign: others, Stolen: stolen}
	}
	var words []string
	for _, l := range lacking(s, false) {
		words = append(words, l.Message)
	}
	r, err := doctor.Examine(load, words)
	if err != nil {
		return nil, err
	}
	return &diagnosis{Fabemu: version(), Report: r, Scenario: s.Name, Proposal: p}, nil
}

// print prints a diagnosis for people.
func (d *diagnosis) print(w io.Writer, look terminal.Look) {
	_ = d.WriteText(w, look)
	p := terminal.Page{Look: look}
	title := "A dilation for " + d.Scenario
	if len(d.Proposal.Trials) > 0 {
		title += fmt.Sprintf(": %d", d.Proposal.Dilation)
	}
	p.Title(title)
	p.Paragraph(2, d.Proposal.Reason)
	fmt.Fprint(w, "\n"+p.String())
}

// findDilation finds by trial the dilation that this machine sustains for a scenario, with a run
// that is no longer than a limit.
func findDilation(ctx context.Context, s *scenario.Scenario, o emu.Options, longest time.Duration) (*propose.Proposal, error) {
	n := newNotice(s.Name)
	defer n.end()
	n.show("trying dilations", math.NaN())
	return propose.Dilation(ctx, s, o, longest)
}

// autoDilation gives a scenario the smallest dilation that this machine sustains for it, where
// --dilation auto asks for it, and prints it with the reason on standard error. Where none is
// sustained, there is no run.
func (f *runFlags) autoDilation(ctx context.Context, s *scenario.Scenario) error {
	longest, auto, err := autoLimit(f.Dilation)
	if !auto || err != nil || f.Clock != emu.WallClock {
		return err
	}
	if err := host.NeedsLinux("--dilation auto"); err != nil {
		return err
	}
	o := f.Options
	o.Version = version()
	proposal, err := findDilation(ctx, s, o, longest)
	if err != nil {
		return failed(err)
	}
	if !proposal.Sustained {
		return failed(errs.Errorf("--dilation auto: this machine sustains no dilation for %s; the best was %d, and --dilation %d runs it all the same. %s",
			s.Name, proposal.Dilation, proposal.Dilation, proposal.Reason))
	}
	s.Wall.Dilation = proposal.Dilation
	p := terminal.Page{}
	p.Paragraph(0, fmt.Sprintf("%s: dilation %d. %s", s.Name, proposal.Dilation, proposal.Reason))
	fmt.Fprint(os.Stderr, p.String())
	return nil
}

// autoLimit reports whether a --dilation is auto, maybe with a limit as in auto:8h, and returns how
// long the run may take.
func autoLimit(dilation string) (longest time.Duration, auto bool, err error) {
	word, limit, given := strings.Cut(dilation, ":")
	if word != "auto" {
		return 0, false, nil
	}
	if !given {
		return propose.Longest, true, nil
	}
	if longest, err = time.ParseDuration(limit); err != nil || longest <= 0 {
		return 0, true, fmt.Errorf("--dilation %s: give the time that the run may take, such as auto:8h or auto:90m", dilation)
	}
	return longest, true, nil
}
