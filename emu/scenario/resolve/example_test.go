package resolve_test

import (
	"fmt"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/unit"
)

// A mistake is told with its place, what is allowed and what may be meant.
func ExampleLoad() {
	const text = `name: mine
model: {duration: 1ms}
defaults: {link: {rate: 10Gb/s}}
endpoints: [a, b]
switches: {S: {}}
links: [a - S, b - S]
flows: [{name: f, from: a, to: b, windw: 2}]
`
	_, err := resolve.Load("mine.yaml", []byte(text), nil)
	fmt.Println(err)
	// Output:
	// mine.yaml:7:35: flows.f: unknown key "windw" (did you mean "window"?): allowed here are window, load, size, warm-up, name, group, from, to, start, stop, jitter, rate, burst, shape, count, drain, sl, ack-sl, depth, spread, packet, timeout, limiter, control and 4 more
	//     7 | flows: [{name: f, from: a, to: b, windw: 2}]
	//       |                                   ^
}

// A scenario that a program builds begins with the built-in defaults.
func ExampleNew() {
	s := scenario.New("two", unit.Millisecond)
	s.Switches = []scenario.Switch{scenario.NewSwitch("S")}
	s.Endpoints = scenario.NewEndpoints("a", "b")
	s.Links = []scenario.Link{scenario.NewLink("a", "S", 8e9), scenario.NewLink("b", "S", 8e9)}
	s.Flows = []scenario.Flow{scenario.NewFlow("f", "a", "b")}
	s.Flows[0].Window = 4
	fmt.Println(s.Links[0].Buffer, s.Switches[0].ForwardingDelay, s.Flows[0].Control.Algorithm)
	// Output:
	// 4 packets 40ns fixed
}
