package resolve_test

import (
	"reflect"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// What a program makes has the defaults of a file that says nothing. On a link with credit a flow
// of a file has no priority, and a jitter of its own.
func TestDefaultsOfPrograms(t *testing.T) {
	s := load(t, `name: n
model: {duration: 10ms}
switches: {S: {}}
endpoints: [a, b]
links: [{between: a - S, rate: 1GB/s}, {between: S - b, rate: 1GB/s}]
flows: [{name: f, from: a, to: b}]
`)
	flow := scenario.NewFlow("f", "a", "b")
	flow.Jitter = s.Flows[0].Jitter
	of := scenario.New("n", 10*unit.Millisecond)
	for _, tc := range [][2]any{
		{scenario.NewSwitch("S"), s.Switches[0]}, {scenario.NewLink("a", "S", 8e9), s.Links[0]}, {flow, s.Flows[0]},
		{scenario.NewEndpoints("a", "b"), s.Endpoints}, {of.Model, s.Model}, {of.Wall, s.Wall}, {of.Routing, s.Routing},
	} {
		if !reflect.DeepEqual(tc[0], tc[1]) {
			t.Errorf("a program makes\n%+v\nand a file\n%+v", tc[0], tc[1])
		}
	}
}
