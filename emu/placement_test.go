package emu

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/host/fleet"
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"
)

func TestPlacementMistakes(t *testing.T) {
	s := runtest.Short(t, "hpl2002/fig2", "3ms")
	two := &fleet.Fleet{Size: 2}
	on := func(texts ...string) (list []process.HostOf) {
		for _, text := range texts {
			of, err := process.ParseHostOf(text)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, of)
		}
		return list
	}
	for _, text := range []string{"A", "A=", "=0", "A=-1", "A=x", "A=1x", "[=1"} {
		if of, err := process.ParseHostOf(text); err == nil {
			t.Errorf("%q is %+v", text, of)
		}
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Settings: Settings{Placement: "cloud"}}, `no placement "cloud"`},
		{Options{Settings: Settings{Placement: InProcesses, Clock: VirtualClock}}, "requires the wall clock"},
		{Options{Settings: Settings{Placement: InProcesses, Link: Pipe}}, "links between processes"},
		{Options{ByHand: []string{"A"}}, "placement process or domain"},
		{Options{Settings: Settings{Placement: InHosts}}, "a fleet of hosts"},
		{Options{Settings: Settings{Placement: InHosts, Link: Unix}, Fleet: two}, "links of kind udp between hosts, not unix"},
		{Options{Settings: Settings{Placement: InHosts, Link: Veth}, Fleet: two}, "links of kind udp between hosts, not veth"},
		{Options{Settings: Settings{Placement: InHosts}, Fleet: two, ByHand: []string{"A"}}, "hosts are started by hand, not parts"},
		{Options{Settings: Settings{Placement: InDomains}, Fleet: two}, "other hosts take part with placement hosts, not domain"},
		{Options{Settings: Settings{Placement: InHosts}, Fleet: two, HostsOf: on("A=0", "C=1")}, `there is no node "C" to place on host 1`},
		{Options{Settings: Settings{Placement: InHosts}, Fleet: two, HostsOf: on("A=0", "B=2")}, `node "B" cannot be on host 2: there are hosts 0 to 1`},
		{Options{Settings: Settings{Placement: InHosts}, Fleet: two, HostsOf: on("A=0")}, "these nodes have no host: B, "},
		{Options{Settings: Settings{Placement: InHosts}, Fleet: two, HostsOf: on("*=1")}, "the nodes are on 1 of 2 hosts"},
		{Options{Settings: Settings{Placement: InHosts}, Fleet: &fleet.Fleet{Size: 99}}, "of 99 hosts: start fewer"},
		{Options{Settings: Settings{Placement: InHosts}, Fleet: &fleet.Fleet{Size: 2, Address: "192.0.2.1:1"}}, "--listen HOST:PORT names another place"},
		{Options{Settings: Settings{Placement: InDomains}, ByHand: []string{"C"}}, `no part "C" to be started by hand; there are A, B`},
	} {
		_, err := Run(context.Background(), s, c.o)
		var mistake *Mistake
		if !errors.As(err, &mistake) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

// The files of a dry run can be read back; what does not fit them is refused.
func TestServeMistakes(t *testing.T) {
	dir := t.TempDir()
	s := runtest.Short(t, "hpl2002/fig2", "3ms")
	if err := Dry(s, Options{Settings: Settings{Placement: InProcesses}, Directory: dir}); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, process.PartsDir, "*.json"))
	if len(files) != len(s.Switches)+len(s.Endpoints) {
		t.Errorf("%d files", len(files))
	}
	name := filepath.Join(dir, process.PartsDir, "A.json")
	if err := process.Serve(context.Background(), name, 0, "v9"); err == nil || !strings.Contains(err.Error(), "version devel") {
		t.Errorf("another version: %v", err)
	}
	if err := process.Serve(context.Background(), filepath.Join(dir, "no.json"), 0, "devel"); err == nil || !strings.Contains(err.Error(), "--dry-run") {
		t.Errorf("no file: %v", err)
	}
	os.WriteFile(filepath.Join(dir, "x.json"), []byte(`{"part": "A"}`), 0o666)
	if err := process.Serve(context.Background(), filepath.Join(dir, "x.json"), 0, "devel"); err == nil || !strings.Contains(err.Error(), "not the file of a part") {
		t.Errorf("half a file: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if err := process.Serve(ctx, name, 0, "devel"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no conductor: %v", err)
	}
	own, added := scenario.BuiltIn(), *s
	added.Schemes = &own
	if err := Dry(&added, Options{Settings: Settings{Placement: InProcesses}, Directory: dir}); err == nil || !strings.Contains(err.Error(), "schemes that a scenario adds") {
		t.Errorf("schemes that the processes do not have: %v", err)
	}
	if err := Dry(s, Options{}); err == nil || !strings.Contains(err.Error(), "placement process or domain") {
		t.Errorf("%v", err)
	}
}
