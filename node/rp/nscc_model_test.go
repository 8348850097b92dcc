package rp

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// The windows of NSCC are those of the reference model, byte for byte, and the state behind them:
// each file of testdata/nscc has what one flow of uet-htsim (commit 40ccb05) took in, and what it
// had then. A line has
//
//	ack|nack|timeout time bytes marked round-trip underway = window average base-rtt limit increase
//
// with times in picoseconds; marked is "trimmed at the last hop" of a NACK. The first line has the
// rate, the base RTT, the target, and a packet and its payload. The model's increase is a number of
// 32 bits and does not overflow in these runs.
func TestNSCCIsThatOfTheModel(t *testing.T) {
	files, err := filepath.Glob("testdata/nscc/*.txt")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	cases := map[string]int{}
	for _, file := range files {
		text, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer text.Close()
		lines := bufio.NewScanner(text)
		lines.Scan()
		var site Site
		p := param.Defaults(NSCCParams{})
		if _, err := fmt.Sscan(lines.Text(), &site.Line, &p.BaseRTT, &p.Target, &site.Length, &site.Payload); err != nil {
			t.Fatal(file, err)
		}
		n, err := NewNSCC(p, site)
		if err != nil {
			t.Fatal(file, err)
		}
		for number := 2; lines.Scan(); number++ {
			in, out, _ := strings.Cut(lines.Text(), " = ")
			var kind string
			var now, bytes, flag, trip, underway int64
			if _, err := fmt.Sscan(in, &kind, &now, &bytes, &flag, &trip, &underway); err != nil {
				t.Fatal(file, number, err)
			}
			before, raised := n.window, n.increase
			switch kind {
			case "ack":
				n.Acked(unit.Time(now), Ack{Frame: &wire.Frame{Kind: wire.Ack, BECN: flag != 0}, RTT: unit.Duration(trip), Bytes: unit.Size(bytes), Flight: unit.Size(underway)})
			case "nack":
				n.Trimmed(unit.Time(now), Trim{Bytes: unit.Size(bytes), RTT: unit.Duration(trip), LastHop: flag != 0, Flight: unit.Size(underway)})
			case "timeout":
				n.Expired(unit.Time(now), unit.Size(bytes))
			}
			if got := fmt.Sprint(n.window, int64(n.average), int64(n.base), n.most, n.increase); got != out {
				t.Fatalf("%s:%d: %s: %s, want %s", file, number, in, got, out)
			}
			if flag != 0 && kind == "ack" {
				kind = "marked " + kind
			}
			switch {
			case n.ignored == 0 && n.ignores > 0:
				kind += " adapts"
			case n.window < before:
				kind += " lowers"
			case n.window > before:
				kind += " raises"
			case n.increase > raised:
				kind += " accumulates"
			}
			cases[kind]++
		}
	}
	t.Log(cases)
	for _, kind := range []string{"ack raises", "ack accumulates", "marked ack", "marked ack lowers", "nack lowers", "nack adapts"} {
		if cases[kind] == 0 {
			t.Errorf("no %s: %v", kind, cases)
		}
	}
}
