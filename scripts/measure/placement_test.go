//go:build linux

package measure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkPlacement measures what it costs to place the nodes of a fabric in one process
// or in one each, over UDP or over veth pairs between namespaces: the fabric of fabemu
// generate hpl2002 with 58 endpoints, 10 ms of model time at dilation 500.
//
//   - start-up: wall time from the start of the program to model time 0: to lay the fabric
//     out, to build its links and to start its processes;
//   - tear-down: from the end of the model time to that of the program;
//   - MB/machine: the most that its processes take together, their common pages counted once
//     (the sum of Pss), looked at 20 times a second;
//   - CPU: user and system time of its processes for each million datagrams.
//
// The verdict is logged, since a cheap run that is off is not worth much. In one process the
// loop waits with its eyes open, so its CPU time is that of the model; processes sleep.
func BenchmarkPlacement(b *testing.B) {
	program := filepath.Join(b.TempDir(), "fabemu")
	if out, err := exec.Command("go", "build", "-o", program, "fabemu/cmd/fabemu").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	const endpoints, dilation = 58, 500
	scenario, err := exec.Command(program, "generate", "hpl2002", "--endpoints", strconv.Itoa(endpoints)).Output()
	if err != nil {
		b.Fatal(err)
	}
	for _, placement := range []string{"goroutine", "process"} {
		for _, link := range []string{"udp", "veth"} {
			b.Run(placement+"/"+link, func(b *testing.B) {
				if link == "veth" && os.Geteuid() != 0 {
					b.Skip("not root: network namespaces cannot be made")
				}
				for b.Loop() {
					place(b, scenario, endpoints+2, dilation, program, "run", "--placement", placement, "--link", link,
						"--dilation", strconv.Itoa(dilation), "--set", "model.duration=10ms", "--verify", "off",
						"--json", "--out", filepath.Join(b.TempDir(), "out"), "-")
				}
			})
		}
	}
}

// place runs the scenario once.
func place(b *testing.B, scenario []byte, machines, dilation int, program string, args ...string) {
	c := exec.Command(program, args...)
	var out, said bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(scenario), &out, &said
	begin := time.Now()
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	most := 0.0
	var failed error
	for running := true; running; {
		select {
		case failed = <-ended:
			running = false
		case <-time.After(50 * time.Millisecond):
			most = max(most, memory(c.Process.Pid))
		}
	}
	end := time.Now()
	var result struct {
		Began   time.Time
		Verdict struct {
			Level string
			Order struct{ Frames float64 }
			Pace  struct{ Ratio float64 }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &result); err != nil { // a check that fails is no failure here
		b.Fatalf("%v\n%s", failed, said.String())
	}
	v := &result.Verdict
	wall := time.Duration(float64(10*time.Millisecond) * float64(dilation) / v.Pace.Ratio)
	b.ReportMetric(result.Began.Sub(begin).Seconds(), "start-up-s")
	b.ReportMetric(end.Sub(result.Began.Add(wall)).Seconds(), "tear-down-s")
	b.ReportMetric(most/1e6/float64(machines), "MB/machine")
	b.ReportMetric((c.ProcessState.UserTime()+c.ProcessState.SystemTime()).Seconds()/v.Order.Frames*1e6, "CPU-s/Mdatagram")
	b.Log(v.Level)
}

// memory returns the bytes that a process and those that it has started take, by their share
// of each page.
func memory(pid int) float64 {
	sum := share(pid)
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is right
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread that has ended has no children
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				sum += share(child)
			}
		}
	}
	return sum
}

// share returns the Pss of a process in bytes, or 0 if it has ended.
func share(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "Pss:" {
			kB, _ := strconv.ParseFloat(f[1], 64)
			return kB * 1024
		}
	}
	return 0
}
