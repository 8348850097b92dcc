//go:build linux && !race

package measure

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// BenchmarkSync measures what the exact order of processes costs beside the late one: 4 ms of model
// time of HPL-2002-224's Fig. 2 and 3b, with a process for each switch and its endpoints (2) and for
// each machine (24 and 25), by dilation.
//
//   - pace-%: the wall time that was asked for, of that which was needed;
//   - overtaken-%: of the frames handed over;
//   - p99-T: by how much the latest hundredth of the data frames left late, in packet times;
//   - promises/frame: beside those in the trailers of datagrams;
//   - CPU: user and system time of all processes for each million frames.
func BenchmarkSync(b *testing.B) {
	program := filepath.Join(b.TempDir(), "fabemu")
	if out, err := exec.Command("go", "build", "-o", program, "fabemu/cmd/fabemu").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for _, scenario := range []string{"fig2", "fig3b"} {
		for _, placement := range []string{"domain", "process"} {
			for _, dilation := range []int{100, 200, 500, 1000, 2000} {
				for _, sync := range []string{"exact", "late"} {
					b.Run(scenario+"/"+placement+"/"+strconv.Itoa(dilation)+"/"+sync, func(b *testing.B) {
						for b.Loop() {
							keepOrder(b, program, "run", "hpl2002/"+scenario, "--placement", placement, "--sync", sync,
								"--dilation", strconv.Itoa(dilation), "--set", "model.duration=4ms", "--set", "flows.victim.start=1ms",
								"--verify", "off", "--quiet", "--json", "--out", filepath.Join(b.TempDir(), "out"))
						}
					})
				}
			}
		}
	}
}

// keepOrder runs a scenario once.
func keepOrder(b *testing.B, program string, args ...string) {
	c := exec.Command(program, args...)
	out, failed := c.Output()
	var result struct {
		Verdict struct {
			Level string
			Order struct {
				Frames     float64
				LateFrames float64 `json:"late_frames"`
				Promises   float64
			}
			Pace struct {
				Ratio               float64
				LatenessPacketTimes struct{ P99 float64 } `json:"lateness_packet_times"`
			}
		}
	}
	if err := json.Unmarshal(out, &result); err != nil {
		b.Fatal(failed)
	}
	v := &result.Verdict
	b.ReportMetric(100*v.Pace.Ratio, "pace-%")
	b.ReportMetric(100*v.Order.LateFrames/v.Order.Frames, "overtaken-%")
	b.ReportMetric(v.Pace.LatenessPacketTimes.P99, "p99-T")
	b.ReportMetric(v.Order.Promises/v.Order.Frames, "promises/frame")
	b.ReportMetric((c.ProcessState.UserTime()+c.ProcessState.SystemTime()).Seconds()/v.Order.Frames*1e6, "CPU-s/Mframe")
	b.Log(v.Level)
}
