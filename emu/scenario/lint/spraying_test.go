package lint_test

import (
	"strings"
	"testing"
)

// A value that flows share has no effect only if all of them have one path.
func TestSprayThatIsShared(t *testing.T) {
	const text = `
name: shared
model: {duration: 2ms}
routing: {paths: ecmp}
defaults:
  link: {rate: 10Gb/s, propagation: 500ns, flow-control: none}
  flow: {packet: 1024B, transport: {kind: rocev2, order: direct, spray: oblivious}}
switches: {"l[1-2]": {kind: output-queued}, "s[1-2]": {kind: output-queued}}
endpoints: [a, b, c]
links: ["l[1-2] x s[1-2]", "a - l1", "b - l1", "c - l2"]
flows:
  - {name: near, from: a, to: b}
  - {name: far, from: b, to: c}
`
	for end, want := range map[string]int{"c": 0, "a": 1} {
		n := 0
		for _, w := range load(t, text, "flows.far.to="+end).Warnings {
			if strings.HasSuffix(w.Message, "there is one path: it has no effect") {
				n++
			}
		}
		if n != want {
			t.Errorf("with the second flow to %s there are %d warnings, want %d", end, n, want)
		}
	}
}
