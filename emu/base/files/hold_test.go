//go:build unix

package files

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A process that writes a file is killed with kill -9. While it lives no other process gets
// the lock of the directory; afterwards the files it has begun are removed, and nothing else.
func TestWhatAKilledWriterLeaves(t *testing.T) {
	const variable = "FABEMU_TEST_DIRECTORY"
	if dir := os.Getenv(variable); dir != "" {
		if _, err := TakeHold(dir); err != nil {
			t.Fatal(err)
		}
		t.Fatal(Write(filepath.Join(dir, "result.json"), func(w io.Writer) error {
			os.Stdout.WriteString("begun\n")
			time.Sleep(time.Hour)
			return nil
		}))
	}
	dir := t.TempDir()
	others := []string{".result.json-", ".result.json-1a", ".result.json-mine", ".notes.txt-12", "result.json-12", ".series.csv-7"}
	for _, name := range others[:5] {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, others[5]), 0o777); err != nil {
		t.Fatal(err)
	}

	writer := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	writer.Env = append(os.Environ(), variable+"="+dir)
	said, err := writer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "begun\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if h, err := TakeHold(dir); !errors.Is(err, ErrHeld) {
		t.Errorf("while another process writes: %v, %v", h, err)
	}
	if err := writer.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = writer.Wait()
	if n := len(list(t, dir)); n != len(others)+1 {
		t.Fatalf("the writer has left nothing: %q", list(t, dir))
	}

	h, err := TakeHold(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Release()
	if err := h.Tidy("result.json", "series.csv"); err != nil {
		t.Error(err)
	}
	slices.Sort(others)
	if got := list(t, dir); !slices.Equal(got, others) {
		t.Errorf("there is %q, want %q", got, others)
	}
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
