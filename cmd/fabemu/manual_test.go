package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"

	"github.com/spf13/cobra"
)

// command runs a command and returns what it prints.
func command(t *testing.T, args ...string) string {
	t.Helper()
	said, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, said)
	}
	return string(said)
}

// Each command has a page with its flags, its examples and its exit statuses, and groff does not
// complain about any.
func TestManual(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	command(t, binary, "man", "--out", dir)
	pages := map[string]string{}
	eachCommand(rootCommand(io.Discard), func(c *cobra.Command) {
		text, err := os.ReadFile(filepath.Join(dir, manualOf(c)+".1"))
		if err != nil {
			t.Error(err)
			return
		}
		page := string(text)
		pages[manualOf(c)] = page
		want := []string{".TH " + roff(strings.ToUpper(manualOf(c))), ".SH DESCRIPTION\n", ".SH EXIT STATUS\n"}
		if c.HasParent() {
			want = append(want, ".SH SEE ALSO\n")
		}
		for _, g := range groupsOf(c) {
			for _, f := range g.flags {
				want = append(want, roff("--"+f.Name))
			}
		}
		for _, want := range want {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %q", manualOf(c), want)
			}
		}
	})
	if got := command(t, binary, "man", "bench", "limiter"); got != pages["fabemu-bench-limiter"] {
		t.Errorf("fabemu man bench limiter differs from the page that --out writes:\n%s", got)
	}
	runtest.NeedTools(t, "groff")
	for name, page := range pages {
		c := exec.Command("groff", "-K", "utf8", "-man", "-ww", "-z")
		c.Stdin = strings.NewReader(page)
		if said, err := c.CombinedOutput(); err != nil || len(said) > 0 {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
	}
}
