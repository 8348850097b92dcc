package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"

	"fabemu/emu"
	"fabemu/emu/base/terminal"
	"fabemu/emu/host"
	"fabemu/emu/host/doctor"
	"fabemu/emu/result/report"
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
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor [SCENARIO]",
		Short: "Examine this computer, and propose a dilation for a scenario",
		Args:  cobra.MaximumNArgs(1),

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
			if asJSON {
				_ = report.WriteJSON(c.OutOrStdout(), d)
			} else {
				d.print(c.OutOrStdout(), terminal.LookOf(os.Stdout))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print figures and findings as JSON")
	x.add(c)
	return c
}

// diagnose examines the computer with a scenario in mind, and shows on standard
// error how far it is.
func diagnose(ctx context.Context, s *scenario.Scenario) (*diagnosis, error) {
	if err := host.NeedsLinux("doctor"); err != nil {
		return nil, err
	}
	n := newNotice("doctor")
	defer n.end()
	r, err := doctor.Examine(ctx, n.show)
	if err != nil {
		return nil, err
	}
	n.show("measuring "+s.Name, math.NaN())
	p, err := propose.Dilation(ctx, s, &r.Figures.Speed)
	if err != nil {
		return nil, err
	}
	n.show("measuring how late packets start", math.NaN())
	dilations := []int64{s.Wall.Dilation}
	if s.Wall.Dilation != p.Dilation {
		dilations = append(dilations, p.Dilation)
	}
	if err := p.Measure(ctx, s, dilations...); err != nil {
		return nil, err
	}
	return &diagnosis{Fabemu: version(), Report: r, Scenario: s.Name, Proposal: p}, nil
}

// print prints a diagnosis for people.
func (d *diagnosis) print(w io.Writer, look terminal.Look) {
	_ = d.WriteText(w, look)
	p := terminal.Page{Look: look}
	p.Title(fmt.Sprintf("A dilation for %s: %d", d.Scenario, d.Proposal.Dilation))
	p.Paragraph(2, d.Proposal.Reason)
	for i := range d.Proposal.Starts {
		p.Paragraph(2, d.Proposal.Starts[i].String())
	}
	fmt.Fprint(w, "\n"+p.String())
}

// autoDilation gives a scenario the dilation that this computer needs for it, where
// --dilation auto asks for it, and prints it with the reason on standard error.
func (f *runFlags) autoDilation(ctx context.Context, s *scenario.Scenario) error {
	if f.dilation != "auto" || f.Clock != emu.WallClock {
		return nil
	}
	if err := host.NeedsLinux("--dilation auto"); err != nil {
		return err
	}
	n := newNotice(s.Name)
	defer n.end()
	speed, err := doctor.Measure(ctx, func(done float64) { n.show("measuring this computer", done) })
	if err != nil {
		return failure{err}
	}
	n.show("measuring the scenario", math.NaN())
	proposal, err := propose.Dilation(ctx, s, &speed)
	if err == nil && f.Timing == emu.ActualTiming {
		n.show("measuring how late packets start", math.NaN())
		err = proposal.ForActual(ctx, s)
	}
	if err != nil {
		return failure{err}
	}
	n.end()
	s.Wall.Dilation = proposal.Dilation
	p := terminal.Page{}
	p.Paragraph(0, fmt.Sprintf("%s: dilation %d. %s", s.Name, proposal.Dilation, proposal.Reason))
	fmt.Fprint(os.Stderr, p.String())
	return nil
}
