package guest

import (
	"os/exec"
	"slices"
	"strings"

	"fabemu/emu/base/errs"
	"fabemu/emu/host"
	"fabemu/emu/scenario"
)

// Lack is something that a scenario needs and that is not installed on this machine.
type Lack struct {
	scenario.Error // where the scenario needs it, and the package that has it
	Program        string
	Needed         bool // no run can do without it; otherwise a command may, or may not, reach it
}

// Lacking returns what the guests of a scenario and their programs need and this machine does not
// have, each program once. It looks at what commands call by name: at the first word of each, which
// must be there, and at other words that are known programs.
func Lacking(s *scenario.Scenario) (all []Lack) {
	_, real := s.Guests()
	if real > 0 && host.NeedsLinux("guests") != nil {
		return nil
	}
	add := func(program string, needed bool, e scenario.Error) {
		if !slices.ContainsFunc(all, func(l Lack) bool { return l.Program == program }) {
			all = append(all, Lack{e, program, needed})
		}
	}
	engine := host.UseOf(host.Containers)
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		if e.Guest.Container != "" && engine.NoUse() != "" {
			add(engine.Programs[0], true, scenario.Error{File: s.Name, Path: "endpoints." + e.Name + ".guest.container", Message: engine.NoUse()})
		}
	}
	for _, first := range []bool{true, false} { // what is needed comes first, and once
		seen := map[string]bool{} // a range of guests has one command many times
		for i, x := range s.Programs {
			if seen[x.Run] || !s.Guest(x.On).Kind.Real() {
				continue
			}
			seen[x.Run] = true
			missing := host.MissingIn(x.Run)
			if first {
				missing = missingFirst(x.Run)
			}
			for _, word := range missing {
				add(word, first, s.ProgramError(i, "program %s: %s", x.Name, host.NoCommand(word)))
			}
		}
	}
	return all
}

// missingFirst returns the first word of a command of a shell if it is the name of a command that
// the shell does not find.
func missingFirst(command string) []string {
	words := strings.Fields(command)
	if len(words) == 0 {
		return nil
	}
	word := words[0]
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+") == "" &&
		exec.Command("/bin/sh", "-c", `command -v -- "$1"`, "sh", word).Run() != nil {
		return []string{word}
	}
	return nil
}

// CheckLacking returns a *errs.Mistake where this machine lacks what no run of a scenario can do
// without.
func CheckLacking(s *scenario.Scenario) error {
	var wrong scenario.Errors
	for _, l := range Lacking(s) {
		if l.Needed {
			wrong.List = append(wrong.List, l.Error)
		}
	}
	if wrong.List == nil {
		return nil
	}
	return &errs.Mistake{Err: &wrong}
}
