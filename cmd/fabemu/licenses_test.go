package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"fabemu/emu/emutest/golden"
)

// What fabemu licenses prints has the license of each module that is in a binary of a
// release, of Go itself, and of what the live page is made of.
func TestLicenses(t *testing.T) {
	dirs := map[string]string{"Go, https://go.dev": strings.TrimSpace(command(t, "go", "env", "GOROOT"))}
	for _, system := range []string{"linux", "darwin", "windows"} {
		c := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", ".")
		c.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		list, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(list)) {
			if module, dir, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				dirs[module] = dir
			}
		}
	}
	holders := map[string][]string{} // of each text
	for module, dir := range dirs {
		texts := 0
		for _, pattern := range []string{"LICENSE*", "NOTICE*", "PATENTS", "licenses/ftl.txt"} { // of FreeType's two licenses this is ours
			paths, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range paths {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				text := tidy(b)
				holders[text] = append(holders[text], module)
				texts++
			}
		}
		if texts == 0 {
			t.Errorf("%s has no license", module)
		}
	}
	plot, err := os.ReadFile("../../emu/watch/live/page/LICENSE.uPlot") // no module: its files are in the tree
	if err != nil {
		t.Fatal(err)
	}
	holders[tidy(plot)] = append(holders[tidy(plot)], "uPlot, https://github.com/leeoniya/uPlot")
	notice, err := os.ReadFile("../../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for text, modules := range holders {
		slices.Sort(modules)
		parts = append(parts, fmt.Sprintf("%s\n%s\n\n%s", strings.Repeat("=", 80), strings.Join(slices.Compact(modules), "\n"), text))
	}
	slices.Sort(parts)
	want := string(notice) + "\n" + strings.Join(parts, "\n")
	golden.File(t, "licenses.txt", want)
	got := command(t, binary, "licenses")
	if got != want && !t.Failed() {
		t.Error("fabemu licenses does not print licenses.txt")
	}
	for _, name := range []string{"Creative Commons Attribution 4.0", "The FreeType Project LICENSE", "SIL OPEN FONT LICENSE", "Anthony Starks", "Leon Sorokin"} {
		if !strings.Contains(got, name) {
			t.Errorf("they lack %q", name)
		}
	}
}

// tidy returns a text in UTF-8 without blanks at the ends of lines and around it.
func tidy(b []byte) string {
	if !utf8.Valid(b) { // Latin-1
		runes := make([]rune, len(b))
		for i, c := range b {
			runes[i] = rune(c)
		}
		b = []byte(string(runes))
	}
	var out strings.Builder
	for lines := bufio.NewScanner(bytes.NewReader(bytes.Trim(b, "\r\n"))); lines.Scan(); {
		out.WriteString(strings.TrimRight(lines.Text(), " \t\f\r") + "\n")
	}
	return out.String()
}
