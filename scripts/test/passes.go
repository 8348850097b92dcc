package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// raced are the arguments for the race detector, which needs cgo; what tests themselves build does
// not. A program with the race detector lingers at its end, a second if nothing is said.
var raced = []string{"-race", "-short", "-exec", "env CGO_ENABLED=0 GORACE=atexit_sleep_ms=100"}

// prepare installs what is missing, and looks for the race detector.
func (r *runner) prepare() {
	var missing []string
	for _, x := range tools() {
		if _, err := exec.LookPath(x.program); err != nil {
			missing = append(missing, x.packages...)
		}
	}
	if len(missing) > 0 {
		r.install(missing)
	}
	dir := filepath.Join(r.tmp, "probe")
	probe := map[string]string{"go.mod": "module probe\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() {}\n"}
	for name, text := range probe {
		if os.MkdirAll(dir, 0o755) != nil || os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644) != nil {
			break
		}
	}
	c := r.command([]string{"CGO_ENABLED=1"}, "go", "run", "-race", ".")
	c.Dir, c.Stdout, c.Stderr = dir, nil, nil
	out, err := c.CombinedOutput()
	if r.race = err == nil; !r.race {
		r.failed = true
		fmt.Printf("%stest: failed: there is no race detector\n", out)
	}
}

// install installs Debian packages.
func (r *runner) install(packages []string) {
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		fmt.Println("test: not installed, because that needs root and apt-get:", strings.Join(packages, " "))
		return
	}
	fmt.Println("+ apt-get install", strings.Join(packages, " "))
	for _, args := range [][]string{{"update", "-qq"}, append([]string{"install", "-y", "-qq", "--no-install-recommends"}, packages...)} {
		c := r.command([]string{"DEBIAN_FRONTEND=noninteractive"}, "apt-get", args...)
		c.Stdout, c.Stderr = nil, nil
		if out, err := c.CombinedOutput(); err != nil {
			fmt.Printf("%s", out)
			return
		}
	}
}

// passes runs all passes. Each runs, whether or not those before it failed.
func (r *runner) passes() {
	all, err := r.list()
	if !r.check(err) {
		return
	}
	var commands, race, others []string
	for _, p := range all {
		concurrent, err := p.concurrent()
		r.check(err)
		switch {
		case p.Name == "main":
			commands = append(commands, p.ImportPath)
		case concurrent:
			race = append(race, p.ImportPath)
		default:
			others = append(others, p.ImportPath)
		}
	}
	// The tests of the command wait most of the time, so they run next to everything else, from the
	// beginning.
	r.say("go test of commands, next to what follows")
	var waiting sync.WaitGroup
	var waited, rested error
	waiting.Go(func() { waited = r.goTest("command", commands...) })
	r.say("scripts/check.sh --all")
	r.check(r.command(nil, "scripts/check.sh", "--all").Run())
	r.say("go test -race -short, the packages that start goroutines or share something")
	next := []string{"-p", min(r.atOnce, "2")} // the commands are the third
	r.check(r.goTest("raced", slices.Concat(next, raced, race)...))
	r.say("go test, the other packages, and what was skipped with -short")
	long := r.results.long
	if len(long) > 0 {
		var names []string
		for _, roots := range long {
			names = append(names, roots...)
		}
		args := append([]string{"-p", "1", "-run", pattern(names)}, slices.Sorted(maps.Keys(long))...)
		waiting.Go(func() { rested = r.goTest("long", args...) })
	}
	r.check(r.goTest("others", append(next, others...)...))
	waiting.Wait()
	r.check(waited)
	r.check(rested)
	r.check(r.timing(all))
	r.say("scripts/fuzz.sh " + fuzzEach + " " + fuzzTotal)
	var ordinary error
	if os.Getuid() == 0 {
		r.say("the tests that depend on privileges, as an ordinary user")
		waiting.Go(func() { ordinary = r.ordinary(all) })
	}
	r.check(r.events("fuzz", r.command(nil, "scripts/fuzz.sh", "-json", fuzzEach, fuzzTotal)))
	waiting.Wait()
	r.check(ordinary)
}

// goTest runs go test for a pass.
func (r *runner) goTest(pass string, args ...string) error {
	test := []string{"test", "-json", "-vet=off", "-timeout", "30m", "-p", r.atOnce, "-parallel", r.inPackage, "-shuffle=on"}
	var env []string
	if pass == "raced" {
		env = []string{"CGO_ENABLED=1"}
	}
	return r.events(pass, r.command(env, "go", append(test, args...)...))
}

// events runs a command that writes events. It is no error that the command fails because tests do:
// these are counted, and may pass when they run once more.
func (r *runner) events(pass string, c *exec.Cmd) error {
	c.Stdout = nil
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	before := r.results.failuresOf(pass)
	read := r.results.read(pass, out)
	err = c.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && r.results.failuresOf(pass) > before {
		err = nil
	}
	return errors.Join(err, read)
}

// pattern is the expression that matches some names of tests and no others.
func pattern(names []string) string {
	return "^(" + strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), "|") + ")$"
}

// A listed is a package, as go list knows it.
type listed struct {
	ImportPath, Name, Dir              string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

func (r *runner) list(args ...string) ([]*listed, error) {
	c := r.command(nil, "go", append(append([]string{"list", "-json=ImportPath,Name,Dir,GoFiles,TestGoFiles,XTestGoFiles"}, args...), "./...")...)
	c.Stdout = nil
	out, err := c.Output()
	if err != nil {
		return nil, err
	}
	var all []*listed
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listed)
		if err := in.Decode(p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// concurrent reports whether the race detector can find something in a package: it or its tests
// start goroutines, or have what several share.
func (p *listed) concurrent() (bool, error) {
	for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		if concurrent(f) {
			return true, nil
		}
	}
	return false, nil
}

// concurrent reports whether a file has a go statement, a call of a method Go, or a type of the
// packages sync and sync/atomic. A sync.OnceValue is no sign: it makes what is the same each time.
func concurrent(f *ast.File) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			x, _ := n.X.(*ast.Ident)
			found = found || n.Sel.Name == "Go" || x != nil && (x.Name == "atomic" || x.Name == "sync" && !strings.HasPrefix(n.Sel.Name, "Once"))
		}
		return !found
	})
	return found
}

// A binary is the program of a package's tests, and those of its tests that are to run.
type binary struct {
	*listed
	path  string
	names []string
}

// compile compiles programs of tests, two at a time.
func (r *runner) compile(pass string, binaries []*binary, args ...string) error {
	var all sync.WaitGroup
	two := make(chan bool, 2)
	errs := make([]error, len(binaries))
	for i, b := range binaries {
		b.path = filepath.Join(r.tmp, fmt.Sprintf("%s-%d.test", pass, i))
		all.Go(func() {
			two <- true
			defer func() { <-two }()
			c := r.command(nil, "go", append(append([]string{"test", "-c", "-vet=off", "-o", b.path}, args...), b.ImportPath)...)
			if errs[i] = c.Run(); errs[i] != nil {
				b.path = ""
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// timing runs the tests that need the tag timing, of a package at a time: those of the files that
// are not there without it.
func (r *runner) timing(all []*listed) error {
	tagged, err := r.list("-tags", "timing")
	if err != nil {
		return err
	}
	var binaries []*binary
	for _, p := range tagged {
		b := &binary{listed: p}
		var untagged []string
		if i := slices.IndexFunc(all, func(q *listed) bool { return q.ImportPath == p.ImportPath }); i >= 0 {
			untagged = slices.Concat(all[i].TestGoFiles, all[i].XTestGoFiles)
		}
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			if slices.Contains(untagged, name) {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			b.names = append(b.names, testsOf(f)...)
		}
		if len(b.names) > 0 {
			binaries = append(binaries, b)
		}
	}
	r.say("go test -c -tags timing")
	failed := r.compile("timing", binaries, "-tags", "timing")
	r.say("go test -tags timing, a package at a time")
	for _, b := range binaries {
		if b.path != "" {
			c := r.command(nil, "go", "tool", "test2json", "-t", "-p", b.ImportPath, b.path,
				"-test.v=test2json", "-test.paniconexit0", "-test.timeout=30m", "-test.run="+pattern(b.names))
			c.Dir = b.Dir
			failed = errors.Join(failed, r.events("timing", c))
		}
	}
	return failed
}

// testsOf returns the names of the tests and examples in a file.
func testsOf(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name != "TestMain" &&
			(strings.HasPrefix(fn.Name.Name, "Test") || strings.HasPrefix(fn.Name.Name, "Example")) {
			names = append(names, fn.Name.Name)
		}
	}
	return names
}

// ordinary runs the default scenario, and the tests that said that they depend on privileges, as
// nobody, in a copy of the tree that belongs to nobody. A privilege that is missing is a skip there
// and no failure.
func (r *runner) ordinary(all []*listed) error {
	const nobody = 65534
	home := filepath.Join(r.tmp, "home")
	top, err := os.Getwd()
	if err == nil {
		err = os.MkdirAll(filepath.Join(home, "tree"), 0o755)
	}
	if err != nil {
		return err
	}
	as := func(dir, name string, args ...string) *exec.Cmd {
		c := r.command([]string{"HOME=" + home}, name, args...)
		c.Dir = filepath.Join(home, dir)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		return c
	}
	copied := `tar --exclude=./.git --exclude=./build --exclude=./results -cf - . | tar -C "$0" -xf - && chown -R 65534:65534 "$1"`
	if err := r.command(nil, "sh", "-c", copied, filepath.Join(home, "tree"), home).Run(); err != nil {
		return err
	}
	failed := as(".", r.program, "run", "--clock", "virtual", "--out", filepath.Join(home, "results")).Run()
	var binaries []*binary
	for _, p := range all {
		if names := r.results.privileged[p.ImportPath]; len(names) > 0 {
			binaries = append(binaries, &binary{listed: p, names: names})
		}
	}
	if len(binaries) == 0 {
		return fmt.Errorf("no test has said that it depends on privileges")
	}
	failed = errors.Join(failed, r.compile("ordinary", binaries))
	errs := make([]error, len(binaries))
	var running sync.WaitGroup
	for i, b := range binaries {
		if b.path == "" {
			continue
		}
		running.Go(func() {
			dir, err := filepath.Rel(top, b.Dir)
			if err != nil {
				errs[i] = err
				return
			}
			test := as(filepath.Join("tree", dir), b.path, "-test.v=test2json", "-test.timeout=10m", "-test.run="+pattern(b.names))
			events := r.command(nil, "go", "tool", "test2json", "-t", "-p", b.ImportPath)
			test.Stdout = nil
			if events.Stdin, err = test.StdoutPipe(); err == nil {
				err = test.Start()
			}
			if err != nil {
				errs[i] = err
				return
			}
			read := r.events("ordinary", events)
			errs[i] = errors.Join(test.Wait(), read)
		})
	}
	running.Wait()
	return errors.Join(failed, errors.Join(errs...))
}
