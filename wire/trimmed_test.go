package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// trimmed returns a packet that was cut.
func trimmed(f wire.Frame, size unit.Size, dscp uint8) wire.Frame {
	if !f.Trim(size, dscp) {
		panic("a packet that cannot be cut")
	}
	return f
}

var (
	roceTrimmed    = trimmed(roceData, 128, 11)
	roceTrimmed6   = trimmed(roceLong6, 128, 21)
	roceTrimmedAll = trimmed(roceAll6, 76, 21) // all headers that there are, and nothing else

	roceLong6 = roce(wire.Frame{Kind: wire.Data, Lane: 3, Src: 3, Dst: 5, QP: 0xAB0012, PSN: 0xFFFFFF, FECN: true, Last: true, Payload: 4096}, wire.RoCE{IPv6: true, DSCP: 26, ECT: true})
	roceAll6  = func() wire.Frame {
		f := stamped(roce(wire.Frame{Kind: wire.Data, Lane: 3, Tagged: true, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 16}, wire.RoCE{IPv6: true, DSCP: 26, AckReq: true}), 0x123456789ABC, 0)
		f.SetImmediate(0xCAFEBABE)
		f.SetSourcePort(0xCBA9)
		return f
	}()
)

// "The IP length and checksum fields will be updated in a trimmed copy", and its DSCP
// (SAI-Proposal-Packet-Trimming): all other bytes are those of the packet, up to where it is cut.
func TestTrimmedBytes(t *testing.T) {
	r := unit.NewRandom(9, 1)
	cut := 0
	for range 3000 {
		f := randomRoCE(r, wire.Frame{Kind: wire.Data, Lane: 3, Src: 3, Dst: 5})
		f.CPID = 0
		g, size, dscp := f, wire.TrimLeast+unit.Size(r.Below(uint64(wire.TrimMost-wire.TrimLeast)+1)), uint8(r.Below(64))
		if !g.Trim(size, dscp) {
			if g != f {
				t.Fatalf("a packet that is not cut has changed: %+v", g)
			}
			continue
		}
		cut++
		v4 := !f.RoCE().IPv6
		whole, b := f.Append(nil)[wire.EthernetHeaderSize:], g.Append(nil)[wire.EthernetHeaderSize:]
		b = b[:len(b)-wire.FCSSize]
		if n := unit.Size(len(b)); n > size || n <= size-4 || n >= unit.Size(len(whole)-wire.FCSSize) {
			t.Fatalf("%+v cut to %d has %d bytes", f, size, n)
		}
		lengthAt, sumAt, length := 4, 0, len(b)-40
		if v4 {
			lengthAt, sumAt, length = 2, 10, len(b)
		}
		for i := range b {
			switch {
			case v4 && i == 1 && b[1]>>2 == dscp && b[1]&3 == whole[1]&3:
			case !v4 && i <= 1 && uint8(binary.BigEndian.Uint16(b)>>6)&63 == dscp:
			case i&^1 == lengthAt && int(binary.BigEndian.Uint16(b[lengthAt:])) == length:
			case v4 && i&^1 == sumAt:
			case b[i] != whole[i]:
				t.Fatalf("%+v: byte %d is %02x, was %02x", f, i, b[i], whole[i])
			}
		}
	}
	if cut < 1000 {
		t.Fatalf("only %d packets were cut", cut)
	}
}

// What cannot be cut stays whole.
func TestTrimRefuses(t *testing.T) {
	_, body := bodied(wire.RoCEv2, 1000)
	var store wire.Bodies
	store.Put(&body, wire.Body{Type: 0x0800, Bytes: make([]byte, 1000)})
	telemetry := roce(roceData, wire.RoCE{Stamped: true, Telemetry: wire.Exact})
	for name, c := range map[string]struct {
		frame wire.Frame
		size  unit.Size
	}{
		"an ACK":                  {roceNAK, 64},
		"a CNP":                   {roceCNP, 64},
		"cut already":             {roceTrimmed, 64},
		"another family":          {ethernet1500, 64},
		"a packet with contents":  {body, 64},
		"a packet with telemetry": {telemetry, 64},
		"a packet of that size":   {roce(wire.Frame{Kind: wire.Data, Payload: 84}, wire.RoCE{}), 128},
		"a packet of three bytes more, of which no word can go": {roce(wire.Frame{Kind: wire.Data, Payload: 84}, wire.RoCE{}), 131},
		"no room for the headers":                               {roceAll6, 75},
	} {
		if f := c.frame; f.Trim(c.size, 11) || f != c.frame {
			t.Errorf("%s: cut to %+v", name, f)
		}
	}
	if f := roceData; !f.Trim(1067, 11) || f.Flags != 255 {
		t.Errorf("cut to %+v, want the most that can remain", f)
	}
}

// DSCPs say where a packet was cut, if they differ.
func TestTrimCodes(t *testing.T) {
	for _, c := range []struct {
		codes wire.TrimCodes
		dscp  uint8
		want  bool
	}{
		{wire.TrimCodes{Fabric: 11, LastHop: 21}, 11, false},
		{wire.TrimCodes{Fabric: 11, LastHop: 21}, 21, true},
		{wire.TrimCodes{Fabric: 11, LastHop: 21}, 26, false},
		{wire.TrimCodes{Fabric: 11, LastHop: 11}, 11, false},
	} {
		f := trimmed(roceData, 128, c.dscp)
		if got := c.codes.AtLastHop(&f); got != c.want {
			t.Errorf("%+v, %d: %v", c.codes, c.dscp, got)
		}
	}
}

// Each case spoils one thing in a packet that was cut, and makes what checksums there are right.
func TestTrimmedRefusals(t *testing.T) {
	const ip, udp4, udp6 = wire.EthernetHeaderSize, wire.EthernetHeaderSize + 20, wire.EthernetHeaderSize + 40
	const bth4 = udp4 + 8
	stamp := trimmed(stamped(roceData, 5, 0), 128, 11)
	tagged := roceTagged
	tagged.CPID = 0
	tagged.Payload = 1024
	tagged = trimmed(tagged, 128, 11)
	for _, c := range []struct {
		name   string
		frame  wire.Frame
		at     int
		value  byte
		field  string
		offset int
		reason wire.Reason
	}{
		{"the whole is no number of words", roceTrimmed, udp4 + 5, 0x16, "UDP.Length", udp4 + 4, wire.ErrRange},
		{"the whole is too long", roceTrimmed, udp4 + 4, 0x40, "UDP.Length", udp4 + 4, wire.ErrRange},
		{"source port", roceTrimmed, udp4, 0xBF, "UDP.Source", udp4, wire.ErrUnsupported},
		{"a checksum over IPv4", roceTrimmed, udp4 + 6, 1, "packet", 26, wire.ErrUnsupported},
		{"an ACK", roceTrimmed, bth4, 0x11, "BTH.Opcode", bth4, wire.ErrUnsupported},
		{"reserved", roceTrimmed, bth4 + 8, 1, "BTH.Reserved", bth4 + 8, wire.ErrReserved},
		{"FECN", roceTrimmed, bth4 + 4, 0x80, "packet", 32, wire.ErrUnsupported},
		{"partition", roceTrimmed, bth4 + 3, 1, "packet", 31, wire.ErrUnsupported},
		{"contents", roceTrimmed, bth4 + 12, 1, "packet", 40, wire.ErrUnsupported},
		{"stamp of another length", stamp, bth4 + 12, 4, "packet", 40, wire.ErrUnsupported},
		{"stamp before the beginning", stamp, bth4 + 16, 0x80, "stamp.Sent", bth4 + 16, wire.ErrRange},
		{"another queue pair than that of the tags", tagged, 22 + 28 + 7, 0x13, "BTH.DestQP", 22 + 28 + 5, wire.ErrUnsupported},
		{"IPv6, another checksum of UDP", roceTrimmed6, udp6 + 7, 0, "packet", 47, wire.ErrUnsupported},
		{"IPv6, another PSN", roceTrimmed6, udp6 + 8 + 11, 0, "packet", 46, wire.ErrUnsupported},
		{"IPv6, flow label", roceTrimmed6, ip + 3, 0, "packet", 3, wire.ErrUnsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.frame.Append(nil)
			if b[c.at] == c.value {
				t.Fatal("that is not a mistake")
			}
			b[c.at] = c.value
			offset := c.offset
			if c.field == "packet" {
				offset += ip
			}
			want := wire.ParseError{Field: c.field, Offset: offset, Reason: c.reason}
			if f, err := wire.Parse(wire.StartOfFrame, refit(b)); !refusedFor(err, want) {
				t.Errorf("got %+v, %v, want %v", f, err, &want)
			}
		})
	}
}

// A packet that is cut further is one that was cut further if the lengths in its header say so, up
// to its headers; without that it is refused.
func TestTrimmedTruncations(t *testing.T) {
	for _, f := range []wire.Frame{roceTrimmed, roceTrimmed6, roceTrimmedAll} {
		at := wire.EthernetHeaderSize
		if f.Tagged {
			at += wire.CNTagSize
		}
		whole := f.Append(nil)
		for n := wire.MinFrame; n < len(whole); n++ {
			b := refit(bytes.Clone(whole[:n]))
			if got, err := wire.Parse(wire.StartOfFrame, b); !errors.Is(err, wire.ErrTruncated) {
				t.Fatalf("%+v cut to %d of %d bytes: %+v, %v", f, n, len(whole), got, err)
			}
			p := b[at : n-wire.FCSSize]
			headers := 20 + 8 + 16
			if f.RoCE().IPv6 {
				binary.BigEndian.PutUint16(p[4:], uint16(len(p)-40))
				headers += 20
			} else {
				binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
				clear(p[10:12])
				sum := uint32(0)
				for i := range 10 {
					sum += uint32(binary.BigEndian.Uint16(p[2*i:]))
				}
				binary.BigEndian.PutUint16(p[10:], ^uint16(sum+sum>>16))
			}
			if f.Stamped() {
				headers += 12
			}
			got, err := wire.Parse(wire.StartOfFrame, refit(b))
			if want := len(p) >= headers && len(p)%4 == 0; want != (err == nil) || want && (got.Kind != wire.Trimmed || got.Payload != f.Payload) {
				t.Fatalf("%+v made for %d of %d bytes: %+v, %v", f, n, len(whole), got, err)
			}
		}
	}
}
