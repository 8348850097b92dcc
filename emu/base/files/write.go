package files

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Write writes a file that appears whole or not at all: it is written under another
// name, and takes its place when it is on the disk. When Write returns, the name is on
// the disk, too.
func Write(path string, write func(io.Writer) error) error { return place(path, write, os.Rename) }

// WriteNew is Write of a file that must not exist yet: the error is fs.ErrExist if it does. If
// several processes write at a time, from other computers too, one succeeds;
// all do where the file system has no hard links.
func WriteNew(path string, write func(io.Writer) error) error {
	return place(path, write, func(from, to string) error {
		err := os.Link(from, to)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			if _, there := os.Lstat(to); errors.Is(there, fs.ErrNotExist) {
				return os.Rename(from, to)
			}
		}
		return errors.Join(err, os.Remove(from))
	})
}

// place writes a file under another name, and has it moved to its own.
func place(path string, write func(io.Writer) error, move func(from, to string) error) error {
	f, err := begin(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = move(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// begin makes the file that will take the place of path; Begun finds its name.
func begin(path string) (*os.File, error) {
	dir, name := filepath.Split(path)
	for {
		f, err := os.OpenFile(fmt.Sprintf("%s.%s-%d", dir, name, rand.Uint32()),
			os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// Create makes an empty file in place of an existing one. It removes a link, and not the file that
// the link points to.
func Create(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.IsDir() {
			return nil, inTheWay(path, "a file")
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// Replace writes a file in place of an existing one, as Create does.
func Replace(path string, b []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// MakeFolder makes a folder within one that was claimed, unless it is there. A link to
// one elsewhere is refused.
func MakeFolder(path string) error {
	err := os.Mkdir(path, 0o777)
	switch {
	case err == nil:
		return syncFolder(filepath.Dir(path))
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		err = inTheWay(path, "a directory")
	}
	return err
}

// MakeAll makes a folder and those that it is in, unless they are there.
func MakeAll(dir string) error {
	err := os.Mkdir(dir, 0o777)
	switch {
	case err == nil:
		return syncFolder(filepath.Dir(dir))
	case errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir:
		if err := MakeAll(filepath.Dir(dir)); err != nil {
			return err
		}
		return MakeAll(dir)
	}
	if info, e := os.Stat(dir); e == nil && info.IsDir() {
		return nil
	}
	return err
}

func inTheWay(path, wanted string) error {
	return fmt.Errorf("%s is in the way: it is to be %s", path, wanted)
}
