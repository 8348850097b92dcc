package terminal_test

import (
	"bytes"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"fabemu/emu/base/terminal"
)

// pseudo opens a pseudoterminal.
func pseudo(t *testing.T) *os.File {
	t.Helper()
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudoterminal: ", err)
	}
	t.Cleanup(func() { tty.Close() })
	return tty
}

// Text is as wide as COLUMNS says, else as the terminal is, else 100.
func TestWidth(t *testing.T) {
	tty := pseudo(t)
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 132}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		columns  string
		terminal bool
		want     int
	}{
		{"", true, 132}, {"", false, 100}, {"72", true, 72}, {"72", false, 72}, {"7", true, 40}, {"wide", true, 132}, {"-3", false, 100},
	} {
		t.Setenv("COLUMNS", c.columns)
		var w io.Writer = &bytes.Buffer{}
		if c.terminal {
			w = tty
		}
		if got := terminal.LookOf(w).Columns(); got != c.want {
			t.Errorf("COLUMNS=%q, terminal %v: %d columns, want %d", c.columns, c.terminal, got, c.want)
		}
	}
}

// Colours are for terminals whose user has not said NO_COLOR (no-color.org), and that
// are not dumb.
func TestColors(t *testing.T) {
	tty := pseudo(t)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, and no terminal
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, c := range []struct {
		name, noColor, term string
		want                bool
	}{
		{"a terminal", "", "xterm", true},
		{"NO_COLOR", "1", "xterm", false},
		{"a dumb terminal", "", "dumb", false},
	} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		if got := terminal.Colors(tty); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	if terminal.Colors(file) || terminal.Colors(null) || terminal.Colors(&bytes.Buffer{}) {
		t.Error("a file is coloured")
	}
}
