package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fabemu/emu"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/study/campaign"
	"fabemu/emu/study/papers"

	"github.com/spf13/cobra"
)

type reproduceFlags struct {
	campaignFlags
	more    commonFlags
	slow    slowFlags
	figures papers.Options
	style   plot.Style
}

// slowFlags are the flags that slow runs down on the wall clock.
type slowFlags struct {
	// Slow the model down by this factor (default: from each scenario).
	Dilation int64 `flag:"dilation" group:"Clock" arg:"N" needs:"clock=wall" low:"1" high:"1000000000"`
}

func reproduceCommand() *cobra.Command {
	var f reproduceFlags
	c := &cobra.Command{
		Use:               "reproduce PAPER[/FIGURE]",
		Short:             "Reproduce the figures of a paper, and judge its claims",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeFigures,
		RunE:              func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	f.register(c)
	c.AddCommand(exportCommand("PAPER[/FIGURE]", completeFigures, &reproduceFlags{}))
	return c
}

func (f *reproduceFlags) register(c *cobra.Command) {
	add(c, &f.figures, "seeds", "workers")
	f.campaignFlags.register(c, "digest")
	add(c, &f.slow)
	add(c, &f.more, "json")
	add(c, &f.style)
}

// papersText lists the papers and their figures.
func papersText() string {
	var b strings.Builder
	for _, p := range papers.Papers() {
		fmt.Fprintf(&b, "  %-22s %s, from %s\n", p.Name, p.Title, p.Source)
		for _, f := range p.Figures {
			fmt.Fprintf(&b, "  %-22s %s: %s\n", p.Name+"/"+f.Name, f.Source, f.Title)
		}
	}
	return b.String()
}

// completeFigures completes papers and figures in the shell.
func completeFigures(_ *cobra.Command, taken []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(taken) == 0 {
		for _, p := range papers.Papers() {
			names = append(names, cobra.CompletionWithDesc(p.Name, p.Title))
			for _, f := range p.Figures {
				names = append(names, cobra.CompletionWithDesc(p.Name+"/"+f.Name, f.Source+": "+f.Title))
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (f *reproduceFlags) run(c *cobra.Command, name string) error {
	share, err := f.share()
	if err := cmp.Or(err, f.style.Check()); err != nil {
		return err
	}
	o := f.figures
	o.Options = f.options
	o.Version, o.Dilation = version(), f.slow.Dilation
	if f.Plan || f.Table || !share.All() {
		return f.runShare(c, name, share, o)
	}
	paper, figures, err := papers.Find(name)
	if err != nil {
		return err
	}
	names := papers.Files(figures)
	dir, end, err := f.begin(f.base(name), names, names)
	if err != nil {
		return err
	}
	defer end()
	ctx, stop := untilEnded(c)
	defer stop()
	p := batchProgress{notice: newNotice(name), wall: o.Clock == emu.WallClock}
	o.Progress = p.show
	result, err := papers.Do(ctx, paper, figures, o)
	p.end()
	if err != nil {
		return failure{err}
	}
	if err := f.write(c, result, dir); err != nil {
		return failure{err}
	}
	return exit(statusOf(result))
}

// write writes a result into a directory, and prints it. The error is of the directory.
func (f *reproduceFlags) write(c *cobra.Command, result *papers.Result, dir string) error {
	err := result.WriteDir(dir, f.style)
	if f.more.JSON {
		_ = result.WriteJSON(c.OutOrStdout())
	} else {
		_ = result.WriteText(c.OutOrStdout(), terminal.LookOf(os.Stdout))
	}
	return err
}

// statusOf returns the exit status for a result.
func statusOf(r *papers.Result) int {
	switch {
	case r.Partial || r.Verdict.Level == report.Void:
		return exitFailed
	case r.Tally().Of(report.Fail) > 0:
		return exitCheck
	}
	return exitOK
}

// runShare is a call that shares the runs with others.
func (f *reproduceFlags) runShare(c *cobra.Command, name string, share campaign.Share, o papers.Options) error {
	f.defaultOut(name)
	all, err := papers.NewCampaign(name, share.Cell, o)
	if err != nil {
		return err
	}
	switch {
	case f.Plan:
		f.print(c, commandOf(c, papers.Kind, name, f.Out), all.Cells())
		return nil
	case f.Table:
		status := exitOK
		ctx, stop := untilEnded(c)
		defer stop()
		missing, err := all.Draw(ctx, f.Out, func(r *papers.Result) error {
			status = statusOf(r)
			return f.write(c, r, f.Out)
		})
		if err != nil {
			return failure{err}
		}
		return exit(max(status, showMissing(papers.Kind, missing)))
	}
	ctx, stop := untilEnded(c)
	defer stop()
	void, cells, err := all.Do(ctx, f.Out, share, cellsDone(papers.Kind))
	if err != nil {
		return f.endedEarly(papers.Kind, err)
	}
	f.showShare(papers.Kind, share, cells)
	return exit(showVoid(papers.Kind, void, cells))
}

// job is the figures as engines take them.
func (f *reproduceFlags) job(c *cobra.Command, name string, e *exportFlags) (*campaign.Job, error) {
	o := f.figures
	o.Options = f.options
	o.Version = version()
	f.defaultOut(name)
	all, err := papers.NewCampaign(name, "", o)
	if err != nil {
		return nil, err
	}
	j := &campaign.Job{
		Kind: papers.Kind, Name: name, Workers: "--workers", Table: papers.ClaimsFile, Cells: all.Cells(),
		Wall: o.Clock == emu.WallClock,
	}
	return j, e.fill(c, j, name, f.Out)
}

// defaultOut sets the directory for the results that several calls have in common.
func (f *reproduceFlags) defaultOut(name string) {
	if f.Out == "" {
		f.Out = filepath.Join("results", f.base(name))
	}
}

// base is the start of the name of a directory for the results.
func (f *reproduceFlags) base(name string) string {
	return fileName("reproduce-"+name) + "-" + string(f.options.Clock)
}

// batchProgress shows how far many runs are: on a terminal a line that is written
// over; elsewhere a line at growing intervals.
type batchProgress struct {
	*notice
	wall  bool
	began time.Time
}

func (p *batchProgress) show(s papers.Status) {
	if p.began.IsZero() {
		p.began, p.next = time.Now(), 2*time.Second
		if p.wall {
			fmt.Fprintf(os.Stderr, "%s: %d runs on the wall clock, one after another, take %v\n", p.name, s.Runs, s.Left.Round(time.Second))
		}
	}
	if !p.due(time.Since(p.began)) {
		return
	}
	left := ""
	if s.Share > 0.01 {
		left = fmt.Sprintf(", %v left", s.Left.Round(time.Second))
	}
	p.write(fmt.Sprintf("%s: %3.0f %%, %d of %d runs%s", p.name, 100*s.Share, s.Done, s.Runs, left))
}
