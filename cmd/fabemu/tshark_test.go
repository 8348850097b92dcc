package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
)

// Wireshark without the add-on, as it is installed, reads all frames of a capture as it is by
// default: none is malformed, neither by its own words nor by those in the column Info.
func TestDefaultCapturesInStockTshark(t *testing.T) {
	t.Parallel()
	runtest.NeedTools(t, "tshark")
	for scenario, want := range map[string]string{"roce/first": "RRoCE", "hpl2002/fig2": "InfiniBand", "dcqcn/incast-pfc": "RRoCE"} {
		out := filepath.Join(t.TempDir(), "out")
		_ = exec.Command(binary, "run", scenario, "--clock", "virtual", "--set", "model.duration=300us", "--pcap", "--out", out).Run() // its claims need longer
		c := exec.Command("tshark", "-r", filepath.Join(out, report.CaptureFile), "-T", "fields", "-e", "_ws.col.Protocol", "-e", "_ws.col.Info", "-e", "_ws.malformed")
		c.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
		said, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v", scenario, err)
		}
		frames := 0
		for line := range strings.Lines(string(said)) {
			frames++
			if strings.Contains(strings.ToLower(line), "malformed") {
				t.Errorf("%s, frame %d: %s", scenario, frames, line)
				break
			}
		}
		if n := strings.Count(string(said), want); n < 100 {
			t.Errorf("%s: %d of %d frames are of %s", scenario, n, frames, want)
		}
	}
}
