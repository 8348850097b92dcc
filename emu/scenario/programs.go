package scenario

import (
	"fmt"
	"strings"

	"fabemu/wire/unit"
)

// Program is a command that is run in a guest, from an instant on.
type Program struct {
	// Name for checks and output files. With a range of guests, "-GUEST" is appended.
	Name string        `key:"name" form:"name" own:"true" computed:"the guest's name and a number, h1-1"`
	At   unit.Duration `key:"at" def:"0s" also:"start" doc:"Start in model time, within the run."`
	// Guest, or a range: one program in each.
	On string `key:"on" form:"names" need:"given" values:"a guest or a range such as h[1-8]" also:"guest|host"`
	// Shell command (sh -c), ended with the run. /etc/hosts has the guests' names, $FABEMU_GUEST
	// its own. For interfaces and virtual machines it runs on this machine. netstack has one
	// command, send GUEST [SIZE], such as send h2 4MB.
	Run string `key:"run" form:"command" need:"given" also:"command|cmd|exec"`
}

// GuestKindOf returns the kind of guest that a node is; empty: none.
func (r *Site) GuestKindOf(name string) GuestKind {
	if e := r.EndpointOf(name); e != nil {
		return e.Guest.Kind
	}
	return ""
}

// ProgramError returns a mistake in the command of program i of s. It has the place of the command
// if s is from a file.
func (s *Scenario) ProgramError(i int, format string, args ...any) Error {
	e := Error{File: s.Name}
	if s.loaded != nil && i < len(s.loaded.Programs) {
		e = s.loaded.Programs[i]
	}
	e.Message = fmt.Sprintf(format, args...)
	return e
}

// Sending is the command of a program in a guest of kind netstack.
type Sending struct {
	To   string    // a guest
	Size unit.Size // 0: as much as there is time for
}

// ReadSending reads a command such as "send h2 4MB".
func ReadSending(run string) (s Sending, err error) {
	words := strings.Fields(run)
	if len(words) < 2 || len(words) > 3 || words[0] != "send" {
		return s, fmt.Errorf("%q is not its command: it runs send GUEST SIZE, such as send h2 4MB, or send h2", run)
	}
	s.To = words[1]
	if len(words) == 2 {
		return s, nil
	}
	if s.Size, err = unit.ParseSize(words[2]); err == nil && s.Size <= 0 {
		err = fmt.Errorf("it would send %v: give at least a byte, or no size to send until the run ends", s.Size)
	}
	return s, err
}

// ProgramMetric is a metric of a program: "client.status", its exit status, or
// "client.json.end.sum_received.bits_per_second", a number in its output. The output is JSON; the
// path has keys and places in lists, with dots between them.
type ProgramMetric struct {
	Program int      // in Scenario.Programs
	Path    []string // nil: the exit status
}

// ProgramMetric reads a metric, and reports whether it is one of a program of s.
func (s *Scenario) ProgramMetric(metric string) (m ProgramMetric, ok bool) {
	name, path, ok := ReadProgramMetric(metric)
	for i := range s.Programs {
		if ok && s.Programs[i].Name == name {
			return ProgramMetric{i, path}, true
		}
	}
	return ProgramMetric{}, false
}

// ReadProgramMetric returns the name of the program and the path of a metric (ProgramMetric), and
// whether it has the form of one.
func ReadProgramMetric(metric string) (program string, path []string, ok bool) {
	program, rest, _ := strings.Cut(strings.TrimSpace(metric), ".")
	if rest == "status" {
		return program, nil, true
	}
	if json, of := strings.CutPrefix(rest, "json."); of && json != "" {
		return program, strings.Split(json, "."), true
	}
	return "", nil, false
}
