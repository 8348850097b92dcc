package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"fabemu/emu"
	"fabemu/emu/base/errs"
	"fabemu/emu/base/files"
	"fabemu/emu/fabric"
	"fabemu/emu/host"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/lint"
	"fabemu/emu/study/campaign"
	"fabemu/emu/watch/observe"
	"fabemu/emu/watch/subnet"
	"fabemu/switchd"

	"github.com/spf13/cobra"
)

// subnetFile is the file in the folder of a run with the variables for programs of InfiniBand.
const subnetFile = "subnet.env"

// subnetCache is the folder next to it where opensm remembers LIDs: those of an earlier run are not
// those of this one.
const subnetCache = "opensm"

// subnetEvery is how often counters follow the run, in wall time.
const subnetEvery = 50 * time.Millisecond

// openSubnet serves subnet managers, and returns when one has brought the subnet up: with the
// scenario whose routes are its forwarding tables.
func (f *runFlags) openSubnet(ctx context.Context, s *scenario.Scenario, o *emu.Options) (*subnet.Server, *scenario.Scenario, error) {
	patience, err := time.ParseDuration(f.Subnet)
	_, real := s.Guests()
	switch {
	case err != nil || patience <= 0:
		return nil, nil, fmt.Errorf("--subnet %s: give the longest time to wait for a subnet manager, such as 10m", f.Subnet)
	case s.Subnet.InBand && real > 0:
		return nil, nil, errors.New("subnet: {in-band: true} and real hosts exclude each other: remove one of them")
	case s.Routing.Recompute > 0:
		return nil, nil, fmt.Errorf("routing.recompute and --subnet exclude each other: the subnet manager finds new routes")
	}
	if s.Routing.Balance != switchd.Hash {
		return nil, nil, fmt.Errorf("routing.balance: %v and --subnet exclude each other: the forwarding tables of a subnet manager have one output for each destination", s.Routing.Balance)
	}
	laidOut, err := fabric.Build(s)
	if err != nil {
		return nil, nil, err
	}
	n, err := subnet.New(laidOut)
	if err != nil {
		return nil, nil, err
	}
	server, err := subnet.Listen(n)
	if err != nil {
		return nil, nil, failure{err}
	}
	cache, err := filepath.Abs(filepath.Join(o.Directory, subnetCache))
	err = cmp.Or(err, os.MkdirAll(cache, 0o700))
	text := subnetVariables(server, s, cache)
	err = cmp.Or(err, files.Write(filepath.Join(o.Directory, subnetFile), func(w io.Writer) error { _, err := io.WriteString(w, text); return err }))
	if err != nil {
		closeSubnet(server, o.Directory)
		return nil, nil, failure{err}
	}
	fmt.Fprintf(os.Stderr, "%s: waiting for a subnet manager: fabemu subnet exec --run %s -- opensm, or in a shell:\n%s", s.Name, o.Directory, text)
	late, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := server.Wait(late); err != nil {
		closeSubnet(server, o.Directory)
		return nil, nil, failure{errors.Join(err, ctx.Err())}
	}
	if s.Subnet.InBand && o.Clock != emu.VirtualClock {
		o.Schemes.Management = server.InBand()
	}
	o.Observe = append(o.Observe, observe.Request{Observer: server, Every: subnetEvery})
	return server, server.Scenario(), nil
}

// refuseDeadlock refuses a run with --strict if the routes of its manager make a cycle of buffers,
// and otherwise warns of it.
func (f *runFlags) refuseDeadlock(s *scenario.Scenario) error {
	if f.Strict {
		return refuseDeadlock(s)
	}
	warnOfDeadlock(s)
	return nil
}

// warnOfDeadlock warns of a cycle of buffers that the routes of a manager make.
func warnOfDeadlock(s *scenario.Scenario) {
	if d := lint.FindDeadlock(s, scenario.PathTableOf(s)); d != nil {
		showHarmless("fabemu: warning: %s: with the routes of the subnet manager, %v\n", s.Name, d)
	}
}

// subnetVariables are the variables for programs that are to see the run, as lines for a shell.
func subnetVariables(server *subnet.Server, s *scenario.Scenario, cache string) string {
	return fmt.Sprintf("export IBSIM_SOCKNAME=%s\nexport SIM_HOST=%s\nexport OSM_CACHE_DIR=%s\nexport LD_PRELOAD=%s\n",
		server.Name(), campaign.Quote(subnet.ClientName(s.Endpoints[0].Name)), campaign.Quote(cache), host.Library(host.Umad2sim))
}

// closeSubnet ends the service of a run.
func closeSubnet(server *subnet.Server, dir string) {
	server.Close()
	os.Remove(filepath.Join(dir, subnetFile))
	os.RemoveAll(filepath.Join(dir, subnetCache))
}

type subnetExecFlags struct {
	// Run, by its folder; needed if several have a subnet.
	Run string `flag:"run" arg:"DIR" group:"Run"`
	// Node where the program runs (default: the first endpoint).
	Node string `flag:"node" arg:"NAME"`
}

func subnetCommand() *cobra.Command {
	c := &cobra.Command{Use: "subnet", Short: "Run subnet managers and diagnostic programs of InfiniBand on a run"}
	var f subnetExecFlags
	run := &cobra.Command{
		Use:   "exec -- COMMAND...",
		Short: "Run a command, such as opensm or ibnetdiscover, on a run with --subnet",
		Args:  cobra.MinimumNArgs(1),
		RunE:  func(_ *cobra.Command, args []string) error { return f.exec(args) },
	}
	add(run, &f)
	c.AddCommand(run)
	return c
}

// exec runs a command that sees the subnet of a run. The command ends with the run.
func (f *subnetExecFlags) exec(args []string) error {
	dirs := []string{f.Run}
	if f.Run == "" {
		dirs = subnetFolders()
	}
	switch {
	case len(dirs) == 0:
		return errors.New("no run of this user has a subnet: start one with fabemu run SCENARIO --subnet, or name its folder with --run")
	case len(dirs) > 1:
		return fmt.Errorf("several runs have a subnet: choose one with --run, of %s", strings.Join(dirs, ", "))
	}
	env, err := subnetEnvironment(dirs[0])
	if err != nil {
		return fmt.Errorf("%s is not the folder of an active run with --subnet: %w", dirs[0], err)
	}
	for _, v := range env {
		if library, ok := strings.CutPrefix(v, "LD_PRELOAD="); ok && !exists(library) {
			return errors.New(host.NoCommand(host.Umad2sim))
		}
	}
	if f.Node != "" {
		env = append(env, "SIM_HOST="+subnet.ClientName(f.Node))
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", host.NoCommand(args[0]), err)
	}
	name := ""
	for _, v := range env {
		if socket, ok := strings.CutPrefix(v, "IBSIM_SOCKNAME="); ok {
			name = socket
		}
	}
	// Environ has the last value of each variable, and no other.
	return attend(&exec.Cmd{Path: path, Args: args, Env: append(os.Environ(), env...), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}, name)
}

// subnetFolders returns the folders of the runs that have a subnet: those below results/, or else
// those of this user on this machine, wherever they are.
func subnetFolders() (dirs []string) {
	for _, pattern := range []string{"*", "*/*"} {
		found, _ := filepath.Glob(filepath.Join("results", pattern, subnetFile)) // the pattern is right
		for _, path := range found {
			if _, err := subnetEnvironment(filepath.Dir(path)); err == nil {
				dirs = append(dirs, filepath.Dir(path))
			}
		}
	}
	if dirs != nil {
		return dirs
	}
	for _, served := range subnet.Find() {
		open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", served.PID)) // a run holds its folder open
		for _, fd := range open {
			dir, err := os.Readlink(fd)
			if err != nil || !filepath.IsAbs(dir) || slices.Contains(dirs, dir) {
				continue
			}
			if env, err := subnetEnvironment(dir); err == nil && slices.Contains(env, "IBSIM_SOCKNAME="+served.Name) {
				dirs = append(dirs, dir)
			}
		}
	}
	slices.Sort(dirs)
	return dirs
}

// How often a program is told of the end of its run, and how long it may take to end.
const (
	attendEvery = 100 * time.Millisecond
	attendEnd   = 5 * time.Second
)

// attend runs a program until it ends, or until the subnet with a name has ended, and removes the
// folder that libumad2sim makes for a program and leaves when the program is killed. The terminal
// interrupts the program too, which decides what that means.
func attend(c *exec.Cmd, name string) error {
	came := make(chan os.Signal, 8)
	signal.Notify(came, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(came)
	guard := host.NewChildGuard()
	defer guard.Close()
	if err := guard.Start(c); err != nil {
		return failure{err}
	}
	defer os.RemoveAll(subnet.ClientFolder(c.Process.Pid))
	ended := make(chan error, 1)
	go func() {
		defer errs.Catch(func(err error) { ended <- err })
		ended <- c.Wait()
	}()
	t := time.NewTicker(attendEvery)
	defer t.Stop()
	over := time.Time{}
	for {
		select {
		case err := <-ended:
			var how *exec.ExitError
			switch {
			case !over.IsZero() || err == nil:
				return nil
			case errors.As(err, &how) && how.Exited():
				return exit(how.ExitCode())
			}
			return failure{fmt.Errorf("%s: %w", c.Args[0], err)}
		case s := <-came:
			if s == syscall.SIGTERM || s == syscall.SIGHUP { // which came to this process alone
				c.Process.Signal(s)
			}
		case now := <-t.C:
			switch {
			case over.IsZero() && subnet.Answers(name) != nil:
				over = now
				fmt.Fprintf(os.Stderr, "fabemu: the run has ended, and with it %s\n", c.Args[0])
				c.Process.Signal(syscall.SIGTERM)
			case !over.IsZero() && now.Sub(over) > attendEnd:
				c.Process.Kill()
			}
		}
	}
}

// subnetEnvironment returns the variables for programs that are to see an active run.
func subnetEnvironment(dir string) (env []string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, subnetFile))
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "export "); ok {
			key, value, _ := strings.Cut(v, "=")
			if inner, quoted := strings.CutPrefix(value, "'"); quoted { // as campaign.Quote writes it
				value = strings.ReplaceAll(strings.TrimSuffix(inner, "'"), `'\''`, "'")
			}
			env = append(env, key+"="+value)
		}
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "export IBSIM_SOCKNAME="); ok && err == nil {
			err = subnet.Answers(name)
		}
	}
	return env, err
}
