package dump_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"fabemu/emu/watch/capture/dump"
	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
)

// LINKTYPE_INFINIBAND has packets from their LRH on, and flow control packets, which some programs
// fill up with zeros.
func TestLinkTypeInfiniBand(t *testing.T) {
	const link = pcapng.InfiniBand
	fcp := wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCCL: 9})}
	whole, credit := onIB.Append(nil), fcp.Append(nil)
	wrong := bytes.Clone(whole)
	wrong[len(wrong)-1] ^= 1
	wrongCredit := bytes.Clone(credit)
	wrongCredit[5] ^= 1
	for _, c := range []struct {
		name   string
		data   []byte
		length int
		want   wire.Frame
		badSum string
	}{
		{"data", whole, len(whole), onIB, ""},
		{"cut data", whole[:60], len(whole), onIB, ""},
		{"damaged data", wrong, len(whole), onIB, "VCRC"},
		{"credit", credit, len(credit), fcp, ""},
		{"credit in 64 bytes", append(bytes.Clone(credit), make([]byte, 58)...), 64, fcp, ""},
	} {
		got := decode(t, one(pcapng.Interface{Link: link, FCS: -1}, c.data, c.length))
		if got.Frame != c.want || got.BadSum != c.badSum || got.Err != nil || got.Cut != (c.length > len(c.data)) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if got := decode(t, one(pcapng.Interface{Link: link, FCS: -1}, wrongCredit, len(credit))); got.Err == nil {
		t.Errorf("a damaged flow control packet: %+v", got)
	}
}

// A packet of a link type that is not known was not read: it is never all right, and if there is no
// other the check is an error.
func TestUnknownLinkTypes(t *testing.T) {
	const usb pcapng.LinkType = 189
	check := func(b []byte) (string, error) {
		s, err := dump.Dump(new(bytes.Buffer), dump.Options{Check: true}, bytes.NewReader(b))
		return summary(t, s), err
	}
	all := one(pcapng.Interface{Link: usb, FCS: -1}, make([]byte, 64), 64)
	said, err := check(all)
	if err == nil || !strings.Contains(err.Error(), "link type 189 is not one of") || strings.Contains(said, "all right") {
		t.Errorf("%v\n%s", err, said)
	}
	said, err = check(one(pcapng.Interface{Link: pcapng.ERF, FCS: -1}, erf(48, make([]byte, 64)), 80))
	if err == nil || !strings.Contains(err.Error(), "ERF record of type 48 is not one of") || strings.Contains(said, "all right") {
		t.Errorf("%v\n%s", err, said)
	}
	b, _ := pcapng.AppendSection(nil, pcapng.Section{})
	b = pcapng.AppendInterface(b, pcapng.Interface{Link: usb, FCS: -1})
	b = pcapng.AppendInterface(b, pcapng.Interface{Link: pcapng.InfiniBand, FCS: -1})
	data := onIB.Append(nil)
	b = pcapng.AppendPacket(b, &pcapng.Packet{Length: 64, Data: make([]byte, 64)})
	b = pcapng.AppendPacket(b, &pcapng.Packet{Interface: 1, Length: len(data), Data: data})
	said, err = check(b)
	if err != nil || !strings.Contains(said, "reading          1 packets") || !strings.Contains(said, "incomplete: 1 packets have a link type") {
		t.Errorf("%v\n%s", err, said)
	}
}

// PAUSE and PFC frames of other programs and devices have any source, any time for each priority,
// and any padding.
func TestPausesOfOthers(t *testing.T) {
	head := []byte{0x01, 0x80, 0xC2, 0, 0, 1, 0x40, 0xA6, 0xB7, 0, 0, 3, 0x88, 0x08}
	pfc := append(bytes.Clone(head), 1, 1, 0, 0x18)
	for _, quanta := range []uint16{0, 0, 0, 65535, 7, 0, 0, 0} {
		pfc = binary.BigEndian.AppendUint16(pfc, quanta)
	}
	for _, c := range []struct {
		frame []byte
		want  string
	}{
		{append(bytes.Clone(head), 0, 1, 0xFF, 0xFF), "seen    pause quanta=65535\n"},
		{pfc, "seen    pfc classes=0x18 quanta3=65535 quanta4=7\n"},
		{append(bytes.Clone(head), 0, 2, 0, 0), "seen    other: MAC control of opcode 0002\n"},
	} {
		c.frame = append(c.frame, bytes.Repeat([]byte{0x5A}, 60-len(c.frame))...)
		for _, tag := range [][]byte{nil, {0x81, 0, 0x60, 0}} {
			frame := append(append(bytes.Clone(c.frame[:12]), tag...), c.frame[12:]...)
			if got, s := text(t, one(ethernet, frame, len(frame))); !strings.Contains(got, c.want) || s.Problems() > 0 {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			for n := 14 + len(tag); n < 18 && !strings.Contains(c.want, "opcode"); n++ {
				if p := decode(t, one(ethernet, frame[:n], n)); p.Err == nil {
					t.Errorf("%d bytes: %+v", n, p)
				}
			}
		}
	}
}
