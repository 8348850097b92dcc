package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fabemu/emu/study/campaign"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
)

// exportFlags describe how an engine does a campaign.
type exportFlags struct {
	engine campaign.Engine
	// Tasks that share the runs (default: 16, or as many as there are runs).
	Shards int `flag:"shards" group:"Tasks" arg:"N" low:"0" high:"1000000"`
	// CPUs for each task (default: 1, or 2 on the wall clock).
	CPUs int `flag:"cpus" arg:"N" low:"0" high:"4096"`
	// Memory for each task.
	Memory string `flag:"memory" arg:"SIZE" def:"1GiB"`
	// Time limit of a task, such as 2h30m (default: the limit of the engine).
	Time time.Duration `flag:"time" arg:"TIME"`
	// Path of fabemu on the machines (default: its path on this one; Kubernetes: /usr/bin/fabemu).
	Binary string `flag:"binary" arg:"PATH"`
	// Kubernetes: the image that has fabemu.
	Image string `flag:"image" arg:"IMAGE"`
	// Kubernetes: the PersistentVolumeClaim for the results.
	Claim string `flag:"claim" arg:"NAME" def:"fabemu-results"`
}

// A campaigner is the flags that describe a campaign: register declares them, and job makes a job
// of its subject.
type campaigner interface {
	register(c *cobra.Command)
	job(c *cobra.Command, subject string, e *exportFlags) (*campaign.Job, error)
}

// exportCommand writes a campaign as the input of an engine.
func exportCommand(subject string, complete cobra.CompletionFunc, of campaigner) *cobra.Command {
	var f exportFlags
	var engines []string
	for _, e := range campaign.Engines() {
		engines = append(engines, string(e))
	}
	c := &cobra.Command{
		Use:   "export " + strings.Join(engines, "|") + " " + subject,
		Short: "Write the runs as input of Slurm or Kubernetes",
		Args:  cobra.ExactArgs(2),
		ValidArgsFunction: func(c *cobra.Command, taken []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(taken) == 0 {
				return engines, cobra.ShellCompDirectiveNoFileComp
			}
			return complete(c, taken[1:], word)
		},
	}
	add(c, &f)
	of.register(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		f.engine = campaign.Engine(args[0])
		if !slices.Contains(campaign.Engines(), f.engine) {
			return fmt.Errorf("unknown engine %q: use %s", args[0], strings.Join(engines, ", "))
		}
		for _, name := range modeFlags() {
			if name != "out" && c.Flags().Changed(name) {
				return fmt.Errorf("--%s is for a single call; the engine sets it for each of its calls", name)
			}
		}
		j, err := of.job(c, args[1], &f)
		if err != nil {
			return err
		}
		return campaign.Export(c.OutOrStdout(), f.engine, j)
	}
	return c
}

// fill adds the tasks to a job, as the flags describe them.
func (f *exportFlags) fill(c *cobra.Command, j *campaign.Job, subject, out string) (err error) {
	size, err := unit.ParseSize(f.Memory)
	if err != nil {
		return fmt.Errorf("--memory %s: %w", f.Memory, err)
	}
	j.Memory = int((size + 1<<20 - 1) >> 20)
	if j.Dir, err = os.Getwd(); err != nil {
		return err
	}
	j.Shards, j.CPUs, j.Time, j.Image, j.Claim = f.Shards, f.CPUs, f.Time, f.Image, f.Claim
	if !c.Flags().Changed("shards") {
		j.Shards = min(16, len(j.Cells))
	}
	if !c.Flags().Changed("cpus") {
		j.CPUs = 1
		if j.Wall {
			j.CPUs = 2
		}
	}
	usual, err := os.Executable()
	if f.engine == campaign.Kubernetes {
		if filepath.IsAbs(out) {
			return fmt.Errorf("--out %s: on Kubernetes the results are in a folder of the volume, so the path must be relative", out)
		}
		usual, out = "/usr/bin/fabemu", "/results/"+filepath.ToSlash(filepath.Clean(out))
	}
	j.Out = out
	j.Command = commandOf(c, j.Kind, subject, out, "shards", "cpus", "memory", "time", "binary", "image", "claim")
	j.Command[0] = cmp.Or(f.Binary, usual)
	if j.Command[0] == "" {
		return err
	}
	return nil
}
