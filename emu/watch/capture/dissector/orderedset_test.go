package dissector_test

import (
	"bytes"
	"testing"

	"fabemu/emu/watch/capture"
	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// sets returns a capture of control ordered sets and CC_Updates of Ultra Ethernet, as a run writes
// it.
func sets(t *testing.T) string {
	t.Helper()
	cc := wire.CCOf(false)
	cc.Set(3, 70000)
	cc.Set(8, 9)
	var b bytes.Buffer
	c := capture.New(&b, capture.Options{Ports: ports, Request: capture.Request{Both: true}})
	for i, f := range []wire.Frame{
		{Kind: wire.CFUpdate, Src: 1, Extension: wire.ExtensionOf(wire.OrderedSetExtension{First: wire.ChannelWord(3, 0x1234), Second: wire.ChannelWord(31, 5)})},
		{Kind: wire.LLRAck, Src: 1, Extension: wire.ExtensionOf(wire.OrderedSetExtension{First: 0xABCDE})},
		{Kind: wire.LLRInit, Src: 1, Extension: wire.ExtensionOf(wire.OrderedSetExtension{First: 7, Second: 0xBEEF})},
		{Kind: wire.CCUpdate, Src: 1, Extension: wire.ExtensionOf(cc)},
	} {
		at := unit.Time(i+1) * 1e9
		c.Sent(2, &port.Transmission{Port: 1, Frame: f, Start: at, Note: port.Note{Credit: -1}}, wire.Body{}, at, 0, 0)
	}
	c.End()
	if err := c.Close(""); err != nil {
		t.Fatal(err)
	}
	// A frame on a veth pair with a sequence of the retry.
	f := wire.Frame{Kind: wire.LLRNack, Src: 1, Extension: wire.ExtensionOf(wire.OrderedSetExtension{First: 6})}
	trailer := wire.Trailer{Run: 0xABCD1234, Delimiter: wire.StartOfFrame, Preamble: wire.Sequenced(0xABCDE)}
	d := trailer.AppendPreamble(f.Append([]byte{2, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 3, 0x88, 0xB6}))
	all := pcapng.AppendInterface(b.Bytes(), pcapng.Interface{Link: pcapng.Ethernet, FCS: -1})
	all = pcapng.AppendPacket(all, &pcapng.Packet{Interface: len(ports), Time: 9e6, Length: len(d), Data: d})
	return save(t, all)
}

// Wireshark shows control ordered sets and CC_Updates.
func TestOrderedSets(t *testing.T) {
	u := newUser(t)
	want := map[string]int{
		"fabemu.retry == 703710 && ctlos.type == 2": 1, "ctlos": 4, "ctlos.vc == 3 && ctlos.cf == 0x1234 && ctlos.vc == 31 && ctlos.cf == 5": 1,
		"ctlos.type == 1 && ctlos.seq == 0xabcde": 1, "ctlos.type == 3 && ctlos.data == 0xbeef": 1, "macc": 1, "_ws.malformed": 0,
		"ccupdate": 1, "ccupdate.vc == 3 && ccupdate.cc == 70000": 1, "ccupdate.vc == 8 && ccupdate.cc == 9": 1,
	}
	var filters []string
	for f := range want {
		filters = append(filters, f)
	}
	for i, n := range u.counts(sets(t), filters) {
		if n != want[filters[i]] {
			t.Errorf("%s finds %d frames, want %d", filters[i], n, want[filters[i]])
		}
	}
}
