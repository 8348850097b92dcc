package wire_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/wire"
)

var grh = wire.GRH{
	Version: 6, TrafficClass: 0x12, FlowLabel: 0x34567, PayLen: 12 + 8 + 4, NextHeader: wire.NextTransport, HopLimit: 63,
	SGID: [16]byte{0xFE, 0x80, 15: 1}, DGID: [16]byte{0xFE, 0x80, 15: 2},
}

// global is a packet with global routing.
func global() []byte {
	p := wire.LRH{VL: 3, SL: 2, LNH: wire.NextGRH, DLID: 5, Length: (8 + 40 + 12 + 8 + 4) / 4, SLID: 3}.Append(nil)
	p = wire.BTH{Opcode: 0x0C, Migrated: true, PKey: 0xFFFF, DestQP: 9, PSN: 4}.Append(grh.Append(p))
	p = append(p, 1, 2, 3, 4, 5, 6, 7, 8) // the front of what a READ request says
	p = append(p, make([]byte, 8)...)
	binary.BigEndian.PutUint16(p[4:], uint16(len(p)+4)/4)
	p = binary.LittleEndian.AppendUint32(p, wire.GlobalICRC(p))
	return binary.LittleEndian.AppendUint16(p, wire.VCRC(p))
}

func TestGRH(t *testing.T) {
	b := grh.Append(nil)
	got, rest, err := wire.ParseGRH(append(b, 7))
	if err != nil || got != grh || !bytes.Equal(rest, []byte{7}) {
		t.Errorf("%v, %x\n%s", err, rest, cmp.Diff(grh, got))
	}
	for n := range b {
		if _, _, err := wire.ParseGRH(b[:n]); !refusedFor(err, wire.ParseError{Field: "GRH", Offset: n, Reason: wire.ErrTruncated}) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	b[0] = 0x40
	if _, _, err := wire.ParseGRH(b); !refusedFor(err, wire.ParseError{Field: "GRH.IPVer", Offset: 0, Reason: wire.ErrUnsupported}) {
		t.Errorf("version 4: %v", err)
	}
}

func TestParsePacketReadsGlobalRouting(t *testing.T) {
	b := global()
	h, err := wire.ParsePacket(b, len(b))
	if err != nil || !h.Local || !h.Global || h.GRH != grh || h.BTH.Opcode.String() != "RC READ request" || h.Payload != 0 || !h.Checked || h.BadICRC || h.BadVCRC {
		t.Errorf("%+v, %v", h, err)
	}
	// What routers and switches may change leaves the ICRC as it is, all else does not.
	for i := range b[:len(b)-6] {
		c := bytes.Clone(b)
		c[i] ^= 1
		variant := i < 8 || i == 8+0 || i >= 8+1 && i <= 8+3 || i == 8+7 || i == 48+4
		if got := wire.GlobalICRC(c[:len(c)-6]) == wire.GlobalICRC(b[:len(b)-6]); got != variant && i != 8+6 && i != 8 {
			t.Errorf("byte %d: the ICRC stays: %v, want %v", i, got, variant)
		}
	}
	for n := range b { // what is cut is read as far as its headers go, or refused
		h, err := wire.ParsePacket(b[:n], len(b))
		if whole := n >= 60; (err == nil) != whole || err == nil && h.Checked {
			t.Errorf("%d bytes: %+v, %v", n, h, err)
		}
	}
}

// A CNP of RoCEv2, as a ConnectX-4 Lx sent it.
func TestRoCE(t *testing.T) {
	b := unhex(t, "45c2003c 718c4000 40119161 0a001101 0a001201 000012b7 00280000 8100ffff 40000118 00000000 00000000000000000000000000000000 82fd002a")
	h, err := wire.ParseRoCE(b, len(b))
	if err != nil || h.Local || h.Global || h.BTH.Opcode != wire.RoCENotification || !h.BTH.BECN || h.BTH.DestQP != 0x118 || h.Payload != 16 || !h.Checked || h.BadICRC {
		t.Errorf("%+v, %v", h, err)
	}
	b[30] ^= 1
	if h, err := wire.ParseRoCE(b, len(b)); err != nil || !h.BadICRC {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestOpcodeNames(t *testing.T) {
	for o, want := range map[wire.Opcode]string{
		0x00: "RC SEND first", 0x04: "RC SEND only", 0x11: "RC ACK", 0x0A: "RC WRITE only", 0x24: "UC SEND only", 0x64: "UD SEND only",
		0x80: "CNP", 0x81: "CNP", 0xA4: "XRC SEND only", 0x15: "opcode 0x15", 0xE4: "opcode 0xe4", 0x1F: "opcode 0x1f",
	} {
		if got := o.String(); got != want {
			t.Errorf("%#x is %q, want %q", uint8(o), got, want)
		}
	}
}

// What others write is read or refused with the offset of what is wrong.
func FuzzForeign(f *testing.F) {
	f.Add(global(), 0)
	f.Add(global()[8:], 3)
	for _, c := range foreign {
		f.Add(unhex(f, c.hex), 0)
	}
	f.Fuzz(func(t *testing.T, b []byte, more int) {
		size := len(b) + more&0xFFF
		for _, parse := range []func([]byte, int) (wire.Headers, error){wire.ParsePacket, wire.ParseRoCE} {
			h, err := parse(b, size)
			if err == nil {
				if h.Payload < 0 || h.Checked != (len(b) == size) {
					t.Fatalf("%+v", h)
				}
				continue
			}
			if refused, ok := err.(*wire.ParseError); !ok || refused.Offset > size {
				t.Fatalf("%T: %v", err, err)
			}
		}
	})
}
