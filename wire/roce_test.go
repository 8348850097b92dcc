package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// roce returns a frame of RoCEv2.
func roce(f wire.Frame, r wire.RoCE) wire.Frame {
	f.Family = wire.RoCEv2
	f.SetRoCE(r)
	return f
}

var (
	roceData   = roce(wire.Frame{Kind: wire.Data, Lane: 3, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 1024}, wire.RoCE{DSCP: 26, ECT: true, AckReq: true})
	roceLast   = roce(wire.Frame{Kind: wire.Data, Lane: 3, Src: 3, Dst: 5, QP: 0xAB0012, PSN: 0xFFFFFF, FECN: true, Last: true}, wire.RoCE{IPv6: true, DSCP: 26, ECT: true})
	roceTagged = roce(wire.Frame{Kind: wire.Data, Lane: 4, Tagged: true, Src: 3, Dst: 5, QP: 0xAB0012, PSN: 7, Payload: 64, CPID: 0x00190200000000AA}, wire.RoCE{})
	roceNAK    = roce(wire.Frame{Kind: wire.Ack, Lane: 6, Src: 5, Dst: 3, QP: 0x12, PSN: 9, MSN: 8}, wire.RoCE{IPv6: true, DSCP: 48, NAK: true})
	roceCNP    = roce(wire.Frame{Kind: wire.CNP, Lane: 6, Src: 5, Dst: 3, QP: 0x118}, wire.RoCE{DSCP: 48, ECT: true})

	roceStamped       = stamped(roce(wire.Frame{Kind: wire.Data, Lane: 3, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 16}, wire.RoCE{DSCP: 26, ECT: true, AckReq: true}), 0x123456789ABC, 0)
	roceSprayed       = sprayed(roceData)
	roceSelected      = selected(roce(wire.Frame{Kind: wire.Ack, Lane: 6, Src: 5, Dst: 3, QP: 0x12, PSN: 7, MSN: 8}, wire.RoCE{DSCP: 48}))
	roceSelectedStamp = selected(roceStampedAck)

	roceStampedAck = stamped(roce(wire.Frame{Kind: wire.Ack, Lane: 6, Src: 5, Dst: 3, QP: 0x12, PSN: 7, MSN: 8}, wire.RoCE{DSCP: 48}), 0x123456789ABC, 500*unit.Nanosecond)
)

// stamped returns a frame of RoCEv2 with a stamp.
func stamped(f wire.Frame, sent unit.Time, held unit.Duration) wire.Frame {
	r := f.RoCE()
	r.Stamped = true
	f.SetRoCE(r)
	f.Stamp().SentAt, f.Stamp().Held = sent, held
	return f
}

// sprayed gives a packet of RoCEv2 a source port of its own, and selected has an ACK name a packet.
func sprayed(f wire.Frame) wire.Frame  { f.SetSourcePort(0xCBA9); return f }
func selected(f wire.Frame) wire.Frame { f.SetSelected(0x123456); return f }

// randomRoCE makes f, which has its addresses, a packet of RoCEv2 with any values.
func randomRoCE(r *unit.Random, f wire.Frame) wire.Frame {
	n := func(below uint64) uint64 { return r.Below(below) }
	f.QP, f.FECN = uint32(n(1<<24)), n(2) == 1
	switch f.Kind {
	case wire.Data:
		f.PSN, f.Last, f.Payload, f.CPID = uint32(n(1<<24)), n(2) == 1, uint32(n(wire.MaxPayload/4+1)*4), n(2)*r.Uint64()
		randomImmediate(r, &f)
	case wire.Ack:
		f.PSN, f.MSN, f.BECN = uint32(n(1<<24)), uint32(n(1<<24)), n(2) == 1
	}
	f = roce(f, wire.RoCE{
		IPv6: n(2) == 1, DSCP: uint8(n(64)), ECT: f.FECN || n(2) == 1, AckReq: f.Kind == wire.Data && n(2) == 1, NAK: f.Kind == wire.Ack && n(2) == 1,
	})
	switch {
	case f.Kind == wire.Data && n(2) == 1:
		f = stamped(f, unit.Time(n(1<<63)), 0)
	case f.Kind == wire.Ack && n(2) == 1:
		f = stamped(f, unit.Time(n(1<<63)), unit.Duration(n(1<<63)))
	}
	if f.Kind == wire.Ack && n(2) == 1 {
		f.SetSelected(uint32(n(1 << 24)))
	}
	if n(2) == 1 {
		f.SetSourcePort(uint16(wire.LeastSourcePort + n(1<<14)))
	}
	return f
}

func TestRoCEComesBack(t *testing.T) {
	r := unit.NewRandom(6, 1)
	for range 2000 {
		f := randomRoCE(r, wire.Frame{Kind: ethernetKinds[r.Below(2)*8]})
		if got := roce(f, f.RoCE()); got != f {
			t.Fatalf("SetRoCE of RoCE:\n%s", cmp.Diff(f, got))
		}
	}
}

// A source port is one of the frame's own only if it is not that of the queue pair, and switches
// read it.
func TestSourcePorts(t *testing.T) {
	for _, data := range []wire.Frame{roceData, uetData} {
		f, path := data, data.Entropy()
		f.SetSourcePort(f.SourcePort())
		if f != data {
			t.Errorf("the usual port changes a frame: %s", cmp.Diff(data, f))
		}
		f.SetSourcePort(0xC001)
		if f.SourcePort() != 0xC001 || f.Entropy() == path {
			t.Errorf("%v: port %#x, entropy %#x; that of the queue pair is %#x", f.Family, f.SourcePort(), f.Entropy(), path)
		}
	}
}

// icrcOf computes the ICRC of a packet from its network header on, without it, as Annex A17
// describes it and hash/crc32 does the rest: fields that change on the path count as ones.
func icrcOf(p []byte) uint32 {
	ones := bytes.Repeat([]byte{0xFF}, 8)
	m := append(ones, p...)
	ip := m[8:]
	udp := int(ip[0]&0xF) * 4
	variant := []int{1, 8, 10, 11} // type of service, time to live, header checksum
	if ip[0]>>4 == 6 {
		udp = 40
		ip[0] |= 0x0F // traffic class, flow label, hop limit
		variant = []int{1, 2, 3, 7}
	}
	variant = append(variant, udp+6, udp+7, udp+8+4) // UDP checksum; F, B and what is reserved behind them
	for _, at := range variant {
		ip[at] = 0xFF
	}
	return crc32.ChecksumIEEE(m)
}

// resealIP makes the lengths and the checksums of the packet of RoCEv2 right that starts at
// b[at], where there is one.
func resealIP(b []byte, at int) []byte {
	p := b[at : len(b)-wire.FCSSize]
	v6 := p[0]>>4 == 6
	udp := 20
	if v6 {
		udp = 40
	}
	end := len(p) - wire.ICRCSize
	if end < udp+wire.UDPSize+wire.BTHSize || !v6 && p[0] != 0x45 { // no frame of ours has options
		return b
	}
	sum := func(sum uint32, p []byte) uint16 {
		for i := range p {
			sum += uint32(p[i]) << (8 * (1 - i%2))
		}
		for sum > 0xFFFF {
			sum = sum>>16 + sum&0xFFFF
		}
		return ^uint16(sum)
	}
	if v6 {
		binary.BigEndian.PutUint16(p[4:], uint16(len(p)-40))
	} else {
		binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
		clear(p[10:12])
		binary.BigEndian.PutUint16(p[10:], sum(0, p[:20]))
	}
	binary.BigEndian.PutUint16(p[udp+4:], uint16(len(p)-udp))
	binary.LittleEndian.PutUint32(p[end:], icrcOf(p[:end]))
	if clear(p[udp+6 : udp+8]); v6 {
		s := sum(17+uint32(len(p)-40), p[8:])
		if s == 0 {
			s = 0xFFFF
		}
		binary.BigEndian.PutUint16(p[udp+6:], s)
	}
	return b
}

func TestRoCEICRC(t *testing.T) {
	r := unit.NewRandom(7, 1)
	for range 2000 {
		f := randomRoCE(r, wire.Frame{Kind: ethernetKinds[r.Below(2)*8]})
		f.CPID, f.Tagged = 0, false
		b := f.Append(nil)
		p := b[wire.EthernetHeaderSize : len(b)-wire.FCSSize]
		end := len(p) - wire.ICRCSize
		if got, want := binary.LittleEndian.Uint32(p[end:]), icrcOf(p[:end]); got != want {
			t.Fatalf("%+v: ICRC %08x, want %08x", f, got, want)
		}
		if got, want := wire.RoCEICRC(p[:end]), icrcOf(p[:end]); got != want {
			t.Fatalf("%+v: ICRC of its bytes %08x, want %08x", f, got, want)
		}
	}
	b, f := bodied(wire.RoCEv2, 61)
	p := b[wire.EthernetHeaderSize : len(b)-wire.FCSSize]
	if got, want := binary.LittleEndian.Uint32(p[len(p)-4:]), icrcOf(p[:len(p)-4]); got != want {
		t.Errorf("%+v with a body: ICRC %08x, want %08x", f, got, want)
	}
}

// The header of IPv4 may have options. Bytes without a BTH have no ICRC.
func TestRoCEICRCBehindOptions(t *testing.T) {
	r := unit.NewRandom(8, 1)
	for words := range 16 {
		p := make([]byte, 4*words+8+12+20)
		for i := range p {
			p[i] = byte(r.Uint64())
		}
		p[0], p[9] = 0x40|byte(words), 17
		want := uint32(0)
		if words >= 5 {
			want = icrcOf(p)
		}
		if got := wire.RoCEICRC(p); got != want {
			t.Errorf("a header of %d words: ICRC %08x, want %08x", words, got, want)
		}
		if p[9] = 6; wire.RoCEICRC(p) != 0 || wire.RoCEICRC(p[:19]) != 0 {
			t.Error("an ICRC without UDP")
		}
	}
}

// What routers and switches may change in a packet with global routing leaves the ICRC as it is,
// all else does not.
func TestGlobalICRC(t *testing.T) {
	p := wire.LRH{VL: 3, SL: 2, LNH: wire.NextGRH, DLID: 5, Length: (8 + 40 + 12 + 8 + 4) / 4, SLID: 3}.Append(nil)
	p = append(p, unhex(t, "61234567 0018 1b 3f fe800000000000000000000000000001 fe800000000000000000000000000002")...)
	p = append(wire.BTH{Opcode: 0x0C, Migrated: true, PKey: 0xFFFF, DestQP: 9, PSN: 4}.Append(p), 1, 2, 3, 4, 5, 6, 7, 8)
	whole := wire.GlobalICRC(p)
	for i := range p {
		c := bytes.Clone(p)
		c[i] ^= 1
		variant := i < 8 || i >= 8+1 && i <= 8+3 || i == 8+7 || i == 48+4 // LRH; TClass, FlowLabel; HopLmt; F, B
		if i == 8 || i == 8+6 {
			continue // no GRH, or no BTH behind it
		}
		if got := wire.GlobalICRC(c) == whole; got != variant {
			t.Errorf("byte %d: the ICRC stays: %v, want %v", i, got, variant)
		}
	}
}

// A switch that marks a packet leaves its ICRC as it is, and its UDP checksum.
func TestMarkLeavesTheICRC(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		f := roce(roceData, wire.RoCE{IPv6: v6, DSCP: 26, ECT: true})
		plain := f.Append(nil)
		f.FECN = true
		marked := f.Append(nil)
		var differ []int
		for i := range plain[:len(plain)-wire.FCSSize] {
			if plain[i] != marked[i] {
				differ = append(differ, i-wire.EthernetHeaderSize)
			}
		}
		want := []int{1, 11} // type of service, header checksum
		if v6 {
			want = []int{1} // traffic class
		}
		if diff := cmp.Diff(want, differ); diff != "" {
			t.Errorf("IPv6 %v: bytes of the packet that differ (-want +got):\n%s", v6, diff)
		}
	}
}

// A packet with a mark that may not have one looks like one that may: only its switch knows.
func TestECT(t *testing.T) {
	tcp := segment(3, 5, 0, 0x12, wire.Segment{ECT: true})
	deaf := roce(roceData, wire.RoCE{})
	deafTCP := segment(3, 5, 0, 0x12, wire.Segment{})
	for f, want := range map[*wire.Frame]bool{&roceData: true, &roceCNP: true, &tcp: true, &limited: true, &data2048: true, &deaf: false, &deafTCP: false, &roceNAK: false} {
		if got := f.ECT(); got != want {
			t.Errorf("%+v: ECT %v", *f, got)
		}
	}
}

// Each case spoils one thing in a good packet of RoCEv2, and makes the FCS right again, and the
// checksums before it but where they are the case.
func TestRoCERefusals(t *testing.T) {
	const ip, udp4, udp6 = wire.EthernetHeaderSize, wire.EthernetHeaderSize + 20, wire.EthernetHeaderSize + 40
	const bth4, bth6 = udp4 + 8, udp6 + 8
	for _, c := range []struct {
		name   string
		frame  wire.Frame
		at     int
		value  byte
		field  string
		offset int
		reason wire.Reason
	}{
		{"IPv4 of another version", roceData, ip, 0x65, "IPv4.Version", ip, wire.ErrUnsupported},
		{"IPv4 with options", roceData, ip, 0x46, "IPv4.Version", ip, wire.ErrUnsupported},
		{"ECT(1)", roceData, ip + 1, 26<<2 | 1, "IPv4.ECN", ip + 1, wire.ErrUnsupported},
		{"identification", roceData, ip + 4, 1, "IPv4.Identification", ip + 4, wire.ErrUnsupported},
		{"fragment", roceData, ip + 6, 0x20, "IPv4.Fragment", ip + 6, wire.ErrUnsupported},
		{"time to live", roceData, ip + 8, 63, "IPv4.TTL", ip + 8, wire.ErrUnsupported},
		{"from another", roceData, ip + 15, 4, "IPv4.Source", ip + 12, wire.ErrUnsupported},
		{"to another", roceData, ip + 19, 4, "IPv4.Destination", ip + 16, wire.ErrUnsupported},
		{"source port", roceData, udp4, 0xBF, "UDP.Source", udp4, wire.ErrUnsupported},
		{"destination port", roceData, udp4 + 3, 0xB8, "UDP.Destination", udp4 + 2, wire.ErrUnsupported},
		{"opcode", roceData, bth4, 0x0A, "BTH.Opcode", bth4, wire.ErrUnsupported},
		{"migration", roceData, bth4 + 1, 0, "BTH.Migrated", bth4 + 1, wire.ErrUnsupported},
		{"stamp of another length", roceStamped, bth4 + 12, 5, "stamp.Length", bth4 + 12, wire.ErrRange},
		{"stamp, reserved", roceStamped, bth4 + 15, 1, "stamp.Reserved", bth4 + 13, wire.ErrReserved},
		{"stamp before the beginning", roceStamped, bth4 + 16, 0x80, "stamp.Sent", bth4 + 16, wire.ErrRange},
		{"stamp, held less than not", roceStampedAck, bth4 + 24, 0x80, "stamp.Held", bth4 + 24, wire.ErrRange},
		{"stamp of an ACK, of the length of data", roceStampedAck, bth4 + 12, 3, "stamp.Length", bth4 + 12, wire.ErrRange},
		{"selected, stamped", roceSelected, bth4 + 12, 2, "selected.Stamped", bth4 + 12, wire.ErrRange},
		{"selected, with a stamp that is not there", roceSelected, bth4 + 12, 1, "stamp", bth4 + 20, wire.ErrTruncated},
		{"pad without a body", roceData, bth4 + 1, 0x50, "BTH.Pad", bth4 + 1, wire.ErrUnsupported},
		{"version of the transport", roceData, bth4 + 1, 0x41, "BTH.TVer", bth4 + 1, wire.ErrUnsupported},
		{"partition", roceData, bth4 + 3, 1, "BTH.PKey", bth4 + 2, wire.ErrUnsupported},
		{"FECN", roceData, bth4 + 4, 0x80, "BTH.FECN", bth4 + 4, wire.ErrUnsupported},
		{"BECN", roceData, bth4 + 4, 0x40, "BTH.BECN", bth4 + 4, wire.ErrUnsupported},
		{"reserved before the queue pair", roceData, bth4 + 4, 1, "BTH.Reserved", bth4 + 4, wire.ErrReserved},
		{"reserved before the PSN", roceData, bth4 + 8, 1, "BTH.Reserved", bth4 + 8, wire.ErrReserved},
		{"neither padding nor body", roceData, bth4 + 13, 1, "payload", bth4 + 12, wire.ErrPayload},
		{"another queue pair than that of the tags", roceTagged, 36 + 28 + 7, 0x13, "BTH.DestQP", 36 + 28 + 5, wire.ErrUnsupported},
		{"an ACK that wants one", ackOverIPv4, bth4 + 8, 0x80, "BTH.AckReq", bth4 + 8, wire.ErrUnsupported},
		{"an ACK that raises an event", ackOverIPv4, bth4 + 1, 0xC0, "BTH.Solicited", bth4 + 1, wire.ErrUnsupported},
		{"syndrome", ackOverIPv4, bth4 + 12, 0x61, "AETH.Syndrome", bth4 + 12, wire.ErrUnsupported},
		{"CNP, no BECN", roceCNP, bth4 + 4, 0, "BTH.BECN", bth4 + 4, wire.ErrUnsupported},
		{"CNP, migration", roceCNP, bth4 + 1, 0x40, "BTH.Migrated", bth4 + 1, wire.ErrUnsupported},
		{"CNP with a PSN", roceCNP, bth4 + 11, 1, "BTH.PSN", bth4 + 9, wire.ErrUnsupported},
		{"CNP, reserved", roceCNP, bth4 + 20, 1, "CNP.Reserved", bth4 + 12, wire.ErrReserved},
		{"IPv6 of another version", roceNAK, ip, 0x4C, "IPv6.Version", ip, wire.ErrUnsupported},
		{"IPv6, ECT(1)", roceNAK, ip + 1, 0x10, "IPv6.ECN", ip + 1, wire.ErrUnsupported},
		{"flow label", roceNAK, ip + 3, 0x45, "IPv6.FlowLabel", ip + 1, wire.ErrUnsupported},
		{"next header", roceNAK, ip + 6, 6, "IPv6.NextHeader", ip + 6, wire.ErrUnsupported},
		{"hop limit", roceNAK, ip + 7, 63, "IPv6.HopLimit", ip + 7, wire.ErrUnsupported},
		{"IPv6 from another", roceNAK, ip + 8, 0xFD, "IPv6.Source", ip + 8, wire.ErrUnsupported},
		{"IPv6 from another interface", roceNAK, ip + 23, 9, "IPv6.Source", ip + 8, wire.ErrUnsupported},
		{"IPv6 to another", roceNAK, ip + 39, 9, "IPv6.Destination", ip + 24, wire.ErrUnsupported},
		{"IPv6, no source port", roceNAK, udp6, 0, "UDP.Source", udp6, wire.ErrUnsupported},
		{"IPv6, destination port", roceNAK, udp6 + 2, 0, "UDP.Destination", udp6 + 2, wire.ErrUnsupported},
		{"IPv6, version of the transport", roceNAK, bth6 + 1, 0x42, "BTH.TVer", bth6 + 1, wire.ErrUnsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.frame.Append(nil)
			if b[c.at] == c.value && c.name != "source port" {
				t.Fatal("that is not a mistake")
			}
			b[c.at] = c.value
			at := ip
			if c.frame.Tagged {
				at = 36
			}
			b = refit(resealIP(b, at))
			want := wire.ParseError{Field: c.field, Offset: c.offset, Reason: c.reason}
			if f, err := wire.Parse(wire.StartOfFrame, b); !refusedFor(err, want) {
				t.Errorf("got %+v, %v, want %v", f, err, &want)
			}
		})
	}
	for _, c := range []struct {
		name   string
		frame  wire.Frame
		at     int
		flip   byte
		field  string
		offset int
		reason wire.Reason
	}{
		{"IPv4, longer", roceData, ip + 3, 0x01, "IPv4.Length", ip + 2, wire.ErrTruncated},
		{"IPv4, shorter", roceData, ip + 3, 0x04, "IPv4.Length", ip + 2, wire.ErrTrailing},
		{"IPv4, checksum", roceData, ip + 10, 0x01, "IPv4.Checksum", ip + 10, wire.ErrChecksum},
		{"IPv4, marked without the checksum", roceData, ip + 1, 0x01, "IPv4.Checksum", ip + 10, wire.ErrChecksum},
		{"UDP length", roceData, udp4 + 5, 0x04, "UDP.Length", udp4 + 4, wire.ErrRange},
		{"a UDP checksum over IPv4", roceData, udp4 + 7, 0x01, "UDP.Checksum", udp4 + 6, wire.ErrUnsupported},
		{"ICRC", roceData, bth4 + 12 + 1024, 0x01, "ICRC", bth4 + 12 + 1024, wire.ErrChecksum},
		{"queue pair", roceData, bth4 + 7, 0x01, "ICRC", bth4 + 12 + 1024, wire.ErrChecksum},
		{"ICRC of a CNP", roceCNP, bth4 + 12 + 16 + 3, 0x80, "ICRC", bth4 + 12 + 16, wire.ErrChecksum},
		{"IPv6, longer", roceNAK, ip + 5, 0x20, "IPv6.Length", ip + 4, wire.ErrTruncated},
		{"IPv6, shorter", roceNAK, ip + 5, 0x04, "IPv6.Length", ip + 4, wire.ErrTrailing},
		{"IPv6, UDP checksum", roceNAK, udp6 + 6, 0x01, "UDP.Checksum", udp6 + 6, wire.ErrChecksum},
		{"IPv6, ICRC", roceNAK, bth6 + 16, 0x01, "ICRC", bth6 + 16, wire.ErrChecksum},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.frame.Append(nil)
			b[c.at] ^= c.flip
			want := wire.ParseError{Field: c.field, Offset: c.offset, Reason: c.reason}
			if f, err := wire.Parse(wire.StartOfFrame, refit(b)); !refusedFor(err, want) {
				t.Errorf("got %+v, %v, want %v", f, err, &want)
			}
		})
	}
	t.Run("no UDP checksum over IPv6", func(t *testing.T) {
		b := roceNAK.Append(nil)
		clear(b[udp6+6 : udp6+8])
		want := wire.ParseError{Field: "UDP.Checksum", Offset: udp6 + 6, Reason: wire.ErrChecksum}
		if f, err := wire.Parse(wire.StartOfFrame, refit(b)); !refusedFor(err, want) {
			t.Errorf("got %+v, %v, want %v", f, err, &want)
		}
	})
	t.Run("a packet behind the PAUSE of another frame", func(t *testing.T) {
		cnp := roce(wire.Frame{Kind: wire.CNP, QP: 0x118}, wire.RoCE{IPv6: true})
		b := cnp.Append(nil)
		pause := wire.Frame{Kind: wire.Pause, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 0x86DD})} // as the EtherType of IPv6
		copy(b, pause.Append(nil)[:ip])
		want := wire.ParseError{Field: "control.Reserved", Offset: ip, Reason: wire.ErrReserved}
		if f, err := wire.Parse(wire.StartOfFrame, refit(b)); !refusedFor(err, want) {
			t.Errorf("got %+v, %v, want %v", f, err, &want)
		}
	})
	t.Run("an ACK behind a rate-limited tag", func(t *testing.T) {
		b := roceTagged.Append(nil)
		ack := roce(wire.Frame{Kind: wire.Ack, Src: 3, Dst: 5, QP: 0xAB0012}, wire.RoCE{})
		b = append(b[:36], ack.Append(nil)[18:]...)
		want := wire.ParseError{Field: "EtherType", Offset: 34, Reason: wire.ErrUnsupported}
		if f, err := wire.Parse(wire.StartOfFrame, refit(b)); !refusedFor(err, want) {
			t.Errorf("got %+v, %v, want %v", f, err, &want)
		}
	})
}

var ackOverIPv4 = func() wire.Frame {
	f := roceNAK
	f.SetRoCE(wire.RoCE{DSCP: 48})
	return f
}()

// What is cut is refused, whatever of its checksums is right.
func TestRoCETruncations(t *testing.T) {
	for _, f := range []wire.Frame{roceData, roceLast, roceNAK, roceCNP, ackOverIPv4, roceStamped, roceStampedAck, roceSelected, roceSelectedStamp} {
		whole := f.Append(nil)
		for n := wire.MinFrame; n < len(whole); n++ {
			cut := refit(bytes.Clone(whole[:n]))
			if got, err := wire.Parse(wire.StartOfFrame, cut); !errors.Is(err, wire.ErrTruncated) {
				t.Fatalf("%v cut to %d of %d bytes: %+v, %v", f.Kind, n, len(whole), got, err)
			}
			// With lengths that say so, what is left of data is shorter data.
			got, err := wire.Parse(wire.StartOfFrame, refit(resealIP(cut, wire.EthernetHeaderSize)))
			left := n - (len(whole) - int(f.Payload))
			if want := f.Kind == wire.Data && left >= 0 && left%4 == 0; want != (err == nil) || want && int(got.Payload) != left {
				t.Fatalf("%v made for %d of %d bytes: %+v, %v", f.Kind, n, len(whole), got, err)
			}
		}
	}
}

func TestRoCELengths(t *testing.T) {
	for _, c := range []struct {
		frame              wire.Frame
		paper, bytes, line unit.Size
	}{
		{roceData, 1068, 1090, 1110},
		{roceLast, 64, 86, 106},
		{roceTagged, 108, 148, 168},
		{roceNAK, 68, 90, 110},
		{roceCNP, 60, 82, 102},
		{roceStamped, 72, 94, 114},
		{roceStampedAck, 68, 90, 110},
		{roceSelected, 52, 74, 94},
		{roceSelectedStamp, 72, 94, 114},
		{roceTrimmed, 128, 150, 170},
		{roceTrimmed6, 128, 150, 170},
		{roceTrimmedAll, 76, 102, 122},
	} {
		if got := c.frame.WireSize(); got != c.bytes {
			t.Errorf("%+v: WireSize %d, want %d", c.frame, got, c.bytes)
		}
		if got := wire.PaperFraming.Length(&c.frame); got != c.paper {
			t.Errorf("%+v: %d on the line of the papers, want %d", c.frame, got, c.paper)
		}
		if got := wire.WireFraming.Length(&c.frame); got != c.line {
			t.Errorf("%+v: %d on the line, want %d", c.frame, got, c.line)
		}
	}
}
