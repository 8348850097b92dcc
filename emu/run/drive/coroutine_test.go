package drive

import (
	"runtime"
	"strings"
	"testing"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// called is a node that notes where it is called from.
type called struct {
	Node
	inGoroutine []bool
}

func (n *called) note() {
	var stack [4096]byte
	n.inGoroutine = append(n.inGoroutine, !strings.Contains(string(stack[:runtime.Stack(stack[:], false)]), "testing.tRunner"))
}

func (n *called) Receive(unit.Time, port.ID, *port.Arrival) { n.note() }
func (n *called) Advance(unit.Time)                         { n.note() }

// TestLateLoopCallsNodes: a node runs in its goroutine, but the loop calls it itself while it is
// late.
func TestLateLoopCallsNodes(t *testing.T) {
	n, late := &called{}, false
	s := slotted{Node: n}
	defer new(order).start(&s, &late)()
	for _, late = range []bool{false, true, false} {
		s.Receive(1, 0, nil)
		s.Advance(1)
	}
	want := []bool{true, true, false, false, true, true}
	for i, got := range n.inGoroutine {
		if got != want[i] {
			t.Errorf("call %d: in the node's goroutine %t, want %t", i, got, want[i])
		}
	}
	if len(n.inGoroutine) != len(want) {
		t.Errorf("%d calls, want %d", len(n.inGoroutine), len(want))
	}
}
