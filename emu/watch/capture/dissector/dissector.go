package dissector

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"fabemu/emu/base/files"
)

// Script is the add-on, in Lua.
//
//go:embed fabemu.lua
var Script string

//go:embed colorfilters
var colors string

//go:embed preferences
var preferences string

// A File is a part of the add-on and where it goes.
type File struct {
	Path string
	Text string
	mark string // how a file begins that this program wrote
}

// Files returns the files that are installed for a user with the given home and configuration
// folders (os.UserHomeDir, os.UserConfigDir): the script among Wireshark's plugins
// for every version, colours and preferences in a separate profile, which
// "wireshark -C fabemu" chooses.
func Files(home, config string) []File {
	profile := filepath.Join(config, "wireshark", "profiles", "fabemu")
	return []File{
		{filepath.Join(home, ".local", "lib", "wireshark", "plugins", "fabemu.lua"), Script, "-- fabemu:"},
		{filepath.Join(profile, "colorfilters"), colors, "# fabemu:"},
		{filepath.Join(profile, "preferences"), preferences, "# fabemu:"},
	}
}

// Install writes files. An existing one that this program did not write, or
// that has been changed since, is kept unless force is true:
// then nothing is written at all, and the error names all such files.
func Install(files []File, force bool) error {
	var taken []error
	for _, f := range files {
		there, err := os.ReadFile(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			taken = append(taken, err)
		case !force && !bytes.HasPrefix(there, []byte(f.mark)):
			taken = append(taken,
				fmt.Errorf("%s is there and is not fabemu's: move it away, or overwrite it with --force", f.Path))
		}
	}
	if err := errors.Join(taken...); err != nil {
		return err
	}
	for _, f := range files {
		if err := write(f); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file, whole or not at all.
func write(f File) error {
	if err := files.MakeAll(filepath.Dir(f.Path)); err != nil {
		return err
	}
	return files.Write(f.Path, func(w io.Writer) error { _, err := io.WriteString(w, f.Text); return err })
}
