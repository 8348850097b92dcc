package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// choice adds a flag that takes one of some words, which a shell completes.
func choice[W ~string](c *cobra.Command, to *W, name string, usual W, usage string, all ...W) {
	*to = usual
	c.Flags().Var(word[W]{to}, name, usage)
	var words []string
	for _, w := range all {
		words = append(words, string(w))
	}
	complete(c, name, words...)
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

// complete has the shell complete a flag with words.
func complete(c *cobra.Command, flag string, words ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("fabemu: " + err.Error()) // the flag is not there
	}
}

// formatFlag adds --format with the formats that there are, the default first.
func formatFlag(c *cobra.Command, format *string, formats ...string) {
	choice(c, format, "format", formats[0], "how to print: "+strings.Join(formats, ", "), formats...)
	c.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(formats, *format) {
			return fmt.Errorf("--format %s: there are %s", *format, strings.Join(formats, ", "))
		}
		return nil
	}
}

// codecFlag adds the flag that has frames go through their bytes on the virtual clock.
func codecFlag(flags *pflag.FlagSet, codec *bool) {
	flags.BoolVar(codec, "codec", false, "virtual clock: have each frame go through its bytes, as on the wall clock; without, frames are handed over as values, which is faster and gives the same figures (with --pcap they always go through bytes)")
}

// digestFlag adds the flag that has the event log condensed.
func digestFlag(flags *pflag.FlagSet, digest *bool) {
	flags.BoolVar(digest, "digest", false, "virtual clock: condense the event log into 32 digits in the results, which are the same for two runs only if all machines did the same; a wall run has them always")
}

// outFile is the file that a command writes, where one is wanted.
type outFile struct {
	name  string
	force bool
}

func (f *outFile) add(c *cobra.Command) {
	c.Flags().StringVarP(&f.name, "out", "o", "", "file to write to (default: standard output)")
	c.Flags().BoolVar(&f.force, "force", false, "write over --out if it is there")
}

// write writes what a command makes to the file, or where that has no name to standard output.
func (f *outFile) write(c *cobra.Command, text []byte) error {
	if f.name == "" {
		_, err := c.OutOrStdout().Write(text)
		return writing(err)
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if f.force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(f.name, flags, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return isThere(f.name)
	}
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	_, err = file.Write(text)
	return writing(errors.Join(err, file.Close()))
}

// isThere refuses to write over a file.
func isThere(name string) error {
	return fmt.Errorf("%s is there already; --force writes over it", name)
}
