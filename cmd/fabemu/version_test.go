package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The version is a number of Semantic Versioning, and what the program prints begins with it.
func TestVersion(t *testing.T) {
	v := strings.TrimSpace(number)
	if !regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`).MatchString(v) {
		t.Errorf("version.txt has %q", number)
	}
	if got := command(t, binary, "--version"); !strings.HasPrefix(got, "fabemu version "+v) {
		t.Errorf("--version prints %q, want %s", got, v)
	}
}

// This version reads the results, the scenario and the captures of version 0.1.0.
func TestFilesOfEarlierVersions(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/0.1.0")); err != nil {
		t.Fatal(err)
	}
	in := func(args ...string) string {
		t.Helper()
		c := exec.Command(binary, args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	in("report", "run")
	page, err := os.ReadFile(filepath.Join(dir, "run/report.html"))
	if err != nil || !strings.Contains(string(page), "0.1.0") || !strings.Contains(string(page), "the link is full") {
		t.Errorf("the report lacks the version or the check of the run, %v", err)
	}
	in("check", "scenario.yaml")
	in("check", "run/resolved.yaml")
	in("run", "scenario.yaml", "--clock", "virtual", "--out", "again")
	if got := in("compare", "run", "again"); !strings.Contains(got, "19 series are equal") {
		t.Errorf("the scenario runs differently now; explain it in the changelog:\n%s", got)
	}
	for file, packets := range map[string]string{"run/fabric.pcapng": "77 packets", "sockets.pcap": "75 packets"} {
		if got := in("dump", "--check", file); !strings.Contains(got, packets+" ") {
			t.Errorf("%s: %s are wanted:\n%s", file, packets, got[max(0, len(got)-800):])
		}
	}
}

// Files of a newer form are refused with both numbers, and without any other message.
func TestFilesOfNewerVersions(t *testing.T) {
	for _, x := range []struct{ file, from, to, want string }{
		{"run/result.json", `"form": 1`, `"form": 3`, "in form 3, and this version reads forms up to 2"},
		{"scenario.yaml", "language: 1", "language: 2\nweather: rain", "scenario.yaml:1:11: language: the file is in version 2 of the language, and this program reads version 1"},
		{"sockets.pcap", "\x02\xfa\xb1", "\x03\xfa\xb1", "its trailer has version 3, and this program reads version 2"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("testdata/0.1.0")); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, x.file)
		b, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(b), x.from) {
			t.Fatalf("%s has no %q, %v", x.file, x.from, err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(b), x.from, x.to)), 0o666); err != nil {
			t.Fatal(err)
		}
		args := map[string][]string{".json": {"report", filepath.Dir(path)}, ".yaml": {"check", path}, ".pcap": {"dump", "--check", path}}[filepath.Ext(path)]
		out, err := exec.Command(binary, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), x.want) || strings.Contains(string(out), "weather") {
			t.Errorf("%q: %v\n%s\nwant %s", args, err, out, x.want)
		}
	}
}
