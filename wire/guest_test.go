package wire_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"fabemu/wire"
)

// The bytes are those of a program in another language.
func TestGuestGolden(t *testing.T) {
	for _, c := range []struct {
		name   string
		kind   uint16
		body   string
		lane   uint8
		marked bool
		hex    string
	}{
		{"priority 0", 0x0800, "4502003c00010000401166ac0a0000010a000002c00112b700280000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 0, false,
			"02000000000502000000000308004502003c00010000401166ac0a0000010a000002c00112b700280000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f35e664dc"},
		{"priority 3", 0x0800, "4502003c00010000401166ac0a0000010a000002c00112b700280000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 3, false,
			"0200000000050200000000038100600008004502003c00010000401166ac0a0000010a000002c00112b700280000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f3605589f"},
		{"marked, ECT(0)", 0x0800, "4502003c00010000401166ac0a0000010a000002c00112b700280000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 0, true,
			"02000000000502000000000308004503003c00010000401166ab0a0000010a000002c00112b700280000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f3f2242af"},
		{"marked, ECT(1)", 0x0800, "4569003c00010000401166450a0000010a000002c00112b700280000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 0, true,
			"0200000000050200000000030800456b003c00010000401166430a0000010a000002c00112b700280000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f37dea2c4"},
		{"marked over IPv6", 0x86dd, "66a0000000281140fd000000000000000000000000000001fd000000000000000000000000000002c00112b700280000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 0, true,
			"02000000000502000000000386dd66b0000000281140fd000000000000000000000000000001fd000000000000000000000000000002c00112b700280000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fedb19821"},
		{"filled up", 0x6558, "aac1ab000001aac1ab0000020806000108000604000102000000000a", 0, false,
			"aac1ab000001aac1ab0000020806000108000604000102000000000a0000000000000000000000000000000000000000000000000000000000000000c9369f6b"},
		{"filled up behind the tag", 0x6558, "aac1ab000001aac1ab0000020806000108000604000102000000000a", 3, false,
			"aac1ab000001aac1ab000002810060000806000108000604000102000000000a000000000000000000000000000000000000000000000000000000000000000083d4dc09"},
		{"a VLAN of its own", 0x6558, "aac1ab000001aac1ab0000028100a00508004502003c00010000401166ac0a0000010a000002c00112b700280000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 3, true,
			"aac1ab000001aac1ab000002810060008100a00508004503003c00010000401166ab0a0000010a000002c00112b700280000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fc8ec6d99"},
		{"LLC", 0x6558, "aac1ab000001aac1ab00000200264242030000000000000000000000000000000000000000000000000000000000000000000000", 0, false,
			"aac1ab000001aac1ab000002002642420300000000000000000000000000000000000000000000000000000000000000000000000000000000000000dec9cf0d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var store wire.Bodies
			body, want := wire.Body{Type: c.kind, Bytes: unhex(t, c.body)}, unhex(t, c.hex)
			f := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Lane: c.lane, Src: 3, Dst: 5, QP: 0x12, PSN: 7}
			store.Put(&f, body)
			f.FECN = c.marked
			if c.marked && !f.ECT() {
				t.Error("it may not be marked")
			}
			if got := f.AppendBody(dirty(len(want)), store.Of(&f)); !bytes.Equal(got, want) {
				t.Errorf("AppendBody:\n%x, want\n%x", got, want)
			}
			if int(f.WireSize()) != len(want) {
				t.Errorf("WireSize %d, want %d", f.WireSize(), len(want))
			}
			if !bytes.Equal(store.Of(&f).Bytes, unhex(t, c.body)) {
				t.Error("the body was changed")
			}
			if f, err := wire.Parse(f.Delimiter(), want); err == nil {
				t.Errorf("Parse takes it for %+v", f)
			}
		})
	}
}

// The paths of a guest's frames follow from its addresses and ports; fragments have none, and their
// DSCP and mark do not count.
func TestGuestEntropy(t *testing.T) {
	const (
		first    = "450000300001000040116666" + "0a000001" + "0a000002" + "c00112b7001c0000"
		port     = "450000300001000040116666" + "0a000001" + "0a000002" + "c00212b7001c0000"
		address  = "450000300001000040116666" + "0a000001" + "0a000003" + "c00112b7001c0000"
		marked   = "456b00300002000040116666" + "0a000001" + "0a000002" + "c00112b7001c0001"
		fragment = "450000300001200040116666" + "0a000001" + "0a000002" + "c00112b7001c0000"
		another  = "450000300001000140116666" + "0a000001" + "0a000002" + "ffffffffffffffff"
	)
	of := func(hex string) uint32 {
		var store wire.Bodies
		f := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, QP: 2}
		store.Put(&f, wire.Body{Type: 0x0800, Bytes: unhex(t, hex)})
		return f.Entropy()
	}
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"ports": {first, port, false}, "addresses": {first, address, false}, "DSCP": {first, marked, true},
		"fragments": {fragment, another, true}, "a fragment and a whole packet": {first, fragment, false},
		"cut": {first[:40], fragment[:40], true},
	} {
		if same := of(c.a) == of(c.b); same != c.same {
			t.Errorf("%s: the same %v, want %v", name, same, c.same)
		}
	}
}

// Whatever a guest sends, its frame has as many bytes as it says, and its own are there.
func FuzzGuest(f *testing.F) {
	f.Add(uint16(0x0800), uint8(3), true, []byte("\x45\x02"))
	f.Add(uint16(0x86DD), uint8(0), true, bytes.Repeat([]byte{0x60}, 40))
	f.Add(uint16(0x6558), uint8(1), true, bytes.Repeat([]byte{0x81, 0}, 20))
	f.Add(uint16(0x22E9), uint8(0), false, bytes.Repeat([]byte{0x45}, 60))
	f.Fuzz(func(t *testing.T, kind uint16, lane uint8, marked bool, b []byte) {
		if kind < wire.LeastBodyType || kind == 0x6558 && len(b) < 14 || !wire.Ethernet.Carries(wire.MaxMSDU, wire.Body{Type: kind, Bytes: b}) {
			return
		}
		var store wire.Bodies
		f := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Lane: lane & 7, Src: 1, Dst: 2, QP: 3}
		store.Put(&f, wire.Body{Type: kind, Bytes: b})
		f.FECN = f.FECN || marked && f.ECT()
		got := f.AppendBody(nil, store.Of(&f))
		if len(got) != int(f.WireSize()) || len(got) < wire.MinFrame || len(got) > wire.MaxFrameSize {
			t.Errorf("%d bytes, and WireSize is %d", len(got), f.WireSize())
		}
		if kind == 0x6558 {
			b = b[12:]
		}
		if !marked && !bytes.Contains(got, b) {
			t.Errorf("%x does not contain %x", got, b)
		}
	})
}

// The packets are those of a program in another language.
const (
	guestData  = "456b004c00004000401126340a0000010a000002c12312b7003800000a40ffff0000001100000007000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fed13cd6d"
	guestCNP   = "45c0003c00004000401125ef0a0000020a000001c12312b7002800008100ffff400000120000000000000000000000000000000000000000a285a665"
	guestData6 = "66b0000000381140fd00000000000000000000000000000afd00000000000000000000000000000bc12312b70038e1d80a40ffff0000001100000007000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fe11e733c"
	guestCNP6  = "6c00000000281140fd00000000000000000000000000000bfd00000000000000000000000000000ac12312b7002845be8100ffff400000120000000000000000000000000000000000000000bf496b92"
	guestAck   = "4500003000004000401126bb0a0000020a000001c00112b7001c00001140ffff0000001200000007000000008bd7e305"
	guestUD    = "4500003c00004000401126af0a0000020a000001c00112b7002800006440ffff000000010000000980010000000012340000000000000000a9da5ceb"
)

func TestGuestRoCE(t *testing.T) {
	for _, c := range []struct {
		name, packet string
		kind         uint16
		head         int
		qp, psn      uint32
		sender       uint32
		ack          bool
		cnp          string // the answer
	}{
		{"data", guestData, 0x0800, 0, 0x11, 7, 0, false, guestCNP},
		{"over IPv6", guestData6, 0x86DD, 0, 0x11, 7, 0, false, guestCNP6},
		{"ACK", guestAck, 0x0800, 0, 0x12, 7, 0, true, ""},
		{"datagram", guestUD, 0x0800, 0, 1, 9, 0x1234, false, ""},
		{"in a frame with a tag", "aac1ab000001" + "aac1ab000002" + "8100a005" + "0800" + guestData + "0000", 0x6558, 18, 0x11, 7, 0, false, guestCNP},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := wire.Body{Type: c.kind, Bytes: unhex(t, c.packet)}
			p, ok := b.RoCE()
			if !ok || p.DestQP != c.qp || p.PSN != c.psn || p.Sender != c.sender || p.Acknowledges() != c.ack || p.Head != c.head {
				t.Fatalf("%v %+v", ok, p)
			}
			if got := p.AppendCNP(nil, 0x12, 48); c.cnp != "" && !bytes.Equal(got, unhex(t, c.cnp)) {
				t.Errorf("a CNP\n%x, want\n%s", got, c.cnp)
			}
		})
	}
	for name, change := range map[string]struct {
		at    int
		value byte
	}{
		"a fragment": {6, 0x20}, "a later fragment": {7, 9}, "another port": {23, 0}, "TCP": {9, 6}, "cut": {3, 255}, "short": {3, 43},
		"options beyond it": {0, 0x4F}, "reserved bits": {32, 1}, "another version": {0, 0x55}, "header of nothing": {0, 0x41},
	} {
		b := wire.Body{Type: 0x0800, Bytes: unhex(t, guestData)}
		b.Bytes[change.at] = change.value
		if p, ok := b.RoCE(); ok {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// A packet without the ECN field differs in that, and in the checksum of IPv4.
func TestClearECN(t *testing.T) {
	for packet, kind := range map[string]uint16{guestData: 0x0800, guestData6: 0x86DD, guestAck: 0x0800} {
		b, want := wire.Body{Type: kind, Bytes: unhex(t, packet)}, unhex(t, packet)
		switch b.ClearECN(); packet {
		case guestData:
			want[1], want[11] = 0x68, want[11]+3
		case guestData6:
			want[1] = 0x80
		}
		if !bytes.Equal(b.Bytes, want) {
			t.Errorf("%x, want\n%x", b.Bytes, want)
		}
	}
}

// Whatever a guest sends can be read, and an answer is a packet of RoCEv2 to the sender.
func FuzzGuestRoCE(f *testing.F) {
	for _, s := range []string{guestData, guestData6, guestAck, guestUD} {
		b, _ := hex.DecodeString(s)
		f.Add(uint16(0x0800), b)
		f.Add(uint16(0x86DD), b)
		f.Add(uint16(0x6558), append(make([]byte, 12), append([]byte{8, 0}, b...)...))
	}
	f.Fuzz(func(t *testing.T, kind uint16, b []byte) {
		body := wire.Body{Type: kind, Bytes: b}
		p, ok := body.RoCE()
		if !ok {
			return
		}
		back := wire.Body{Type: 0x0800, Bytes: p.AppendCNP(nil, 5, 48)}
		if p.IPv6 {
			back.Type = 0x86DD
		}
		a, ok := back.RoCE()
		if !ok || a.From != p.To || a.To != p.From || a.DestQP != 5 || a.Opcode != wire.RoCENotification {
			t.Errorf("%+v is answered by %+v", p, a)
		}
		if n := len(back.Bytes) - wire.ICRCSize; wire.RoCEICRC(back.Bytes[:n]) != binary.LittleEndian.Uint32(back.Bytes[n:]) {
			t.Errorf("a wrong ICRC")
		}
	})
}
