package emu

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/run/process"
)

// What root does in a guest ends no run: it is a named event of the result, and the other guests
// have their packets.
func TestAttacksOfGuests(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needNamespaces(t, "ip", "ping")
	t.Parallel()
	newSpace(t, "ak-name", "192.0.2.1/24")
	newSpace(t, "ak-process", "192.0.2.1/24")
	pid := inSpace(t, "ak-process")
	attacks := []struct {
		guest, run string // a command in the guest, or of this test
		want       []string
	}{
		{"tap", "ip link del fab0", []string{"device-gone"}},
		{"tap", "ip link set fab0 down; ip link set fab0 name mine; ip link set mine up", []string{"device-down", "device-renamed"}},
		{"tap", "ip link set fab0 mtu 9000; ping -c 1 -W 1 -s 4000 10.0.0.2", []string{"mtu-changed"}},
		{"tap", "ip link set fab0 mtu 68", []string{"mtu-changed"}},
		{"tap", "ip link set fab0 down", []string{"device-down"}},
		{"tap", "ip link set fab0 down; sleep 0.1; ip link set fab0 up", []string{"device-down", "device-up"}},
		{"tap", "ip addr flush dev fab0; ip addr add 10.77.0.1/24 dev fab0", []string{"address-changed"}},
		{"tap", "ip link set fab0 address 02:00:00:00:00:77", []string{"hardware-changed"}},
		{"{kind: tap, strict-source: true}", "ip addr add 10.0.99.9/32 dev lo; ping -c 1 -W 1 -I 10.0.99.9 10.0.0.2", []string{"spoofed"}},
		{"{kind: tap, strict-source: true}", "ip link set fab0 address 02:00:00:00:00:78; ping -c 1 -W 1 10.0.0.2", []string{"hardware-changed", "spoofed"}},
		{"{kind: tap, queue: 2}", "ping -c 200 -f -l 200 -s 1400 10.0.0.2", []string{"queue-full"}},
		{"tap", "unshare -n sleep 9 & sleep 0.2; ip link set fab0 netns $!", []string{"device-gone"}},
		{"{kind: tap, netns: ak-name, address: none}", "HERE ip netns del ak-name", []string{"namespace-gone"}},
		{fmt.Sprintf("{kind: tap, pid: %d, address: none}", pid), fmt.Sprintf("HERE kill -9 %d", pid), []string{"namespace-gone"}},
	}
	var endpoints, links, flows, programs strings.Builder
	here := "sleep 0.4"
	for i, a := range attacks {
		fmt.Fprintf(&endpoints, "  - {name: v%d, guest: %s}\n", i, a.guest)
		fmt.Fprintf(&links, "  - v%d - S\n", i)
		fmt.Fprintf(&flows, "  - {name: there%d, from: v%[1]d, to: b}\n  - {name: back%[1]d, from: b, to: v%[1]d}\n", i)
		if text, ok := strings.CutPrefix(a.run, "HERE "); ok {
			here += "; " + text
		} else {
			fmt.Fprintf(&programs, "  - {name: attack%d, at: 400ms, on: v%[1]d, run: '%s'}\n", i, a.run)
		}
	}
	text := fmt.Sprintf(`
name: attacks
model: {duration: 3s}
wall: {dilation: 1}
defaults: {link: {rate: 100Mb/s, flow-control: pfc}, flow: {packet: 1600B}}
switches: {S: {kind: output-queued}}
endpoints:
  - {name: a, guest: tap}
  - {name: b, guest: tap}
%slinks:
  - a - S
  - b - S
%sflows:
  - {name: there, from: a, to: b}
  - {name: back, from: b, to: a}
%sprograms:
  - {name: witness, at: 200ms, on: a, run: ping -c 5 -i 0.2 -W 1 10.0.0.2}
%s`, &endpoints, &links, &flows, &programs)
	began := make(chan bool)
	done := make(chan error, 1)
	go func() {
		<-began
		done <- exec.Command("sh", "-c", here).Run()
	}()
	start := time.Now()
	r, err := Run(context.Background(), runtest.Load(t, text), Options{Settings: Settings{Link: Pipe}, test: process.Hooks{Epoch: func() { close(began) }}})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the attacks of this test: %v", err)
	}
	if r.Partial || r.Verdict.Level == report.Void || time.Since(start) < 2*time.Second {
		t.Errorf("partial %t, %s: %s", r.Partial, r.Verdict.Level, r.Verdict.Reason)
	}
	if w := r.Programs[0]; w.Name != "witness" || w.Status != 0 {
		t.Errorf("the others' pings: %+v", w)
	}
	for i, a := range attacks {
		for _, want := range a.want {
			prefix := fmt.Sprintf("%s of guest v%d: ", want, i)
			if !slices.ContainsFunc(r.Events, func(e report.Event) bool { return strings.HasPrefix(e.What, prefix) && e.AtPs > 0 }) {
				t.Errorf("%s: there is no event %q", a.run, prefix)
			}
		}
	}
	if t.Failed() {
		for _, e := range r.Events {
			t.Log(e.AtPs, e.What)
		}
		t.Log(r.Programs, r.Warnings)
	}
}
