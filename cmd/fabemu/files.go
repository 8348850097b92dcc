package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fabemu/emu"
	"fabemu/emu/base/files"
	"fabemu/emu/host"
	"fabemu/emu/metrics"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/lint"
	"fabemu/emu/scenario/resolve"

	"github.com/spf13/cobra"
)

// outFile is the file that a command writes; without a name it writes to standard output.
type outFile struct {
	// Write to this file (default: standard output).
	Name string `flag:"out,o" group:"Output" arg:"FILE"`
	// Overwrite the file if it exists.
	Force bool `flag:"force"`
}

// commonFlags are the flags of commands that need few.
type commonFlags struct {
	// Output format.
	Format string `flag:"format" group:"Output"`
	// Print JSON.
	JSON bool `flag:"json"`
	// Print the whole description, the source, and how long the short run takes.
	Long bool `flag:"long"`
	// Overwrite existing files.
	Force bool `flag:"force"`
	// List them, and remove nothing.
	List bool `flag:"list"`
	// Write the pages of all commands into this directory.
	Into string `flag:"out,o" arg:"DIR"`
	// Continue until the run is over.
	Follow bool `flag:"follow"`
	// Also try the dilation of the scenario on this machine, for some seconds, and warn if it is
	// not sustained.
	Computer bool `flag:"computer"`
	// A cycle of buffers is a mistake.
	Strict bool `flag:"strict"`
	// ID of the run, if several have a guest of that name.
	Run string `flag:"run" arg:"ID"`
	// File descriptor of the socket of the run that has started this.
	Control int `flag:"control-fd" arg:"N" low:"0" high:"1000000"`
}

// formats adds --format with the formats of a command, the default first.
func (f *commonFlags) formats(c *cobra.Command, formats ...string) {
	add(c, f, "format")
	usual(c, "format", formats[0], formats...)
}

// write writes the output of a command.
func (f *outFile) write(c *cobra.Command, text []byte) error {
	if f.Name == "" {
		c.OutOrStdout().Write(text)
		return nil
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if f.Force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(f.Name, flags, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return cmp.Or(files.Dangling(f.Name), isThere(f.Name))
	}
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	_, err = file.Write(text)
	return failed(errors.Join(err, file.Close()))
}

// isThere refuses to write over a file.
func isThere(name string) error {
	return fmt.Errorf("%s exists; --force overwrites it", name)
}

// changes are the changes of a call to scenarios.
type changes struct {
	// Change a field of the scenario, such as defaults.link.buffer=8packets (repeatable).
	Sets []string `flag:"set" group:"Scenario" arg:"PATH=VALUE" each:"true"`
	// Use the short run of the scenario, if it has a section short.
	Short  bool   `flag:"short"`
	source []byte // the scenario, instead of a name's; nil: there is none
}

// open reads a scenario and changes it; more changes come last.
func (x *changes) open(name string, more ...scenario.Set) (*scenario.Scenario, error) {
	defer host.LateGC()()
	var sets []scenario.Set
	for _, text := range x.Sets {
		s, err := scenario.ParseSet(text)
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	sets = append(sets, more...)
	if x.source != nil {
		return fromText(name, x.source, sets...)
	}
	if x.Short {
		return emu.OpenShort(name, sets...)
	}
	return emu.Open(name, sets...)
}

// fromText reads a scenario from its text, which has a name in messages.
func fromText(name string, text []byte, sets ...scenario.Set) (*scenario.Scenario, error) {
	s, err := resolve.Load(name, text, sets, resolve.CheckMetrics(metrics.Checker()), resolve.Lint(lint.Check))
	if err != nil {
		return nil, &emu.Mistake{Err: err}
	}
	return s, nil
}

// resultFlags choose the directory for the results of a command.
type resultFlags struct {
	// Directory for the results (default: a new one under results/).
	Out string `flag:"out,o" group:"Results" arg:"DIR"`
	// Write into the directory even if it is not empty.
	Force bool `flag:"force"`
}

// begin makes the directory for results, and holds it until end: --out, or where that is
// empty a new one under results/ whose name begins with base. A directory with files in it is
// refused, unless --force is given. Unfinished files with these names, which a killed process has
// left, are removed; so are the old files. A directory that is empty at the end is removed, too.
func (f *resultFlags) begin(base string, names, old []string) (dir string, end func(), err error) {
	if dir = f.Out; dir == "" {
		if dir, err = newDirectory(base); err != nil {
			return "", nil, notThere("results", err)
		}
	}
	hold, err := files.Claim(dir)
	if err != nil {
		return "", nil, notThere(dir, err)
	}
	// While it is held, no other process writes there.
	empty, err := hold.Empty()
	switch {
	case err == nil && !empty && !f.Force:
		err = fmt.Errorf("%s is not empty; choose another --out, or pass --force to write into it", dir)
	case err == nil:
		err = hold.Tidy(names...)
	}
	if err == nil {
		err = failed(hold.Retire(old...))
	}
	if err != nil {
		hold.Release()
		return "", nil, err
	}
	return dir, func() {
		os.Remove(dir) // it stays if something is in it
		hold.Release()
	}, nil
}

// notThere reports that results cannot be in a place.
func notThere(place string, err error) error {
	return fmt.Errorf("%s: %w; choose another place with --out", place, err)
}

// newDirectory makes a directory under results/ that was not there before.
func newDirectory(base string) (string, error) {
	if err := files.MakeAll("results"); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		dir := filepath.Join("results", fmt.Sprintf("%s-%d", base, n))
		if err := os.Mkdir(dir, 0o777); !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
}

// completeScenarios completes in the shell the scenarios that come with the
// program, each with its description, and then files.
func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, e := range builtin.List() {
		names = append(names, cobra.CompletionWithDesc(e.Name, e.Description))
	}
	return names, cobra.ShellCompDirectiveDefault
}

// completeScenario is completeScenarios where one scenario is wanted.
func completeScenario(c *cobra.Command, taken []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(taken) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeScenarios(c, taken, word)
}
