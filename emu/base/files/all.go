package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// A File is a file of a folder.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// WriteAll writes files of a folder, as Write does. The first is written last: where it exists, the
// others do too, or it says which do not. The files are in the order of their importance. Where the
// disk has no room for one of them, its earlier version goes, and the others are still written; for
// the first, the others go, the least important first. lost is told of each file that is not there
// in the end, before the first is written. WriteAll returns all errors.
func WriteAll(dir string, all []File, lost func(name string, err error)) error {
	var wrong []error
	lose := func(name string, err error) {
		wrong = append(wrong, err)
		lost(name, err)
	}
	put := func(f *File) error {
		path := filepath.Join(dir, f.Name)
		err := Write(path, f.Write)
		if errors.Is(err, syscall.ENOSPC) && os.Remove(path) == nil {
			err = Write(path, f.Write)
		}
		return err
	}
	var written []string
	for i := range all[1:] {
		f := &all[1+i]
		if err := put(f); err != nil {
			lose(f.Name, err)
			continue
		}
		written = append(written, f.Name)
	}
	for {
		err := put(&all[0])
		if err == nil {
			return errors.Join(wrong...)
		}
		last := len(written) - 1
		if last < 0 || !errors.Is(err, syscall.ENOSPC) || os.Remove(filepath.Join(dir, written[last])) != nil {
			lose(all[0].Name, err)
			return errors.Join(wrong...)
		}
		lose(written[last], err)
		written = written[:last]
	}
}

// Reason returns what is wrong, without the name of the unfinished file.
func Reason(err error) error {
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}
