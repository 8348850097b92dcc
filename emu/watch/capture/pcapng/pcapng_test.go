package pcapng_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/gopacket/pcapgo"

	"fabemu/emu/watch/capture/pcapng"
)

var (
	section = pcapng.Section{Application: "fabemu", Comment: "what it is", More: []string{"flow 2 all", "flow 3 none"}}
	ports   = []pcapng.Interface{
		{Link: pcapng.ERF, Name: "B:3 <- A", Description: "trunk.B-A", Comment: "a comment", Filter: "B:3", Speed: 8e9, FCS: -1},
		{Link: pcapng.Ethernet, Snap: 96, Name: "S:0 <- X", Speed: 10e9, FCS: 4},
	}
	packets = []pcapng.Packet{
		{Time: 1, Length: 3, Data: []byte{1, 2, 3}, Direction: pcapng.Inbound},
		{Interface: 1, Time: 5_000_000_001, Length: 1500, Data: []byte("0123456789abcdef"), Direction: pcapng.Outbound, FCS: 4, Comments: [][]byte{[]byte("first"), []byte("second one")}},
		{Interface: 1, Time: 1 << 40, Length: 0, Data: []byte{}, Errors: pcapng.CRCError | pcapng.DelimiterError},
	}
	names   = []pcapng.Name{{MAC: 0x020000000001, Text: "A1"}, {MAC: 0x02000000BFFF, Text: "sender-12"}}
	figures = []pcapng.Statistics{{Interface: 1, Time: 1 << 40, Received: 4, Dropped: 2, Comment: "Verdict: exact"}}
)

// sample returns the bytes of a capture.
func sample() []byte {
	b, _ := pcapng.AppendSection(nil, section)
	b = pcapng.AppendNames(b, names)
	for _, i := range ports {
		b = pcapng.AppendInterface(b, i)
	}
	for i := range packets {
		b = pcapng.AppendPacket(b, &packets[i])
	}
	for _, s := range figures {
		b = pcapng.AppendStatistics(b, s)
	}
	return b
}

// all reads a capture to its end.
func all(b []byte) (r *pcapng.Reader, got []pcapng.Packet, err error) {
	if r, err = pcapng.NewReader(bytes.NewReader(b)); err != nil {
		return nil, nil, err
	}
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r, got, nil
		}
		if err != nil {
			return r, got, err
		}
		c := *p
		c.Data = append([]byte{}, p.Data...)
		c.Comments = nil
		for _, text := range p.Comments {
			c.Comments = append(c.Comments, bytes.Clone(text))
		}
		got = append(got, c)
	}
}

func TestReaderReadsWhatIsWritten(t *testing.T) {
	r, got, err := all(sample())
	if err != nil {
		t.Fatal(err)
	}
	for _, diff := range []string{
		cmp.Diff([]string{"what it is", "flow 2 all", "flow 3 none"}, r.Comments), cmp.Diff(ports, r.Interfaces), cmp.Diff(packets, got), cmp.Diff(figures, r.Statistics), cmp.Diff(names, r.Names),
	} {
		if diff != "" {
			t.Error(diff)
		}
	}
}

// The usual library reads what we write, as far as it knows it.
func TestLibraryReadsWhatIsWritten(t *testing.T) {
	r, err := pcapgo.NewNgReader(bytes.NewReader(sample()), pcapgo.NgReaderOptions{WantMixedLinkType: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range packets {
		data, info, err := r.ReadPacketData()
		if err != nil {
			t.Fatalf("packet %d: %v", i, err)
		}
		if !bytes.Equal(data, want.Data) || info.Timestamp.UnixNano() != want.Time || info.Length != want.Length || info.InterfaceIndex != want.Interface {
			t.Errorf("packet %d: %q %+v, want %+v", i, data, info, want)
		}
	}
	if _, _, err := r.ReadPacketData(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	for i, want := range ports {
		got, err := r.Interface(i)
		if err != nil || got.Name != want.Name || got.Description != want.Description || got.Comment != want.Comment || got.Filter != want.Filter || int(got.LinkType) != int(want.Link) || got.SnapLength != want.Snap || got.TimestampResolution.Exponent() != pcapng.Nanoseconds {
			t.Errorf("interface %d: %+v, %v, want %+v", i, got, err, want)
		}
	}
	if got := r.SectionInfo(); got.Application != section.Application {
		t.Errorf("section %+v", got)
	}
}

// "Another of the same room can be written in its place."
func TestRoomForAComment(t *testing.T) {
	b, at := pcapng.AppendSection(nil, pcapng.Section{Comment: "not yet", Room: 40})
	copy(b[at:], pcapng.Fill("Verdict: exact", 40))
	r, _, err := all(b)
	if err != nil || len(r.Comments) != 1 || r.Comments[0] != "Verdict: exact                          " {
		t.Errorf("%q, %v", r.Comments, err)
	}
	if got := pcapng.Fill("longer than that", 6); got != "longer" {
		t.Errorf("%q", got)
	}
}

// The older format, in both byte orders and with both kinds of time stamps.
func TestOldFormat(t *testing.T) {
	for _, c := range []struct {
		magic uint32
		order binary.AppendByteOrder
		time  int64
	}{
		{0xA1B2C3D4, binary.LittleEndian, 7_000_009_000}, {0xA1B23C4D, binary.LittleEndian, 7_000_000_009},
		{0xA1B2C3D4, binary.BigEndian, 7_000_009_000}, {0xA1B23C4D, binary.BigEndian, 7_000_000_009},
	} {
		var b []byte
		for _, w := range []uint32{c.magic, 4<<16 | 2, 0, 0, 65535, 1, 7, 9, 2, 60} {
			b = c.order.AppendUint32(b, w)
		}
		r, got, err := all(append(b, "ab"...))
		want := []pcapng.Packet{{Time: c.time, Length: 60, Data: []byte("ab")}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil || r.Interfaces[0].Link != pcapng.Ethernet {
			t.Errorf("%x: %v %+v\n%s", c.magic, err, r.Interfaces, diff)
		}
	}
}

// What is wrong is an error with the offset of its block.
// Packets are read in each block that can hold one, also in the obsolete Packet Block, with the
// number of packets that are missing in front of it.
func TestEachBlockOfAPacketIsRead(t *testing.T) {
	for _, order := range []interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}{binary.LittleEndian, binary.BigEndian} {
		block := func(kind uint32, body ...byte) []byte {
			b := order.AppendUint32(order.AppendUint32(nil, kind), uint32(12+len(body)))
			return order.AppendUint32(append(b, body...), uint32(12+len(body)))
		}
		words := func(all ...uint32) (b []byte) {
			for _, w := range all {
				b = order.AppendUint32(b, w)
			}
			return b
		}
		half := func(a, b uint16) []byte { return order.AppendUint16(order.AppendUint16(nil, a), b) }
		section := block(0x0A0D0D0A, append(words(0x1A2B3C4D), append(half(1, 0), words(1<<32-1, 1<<32-1)...)...)...)
		port := block(1, append(half(1, 0), words(0)...)...)
		data := []byte("six by")
		tail := append(append([]byte{}, data...), 0, 0)
		options := append(append(half(2, 4), words(1|4<<5|1<<24)...), append(half(4, 8), order.AppendUint64(nil, 9)...)...)
		old := func(interfaceID, missing uint16) []byte {
			b := append(half(interfaceID, missing), words(0, 7, 6, 60)...)
			return block(2, append(append(b, tail...), append(options[:8:8], words(0)...)...)...)
		}
		capture := slices.Concat(section, port, old(0, 3), old(0, 0xFFFF),
			block(3, append(words(6), tail...)...),
			block(6, append(append(words(0, 0, 7, 6, 60), tail...), append(options, words(0)...)...)...), block(99, tail...))
		r, err := pcapng.NewReader(bytes.NewReader(capture))
		if err != nil {
			t.Fatal(err)
		}
		full := pcapng.Packet{Time: 7000, Length: 60, Data: data, Direction: pcapng.Inbound, FCS: 4, Errors: pcapng.CRCError}
		for i, want := range []func(pcapng.Packet) pcapng.Packet{
			func(p pcapng.Packet) pcapng.Packet { p.Missing = 3; return p },
			func(p pcapng.Packet) pcapng.Packet { return p },
			func(pcapng.Packet) pcapng.Packet { return pcapng.Packet{Length: 6, Data: data} },
			func(p pcapng.Packet) pcapng.Packet { p.Missing = 9; return p },
		} {
			p, err := r.Next()
			if err != nil {
				t.Fatalf("packet %d: %v", i, err)
			}
			if diff := cmp.Diff(want(full), *p, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("packet %d: %s", i, diff)
			}
		}
		if p, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%v, %v behind the packets", p, err)
		}
		for name, damaged := range map[string][]byte{"interface": old(1, 0), "short": block(2, words(0, 0, 0, 6)...), "longer than its block": block(2, words(0, 0, 0, 6, 6)...)} {
			var wrong *pcapng.Error
			if _, _, err := all(slices.Concat(section, port, damaged)); !errors.As(err, &wrong) || wrong.Offset != int64(len(section)+len(port)) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestErrorsHaveOffsets(t *testing.T) {
	good := sample()
	head, _ := pcapng.AppendSection(nil, section)
	first := len(head)
	for _, c := range []struct {
		name   string
		change func(b []byte) []byte
		offset int64
	}{
		{"empty", func(b []byte) []byte { return nil }, 0},
		{"neither", func(b []byte) []byte { return []byte("not a capture") }, 0},
		{"cut", func(b []byte) []byte { return b[:first+9] }, int64(first)},
		{"cut in the block", func(b []byte) []byte { return b[:first+20] }, int64(first)},
		{"length", func(b []byte) []byte { b[first+4]++; return b }, int64(first)},
		{"huge", func(b []byte) []byte { b[first+7] = 0x7F; return b }, int64(first)},
		{"other length at the end", func(b []byte) []byte { b[first-4] += 4; return b }, 0},
		{"byte order", func(b []byte) []byte { b[8] = 0; return b }, 0},
		{"version", func(b []byte) []byte { b[12] = 9; return b }, 0},
		{"no section", func(b []byte) []byte { return append([]byte{0x0A, 0x0D, 0x0D, 0x0A}, b[first:]...) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := all(c.change(bytes.Clone(good)))
			var wrong *pcapng.Error
			if !errors.As(err, &wrong) || wrong.Offset != c.offset {
				t.Errorf("%v, want an error at byte %d", err, c.offset)
			}
		})
	}
}

// A Reader never panics, and never takes more memory than the file warrants.
func FuzzReader(f *testing.F) {
	f.Add(sample())
	f.Add([]byte{0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, got, err := all(b)
		var wrong *pcapng.Error
		if err != nil && !errors.As(err, &wrong) {
			t.Fatalf("%T: %v", err, err)
		}
		n := 0
		for _, p := range got {
			n += len(p.Data)
		}
		if n > len(b) {
			t.Fatalf("%d bytes of packets in %d of file", n, len(b))
		}
	})
}
