package process

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fabemu/emu/run/lookahead"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// What one process writes into the memory of a run, all others read, and no process can shrink it.
func TestMemoryIsShared(t *testing.T) {
	const words = 5000
	m, err := newMemory(words)
	if err != nil {
		t.Fatal(err)
	}
	path := m.path()
	other, err := openMemory(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(other) < words || len(m.words) != len(other) {
		t.Errorf("%d words and %d, of %d", len(m.words), len(other), words)
	}
	atomic.StoreUint64(&m.words[words-1], 7)
	if got := atomic.LoadUint64(&other[words-1]); got != 7 {
		t.Errorf("7 is written, and %d read", got)
	}
	for _, size := range []int64{0, 8, 1 << 20} {
		if err := unix.Ftruncate(int(m.file.Fd()), size); err == nil {
			t.Errorf("it can be made %d bytes long", size)
		}
	}
	m.close()
	if got := atomic.LoadUint64(&other[words-1]); got != 7 {
		t.Errorf("the run has ended, and a part reads %d", got)
	}
	if _, err := openMemory(path); err == nil {
		t.Error("the run has ended, and others find its memory")
	}
}

// A file that is not the memory of a run is an error that names it.
func TestMemoryThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	unsealed, err := unix.MemfdCreate("unsealed", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	memfd := os.NewFile(uintptr(unsealed), "unsealed")
	defer memfd.Close()
	for path, want := range map[string]string{
		"":                            "no such file",
		file + "x":                    "no such file",
		file:                          "is not the memory of a run",
		t.TempDir():                   "is a directory",
		"/proc/self/fd/1000000":       "no such file",
		(&memory{file: memfd}).path(): "is not the memory of a run",
	} {
		if words, err := openMemory(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d words, %v; want %q", path, len(words), err, want)
		}
	}
	if m, err := newMemory(1 << 60); err == nil || !strings.Contains(err.Error(), "bytes of memory to share") {
		t.Errorf("%v, %v", m, err)
	}
}

// A part that sleeps wakes when its bell rings, at once if it rang before, or when its time is
// over.
func TestFutexBell(t *testing.T) {
	f := lookahead.Fabric{
		Wires: [][2]port.End{{{Node: 0}, {Node: 1}}}, Least: []unit.Duration{10, 10}, Passing: []unit.Duration{5, 5},
	}
	m, err := newMemory(lookahead.BoardWords(2, 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	theirs, err := openMemory(m.path())
	if err != nil {
		t.Fatal(err)
	}
	rank := []int{0, 1}
	lookahead.Lay(f, []int{0, 1}, rank, 7, m.words)
	var bells [2]lookahead.Waker
	for part, words := range [][]uint64{m.words, theirs} {
		b, err := lookahead.NewBoard(f, rank, 7, part, words)
		if err != nil {
			t.Fatal(err)
		}
		bells[part] = newFutexBell(b)
	}
	const long = int64(time.Hour)
	bells[0].Clear()
	if bells[0].Sleep(0) || bells[0].Sleep(-5) || bells[0].Sleep(1000) {
		t.Error("it was not woken")
	}
	bells[1].Ring(0)
	bells[1].Ring(0)
	for range 2 {
		if !bells[0].Sleep(long) {
			t.Error("it has rung, and was not cleared")
		}
	}
	bells[0].Clear()
	woken := make(chan struct{})
	const rounds = 200
	go func() {
		for range rounds {
			begin := time.Now()
			for !bells[0].Sleep(long) && time.Since(begin) < time.Minute { // a signal ends a sleep
			}
			bells[0].Clear()
			woken <- struct{}{}
		}
	}()
	for n := range rounds {
		bells[1].Ring(0)
		select {
		case <-woken:
		case <-time.After(time.Minute / 2):
			t.Fatalf("round %d: it sleeps", n)
		}
	}
}
