package rules_test

import (
	"slices"
	"strings"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/scenario/rules"
	nodes "fabemu/node"
	"fabemu/node/rp"
	"fabemu/switchd"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
)

const all = rules.Links | rules.Frames | rules.Changes | rules.Flows | rules.Routing

// site reads a scenario that is right.
func site(t *testing.T, text string) (s *scenario.Site) {
	t.Helper()
	_, err := resolve.Load("x.yaml", []byte(text), nil, resolve.Lint(func(of *scenario.Site) []scenario.Problem {
		s = of
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const infiniband = `name: infiniband
model: {duration: 10ms}
wall: {udp-port: 40000}
defaults: {link: {rate: 1GB/s, lanes: {max-vls: 2}}, switch: {marking: {scheme: cca}}}
switches: {S: {forwarding: cut-through, forwarding-delay: 100ns}}
endpoints: [a, b]
links: [a - S, {name: out, between: S - b, buffer: 8KB}]
flows: [{name: f, from: a, to: b, sl: 1, packet: 2048B}]
`

const ethernet = `name: ethernet
model: {duration: 10ms}
defaults:
  link: {rate: 10Gb/s, flow-control: pfc, retry: fitted}
  switch: {kind: output-queued, memory: 100KB per port, lossless: [3], output-limit: 60KB, marking: {scheme: red, ecn: true}}
  flow: {packet: 1500B, transport: rocev2, control: {algorithm: dcqcn}}
  endpoint: {limiters: 1}
routing: {paths: ecmp, balance: flowlet, idle: 100us}
switches: {S: {}}
endpoints: [a, b]
links: [{between: a - S, quanta: 60000, response: 100ns}, {name: out, between: S - b}]
flows: [{name: f, from: a, to: b, priority: 3, rate-limit: 5Gb/s}]
`

const channels = `name: channels
model: {duration: 10ms, framing: wire}
defaults:
  link: {rate: 10Gb/s, flow-control: cbfc, cbfc: {limit: 400, lossless: [0], cf-min: 2KB}}
  switch: {kind: output-queued}
  flow: {packet: 1500B}
switches: {S: {}}
endpoints: [a, b]
links: [a - S, S - b]
flows: [{name: f, from: a, to: b}]
`

// A rule is a function of the model: a value that does not fit is refused with the path at which
// the file gives it, wherever it came from.
func TestRules(t *testing.T) {
	for name, tc := range map[string]struct {
		text       string
		change     func(s *scenario.Site)
		path, want string
		needs      rules.Known
	}{
		"ports": {infiniband, func(s *scenario.Site) { s.Wall.UDPPort = 65534 },
			"wall.udp-port", "2 links need 4 ports", rules.Links},
		"limits": {ethernet, func(s *scenario.Site) { s.Switches[0].Lossless = scenario.AllPriorities },
			"defaults.switch.output-limit", "switch S would drop frames beyond 60KB", rules.Links},
		"forwarding": {infiniband, func(s *scenario.Site) { s.Switches[0].ForwardingDelay = 1 },
			"switches.S.forwarding-delay", "switch S would forward after 1ps", rules.Links},
		"quanta": {ethernet, func(s *scenario.Site) { s.Links[0].Quanta = 1 },
			"links[0].quanta", "a PAUSE of 1 quanta expires", rules.Links | rules.Changes},
		"buffers": {infiniband, func(s *scenario.Site) { s.Links[1].Buffer.Bytes = 100 },
			"links.out.buffer", "the buffer of link out cannot hold a packet of flow f", rules.Frames},
		"priorities": {ethernet, func(s *scenario.Site) { s.Links[0].FlowControl = port.NoFlowControl },
			"defaults.switch.lossless", "priority 3 is lossless at switch S, but flow f", rules.Frames},
		"retries": {ethernet, func(s *scenario.Site) { s.Links[1].Retry.Timer = 1 },
			"links.out", "the replay timer of link out, 1ps, expires", rules.Frames | rules.Changes},
		"channels": {channels, func(s *scenario.Site) { s.Links[1].CBFC.CFMax = 1 },
			"defaults.link.cbfc.cf-min", "link S - b: cf-min, 2KB, is more than cf-max", rules.Frames | rules.Changes},
		"lanes": {infiniband, func(s *scenario.Site) { s.Links[0].Lanes.MaxVLs = 3 },
			"defaults.link.lanes.max-vls", "3 data lanes", rules.Frames},
		"service levels": {infiniband, func(s *scenario.Site) { s.Links[0].Lanes.SL2VL = "0,2,0,0,0,0,0,0,0,0,0,0,0,0,0,0" },
			"flows.f.sl", "packets of SL 1 of flow f would be dropped", rules.Frames},
		"points": {infiniband, func(s *scenario.Site) { s.Switches[0].Kind = scenario.OutputQueued },
			"defaults.switch.marking.scheme", "cca marks by input buffers", rules.Frames},
		"droppers": {ethernet, func(s *scenario.Site) {
			red := s.Switches[0].Marking.Params.(cp.REDParams)
			red.ECN = false
			s.Switches[0].Marking.Params = red
		}, "defaults.switch.marking.ecn", "red would drop frames of flow f", rules.Frames},
		"algorithms": {ethernet, func(s *scenario.Site) { s.Flows[0].Transport = scenario.Transport{} },
			"defaults.flow.control.algorithm", "dcqcn needs CNPs", rules.Frames | rules.Changes},
		"telemetry": {ethernet, func(s *scenario.Site) {
			roce := s.Flows[0].Transport.Params.(nodes.RoCEParams)
			roce.Telemetry = wire.Rounded
			s.Flows[0].Transport.Params = roce
			s.Links[1].Rate = 7e9
		}, "defaults.flow.control.algorithm", "flow f passes switch S, and telemetry has no code", rules.Frames | rules.Changes},
		"limiters": {ethernet, func(s *scenario.Site) {
			s.Flows = append(s.Flows, s.Flows[0])
			s.FlowOrigins = append(s.FlowOrigins, s.FlowOrigins[0])
		}, "defaults.endpoint.limiters", "2 of the flows from endpoint a have a rate-limit", rules.Frames},
		"processes": {ethernet, func(s *scenario.Site) {
			s.Flows[0].Control.Params = rp.ExecParams{Process: rp.ProcessPerFlow}
			s.Own = 0
		}, "defaults.flow.control.algorithm", "the flows of workload f come and go", rules.Frames | rules.Changes},
		"balance": {ethernet, func(s *scenario.Site) { s.Routing.Idle = 1 },
			"routing.idle", "a packet of flow f takes", rules.Links | rules.Flows | rules.Routing},
		"one path": {ethernet, func(s *scenario.Site) { s.Routing.Paths, s.Routing.Balance = "shortest", switchd.RandomFlowlets },
			"routing.balance", "there is one path", rules.Links | rules.Flows | rules.Routing},
	} {
		s := site(t, tc.text)
		if found := rules.Check(s, all); len(found) > 0 {
			t.Fatalf("%s: a right scenario has %v", name, found)
		}
		tc.change(s)
		has := func(known rules.Known) bool {
			return slices.ContainsFunc(rules.Check(s, known), func(p scenario.Problem) bool {
				return p.Path == tc.path && strings.HasPrefix(p.Text, tc.want)
			})
		}
		if !has(all) {
			t.Errorf("%s: %v; want %s at %s", name, rules.Check(s, all), tc.want, tc.path)
		}
		for part := rules.Known(1); part < all; part <<= 1 {
			if has(all&^part) != (tc.needs&part == 0) {
				t.Errorf("%s: without %b it is found: %v", name, part, has(all&^part))
			}
		}
	}
}
