// Command testsum reads what "go test -json" writes, from one run or several
// after another, and says what a person wants to know: a line for each package,
// the whole output of what failed, each skipped test with its reason, and as the
// last line
//
//	N passed, N failed, N skipped
//
// Usage:
//
//	go test -json ./... | go run ./scripts/testsum [-noskip]
//
// A test with subtests counts through them. A package that fails without a
// failing test (it does not compile, it panics, it runs out of time) counts as a
// failure, and so does one whose end never came. Lines that are not JSON are
// passed through. Every 20 seconds it says what runs.
//
// It exits with 1 when something failed, when nothing was tested at all, and
// with -noskip when something was skipped. It cannot see the exit code of the go
// command: the shell must look at that too (set -o pipefail).
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	noskip := flag.Bool("noskip", false, "a skipped test is a failure")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "testsum: takes no arguments, reads go test -json from its standard input")
		os.Exit(2)
	}
	s := newSummary(os.Stdout)
	err := s.read(os.Stdin, 20*time.Second)
	ok := s.finish(*noskip)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		ok = false
	}
	if !ok {
		os.Exit(1)
	}
}
