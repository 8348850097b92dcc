package golden

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files and generated parts of documents")

// File compares got with a file.
func File[T string | []byte](t testing.TB, path string, got T) {
	t.Helper()
	if *update {
		write(t, path, string(got))
	}
	equal(t, path, read(t, path), string(got))
}

// Part compares got with the part of a document between two marks.
func Part(t testing.TB, path, begin, end, got string) {
	t.Helper()
	before, rest, found := strings.Cut(read(t, path), begin)
	old, after, ended := strings.Cut(rest, end)
	switch {
	case !found || !ended:
		t.Errorf("%s has no part from %q to %q", path, begin, end)
	case *update:
		write(t, path, before+begin+got+end+after)
	default:
		equal(t, path, old, got)
	}
}

func equal(t testing.TB, path, want, got string) {
	t.Helper()
	if want != got {
		t.Errorf("%s (-want +got; go test -update rewrites it):\n%s",
			path, cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
