package resolve_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/scenario/resolve"
)

// A file with a distribution may have steps, and shares instead of per cents, which a warning
// notes.
func TestFilesWithSizes(t *testing.T) {
	const text = `name: files
model: {duration: 10ms}
defaults: {link: {rate: 10Gb/s, flow-control: pfc}, switch: {kind: output-queued}}
switches: {S: {}}
endpoints: ["h[1-4]"]
links: ["h[1-4] - S"]
workload: [{name: w, over: "h[1-4]", size: {cdf: sizes.txt}, load: 0.2}]
`
	for _, tc := range []struct {
		name, points, want, note string
	}{
		{"steps", "64 0\n64 30\n256 50\n256 60\n1000 100\n", "64B:0 64B:30 256B:50 256B:60 1KB:100", ""},
		{"shares", "0 0\n1000 0.3\n10000 0.07e1\n100000 1.0\n", "0B:0 1KB:30 10KB:70 100KB:100", "are taken for shares"},
		{"a per cent among shares", "0 0\n1000 300\n10000 1\n", "", "line 2: the point 1000B:300 has"},
		{"it falls", "64 30\n32 100\n", "", "line 2: the point 32B:100 is below the one before it, 64B:30"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "files.yaml")
			if err := os.WriteFile(filepath.Join(dir, "sizes.txt"), []byte(tc.points), 0o644); err != nil {
				t.Fatal(err)
			}
			s, err := resolve.Load(path, []byte(text), nil)
			if tc.want == "" {
				if err == nil || !strings.Contains(err.Error(), tc.note) {
					t.Errorf("%v, want %q", err, tc.note)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Workloads[0].Size.Text; got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
			noted := ""
			for _, w := range s.Warnings {
				if strings.Contains(w.String(), "sizes.txt") {
					noted = w.String()
				}
			}
			if (noted == "") != (tc.note == "") || !strings.Contains(noted, tc.note) {
				t.Errorf("warning %q, want %q", noted, tc.note)
			}
		})
	}
}
