package guest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire"
	ports "fabemu/wire/port"
	"fabemu/wire/unit"
)

// text is a fabric of three guests of a kind: a sends to b by two priorities, to c by one.
func text(kind string) string {
	return `
name: three
model: {duration: 1s}
wall: {dilation: 1}
defaults: {link: {rate: 100Mb/s, flow-control: pfc}, flow: {packet: 1600B}}
switches: {S: {kind: output-queued}}
endpoints:
  - {name: a, guest: {kind: ` + kind + `, dscp: [{dscp: 46, priority: 5}, {dscp: 8, priority: 1}]}}
  - {name: b, guest: ` + kind + `}
  - {name: c, guest: ` + kind + `}
  - model
links: ["a - S", "b - S", "c - S", "model - S"]
flows:
  - {name: ab, from: a, to: b}
  - {name: fast, from: a, to: b, priority: 5}
  - {name: ac, from: a, to: c}
  - {name: ba, from: b, to: a}
  - {name: padding, from: model, to: c}
`
}

// fake is a device.
type fake struct {
	sent     [][]byte // by the guest
	received [][]byte
}

func (f *fake) Read(b []byte) (int, error) {
	if len(f.sent) == 0 {
		return 0, nil
	}
	n := copy(b, f.sent[0])
	f.sent = f.sent[1:]
	return n, nil
}

func (f *fake) Write(b []byte) (bool, error) {
	f.received = append(f.received, append([]byte(nil), b...))
	return true, nil
}

func (f *fake) Dropped() (sent, received uint64, err error) { return 7, 0, nil }

// open lays out the three guests, with devices that are none.
func open(t *testing.T, kind string, set ...string) (*Guests, map[string]*fake, map[string]*fabric.Flow) {
	t.Helper()
	var changes []scenario.Set
	for _, text := range set {
		c, err := scenario.ParseSet(text)
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, c)
	}
	s, err := resolve.Load("three.yaml", []byte(text(kind)), changes)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	g, fakes, flows := layOut(f), map[string]*fake{}, map[string]*fabric.Flow{}
	for _, x := range g.all {
		d := &fake{}
		x.device, fakes[x.name] = d, d
	}
	for i := range f.Flows {
		flows[f.Flows[i].Name] = &f.Flows[i]
	}
	return g, fakes, flows
}

// packet returns a packet of UDP, in a frame of Ethernet if it has an address there.
func packet(t *testing.T, to [4]byte, dscp, size int, ether ...layers.Ethernet) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	ip := &layers.IPv4{Version: 4, TTL: 64, TOS: uint8(dscp << 2), Protocol: layers.IPProtocolUDP, SrcIP: []byte{10, 0, 0, 1}, DstIP: to[:]}
	udp := &layers.UDP{SrcPort: 1, DstPort: 5201}
	_ = udp.SetNetworkLayerForChecksum(ip)
	var all []gopacket.SerializableLayer
	for i := range ether {
		ether[i].EthernetType = layers.EthernetTypeIPv4
		all = append(all, &ether[i])
	}
	all = append(all, ip, udp, gopacket.Payload(make([]byte, size-28)))
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...); err != nil {
		t.Fatal(err)
	}
	return append([]byte(nil), b.Bytes()...)
}

// look calls Look, and returns the nodes that have something.
func look(t *testing.T, g *Guests) (nodes []string) {
	t.Helper()
	if err := g.Look(func(m int, _ ports.ID, _ ports.Change) unit.Time {
		nodes = append(nodes, g.fabric.Nodes[m].Name)
		return 0
	}); err != nil {
		t.Fatal(err)
	}
	return nodes
}

// take takes all packets that a flow has, and returns their lengths.
func take(g *Guests, f *fabric.Flow) (lengths []int) {
	s := g.Source(f)
	for s.Ready(0) == 0 {
		b, _ := s.Take(0, 2000)
		lengths = append(lengths, len(b.Bytes))
	}
	return lengths
}

// A packet goes by the flow to its destination: that of the priority that its DSCP has, or
// the first.
func TestPacketsGoByTheirFlows(t *testing.T) {
	g, fakes, flows := open(t, "tun")
	fakes["a"].sent = [][]byte{
		packet(t, [4]byte{10, 0, 0, 2}, 0, 100), packet(t, [4]byte{10, 0, 0, 2}, 46, 200), packet(t, [4]byte{10, 0, 0, 3}, 11, 300),
	}
	if got := look(t, g); !cmp.Equal(got, []string{"a"}) {
		t.Errorf("offered: %v", got)
	}
	if got := look(t, g); got != nil {
		t.Errorf("offered again: %v", got)
	}
	got := map[string][]int{}
	for name, f := range flows {
		if name == "padding" {
			if g.Source(f) != nil || g.Sink(f) != nil {
				t.Error("a flow that is not between guests has their packets")
			}
			continue
		}
		got[name] = take(g, f)
	}
	want := map[string][]int{"ab": {100}, "fast": {200}, "ac": {300}, "ba": nil}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A device is read while the packet that was read last has room in its flow's queue, and no
// further: one behind it, for another flow, waits. It is read on as packets are taken.
func TestDeviceIsReadAsFarAsThereIsRoom(t *testing.T) {
	g, fakes, flows := open(t, "tun")
	for i := range 5 {
		fakes["a"].sent = append(fakes["a"].sent, packet(t, [4]byte{10, 0, 0, 2}, 0, 100+i))
	}
	fakes["a"].sent = append(fakes["a"].sent, packet(t, [4]byte{10, 0, 0, 3}, 0, 300))
	look(t, g)
	if left := len(fakes["a"].sent); left != 3 {
		t.Errorf("%d packets have not been read; of 6, queueRoom of %d and one pending are", left, queueRoom)
	}
	s := g.Source(flows["ab"])
	for i := range 5 {
		if got, stopped := g.Source(flows["ac"]).Ready(5), i < 3; (got == unit.Never) != stopped {
			t.Errorf("after %d packets, the packet behind those that were stopped is ready at %v", i, got)
		}
		b, ok := s.Take(0, 2000)
		if !ok || len(b.Bytes) != 100+i || int(b.Bytes[3]) != 100+i {
			t.Fatalf("packet %d: %d bytes, %t", i, len(b.Bytes), ok)
		}
	}
	if got := look(t, g); !cmp.Equal(got, []string{"a"}) { // for the other flow
		t.Errorf("offered: %v", got)
	}
	if got := append(take(g, flows["ab"]), take(g, flows["ac"])...); !cmp.Equal(got, []int{300}) {
		t.Errorf("then %v", got)
	}
}

// What goes nowhere is counted, told once, and answered by ICMP: RFC 792, destination
// unreachable, with the internet header and the first 64 bits of the data of the packet.
func TestPacketsWithoutAFlow(t *testing.T) {
	g, fakes, _ := open(t, "tun")
	lost := packet(t, [4]byte{8, 8, 8, 8}, 0, 100)
	noPriority := packet(t, [4]byte{10, 0, 0, 3}, 46, 100)
	fakes["a"].sent = [][]byte{lost, noPriority, packet(t, [4]byte{10, 0, 255, 255}, 0, 50), {0x20, 1, 2}, {}, packet(t, [4]byte{224, 0, 0, 1}, 0, 60)}
	look(t, g) // an empty packet is what a device has that has none
	look(t, g)
	if got := fakes["a"].received; len(got) != 3 {
		t.Fatalf("%d answers", len(got))
	}
	p := gopacket.NewPacket(fakes["a"].received[0], layers.LayerTypeIPv4, gopacket.Default)
	ip, icmp := p.NetworkLayer().(*layers.IPv4), p.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4)
	if p.ErrorLayer() != nil || checksum(fakes["a"].received[0][:20]) != 0 || checksum(fakes["a"].received[0][20:]) != 0 {
		t.Errorf("what gopacket reads: %v", p)
	}
	if ip.SrcIP.String() != "8.8.8.8" || ip.DstIP.String() != "10.0.0.1" || icmp.TypeCode.String() != "DestinationUnreachable(Host)" {
		t.Errorf("%v to %v: %v", ip.SrcIP, ip.DstIP, icmp.TypeCode)
	}
	if d := cmp.Diff(lost[:28], icmp.Payload); d != "" {
		t.Errorf("quoted (-want +got):\n%s", d)
	}
	reports, warnings := g.Report()
	want := Counts{Sent: 5, NoFlow: 4, NotIP: 1, Received: 3, KernelDrops: 7}
	if d := cmp.Diff(want, reports[0].Counts); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(warnings) != 4 { // and the drops of three kernels
		t.Errorf("warnings: %q", warnings)
	}
	// Neither an error nor a packet without a source is answered.
	if unreachable(fakes["a"].received[0]) != nil {
		t.Error("an ICMP error is answered")
	}
}

// A frame between nodes of the fabric is carried without its addresses, and has them
// again at the other end; any other is carried whole, a broadcast to each guest.
func TestFramesOfEthernet(t *testing.T) {
	g, fakes, flows := open(t, "tap")
	mac := func(name string) []byte {
		for _, x := range g.all {
			if x.name == name {
				return appendMAC(nil, x.mac)
			}
		}
		return nil
	}
	plain := packet(t, [4]byte{10, 0, 0, 2}, 46, 100, layers.Ethernet{SrcMAC: mac("a"), DstMAC: mac("b")})
	madeUp := packet(t, [4]byte{10, 0, 0, 2}, 0, 100, layers.Ethernet{SrcMAC: []byte{2, 9, 9, 9, 9, 9}, DstMAC: mac("b")})
	all := packet(t, [4]byte{10, 0, 0, 2}, 0, 100, layers.Ethernet{SrcMAC: mac("a"), DstMAC: []byte{255, 255, 255, 255, 255, 255}})
	for _, c := range []struct {
		name  string
		frame []byte
		kind  uint16
		size  int
		flows []string
		gets  []byte
	}{
		{"plain", plain, 0x0800, 100, []string{"fast"}, plain},
		{"an address that is made up", madeUp, wholeFrame, 114, []string{"ab"}, madeUp},
		{"to all", all, wholeFrame, 114, []string{"ab", "ac"}, all},
	} {
		fakes["a"].sent = [][]byte{c.frame}
		look(t, g)
		for _, flow := range c.flows {
			b, ok := g.Source(flows[flow]).Take(0, 2000)
			if !ok || b.Type != c.kind || len(b.Bytes) != c.size {
				t.Fatalf("%s: flow %s has a body %04x of %d bytes, %t", c.name, flow, b.Type, len(b.Bytes), ok)
			}
			g.Sink(flows[flow]).Put(0, wire.Body{Type: b.Type, Bytes: append([]byte(nil), b.Bytes...)})
			d := fakes[flows[flow].To]
			if got := d.received[len(d.received)-1]; !cmp.Equal(got, c.gets) {
				t.Errorf("%s: %s gets\n%x, want\n%x", c.name, flows[flow].To, got, c.gets)
			}
		}
	}
	fakes["a"].sent = [][]byte{packet(t, [4]byte{10, 0, 0, 9}, 0, 100, layers.Ethernet{SrcMAC: mac("a"), DstMAC: []byte{2, 0, 0, 0, 0, 77}}), {1, 2, 3}}
	look(t, g)
	if reports, _ := g.Report(); reports[0].NoFlow != 1 || reports[0].NotIP != 1 || len(fakes["a"].received) != 0 {
		t.Errorf("%+v, answered by %x", reports[0].Counts, fakes["a"].received)
	}
}

// A packet that its flow has no room for is dropped, and told.
func TestPacketsThatAreTooLong(t *testing.T) {
	g, fakes, flows := open(t, "tun")
	fakes["a"].sent = [][]byte{packet(t, [4]byte{10, 0, 0, 2}, 0, 1600), packet(t, [4]byte{10, 0, 0, 2}, 0, 1601)}
	look(t, g)
	if got := take(g, flows["ab"]); !cmp.Equal(got, []int{1600}) {
		t.Errorf("taken: %v", got)
	}
	if reports, _ := g.Report(); reports[0].TooLong != 1 {
		t.Errorf("%+v", reports[0].Counts)
	}
}

// At a dilation above 1 the kernel's CUBIC and BBR are for those who ask for them; the least
// RTO is what it is in model time.
func TestDilation(t *testing.T) {
	for _, c := range []struct {
		dilation int64
		usual    string
		tcp      string
		refused  bool
		rto      time.Duration
	}{
		{1, "cubic", "", false, 0}, {20, "cubic", "", true, 4 * time.Second}, {20, "bbr", "", true, 4 * time.Second}, {20, "reno", "", false, 4 * time.Second},
		{20, "cubic", "cubic", false, 4 * time.Second}, {1000, "bbr", "reno", false, time.Minute},
	} {
		g, _, _ := open(t, "tun")
		s := g.fabric.Scenario
		s.Wall.Dilation = c.dilation
		for i := range s.Endpoints {
			s.Endpoints[i].Guest.TCP = c.tcp
		}
		if err := checkTCP(s, c.usual); (err != nil) != c.refused {
			t.Errorf("dilation %d, tcp %q of a kernel with %s: %v", c.dilation, c.tcp, c.usual, err)
		}
		got, parameters := g.dilate()
		if got != c.rto || (len(g.warnings) > 0) != (c.dilation > 1) || (len(parameters) == 5) != (c.dilation > 1) {
			t.Errorf("dilation %d: least RTO %v, want %v; %q; %q", c.dilation, got, c.rto, g.warnings, parameters)
		}
		if c.dilation == 20 && (parameters["net.ipv4.tcp_fin_timeout"] != "1200" || parameters["net.ipv4.tcp_comp_sack_delay_ns"] != "20000000") {
			t.Errorf("parameters: %q", parameters)
		}
		for _, k := range g.Times() {
			if set := k.Wall > k.Usual; set != (k.By != "") || !set && k.Model != k.Usual/time.Duration(c.dilation) || k.Model > k.Usual {
				t.Errorf("dilation %d: %+v", c.dilation, k)
			}
		}
	}
}

// "No packet is under way for less than the model says": one that came in while the loop lagged
// behind is kept back where the loop has caught up, and so is what comes behind it.
func TestNoPacketComesSoonerThanTheModelSays(t *testing.T) {
	g, fakes, flows := open(t, "tun")
	wall := int64(0)
	g.clock = func() int64 { return wall }
	source, sink := g.Source(flows["ab"]), g.Sink(flows["ab"])
	take := func(size int, at unit.Time) wire.Body {
		fakes["a"].sent = append(fakes["a"].sent, packet(t, [4]byte{10, 0, 0, 2}, 0, size))
		look(t, g)
		b, _ := source.Take(at, 2000)
		return wire.Body{Type: b.Type, Bytes: append([]byte(nil), b.Bytes...)}
	}
	ms := unit.Time(unit.Millisecond)
	wall = 10e6 // and the loop is at 1 ms
	first, lost, second := take(100, ms), take(101, ms), take(102, ms)
	_ = lost
	wall = 11e6 // it has caught up: their way takes 5 ms, of which 1 ms has gone by
	sink.Put(6*ms, first)
	sink.Put(6*ms+1, second)
	got := func() int { look(t, g); return len(fakes["b"].received) }
	if n := got(); n != 0 {
		t.Errorf("%d packets have come 4 ms too soon", n)
	}
	if wall = 14_979_000; got() != 0 {
		t.Error("a packet has come 21 us too soon")
	}
	if wall = 15_000_000; got() != 2 || len(fakes["b"].received[0]) != 100 || len(fakes["b"].received[1]) != 102 {
		t.Errorf("%d packets have come", got())
	}
	if len(g.keeping) != 0 {
		t.Error("more is kept")
	}
	// One for which nothing has to wait comes at once.
	third := take(103, 15*ms)
	wall = 20_000_000
	if sink.Put(20*ms, third); len(fakes["b"].received) != 3 {
		t.Error("a packet that comes in time is kept")
	}
}

// checksum returns that of the Internet (RFC 1071) over b.
func checksum(b []byte) uint16 {
	var sum uint32
	for i, v := range b {
		sum += uint32(v) << (8 * (1 - i&1))
	}
	for sum>>16 > 0 {
		sum = sum&0xFFFF + sum>>16
	}
	return ^uint16(sum)
}
