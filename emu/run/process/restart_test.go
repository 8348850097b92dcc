package process

import (
	"testing"

	"fabemu/emu/fabric"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/carrier"
	"fabemu/emu/scenario"
	"fabemu/wire/trace"
)

// A switch that is restarted is a process that is killed where it has one to itself.
// With its endpoints in the same process it forgets, and they do not.
func TestRestartKillsNoEndpoints(t *testing.T) {
	s, err := scenario.Load("restart.yaml", []byte(`
name: restart
model: {duration: 4ms, seed: 1}
defaults:
  link: {rate: 1GB/s, buffer: 4 packets}
  flow: {packet: 2048B, timeout: 300us}
switches: {A: {}, B: {}}
endpoints: [a, b]
links: [a - A, A - B, B - b]
flows: [{name: f, from: a, to: b}]
events: [{at: 1ms, switch: A, restart: 500us}]
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	laidOut, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	for placement, want := range map[Placement]int{InProcesses: 1, InDomains: 0} {
		p := &Plan{Fabric: laidOut, Placement: placement, Carrier: carrier.UDP, Directory: t.TempDir()}
		c, err := p.write(nil, false)
		if err != nil {
			t.Fatal(err)
		}
		c.fabric, err = assemble.New(laidOut, assemble.Schemes{}, trace.NewBatch(1))
		if err != nil {
			t.Fatal(err)
		}
		c.planRestarts()
		if list := c.restarts; len(list) != want {
			t.Errorf("placement %s: %d processes are restarted, want %d", placement, len(list), want)
		}
	}
}
