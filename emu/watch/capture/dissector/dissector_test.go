package dissector_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/watch/capture"
	"fabemu/emu/watch/capture/dissector"
	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// A user has the add-on installed.
type user struct {
	t    *testing.T
	home string
}

func newUser(t *testing.T) user {
	t.Helper()
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("there is no tshark")
	}
	home := t.TempDir()
	if err := dissector.Install(dissector.Files(home, filepath.Join(home, ".config")), false); err != nil {
		t.Fatal(err)
	}
	return user{t, home}
}

// tshark returns what tshark writes about a capture.
func (u user) tshark(args ...string) string {
	u.t.Helper()
	c := exec.Command("tshark", append([]string{"-C", "fabemu"}, args...)...)
	c.Env = append(os.Environ(), "HOME="+u.home, "XDG_CONFIG_HOME="+filepath.Join(u.home, ".config"))
	var complaints bytes.Buffer
	c.Stderr = &complaints
	out, err := c.Output()
	if err != nil || strings.Contains(complaints.String(), "Lua") || strings.Contains(complaints.String(), "colorfilters") {
		u.t.Fatalf("tshark %q: %v\n%s", args, err, complaints.String())
	}
	return string(out)
}

// counts returns how many frames of a capture each filter finds.
func (u user) counts(path string, filters []string) []int {
	u.t.Helper()
	// One pass for all: tshark takes its time to start.
	out := u.tshark("-r", path, "-o", "fabemu_say.crc:TRUE", "-q", "-z", "io,stat,0,"+strings.Join(filters, ","))
	row := regexp.MustCompile(`(?m)^\|.*<>.*$`).FindString(out)
	cells := strings.Split(strings.Trim(row, "| "), "|")[1:]
	if len(cells) != 2*len(filters) {
		u.t.Fatalf("%d filters, and tshark says\n%s", len(filters), out)
	}
	counts := make([]int, len(filters))
	for i := range counts {
		n, err := strconv.Atoi(strings.TrimSpace(cells[2*i]))
		if err != nil {
			u.t.Fatal(err)
		}
		counts[i] = n
	}
	return counts
}

// ports are the two ends of a link of each family.
var ports = []capture.Port{
	{Node: 0, Name: "A:0 <- B", Rate: 8e9}, {Node: 1, Name: "B:0 <- A", Rate: 8e9},
	{Node: 0, Port: 1, Name: "A:1 <- C", Rate: 10e9, Ethernet: true}, {Node: 2, Name: "C:0 <- A", Rate: 10e9, Ethernet: true},
}

// The frames of the samples. The second flow control packet is one that Wireshark's
// own dissector takes for a packet: the low bits of its FCTBS look like an LNH.
var (
	infiniband = []wire.Frame{
		{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{Op: wire.OpInit, FCCL: 66})},
		{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCTBS: 4095, FCCL: 0x456}), Lane: 1},
		{Kind: wire.Data, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 2048},
		{Kind: wire.Data, Src: 3, Dst: 5, QP: 0x12, PSN: 8, Payload: 2048, FECN: true},
		{Kind: wire.Data, Src: 3, Dst: 5, QP: 0x12, PSN: 10, Payload: 2048},
		{Kind: wire.Ack, Lane: 1, Src: 5, Dst: 3, QP: 0x12, PSN: 8, BECN: true},
	}
	ethernet = []wire.Frame{
		{Kind: wire.Data, Family: wire.Ethernet, Lane: 3, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 100},
		{Kind: wire.Data, Family: wire.Ethernet, Lane: 3, Tagged: true, FECN: true, Src: 3, Dst: 5, QP: 0xAB1234, PSN: 7, Payload: 100},
		{Kind: wire.Pause, Src: 1, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 65535})},
		{Kind: wire.PriorityPause, Src: 1, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 8, Stopped: 8, Quanta: 1000})},
		{
			Kind: wire.Notification, Lane: 6, Tagged: true, Src: 0xAA, Dst: 1, QP: 0x561234, PSN: 7, Payload: 1500,
			Extension: wire.ExtensionOf(wire.SampleExtension{Fb: 33, Octets: 20, Lane: 3, Dst: 2, QOffset: -10, QDelta: 5}), CPID: 0x0200000000AA0001,
		},
		{Kind: wire.Data, Family: wire.Ethernet, Lane: 3, Src: 3, Dst: 5, QP: 0xCD5678, PSN: 8, Payload: 100, CPID: 0x00190200000000AA},
		{
			Kind: wire.BCN, Lane: 6, Src: 0xAA, Dst: 1, QP: 0xCD5678, PSN: 8, Payload: 100, Flags: wire.BCNSevere,
			Extension: wire.ExtensionOf(wire.SampleExtension{Lane: 3, Dst: 2, QOffset: -10, QDelta: 5, Bottleneck: 1000}), CPID: 0x00190200000000AA,
		},
		{Kind: wire.Message, Lane: 6, Src: 3, Dst: 5, QP: 0x12, PSN: 3, Extension: wire.ExtensionOf(wire.MessageExtension{Value: 77})},
		{Kind: wire.Probe, Lane: 3, Src: 3, Dst: 5, QP: 0x12, PSN: 8, Extension: wire.ExtensionOf(wire.ProbeExtension{Bytes: 75060, SentAt: 1234567890})},
		{Kind: wire.Probe, Lane: 7, Src: 5, Dst: 3, QP: 0x12, PSN: 9, Extension: wire.ExtensionOf(wire.ProbeExtension{Bytes: 75060, SentAt: 1234567890, CameAt: 4822530820}), Flags: wire.ProbeAnswer | wire.ProbeCounted},
	}
	// Notifications about packets of RoCEv2, and BCN about a TCP segment.
	about = func() (all []wire.Frame) {
		cnm := wire.Frame{Kind: wire.Notification, Lane: 6, Src: 0xAA, Dst: 3, Extension: wire.ExtensionOf(wire.SampleExtension{Fb: 1, Lane: 3, Dst: 5}), CPID: 7}
		bcn := wire.Frame{Kind: wire.BCN, Lane: 6, Src: 0xAA, Dst: 3, Flags: wire.BCNMild, Extension: wire.ExtensionOf(wire.SampleExtension{Lane: 3, Dst: 5, QOffset: -1}), CPID: 0x00190200000000AA}
		say := func(f, of wire.Frame) {
			if f.Sample(&of); f.Kind == wire.Notification {
				f.Sampled().Octets = uint8(of.SampledOctets())
			}
			all = append(all, f)
		}
		for _, i := range []int{0, len(roce) / 2} { // over IPv4 and IPv6
			say(cnm, roce[i])
			say(bcn, roce[i])
		}
		tcp := wire.Frame{Lane: 3, Src: 3, Dst: 5, QP: 0x45}
		tcp.SetSegment(&wire.Segment{Seq: 7, Flags: wire.ACK, Length: 1000})
		say(bcn, tcp)
		return all
	}()
	// These Wireshark knows without the add-on.
	roce = func() (all []wire.Frame) {
		for _, v6 := range []bool{false, true} {
			say := func(f wire.Frame, r wire.RoCE) {
				f.Family, r.IPv6 = wire.RoCEv2, v6
				f.SetRoCE(r)
				if f.Last { // a message with a tag
					f.SetImmediate(77)
				}
				all = append(all, f)
			}
			say(wire.Frame{Kind: wire.Data, Lane: 3, Src: 3, Dst: 5, QP: 0x45, PSN: 7, Payload: 1024}, wire.RoCE{DSCP: 26, ECT: true, AckReq: true})
			say(wire.Frame{Kind: wire.Data, Lane: 3, FECN: true, Last: true, Src: 3, Dst: 5, QP: 0x45, PSN: 8, Payload: 16}, wire.RoCE{DSCP: 26, ECT: true})
			say(wire.Frame{Kind: wire.Ack, Lane: 3, BECN: true, Src: 5, Dst: 3, QP: 0x45, PSN: 7, MSN: 8}, wire.RoCE{DSCP: 26})
			say(wire.Frame{Kind: wire.Ack, Lane: 3, Src: 5, Dst: 3, QP: 0x45, PSN: 9, MSN: 8}, wire.RoCE{DSCP: 26, NAK: true})
			say(wire.Frame{Kind: wire.CNP, Lane: 6, Src: 5, Dst: 3, QP: 0x45}, wire.RoCE{DSCP: 48, ECT: true})
			stamp := wire.ExtensionOf(wire.StampExtension{SentAt: 1234567890})
			say(wire.Frame{Kind: wire.Data, Lane: 3, Src: 3, Dst: 5, QP: 0x45, PSN: 11, Payload: 1024, Extension: stamp}, wire.RoCE{DSCP: 26, ECT: true, Stamped: true})
			stamp = wire.ExtensionOf(wire.StampExtension{SentAt: 1234567890, Held: 500000})
			say(wire.Frame{Kind: wire.Ack, Lane: 3, Src: 5, Dst: 3, QP: 0x45, PSN: 11, MSN: 9, Extension: stamp}, wire.RoCE{DSCP: 26, Stamped: true})
			say(wire.Frame{Kind: wire.Ack, Lane: 3, Src: 5, Dst: 3, QP: 0x45, PSN: 12, MSN: 9, Extension: stamp}, wire.RoCE{DSCP: 26, Stamped: true, Telemetry: wire.Rounded})
			say(wire.Frame{Kind: wire.Data, Lane: 3, Src: 3, Dst: 5, QP: 0x45, PSN: 13, Payload: 1024, Extension: stamp}, wire.RoCE{DSCP: 26, ECT: true, Stamped: true, Telemetry: wire.Exact})
			early := wire.Frame{Kind: wire.Ack, Lane: 3, Src: 5, Dst: 3, QP: 0x45, PSN: 13, MSN: 10}
			early.SetSelected(20)
			early.SetSourcePort(0xC123)
			say(early, wire.RoCE{DSCP: 26})
			early.Extension = stamp
			say(early, wire.RoCE{DSCP: 26, Stamped: true})
		}
		return all
	}()
)

// cut are packets that a switch has trimmed. Wireshark itself finds their lengths wrong.
var cut = func() (all []wire.Frame) {
	for _, v6 := range []bool{false, true} {
		for _, stamped := range []bool{false, true} {
			f := wire.Frame{Kind: wire.Data, Family: wire.RoCEv2, Lane: 3, Src: 3, Dst: 5, QP: 0x45, PSN: 14, Payload: 1024}
			f.SetRoCE(wire.RoCE{DSCP: 26, ECT: true, IPv6: v6, Stamped: stamped})
			if !f.Trim(128, 21) {
				panic("a packet that cannot be cut")
			}
			all = append(all, f)
		}
	}
	return all
}()

// bytesOf returns the bytes of a frame, with telemetry of two switches if it has such a header.
func bytesOf(f wire.Frame) []byte {
	if f.Telemetry() == wire.NoTelemetry {
		return f.Append(nil)
	}
	var s wire.Bodies
	s.PutTelemetry(&f)
	s.AddHop(&f, &wire.Hop{Time: 5_000_000, Sent: 12800, Queue: 800, Rate: 40e9})
	s.AddHop(&f, &wire.Hop{Time: 7_000_000, Sent: 25600, Queue: 1600, Rate: 100e9})
	return f.AppendBody(nil, s.Of(&f))
}

// TestRoCEInTshark: Wireshark without the add-on reads RoCEv2, finds all checksums good that it
// verifies, and nothing malformed, nor anything to warn of.
func TestRoCEInTshark(t *testing.T) {
	t.Attr("depends-on", "privileges")
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("there is no tshark")
	}
	b, _ := pcapng.AppendSection(nil, pcapng.Section{})
	b = pcapng.AppendInterface(b, pcapng.Interface{Link: pcapng.Ethernet, FCS: wire.FCSSize})
	for i, f := range roce {
		p := bytesOf(f)
		b = pcapng.AppendPacket(b, &pcapng.Packet{Time: int64(i) * 1e6, Length: len(p), Data: p})
	}
	args := []string{"-r", save(t, b), "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "eth.check_fcs:TRUE", "-T", "fields", "-E", "occurrence=l"}
	for _, f := range []string{
		"_ws.expert.message", "eth.fcs.status", "ip.checksum.status", "udp.checksum.status", "vlan.priority", "ip.dsfield.dscp", "ipv6.tclass.dscp", "ip.dsfield.ecn", "ipv6.tclass.ecn", "udp.dstport",
		"infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn", "infiniband.bth.a", "infiniband.bth.se", "infiniband.aeth.syndrome", "infiniband.aeth.msn", "infiniband.aeth.syndrome.error_code", "infiniband.immdt",
	} {
		args = append(args, "-e", f)
	}
	stock := exec.Command("tshark", args...)
	stock.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	out, err := stock.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		got = append(got, strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", " "))
	}
	var want []string
	for _, ip := range []string{" 1 1 3 %d %d  %d  4791 ", " 1  1 %d  %d  %d 4791 "} { // UDP over IPv4 has no checksum
		of := func(prio, dscp, ecn int, bth string) { want = append(want, fmt.Sprintf(ip, prio, dscp, ecn)+bth) }
		of(3, 26, 2, "4 0x000045 7 1 0    ")
		of(3, 26, 3, "5 0x000045 8 0 1    0000004d")
		of(3, 26, 0, "17 0x000045 7 0 0 31 8  ")
		of(3, 26, 0, "17 0x000045 9 0 0 96 8 0 ")
		of(6, 48, 2, "129 0x000045 0 0 0    ")
		of(3, 26, 2, "196 0x000045 11 0 0    ")
		of(3, 26, 0, "209 0x000045 11 0 0    ")
		of(3, 26, 0, "209 0x000045 12 0 0    ")
		of(3, 26, 2, "196 0x000045 13 0 0    ")
		of(3, 26, 0, "241 0x000045 13 0 0    ")
		of(3, 26, 0, "241 0x000045 13 0 0    ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// fabric writes a capture of a fabric: what A sends, but for the first flow control
// packet, which comes.
func fabric(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	c := capture.New(&b, capture.Options{Ports: ports, Request: capture.Request{Both: true}})
	c.Sent(0, &port.Transmission{Frame: wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{Op: wire.OpInit, FCCL: 66})}}, wire.Body{}, 0, 0, 0)
	c.Received(1, &port.Arrival{Frame: infiniband[0]}, wire.Body{}, 0, 0)
	for i, f := range infiniband[1:] {
		at := unit.Time(i+1) * 1e9
		c.Sent(0, &port.Transmission{Frame: f, Start: at, Note: port.Note{Credit: -1}}, wire.Body{}, at, 0, 0)
	}
	for i, f := range slices.Concat(ethernet, roce, cut, about) {
		at := unit.Time(i+100) * 1e9
		c.Sent(2, &port.Transmission{Port: 1, Frame: f, Start: at, Note: port.Note{Credit: -1}}, wire.Body{}, at, 0, 0)
	}
	c.End()
	if err := c.Close(""); err != nil {
		t.Fatal(err)
	}
	return save(t, b.Bytes())
}

// Wireshark decodes a MAD in a capture without the add-on.
func TestMADInTshark(t *testing.T) {
	t.Attr("depends-on", "privileges")
	u := newUser(t)
	f := wire.Frame{Kind: wire.Management, Lane: 15, Src: 0xFFFF, Dst: 0xFFFF, PSN: 3}
	var bodies wire.Bodies
	bodies.PutMAD(&f, &[wire.MADSize]byte{1, 0x81, 1, 1, 6: 1, 7: 1, 17: 0x11, 32: 0xFF, 33: 0xFF, 34: 0xFF, 35: 0xFF, 129: 1})
	var b bytes.Buffer
	c := capture.New(&b, capture.Options{Ports: ports, Request: capture.Request{Both: true}})
	c.Sent(0, &port.Transmission{Frame: f, Start: 1e9, Note: port.Note{Credit: -1}}, bodies.Of(&f), 1e9, 0, 0)
	c.End()
	if err := c.Close(""); err != nil {
		t.Fatal(err)
	}
	got := u.tshark("-r", save(t, b.Bytes()), "-T", "fields", "-e", "infiniband.lrh.vl", "-e", "infiniband.bth.opcode", "-e", "infiniband.mad.mgmtclass", "-e", "_ws.col.Info")
	if want := "0x0f\t100\t0x81\tUD Send Only QP=0x000000 SubnGet(NodeInfo)"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func save(t *testing.T, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sample")
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// datagram returns a frame with its trailer.
func datagram(f *wire.Frame, number, seq int) []byte {
	tr := wire.Trailer{Head: 1000, Due: unit.Time(2000 + seq), Promise: 2000, Duration: 500, Length: f.WireSize(), Seq: uint32(seq), Run: 0xABCD1234, Port: uint16(number), Delimiter: f.Delimiter()}
	return tr.Append(bytesOf(*f))
}

// A frame that ends too early, in front of a trailer, is shown to be malformed; it is no
// error of the add-on.
func TestMalformedFrameBeforeATrailer(t *testing.T) {
	u := newUser(t)
	d := datagram(&infiniband[slices.IndexFunc(infiniband, func(f wire.Frame) bool { return f.Kind != wire.FlowControl })], 0, 0)
	frame := []byte{0x10, 2, 0, 4, 0, 7, 0, 7, 0x13, 0x40, 0xFF, 0xFF, 0, 4, 0, 3, 0, 0, 0, 0x1C, 0x1F, 0, 0, 0x1D, 1, 2, 3, 4, 5, 6} // an operation with more headers
	d = append(frame, d[len(d)-wire.TrailerSize:]...)
	b, _ := pcapng.AppendSection(nil, pcapng.Section{})
	b = pcapng.AppendInterface(b, pcapng.Interface{Link: pcapng.Ethernet, FCS: -1})
	udp := []byte{2, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 3, 0x08, 0, 0x45, 0, 0, byte(28 + len(d)), 0, 0, 0x40, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1, 0x80, 0x10, 0x80, 0x11, 0, byte(8 + len(d)), 0, 0}
	d = append(udp, d...)
	b = pcapng.AppendPacket(b, &pcapng.Packet{Length: len(d), Data: d})
	out := u.tshark("-r", save(t, b), "-V")
	if !strings.Contains(out, "Link trailer") || !strings.Contains(out, "Malformed Packet") || strings.Contains(out, "Lua Error") {
		t.Error(out)
	}
}

// links writes a capture as tcpdump takes it: frames on UDP and on veth pairs.
func links(t *testing.T) string {
	t.Helper()
	b, _ := pcapng.AppendSection(nil, pcapng.Section{})
	b = pcapng.AppendInterface(b, pcapng.Interface{Link: pcapng.Ethernet, FCS: -1})
	now := int64(0)
	add := func(p []byte) {
		now += 1e6
		b = pcapng.AppendPacket(b, &pcapng.Packet{Time: now, Length: len(p), Data: p})
	}
	header := []byte{2, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 3}
	for i, f := range slices.Concat(infiniband, ethernet, roce, cut, about) {
		d := datagram(&f, 0, i)
		if i == 2 {
			d = datagram(&f, 0, 200) // a gap, and another where it continues
		}
		udp := append([]byte{}, header...)
		udp = append(udp, 0x08, 0, 0x45, 0)
		udp = binary.BigEndian.AppendUint16(udp, uint16(28+len(d)))
		udp = append(udp, 0, 0, 0x40, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1, 0x80, 0x10, 0x80, 0x11)
		udp = binary.BigEndian.AppendUint16(udp, uint16(8+len(d)))
		add(append(append(udp, 0, 0), d...))
	}
	for i, f := range infiniband {
		add(append(append(append([]byte{}, header...), 0x88, 0xB6), datagram(&f, 7, i)...))
	}
	for i, f := range slices.Concat(ethernet, roce, cut, about) {
		add(datagram(&f, 9, i))
	}
	return save(t, b)
}

// What each kind of frame is shown as, in a capture of a fabric and on its links.
func TestFrames(t *testing.T) {
	u := newUser(t)
	ours, theirs := fabric(t), links(t)
	list := []struct {
		filter       string
		ours, theirs int // how many frames it finds in each
	}{
		{"_ws.malformed", 4, 8}, // of those that were cut, whose lengths Wireshark believes
		{"_ws.malformed && !fabemu_say.trimmed", 0, 0},
		{"fabemu", 0, 94},
		{"fabemu.run == 0xabcd1234 && fabemu.seq == 3 && fabemu.due == 2003 && fabemu.head == 1000", 0, 3},
		{"fabemu.port == 7", 0, 6},
		{"fabemu_fcp", 3, 4},
		{"fabemu_fcp.vl == 1 && fabemu_fcp.fctbs == 4095 && fabemu_fcp.fccl == 0x456", 1, 2},
		{"fabemu_fcp.op == 1", 2, 2},
		{"infiniband.bth.opcode == 4 && infiniband.bth.destqp == 0x12", 3, 6},
		{"infiniband.bth.opcode == 17 && !ip && !ipv6", 1, 1},
		{"infiniband.bth.opcode == 17 && infiniband.aeth.syndrome == 0x60 && vlan", 2, 4},
		{"infiniband.bth.opcode == 129 && infiniband.bth.destqp == 0x45 && vlan.priority == 6", 2, 4},
		{"infiniband.bth.opcode == 0xc4 && fabemu_say.sent == 1234567890 && !fabemu_say.held && infiniband.bth.psn == 11", 2, 4},
		{"infiniband.bth.opcode == 0xd1 && fabemu_say.sent == 1234567890 && fabemu_say.held == 500000", 4, 8},
		{"infiniband.bth.opcode == 0xf1 && fabemu_say.selected == 20 && infiniband.bth.psn == 13 && udp.srcport == 0xc123", 4, 8},
		{"infiniband.bth.opcode == 0xf1 && fabemu_say.sent == 1234567890 && fabemu_say.held == 500000", 2, 4},
		{"infiniband.bth.opcode == 0xd1 && fabemu_say.hop == 2 && fabemu_say.hop.time == 7000000 && fabemu_say.hop.sent == 25600 && fabemu_say.hop.queue == 1600 && fabemu_say.hop.rate == 100000000", 0, 4},
		{"infiniband.bth.opcode == 0xc4 && fabemu_say.hop == 1 && fabemu_say.hop.time == 5000000 && fabemu_say.hop.sent == 12800 && fabemu_say.hop.queue == 800 && fabemu_say.hop.rate == 40000000", 0, 4},
		{"fabemu_say.hop == 3", 0, 0},
		{"fabemu_say.cnp == 1", 2, 4},
		{"fabemu_say.trimmed == 1 && fabemu_say.whole == 1068 && ip.dsfield.dscp == 21 && ip.len == 128 && infiniband.bth.psn == 14", 1, 2},
		{"fabemu_say.trimmed == 1 && fabemu_say.whole == 1080 && ip.len == 128 && fabemu_say.sent == 0", 1, 2},
		{"fabemu_say.trimmed == 1 && fabemu_say.whole == 1088 && ipv6.plen == 88 && ipv6.tclass.dscp == 21", 1, 2},
		{"fabemu_say.trimmed == 1", 4, 8},
		{"fabemu_say.fecn == 1", 3, 6},
		{"fabemu_say.becn == 1", 5, 10},
		{"fabemu_say.mark", 4, 8},
		{"fabemu_say.stall", 2, 0},
		{"fabemu_say.credit == 33", 1, 0},
		{"fabemu_say.gap", 1, 2},
		{"fabemu_say.crc", 0, 0},
		{"eth.fcs.status == 1", 41, 41},
		{"eth.fcs.status == 0", 0, 0},
		{"fabemu_data", 4, 8},
		{"fabemu_data.qp == 0xab1234 && fabemu_data.fecn == 1 && fabemu_data.psn == 7 && fabemu_data.payload == 100", 1, 2},
		{"cntag.flow == 0x1234", 2, 4},
		{"vlan.priority == 3", 28, 56},
		{"macc.opcode == 1 && macc.pause_time == 65535", 1, 2},
		{"macc.opcode == 0x0101", 1, 2},
		{"cnm.fb == 33 && cnm.qoffset == -10 && cnm.qdelta == 5 && cnm.cpid == 0x0200000000aa0001 && cnm.dst == 02:00:00:00:00:02", 1, 2},
		{"fabemu_data.version == 3 && fabemu_data.qp == 0x12 && fabemu_data.psn == 3 && fabemu_data.value == 77", 1, 2},
		{"e2cm.version == 4 && e2cm.qp == 0x12 && e2cm.psn == 8 && e2cm.bytes == 75060 && e2cm.sent == 1234567890 && e2cm.answer == 0", 1, 2},
		{"e2cm.answer == 1 && e2cm.counted == 1 && e2cm.psn == 9 && e2cm.came == 4822530820 && !fabemu_data", 1, 2},
		{"rlt.version == 0 && rlt.cpid == 0x00190200000000aa && rlt.flow == 0x5678 && fabemu_data.qp == 0xcd5678", 1, 2},
		{"bcn.severe == 1 && bcn.mild == 0 && bcn.max == 0 && bcn.qoff == -10 && bcn.qdelta == 5 && bcn.cpid == 0x00190200000000aa", 1, 2},
		{"cnm.qp == 0x561234 && cnm.psn == 7 && cnm.octets == 20", 1, 2},
		{"cnm.qp == 0x45 && cnm.psn == 7 && cnm.octets == 42 && cnm.msdu[24:2] == 12:b7", 1, 2},
		{"cnm.qp == 0x45 && cnm.psn == 7 && cnm.octets == 62 && cnm.msdu[44:2] == 12:b7", 1, 2},
		{"bcn.qp == 0x45 && bcn.psn == 7", 2, 4},
		{"bcn && !bcn.qp", 1, 2},
		{"bcn.bottleneck == 1000 && bcn.timestamp == 0 && bcn.qp == 0xcd5678 && bcn.psn == 8 && bcn.dst == 02:00:00:00:00:02 && !fabemu_data", 1, 2},
	}
	var filters []string
	for _, c := range list {
		filters = append(filters, c.filter)
	}
	gotOurs, gotTheirs := u.counts(ours, filters), u.counts(theirs, filters)
	for i, c := range list {
		if gotOurs[i] != c.ours || gotTheirs[i] != c.theirs {
			t.Errorf("%s finds %d frames of the fabric and %d of the links, want %d and %d", c.filter, gotOurs[i], gotTheirs[i], c.ours, c.theirs)
		}
	}
}

// A bit that is wrong is found, in each checksum.
func TestChecksums(t *testing.T) {
	u := newUser(t)
	for _, c := range []struct {
		frame wire.Frame
		at    int // which byte is changed, from the end if negative
		words string
	}{
		{infiniband[2], 100, "ICRC, VCRC is wrong"},
		{infiniband[2], -1, "VCRC is wrong"},
		{infiniband[3], 12, "VCRC is wrong"}, // what a switch may change
		{infiniband[5], 21, "ICRC, VCRC is wrong"},
		{infiniband[1], 1, "LPCRC is wrong"},
	} {
		p := datagram(&c.frame, 7, 0)
		at := c.at
		if at < 0 {
			at += len(p) - wire.TrailerSize
		}
		p[at] ^= 0x40
		b, _ := pcapng.AppendSection(nil, pcapng.Section{})
		b = pcapng.AppendInterface(b, pcapng.Interface{Link: pcapng.Ethernet, FCS: -1})
		p = append([]byte{2, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 3, 0x88, 0xB6}, p...)
		b = pcapng.AppendPacket(b, &pcapng.Packet{Length: len(p), Data: p})
		out := u.tshark("-r", save(t, b), "-o", "fabemu_say.crc:TRUE", "-V", "-Y", "fabemu_say.crc_bad")
		if !strings.Contains(out, "Checksum): "+c.words) {
			t.Errorf("%v, byte %d: want %q in\n%s", c.frame.Kind, c.at, c.words, out)
		}
	}
}

// Each display filter that docs/guide/wireshark.md lists is one that Wireshark knows, and
// finds something in one of the samples.
func TestFiltersInDocs(t *testing.T) {
	u := newUser(t)
	doc, err := os.ReadFile("../../../../docs/guide/wireshark.md")
	if err != nil {
		t.Fatal(err)
	}
	samples := []string{fabric(t), links(t), sets(t), uetSample(t), spread(t), "../../../testdata/meeting.pcapng"}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(doc), -1)
	if len(rows) < 10 {
		t.Fatalf("%d filters", len(rows))
	}
	var filters []string
	for _, row := range rows {
		filters = append(filters, row[1])
	}
	found := make([]int, len(filters))
	for _, sample := range samples {
		for i, n := range u.counts(sample, filters) {
			found[i] += n
		}
	}
	for i, f := range filters {
		if found[i] == 0 && !strings.Contains(f, "crc") { // those are not verified in vain: see TestChecksums
			t.Errorf("%s finds nothing", f)
		}
	}
}

// spread writes a capture of a packet whose path was chosen at its source, and by a switch.
func spread(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	c := capture.New(&b, capture.Options{Ports: []capture.Port{{Name: "left:16 <- spine1", Rate: 10e9, Ethernet: true}}})
	f := wire.Frame{Kind: wire.Data, Family: wire.RoCEv2, Lane: 3, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 1024}
	f.SetRoCE(wire.RoCE{DSCP: 26, ECT: true})
	f.SetSourcePort(53342)
	for at := unit.Time(1e9); at < 3e9; at += 1e9 { // tshark has no statistics of a single instant
		c.Sent(0, &port.Transmission{Frame: f, Start: at, Note: port.Note{Credit: -1}}, wire.Body{}, at, 0, 0)
	}
	c.End()
	if err := c.Close(""); err != nil {
		t.Fatal(err)
	}
	return save(t, b.Bytes())
}

// The columns of the profile: port, names of nodes for LIDs and for MACs, credit as the
// port says it, and what a frame is of which only the headers were captured. Wireshark
// without the add-on reads the file too.
func TestColumns(t *testing.T) {
	u := newUser(t)
	var b bytes.Buffer
	c := capture.New(&b, capture.Options{Ports: ports, Nodes: map[wire.LID]string{3: "left-1", 5: "B"}, Request: capture.Request{Snap: 128}})
	c.Received(1, &port.Arrival{Frame: infiniband[0]}, wire.Body{}, 0, 0)
	for i, n := range []port.Note{{Credit: 33}, {Credit: -1}} {
		c.Sent(0, &port.Transmission{Frame: infiniband[2+i], Start: unit.Time(i+1) * 1e9, Note: n}, wire.Body{}, unit.Time(i+1)*1e9, 0, 0)
	}
	c.Sent(2, &port.Transmission{Port: 1, Frame: ethernet[0], Start: 3e9, Note: port.Note{Credit: -1}}, wire.Body{}, 3e9, 0, 0)
	c.End()
	if err := c.Close(""); err != nil {
		t.Fatal(err)
	}
	path := save(t, b.Bytes())
	var got []string
	for line := range strings.Lines(u.tshark("-r", path)) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"1 0.000000000 A:0 <- B IB flow control 64 Flow control, init, VL 0: FCTBS 0, FCCL 66",
		"2 0.001000000 A:0 <- B left-1 B InfiniBand 2074 33 RC SEND Only QP=0x000012 PSN 7 (128 of 2074 bytes)",
		"3 0.002000000 A:0 <- B left-1 B InfiniBand 2074 0 RC SEND Only QP=0x000012 PSN 8 (128 of 2074 bytes)",
		"4 0.003000000 A:1 <- C left-1 B fabemu data 122 Data, flow 18, PSN 7, 100 bytes",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for i, n := range u.counts(path, []string{`fabemu_say.from == "left-1" && fabemu_say.to == "B"`, "fabemu_say.credit < 34", "_ws.malformed"}) {
		if n != []int{3, 2, 0}[i] {
			t.Errorf("filter %d finds %d", i, n)
		}
	}
	stock := exec.Command("tshark", "-r", path, "-T", "fields", "-e", "frame.number")
	stock.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	if out, err := stock.Output(); err != nil || string(out) != "1\n2\n3\n4\n" {
		t.Errorf("without the add-on: %v\n%s", err, out)
	}
}

// The colouring rules choose.
func TestColours(t *testing.T) {
	u := newUser(t)
	out := u.tshark("-r", fabric(t), "--color", "-T", "fields", "-e", "frame.coloring_rule.name")
	for _, want := range []string{"Flow control", "Data", "Marked", "Sequence gap", "Credit stall", "Pause", "Congestion notification"} {
		if !strings.Contains(out, want) {
			t.Errorf("no frame is coloured as %s:\n%s", want, out)
		}
	}
}

// Users' files are theirs.
func TestInstall(t *testing.T) {
	home := t.TempDir()
	files := dissector.Files(home, filepath.Join(home, ".config"))
	for range 2 { // over its own files, too
		if err := dissector.Install(files, false); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		if got, err := os.ReadFile(f.Path); err != nil || string(got) != f.Text {
			t.Errorf("%s: %v", f.Path, err)
		}
	}
	if err := os.WriteFile(files[1].Path, []byte("@mine@tcp@[0,0,0][1,1,1]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(files[0].Path); err != nil {
		t.Fatal(err)
	}
	if err := dissector.Install(files, false); err == nil || !strings.Contains(err.Error(), files[1].Path) || !strings.Contains(err.Error(), "--force") {
		t.Errorf("%v", err)
	}
	if got, _ := os.ReadFile(files[1].Path); string(got) != "@mine@tcp@[0,0,0][1,1,1]\n" {
		t.Errorf("overwritten: %s", got)
	}
	if _, err := os.Stat(files[0].Path); err == nil {
		t.Error("a part was installed")
	}
	if err := dissector.Install(files, true); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(files[1].Path); string(got) != files[1].Text {
		t.Error("not overwritten with force")
	}
}
