//go:build soak

package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Under DCQCN two virtual machines that send to a third have the rates and the queue of the model's
// flows.
func TestWallRDMAIncast(t *testing.T) {
	buildRDMA(t)
	fabric, _, _ := strings.Cut(example(t, "90s", "90s, framing: wire", "rate: 100Mb/s", "rate: 10Mb/s", "rate: 20Mb/s", "rate: 10Mb/s", "max-p: 0.1", "max-p: 0.2", "500kb/s", "250kb/s",
		"\nlinks:\n", "\n  - {name: c, guest: {vm: rdma-c, adapter: roce}}\nlinks:\n  - c - S\n",
		"\nflows:\n", "\nflows:\n  - {name: other, from: c, to: a}\n  - {name: back-c, from: a, to: c}\n",
		"\nfaults:", "\nmeasure: {window: 1s}\nfaults:"), "faults: [")
	model := regexp.MustCompile(`, guest: {[^}]*}|  - {name: back.*\n`).ReplaceAllString(fabric, "")
	model = strings.Replace(model, "packet: 1600B", "packet: 1024B\n    transport: {kind: rocev2, window: 128, ack-every: 64, ack-timeout: 4.3s}", 1)
	dir := filepath.Join(t.TempDir(), "model")
	c := exec.Command(binary, "run", "-", "--quiet", "--clock", "virtual", "--out", dir)
	c.Stdin = strings.NewReader(model)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const write = "ib_write_bw -F -d rxe0 -D 20 -u 20 --tclass=2 -p "
	program := func(name, address, commands string) string {
		return fmt.Sprintf("  - {name: %s, on: %s, run: \"scripts/lab/verbs.sh vm rdma-%s %s/24 '%s'\"}\n", name, name, name, address, commands)
	}
	r := runRDMA(t, nil, fabric+"programs:\n"+program("a", "10.1.0.1", write+"18516 >/c & "+write+"18515; wait; cat /c")+
		program("b", "10.1.0.2", "retry "+write+"18515 10.1.0.1")+program("c", "10.1.0.3", "retry "+write+"18516 10.1.0.1"))
	want, got := settled(t, dir), settled(t, r.dir)
	t.Logf("flows of the model have %.0f, and rxe %.0f", want, got)
	for i, name := range []string{"the rate of b", "the rate of c", "the queue"} {
		if math.Abs(got[i]-want[i]) > want[i]/10 {
			t.Errorf("%s is %.0f, and in the model %.0f", name, got[i], want[i])
		}
	}
	if a, b, c := r.Guests[0].RoCE, r.Guests[1].RoCE, r.Guests[2].RoCE; b.CNPHandled == 0 || c.CNPHandled == 0 || a.CNPSent < b.CNPHandled+c.CNPHandled {
		t.Errorf("the counters of the adapters are %+v, %+v and %+v", *a, *b, *c)
	}
}

// MPI runs over rxe: NetPIPE's ping-pong between two virtual machines.
func TestWallRDMAMPI(t *testing.T) {
	buildRDMA(t)
	t.Setenv("VERBS_CACHE", t.TempDir())
	t.Setenv("VERBS_PACKAGES", "mpich netpipe-mpich2")
	if out, err := exec.Command("../../scripts/lab/verbs.sh", "build").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := runRDMA(t, nil, text(t, "../../docs/examples/rdma-mpi.yaml"))
	have(t, r.a, "4096 bytes     10 times -->")
	if sent := counter(t, r.a, "sent_pkts"); sent < 1000 || counter(t, r.b, "rcvd_pkts") != sent {
		t.Errorf("the counters of rxe are these: %s%s", r.a, r.b)
	}
}

// settled returns the means of the rates of b and c, and of the queue, over the second half of the
// time in which both send.
func settled(t *testing.T, dir string) (means [3]float64) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text(t, filepath.Join(dir, "series.csv")))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	points := map[string][3]float64{}
	var times []string // of points at which both send
	for _, row := range rows {
		if i := slices.Index([]string{"flow.rate there", "flow.rate other", "link.queue root.S-a"}, row[1]+" "+row[2]); i >= 0 {
			p := points[row[0]]
			p[i], _ = strconv.ParseFloat(row[3], 64)
			points[row[0]] = p
			if min(p[0], p[1]) > 150e3 && !slices.Contains(times, row[0]) {
				times = append(times, row[0])
			}
		}
	}
	if len(times) < 10 {
		t.Fatalf("both send at %d points of time", len(times))
	}
	times = times[len(times)/2 : len(times)-2]
	for _, at := range times {
		for i, x := range points[at] {
			means[i] += x / float64(len(times))
		}
	}
	return means
}
