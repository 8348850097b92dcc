package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What is in the place of a file goes; what it leads to, or shares, stays.
func TestCreateAndReplace(t *testing.T) {
	dir := t.TempDir()
	mine, path := filepath.Join(dir, "mine"), filepath.Join(dir, "x")
	for name, make := range map[string]func() error{
		"nothing":   func() error { return nil },
		"a file":    func() error { return os.WriteFile(path, []byte("old"), 0o666) },
		"a link":    func() error { return os.Symlink(mine, path) },
		"to itself": func() error { return os.Symlink(path, path) },
		"its twin":  func() error { return os.Link(mine, path) },
	} {
		for _, write := range []func() error{
			func() error { return Replace(path, []byte("new")) },
			func() error {
				return Write(path, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err })
			},
		} {
			os.Remove(path)
			if err := errors.Join(os.WriteFile(mine, []byte("mine"), 0o666), make(), write()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for file, want := range map[string]string{mine: "mine", path: "new"} {
				if b, err := os.ReadFile(file); string(b) != want {
					t.Errorf("%s: %s has %q, %v", name, file, b, err)
				}
			}
		}
	}
	if names := list(t, dir); !slices.Equal(names, []string{"mine", "x"}) {
		t.Errorf("there is %q", names)
	}
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o777)); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path); err == nil {
		t.Error("a folder goes")
	}
}

// A file that cannot be written to its end is not there.
func TestWriteThatFails(t *testing.T) {
	dir := t.TempDir()
	full := errors.New("no room")
	if err := Write(filepath.Join(dir, "x"), func(io.Writer) error { return full }); !errors.Is(err, full) || len(list(t, dir)) > 0 {
		t.Errorf("%v; there is %q", err, list(t, dir))
	}
}

// A process that waits for a folder that is then removed does not take the one without a name.
func TestHoldOfAFolderThatIsGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	h, err := Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Release()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := h.exists(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is removed: %v", err)
	}
	again, err := Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Release()
	if err := h.exists(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("another folder in its place: %v", err)
	}
}

// The file that says that the others are whole goes first; without it nothing does.
func TestRetire(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"last", "a", "mine"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	h, err := Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Release()
	for _, x := range []struct{ first, want []string }{
		{[]string{"missing", "a"}, []string{"a", "last", "mine"}},
		{[]string{"last", "a", "b"}, []string{"mine"}},
	} {
		if err := h.Retire(x.first...); err != nil || !slices.Equal(list(t, dir), x.want) {
			t.Errorf("%q: %v; there is %q, want %q", x.first, err, list(t, dir), x.want)
		}
	}
}

// A folder that cannot be made is an error at once, which names the folder it should be in, or the
// link that leads to nothing.
func TestFoldersThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	link, gone := filepath.Join(dir, "link"), filepath.Join(dir, "gone")
	if err := errors.Join(os.Symlink("nowhere", link), os.Mkdir(gone, 0o777)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(gone)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	dangling := link + " is a link to nowhere, which is not there"
	for path, want := range map[string]string{
		"results":                       "nothing can be made in ., or it has been removed",
		"results/a":                     "nothing can be made in ., or it has been removed",
		link:                            dangling,
		filepath.Join(link, "a", "b"):   dangling,
		filepath.Join(dir, "made", "a"): "",
	} {
		if err := MakeAll(path); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
		if h, err := Claim(path); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("claim %s: %v, want %q", path, err, want)
		} else if err == nil {
			h.Release()
		}
	}
	if _, err := os.Stat("/proc/self"); err == nil {
		if err := MakeAll("/proc/fabemu/a"); err == nil || !strings.Contains(err.Error(), "nothing can be made in /proc, or it has been removed") {
			t.Error(err)
		}
	}
}
