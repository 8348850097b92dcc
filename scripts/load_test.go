package scripts

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// test.sh first reports how busy the machine is and how long the tests take on an idle one. On a busy machine it
// tests one package at a time.
func TestLoad(t *testing.T) {
	for load, busy := range map[string]bool{"0.5": false, "1000000": true} {
		c := exec.Command("./test.sh", "--load")
		c.Env = append(c.Environ(), "FABEMU_TEST_LOAD="+load)
		b, err := c.CombinedOutput()
		said := string(b)
		if err != nil || !strings.HasPrefix(said, "test: the load is "+load+" on ") || !strings.Contains(said, "idle ones the tests take no more than") {
			t.Errorf("load %s: %v\n%s", load, err, said)
		}
		if strings.Contains(said, "one package at a time") != busy {
			t.Errorf("load %s is busy: %t, want %t\n%s", load, !busy, busy, said)
		}
	}
}

// An argument that the script does not have ends it at once, before it installs anything.
func TestUnknownArgument(t *testing.T) {
	said, err := exec.Command("./test.sh", "--help").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(said), "no argument --help") {
		t.Errorf("%v: %s", err, said)
	}
}

// The table of optional tools in test.sh has each program without which a test is skipped, so that --all installs it, and
// no other.
func TestTableOfTools(t *testing.T) {
	src, err := os.ReadFile("test.sh")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(src), "\ntools='\n")
	table, _, _ = strings.Cut(table, "'\n")
	rows := map[string]bool{}
	for line := range strings.Lines(table) {
		rows[strings.Fields(line)[0]] = false
	}
	// Programs that Debian always has, that come with those of the table, or that may be there instead of one.
	known := strings.Fields("dpkg gzip mount nsenter truncate unshare rpm scontrol slurmctld slurmd srun")
	need := regexp.MustCompile(`(?:NeedTools|needNamespaces|LookPath)\((?:t, )?"[^)]*`)
	name := regexp.MustCompile(`"([^"]*)"`)
	err = filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		for tool := range rows {
			rows[tool] = rows[tool] || bytes.Contains(src, []byte(`"`+tool+`"`))
		}
		for _, call := range need.FindAllString(string(src), -1) {
			for _, m := range name.FindAllStringSubmatch(call, -1) {
				if _, ok := rows[m[1]]; !ok && !slices.Contains(known, m[1]) {
					t.Errorf("%s needs %s, which has no row in the table of test.sh", path, m[1])
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for tool, needed := range rows {
		if !needed {
			t.Errorf("no test needs %s: its row in the table of test.sh can go", tool)
		}
	}
}
