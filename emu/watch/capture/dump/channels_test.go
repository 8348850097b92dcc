package dump

import (
	"testing"

	"fabemu/wire"
)

// The counters of virtual channels only rise; a counter that runs back is found, once, and one that
// wraps is not.
func TestCountersOfChannels(t *testing.T) {
	freed := func(v uint32) wire.Frame {
		return wire.Frame{Kind: wire.CFUpdate, Extension: wire.ExtensionOf(wire.OrderedSetExtension{First: wire.ChannelWord(3, v), Second: wire.ChannelWord(3, v)})}
	}
	consumed := func(v uint32) wire.Frame {
		p := wire.CCOf(true)
		p.Set(17, v)
		return wire.Frame{Kind: wire.CCUpdate, Extension: wire.ExtensionOf(p)}
	}
	c, at := NewChecker(), where{number: 4}
	for i, step := range []struct {
		frame wire.Frame
		found int
	}{
		{freed(100), 0}, {freed(16000), 0}, {freed(30000), 0}, {freed(29999), 1}, {consumed(9), 1}, {consumed(wire.CreditModulus/2 + 8), 1},
		{consumed(3), 1}, {consumed(2), 2}, {freed(7), 2},
	} {
		c.counters(&Packet{Frame: step.frame}, at, true)
		if c.Found[Credit] != step.found {
			t.Errorf("step %d: %d problems, want %d", i, c.Found[Credit], step.found)
		}
	}
}
