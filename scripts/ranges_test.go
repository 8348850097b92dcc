package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
)

// ranges.py says of a range whether it was committed before the first result of its claim, did not
// change since, or came later.
func TestRangesFromGit(t *testing.T) {
	runtest.NeedTools(t, "git", "python3")
	dir := t.TempDir()
	script, err := filepath.Abs("ranges.py")
	if err != nil {
		t.Fatal(err)
	}
	do := func(name string, args ...string) {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	commit := func(files ...string) {
		t.Helper()
		for i := 0; i < len(files); i += 2 {
			path := filepath.Join(dir, files[i])
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(files[i+1]), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		do("git", "add", "-A")
		do("git", "commit", "-qm", "x")
	}
	page := func(widened string) string {
		return "| **A-1** first (section 1) | 88 to 92 % | 90 % | – | PASS |\n| **A-2** second (ours) | " + widened + " | 5 | 0 | PASS |\n" +
			"| **A-3** third (ours) | at least 7† | 9 | 0 | PASS |\n| **A-4/x, A-4/y** fourth (ours) | 0 to 3 ms | 1 ms | 0 | PASS |\n"
	}
	const words, claims = "emu/study/papers/words/hpcc.yaml", "- {id: A-1, low: 0.88, high: 0.92}\n- {id: A-2, low: 4, high: 6}\n- {id: 'A-4/{item}', low: 0, high: 0.003}\n"
	do("git", "init", "-q")
	commit(words, claims)
	commit(words, claims+"- {id: A-3, low: 7}\n", "docs/papers/hpcc.md", page("4 to 6"))
	commit("docs/papers/hpcc.md", page("3 to 6"))
	do("python3", script)
	b, err := os.ReadFile(filepath.Join(dir, "emu/study/papers/words/ranges.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"hpcc,A-1,88 to 92 %,before,", "hpcc,A-2,3 to 6,after,", "hpcc,A-3,at least 7,unproved,", "hpcc,A-4/x,0 to 3 ms,before,", "hpcc,A-4/y,0 to 3 ms,before,"} {
		if !strings.Contains(string(b), "\n"+want) {
			t.Errorf("%q is missing in\n%s", want, b)
		}
	}
}
