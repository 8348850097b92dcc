package models_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/run/guest"
	"fabemu/emu/watch/capture/dump"
	"fabemu/emu/watch/capture/pcapng"
	"fabemu/emu/watch/observe"
	"fabemu/emu/watch/openmetrics"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// verbs is a host with software RoCEv2: it sends as much as its window permits, and acknowledges
// what comes.
type verbs struct {
	own     netip.Addr
	to      netip.Addr // not valid: it only answers
	pairs   int        // queue pairs at both ends: those here have numbers from 100, the others from 200
	next    []uint32   // PSN, by queue pair
	acked   []uint32
	out     [][]byte
	cnps    int // that came here, past the adapter
	marked  int
	got     int
	dropped uint64
}

const (
	window  = 64
	message = 1024 // bytes, as much as there is in a packet
	startAt = unit.Time(10 * unit.Microsecond)
)

// packetTo appends a packet of RoCEv2, with its ICRC.
func (v *verbs) packetTo(to netip.Addr, opcode wire.Opcode, qp, psn uint32, rest []byte) []byte {
	bth := wire.BTH{Opcode: opcode, Migrated: true, PKey: wire.DefaultPKey, DestQP: qp, PSN: psn & 0xFFFFFF, AckReq: opcode == wire.RCSendOnly}.Append(nil)
	size := 8 + len(bth) + len(rest) + 4
	var b []byte
	if to.Is4() {
		b = append(b, 0x45, 2, 0, 0, 0, 1, 0x40, 0, 64, 17, 0, 0)
		binary.BigEndian.PutUint16(b[2:], uint16(20+size))
		b = append(append(b, v.own.AsSlice()...), to.AsSlice()...)
		binary.BigEndian.PutUint16(b[10:], checksum(b))
	}
	b = binary.BigEndian.AppendUint64(b, uint64(0xC000+qp)<<48|wire.RoCEPort<<32|uint64(size)<<16)
	b = append(append(b, bth...), rest...)
	return binary.LittleEndian.AppendUint32(b, wire.RoCEICRC(b))
}

// fill sends what the windows permit.
func (v *verbs) fill() {
	for i := range v.next {
		for v.to.IsValid() && v.next[i]-v.acked[i] < max(1, window/uint32(v.pairs)) {
			v.out = append(v.out, v.packetTo(v.to, wire.RCSendOnly, uint32(200+i), v.next[i], make([]byte, message)))
			v.next[i]++
		}
	}
}

func (v *verbs) Advance(now unit.Time) {
	if now >= startAt && v.next == nil {
		v.next, v.acked = make([]uint32, v.pairs), make([]uint32, v.pairs)
		for i := range v.next { // they begin anywhere
			v.next[i] = uint32(binary.BigEndian.Uint16(v.own.AsSlice()[2:]))<<8 + uint32(i)*100_003
			v.acked[i] = v.next[i]
		}
		v.fill()
	}
}

func (v *verbs) Deadline() unit.Time {
	if v.next == nil {
		return startAt
	}
	return unit.Never
}

func (v *verbs) Read(b []byte) (int, error) {
	if len(v.out) == 0 {
		return 0, nil
	}
	n := copy(b, v.out[0])
	v.out = v.out[1:]
	return n, nil
}

func (v *verbs) Write(b []byte) (bool, error) {
	body := wire.Body{Type: 0x0800, Bytes: b}
	p, ok := body.RoCE()
	switch {
	case !ok:
		v.dropped++
	case p.Opcode == wire.RoCENotification:
		v.cnps++
	case p.Opcode == wire.RCAck:
		if i := p.DestQP - 100; (p.PSN-v.acked[i])&0xFFFFFF < window {
			v.acked[i] += (p.PSN-v.acked[i])&0xFFFFFF + 1
		}
		v.fill()
	default:
		if v.got++; b[1]&3 == 3 {
			v.marked++
		}
		v.out = append(v.out, v.packetTo(netip.AddrFrom16(p.From).Unmap(), wire.RCAck, p.DestQP-100, p.PSN, []byte{0, 0, 0, 0}))
	}
	return true, nil
}

func (v *verbs) Dropped() (sent, received uint64, err error)     { return 0, 0, nil }
func (v *verbs) Send(unit.Time, netip.Addr, int64) guest.Sending { return nil }
func (v *verbs) Close()                                          {}

// incast has two senders and a receiver behind a link, as guests or as flows of the model.
const incast = `name: incast
model: {duration: DURATION, seed: 1, framing: wire}
wall: {dilation: 1}
defaults:
  link: {rate: 10Gb/s, propagation: 1us, flow-control: pfc}
  flow: {packet: PACKET, control: CONTROL, priority: 3}
switches: {S: {kind: output-queued, memory: 1MB per port, marking: {scheme: ecn, min: 20KB, max: 200KB, max-p: 0.01}}}
endpoints: ["s[1-2]GUEST", "rGUEST"]
links: ["s[1-2] - S", {name: root, between: S - r}]
flows:
  - {name: data, from: "s[1-2]", to: r}BACK
measure: {window: 1ms}
`

// verbsRun runs an incast of hosts with these numbers of queue pairs.
func verbsRun(t *testing.T, duration, control string, pairs int, o emu.Options) (hosts map[string]*verbs, r *emu.Result) {
	t.Helper()
	text := strings.NewReplacer("DURATION", duration, "PACKET", "1500B", "CONTROL", control,
		`"s[1-2]GUEST"`, `{name: "s[1-2]", guest: {kind: netstack, adapter: roce}}`, `"rGUEST"`, "{name: r, guest: {kind: netstack, adapter: roce}}",
		"BACK", "\n  - {name: back, from: r, to: \"s[1-2]\", control: {algorithm: fixed}}").Replace(incast)
	if control == "{algorithm: fixed}" { // PFC alone keeps the queue short
		text = strings.Replace(text, "1MB per port", "60KB per port", 1)
	}
	s := runtest.Load(t, text)
	hosts = map[string]*verbs{}
	o.Clock = emu.VirtualClock
	o.NewStack = func(c guest.StackConfig) (guest.Stack, error) {
		v := &verbs{own: c.Address.Addr(), pairs: pairs}
		name := map[string]string{"10.0.0.1": "s1", "10.0.0.2": "s2", "10.0.0.3": "r"}[v.own.String()]
		if hosts[name] = v; name != "r" {
			v.to = netip.MustParseAddr("10.0.0.3")
		}
		return v, nil
	}
	r, err := emu.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return hosts, r
}

// late is when an incast has settled.
var late = [2]unit.Time{unit.Time(30 * unit.Millisecond), unit.Time(100 * unit.Millisecond)}

// Hosts with software RoCEv2 behind adapters have the rates and the queue of the model's flows.
func TestModelVerbsUnderDCQCN(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	names := []string{"data.s1.rate", "data.s2.rate", "root.S-r.queue", "root.S-r.utilisation"}
	model := runtest.Load(t, strings.NewReplacer("DURATION", "100ms", "PACKET", "1024B, transport: {kind: rocev2, window: 64}", "CONTROL", "{algorithm: dcqcn}", "GUEST", "", "BACK", "").Replace(incast))
	r, err := emu.Run(t.Context(), model, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	if err != nil {
		t.Fatal(err)
	}
	want := figuresOver(t, r, names, late)
	_, r = verbsRun(t, "100ms", "{algorithm: dcqcn}", 1, emu.Options{})
	got := figuresOver(t, r, names, late)
	t.Log(want, got)
	for i, name := range names {
		if math.Abs(got[i]-want[i]) > want[i]/10 {
			t.Errorf("%s is %v, and with flows of the model %v", name, got[i], want[i])
		}
	}
}

// roceOf returns the counters of a guest's adapter.
func roceOf(t *testing.T, r *emu.Result, name string) *guest.RoCECounts {
	t.Helper()
	for _, g := range r.Guests {
		if g.Name == name {
			return g.RoCE
		}
	}
	t.Fatalf("there is no guest %s", name)
	return nil
}

// CNPs end in the adapter of the host to which they go. Without a notification point there are
// marks and no CNPs, and nothing slows down.
func TestModelVerbsNotified(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, c := range []struct {
		control string
		cnps    bool
	}{{"{algorithm: dcqcn}", true}, {"{algorithm: fixed}", false}} {
		var own, others strings.Builder // the metrics at the end
		watch := observe.Func(func(s *observe.Snapshot) {
			own.Reset()
			others.Reset()
			if err := errors.Join(openmetrics.Own.Write(&own, s), openmetrics.NodeExporter.Write(&others, s)); err != nil {
				t.Error(err)
			}
		})
		hosts, r := verbsRun(t, "20ms", c.control, 2, emu.Options{Observe: []observe.Request{{Observer: watch, Every: time.Second}}})
		here, there := roceOf(t, r, "r"), roceOf(t, r, "s1").CNPHandled+roceOf(t, r, "s2").CNPHandled
		if here.ECNMarked == 0 || here.ECNMarked != int64(hosts["r"].marked) || here.CNPSent > 0 != c.cnps || there < here.CNPSent-2 || there > here.CNPSent {
			t.Errorf("%s: %+v, %d handled, %d packets marked", c.control, here, there, hosts["r"].marked)
		}
		if pairs := roceOf(t, r, "s1").Pairs; pairs != 2 || here.Pairs != 4 {
			t.Errorf("%s: %d queue pairs there, %d here", c.control, pairs, here.Pairs)
		}
		if n := roceOf(t, r, "s1").Pauses["rx_prio3_pause"]; n > 0 == c.cnps {
			t.Errorf("%s: %d PFC frames", c.control, n)
		}
		if n := hosts["s1"].cnps + hosts["s2"].cnps; n > 0 {
			t.Errorf("%d CNPs came to hosts", n)
		}
		for _, name := range []string{"s1", "r"} {
			n := roceOf(t, r, name)
			for want, text := range map[string]string{
				fmt.Sprintf("fabemu_adapter_np_cnp_sent_total{node=%q} %d\n", name, n.CNPSent):                                         own.String(),
				fmt.Sprintf("fabemu_adapter_np_ecn_marked_roce_packets_total{node=%q} %d\n", name, n.ECNMarked):                        own.String(),
				fmt.Sprintf("fabemu_adapter_rp_cnp_handled_total{node=%q} %d\n", name, n.CNPHandled):                                   own.String(),
				fmt.Sprintf("fabemu_adapter_queue_pairs{node=%q} %d\n", name, n.Pairs):                                                 own.String(),
				fmt.Sprintf("fabemu_adapter_rx_pause_total{node=%q,priority=\"3\"} %d\n", name, n.Pauses["rx_prio3_pause"]):            own.String(),
				fmt.Sprintf("node_infiniband_np_cnp_packets_sent_total{device=%q,port=\"1\"} %d\n", name, n.CNPSent):                   others.String(),
				fmt.Sprintf("node_infiniband_np_ecn_marked_roce_packets_received_total{device=%q,port=\"1\"} %d\n", name, n.ECNMarked): others.String(),
				fmt.Sprintf("node_infiniband_rp_cnp_packets_handled_total{device=%q,port=\"1\"} %d\n", name, n.CNPHandled):             others.String(),
				fmt.Sprintf("node_infiniband_rp_cnp_ignored_packets_received_total{device=%q,port=\"1\"} ", name):                      others.String(),
			} {
				if !strings.Contains(text, want) {
					t.Errorf("%s: the metrics have no %s", c.control, want)
				}
			}
		}
	}
}

// A host that opens more queue pairs than its adapter has places for is bounded and counted, and
// others continue.
func TestModelVerbsOfManyPairs(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	hosts, r := verbsRun(t, "20ms", "{algorithm: dcqcn}", 10_000, emu.Options{})
	one, _ := verbsRun(t, "20ms", "{algorithm: dcqcn}", 1, emu.Options{})
	many := roceOf(t, r, "s1")
	if many.Pairs > 1024 || many.OutOfPairs == 0 || many.Discards == 0 || len(r.Violations) > 0 {
		t.Errorf("%+v %v", many, r.Violations)
	}
	if hosts["r"].got < one["r"].got*9/10 {
		t.Errorf("%d packets came, and of one queue pair %d", hosts["r"].got, one["r"].got)
	}
}

// Stock Wireshark shows each frame as RoCEv2, CE behind the switch and ECT in front of it. Its ICRC
// is right: so say dump and a computation of the test's own.
func TestModelVerbsInACapture(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	var file bytes.Buffer
	_, r := verbsRun(t, "5ms", "{algorithm: dcqcn}", 1, emu.Options{Capture: &emu.Capture{To: &file, Filter: []string{"root", "s1 - S"}}})
	captured := bytes.Clone(file.Bytes())
	in, err := pcapng.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	frames := 0
	for p, err := in.Next(); err == nil; p, err = in.Next() {
		if frames++; binary.BigEndian.Uint16(p.Data[12:]) == 0x8808 {
			frames--
			continue
		}
		ip := bytes.Clone(p.Data[18 : 18+int(binary.BigEndian.Uint16(p.Data[20:]))])
		ip[1], ip[8], ip[10], ip[11], ip[26], ip[27], ip[32] = 255, 255, 255, 255, 255, 255, 255
		end := len(ip) - 4
		if crc32.ChecksumIEEE(append(bytes.Repeat([]byte{255}, 8), ip[:end]...)) != binary.LittleEndian.Uint32(ip[end:]) {
			t.Fatalf("a wrong ICRC: %x", ip)
		}
	}
	var said strings.Builder
	sum, err := dump.Dump(&said, dump.Options{Check: true}, bytes.NewReader(captured))
	if err != nil || sum.Problems() > 0 || strings.Count(said.String(), " rocev2 opcode=0x81 ") == 0 {
		t.Errorf("%v, %d wrong\n%.3000s", err, sum.Problems(), said.String())
	}
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("there is no tshark")
	}
	path := filepath.Join(t.TempDir(), "verbs.pcapng")
	if err := os.WriteFile(path, captured, 0o666); err != nil {
		t.Fatal(err)
	}
	count := func(filter string) int {
		c := exec.Command(tshark, "-r", path, "-Y", filter, "-T", "fields", "-e", "frame.number")
		c.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(out, []byte("\n"))
	}
	marks := int(roceOf(t, r, "r").ECNMarked)
	for filter, want := range map[string]int{
		"infiniband && udp.dstport == 4791": frames, "_ws.malformed": 0, "ip.checksum.status == 0": 0,
		"ip.dsfield.ecn == 3 && infiniband.bth.opcode == 4": marks, "ip.dsfield.ecn == 3 && frame.interface_name contains \"s1\"": 0,
	} {
		if n := count(filter); n != want && !(n-want <= 2 && want-n <= 2 && want == marks) { // some are under way at the end
			t.Errorf("tshark: %s: %d frames, want %d", filter, n, want)
		}
	}
	if frames < 5_000 || marks == 0 {
		t.Errorf("%d frames, %d marked", frames, marks)
	}
}
