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
	"github.com/spf13/pflag"
)

// exportFlags describe how an engine does a campaign.
type exportFlags struct {
	engine       campaign.Engine
	shards, cpus int
	memory       string
	time         time.Duration
	binary       string
	image, claim string
	own          []string // names of these flags
}

// A campaigner is the flags that describe a campaign: register declares them, and job makes a job of
// its subject.
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
		Long: `Write to standard output the input of an engine that does the runs on many computers, and
draws the table when they are done: slurm, a script that submits an array and a job after
it; k8s, an Indexed Job and a Job for the table. Comments at the beginning of the output
explain its use. For other engines see --plan, which prints one command for each run.`,
		Args: cobra.ExactArgs(2),
		ValidArgsFunction: func(c *cobra.Command, taken []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(taken) == 0 {
				return engines, cobra.ShellCompDirectiveNoFileComp
			}
			return complete(c, taken[1:], word)
		},
	}
	flags := c.Flags()
	flags.IntVar(&f.shards, "shards", 0,
		"slurm, k8s: tasks that share the cells (default: 16, or as many as there are cells)")
	flags.IntVar(&f.cpus, "cpus", 0, "processors for each task (default: 1; on the wall clock 2)")
	flags.StringVar(&f.memory, "memory", "1GiB", "memory for each task")
	flags.DurationVar(&f.time, "time", 0, "how long a task may take, such as 2h30m (default: as long as the engine allows)")
	flags.StringVar(&f.binary, "binary", "",
		"path of fabemu on the computers (default: its path on this one; k8s: /usr/bin/fabemu)")
	flags.StringVar(&f.image, "image", "", "k8s: the image that has fabemu")
	flags.StringVar(&f.claim, "claim", "fabemu-results", "k8s: the PersistentVolumeClaim for the results")
	flags.VisitAll(func(x *pflag.Flag) { f.own = append(f.own, x.Name) })
	of.register(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		f.engine = campaign.Engine(args[0])
		if !slices.Contains(campaign.Engines(), f.engine) {
			return fmt.Errorf("there is no engine %q; there are %s", args[0], strings.Join(engines, ", "))
		}
		for _, name := range modeFlags() {
			if name != "out" && c.Flags().Changed(name) {
				return fmt.Errorf("--%s is for a single call: the engine sets it for each of its calls", name)
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
	size, err := unit.ParseSize(f.memory)
	if err != nil {
		return fmt.Errorf("--memory %s: %w", f.memory, err)
	}
	j.Memory = int((size + 1<<20 - 1) >> 20)
	if j.Dir, err = os.Getwd(); err != nil {
		return err
	}
	j.Shards, j.CPUs, j.Time, j.Image, j.Claim = f.shards, f.cpus, f.time, f.image, f.claim
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
			return fmt.Errorf("--out %s: on Kubernetes results are in a folder of the volume: a relative path is wanted", out)
		}
		usual, out = "/usr/bin/fabemu", "/results/"+filepath.ToSlash(filepath.Clean(out))
	}
	j.Out = out
	j.Command = commandOf(c, j.Kind, subject, out, f.own...)
	j.Command[0] = cmp.Or(f.binary, usual)
	if j.Command[0] == "" {
		return err
	}
	return nil
}
