package fabric_test

import (
	"fmt"
	"slices"
	"testing"

	"fabemu/emu/fabric"
	"fabemu/wire"
	"fabemu/wire/unit"
)

const twoSizes = `
name: sizes
model: {duration: 1ms, seed: 1%s}
defaults: {link: {rate: 1GB/s, buffer: 4 packets}}
switches: {S: {}}
endpoints: [a, b, c]
links: [a - S, b - S, {name: slow, between: S - c, rate: 500MB/s}]
flows: [{name: small, from: a, to: c, packet: 256B}, {name: large, from: b, to: c, packet: 2048B}]
`

// The largest data frame of any flow sets the sizes: 2068 bytes in the paper's framing
// (HPL-2002-224, Table I), and what is sent in that of the wire.
func TestSizes(t *testing.T) {
	const header = 8 + 12 + 4 + 2 // LRH, BTH, ICRC, VCRC: IBTA Volume 1, 5.2
	for _, c := range []struct {
		framing string
		length  unit.Size
	}{{"", 2068}, {", framing: wire", 2048 + header}} {
		f := build(t, load(t, fmt.Sprintf(twoSizes, c.framing)))
		want := fabric.Sizes{Blocks: (2048 + header + wire.BlockSize - 1) / wire.BlockSize, Length: c.length, Datagram: 2048 + header + wire.TrailerSize}
		if got := f.Largest(); got != want {
			t.Errorf("framing %q: %+v, want %+v", c.framing, got, want)
		}
		ns := unit.Duration(c.length) * unit.Nanosecond // at 1 GB/s
		if got := f.Longest(); !slices.Equal(got, []unit.Duration{ns, ns, 2 * ns}) {
			t.Errorf("framing %q: durations %v", c.framing, got)
		}
	}
}

// A direction of a link has the link's name before those of its ends, if it has one.
func TestLinkName(t *testing.T) {
	f := build(t, load(t, fmt.Sprintf(twoSizes, "")))
	for _, c := range []struct {
		hop  fabric.Hop
		want string
	}{{fabric.Hop{Wire: 0}, "a-S"}, {fabric.Hop{Wire: 0, From: 1}, "S-a"}, {fabric.Hop{Wire: 2}, "slow.S-c"}, {fabric.Hop{Wire: 2, From: 1}, "slow.c-S"}} {
		if got := f.LinkName(c.hop); got != c.want {
			t.Errorf("%+v: %q, want %q", c.hop, got, c.want)
		}
	}
}
