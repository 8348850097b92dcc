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

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/host"
)

// test.sh first reports how busy the machine is and how long the tests take on an idle one. On a
// busy machine it tests one package at a time.
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

// Benchmarks refuse what cannot be before they build anything.
func TestBenchOptions(t *testing.T) {
	t.Attr("depends-on", "privileges")
	runtest.NeedTools(t, "python3")
	for _, x := range []struct{ args, want string }{
		{"bench.py -n 0", "-n takes a number from 1, not 0"},
		{"bench.py fig4 HEAD", "fig4 compares no revisions"},
		{"bench.py wrie", "wrie is no revision, and no group: wire, virtual, "},
		{"bench.py loops HEAD HEAD HEAD", "at most two revisions are compared, not 3"},
		{"bench.py pacing", "pacing wants root: "},
		{"lab/wall.py wall --load x", "--load is a number of busy shells, not x"},
		{"lab/wall.py processes --load", "argument --load: expected one argument"},
		{"lab/wall.py repeats --cpus 0.0", "--cpus is a number of processors above 0, such as 0.5, not 0.0"},
		{"lab/wall.py --cpus half wall", "--cpus is a number of processors above 0, such as 0.5, not half"},
		{"lab/wall.py wall --doc load_test.go", "load_test.go has no lines <!-- wall --> and <!-- end of wall -->"},
		{"lab/wall.py wall --cpus 0.5", "--cpus needs root: it makes a control group"},
	} {
		if strings.Contains(x.want, "root") && os.Getuid() == 0 {
			continue // root may
		}
		said, err := exec.Command("python3", strings.Fields(x.args)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(said), x.want) {
			t.Errorf("%s: %v: %s, want %q", x.args, err, said, x.want)
		}
	}
}

// The table of optional tools, test/tools.txt, has each program without which a test is skipped, so
// that --all installs it, and no other. Their packages are those that users are told.
func TestTableOfTools(t *testing.T) {
	table, err := os.ReadFile("test/tools.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows, packages := map[string]bool{}, map[string][]string{}
	for line := range strings.Lines(string(table)) {
		columns := strings.Fields(line)
		rows[columns[0]] = false
		packages[columns[0]] = strings.Split(columns[1], ",")
	}
	// Programs that Debian always has, that come with those of the table, or that may be there
	// instead of one.
	known := strings.Fields("bash xargs flock git docker podman dpkg gzip mount nsenter truncate unshare rpm scontrol slurmctld slurmd srun ibnetdiscover ibtracert sminfo ibportstate ibqueryerrors ibccconfig ibccquery smpquery dump_fts ibsim")
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
					t.Errorf("%s needs %s, which has no row in scripts/test/tools.txt", path, m[1])
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for tool, needed := range rows {
		if p := host.Package(tool); p != "" && !slices.Contains(packages[tool], p) {
			t.Errorf("scripts/test/tools.txt has %s in the packages %q, and package host in %s", tool, packages[tool], p)
		}
		if !needed {
			t.Errorf("no test needs %s: its row in scripts/test/tools.txt can go", tool)
		}
	}
}
