package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fabemu/emu"
	"fabemu/emu/base/errs"
	"fabemu/emu/base/files"
	"fabemu/emu/host"
	"fabemu/emu/metrics"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The annotations of a flag that checkFlags reads.
const (
	ofWords  = "words"     // the words that it takes
	goesWith = "goes with" // the flag that it goes with, and why
)

// goWith ties flags of a command to another flag: "pcap" must be given; "clock=wall" must
// have that value; "!replay" must not be given. The reason ends the message.
func goWith(c *cobra.Command, other, reason string, flags ...string) {
	for _, name := range flags {
		c.Flags().SetAnnotation(name, goesWith, []string{other, reason})
	}
}

// checkFlags refuses words that a flag does not take, and flags that go with a flag that is not given.
func checkFlags(c *cobra.Command, _ []string) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		switch words, word := f.Annotations[ofWords], f.Value.String(); {
		case words == nil || err != nil:
		case f.Name != "format":
			err = errs.Unknown(f.Name, word, words...)
		case !slices.Contains(words, word):
			err = fmt.Errorf("--format %s: there are %s", word, strings.Join(words, ", "))
		}
		rule := f.Annotations[goesWith]
		if rule == nil || err != nil {
			return
		}
		other, value, valued := strings.Cut(rule[0], "=")
		name, without := strings.CutPrefix(other, "!")
		of := c.Flags().Lookup(name)
		switch {
		case of == nil:
		case without && of.Changed:
			err = fmt.Errorf("--%s goes without --%s", f.Name, name)
		case valued && of.Value.String() != value:
			err = fmt.Errorf("--%s goes with --%s %s%s", f.Name, name, value, rule[1])
		case !without && !valued && !of.Changed:
			err = fmt.Errorf("--%s goes with --%s", f.Name, name)
		}
	})
	return err
}

// choice adds a flag that takes one of some words: a shell completes them, and others are refused.
func choice[W ~string](c *cobra.Command, to *W, name string, usual W, usage string, all ...W) {
	*to = usual
	c.Flags().Var(word[W]{to}, name, usage)
	var words []string
	for _, w := range all {
		words = append(words, string(w))
	}
	complete(c, name, words...)
	c.Flags().SetAnnotation(name, ofWords, words)
}

// word is the value of a flag whose words are of a type.
type word[W ~string] struct{ of *W }

func (w word[W]) String() string {
	if w.of == nil {
		return ""
	}
	return string(*w.of)
}

func (w word[W]) Set(text string) error { *w.of = W(text); return nil }
func (w word[W]) Type() string          { return "string" }

// complete completes a flag in the shell with words.
func complete(c *cobra.Command, flag string, words ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("fabemu: " + err.Error()) // the flag is not there
	}
}

// formatFlag adds --format with the formats that there are, the default first.
func formatFlag(c *cobra.Command, format *string, formats ...string) {
	choice(c, format, "format", formats[0], "how to print: "+strings.Join(formats, ", "), formats...)
}

// toFile is the usage of --out where a command prints by default.
const toFile = "file to write to (default: standard output)"

// codecFlag adds the flag that sends frames through their bytes on the virtual clock.
func codecFlag(flags *pflag.FlagSet, codec *bool) {
	flags.BoolVar(codec, "codec", false, "virtual clock: send each frame through its bytes, as on the wall clock; without, frames are handed over as values, which is faster and gives the same figures (with --pcap they always go through bytes)")
}

// digestFlag adds the flag that condenses the event log.
func digestFlag(flags *pflag.FlagSet, digest *bool) {
	flags.BoolVar(digest, "digest", false, "virtual clock: condense the event log into 32 digits in the results, which are the same for two runs only if all machines did the same; a wall run has them always")
}

// outFile is the file that a command writes; without a name it writes to standard output.
type outFile struct {
	name  string
	force bool
}

func (f *outFile) add(c *cobra.Command, usage string) {
	c.Flags().StringVarP(&f.name, "out", "o", "", usage)
	c.Flags().BoolVar(&f.force, "force", false, "write over --out if it is there")
}

// write writes the output of a command.
func (f *outFile) write(c *cobra.Command, text []byte) error {
	if f.name == "" {
		c.OutOrStdout().Write(text)
		return nil
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if f.force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(f.name, flags, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return cmp.Or(files.Dangling(f.name), isThere(f.name))
	}
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	_, err = file.Write(text)
	return failed(errors.Join(err, file.Close()))
}

// isThere refuses to write over a file.
func isThere(name string) error {
	return fmt.Errorf("%s is there already; --force writes over it", name)
}

// changes are the changes of a call to scenarios.
type changes struct {
	sets   []string
	short  bool
	source []byte // the scenario, in place of a name's; nil: there is none
}

// add gives a command the flags of changes.
func (x *changes) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&x.sets, "set", nil,
		"change a field of the scenario: PATH=VALUE, such as defaults.link.buffer=8packets (may be repeated)")
	c.Flags().BoolVar(&x.short, "short", false,
		"the short run of the scenario, if it has one: the values of its section short replace the others")
}

// open reads a scenario and changes it; more changes come last.
func (x *changes) open(name string, more ...scenario.Set) (*scenario.Scenario, error) {
	defer host.LateGC()()
	var sets []scenario.Set
	for _, text := range x.sets {
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
	if x.short {
		return emu.OpenShort(name, sets...)
	}
	return emu.Open(name, sets...)
}

// fromText reads a scenario from its text, which has a name in messages.
func fromText(name string, text []byte, sets ...scenario.Set) (*scenario.Scenario, error) {
	s, err := scenario.Load(name, text, sets, scenario.CheckMetrics(metrics.Checker()))
	if err != nil {
		return nil, &emu.Mistake{Err: err}
	}
	return s, nil
}

// resultFlags choose the directory for the results of a command.
type resultFlags struct {
	out   string
	force bool
}

func (f *resultFlags) add(c *cobra.Command) {
	c.Flags().StringVarP(&f.out, "out", "o", "", "directory for the results (default: a new one under results/)")
	c.Flags().BoolVar(&f.force, "force", false, "write into --out even if something is there")
}

// begin makes the directory for results, and holds it until end: --out, or where that is
// empty a new one under results/ whose name begins with base. A directory with files in it is
// refused, unless --force is given. Unfinished files with these names, which a killed process has
// left, are removed; so are the old files. A directory that is empty at the end is removed, too.
func (f *resultFlags) begin(base string, names, old []string) (dir string, end func(), err error) {
	if dir = f.out; dir == "" {
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
	case err == nil && !empty && !f.force:
		err = fmt.Errorf("%s is not empty; choose another --out, or --force to write into it", dir)
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
