package subnet_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/watch/subnet"
)

var be = binary.BigEndian

// torus is a torus of 3×3 switches.
const torus = `
name: torus
model: {duration: 1ms}
defaults:
  link: {rate: 25Gb/s, propagation: 10ns, flow-control: credit, buffer: 4 packets}
  flow: {traffic: greedy, packet: 2048B}
switches: {S11: {}, S12: {}, S13: {}, S21: {}, S22: {}, S23: {}, S31: {}, S32: {}, S33: {}}
endpoints: [h11, h12, h13, h21, h22, h23, h31, h32, h33]
links:
  - h11 - S11
  - h12 - S12
  - h13 - S13
  - h21 - S21
  - h22 - S22
  - h23 - S23
  - h31 - S31
  - h32 - S32
  - h33 - S33
  - S11 - S12
  - S12 - S13
  - S13 - S11
  - S21 - S22
  - S22 - S23
  - S23 - S21
  - S31 - S32
  - S32 - S33
  - S33 - S31
  - S11 - S21
  - S21 - S31
  - S31 - S11
  - S12 - S22
  - S22 - S32
  - S32 - S12
  - S13 - S23
  - S23 - S33
  - S33 - S13
flows: [{name: across, from: h11, to: h33}]
`

// open returns the management of the torus, with a client at h11 and one at h33.
func open(t testing.TB) *subnet.Subnet { return manage(t, build(t)) }

// build lays out the torus.
func build(t testing.TB) *fabric.Fabric {
	t.Helper()
	f, err := fabric.Build(runtest.Load(t, torus))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// manage returns the management of the torus.
func manage(t testing.TB, f *fabric.Fabric) *subnet.Subnet {
	t.Helper()
	s, err := subnet.New(f)
	if err != nil {
		t.Fatal(err)
	}
	for client, name := range map[int]string{0: "h11", 1: "h33"} {
		node, _ := s.Node(name)
		if err := s.Attach(client, node, false); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// request returns a MAD of version 1; with class 0x81 it has a directed route.
func request(class, method byte, attribute uint16, modifier uint32, path ...byte) *subnet.Packet {
	p := new(subnet.Packet)
	m := p[subnet.AtMAD:]
	m[0], m[1], m[2], m[3] = 1, class, 1, method
	be.PutUint16(m[16:], attribute)
	be.PutUint32(m[20:], modifier)
	if class == 0x81 {
		be.PutUint32(p[0:], 0xFFFF0000)
		be.PutUint32(p[4:], 0xFFFF0000)
		be.PutUint32(m[32:], 0xFFFFFFFF)
		m[7] = byte(len(path))
		copy(m[129:], path)
	}
	return p
}

// ask hands a packet over, and returns the answer: its status, and its data.
func ask(t testing.TB, s *subnet.Subnet, p *subnet.Packet) (status uint16, data []byte) {
	t.Helper()
	s.Handle(0, p)
	out := s.Outbox()
	if len(out) != 1 || out[0].Client != 0 {
		t.Fatalf("%d packets come back", len(out))
	}
	m := out[0].Packet[subnet.AtMAD:]
	if refused := be.Uint32(out[0].Packet[16:]); refused != 0 {
		return 0xFFFF, nil
	}
	if m[3] != 0x81 {
		t.Fatalf("the answer has method %#x", m[3])
	}
	return be.Uint16(m[4:]) &^ 0x8000, m[64:]
}

// The answers of agents. A status is as in 13.4.7: 4 class or version, 8 method, 12 method with attribute, 28 value; ffff
// means no answer.
func TestAnswers(t *testing.T) {
	const get, set = 1, 2
	for _, x := range []struct {
		name string
		p    *subnet.Packet
		want string
	}{
		{"NodeInfo of the own node", request(0x81, get, 0x11, 0), "0 0101010102fabe00"},
		{"NodeInfo of its switch, which it enters at port 1", request(0x81, get, 0x11, 0, 1), "0 0101020502fabe00"},
		{"NodeDescription beyond", request(0x81, get, 0x10, 0, 1, 2), "0 5331320000000000"},
		{"no port 9", request(0x81, get, 0x10, 0, 1, 9), "ffff "},
		{"an endpoint passes nothing on", request(0x81, get, 0x10, 0, 1, 1, 1), "ffff "},
		{"NodeInfo cannot be set", request(0x81, set, 0x11, 0), "12 0000000000000000"},
		{"SwitchInfo of an endpoint", request(0x81, get, 0x12, 0), "12 0000000000000000"},
		{"SwitchInfo", request(0x81, get, 0x12, 0, 1), "0 c000000004000000"},
		{"PortInfo of port 200", request(0x81, get, 0x15, 200, 1), "28 0000000000000000"},
		{"a LID of 0", request(0x81, set, 0x15, 1), "28 0000000000000000"},
		{"forwarding table", request(0x81, get, 0x19, 0, 1), "0 ffffffffffffffff"},
		{"forwarding table of an endpoint", request(0x81, get, 0x19, 0), "12 0000000000000000"},
		{"its block 768", request(0x81, get, 0x19, 768, 1), "28 0000000000000000"},
		{"P_Keys", request(0x81, get, 0x16, 0), "0 ffff000000000000"},
		{"VL arbitration with one VL", request(0x81, get, 0x18, 1<<16), "28 0000000000000000"},
		{"SMInfo without a manager", request(0x81, get, 0x20, 0), "12 0000000000000000"},
		{"an attribute that does not exist", request(0x81, get, 0x99, 0), "12 0000000000000000"},
		{"a method that does not exist", request(0x81, 0x15, 0x11, 0), "8"},
		{"LID 99", func() *subnet.Packet { p := request(1, get, 0x11, 0); be.PutUint16(p[0:], 99); return p }(), "ffff "},
		{"the own LID", func() *subnet.Packet { p := request(1, get, 0x10, 0); be.PutUint16(p[0:], 10); return p }(), "0 6831310000000000"},
		{"a class without an agent", func() *subnet.Packet { p := request(9, get, 1, 0); be.PutUint16(p[0:], 10); return p }(), "4 0000000000000000"},
		{"ClassPortInfo of performance", func() *subnet.Packet { p := request(4, get, 1, 0); be.PutUint16(p[0:], 10); return p }(), "0 0101130000000012"},
		{"base version 2", func() *subnet.Packet { p := request(0x81, get, 0x11, 0); p[subnet.AtMAD] = 2; return p }(), "ffff "},
		{"a hop count of 64", func() *subnet.Packet { p := request(0x81, get, 0x11, 0); p[subnet.AtMAD+7] = 64; return p }(), "ffff "},
	} {
		s := open(t)
		if x.want == "8" {
			s.Handle(0, x.p)
			if got := be.Uint16(s.Outbox()[0].Packet[subnet.AtMAD+4:]) &^ 0x8000; got != 8 {
				t.Errorf("%s: status %d", x.name, got)
			}
			continue
		}
		status, data := ask(t, s, x.p)
		got := fmt.Sprintf("%d ", status)
		if status == 0xFFFF {
			got = "ffff "
		} else {
			got += fmt.Sprintf("%x", data[:8])
		}
		if got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
}

// A port goes from Initialize through Armed to Active, and an invalid value changes nothing.
func TestStatesOfPorts(t *testing.T) {
	s := open(t)
	_, info := ask(t, s, request(0x81, 1, 0x15, 1))
	port := func(change func(d []byte)) (status uint16, state byte) {
		p := request(0x81, 2, 0x15, 1)
		d := p[subnet.AtMAD+64:]
		copy(d, info[:64])
		d[32], d[33] = 0, 0
		change(d)
		status, now := ask(t, s, p)
		return status, now[32] & 15
	}
	for _, x := range []struct {
		what   string
		change func(d []byte)
		status uint16
		state  byte
	}{
		{"Active at once", func(d []byte) { d[32] = 4 }, 28, 2},
		{"Initialize", func(d []byte) { d[32] = 2 }, 28, 2},
		{"no change", func(d []byte) {}, 0, 2},
		{"LID 0xC000", func(d []byte) { d[16], d[17] = 0xC0, 0 }, 28, 2},
		{"15 VLs", func(d []byte) { d[43] = 5 << 4 }, 28, 2},
		{"Armed", func(d []byte) { d[32] = 3 }, 0, 3},
		{"Active", func(d []byte) { d[32] = 4 }, 0, 4},
		{"Down: the link trains again", func(d []byte) { d[32] = 1 }, 0, 2},
		{"disabled", func(d []byte) { d[33] = 3 << 4 }, 0, 1},
		{"Armed without a link", func(d []byte) { d[32] = 3 }, 28, 1},
		{"polling", func(d []byte) { d[33] = 2 << 4 }, 0, 2},
	} {
		if status, state := port(x.change); status != x.status || state != x.state {
			t.Errorf("%s: status %d, state %d, want %d and %d", x.what, status, state, x.status, x.state)
		}
	}
}

// If a port has an M_Key, Set needs it, and so does Get if the port demands it.
func TestMKey(t *testing.T) {
	s := open(t)
	_, info := ask(t, s, request(0x81, 1, 0x15, 1))
	set := func(key, next uint64, bits byte) uint16 {
		p := request(0x81, 2, 0x15, 1)
		m := p[subnet.AtMAD:]
		be.PutUint64(m[24:], key)
		copy(m[64:], info[:64])
		m[64+32], m[64+33] = 0, 0
		be.PutUint64(m[64:], next)
		m[64+34] = bits << 6
		status, _ := ask(t, s, p)
		return status
	}
	for i, x := range []struct {
		key, next uint64
		bits      byte
		want      uint16
		get       uint16
	}{{0, 7, 1, 0, 0}, {0, 8, 1, 0xFFFF, 0}, {7, 8, 2, 0, 0xFFFF}, {8, 0, 0, 0, 0}} {
		if got := set(x.key, x.next, x.bits); got != x.want {
			t.Errorf("%d: Set with M_Key %d: %#x, want %#x", i, x.key, got, x.want)
		}
		if got, _ := ask(t, s, request(0x81, 1, 0x15, 1)); got != x.get {
			t.Errorf("%d: Get without: %#x, want %#x", i, got, x.get)
		}
	}
}

// An Ethernet fabric has no subnet.
func TestEthernetHasNoSubnet(t *testing.T) {
	f, err := fabric.Build(runtest.Load(t, "name: pair\nmodel: {duration: 1ms}\ndefaults: {link: {rate: 1Gb/s, propagation: 1us, flow-control: pfc}, switch: {kind: output-queued, memory: 1MB}, flow: {packet: 1024B}}\nswitches: {S: {}}\nendpoints: [a, b]\nlinks: [a - S, b - S]\nflows: [{name: f, from: a, to: b}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := subnet.New(f); err == nil {
		t.Error("a subnet of Ethernet")
	}
}

// Whatever a client sends, the agents answer or refuse it: nothing panics, and at most one packet is returned.
func FuzzHandle(f *testing.F) {
	for _, p := range []*subnet.Packet{
		request(0x81, 1, 0x11, 0), request(0x81, 1, 0x10, 0, 1, 2), request(0x81, 2, 0x15, 1, 1), request(0x81, 2, 0x19, 0, 1),
		request(0x81, 2, 0x12, 0, 1), request(0x81, 1, 0x1B, 1<<28, 1), request(0x81, 2, 0x14, 0), request(0x81, 2, 0x17, 0x102, 1),
		request(4, 1, 0x12, 0), request(4, 2, 0x1D, 0), request(0x81, 1, 0x20, 0, 1), request(3, 1, 0x35, 0), request(0x81, 7, 2, 0), request(9, 0x81, 1, 0),
	} {
		f.Add(p[:], p[:])
	}
	torus := build(f)
	f.Fuzz(func(t *testing.T, one, two []byte) {
		s := manage(t, torus)
		for _, b := range [][]byte{one, two} {
			var p subnet.Packet
			copy(p[:], b)
			s.Handle(len(b)&1, &p)
			if n := len(s.Outbox()); n > 3 { // an answer, and traps of both ends of a link
				t.Fatalf("%d packets come back", n)
			}
		}
		s.Missing()
		s.Scenario()
		s.Repeat()
		s.Outbox()
	})
}
