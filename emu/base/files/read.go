package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
)

// Open opens a file to be read, and nothing else: on a pipe or a device, which may be in the place
// of one, it could wait forever.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file but %v", path, kindOf(info.Mode()))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func kindOf(m os.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&os.ModeNamedPipe != 0:
		return "a pipe"
	case m&os.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// Read reads a file of at most this many bytes.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, fmt.Errorf("%s has %d bytes, and is read up to %d: something else has written it", path, info.Size(), most)
	}
	b := make([]byte, info.Size())
	n, err := io.ReadFull(f, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF { // it has become shorter
		err = nil
	}
	return b[:n], err
}

// Runs returns an error for a path that is not of a program that can be started.
func Runs(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("it is not a file but %v", kindOf(info.Mode()))
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return errors.New("it is not executable: chmod +x makes it so")
	}
	return nil
}
