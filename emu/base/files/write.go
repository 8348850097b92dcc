package files

import (
	"bufio"
	"cmp"
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
func Write(path string, write func(io.Writer) error) error {
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
		err = os.Rename(f.Name(), path)
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

// Create makes an empty file instead of an existing one. It removes a link, and not the file that
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

// Replace writes a file instead of an existing one, as Create does.
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
	if parent := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && parent != dir {
		if err := MakeAll(parent); err != nil {
			return err
		}
		if err = os.Mkdir(dir, 0o777); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("nothing can be made in %s, or it has been removed: %w", parent, err)
		}
	}
	if err == nil {
		return syncFolder(filepath.Dir(dir))
	}
	if info, e := os.Stat(dir); e == nil && info.IsDir() {
		return nil
	}
	return cmp.Or(Dangling(dir), err)
}

// Dangling returns an error if a path is a link that leads to nothing; the error names both.
func Dangling(path string) error {
	target, err := os.Readlink(path)
	if err != nil {
		return nil
	}
	if _, err = os.Stat(path); err == nil {
		return nil
	}
	return fmt.Errorf("%s is a link to %s, which is not there: make that first, or remove the link", path, target)
}

func inTheWay(path, wanted string) error {
	return fmt.Errorf("%s is in the way: it should be %s", path, wanted)
}
