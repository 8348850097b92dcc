package report

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestBlocks: contents come back, whatever the blocks; one that is missing, exchanged for another
// or given twice is found.
func TestBlocks(t *testing.T) {
	var b bytes.Buffer
	w := &blockWriter{w: &b}
	ends := []int{len(magicLine)}
	contents := []string{"first", strings.Repeat("long", mostBlock/3), "third", "fourth"}
	for _, block := range contents {
		if n, err := w.Write([]byte(block)); err != nil || n != len(block) {
			t.Fatal(n, err)
		}
		ends = append(ends, b.Len())
	}
	read := func(blocks ...int) (string, error) {
		var text []byte
		for _, n := range blocks {
			text = append(text, b.Bytes()[ends[n]:ends[n+1]]...)
		}
		got, err := io.ReadAll(&blockReader{r: bytes.NewReader(text), sum: crc32.Checksum([]byte(magicLine), castagnoli)})
		return string(got), err
	}
	if got, err := read(0, 1, 2, 3); err != nil || got != strings.Join(contents, "") {
		t.Errorf("%d bytes come back: %v", len(got), err)
	}
	for what, blocks := range map[string][]int{"missing": {0, 2, 3}, "exchanged": {0, 1, 3, 2}, "twice": {0, 1, 1}, "the first is missing": {1, 2, 3}} {
		got, err := read(blocks...)
		if right := slices.Equal(blocks[:2], []int{0, 1}); !errors.Is(err, errDamaged) || !strings.HasPrefix(strings.Join(contents, ""), got) || right != (len(got) > 5) {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
	}
	if _, err := (&blockWriter{w: full{}}).Write([]byte("x")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("an error of the file is lost: %v", err)
	}
}

// full is a file on a disk that is full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
