//go:build unix

package files

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What is in the place of a file is refused at once, and so is a file that is longer than it may
// be, of which nothing is read.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(path("pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	os.Mkdir(path("folder"), 0o777)
	os.WriteFile(path("small"), []byte("text"), 0o666)
	os.WriteFile(path("sparse"), nil, 0o666)
	if err := os.Truncate(path("sparse"), 3<<30); err != nil {
		t.Skip("no large files: ", err)
	}
	for name, want := range map[string]string{
		"pipe": "is not a file but a pipe", "folder": "is not a file but a directory", "sparse": "has 3221225472 bytes, and is read up to 100",
		"missing": "no such file", "small": "",
	} {
		b, err := Read(path(name), 100)
		if want == "" && (err != nil || string(b) != "text") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v; want %s", name, b, err, want)
		}
	}
}
