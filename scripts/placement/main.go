package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// duration is the model time of a run.
const duration = 10 * time.Millisecond

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: placement FABEMU ENDPOINTS DILATION")
		os.Exit(2)
	}
	if err := measure(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "placement:", err)
		os.Exit(1)
	}
}

// measure prints the table.
func measure(fabemu, endpoints, dilation string) error {
	n, err := strconv.Atoi(endpoints)
	if err != nil {
		return fmt.Errorf("endpoints %q: a number is wanted", endpoints)
	}
	slowed, err := strconv.Atoi(dilation)
	if err != nil || slowed < 1 {
		return fmt.Errorf("dilation %q: a whole number of at least 1 is wanted", dilation)
	}
	scenario, err := exec.Command(fabemu, "generate", "hpl2002", "--endpoints", endpoints).Output()
	if err != nil {
		return fmt.Errorf("fabemu generate: %w", err)
	}
	fmt.Printf("%s endpoints at two switches, %v of model time at dilation %d\n", endpoints, duration, slowed)
	fmt.Printf("%-10s %-5s %10s %10s %15s %18s  %s\n", "placement", "link", "start-up", "tear-down", "memory/machine", "CPU/M datagrams", "verdict")
	for _, placement := range []string{"goroutine", "process"} {
		for _, link := range []string{"udp", "veth"} {
			f, err := run(fabemu, scenario, placement, link, n+2, slowed)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", placement, link, err)
			}
			fmt.Printf("%-10s %-5s %8.2f s %8.2f s %12.2f MB %16.1f s  %s\n", placement, link, f.startUp.Seconds(), f.tearDown.Seconds(), f.memory/1e6, f.cpu.Seconds()/f.datagrams*1e6, f.verdict)
		}
	}
	return nil
}

// figures are what a run costs.
type figures struct {
	startUp   time.Duration // wall time before the model's
	tearDown  time.Duration // and after it
	memory    float64       // bytes for each machine
	cpu       time.Duration // of all processes
	datagrams float64
	verdict   string
}

// run runs the scenario once.
func run(fabemu string, scenario []byte, placement, link string, machines, dilation int) (f figures, err error) {
	dir, err := os.MkdirTemp("", "fabemu-placement-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	c := exec.Command(fabemu, "run", "--placement", placement, "--link", link, "--dilation", strconv.Itoa(dilation), "--set", "model.duration=10ms",
		"--verify", "off", "--json", "--out", filepath.Join(dir, "out"), "-")
	var out, said bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(scenario), &out, &said
	begin := time.Now()
	if err := c.Start(); err != nil {
		return f, err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	most := 0.0
	for running := true; running; {
		select {
		case err = <-ended:
			running = false
		case <-time.After(50 * time.Millisecond):
			most = max(most, memory(c.Process.Pid))
		}
	}
	end := time.Now()
	var result struct {
		Began   time.Time `json:"began"`
		Verdict struct {
			Level string `json:"level"`
			Order struct {
				Frames float64 `json:"frames"`
			} `json:"order"`
			Pace struct {
				Ratio float64 `json:"ratio"`
			} `json:"pace"`
		} `json:"verdict"`
	}
	if jsonErr := json.Unmarshal(out.Bytes(), &result); jsonErr != nil { // a check that fails is no failure here
		return f, fmt.Errorf("%w\n%s", err, said.String())
	}
	v := &result.Verdict
	f = figures{
		startUp:  result.Began.Sub(begin),
		tearDown: end.Sub(result.Began.Add(time.Duration(float64(duration) * float64(dilation) / v.Pace.Ratio))),
		memory:   most / float64(machines), cpu: c.ProcessState.UserTime() + c.ProcessState.SystemTime(),
		datagrams: v.Order.Frames, verdict: v.Level,
	}
	return f, nil
}

// memory returns the bytes that a process and those that it has started take, by
// their share of each page.
func memory(pid int) float64 {
	sum := share(pid)
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is right
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread that has ended has no children
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				sum += share(child)
			}
		}
	}
	return sum
}

// share returns the Pss of a process in bytes, or 0 if it has ended.
func share(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "Pss:" {
			kB, _ := strconv.ParseFloat(f[1], 64)
			return kB * 1024
		}
	}
	return 0
}
