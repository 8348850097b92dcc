package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"fabemu/emu"
	"fabemu/emu/study/campaign"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// campaignFlags are the flags of commands whose runs can be shared between calls.
type campaignFlags struct {
	resultFlags
	shareFlags
	options emu.Options
}

// shareFlags choose the part of a campaign that a call does.
type shareFlags struct {
	// Run nothing; print the ID of each run, and the command that does it.
	Plan bool `flag:"plan" group:"Sharing the runs"`
	// Do only the run with this ID.
	Cell string `flag:"cell" arg:"ID"`
	// Do this share of the runs; auto or auto/N: the share of this task of an array.
	Shard string `flag:"shard" arg:"I/N"`
	// Run nothing; draw the runs that are done, and name the missing ones.
	Table bool `flag:"table"`
}

// modeFlags are the flags that choose the part of the campaign that a call does. They do not change
// the campaign.
func modeFlags() []string {
	return []string{"plan", "cell", "shard", "round", "table", "force", "jobs", "workers", "out"}
}

// register declares the flags of all campaigns, and more of emu.Options for a kind.
func (f *campaignFlags) register(c *cobra.Command, more ...string) {
	add(c, &f.options, append(more, "clock", "link", "codec")...)
	usual(c, "clock", string(emu.VirtualClock))
	usual(c, "link", string(emu.UDP), string(emu.UDP), string(emu.Pipe))
	c.Flags().Lookup("link").Annotations[needsFlag] = []string{"clock=wall"}
	add(c, &f.resultFlags)
	add(c, &f.shareFlags)
}

// share returns which cells the call does. All that is wrong with the flags is reported at
// once.
func (f *campaignFlags) share() (campaign.Share, error) {
	var modes []string
	for _, m := range []struct {
		set  bool
		name string
	}{{f.Plan, "--plan"}, {f.Cell != "", "--cell"}, {f.Shard != "", "--shard"}, {f.Table, "--table"}} {
		if m.set {
			modes = append(modes, m.name)
		}
	}
	share, err := campaign.ParseShare(f.Cell, f.Shard, os.Getenv)
	if len(modes) > 1 {
		err = errors.Join(fmt.Errorf("%s exclude each other", strings.Join(modes, " and ")), err)
	}
	if len(modes) > 0 && f.Force {
		err = errors.Join(err, fmt.Errorf("--force repeats all runs, which excludes %s", modes[0]))
	}
	return share, err
}

// print prints the plan: a line for each cell, its ID, a tab, its command.
func (f *campaignFlags) print(c *cobra.Command, command []string, cells []campaign.Cell) {
	base := campaign.Quote(command...)
	for _, cell := range cells {
		fmt.Fprintf(c.OutOrStdout(), "%s\t%s --cell %s\n", cell.ID, base, cell.ID)
	}
}

// commandOf returns the words of a call for the same campaign, without the mode flags of this call.
func commandOf(c *cobra.Command, verb, subject, out string, without ...string) []string {
	words := []string{self(), verb, subject}
	c.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(modeFlags(), f.Name) || slices.Contains(without, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			switch {
			case f.Value.Type() != "bool":
				words = append(words, "--"+f.Name, v)
			case v == "true":
				words = append(words, "--"+f.Name)
			}
		}
	})
	return append(words, "--out", out)
}

// self returns the name by which a shell finds this program.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return "fabemu"
	}
	found, _ := exec.LookPath("fabemu")
	named, err := os.Stat(found)
	if own, err2 := os.Stat(path); err == nil && err2 == nil && os.SameFile(named, own) {
		return "fabemu"
	}
	return path
}

// cellsDone returns a function that shows the progress of a call.
func cellsDone(name string) func(campaign.Status) {
	last := -1
	return func(s campaign.Status) {
		if percent := 100 * s.Done / max(1, s.Cells); percent/5 != last/5 || s.Done == s.Cells {
			last = percent
			fmt.Fprintf(os.Stderr, "%s: %d of %d runs are done (%d before) %s\n", name, s.Done, s.Cells, s.Before, s.Name)
		}
	}
}

// showShare shows that a share is done.
func (f *campaignFlags) showShare(name string, share campaign.Share, cells int) {
	fmt.Fprintf(os.Stderr, "%s: %v, %d runs, is in %s; --table draws all that is done\n", name, share, cells, f.Out)
}

// endedEarly is the error of a call that did not come to its end. If the user ended it, a line on
// standard error shows how to continue.
func (f *campaignFlags) endedEarly(name string, err error) error {
	if !errors.Is(err, context.Canceled) {
		return failure{err}
	}
	fmt.Fprintf(os.Stderr, "%s: ended early; call it again with --out %s to continue\n", name, f.Out)
	return exit(exitFailed)
}

// showMissing names cells that are missing, and returns the exit status for them.
func showMissing(name string, missing []campaign.Cell) int {
	if len(missing) == 0 {
		return exitOK
	}
	for _, c := range missing {
		fmt.Fprintf(os.Stderr, "%s: missing: %s %s\n", name, c.ID, c.Name)
	}
	fmt.Fprintf(os.Stderr, "%s: %d cells are missing: rerun without --table to finish them, or pass --cell ID\n", name, len(missing))
	return exitFailed
}

// showVoid shows how many runs are void, and returns the exit status for them.
func showVoid(name string, void, of int) int {
	if void == 0 {
		return exitOK
	}
	fmt.Fprintf(os.Stderr, "%s: %d of %d runs are void: their figures are not valid\n", name, void, of)
	return exitFailed
}
