package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fabemu/emu/files"

	"github.com/spf13/cobra"
)

// resultFlags say where the results of a command go.
type resultFlags struct {
	out   string
	force bool
}

func (f *resultFlags) add(c *cobra.Command) {
	c.Flags().StringVarP(&f.out, "out", "o", "", "directory for the results (default: a new one under results/)")
	c.Flags().BoolVar(&f.force, "force", false, "write into --out even if something is there")
}

// begin makes the directory for results, and holds it until end: --out, or where that is
// empty a new one under results/ whose name begins with base. Nothing that is there is
// overwritten, unless --force says so. What a process that was killed has begun of files
// with these names is removed; so are the old files. A directory in which nothing is at the end goes.
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
	// Only who holds it knows that nobody writes there.
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

// notThere says that results cannot be in a place.
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
