//go:build linux

package measure

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"fabemu/emu/host/netns"
)

// BenchmarkHosts measures what it costs to start a fabric of 200 machines on two hosts, which
// are network namespaces with a veth pair between, and in addition to it in a process for each
// switch of one host: the figures of BenchmarkPlacement. The agent is there already, as a launcher
// starts all at once; its memory and processor time are not in the figures.
func BenchmarkHosts(b *testing.B) {
	if err := netns.Missing(); err != nil {
		b.Skip(err)
	}
	program := filepath.Join(b.TempDir(), "fabemu")
	if out, err := exec.Command("go", "build", "-o", program, "fabemu/cmd/fabemu").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	const endpoints, dilation = 198, 1000
	scenario, err := exec.Command(program, "generate", "hpl2002", "--endpoints", strconv.Itoa(endpoints)).Output()
	if err != nil {
		b.Fatal(err)
	}
	topology, err := netns.Build(context.Background(), netns.Plan{
		Run: uint32(os.Getpid()), Nodes: []string{"host0", "host1"}, Largest: 9000,
		Links: []netns.Link{{Name: "net", Ends: [2]netns.End{{Node: 0}, {Node: 1}}}},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer topology.Close()
	for i := range 2 {
		namespace := fmt.Sprintf("fabemu-%08x-host%d", os.Getpid(), i)
		for _, args := range [][]string{
			{"link", "set", "lo", "up"}, {"address", "add", fmt.Sprintf("10.77.0.%d/24", i+1), "dev", "fab0"},
		} {
			if out, err := exec.Command("ip", append([]string{"-n", namespace}, args...)...).CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
		}
	}
	on := func(host int, args ...string) []string {
		return append([]string{"--net=/run/netns/" + fmt.Sprintf("fabemu-%08x-host%d", os.Getpid(), host), program}, args...)
	}
	b.Setenv("FABEMU_TOKEN", "not-known-to-many")
	for _, placement := range []string{"domain", "hosts"} {
		b.Run(placement, func(b *testing.B) {
			for b.Loop() {
				args := []string{"run", "--placement", placement, "--dilation", strconv.Itoa(dilation),
					"--set", "model.duration=10ms", "--verify", "off", "--json", "--out", filepath.Join(b.TempDir(), "out"), "-"}
				var said bytes.Buffer
				agent := exec.Command("nsenter", on(1, "agent", "--join", "10.77.0.1")...)
				agent.Stderr = &said
				if placement == "hosts" {
					args = append(args, "--hosts", "2", "--listen", "10.77.0.1")
					if err := agent.Start(); err != nil {
						b.Fatal(err)
					}
				}
				place(b, scenario, endpoints+2, dilation, "nsenter", on(0, args...)...)
				if placement == "hosts" {
					if err := agent.Wait(); err != nil {
						b.Fatalf("%v\n%s", err, said.String())
					}
				}
			}
		})
	}
}
