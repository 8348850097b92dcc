package main

import (
	"bufio"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// An event is a line of go test -json (go doc test2json).
type event struct {
	Action, Package, Test, Output, Key, Value string
	Elapsed                                   float64
}

// A failure is a test that failed, or a package (without a name), in a pass.
type failure struct{ pass, pkg, name string }

// results are the results of all passes.
type results struct {
	show *show

	mu                      sync.Mutex
	passed, failed, skipped int
	failures                map[failure]bool    // with the roots of tests
	longer                  map[string]float64  // seconds of the roots of tests
	long                    map[string][]string // the roots of tests that the race detector's pass skipped, by package
	privileged              map[string][]string // the roots of tests that depend on privileges, by package
	said                    map[failure]string  // the last line that a test wrote with its place
	why                     map[string]int      // reasons of skipped tests
}

func newResults(s *show) *results {
	return &results{
		show: s, failures: map[failure]bool{}, longer: map[string]float64{}, long: map[string][]string{},
		privileged: map[string][]string{}, said: map[failure]string{}, why: map[string]int{},
	}
}

// read counts the events of a pass until they end. A line that is no event is shown.
func (r *results) read(pass string, from io.Reader) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.line(pass, line)
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

var place = regexp.MustCompile(`\.go:[0-9]+: `)

// scriptSkip is the line of a script that skips it, with the reason.
var scriptSkip = regexp.MustCompile(`^\s*> .*\bskip '(.*)'`)

func (r *results) line(pass string, line []byte) {
	var fields map[string]any
	var e event
	if json.Unmarshal(line, &fields) != nil || json.Unmarshal(line, &e) != nil {
		os.Stdout.Write(line)
		return
	}
	if e.Package != "" { // in another pass the package comes again
		fields["Package"] = e.Package + " (" + pass + ")"
		line, _ = json.Marshal(fields)
		line = append(line, '\n')
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.show.write(line)
	r.count(pass, e)
}

func (r *results) count(pass string, e event) {
	root, _, _ := strings.Cut(e.Test, "/")
	test := failure{pass, e.Package, e.Test}
	switch e.Action {
	case "output":
		if at := place.FindStringIndex(e.Output); at != nil && e.Test != "" {
			r.said[test] = strings.TrimSuffix(e.Output[at[1]:], "\n")
		} else if why := scriptSkip.FindStringSubmatch(e.Output); why != nil {
			r.said[test] = why[1]
		}
		return
	case "attr":
		if e.Key == "depends-on" && e.Value == "privileges" {
			add(r.privileged, e.Package, root)
		}
		return
	case "pass":
		if e.Test != "" {
			r.passed++
		}
	case "fail":
		if e.Test != "" {
			r.failed++
		} else if !r.has(func(f failure) bool { return f.pass == pass && f.pkg == e.Package }) {
			r.failed++
		}
		r.failures[failure{pass, e.Package, root}] = true
	case "skip":
		switch {
		case e.Test == "" || pass == "ordinary": // a package without tests; a privilege that a user lacks
		case pass == "raced":
			add(r.long, e.Package, root)
		default:
			r.skipped++
			r.why[reason(r.said[test])]++
		}
	default:
		return
	}
	if e.Test != "" && e.Test == root && e.Elapsed > slow {
		r.longer[e.Package+" ("+pass+") "+e.Test] = e.Elapsed
	}
}

// has reports whether one of the failures is as asked.
func (r *results) has(as func(failure) bool) bool {
	for f := range r.failures {
		if as(f) {
			return true
		}
	}
	return false
}

// failuresOf returns how many tests and packages have failed in a pass.
func (r *results) failuresOf(pass string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for f := range r.failures {
		if f.pass == pass {
			n++
		}
	}
	return n
}

func add(to map[string][]string, key, value string) {
	if !slices.Contains(to[key], value) {
		to[key] = append(to[key], value)
	}
}

// retries returns the roots of failed tests, or nothing where something failed that is no matter of
// time: a package without a failed test, a fuzz target, or what an ordinary user may not do.
func (r *results) retries() []failure {
	var tests []failure
	for f := range r.failures {
		if f.pass == "fuzz" || f.pass == "ordinary" {
			return nil
		}
		if f.name != "" {
			tests = append(tests, f)
		} else if !r.has(func(g failure) bool { return g.pass == f.pass && g.pkg == f.pkg && g.name != "" }) {
			return nil
		}
	}
	slices.SortFunc(tests, func(a, b failure) int {
		return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.name, b.name), cmp.Compare(a.pass, b.pass))
	})
	return tests
}

// slowest returns the tests that took long, the longest first.
func (r *results) slowest() []string {
	names := slices.SortedFunc(maps.Keys(r.longer), func(a, b string) int { return cmp.Compare(r.longer[b], r.longer[a]) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%d s: %s %.0f s", slow, name, r.longer[name])
	}
	return names
}

// skips returns a line for each reason of skipped tests.
func (r *results) skips() string {
	var lines []string
	for _, why := range slices.SortedFunc(maps.Keys(r.why), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.why[b], r.why[a]), cmp.Compare(a, b))
	}) {
		lines = append(lines, fmt.Sprintf("  %5d tests  %s", r.why[why], why))
	}
	return strings.Join(lines, "\n")
}

// Optional tools: each with its Debian packages and what needs it. A test without its tool is
// skipped.
//
//go:embed tools.txt
var toolRows string

// A tool is a row of tools.txt.
type tool struct {
	program  string
	packages []string
}

func tools() []tool {
	var all []tool
	for line := range strings.Lines(toolRows) {
		row := strings.Fields(line)
		all = append(all, tool{row[0], strings.Split(row[1], ",")})
	}
	return all
}

// reason is what a test lacks, from what it said before it was skipped.
func reason(said string) string {
	if regexp.MustCompile(`CAP_|root|permission|mounted`).MatchString(said) {
		return "need root"
	}
	for _, x := range tools() {
		if regexp.MustCompile(`(^|[^a-z0-9])` + regexp.QuoteMeta(x.program) + `([^a-z0-9]|$)`).MatchString(said) {
			return fmt.Sprintf("need %s (Debian: %s)", x.program, strings.Join(x.packages, " and "))
		}
	}
	return said
}

// A show shows events as they come.
type show struct {
	tool  *exec.Cmd // gotestsum
	input io.WriteCloser
	keep  *os.File // FABEMU_TEST_EVENTS
}

func newShow(r *runner) (*show, error) {
	s := new(show)
	if name := os.Getenv("FABEMU_TEST_EVENTS"); name != "" {
		f, err := os.Create(name)
		if err != nil {
			return nil, err
		}
		s.keep = f
	}
	c := r.command([]string{"GOBIN=" + r.tmp}, "go", "install", gotestsum)
	c.Stdout, c.Stderr = nil, nil
	if out, err := c.CombinedOutput(); err != nil {
		fmt.Printf("%stest: %s cannot be fetched: only the names of failed tests are shown\n", out, gotestsum)
		return s, nil
	}
	s.tool = exec.Command(filepath.Join(r.tmp, "gotestsum"), "--format", "pkgname", "--hide-summary=skipped", "--no-color",
		"--ignore-non-json-output-lines", "--raw-command", "--", "cat")
	s.tool.Stdout, s.tool.Stderr = os.Stdout, os.Stderr
	input, err := s.tool.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.input = input
	return s, s.tool.Start()
}

// write shows an event.
func (s *show) write(line []byte) {
	if s.keep != nil {
		s.keep.Write(line)
	}
	if s.input != nil {
		s.input.Write(line)
		return
	}
	var e event
	if json.Unmarshal(line, &e) == nil && e.Action == "fail" {
		fmt.Println(strings.TrimSpace(e.Package + " " + e.Test))
	}
}

func (s *show) close() {
	if s.input != nil {
		s.input.Close()
		ended := time.AfterFunc(time.Minute, func() { s.tool.Process.Kill() })
		s.tool.Wait() // it fails where a test failed
		ended.Stop()
	}
	if s.keep != nil {
		s.keep.Close()
	}
}
