package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestWriteAll writes four files, the last of which is long, to a folder with little room and with
// earlier versions of two: what is most important is there, and the first knows what is not.
func TestWriteAll(t *testing.T) {
	for _, c := range []struct {
		room int
		want []string // that are there in the end
		lost []string
	}{
		{10_000, []string{"a", "b", "c", "d"}, nil},
		{4_000, []string{"a", "b", "c"}, []string{"d"}},
		{3_000, []string{"a", "b", "c"}, []string{"d"}},
		{2_900, []string{"a", "b"}, []string{"d", "c"}},
		{1_900, []string{"a"}, []string{"c", "d", "b"}},
		{1_000, []string{"a"}, []string{"b", "c", "d"}},
		{500, nil, []string{"b", "c", "d", "a"}},
	} {
		dir := t.TempDir()
		used := func() (n int64) {
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				if info, err := e.Info(); err == nil && !strings.HasPrefix(e.Name(), ".") {
					n += info.Size()
				}
			}
			return n
		}
		var lost []string
		seen := 0 // of lost, when a was written
		var all []File
		for i, name := range []string{"a", "b", "c", "d"} {
			size := []int{1000, 1000, 1000, 5000}[i]
			all = append(all, File{name, func(w io.Writer) error {
				if name == "a" {
					seen = len(lost)
				}
				if used()+int64(size) > int64(c.room) {
					return syscall.ENOSPC
				}
				_, err := w.Write(make([]byte, size))
				return err
			}})
		}
		for _, old := range []string{"b", "d"} {
			if err := os.WriteFile(filepath.Join(dir, old), make([]byte, 100), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		err := WriteAll(dir, all, func(name string, _ error) { lost = append(lost, name) })
		var there []string
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if info, _ := e.Info(); info.Size() != 100 {
				there = append(there, e.Name())
			}
		}
		if !slices.Equal(there, c.want) || !slices.Equal(lost, c.lost) || (err == nil) != (c.lost == nil) || len(there) > 0 && seen != len(lost) {
			t.Errorf("room for %d: %v are there, want %v; %v are lost, want %v (%d of them known to a); %v", c.room, there, c.want, lost, c.lost, seen, err)
		}
		if err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("room for %d: %v", c.room, err)
		}
		if len(entries) != len(there) {
			t.Errorf("room for %d: an earlier version stays", c.room)
		}
	}
}
