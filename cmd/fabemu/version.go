package main

import (
	_ "embed"
	"runtime/debug"
	"strings"
)

// number is the version of the program. It is only in this file: packages, the manual page and the
// wheel take it from here (scripts/release.sh).
//
//go:embed version.txt
var number string

// version returns the version of the program. A binary that go build made in a checkout adds the
// commit, as in "0.1.0+224728dbc0de", and ".changed" if files differ from it: parts of a run must
// be of one program.
func version() string {
	v := strings.TrimSpace(number)
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	changed := ""
	for _, s := range info.Settings { // in alphabetical order
		switch {
		case s.Key == "vcs.revision":
			v += "+" + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = ".changed"
		}
	}
	return v + changed
}
