package dump_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/watch/capture"
	"fabemu/emu/watch/capture/dump"
	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// one returns a capture of one packet.
func one(i pcapng.Interface, data []byte, length int) []byte {
	b, _ := pcapng.AppendSection(nil, pcapng.Section{})
	return pcapng.AppendPacket(pcapng.AppendInterface(b, i), &pcapng.Packet{Length: length, Data: data})
}

// decode reads the first packet of a capture.
func decode(t testing.TB, b []byte) dump.Packet {
	t.Helper()
	r, err := pcapng.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	var d dump.Decoder
	return d.Decode(r, raw)
}

// text prints a capture, and what was found.
func text(t testing.TB, b []byte) (string, *dump.Summary) {
	t.Helper()
	var out strings.Builder
	s, err := dump.Dump(&out, dump.Options{Check: true}, bytes.NewReader(b))
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return out.String(), s
}

// erf puts a packet into an ERF record of a type.
func erf(kind byte, p []byte) []byte {
	b := append(make([]byte, 8), kind, 4)
	b = binary.BigEndian.AppendUint16(b, uint16(16+len(p)))
	b = append(b, 0, 0)
	return append(binary.BigEndian.AppendUint16(b, uint16(len(p))), p...)
}

var (
	erfPort  = pcapng.Interface{Link: pcapng.ERF, FCS: -1}
	ethernet = pcapng.Interface{Link: pcapng.Ethernet, FCS: -1}
)

// grh is the header in front of this many bytes of a packet with global routing.
func grh(n uint16) []byte {
	b := binary.BigEndian.AppendUint16([]byte{0x60, 0, 0, 0}, n)
	b = append(b, 0x1B, 64)
	for node := range byte(2) { // fe80::1, fe80::2
		b = append(append(append(b, 0xFE, 0x80), make([]byte, 13)...), node+1)
	}
	return b
}

// rocePacket is one of RoCEv1: a GRH, a SEND and an ICRC.
func rocePacket() []byte {
	p := wire.BTH{Opcode: wire.RCSendOnly, Migrated: true, PKey: 0xFFFF, DestQP: 0x12, AckReq: true, PSN: 7}.Append(grh(12 + 64 + 4))
	p = append(p, make([]byte, 64)...)
	p = binary.LittleEndian.AppendUint32(p, wire.RoCEICRC(p))
	return append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x89, 0x15}, p...)
}

// roceV2Packet is one of RoCEv2 by another program, with a SEND, an ICRC and no FCS, between two
// nodes of its own whose addresses are those of nodes of a fabric.
func roceV2Packet(t testing.TB) []byte {
	return unhex(t, "020000000002 020000000001 81006000 0800"+
		"456a006c 00014000 40112614 0a000001 0a000002"+"c00012b7 00580000"+"0400ffff 00000011 00000000"+
		strings.Repeat("00", 64)+"8ef32bd0")
}

// Addresses and EtherTypes do not make a frame one of a fabric: other programs use them too. The
// capture of a run does, and all of its bytes do.
func TestAddressesOfFabrics(t *testing.T) {
	pause := (&wire.Frame{Kind: wire.Pause, Src: 3, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 7})}).Append(nil)
	strange := bytes.Clone(pause)
	strange[6] = 0x40 // of no node
	strange = append(strange[:len(strange)-wire.FCSSize], binary.LittleEndian.AppendUint32(nil, wire.FCS(strange[:len(strange)-wire.FCSSize]))...)
	bad := bytes.Clone(strange)
	bad[20] ^= 1
	tcp := unhex(t, "020000000002 020000000001 0800 45000028 1234 4000 40060000 c0a80001 c0a80002 04d20050 00000000 00000000 50020400 00000000")
	for _, c := range []struct {
		name    string
		data    []byte
		fcs     int
		ofRun   bool
		want    string
		badSum  string
		refused bool
	}{
		{"RoCEv2", roceV2Packet(t), -1, false, "roce-v2", "", false},
		{"RoCEv2 in a run", roceV2Packet(t), -1, true, "unreadable", "", true},
		{"TCP", tcp, -1, false, "other: IP protocol 6", "", false},
		{"a frame of a fabric", pause, 4, false, "pause quanta=7", "", false},
		{"PAUSE of another network card", strange, 4, false, "pause quanta=7", "", false},
		{"and damaged", bad, 4, false, "pause quanta=7", "FCS", false},
		{"and in a run", strange, 4, true, "unreadable", "", true},
	} {
		application := ""
		if c.ofRun {
			application = "fabemu"
		}
		b, _ := pcapng.AppendSection(nil, pcapng.Section{Application: application})
		b = pcapng.AppendInterface(b, pcapng.Interface{Link: pcapng.Ethernet, FCS: c.fcs})
		b = pcapng.AppendPacket(b, &pcapng.Packet{Length: len(c.data), Data: c.data})
		said, s := text(t, b)
		p := decode(t, b)
		if !strings.Contains(said, c.want) || p.BadSum != c.badSum || (p.Err != nil) != c.refused {
			t.Errorf("%s: %q, %v\n%s", c.name, p.BadSum, p.Err, said)
		}
		if want := c.badSum != "" || c.refused; (s.Problems() > 0) != want {
			t.Errorf("%s: %v", c.name, s.Found)
		}
	}
	damaged := roceV2Packet(t)
	damaged[60] ^= 1
	if p := decode(t, one(ethernet, damaged, len(damaged))); p.BadSum != "ICRC" {
		t.Errorf("a damaged packet: %+v", p)
	}
}

// globalPacket is one of InfiniBand with global routing.
func globalPacket() []byte {
	p := append(wire.LRH{VL: 3, LNH: wire.NextGRH, DLID: 5, Length: (8 + 40 + 12 + 16 + 4) / 4, SLID: 3}.Append(nil), grh(12+16+4)...)
	p = append(wire.BTH{Opcode: 0x0C, Migrated: true, PKey: 0xFFFF, DestQP: 9, PSN: 4}.Append(p), make([]byte, 16)...)
	p = binary.LittleEndian.AppendUint32(p, wire.GlobalICRC(p))
	return binary.LittleEndian.AppendUint16(p, wire.VCRC(p))
}

// A packet of InfiniBand or RoCE is read as far as it is there. Its checksums are verified where
// all of it is.
func TestForeignPacketsThatAreCutOrDamaged(t *testing.T) {
	for _, c := range []struct {
		name    string
		on      pcapng.Interface
		packet  []byte
		header  int // bytes that must be there: as far as the BTH
		damaged int // a byte of its content
		bad     string
	}{
		{"global", erfPort, erf(21, globalPacket()), 16 + 8 + 40 + 12, 16 + 8 + 40 + 12 + 3, "ICRC and VCRC"},
		{"RoCE", ethernet, rocePacket(), 14 + 40 + 12, 14 + 40 + 12 + 3, "ICRC"},
		{"RoCEv2", ethernet, roceV2Packet(t), 18 + 20 + 8 + 12, 18 + 20 + 8 + 12 + 3, "ICRC"},
	} {
		for n := c.header - 12; n <= len(c.packet); n++ {
			p := decode(t, one(c.on, c.packet[:n], len(c.packet)))
			if read := n >= c.header; (p.Headers != nil) != read || (p.Err == nil) != read || read && p.Cut != (n < len(c.packet)) || p.BadSum != "" {
				t.Errorf("%s, %d of %d bytes: %+v", c.name, n, len(c.packet), p)
			}
		}
		damaged := bytes.Clone(c.packet)
		damaged[c.damaged] ^= 1
		if p := decode(t, one(c.on, damaged, len(damaged))); p.BadSum != c.bad || p.Headers == nil {
			t.Errorf("%s, damaged: %+v", c.name, p)
		}
	}
}

// Packets that others wrote are read as far as their headers go, and their
// checksums are verified.
func TestForeignPackets(t *testing.T) {
	for _, c := range foreign(t) {
		t.Run(c.name, func(t *testing.T) {
			p := decode(t, one(c.on, c.data, len(c.data)))
			got := string(p.Append(nil, dump.Names{}))
			if _, got, _ = strings.Cut(got, "seen    "); got != c.want {
				t.Errorf("%s\nwant\n%s", got, c.want)
			}
			if p.BadSum != "" || p.Cut {
				t.Errorf("wrong: %q, cut: %v", p.BadSum, p.Cut)
			}
		})
	}
}

type sample struct {
	name string
	on   pcapng.Interface
	data []byte
	want string
}

func foreign(t testing.TB) []sample {
	return []sample{
		{
			"InfiniBand with arbitrary fields", erfPort,
			erf(21, unhex(t, "7012375C000E17D2 0A2024870087B1B3000DEC2A 01710A1C015D400238F27A050000000EBB884D85FD5CFBA4728BC0690ED40000 9625B75A 45FA")),
			`infiniband opcode=0x0a qp=8892851 psn=912426 lane=7 src=6098 dst=14172 bytes=58`,
		}, {
			"content", erfPort, erf(21, unhex(t, "0002000500080003 0440FFFF8000001280000007 0001020304050607 EC99BF58 6FF0")),
			`infiniband opcode=0x04 qp=18 psn=7 lane=0 src=3 dst=5 fecn bytes=34`,
		}, {
			"CNP of InfiniBand", erfPort, erf(21, unhex(t, "0002000500060003 8040FFFF4000001200000000 8CBD2096 C881")),
			`infiniband opcode=0x80 qp=18 psn=0 lane=0 src=3 dst=5 becn bytes=26`,
		}, {
			"RoCE", ethernet, rocePacket(),
			`roce opcode=0x04 qp=18 psn=7 bytes=120`,
		}, {
			"CNP of RoCEv2, captured on a ConnectX-4 Lx", ethernet,
			unhex(t, "e41d2dab2bc2 7cfe90643b32 0800"+
				"45c2003c 718c4000 40119161 0a001101 0a001201"+
				"000012b7 00280000"+
				"8100ffff 40000118 00000000"+"00000000 00000000 00000000 00000000"+"82fd002a"),
			`roce-v2 opcode=0x81 qp=280 psn=0 becn bytes=60`,
		}, {
			"not ours", ethernet, unhex(t, "FFFFFFFFFFFF 020000000001 0806 0001"), "other: EtherType 0806",
		},
	}
}

var (
	ports = []capture.Port{
		{Node: 0, Name: "A:0 <- B", Rate: 8e9}, {Node: 1, Name: "B:0 <- A", Rate: 8e9},
		{Node: 0, Port: 1, Name: "A:1 <- C", Rate: 10e9, Ethernet: true}, {Node: 2, Name: "C:0 <- A", Rate: 10e9, Ethernet: true},
	}
	onIB  = wire.Frame{Kind: wire.Data, Src: 1, Dst: 2, QP: 7, Payload: 128}
	onEth = wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Lane: 3, Src: 1, Dst: 3, QP: 8, Payload: 100}

	onRoCE, onRoCEv6 = roce(wire.RoCE{DSCP: 26, ECT: true, AckReq: true}), roce(wire.RoCE{IPv6: true})
)

// roce returns a packet of RoCEv2.
func roce(r wire.RoCE) wire.Frame {
	f := wire.Frame{Kind: wire.Data, Family: wire.RoCEv2, Lane: 3, Src: 1, Dst: 3, QP: 9, PSN: 2, Payload: 128}
	f.SetRoCE(r)
	return f
}

// tap writes a capture by hand, of what A sends and what comes to it.
type tap struct {
	*capture.Capture
	out bytes.Buffer
}

func newTap() *tap {
	t := &tap{}
	t.Capture = capture.New(&t.out, capture.Options{Ports: ports, Names: map[uint32]string{7: "all.A", 8: "over"}, Request: capture.Request{Both: true}})
	return t
}

func (t *tap) sent(p int, at unit.Time, f wire.Frame) {
	t.Sent(p, &port.Transmission{Port: port.ID(p / 2), Frame: f, Start: at, Note: port.Note{Credit: -1}}, wire.Body{}, at, 0, 0)
}

func (t *tap) came(p int, at unit.Time, f wire.Frame) {
	t.Received(p^1, &port.Arrival{Frame: f}, wire.Body{}, at, 0)
}

func (t *tap) bytes() []byte {
	t.End()
	t.Close("")
	return t.out.Bytes()
}

func numbered(f wire.Frame, psn uint32) wire.Frame { f.PSN = psn; return f }

// good is a capture in which all is right: credit for two frames, and pauses that
// are kept. A class of PFC at 10 Gb/s stops for 100 quanta: 5.12 µs.
func good() *tap {
	t := newTap()
	t.sent(0, 0, wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{Op: wire.OpInit, FCCL: 6})})
	t.came(0, 1000, wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{Op: wire.OpInit, FCCL: 6})})
	t.sent(0, 2000, numbered(onIB, 0))
	t.sent(0, 1_000_000, numbered(onIB, 1))
	t.came(0, 2_000_000, wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCTBS: 0, FCCL: 9})})
	t.sent(0, 3_000_000, numbered(onIB, 2))
	t.sent(0, 4_000_000, wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCTBS: 9, FCCL: 6})})
	t.came(2, 5_000_000, wire.Frame{Kind: wire.PriorityPause, Src: 3, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 8, Stopped: 8, Quanta: 100})})
	t.sent(2, 10_120_000, numbered(onEth, 0))
	t.came(2, 11_000_000, wire.Frame{Kind: wire.Pause, Src: 3, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 100})})
	t.came(2, 12_000_000, wire.Frame{Kind: wire.Pause, Src: 3})
	t.sent(2, 12_000_000, numbered(onEth, 1))
	t.came(2, 13_000_000, told(1, wire.BCNMild, -10))
	t.sent(2, 14_000_000, limited(2, cpid))
	t.came(2, 14_500_000, told(2, 0, 10))
	t.sent(2, 14_600_000, probe)
	t.came(2, 14_900_000, answer(0))
	return t
}

// probe is one of the flow of onEth.
var probe = wire.Frame{Kind: wire.Probe, Lane: 3, Src: 1, Dst: 3, QP: onEth.QP, PSN: 5, Extension: wire.ExtensionOf(wire.ProbeExtension{Bytes: 75000, SentAt: 14_500_000})}

// answer returns the answer to it, of which one thing is wrong.
func answer(wrong int) wire.Frame {
	f := probe
	f.Src, f.Dst, f.Lane, f.Flags, f.Probe().CameAt = 3, 1, 7, wire.ProbeAnswer, 14_700_000
	switch wrong {
	case 1:
		f.Probe().Bytes--
	case 2:
		f.Probe().SentAt--
	case 3:
		f.Probe().CameAt = f.Probe().SentAt - 1
	}
	return f
}

// cpid is a congestion point that told sends messages of, about the n-th frame of onEth.
const cpid = 0x00190200000000AA

func told(psn uint32, flags uint8, qoff int16) wire.Frame {
	return wire.Frame{Kind: wire.BCN, Lane: 6, Src: 0xAA, Dst: 1, QP: onEth.QP, PSN: psn, Payload: 100, Flags: flags, Extension: wire.ExtensionOf(wire.SampleExtension{Lane: 3, Dst: 3, QOffset: qoff}), CPID: cpid}
}

// limited returns a frame of onEth with a rate-limited tag.
func limited(psn uint32, cpid uint64) wire.Frame {
	f := numbered(onEth, psn)
	f.CPID = cpid
	return f
}

func TestNothingIsWrongWithARightCapture(t *testing.T) {
	out, s := text(t, good().bytes())
	if s.Problems() != 0 || s.Packets != 17 {
		t.Errorf("%d problems in %d packets:\n%s", s.Problems(), s.Packets, out)
	}
	for _, k := range dump.Kinds() {
		if s.Checked[k] == 0 && k != dump.Deliveries { // which has its own tests: the nodes here have no names
			t.Errorf("nothing is checked of %s", k)
		}
	}
	if !strings.Contains(out, "start   data flow=all.A psn=0 lane=0 src=1 dst=2 bytes=154") || !strings.Contains(out, "A:1 <- C          arrive  pfc classes=0x08 stopped=0x08 quanta=100 bytes=64") ||
		!strings.Contains(out, "arrive  bcn flow=over psn=1 qoff=-10 qdelta=0 mild cpid=0x190200000000aa bytes=106") || !strings.Contains(out, "start   data flow=over psn=2 lane=3 src=1 dst=3 rlt=0x190200000000aa bytes=136") {
		t.Error(out)
	}
	if !strings.Contains(out, "start   probe flow=over psn=5 bytes=75000 sent=14.5us bytes=64") || !strings.Contains(out, "arrive  probe flow=over psn=5 bytes=75000 sent=14.5us answer came=14.7us bytes=64") {
		t.Error(out)
	}
}

// For each kind of check, a capture that it must not pass.
func TestEachCheckFindsWhatItIsFor(t *testing.T) {
	// flip changes a byte of the n-th packet of a capture.
	flip := func(b []byte, n, at int) []byte {
		for from := 0; from < len(b); {
			size := int(binary.LittleEndian.Uint32(b[from+4:]))
			if binary.LittleEndian.Uint32(b[from:]) == 6 {
				if n--; n < 0 {
					b[from+28+at] ^= 0x10
					return b
				}
			}
			from += size
		}
		t.Fatal("no such packet")
		return nil
	}
	const inERF = 16
	for _, c := range []struct {
		name  string
		bytes func() []byte
		kind  dump.Kind
		words string
	}{
		{"payload", func() []byte { return flip(good().bytes(), 2, inERF+40) }, dump.Checksum, "packet 3: checksum: ICRC and VCRC is wrong"},
		{"VCRC", func() []byte { return flip(good().bytes(), 2, inERF+153) }, dump.Checksum, "packet 3: checksum: VCRC is wrong"},
		{"ICRC", func() []byte {
			b := onIB.Append(nil)
			b[40] = 1
			binary.LittleEndian.PutUint16(b[len(b)-2:], wire.VCRC(b[:len(b)-2]))
			return one(erfPort, erf(21, b), 16+len(b))
		}, dump.Checksum, "packet 1: checksum: ICRC is wrong"},
		{"LPCRC", func() []byte { return flip(good().bytes(), 4, inERF+5) }, dump.Checksum, "packet 5: checksum: FCP.LPCRC is wrong"},
		{"FCS", func() []byte { return flip(good().bytes(), 8, 50) }, dump.Checksum, "packet 9: checksum: FCS is wrong"},
		{"ICRC of RoCE", func() []byte { b := rocePacket(); b[80] ^= 1; return one(ethernet, b, len(b)) }, dump.Checksum, "checksum: ICRC is wrong"},
		{"ICRC of RoCEv2", func() []byte {
			b := onRoCE.Append(nil)
			b[len(b)-8] ^= 1
			binary.LittleEndian.PutUint32(b[len(b)-4:], wire.FCS(b[:len(b)-4]))
			return one(ethernet, b, len(b))
		}, dump.Checksum, "checksum: ICRC is wrong"},
		{"payload of RoCEv2", func() []byte { b := onRoCEv6.Append(nil); b[120] ^= 1; return one(ethernet, b, len(b)) }, dump.Checksum, "checksum: FCS is wrong"},
		{"no credit", func() []byte {
			g := good()
			g.sent(0, 20_000_000, numbered(onIB, 3))
			return g.bytes()
		}, dump.Credit, "packet 18: credit: lane 0 is overdrawn: 12 blocks were sent with this frame of 3, the limit is 9"},
		{"FCTBS", func() []byte {
			g := good()
			g.sent(0, 20_000_000, wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCTBS: 12, FCCL: 6})})
			return g.bytes()
		}, dump.Credit, "packet 18: credit: lane 0: FCTBS states that 12 blocks were sent, the capture has 9"},
		{"packet that is missing", func() []byte {
			g := good()
			g.sent(2, 20_000_000, numbered(onEth, 4))
			return g.bytes()
		}, dump.Sequence, "packet 18: sequence: data of queue pair 8: packet 4 follows 2"},
		{"packet that is late", func() []byte {
			g := good()
			for i, psn := range []uint32{5, 3, 6, 4, 7} {
				g.sent(2, 20_000_000+unit.Time(i)*1_000_000, numbered(onEth, psn))
			}
			return g.bytes()
		}, dump.Sequence, "packet 18: sequence: data of queue pair 8: packet 5 follows 2"},
		{"a tag without a message", func() []byte {
			g := good()
			g.sent(2, 20_000_000, limited(3, cpid+1))
			g.sent(2, 21_000_000, limited(4, cpid+1)) // of which it was said
			return g.bytes()
		}, dump.Tags, "packet 18: tag: a frame of queue pair 8 has the tag of congestion point 0x190200000000ab, which has not reported a queue above Qeq to its source"},
		{"an increase without a tag", func() []byte {
			g := newTap()
			g.sent(2, 20_000_000, numbered(onEth, 0))
			g.came(2, 21_000_000, told(0, 0, 10))
			return g.bytes()
		}, dump.Tags, "packet 2: tag: congestion point 0x190200000000aa reports to queue pair 8 a queue that is not above Qeq, and no frame has carried its tag"},
		{"PFC", func() []byte {
			g := good()
			g.came(2, 20_000_000, wire.Frame{Kind: wire.PriorityPause, Src: 3, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 8, Stopped: 8, Quanta: 100})})
			g.sent(2, 25_110_000, numbered(onEth, 3))
			return g.bytes()
		}, dump.PauseKept, "packet 19: pause: priority 3 is sent 10ns before its pause ends"},
		{"PAUSE", func() []byte {
			g := good()
			g.came(2, 20_000_000, wire.Frame{Kind: wire.Pause, Src: 3, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 1})})
			g.sent(2, 20_000_000, numbered(onEth, 3))
			return g.bytes()
		}, dump.PauseKept, "packet 19: pause: priority 3 is sent 51.2ns before its pause ends"},
		{"the bytes of a probe", func() []byte { g := good(); g.came(2, 20_000_000, answer(1)); return g.bytes() }, dump.Probes, "probe 5 of queue pair 8 counts 75000 bytes, and this frame has 74999"},
		{"when a probe was sent", func() []byte { g := good(); g.came(2, 20_000_000, answer(2)); return g.bytes() }, dump.Probes, "probe 5 of queue pair 8 was sent at 14.5us, and this frame has 14.499999us"},
		{"when a probe came", func() []byte { g := good(); g.came(2, 20_000_000, answer(3)); return g.bytes() }, dump.Probes, "before it was sent"},
		{"not a frame", func() []byte { return one(erfPort, erf(25, []byte{1, 2, 3}), 19) }, dump.Reading, "FCP at byte 3: truncated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, s := text(t, c.bytes())
			if s.Found[c.kind] != 1 || s.Problems() != 1 || !strings.Contains(out, c.words) {
				t.Errorf("%v, want one of %s with %q:\n%s", s.Found, c.kind, c.words, out)
			}
		})
	}
	// Another priority continues; what is retransmitted is no gap; a link that begins again
	// has sent nothing.
	g := good()
	g.sent(2, 15_000_000, numbered(onEth, 0))
	g.sent(2, 16_000_000, numbered(onEth, 1))
	g.sent(0, 17_000_000, wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{Op: wire.OpInit, FCCL: 6})})
	g.came(2, 20_000_000, wire.Frame{Kind: wire.PriorityPause, Src: 3, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 16, Stopped: 16, Quanta: 100})})
	g.sent(2, 20_000_000, numbered(onEth, 2))
	if out, s := text(t, g.bytes()); s.Problems() != 0 {
		t.Error(out)
	}
	// An answer whose probe was not captured proves nothing.
	g = newTap()
	g.came(2, 21_000_000, answer(0))
	if out, s := text(t, g.bytes()); s.Problems() != 0 || s.Checked[dump.Probes] != 0 || s.Gaps[dump.NoProbes] != 1 {
		t.Errorf("%v, %v\n%s", s.Checked, s.Gaps, out)
	}
	// A capture that has not seen how a flow began, or no message to its source, proves
	// nothing of its tags.
	g = newTap()
	g.sent(2, 20_000_000, limited(0, cpid))
	g.came(2, 21_000_000, told(0, wire.BCNMild, -10))
	g.sent(2, 22_000_000, limited(1, cpid))
	g.came(2, 23_000_000, told(1, 0, 10))
	g.came(2, 24_000_000, wire.Frame{Kind: wire.BCN, Lane: 6, Dst: 1, QP: 9, Extension: wire.ExtensionOf(wire.SampleExtension{QOffset: 10}), CPID: cpid})
	if out, s := text(t, g.bytes()); s.Problems() != 0 || s.Checked[dump.Tags] != 2 || s.Gaps[dump.NoMessages] != 2 {
		t.Errorf("%v, %v\n%s", s.Checked, s.Gaps, out)
	}
}

// datagram puts a frame and its trailer into a frame of a veth pair.
func datagram(f wire.Frame, from, seq int, head, due unit.Time) []byte {
	tr := wire.Trailer{Head: head, Due: due, Duration: 80_000, Length: 100, Seq: uint32(seq), Run: 9, Port: uint16(from), Delimiter: f.Delimiter()}
	b := tr.Append(f.Append(nil))
	if f.Delimiter() == wire.StartOfFrame {
		return b
	}
	return append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xB6}, b...)
}

// The same checks on links themselves, by the trailers of datagrams.
func TestLinks(t *testing.T) {
	type sent struct {
		f         wire.Frame
		from      int
		head, due unit.Time
	}
	for _, c := range []struct {
		name  string
		list  []sent
		words string // none: all is right
	}{
		{"credit", []sent{
			{wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{Op: wire.OpInit, FCCL: 6})}, 5, 0, 10},
			{wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{Op: wire.OpInit, FCCL: 6})}, 4, 0, 10},
			{numbered(onIB, 0), 4, 10, 20}, {numbered(onIB, 1), 4, 30, 40},
			{wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCTBS: 0, FCCL: 9})}, 5, 50, 60}, {numbered(onIB, 2), 4, 60, 70},
		}, ""},
		{"credit that is not due yet", []sent{
			{wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{Op: wire.OpInit, FCCL: 3})}, 5, 0, 10},
			{wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{Op: wire.OpInit, FCCL: 3})}, 4, 0, 10},
			{numbered(onIB, 0), 4, 10, 20},
			{wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCTBS: 0, FCCL: 9})}, 5, 50, 60}, {numbered(onIB, 1), 4, 59, 70},
			{wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCTBS: 0, FCCL: 9})}, 5, 70, 80},
		}, "packet 5: credit: lane 0 is overdrawn: 6 blocks"},
		{"pause", []sent{
			// 100 bytes in 80 ns are 10 Gb/s, and a quantum 51.2 ns.
			{wire.Frame{Kind: wire.Pause, Src: 2, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 1})}, 5, 0, 10_000}, {numbered(onEth, 0), 4, 61_200, 70_000},
		}, ""},
		{"pause that is not kept", []sent{
			{wire.Frame{Kind: wire.Pause, Src: 2, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 1})}, 5, 0, 10_000}, {numbered(onEth, 0), 4, 59_000, 70_000},
			{wire.Frame{Kind: wire.Pause, Src: 2}, 5, 70_000, 80_000},
		}, "packet 2: pause: priority 3 is sent 2.2ns before its pause ends"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _ := pcapng.AppendSection(nil, pcapng.Section{})
			b = pcapng.AppendInterface(b, ethernet)
			numbers := map[int]int{}
			for _, s := range c.list {
				d := datagram(s.f, s.from, numbers[s.from], s.head, s.due)
				numbers[s.from]++
				b = pcapng.AppendPacket(b, &pcapng.Packet{Length: len(d), Data: d})
			}
			out, s := text(t, b)
			if got := s.Problems() > 0; got != (c.words != "") || !strings.Contains(out, c.words) {
				t.Errorf("want %q:\n%s", c.words, out)
			}
			if s.Checked[dump.Credit]+s.Checked[dump.PauseKept] == 0 {
				t.Errorf("nothing was checked:\n%s", out)
			}
		})
	}
}

// What a tap on a link has lost is not a mistake of the fabric. A word that it has lost may
// be the one by which all was right: what follows from the ones before is in doubt until
// the next datagram of that port shows by its number that none is missing.
func TestKernelDrops(t *testing.T) {
	tell := func(seq int, fccl uint16) []byte {
		return datagram(wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCCL: fccl})}, 5, seq, 0, 10)
	}
	own := datagram(wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCCL: 66})}, 4, 0, 0, 10)
	send := func(n int) []byte {
		return datagram(numbered(onIB, uint32(n)), 4, n+1, unit.Time(100*n+100), unit.Time(100*n+200))
	}
	for _, c := range []struct {
		name      string
		datagrams [][]byte
		found     map[dump.Kind]int
		gaps      map[dump.Gap]int
		words     string
	}{
		{"whole", [][]byte{tell(0, 3), own, send(0), tell(1, 6), send(1)}, map[dump.Kind]int{}, map[dump.Gap]int{}, ""},
		{"overdrawn", [][]byte{tell(0, 3), own, send(0), send(1), tell(1, 6)}, map[dump.Kind]int{dump.Credit: 1}, map[dump.Gap]int{}, "WRONG packet 4: credit: lane 0 is overdrawn"},
		{
			"credit is missing", [][]byte{tell(0, 3), own, send(0), send(1), tell(2, 6)}, map[dump.Kind]int{}, map[dump.Gap]int{dump.NotThere: 1, dump.InDoubt: 1},
			"  packet 5: incomplete: port 5: sequence 2 follows 0",
		},
		{"the end is missing", [][]byte{tell(0, 3), own, send(0), send(1)}, map[dump.Kind]int{}, map[dump.Gap]int{dump.InDoubt: 1}, "incomplete: 1 mistakes would be there"},
		{
			"data is missing", [][]byte{tell(0, 6), own, send(0), send(2), tell(1, 9)}, map[dump.Kind]int{}, map[dump.Gap]int{dump.NotThere: 1, dump.NoCredit: 1},
			"  packet 4: incomplete: port 4: sequence 3 follows 1",
		},
		{"comes again", [][]byte{tell(0, 6), own, own}, map[dump.Kind]int{dump.Sequence: 1}, map[dump.Gap]int{}, "WRONG packet 3: sequence: port 4: sequence 0 follows 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _ := pcapng.AppendSection(nil, pcapng.Section{})
			b = pcapng.AppendInterface(b, ethernet)
			for _, d := range c.datagrams {
				b = pcapng.AppendPacket(b, &pcapng.Packet{Length: len(d), Data: d})
			}
			out, s := text(t, b)
			said := out + summary(t, s)
			if diff := cmp.Diff(c.found, s.Found) + cmp.Diff(c.gaps, s.Gaps); diff != "" || !strings.Contains(said, c.words) {
				t.Errorf("%s\n%s", diff, said)
			}
		})
	}
}

// What a capture of a run says to be missing puts in doubt only what is near: from the
// first frame that says what credit it left, credit is reckoned again.
func TestMissingFramesOfARun(t *testing.T) {
	b, _ := pcapng.AppendSection(nil, pcapng.Section{})
	b = pcapng.AppendInterface(b, erfPort)
	add := func(f wire.Frame, way pcapng.Direction, comments ...string) {
		p := pcapng.Packet{Direction: way, Data: erf(21, f.Append(nil))}
		if f.Kind == wire.FlowControl {
			p.Data = erf(25, f.Append(nil))
		}
		p.Length = len(p.Data)
		for _, c := range comments {
			p.Comments = append(p.Comments, []byte(c))
		}
		b = pcapng.AppendPacket(b, &p)
	}
	add(wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{Op: wire.OpInit, FCCL: 6})}, pcapng.Inbound)
	add(numbered(onIB, 0), pcapng.Outbound, "credit 3 blocks")
	add(numbered(onIB, 9), pcapng.Outbound, "credit 3 blocks", "missing: 12 frames before this one, the queue was full")
	add(wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCCL: 33})}, pcapng.Inbound)
	add(numbered(onIB, 10), pcapng.Outbound, "credit 3 blocks")
	add(numbered(onIB, 11), pcapng.Outbound, "credit 0 blocks")
	out, s := text(t, b)
	if diff := cmp.Diff(map[dump.Gap]int{dump.NotThere: 12, dump.NoCredit: 2, dump.NoTally: 2}, s.Gaps); diff != "" || s.Problems() != 0 || s.Checked[dump.Credit] != 2 {
		t.Errorf("%s\n%s", diff, out)
	}
	add(numbered(onIB, 12), pcapng.Outbound)
	if out, s := text(t, b); s.Found[dump.Credit] != 1 || s.Problems() != 1 {
		t.Errorf("%v\n%s", s.Found, out)
	}
	// Other programs say at the end alone that they have lost something.
	b = pcapng.AppendStatistics(b, pcapng.Statistics{Received: 30, Dropped: 20})
	if out, s := text(t, b); s.Problems() != 0 || s.Gaps[dump.NotThere] != 20 || s.Gaps[dump.InDoubt] != 1 {
		t.Errorf("%v %v\n%s", s.Found, s.Gaps, out)
	}
}

func summary(t *testing.T, s *dump.Summary) string {
	t.Helper()
	var b strings.Builder
	if err := s.Text(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A datagram of UDP has a frame of either family in it, on any kind of interface.
func TestDatagramsOfUDP(t *testing.T) {
	for _, f := range []wire.Frame{onIB, onEth, onRoCE, onRoCEv6, {Kind: wire.Pause, Src: 3, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 7})}, {Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCCL: 9})}} {
		tr := wire.Trailer{Seq: 4, Run: 9, Port: 3, Delimiter: f.Delimiter()}
		d := tr.Append(f.Append(nil))
		ip := binary.BigEndian.AppendUint16([]byte{0x45, 0}, uint16(28+len(d)))
		ip = append(ip, 0, 0, 0x40, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1, 0x80, 0x10, 0x80, 0x11)
		ip = append(append(binary.BigEndian.AppendUint16(ip, uint16(8+len(d))), 0, 0), d...)
		for link, p := range map[pcapng.LinkType][]byte{
			pcapng.Ethernet:    append(append(make([]byte, 12), 8, 0), ip...),
			pcapng.LinuxCooked: append(append(make([]byte, 14), 8, 0), ip...),
			pcapng.Cooked2:     append(append([]byte{8, 0}, make([]byte, 18)...), ip...),
			pcapng.Raw:         ip,
		} {
			got := decode(t, one(pcapng.Interface{Link: link, FCS: -1}, p, len(p)))
			if got.Frame != f || !got.Carried || got.Trailer != tr || got.BadSum != "" || got.Cut {
				t.Errorf("link type %d: %+v", link, got)
			}
		}
	}
}

// The frames of a train have the number of its packet, over UDP and on a veth pair. A packet that
// ends like a train, but holds no frames, stays one packet; one that lacks its last byte is
// unreadable.
func TestTrainOfFrames(t *testing.T) {
	packet := func(payload []byte) []byte {
		ip := binary.BigEndian.AppendUint16([]byte{8, 0, 0x45, 0}, uint16(28+len(payload)))
		ip = append(ip, 0, 0, 0x40, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1, 0x80, 0x10, 0x80, 0x11)
		ip = append(binary.BigEndian.AppendUint16(ip, uint16(8+len(payload))), 0, 0)
		return append(append(make([]byte, 12), ip...), payload...)
	}
	first, second := datagram(onIB, 3, 0, 0, 1)[14:], datagram(onEth, 4, 0, 0, 1)
	all := append(append([]byte{}, first...), second...)
	all = binary.BigEndian.AppendUint16(all, uint16(len(first)))
	all = append(binary.BigEndian.AppendUint16(all, uint16(len(second))), 2, 0)
	b, _ := pcapng.AppendSection(nil, pcapng.Section{})
	b = pcapng.AppendInterface(b, pcapng.Interface{Link: pcapng.Ethernet, FCS: -1})
	veth := append(make([]byte, 12), 0x88, 0xB6)
	for _, p := range [][]byte{packet(all), packet(first), packet([]byte{9, 0, 1, 1, 0}), append(veth, all...), append(veth, all[:len(all)-1]...)} {
		b = pcapng.AppendPacket(b, &pcapng.Packet{Length: len(p), Data: p})
	}
	got, s := text(t, b)
	var lines []string
	for line := range strings.Lines(got) {
		if f := strings.Fields(line); len(f) > 0 && f[0] != "WRONG" {
			lines = append(lines, f[0]+" "+strings.Join(f[2:7], " "))
		}
	}
	want := []string{
		"1 run 00000009 port 3 start", "1 run 00000009 port 4 start", "2 run 00000009 port 3 start", "3 interface 0 seen other: UDP",
		"4 run 00000009 port 3 start", "4 run 00000009 port 4 start", "5 interface 0 seen unreadable: wire:",
	}
	if !slices.Equal(lines, want) || s.Packets != 7 {
		t.Errorf("%d packets:\n%s\nwant\n%s\nin\n%s", s.Packets, strings.Join(lines, "\n"), strings.Join(want, "\n"), got)
	}
}

// A datagram whose trailer is of another version is an error that names both versions.
func TestOtherTrailer(t *testing.T) {
	d := datagram(onIB, 3, 0, 0, 1)
	d[len(d)-3] = wire.TrailerVersion + 1
	got := decode(t, one(ethernet, d, len(d)))
	const want = "its trailer has version 3, and this program reads version 2: use the version that wrote it (wire: Trailer.Version at byte"
	if got.Err == nil || !strings.HasPrefix(got.Err.Error(), want) {
		t.Errorf("%v, want %s", got.Err, want)
	}
}

// The capture of a run is read whole and all right: as it is by default, each frame once
// and cut, and in the form that has whole frames at both ends of their links and was once
// the only one.
func TestCaptureOfARun(t *testing.T) {
	for file, gaps := range map[string]map[dump.Gap]int{
		"../../../testdata/meeting.pcapng": {dump.CutFrames: 36, dump.NoTally: 45}, "testdata/both-ends.pcapng": {},
	} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out, s := text(t, b)
		if s.Problems() != 0 || s.Checked[dump.Checksum] != s.Packets-gaps[dump.CutFrames] || s.Checked[dump.Credit] < 60 {
			t.Errorf("%s: %+v", file, s)
		}
		if diff := cmp.Diff(gaps, s.Gaps); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
		if !regexp.MustCompile(`S:2 <- T +start +data flow=all\.A\d psn=\d+ lane=0 src=(\d dst=5|A\d dst=B) fecn bytes=154 .*# marked: over-threshold`).MatchString(out) {
			t.Error(out)
		}
	}
}

// whole returns a capture of frames that A sends.
func whole(frames ...wire.Frame) []byte {
	t := newTap()
	for _, f := range frames {
		p := 0
		if f.Delimiter() == wire.StartOfFrame {
			p = 2
		}
		t.sent(p, 0, f)
	}
	return t.bytes()
}

// cut returns a capture of which n bytes of each frame are kept.
func cut(t *testing.T, b []byte, n int) []byte {
	t.Helper()
	r, err := pcapng.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if out == nil {
			out, _ = pcapng.AppendSection(nil, pcapng.Section{Application: r.Program})
			for _, i := range r.Interfaces {
				out = pcapng.AppendInterface(out, i)
			}
		}
		keep := n
		if r.Interfaces[p.Interface].Link == pcapng.ERF {
			keep += 16
		}
		p.Data = p.Data[:min(len(p.Data), keep)]
		out = pcapng.AppendPacket(out, p)
	}
}

// Cut frames are read as far as they go; their checksums are not.
func TestCutFrames(t *testing.T) {
	for _, f := range []wire.Frame{onIB, onEth, onRoCE, onRoCEv6, {Kind: wire.Pause, Src: 3, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 7})}} {
		n := 40
		if f.Family == wire.RoCEv2 {
			n = 80
		}
		got := decode(t, cut(t, whole(f), n))
		if got.Frame != f || !got.Cut || got.BadSum != "" || got.Size != int(f.WireSize()) {
			t.Errorf("%s\n%+v", cmp.Diff(f, got.Frame), got)
		}
	}
}

// A network card takes the FCS away.
func TestFramesWithoutFCS(t *testing.T) {
	for _, f := range []wire.Frame{onEth, onRoCE, onRoCEv6, {Kind: wire.Pause, Src: 3, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 7})}} {
		b := f.Append(nil)
		b = b[:len(b)-wire.FCSSize]
		if got := decode(t, one(ethernet, b, len(b))); got.Frame != f || got.Err != nil {
			t.Errorf("%+v", got)
		}
	}
}

// However little was captured of each frame, that is not a mistake of the fabric, and it is
// said what it does not prove.
func TestCaptureOfFewBytes(t *testing.T) {
	b := whole(onIB, onEth, onRoCE, onRoCEv6, wire.Frame{Kind: wire.Pause, Src: 3, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 7})})
	for snap := 1; snap < 64; snap++ {
		said, s := text(t, cut(t, b, snap))
		if s.Packets != 5 || s.Problems() != 0 || s.Gaps[dump.CutFrames]+s.Gaps[dump.Unreadable] != 5 {
			t.Errorf("%d bytes of each: %v %v\n%s", snap, s.Found, s.Gaps, said)
		}
	}
}

// A capture that gzip has compressed is that capture; one that is cut short is checked
// as far as it goes.
func TestCompressedCapture(t *testing.T) {
	whole := good().bytes()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(whole)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	var want, got bytes.Buffer
	if _, err := dump.Dump(&want, dump.Options{Check: true}, bytes.NewReader(whole)); err != nil {
		t.Fatal(err)
	}
	if _, err := dump.Dump(&got, dump.Options{Check: true}, bytes.NewReader(packed.Bytes())); err != nil || got.String() != want.String() {
		t.Errorf("%v\n%s", err, cmp.Diff(want.String(), got.String()))
	}
	for n := range packed.Len() {
		if _, err := dump.Dump(io.Discard, dump.Options{Check: true}, bytes.NewReader(packed.Bytes()[:n])); err == nil {
			t.Errorf("%d bytes of %d: no error", n, packed.Len())
		}
	}
	s, err := dump.Dump(io.Discard, dump.Options{Check: true}, bytes.NewReader(whole[:len(whole)-100]))
	if err == nil || s == nil || s.Packets == 0 || s.Checked[dump.Credit] == 0 {
		t.Errorf("%v: %+v", err, s)
	}
}

// errWriter is who has seen enough.
type errWriter struct{}

func (errWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestErrors(t *testing.T) {
	if _, err := dump.Dump(errWriter{}, dump.Options{}, bytes.NewReader(good().bytes())); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
	var wrong *pcapng.Error
	if _, err := dump.Dump(io.Discard, dump.Options{}, strings.NewReader("no capture")); !errors.As(err, &wrong) || wrong.Offset != 0 {
		t.Errorf("%v", err)
	}
}

// Whatever a file holds, it is printed and checked as far as it goes, alone and with
// another behind it.
func FuzzDump(f *testing.F) {
	runtest.MinimizeLittle(f)
	f.Add(good().bytes())
	b, _ := pcapng.AppendSection(nil, pcapng.Section{Comment: "a test", More: []string{"part 2", "flow 7 all"}})
	b = pcapng.AppendInterface(pcapng.AppendNames(b, []pcapng.Name{{MAC: 0x020000000001, Text: "A"}}), erfPort)
	data := erf(21, onIB.Append(nil))
	b = pcapng.AppendPacket(b, &pcapng.Packet{Length: len(data), Data: data, Comments: [][]byte{[]byte("missing: 3 frames"), []byte("credit 3 blocks")}})
	f.Add(pcapng.AppendStatistics(b, pcapng.Statistics{Dropped: 3}))
	f.Add(delivered())
	f.Add(deliveredUltra())
	for _, b := range runtest.Seeds(runtest.Mutants(good().bytes(), 100), 20) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := dump.Dump(io.Discard, dump.Options{Check: true}, bytes.NewReader(b), bytes.NewReader(b))
		var wrong *pcapng.Error
		if err != nil && !errors.As(err, &wrong) && !bytes.HasPrefix(b, []byte("\x1f\x8b")) && s.Gaps[dump.NoReader] == 0 {
			t.Fatalf("%T: %v", err, err)
		}
		if err := s.Text(io.Discard); err != nil {
			t.Fatal(err)
		}
		_, _ = dump.Dump(io.Discard, dump.Options{Path: []string{"9"}}, bytes.NewReader(b)) // which may lack the flow
		for g, n := range s.Gaps {
			if n < 0 {
				t.Fatalf("%d %s", n, g)
			}
		}
	})
}

// Whatever is in a packet, it is read or refused with an offset in it, and never
// is there a panic.
func FuzzDecode(f *testing.F) {
	for _, s := range foreign(f) {
		f.Add(uint16(s.on.Link), s.data)
	}
	f.Add(uint16(pcapng.ERF), erf(21, onIB.Append(nil)))
	f.Add(uint16(pcapng.ERF), erf(25, (&wire.Frame{Kind: wire.FlowControl}).Append(nil)))
	f.Add(uint16(pcapng.InfiniBand), onIB.Append(nil))
	f.Add(uint16(pcapng.InfiniBand), (&wire.Frame{Kind: wire.FlowControl}).Append(nil))
	f.Add(uint16(pcapng.Ethernet), []byte{0x01, 0x80, 0xC2, 0, 0, 1, 0x40, 0, 0, 0, 0, 3, 0x88, 0x08, 1, 1, 0, 9})
	f.Add(uint16(pcapng.Ethernet), onEth.Append(nil))
	f.Add(uint16(pcapng.Ethernet), datagram(onIB, 3, 0, 0, 1))
	f.Add(uint16(pcapng.LinuxCooked), append(make([]byte, 14), 0x88, 0xB6))
	f.Add(uint16(pcapng.Cooked2), append([]byte{0x89, 0x15}, make([]byte, 18)...))
	f.Fuzz(func(t *testing.T, link uint16, data []byte) {
		for _, length := range []int{len(data), len(data) + 100} {
			b := one(pcapng.Interface{Link: pcapng.LinkType(link), FCS: -1}, data, length)
			p := decode(t, b)
			p.Append(nil, dump.Names{})
			dump.NewChecker().Check(&p)
			var refused *wire.ParseError
			if p.Err != nil && !errors.As(p.Err, &refused) {
				t.Fatalf("%T: %v", p.Err, p.Err)
			}
			if refused != nil && (refused.Offset < 0 || refused.Offset > len(data)) {
				t.Fatalf("%v in %d bytes", p.Err, len(data))
			}
		}
	})
}

// What a frame carries is said, also where it is damaged or cut.
func TestBodiesOfFrames(t *testing.T) {
	packet := append([]byte{
		0x45, 0, 0, 92, 0, 1, 0, 0, 64, 17, 0x66, 0xcd, 10, 0, 0, 1, 10, 0, 0, 2, // IPv4
		0x13, 0x88, 0x17, 0x70, 0, 72, 0, 0, // UDP
	}, bytes.Repeat([]byte("body"), 16)...)
	const words = " body=92 ipv4 10.0.0.1->10.0.0.2 udp 5000->6000"
	for p, f := range map[int]wire.Frame{0: onIB, 2: onEth} {
		var store wire.Bodies
		store.Put(&f, wire.Body{Type: 0x0800, Bytes: packet})
		g := newTap()
		g.Sent(p, &port.Transmission{Port: port.ID(p / 2), Frame: f, Note: port.Note{Credit: -1}}, store.Of(&f), 0, 0, 0)
		b := g.bytes()
		store.Free(&f)
		if got := decode(t, b); got.Frame != f || got.Body != words || got.BadSum != "" || got.Cut {
			t.Errorf("whole: %+v", got)
		}
		if got := decode(t, cut(t, b, 70)); got.Frame != f || got.Body != words || got.BadSum != "" || !got.Cut {
			t.Errorf("cut: %+v", got)
		}
		b[bytes.Index(b, packet)+len(packet)-1] ^= 1
		if got := decode(t, b); got.Frame != f || got.Body != words || got.BadSum == "" {
			t.Errorf("damaged: %+v", got)
		}
	}
}
