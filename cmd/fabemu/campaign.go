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

// campaignText is the part of the help that commands with many runs share.
const campaignText = `Several calls can share the runs, on many computers, if all have the same directory --out:
--plan prints a line for each run, its cell, with an ID and the command that does it alone;
--cell does one; --shard 2/8 does the second of eight shares. In a task of an array, --shard
auto takes the share from Slurm or Grid Engine, and --shard auto/8 from Kubernetes or PBS,
which do not give the number of tasks. No run is done twice. --table draws the runs that are
done, and names the missing ones; then the exit status is 3.`

// campaignFlags are the flags of commands whose runs can be shared between calls.
type campaignFlags struct {
	resultFlags
	clock              emu.Clock
	link               emu.Carrier
	codec, list, table bool
	cell, shard        string
}

// modeFlags are the flags that choose the part of the campaign that a call does. They do not change the campaign.
func modeFlags() []string {
	return []string{"plan", "cell", "shard", "table", "force", "jobs", "workers", "out"}
}

// register declares the flags of all campaigns. The flags of one alone, workers among them, are declared before.
func (f *campaignFlags) register(c *cobra.Command, workers string) {
	flags := c.Flags()
	choice(c, &f.clock, "clock", emu.VirtualClock, "virtual, or wall: over real sockets, one run after another",
		emu.VirtualClock, emu.WallClock)
	choice(c, &f.link, "link", emu.UDP, "the carrier of the frames of a wall run: udp, or pipe (memory of this process)",
		emu.UDP, emu.Pipe)
	goWith(c, "clock=wall", "", "link")
	goWith(c, "clock=virtual", ": on the wall clock one run comes after another", workers)
	codecFlag(flags, &f.codec)
	f.resultFlags.add(c)
	flags.BoolVar(&f.list, "plan", false,
		"run nothing: print a line for each cell, its ID and the command that does it alone")
	flags.StringVar(&f.cell, "cell", "", "do the cell with this ID alone")
	flags.StringVar(&f.shard, "shard", "",
		"I/N: do this share of the cells; auto, or auto/N: the share of this task of an array")
	flags.BoolVar(&f.table, "table", false, "run nothing: draw the runs that are done, and name the missing ones")
}

// share returns which cells the call does. All that is wrong with the flags is reported at
// once.
func (f *campaignFlags) share() (campaign.Share, error) {
	var modes []string
	for _, m := range []struct {
		set  bool
		name string
	}{{f.list, "--plan"}, {f.cell != "", "--cell"}, {f.shard != "", "--shard"}, {f.table, "--table"}} {
		if m.set {
			modes = append(modes, m.name)
		}
	}
	share, err := campaign.ParseShare(f.cell, f.shard, os.Getenv)
	if len(modes) > 1 {
		err = errors.Join(fmt.Errorf("%s: a call does one of them", strings.Join(modes, " and ")), err)
	}
	if len(modes) > 0 && f.force {
		err = errors.Join(err, fmt.Errorf("--force repeats all runs, and is not compatible with %s", modes[0]))
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
	fmt.Fprintf(os.Stderr, "%s: %v, %d runs, is in %s; --table draws all that is done\n", name, share, cells, f.out)
}

// endedEarly is the error of a call that did not come to its end. If the user ended it, a line on standard error
// shows how to go on.
func (f *campaignFlags) endedEarly(name string, err error) error {
	if !errors.Is(err, context.Canceled) {
		return failure{err}
	}
	fmt.Fprintf(os.Stderr, "%s: ended early; call it again with --out %s and it goes on\n", name, f.out)
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
	fmt.Fprintf(os.Stderr, "%s: %d cells are missing: --cell does one, the same call without --table all\n", name, len(missing))
	return exitFailed
}

// showVoid shows how many runs are void, and returns the exit status for them.
func showVoid(name string, void, of int) int {
	if void == 0 {
		return exitOK
	}
	fmt.Fprintf(os.Stderr, "%s: %d of %d runs are void: their figures do not stand\n", name, void, of)
	return exitFailed
}
