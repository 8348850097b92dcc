package main

import (
	"errors"
	"fmt"
	"os"

	"fabemu/emu"
	"fabemu/emu/host"
	"fabemu/emu/host/fleet"
	"fabemu/emu/run/process"

	"github.com/spf13/cobra"
)

// fleetFlags describe how this host finds the others of a run.
type fleetFlags struct {
	fleet.Wanted
	token, tokenFile string
	hostsMap         []string

	fleet *fleet.Fleet // once it is found
	of    []process.HostOf
}

// add adds the flags of a host that joins a run.
func (f *fleetFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.Join, "join", "", "HOST:PORT where rank 0 of the run listens")
	c.Flags().StringVar(&f.tokenFile, "token-file", "",
		"file with the token of the run, which nobody else may read (default: the environment variable "+fleet.TokenVariable+")")
	c.Flags().StringVar(&f.token, "token", "",
		"the token of the run itself; others on this computer can read it in the list of processes")
	c.Flags().DurationVar(&f.Wait, "wait", fleet.DefaultWait, "how long hosts wait for one another")
}

// addRun adds the flags for rank 0, too.
func (f *fleetFlags) addRun(c *cobra.Command) {
	f.add(c)
	c.Flags().Lookup("join").Usage = "with --placement hosts, for launchers that do not pass on the address of rank 0: HOST:PORT where rank 0 listens, the same for all"
	c.Flags().IntVar(&f.Size, "hosts", 0,
		"with --placement hosts: how many there are (default: the number from the launcher)")
	c.Flags().StringVar(&f.Listen, "listen", "",
		fmt.Sprintf("with --placement hosts: HOST:PORT at which rank 0 listens for the others (default: port %d of all addresses)", fleet.DefaultPort))
	c.Flags().StringSliceVar(&f.hostsMap, "hosts-map",
		nil, "with --placement hosts: the hosts of machines, as A=0,B=1,\"local*=1\"; endpoints go with their switch (default: such that few links are cut)")
	goWith(c, "placement=hosts", "", "join", "token-file", "token", "wait", "hosts", "listen", "hosts-map")
}

// wanted returns the fleet that the flags describe.
func (f *fleetFlags) wanted() (w fleet.Wanted, err error) {
	w = f.Wanted
	w.Version = version()
	switch {
	case w.Wait <= 0:
		return w, fmt.Errorf("--wait %v: a time is wanted, as 90s", w.Wait)
	case f.token != "" && f.tokenFile != "":
		return w, errors.New("--token and --token-file: one of them")
	case f.tokenFile != "":
		w.Token, err = fleet.ReadToken(f.tokenFile)
	case f.token != "":
		fmt.Fprintf(os.Stderr, "fabemu: warning: --token: others on this computer can read it in the list of processes; %s or --token-file keeps it\n", fleet.TokenVariable)
		w.Token = fleet.Token(f.token)
	}
	return w, err
}

// find finds the fleet of a run with placement hosts.
func (f *fleetFlags) find(placement emu.Placement, clock emu.Clock, scenarios int) error {
	switch {
	case placement != emu.InHosts:
		return nil
	case clock != emu.WallClock:
		return fmt.Errorf("--placement %s goes with the wall clock", emu.InHosts)
	case scenarios > 1:
		return fmt.Errorf("--placement %s takes one scenario at a time", emu.InHosts)
	}
	if err := host.NeedsLinux("placement " + string(emu.InHosts)); err != nil {
		return err
	}
	for _, text := range f.hostsMap {
		of, err := process.ParseHostOf(text)
		if err != nil {
			return fmt.Errorf("--hosts-map: %w", err)
		}
		f.of = append(f.of, of)
	}
	w, err := f.wanted()
	if err != nil {
		return err
	}
	f.fleet, err = w.Find(os.Getenv, fleet.Here())
	if err == nil {
		f.fleet.Notify = showHosts
	}
	return err
}

// showHosts shows messages for the user while hosts meet.
func showHosts(text string) { fmt.Fprintln(os.Stderr, "fabemu:", text) }

func agentCommand() *cobra.Command {
	var f fleetFlags
	c := &cobra.Command{
		Use:   "agent --join HOST:PORT",
		Short: "Run the share of this computer of a run with --placement hosts",
		Long: `Run the share of this computer of a run on several, which another one conducts:

	fabemu run SCENARIO --placement hosts --hosts 2

prints there the command to type here. The scenario comes from there, and the results stay there.
A launcher (srun, mpirun, an Indexed Job of Kubernetes) starts fabemu run on all hosts
alike instead. docs/guide/hosts.md has it step by step.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := host.NeedsLinux("agent"); err != nil {
				return err
			}
			w, err := f.wanted()
			if err != nil {
				return err
			}
			fleet, err := w.Agent(os.Getenv)
			if err != nil {
				return err
			}
			fleet.Notify = showHosts
			ctx, stop := untilEnded(c)
			defer stop()
			return failed(process.Attend(ctx, fleet))
		},
	}
	f.add(c)
	return c
}
