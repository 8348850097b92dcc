package netns

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// label marks a thing as ours. It names the run and the process that made it: the
// number of the process and its start, in ticks since the machine started, which
// together identify it.
type label struct {
	run   uint32
	pid   int
	start uint64
}

// ownLabel returns the label that this process uses for a run.
func ownLabel(run uint32) (label, error) {
	pid := os.Getpid()
	start, err := startOf(pid)
	return label{run: run, pid: pid, start: start}, err
}

func (l label) String() string {
	return fmt.Sprintf("fabemu run %08x process %d started %d", l.run, l.pid, l.start)
}

// of returns the label of a part of a run.
func (l label) of(part string) string {
	s := l.String() + ": " + part
	return s[:min(len(s), maxAlias)]
}

// maxAlias is how long the alias of an interface can be (IFALIASZ, less the zero at
// its end).
const maxAlias = 255

// parseLabel reads a label, or the label of a part. It reports false for other texts.
func parseLabel(s string) (label, bool) {
	s, _, _ = strings.Cut(s, ":")
	f := strings.Split(s, " ")
	if len(f) != 7 {
		return label{}, false
	}
	run, err1 := strconv.ParseUint(f[2], 16, 32)
	pid, err2 := strconv.Atoi(f[4])
	start, err3 := strconv.ParseUint(f[6], 10, 64)
	l := label{run: uint32(run), pid: pid, start: start}
	return l, err1 == nil && err2 == nil && err3 == nil && pid > 0 && l.String() == s
}

// lives reports whether the process that wrote the label still runs.
func (l label) lives() bool {
	start, err := startOf(l.pid)
	return err == nil && start == l.start
}

// startOf returns when a process started, in ticks since the machine started: field 22
// of its stat, counted from behind the name, which can hold any character.
func startOf(pid int) (uint64, error) {
	name := fmt.Sprintf("/proc/%d/stat", pid)
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(b[strings.LastIndexByte(string(b), ')')+1:]), " ")
	f := strings.Fields(after)
	if len(f) < 20 || f[0] == "Z" || f[0] == "X" { // a zombie has ended
		return 0, fmt.Errorf("%s: the process has ended, or the file is not understood", name)
	}
	return strconv.ParseUint(f[19], 10, 64)
}
