package emu

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/emutest/runtest"
	"fabemu/wire/trace"
)

// stream is a flow with TCP over a bottleneck whose queue drops what it has no room for.
const stream = `
name: stream
model: {duration: 700ms}
defaults:
  link: {rate: 1Gb/s, propagation: 1us, flow-control: none}
  switch: {kind: output-queued, memory: 30KB per port}
  flow: {packet: 1500B, transport: {kind: tcp, delayed-ack: none, min-rto: 50ms}}
switches: {S: {}}
endpoints: [A, B]
links:
  - A - S
  - {name: bottleneck, between: S - B, rate: 12Mb/s}
flows:
  - {name: stream, from: A, to: B}
`

// losses are what the event log says of segments that were lost.
type losses struct {
	again  map[string]int  // those that were retransmitted, by instant in ns and sequence number
	behind map[string]bool // the sequence numbers behind those that were dropped
}

func (l *losses) Record(e *trace.Event) {
	switch e.Kind {
	case trace.Retransmit:
		l.again[fmt.Sprintf("%d %d", e.At/1000, e.PSN)]++
	case trace.Drop:
		l.behind[fmt.Sprint(e.PSN+1460)] = true
	}
}

// Wireshark's analysis of TCP finds nothing that is not there. At the source every segment is
// there, and what Wireshark calls a retransmission is one of the event log; at the destination one
// is missing where the switch has dropped it, and nowhere else. All checksums are right.
func TestModelTCPInTshark(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("there is no tshark")
	}
	for name, sets := range map[string][]string{
		"newreno":      {"flows.stream.transport.recovery=newreno"},
		"sack":         {"flows.stream.transport.recovery=sack", "flows.stream.transport.delayed-ack=40ms"},
		"its timeouts": {"flows.stream.transport.recovery=reno", "defaults.switch.memory=4500B per port"},
	} {
		for _, port := range []string{"A:0", "B:0"} {
			t.Run(name+" at "+port, func(t *testing.T) {
				var captured bytes.Buffer
				log := losses{map[string]int{}, map[string]bool{}}
				if _, err := Run(context.Background(), runtest.Load(t, stream, runtest.Sets(t, sets...)...), Options{
					Settings: Settings{Clock: VirtualClock}, Sink: &log, Capture: &Capture{To: &captured, Filter: []string{port}, Both: true},
				}); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(t.TempDir(), "port.pcapng")
				if err := os.WriteFile(path, captured.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
				args := []string{"-r", path, "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-T", "fields"}
				for _, f := range []string{
					"frame.time_epoch", "tcp.seq_raw", "ip.checksum.status", "tcp.checksum.status", "_ws.malformed", "tcp.analysis.flags",
					"tcp.analysis.duplicate_ack", "tcp.analysis.retransmission", "tcp.analysis.lost_segment", "tcp.analysis.out_of_order",
				} {
					args = append(args, "-e", f)
				}
				c := exec.Command(tshark, args...)
				c.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
				out, err := c.Output()
				if err != nil {
					t.Fatal(err)
				}

				again, missing := map[string]int{}, 0
				for line := range strings.Lines(string(out)) {
					f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
					at, seq, found := f[0], f[1], f[5] != ""
					copied, resent, lost, disordered := f[6] != "", f[7] != "", f[8] != "", f[9] != ""
					if f[2] != "1" || f[3] != "1" || f[4] != "" { // 1: checked, and good
						t.Errorf("at %s: checksums %q and %q, malformed %q", at, f[2], f[3], f[4])
					}
					if resent {
						ns, err := strconv.ParseFloat(at, 64)
						if err != nil {
							t.Fatal(err)
						}
						again[fmt.Sprintf("%.0f %s", ns*1e9, seq)]++
					}
					if port == "B:0" {
						// What fills a gap comes after what was sent behind it.
						if lost && !log.behind[seq] {
							t.Errorf("at %s: a segment is missing before %s, and none was dropped there", at, seq)
						}
						found = found && !lost && !disordered
						missing += map[bool]int{true: 1}[lost]
					}
					if found && !copied && !resent {
						t.Errorf("at %s, segment %s: Wireshark finds a fault: %q", at, seq, f)
					}
				}
				if len(log.again) < 2 || len(log.behind) < 2 {
					t.Errorf("%d segments were sent again, %d dropped: want some", len(log.again), len(log.behind))
				}
				if diff := cmp.Diff(log.again, again); port == "A:0" && diff != "" {
					t.Errorf("sent again (-event log +Wireshark):\n%s", diff)
				}
				if port == "B:0" && missing == 0 {
					t.Error("Wireshark misses nothing")
				}
			})
		}
	}
}
