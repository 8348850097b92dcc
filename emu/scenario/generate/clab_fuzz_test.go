package generate_test

import (
	"errors"
	"testing"

	"fabemu/emu/base/errs"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/resolve"
)

// FuzzClab: whatever a topology holds, FromClab reports a mistake or returns a scenario, in which a
// mistake may be found.
func FuzzClab(f *testing.F) {
	runtest.MinimizeLittle(f)
	const topology = `name: tri
prefix: ""
topology:
  defaults: {kind: linux}
  kinds:
    linux: {image: alpine, network-mode: bridge}
    host: {network-mode: host}
  nodes:
    one: {}
    two: {kind: linux, image: frr}
    router:
    sw: {kind: bridge}
    out: {kind: ext-container, network-mode: host}
  links:
    - endpoints: ["one:eth1", "router:eth1"]
    - {endpoints: ["two:eth1", "router:eth2"], mtu: 1400}
    - type: veth
      endpoints: [{node: one, interface: eth2}, {node: two, interface: eth2, mac: "02:00:00:00:00:01"}]
      impairments: {delay: 5ms}
    - endpoints: ["one:eth3", "host:veth0"]
    - {type: vxlan, endpoint: {node: one, interface: eth4}, remote: 10.0.0.1}
    - endpoints: ["sw:eth1", "one:eth1"]
`
	f.Add([]byte(topology))
	for _, b := range runtest.Seeds(runtest.Mutants([]byte(topology), 100), 20) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		x, err := generate.FromClab("x.clab.yml", text, func(string) (string, bool) { return "", false })
		var wrong *errs.Mistake
		if err != nil {
			if !errors.As(err, &wrong) || err.Error() == "" {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		for _, why := range x.Left {
			if why == "" {
				t.Fatal("a part is left out without a reason")
			}
		}
		var list *scenario.Errors
		if _, err := resolve.Load("x.yaml", x.Scenario, nil); err != nil && !errors.As(err, &list) {
			t.Fatalf("%T: %v", err, err)
		}
	})
}
