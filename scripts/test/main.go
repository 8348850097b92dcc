// Command test runs the tests of the tree: it is scripts/test.sh, which says what it does.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	gotestsum = "gotest.tools/gotestsum@v1.13.0"
	fuzzEach  = "10" // seconds for a fuzz target
	fuzzTotal = "30" // seconds for all of them; scripts/soak.sh takes minutes for each
	second    = 3    // failed tests that may run once more
	slow      = 30   // seconds; longer tests are named: a test of that length is for the soak
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	status := run(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

// run does what the arguments say, and returns the exit status.
func run(ctx context.Context, args []string) int {
	r := &runner{ctx: ctx, packages: []string{"./..."}, atOnce: "3", inPackage: "4", begin: time.Now()}
	minutes, loadOnly := 6, false
	switch {
	case len(args) == 1 && args[0] == "--all":
		r.all, minutes = true, 22
	case len(args) == 1 && args[0] == "--load":
		loadOnly = true
	case len(args) > 0 && strings.HasPrefix(args[0], "-"):
		fmt.Fprintf(os.Stderr, "test: no argument %s: scripts/test.sh [--all | --load | PACKAGE...]\n", args[0])
		return 2
	case len(args) > 0:
		r.packages = args
	}
	r.heed(minutes)
	if loadOnly {
		return 0
	}
	var err error
	if r.tmp, err = os.MkdirTemp("", "fabemu-tests-"); err != nil {
		fmt.Fprintln(os.Stderr, "test:", err)
		return 1
	}
	defer os.RemoveAll(r.tmp)
	return r.run()
}

// A runner runs the tests once.
type runner struct {
	ctx       context.Context
	all       bool
	packages  []string
	atOnce    string // packages that are tested at a time: many wait for processes, guests and a browser
	inPackage string // tests of a package at a time: those that run the command wait more than they compute
	race      bool   // the machine has a race detector
	tmp       string // a folder
	program   string // the command fabemu, for the tests that run it
	begin     time.Time
	failed    bool // something failed that is no test: results has those
	results   *results
}

// heed says how busy the machine is. On a busy one fewer packages are tested at a time.
// FABEMU_TEST_LOAD is for the test of this.
func (r *runner) heed(minutes int) {
	said := os.Getenv("FABEMU_TEST_LOAD")
	if said == "" {
		b, _ := os.ReadFile("/proc/loadavg")
		said, _, _ = strings.Cut(string(b), " ")
	}
	load, err := strconv.ParseFloat(said, 64)
	if err != nil {
		said = "0"
	}
	cores := float64(runtime.NumCPU())
	fmt.Printf("test: the load is %s on %.0f processors; on two idle ones the tests take no more than %d minutes\n", said, cores, minutes)
	if load > 2*cores {
		r.atOnce, r.inPackage = "1", "2"
		fmt.Printf("test: the load is high: one package at a time, for about %.0f minutes\n", float64(minutes)*(load+cores)/cores)
	}
}

func (r *runner) run() int {
	quiet := make(chan struct{})
	defer close(quiet)
	go func() { // a sign of life while nothing else is written
		for {
			select {
			case <-quiet:
				return
			case <-time.After(20 * time.Second):
				fmt.Printf("...     %.0f s\n", time.Since(r.begin).Seconds())
			}
		}
	}()
	if err := os.Chmod(r.tmp, 0o755); err != nil { // tests let other users in
		return r.complain(err)
	}
	r.program = filepath.Join(r.tmp, "fabemu")
	r.check(r.command(nil, "go", "build", "-ldflags", "-s -w", "-o", r.program, "./cmd/fabemu").Run())
	os.Setenv("FABEMU_TEST_PROGRAM", r.program) // emu/emutest/runtest reads it
	show, err := newShow(r)
	if err != nil {
		return r.complain(err)
	}
	r.results = newResults(show)
	if r.all {
		r.prepare()
		r.passes()
	} else {
		r.say("go test -short " + strings.Join(r.packages, " "))
		r.check(r.goTest("short", append([]string{"-short"}, r.packages...)...))
	}
	show.close()
	if r.ctx.Err() != nil {
		fmt.Println("test: interrupted")
		return 1
	}
	return r.report()
}

// complain reports what hinders the runner itself.
func (r *runner) complain(err error) int {
	fmt.Fprintln(os.Stderr, "test:", err)
	return 1
}

// check remembers a failure, and reports whether there was none.
func (r *runner) check(err error) bool {
	if err == nil {
		return true
	}
	r.failed = true
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) { // a command that failed has said it itself
		fmt.Fprintln(os.Stderr, "test:", err)
	}
	return false
}

// say says what runs from now on.
func (r *runner) say(what string) {
	fmt.Printf("+ %s  (%.0f s)\n", what, time.Since(r.begin).Seconds())
}

// command is a command with changes of the environment. It is ended with the runner.
func (r *runner) command(env []string, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(r.ctx, name, args...)
	c.Env = append(os.Environ(), env...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	return c
}

// report prints what was left out and the counts, and returns the exit status.
func (r *runner) report() int {
	n := r.results
	if r.all {
		for _, line := range n.slowest() {
			fmt.Println("test: longer than " + line)
		}
	}
	if n.failed > 0 && !r.failed && r.again() {
		n.passed, n.failed = n.passed+n.failed, 0
	}
	skips := n.skips()
	switch {
	case n.passed+n.failed+n.skipped == 0:
		fmt.Println("test: nothing was tested")
		r.failed = true
	case r.failed || n.failed > 0:
		fmt.Println("test: something failed: see above")
	}
	if r.all && n.skipped > 0 {
		fmt.Println("test: with --all a skipped test is a failure:\n" + skips)
		r.failed = true
	}
	if !r.all {
		root := ""
		if os.Getuid() != 0 {
			root = `sudo env "PATH=$PATH" `
		}
		fmt.Println("test: left out:")
		if skips != "" {
			fmt.Println(skips)
		}
		fmt.Println("         also: tests of timing and allocations (-tags timing), the race detector, fuzzing, scripts/check.sh")
		fmt.Printf("test: this command runs everything, and installs the missing packages on Debian or Ubuntu: %sscripts/test.sh --all\n", root)
	}
	r.failed = r.failed || n.failed > 0
	fmt.Printf("%d passed, %d failed, %d skipped\n", n.passed, n.failed, n.skipped)
	if r.failed {
		return 1
	}
	return 0
}

// again runs the tests that failed once more, each alone, and reports whether all pass. A computer
// that takes the processors away for a while fails tests of real time, and other tests at the same
// time take processors, too.
func (r *runner) again() bool {
	tests := r.results.retries()
	if tests == nil || len(tests) > second {
		return false
	}
	for _, x := range tests {
		r.say("go test -run ^" + x.name + "$ " + x.pkg + ", alone: it failed next to others")
		args := []string{"test", "-vet=off", "-count=1", "-v", "-run", "^" + x.name + "$"}
		var env []string
		switch x.pass {
		case "raced":
			env = []string{"CGO_ENABLED=1"}
			args = append(args, raced...)
		case "timing":
			args = append(args, "-tags", "timing")
		}
		c := r.command(env, "go", append(args, x.pkg)...)
		c.Stdout = nil
		out, err := c.Output()
		if err != nil || !strings.Contains(string(out), "--- PASS: "+x.name) {
			os.Stdout.Write(out)
			return false
		}
		fmt.Printf("test: failed next to others, and passes alone: %s %s\n", x.pkg, x.name)
	}
	return true
}
