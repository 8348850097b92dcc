package resolve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
)

// diamond has two equal paths between A and B, over X and over Y, and a slow endpoint q at X. Of
// the endpoints w the first is at A and the others at B.
const diamond = `name: diamond
model: {duration: 1ms, seed: %d}
defaults:
  link: {rate: 10Gb/s, propagation: 100ns, flow-control: pfc}
  switch: {kind: output-queued, memory: 200KB per port}
  flow: {packet: 256B}
switches: {A: {%s}, X: {}, Y: {}, B: {}}
endpoints: ["w[1-%d]", p, q]
links: [A - X, A - Y, X - B, Y - B, w1 - A, "w[2-%[3]d] - B", p - A, {name: slow, between: X - q, rate: 1Gb/s}]
flows:
  - {name: other, from: p, to: q, priority: 1}
`

// A watermark leaves room for each priority that may arrive at an input, by whichever path, and so
// it depends on no seed.
func TestWatermarksCountEveryPath(t *testing.T) {
	const (
		flow = "  - {name: f, from: w1, to: w2}\n"
		back = "  - {name: f, from: w2, to: w1, priority: 1}\n"
		roce = "  - {name: f, from: w2, to: w1, priority: 1, transport: {kind: rocev2, ack-dscp: 0}}\n"
		pair = "workload:\n  - {name: w, over: \"w[1-2]\", size: 20KB, load: 0.6}\n"
		ecmp = "routing: ecmp\n"
	)
	for name, c := range map[string]struct {
		members int
		marking string // of A
		rest    string
		want    int // priorities at the input of X from A
	}{
		"one priority":                         {2, "", "", 1},
		"equal paths":                          {2, "", flow + ecmp, 2},
		"packets on equal paths":               {2, "", flow + "routing: {paths: ecmp, balance: random}\n", 2},
		"a workload on equal paths":            {2, "", pair + ecmp, 2},
		"a rank on equal paths":                {2, "", "workload:\n  - {name: w, over: \"w[1-2]\", size: 20KB, collective: all-reduce}\n" + ecmp, 2},
		"a path elsewhere":                     {2, "", flow + "routes:\n  - {at: A, to: w2, over: A - Y}\n", 1},
		"a route that changes":                 {2, "", flow + "routes:\n  - {at: A, to: w2, over: A - Y}\n  - {at: A, to: w2, over: A - X, since: 500us}\n", 2},
		"a path around a link that is down":    {2, "", flow + "routes:\n  - {at: A, to: w2, over: A - Y}\nrouting: {recompute: 10us}\nevents:\n  - {at: 300us, link: A - Y, state: down}\n", 2},
		"one of many members, on a path apart": {130, "", "workload:\n  - {name: w, over: \"w[1-130]\", size: 20KB, load: 0.6}\nroutes:\n  - {at: A, to: \"w[2-130]\", over: A - Y}\n  - {at: A, to: w70, over: A - X, since: 1us}\n", 2},
		"feedback on equal paths":              {2, "", roce + ecmp, 2},
		"data the other way":                   {2, "", back + ecmp, 1},
		"notifications of a switch":            {2, "marking: {scheme: qcn, priority: 6}", back + ecmp, 2},
	} {
		for seed := range 4 {
			s := load(t, fmt.Sprintf(diamond, seed+1, c.marking, c.members)+c.rest)
			x := s.Switches[slices.IndexFunc(s.Switches, func(s scenario.Switch) bool { return s.Name == "X" })]
			if got := int(x.Memory.Bytes / x.High); got != c.want { // the headroom is small
				t.Errorf("%s, seed %d: the high watermark of X is %v, for %d priorities, want %d", name, seed+1, x.High, got, c.want)
			}
		}
	}
}

// Scenarios whose frames may take a path that does not suit them are refused, whichever path the
// seed chooses, and however many members a workload has.
func TestEveryPathIsChecked(t *testing.T) {
	const (
		pfc   = "link: {rate: 100Gb/s, flow-control: pfc}\n  switch: {kind: output-queued}\n  flow: {packet: 1000B, transport: rocev2, control: {algorithm: hpcc}}"
		plain = "link: {rate: 10Gb/s, flow-control: pfc}\n  switch: {kind: output-queued}"
		lanes = "link: {rate: 10Gb/s, lanes: {max-vls: 2}}\n  flow: {sl: 1}"
		back  = "routes: [{at: Y, to: w2, over: A - Y}]\n"
		later = "routes: [{at: Y, to: w70, over: A - Y, since: 5us}]\n"
		flow  = "flows: [{name: f, from: w1, to: w2}]\n"
		many  = "workload: [{name: w, over: \"w[1-130]\", size: 20KB, load: 0.1}]\n"
		rank  = "workload: [{name: w, over: \"w[1-130]\", size: 20KB, collective: all-to-all}]\n"
	)
	for name, c := range map[string]struct {
		defaults, odd, rest, want string // of the link Y - B
	}{
		"a loop":                                {plain, "", flow + back, "flow f may never arrive: of its equal paths one leads past"},
		"a loop for transfers":                  {plain, "", many + back, "may never arrive"},
		"a loop to one of many, later":          {plain, "", many + later, "may never arrive: of its equal paths one leads past"},
		"a loop for ranks":                      {plain, "", rank + later, "may never arrive"},
		"telemetry":                             {pfc, ", rate: 20Gb/s", flow, "flow f passes switch Y, and telemetry has no code for its output of 20Gb/s"},
		"telemetry of transfers":                {pfc, ", rate: 20Gb/s", many, "a transfer of workload w passes switch B, and telemetry has no code for its output of 20Gb/s"},
		"a service level":                       {lanes, ", lanes: {max-vls: 2, sl2vl: \"0,15\"}", flow, "packets of SL 1 of flow f would be dropped: sl2vl of link odd"},
		"a service level of transfers":          {lanes, ", lanes: {max-vls: 2, sl2vl: \"0,15\"}", many, "packets of SL 1 of a transfer of workload w would be dropped"},
		"a service level of ACKs, the way back": {lanes, ", lanes: {max-vls: 2, sl2vl: \"15,1\"}", "flows: [{name: f, from: w2, to: w1, ack-sl: 0}]\n", "packets of SL 0 of flow f would be dropped: sl2vl of link odd"},
	} {
		for seed := range 6 {
			text := fmt.Sprintf("name: diamond\nmodel: {duration: 1ms, seed: %d}\nrouting: ecmp\ndefaults:\n  %s\nswitches: {A: {}, X: {}, Y: {}, B: {}}\nendpoints: [\"w[1-130]\"]\n"+
				"links: [A - X, A - Y, X - B, {name: odd, between: Y - B%s}, w1 - A, \"w[2-130] - B\"]\n%s", seed+1, c.defaults, c.odd, c.rest)
			_, err := resolve.Load("diamond.yaml", []byte(text), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, seed %d: %v, want %q", name, seed+1, err, c.want)
			}
		}
	}
}
