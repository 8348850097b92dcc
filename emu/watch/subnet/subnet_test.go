package subnet_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/watch/observe"
	"fabemu/emu/watch/subnet"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
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
func build(t testing.TB) *fabric.Fabric { return buildWith(t, "") }

// buildWith lays out the torus with further fields of its links.
func buildWith(t testing.TB, fields string) *fabric.Fabric {
	t.Helper()
	f, err := fabric.Build(runtest.Load(t, strings.Replace(torus, "buffer: 4 packets", "buffer: 4 packets"+fields, 1)))
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

// The answers of agents. A status is as in 13.4.7: 4 class or version, 8 method, 12 method with
// attribute, 28 value; ffff means no answer.
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
		{"LID 99", gmp(99, 1, get, 0x11, 0, nil), "ffff "},
		{"the own LID", gmp(10, 1, get, 0x10, 0, nil), "0 6831310000000000"},
		{"a class without an agent", gmp(10, 9, get, 1, 0, nil), "4 0000000000000000"},
		{"ClassPortInfo of performance", gmp(10, 4, get, 1, 0, nil), "0 0101130000000012"},
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

// A subnet in which two nodes have the same LID is not up.
func TestDuplicateLID(t *testing.T) {
	s := open(t)
	for _, path := range [][]byte{{}, {1, 2, 1}} { // h11, and h12 behind S12
		_, info := ask(t, s, request(0x81, 1, 0x15, 1, path...))
		p := request(0x81, 2, 0x15, 1, path...)
		copy(p[subnet.AtMAD+64:], info[:64])
		d := p[subnet.AtMAD+64:]
		d[16], d[17], d[32], d[33] = 0, 77, 0, 0
		if status, _ := ask(t, s, p); status != 0 {
			t.Fatalf("status %d", status)
		}
	}
	s.Rerouted()
	if got := s.Counts.DuplicateLIDs; len(got) != 1 || got[0] != "h11 and h12 have the same LID 77" {
		t.Errorf("%q", got)
	}
	s.Rerouted()
	if got := s.Counts.DuplicateLIDs; len(got) != 1 {
		t.Errorf("counted again: %q", got)
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

// gmp returns a MAD for a LID.
func gmp(lid uint16, class, method byte, attribute uint16, modifier uint32, change func(m []byte)) *subnet.Packet {
	p := request(class, method, attribute, modifier)
	be.PutUint16(p[0:], lid)
	if change != nil {
		change(p[subnet.AtMAD:])
	}
	return p
}

// A manager sends a trap to another one, as OpenSM does if it has the higher priority, and is told
// that it came.
func TestTrapOfAManager(t *testing.T) {
	s := open(t)
	trap := gmp(10, 1, 5, 2, 0, nil)
	if status, _ := ask(t, s, trap); status != 0xFFFF {
		t.Errorf("no manager takes it: status %#x", status)
	}
	node, _ := s.Node("h11")
	if err := s.Attach(1, node, false); err != nil {
		t.Fatal(err)
	}
	s.SetManager(1, true)
	for client, method := range []byte{5, 7} { // Trap, and TrapRepress
		trap[subnet.AtMAD+3] = method
		s.Handle(client, trap)
		out := s.Outbox()
		if len(out) != 1 || out[0].Client != 1-client || out[0].Packet[subnet.AtMAD+3] != method {
			t.Fatalf("method %d: %d packets come", method, len(out))
		}
		*trap = out[0].Packet
	}
}

// A manager that does not answer an SMInfo is asked again, four times in all, because OpenSM
// ignores requests at its start. Then the request is returned with ETIMEDOUT. An answer ends that.
func TestManagerThatIsSlow(t *testing.T) {
	for _, answers := range []bool{false, true} {
		s := open(t)
		s.SetManager(1, true)
		s.Outbox()
		s.Handle(0, request(0x81, 1, 0x20, 0, 1, 5, 3, 1)) // by S11, S31 and S33 to h33
		out := s.Outbox()
		if len(out) != 1 || out[0].Client != 1 {
			t.Fatalf("%+v", out)
		}
		if answers {
			p := out[0].Packet
			p[subnet.AtMAD+3], p[subnet.AtMAD+4] = 0x81, 0x80
			s.Handle(1, &p)
			s.Outbox()
		}
		s.Handle(1, request(0x81, 1, 0x11, 0)) // the other manager has a request with the same number
		s.Outbox()
		var clients []int
		status := uint32(0)
		for range 10 {
			s.Repeat()
			for _, d := range s.Outbox() {
				clients = append(clients, d.Client)
				status = be.Uint32(d.Packet[16:])
			}
		}
		want, last := []int{1, 1, 1, 0}, uint32(110)
		if answers {
			want, last = nil, 0
		}
		if !slices.Equal(clients, want) || status != last {
			t.Errorf("answers %v: sent to clients %v, status %d", answers, clients, status)
		}
	}
}

// Congestion control (Annex A10): LID 10 is endpoint h11, which has a flow, and LID 1 a switch,
// both without congestion control at first. What Set changes is read back, and becomes events.
func TestCongestionControl(t *testing.T) {
	const get, set = 1, 2
	s := open(t)
	for _, x := range []struct {
		name                 string
		lid                  uint16
		method               byte
		attribute            uint16
		modifier             uint32
		data, status, answer string
	}{
		{"ClassPortInfo", 10, get, 0x01, 0, "", "0", "0102000000000012"},
		{"CongestionInfo of an endpoint: 255 blocks", 10, get, 0x11, 0, "", "0", "0000ff0000000000"},
		{"of a switch: credit starvation", 1, get, 0x11, 0, "", "0", "0001000000000000"},
		{"it is read only", 1, set, 0x11, 0, "", "12", ""},
		{"no such attribute", 1, get, 0x19, 0, "", "12", ""},
		{"SwitchCongestionSetting at first", 1, get, 0x14, 0, "", "0", "0000000000000000"},
		{"of an endpoint", 10, get, 0x14, 0, "", "12", ""},
		{"threshold and packet size only", 1, set, 0x14, 0, "00000004 00*64 f0 08 f0 00 ffff ffff", "0", "00000004"},
		{"SwitchPortCongestionSetting: port 1, and port 2 for credit starvation", 1, set, 0x15, 0, "00000000 8f080003 c4008009", "0", "000000008f080003c4008009"},
		{"it is stored", 1, get, 0x15, 0, "", "0", "000000008f080003c400800900000000"},
		{"block 1", 1, get, 0x15, 1, "", "28", ""},
		{"CACongestionSetting at first", 10, get, 0x16, 0, "", "0", "0000000000000000"},
		{"of a switch", 1, get, 0x16, 0, "", "12", ""},
		{"an increase without a timer", 10, set, 0x16, 0, "0000 0001 0000 01", "28", ""},
		{"a CCTI for each port", 10, set, 0x16, 0, "0001 0001 0096 01", "28", ""},
		{"SL 0 and 1", 10, set, 0x16, 0, "0000 0003 0096 01 05 02 000000 0097 02", "0", "0000000300960105"},
		{"SL 1 only: SL 0 stays", 10, set, 0x16, 0, "0000 0002 0099 09 05 02 000000 0098 03", "0", "0000000200960105"},
		{"a table with a limit of 1, and CCTI_Min is 2", 10, set, 0x17, 0, "0001 0000 0000 4003", "0", "0001000000004003"},
		{"the limit is beyond 255 blocks", 10, set, 0x17, 0, "3fc0", "28", ""},
		{"block 255", 10, get, 0x17, 255, "", "28", ""},
		{"a block behind the table", 10, get, 0x17, 7, "", "0", "0001000000000000"},
		{"TimeStamp before the run", 10, get, 0x18, 0, "", "0", "0000000000000000"},
		{"Set of CongestionKeyInfo: a key, protected, a lease", 10, set, 0x12, 0, "00000000 0000002a 8000 0005", "0", "000000000000002a"},
		{"without it: a table", 10, get, 0x17, 0, "", "65535", ""},
		{"without it: Get hides the key", 10, get, 0x12, 0, "", "0", "0000000000000000"},
		{"without it: ClassPortInfo", 10, get, 0x01, 0, "", "0", "0102000000000012"},
		{"with it: a table", 10, get, 0x17, 0, "key", "0", "0001000000004003"},
	} {
		node, _ := s.Node(map[uint16]string{1: "S11", 10: "h11"}[x.lid]) // no port is active yet: it asks its own agent
		if err := s.Attach(0, node, false); err != nil {
			t.Fatal(err)
		}
		status, data := ask(t, s, gmp(x.lid, 0x21, x.method, x.attribute, x.modifier, func(m []byte) {
			text := strings.ReplaceAll(strings.ReplaceAll(x.data, "00*64", strings.Repeat("00", 64)), " ", "")
			if text == "key" {
				be.PutUint64(m[24:], 42)
				text = ""
			}
			if _, err := hex.Decode(m[64:], []byte(text)); err != nil {
				t.Fatal(err)
			}
		}))
		if got := fmt.Sprint(status); got != x.status {
			t.Errorf("%s: status %s, want %s", x.name, got, x.status)
		} else if got := fmt.Sprintf("%x", data); !strings.HasPrefix(got, x.answer) {
			t.Errorf("%s: %.16s, want %s", x.name, got, x.answer)
		}
	}
	if _, data := ask(t, s, gmp(10, 0x21, get, 0x12, 0, func(m []byte) { be.PutUint64(m[24:], 42) })); fmt.Sprintf("%x", data[:16]) != "000000000000002a8000000500010000" {
		t.Errorf("CongestionKeyInfo: %x, want one violation", data[:16])
	}
	want := []string{
		`{at: 0s, switch: S11, marking: {threshold: 15, packet-size: 8, marking-rate: 0, marking-gaps: geometric, victim-mask: none, credit-mask: none, credit-starvation-threshold: 0, credit-starvation-return-delay: "0:0", ports: "1=15:8:3,2=cs:4:2:9"}}`,
		`{at: 0s, endpoint: h11, control: {cct: "0:0,1:3", ccti-limit: 1, ccti-increase: 1, ccti-timer: 150, timer-start: idle, ccti-min: 1, trigger-threshold: 5, port-control: qp, sl: 0}}`,
	}
	now := s.Scenario()
	for i, e := range now.Events {
		if i >= len(want) || e.Text() != want[i] {
			t.Errorf("event %d: %s", i, e.Text())
		}
	}
	if len(now.Events) != len(want) || len(s.Congested()) > 0 {
		t.Errorf("%d events", len(now.Events))
	}
	if _, err := resolve.Text(now); err != nil {
		t.Error(err)
	}
}

// Whatever the agents accept, the run can adopt: random data of Set leads to a valid scenario.
func TestCongestionControlIsAdopted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	f, accepted := build(t), 0
	for range 60 {
		s := manage(t, f)
		for attribute, node := range map[uint16]string{0x14: "S11", 0x15: "S12", 0x16: "h11", 0x17: "h11"} {
			i, _ := s.Node(node)
			if err := s.Attach(0, i, false); err != nil {
				t.Fatal(err)
			}
			status, _ := ask(t, s, gmp(uint16(f.Nodes[i].LID), 0x21, 2, attribute, random.Uint32N(3), func(m []byte) {
				for k := 64; k < 256; k++ {
					m[k] = byte(random.Uint32() & random.Uint32())
				}
				if attribute == 0x17 {
					m[64] &= 1
				}
			}))
			if status == 0 {
				accepted++
			}
		}
		if _, err := resolve.Text(s.Scenario()); err != nil {
			t.Fatal(err)
		}
	}
	if accepted < 100 {
		t.Errorf("%d of 240 are accepted", accepted)
	}
}

// The attributes have what the scenario says, and without a change there is no event.
func TestCongestionControlOfAScenario(t *testing.T) {
	f, err := fabric.Build(runtest.Load(t, runtest.Text(t, "cca/incast")))
	if err != nil {
		t.Fatal(err)
	}
	s, err := subnet.New(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Attach(0, f.Paths.Index["S1"], false); err != nil {
		t.Fatal(err)
	}
	lid := f.Nodes[f.Paths.Index["S1"]].LID
	for attribute, want := range map[uint16]string{
		0x16: "0000000100960100" + "00",
		0x17: "007f000000000001" + "0002",
	} {
		for _, method := range []byte{1, 2} { // what is read can be set
			_, data := ask(t, s, gmp(uint16(lid), 0x21, method, attribute, 0, func(m []byte) {
				if method == 2 {
					_, before := ask(t, s, gmp(uint16(lid), 0x21, 1, attribute, 0, nil))
					copy(m[64:], before)
				}
			}))
			if got := fmt.Sprintf("%x", data); !strings.HasPrefix(got, want) {
				t.Errorf("attribute %#x: %.20s, want %s", attribute, got, want)
			}
		}
	}
	if events := s.Congested(); len(events) > 0 {
		t.Errorf("%v", events)
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

// The tables of lanes before and after a manager sets them, and the lanes of the run that follow:
// 28 is an invalid value.
func TestLanes(t *testing.T) {
	s := manage(t, buildWith(t, `, lanes: {max-vls: 4, vlarb-high: "3:9"}`))
	fill := func(p *subnet.Packet, data ...byte) *subnet.Packet {
		copy(p[subnet.AtMAD+64:], data)
		return p
	}
	port := func(vls byte) *subnet.Packet { // of h11, with LID 10
		return fill(request(0x81, 2, 0x15, 1), []byte{17: 10, 43: vls << 4}...)
	}
	for _, x := range []struct {
		name string
		p    *subnet.Packet
		want string
	}{
		{"SL to VL, from port 2 to port 1", request(0x81, 1, 0x17, 0x201, 1), "0 0123012301230123"},
		{"of port 9", request(0x81, 1, 0x17, 0x209, 1), "28 0000000000000000"},
		{"the low table", request(0x81, 1, 0x18, 1<<16|1, 1), "0 0040014002400340"},
		{"the high table", request(0x81, 1, 0x18, 3<<16|1, 1), "0 0309000000000000"},
		{"block 5", request(0x81, 1, 0x18, 5<<16|1, 1), "28 0000000000000000"},
		{"of port 0", request(0x81, 1, 0x18, 1<<16, 1), "28 0000000000000000"},
		{"SL to VL is set", fill(request(0x81, 2, 0x17, 0x201, 1), 0x33, 0x21), "0 3321000000000000"},
		{"the low table is set", fill(request(0x81, 2, 0x18, 1<<16|1, 1), 2, 7, 15, 8, 1, 0), "0 02070f0801000000"},
	} {
		t.Run(x.name, func(t *testing.T) {
			status, data := ask(t, s, x.p)
			if got := fmt.Sprintf("%d %x", status, data[:8]); got != x.want {
				t.Errorf("%s, want %s", got, x.want)
			}
		})
	}
	for vls, want := range map[byte]uint16{2: 0, 5: 28} {
		if status, _ := ask(t, s, port(vls)); status != want {
			t.Errorf("OperVLs %d: status %d", vls, status)
		}
	}
	var got []string
	for _, r := range s.Scenario().LaneRules {
		got = append(got, fmt.Sprint(r.At, "|", r.From, "|", r.Over, "|", r.Lanes, "|", r.High, "|", r.Low))
	}
	const usual = "0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3"
	want := []string{
		"S11||h11 - S11||3:9|2:7",
		"S11|h11 - S11|h11 - S11|" + usual + "||",
		"S11|S11 - S12|h11 - S11|3,3,2,1,0,0,0,0,0,0,0,0,0,0,0,0||",
		"S11|S13 - S11|h11 - S11|" + usual + "||",
		"S11|S11 - S21|h11 - S11|" + usual + "||",
		"S11|S31 - S11|h11 - S11|" + usual + "||",
		"h11||h11 - S11|" + strings.ReplaceAll(usual, "2,3", "15,15") + "|3:9|0:64,1:64,2:64,3:64",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Whatever a client sends, or comes by a link, the agents answer or refuse it: nothing panics, and
// at most one packet is returned.
func FuzzHandle(f *testing.F) {
	for _, p := range []*subnet.Packet{
		request(0x81, 1, 0x11, 0), request(0x81, 1, 0x10, 0, 1, 2), request(0x81, 2, 0x15, 1, 1), request(0x81, 2, 0x19, 0, 1),
		request(0x81, 2, 0x12, 0, 1), request(0x81, 1, 0x1B, 1<<28, 1), request(0x81, 2, 0x14, 0), request(0x81, 2, 0x17, 0x102, 1),
		request(0x81, 2, 0x18, 1<<16|1, 1), request(0x81, 2, 0x18, 4<<16, 0), request(4, 1, 0x12, 0), request(4, 2, 0x1D, 0), request(0x81, 1, 0x20, 0, 1), request(3, 1, 0x35, 0), request(0x81, 7, 2, 0), request(9, 0x81, 1, 0),
		gmp(1, 0x21, 2, 0x14, 0, func(m []byte) { m[67], m[132] = 31, 0xF0 }), gmp(10, 0x21, 2, 0x16, 0, func(m []byte) { m[67], m[69], m[70] = 1, 9, 1 }),
		gmp(10, 0x21, 2, 0x17, 254, func(m []byte) { m[64] = 0x3F }), gmp(10, 0x21, 2, 0x12, 0, func(m []byte) { m[64], m[72] = 1, 0x80 }),
		gmp(1, 0x21, 2, 0x15, 0, func(m []byte) { m[68], m[72] = 0x8F, 0xC4 }), gmp(1, 4, 2, 0x34, 0, func(m []byte) { m[65] = 255 }), gmp(10, 0x21, 1, 0x13, 0, nil), gmp(1, 0x21, 1, 0x13, 0, nil), gmp(10, 0x21, 1, 0x18, 0, nil),
	} {
		f.Add(p[:], p[:])
	}
	torus := buildWith(f, ", lanes: 4")
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
		b, send := subnet.Local(s)
		bodies := &wire.Bodies{}
		b.Begin(bodies)
		for _, data := range [][]byte{one, two} {
			var p subnet.Packet
			copy(p[:], data)
			mad := (*[wire.MADSize]byte)(bytes.Clone(p[subnet.AtMAD:]))
			frame := wire.Frame{Kind: wire.Management, Lane: 15, Src: wire.LID(be.Uint16(p[4:])), Dst: wire.LID(be.Uint16(p[0:]))}
			for node := range torus.Nodes {
				if out := b.Manage(node)(0, 0, &frame, mad); out < port.Taken && int(out) >= len(torus.Nodes[node].Ports) {
					t.Fatalf("it leaves %s by port %d", torus.Nodes[node].Name, out)
				}
			}
			send(0, &p)
		}
		b.Look(func(int, port.ID, port.Change) unit.Time { return 0 })
	})
}

// An SMP can be routed by LID to a switch and then be directed (14.2.2.1), as "smpquery -c" and
// "iblinkinfo -S" send it: each node behind the switch answers.
func TestDirectedFromLID(t *testing.T) {
	f := build(t)
	lid := func(name string) uint16 { return uint16(f.Nodes[f.Paths.Index[name]].LID) }
	s := manage(t, f)
	for _, x := range []struct {
		path []byte // to a switch
		to   map[string]byte
	}{
		{[]byte{1}, map[string]byte{"S12": 2, "h11": 1}},    // S11
		{[]byte{1, 2}, map[string]byte{"S12": 0, "h11": 2}}, // S12
	} {
		for name, out := range x.to {
			p := request(0x81, 1, 0x19, uint32(lid(name)/64), x.path...)
			_, block := ask(t, s, p)
			p = request(0x81, 2, 0x19, uint32(lid(name)/64), x.path...)
			copy(p[subnet.AtMAD+64:], block[:64])
			p[subnet.AtMAD+64+int(lid(name)%64)] = out
			if status, _ := ask(t, s, p); status != 0 {
				t.Fatalf("forwarding table: status %d", status)
			}
		}
		top := request(0x81, 2, 0x12, 0, x.path...)
		be.PutUint16(top[subnet.AtMAD+64+6:], 100)
		if status, _ := ask(t, s, top); status != 0 {
			t.Fatalf("SwitchInfo: status %d", status)
		}
	}
	to := func(drslid, drdlid uint16, path ...byte) *subnet.Packet {
		p := request(0x81, 1, 0x10, 0, path...)
		be.PutUint16(p[0:], lid("S12"))
		be.PutUint16(p[4:], lid("h11"))
		be.PutUint16(p[subnet.AtMAD+32:], drslid)
		be.PutUint16(p[subnet.AtMAD+34:], drdlid)
		return p
	}
	const permissive = 0xFFFF
	for _, x := range []struct {
		path []byte
		want string
	}{{nil, "S12"}, {[]byte{1}, "h12"}, {[]byte{2}, "S11"}, {[]byte{3}, "S13"}, {[]byte{3, 1}, "h13"}, {[]byte{2, 1}, "h11"}} {
		status, data := ask(t, s, to(lid("h11"), permissive, x.path...))
		name, _, _ := strings.Cut(string(data[:64]), "\x00")
		if status != 0 || name != x.want {
			t.Errorf("%v from S12: status %#x from %q, want %s", x.path, status, name, x.want)
		}
	}
	for name, p := range map[string]*subnet.Packet{
		"a route that ends by LID": to(lid("h11"), lid("h12"), 1), "no LID to come back to": to(0, permissive, 1),
		"a multicast LID": to(0xC000, permissive, 1), "behind an endpoint": to(lid("h11"), permissive, 1, 1),
	} {
		if status, _ := ask(t, s, p); status != 0xFFFF {
			t.Errorf("%s: status %#x", name, status)
		}
	}
}

// A port of 4 lanes states its speed by the codes that infiniband-diags names: XDR in
// LinkSpeedExtActive2, Supported2 and Enabled2, which CapabilityMask2 announces, also at the port
// of a switch with the LID.
func TestSpeeds(t *testing.T) {
	for _, x := range []struct {
		rate string
		want string // LinkWidth, LinkSpeed, LinkSpeedExt2, CapabilityMask2, LinkSpeedExt
		xdr  bool
	}{
		{"8Gb/s", "2 1 00 0000 00 00", false}, {"32Gb/s", "2 4 00 0000 00 00", false}, {"100Gb/s", "2 4 00 0000 22 02", false},
		{"200Gb/s", "2 4 00 0000 44 04", false}, {"400Gb/s", "2 4 00 0000 88 08", false}, {"800Gb/s", "2 4 29 1800 00 00", true},
	} {
		f, err := fabric.Build(runtest.Load(t, strings.Replace(torus, "rate: 25Gb/s", "rate: "+x.rate, 1)))
		if err != nil {
			t.Fatal(err)
		}
		s := manage(t, f)
		for _, path := range [][]byte{nil, {1}} { // h11 and S11
			_, d := ask(t, s, request(0x81, 1, 0x15, 1, path...))
			_, base := ask(t, s, request(0x81, 1, 0x15, 0, path...))
			got := fmt.Sprintf("%d %d %02x %04x %02x %02x", d[31], d[35]>>4, d[56], be.Uint16(base[60:]), d[62], d[63])
			if got != x.want || (be.Uint32(base[20:])&(1<<15) != 0) != x.xdr {
				t.Errorf("%s, path %v: %s, want %s; CapabilityMask %08x", x.rate, path, got, x.want, be.Uint32(base[20:]))
			}
		}
	}
}

// The error counters of both ends of a link follow its faults: frames that are lost are symbol
// errors where they would have come, corrupted ones are receive errors too, and each time that the
// link goes down counts at both ends. Frames that a fault took are not discards.
func TestErrorCounters(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	sc := runtest.Load(t, `
name: errors
model: {duration: 1ms}
defaults: {link: {rate: 8Gb/s, buffer: 32KiB}, switch: {forwarding-delay: 100ns}, flow: {packet: 2048B, window: 8, timeout: 20us}}
switches: {S: {}}
endpoints: [a, b]
links: [{name: left, between: a - S}, {name: right, between: S - b}]
flows: [{name: f, from: a, to: b, stop: 950us}]
faults:
  - {name: lost, link: left, loss: 0.05, from: a}
  - {name: spoilt, link: right, corruption: 0.04, from: S, for: 800us}
  - {name: flapping, link: left, flap: 1us, period: 100us, at: 50us}
`)
	f, err := fabric.Build(sc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := subnet.New(f)
	if err != nil {
		t.Fatal(err)
	}
	r, err := emu.Run(t.Context(), sc, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Observe: []observe.Request{{
		Observer: observe.Func(func(now *observe.Snapshot) {
			if now.Last {
				s.Observe(now.Figures)
			}
		}),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	// By node and port, from the events of the run.
	lost, spoilt, others := map[[2]int]int64{}, map[[2]int]int64{}, map[[2]int]int64{}
	for _, l := range r.Metrics.View().Losses() {
		of := others
		switch l.Reason {
		case trace.LostOnLink:
			of = lost
		case trace.BadFCS:
			of = spoilt
		}
		of[[2]int{l.Node, int(l.Port)}] += l.Count
	}
	downs := map[string]int64{}
	for _, e := range sc.Events {
		if e.Act == (scenario.StateChange{State: scenario.Down}) {
			downs[e.Link]++
		}
	}
	if len(lost) != 1 || len(spoilt) != 1 || downs["left"] != 10 || len(downs) != 1 {
		t.Fatalf("the run has lost %v, corrupted %v, and gone down %v", lost, spoilt, downs)
	}
	for i, n := range f.Nodes {
		if err := s.Attach(0, i, false); err != nil {
			t.Fatal(err)
		}
		for k, at := range n.Ports {
			c := func(change func(m []byte)) []byte {
				_, d := ask(t, s, gmp(uint16(n.LID), 4, 1, 0x12, 0, func(m []byte) {
					m[64+1] = byte(k + 1)
					if change != nil {
						change(m)
					}
				}))
				return d
			}
			port, link := [2]int{i, k}, f.Wires[at.Wire].Link.Name
			want := fmt.Sprintf("symbols %d, downed %d, receive errors %d, discards %d, recoveries 0, integrity 0",
				lost[port]+spoilt[port], downs[link], spoilt[port], others[port])
			got := func(d []byte) string {
				return fmt.Sprintf("symbols %d, downed %d, receive errors %d, discards %d, recoveries %d, integrity %d",
					be.Uint16(d[4:]), d[7], be.Uint16(d[8:]), be.Uint16(d[14:]), d[6], d[19]>>4)
			}
			if have := got(c(nil)); have != want {
				t.Errorf("%s port %d, link %s: %s; want %s", n.Name, k+1, link, have, want)
			}
			c(func(m []byte) { m[3], m[64+2], m[64+3] = 2, 0xFF, 0xFF }) // Set resets what CounterSelect names
			if have, none := got(c(nil)), "symbols 0, downed 0, receive errors 0, discards 0, recoveries 0, integrity 0"; have != none {
				t.Errorf("%s port %d after a reset: %s", n.Name, k+1, have)
			}
		}
	}
}

// A row that a program adds to a run is in the attribute that the row names: at the port that sends
// into a link, or at the one at its end.
func TestAFigureIsARow(t *testing.T) {
	row := *metrics.Find(metrics.Link, "frames")
	row.Name, row.JSON, row.Prometheus = "data", "data", nil
	row.MAD = []metrics.Field{{Attribute: 0x12, At: 20, Bits: 16, Selected: 10}, {Attribute: 0x12, At: 22, Bits: 16, Selected: 11, Far: true}}
	f := build(t)
	c, err := metrics.New(f, f.Scenario, &row)
	if err != nil {
		t.Fatal(err)
	}
	out := f.Nodes[f.Flows[0].Src].Ports[0]
	for n := range 7 {
		e := trace.Event{At: unit.Time(n+1) * unit.Time(unit.Microsecond), Node: int32(f.Flows[0].Src), Kind: trace.Start, Bytes: 100, Flow: f.Flows[0].QP}
		e.A = trace.FrameWord(&wire.Frame{Kind: wire.Data})
		c.Record(&e)
	}
	c.Close(unit.Time(f.Scenario.Model.Duration))
	s, err := subnet.New(f)
	if err != nil {
		t.Fatal(err)
	}
	s.Observe(c.View())
	far := f.Wires[out.Wire].Ends[1-out.End]
	for _, test := range []struct{ node, port, at int }{{f.Flows[0].Src, 0, 20}, {far.Node, int(far.Port), 22}} {
		if err := s.Attach(0, test.node, false); err != nil {
			t.Fatal(err)
		}
		_, d := ask(t, s, gmp(uint16(f.Nodes[test.node].LID), 4, 1, 0x12, 0, func(m []byte) { m[64+1] = byte(test.port + 1) }))
		if got := be.Uint16(d[test.at:]); got != 7 {
			t.Errorf("the field of %s has %d, want 7", f.Nodes[test.node].Name, got)
		}
	}
}
