package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// An event is a line of "go test -json" (go doc test2json).
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build output, in place of Package
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

// A test is a test or subtest of which something was heard.
type test struct {
	result string // pass, fail, skip; empty while it runs
	output strings.Builder
}

// A run is a package under test, from its start to its end.
type run struct {
	tests  map[string]*test
	last   string          // the test that began last
	output strings.Builder // what the package says outside its tests
}

// A summary takes events and writes the report. Packages may come again, as
// they do when runs with different flags follow one another.
type summary struct {
	w       io.Writer
	running map[string]*run
	builds  map[string]*strings.Builder // output of the compiler by import path
	tested  map[string]bool             // whether a package had a test in any run
	skips   []string

	passed, failed, skipped int
}

func newSummary(w io.Writer) *summary {
	return &summary{w: w, running: map[string]*run{}, builds: map[string]*strings.Builder{}, tested: map[string]bool{}}
}

// read takes events until the input ends. When nothing was written for so long as quiet
// it says what runs.
func (s *summary) read(r io.Reader, quiet time.Duration) error {
	type input struct {
		line string
		err  error
	}
	lines := make(chan input)
	go func() {
		in := bufio.NewReader(r)
		for {
			line, err := in.ReadString('\n')
			lines <- input{line, err}
			if err != nil {
				return
			}
		}
	}()
	beat := time.NewTicker(quiet)
	defer beat.Stop()
	for {
		var line string
		var err error
		select {
		case in := <-lines:
			line, err = in.line, in.err
		case <-beat.C:
			s.tell()
			continue
		}
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				s.hear(e)
			} else {
				fmt.Fprintln(s.w, strings.TrimSuffix(line, "\n"))
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// tell says which packages run, and the tests of them that began last.
func (s *summary) tell() {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.running)) {
		if r := s.running[name]; r.last != "" {
			name += " (" + r.last + ")"
		}
		all = append(all, name)
	}
	if len(all) == 0 {
		all = []string{"what is to be tested is built"}
	}
	fmt.Fprintf(s.w, "...     %s\n", strings.Join(all, ", "))
}

func (s *summary) hear(e event) {
	switch e.Action {
	case "build-output":
		if s.builds[e.ImportPath] == nil {
			s.builds[e.ImportPath] = &strings.Builder{}
		}
		s.builds[e.ImportPath].WriteString(e.Output)
		return
	case "build-fail":
		return // the package's own failure follows and names this one
	}
	if e.Package == "" {
		return
	}
	r := s.running[e.Package]
	if r == nil {
		r = &run{tests: map[string]*test{}}
		s.running[e.Package] = r
	}
	if e.Test == "" {
		switch e.Action {
		case "output":
			r.output.WriteString(e.Output)
		case "pass", "fail", "skip":
			s.end(e, r)
			delete(s.running, e.Package)
		}
		return
	}
	t := r.tests[e.Test]
	if t == nil {
		t = &test{}
		r.tests[e.Test] = t
	}
	switch e.Action {
	case "run":
		r.last = e.Test
	case "output":
		t.output.WriteString(e.Output)
	case "pass", "fail", "skip":
		t.result = e.Action
	}
}

// end counts the tests of a package that is done, and reports it.
func (s *summary) end(e event, r *run) {
	s.tested[e.Package] = s.tested[e.Package] || len(r.tests) > 0

	// Children fail and are skipped on behalf of their parents.
	children := map[string]map[string]int{} // parent -> result -> how many below it
	for name, t := range r.tests {
		for i, c := range name {
			if c == '/' {
				parent := name[:i]
				if children[parent] == nil {
					children[parent] = map[string]int{}
				}
				children[parent][t.result]++
			}
		}
	}
	var failures []string
	passed, skipped := 0, 0
	for _, name := range slices.Sorted(maps.Keys(r.tests)) {
		t, below := r.tests[name], children[name]
		switch {
		case t.result == "pass" && below == nil:
			passed++
		case t.result == "skip" && below["skip"] == 0:
			skipped++
			s.skips = append(s.skips, fmt.Sprintf("%s %s: %s", e.Package, name, reason(t.output.String())))
		case t.result == "fail" && below["fail"]+below[""] == 0:
			failures = append(failures, name)
		case t.result == "" && below[""] == 0: // it ran when the package ended
			failures = append(failures, name)
		}
	}
	failed := len(failures)
	if e.Action == "fail" && failed == 0 {
		failed = 1
	}
	s.passed += passed
	s.failed += failed
	s.skipped += skipped

	switch {
	case failed > 0:
		fmt.Fprintf(s.w, "FAIL  %s  (%.1f s)\n", e.Package, e.Elapsed)
		if b := s.builds[e.FailedBuild]; b != nil {
			writeIndented(s.w, b.String())
		}
		for _, name := range slices.Sorted(maps.Keys(r.tests)) {
			if t := r.tests[name]; t.result == "fail" || t.result == "" {
				writeIndented(s.w, t.output.String())
			}
		}
		writeIndented(s.w, r.output.String())
	case len(r.tests) > 0:
		fmt.Fprintf(s.w, "ok    %s  (%s, %.1f s)\n", e.Package, count(passed, skipped), e.Elapsed)
	}
}

// finish writes what is left to say and returns whether all is well.
func (s *summary) finish(noskip bool) bool {
	for _, name := range slices.Sorted(maps.Keys(s.running)) {
		s.end(event{Action: "fail", Package: name}, s.running[name])
		fmt.Fprintf(s.w, "      %s never came to an end\n", name)
	}
	var untested []string
	for name, any := range s.tested {
		if !any {
			untested = append(untested, name)
		}
	}
	if len(untested) > 0 {
		slices.Sort(untested)
		fmt.Fprintf(s.w, "without tests: %s\n", strings.Join(untested, " "))
	}
	slices.Sort(s.skips)
	for _, line := range slices.Compact(s.skips) {
		fmt.Fprintf(s.w, "SKIP  %s\n", line)
	}
	ok := s.failed == 0
	if len(s.skips) > 0 && noskip {
		fmt.Fprintln(s.w, "every test was to run: a skipped one is a failure")
		ok = false
	}
	if s.passed+s.failed+s.skipped == 0 {
		fmt.Fprintln(s.w, "nothing was tested")
		ok = false
	}
	fmt.Fprintf(s.w, "%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	return ok
}

// reason finds in the output of a skipped test why it was skipped.
func reason(output string) string {
	var lines []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		lines = append(lines, line)
	}
	return cmp.Or(strings.Join(lines, " "), "no reason given")
}

func count(passed, skipped int) string {
	if skipped > 0 {
		return fmt.Sprintf("%d passed, %d skipped", passed, skipped)
	}
	return fmt.Sprintf("%d passed", passed)
}

func writeIndented(w io.Writer, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(w, "      %s\n", strings.TrimSuffix(line, "\n"))
	}
}
