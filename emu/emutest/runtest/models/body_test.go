package models_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/host/netns"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/capture"
	"fabemu/emu/watch/capture/dump"
	"fabemu/node"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// script is a source of bodies: packets of IPv4 with UDP, all of them there from the start
// but for a pause after each tenth. It notes when it is read.
type script struct {
	bodies [][]byte
	next   int
	free   unit.Time // when the next one is there
	taken  []unit.Time
	empty  int // how many calls of Take give nothing although Ready said otherwise
}

// newScript returns n packets of all lengths from 28 to the longest.
func newScript(n, longest int) *script {
	s := &script{}
	r := unit.NewRandom(7, 7)
	for i := range n {
		b := make([]byte, 28+int(r.Below(uint64(longest-28+1))))
		for k := range b {
			b[k] = byte(r.Below(256))
		}
		copy(b, unhex(fmt.Sprintf("4500%04x%04x0000401100000a0000010a000002", len(b), i+1)))
		binary.BigEndian.PutUint16(b[10:], checksum(b[:20]))
		copy(b[20:], unhex(fmt.Sprintf("13881770%04x0000", len(b)-20)))
		s.bodies = append(s.bodies, b)
	}
	return s
}

func unhex(s string) (b []byte) {
	fmt.Sscanf(s, "%x", &b)
	return b
}

// checksum is that of the header of IPv4 (RFC 791).
func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	return ^uint16(sum + sum>>16)
}

func (s *script) Ready(unit.Time) unit.Time {
	if s.next == len(s.bodies) {
		return unit.Never
	}
	return s.free
}

func (s *script) Take(now unit.Time, room int) (wire.Body, bool) {
	if s.next%7 == 3 && s.empty <= s.next { // it was mistaken
		s.empty = s.next + 1
		return wire.Body{}, false
	}
	b := s.bodies[s.next]
	s.next++
	if s.next%10 == 0 {
		s.free = now.Add(20 * unit.Microsecond)
	}
	if len(b) > room {
		panic("too long")
	}
	s.taken = append(s.taken, now)
	return wire.Body{Type: 0x0800, Bytes: b}, true
}

// inbox is a sink of bodies.
type inbox struct {
	bodies [][]byte
	types  []uint16
}

func (i *inbox) Put(_ unit.Time, b wire.Body) {
	i.bodies, i.types = append(i.bodies, bytes.Clone(b.Bytes)), append(i.types, b.Type)
}

// bodied is a fabric in which a flow with bodies shares two switches with one of padding; its
// destination takes in a fifth of what the links carry until half of the time has passed.
const bodied = `name: bodied
model: {duration: 6ms, seed: 3}
wall: {dilation: 20}
defaults: {link: {rate: 10Gb/s, propagation: 500ns, %s}, flow: {packet: 1500B, %s}}
switches: {A: {%s}, B: {%[3]s}}
endpoints: [s, v, {name: guest, service: 2Gb/s}, other]
links: [s - A, v - A, {name: trunk, between: A - B}, B - guest, B - other]
flows: [{name: bodies, from: s, to: guest}, {name: padding, from: v, to: guest}]
events: [{at: 2ms, endpoint: guest, service: unlimited}%s]
`

// bodiedKinds are the ways in which links and flows hold a flow back.
var bodiedKinds = []struct {
	name    string
	yaml    string
	longest int
	block   port.Block // what held the flow back, above all
}{
	{"credit", fmt.Sprintf(bodied, "buffer: 4 packets", "window: 64", "", ""), 1496, port.NoCredit},
	{"window", fmt.Sprintf(bodied, "buffer: 16 packets", "window: 2", "", ""), 1496, port.Window},
	{"pause", fmt.Sprintf(bodied, "flow-control: pause", "priority: 3", queued, ""), 1500, port.Paused},
	{"pfc", fmt.Sprintf(bodied, "flow-control: pfc", "priority: 3", queued, ""), 1500, port.Paused},
	{"rocev2", fmt.Sprintf(bodied, "flow-control: pfc", "priority: 3, transport: {kind: rocev2, ack-every: 4}", queued, ""), 1496, port.Paused},
	{"rocev2 over IPv6", fmt.Sprintf(bodied, "flow-control: pause", "transport: {kind: rocev2, ip: ipv6, window: 2}", queued, ""), 1496, port.Window},
	{"limiter", fmt.Sprintf(bodied, "flow-control: pause", "rate-limit: 1Gb/s", queued, ""), 1500, port.RateLimited},
	{
		"shared limiter",
		fmt.Sprintf(bodied, "flow-control: pause", "control: {algorithm: qcn, shared: true}", queued+", marking: {scheme: qcn}", ""),
		1500, port.RateLimited,
	},
}

// queued are switches of Ethernet.
const queued = "kind: output-queued, memory: 60KB per port"

// carry runs a scenario with a script, and returns the script, what came, and the result.
func carry(t *testing.T, s *scenario.Scenario, n, longest int, o emu.Options) (*script, *inbox, *emu.Result) {
	t.Helper()
	var source *script
	var sink *inbox
	wanted := func(f *fabric.Flow) bool { return f.Name == "bodies" }
	o.Digest = true
	o.Schemes = emu.Schemes{
		BodySource: func(f *fabric.Flow) node.BodySource {
			if !wanted(f) {
				return nil
			}
			source = newScript(n, longest)
			return source
		},
		BodySink: func(f *fabric.Flow) node.BodySink {
			if !wanted(f) {
				return nil
			}
			sink = &inbox{}
			return sink
		},
	}
	r, err := emu.Run(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return source, sink, r
}

// same reports a difference between what a script has and what came of it.
func (s *script) same(t *testing.T, in *inbox) {
	t.Helper()
	if len(in.bodies) != len(s.bodies) {
		t.Errorf("%d of %d bodies were taken, %d came", s.next, len(s.bodies), len(in.bodies))
	}
	for i, b := range in.bodies {
		if in.types[i] != 0x0800 || !bytes.Equal(b, s.bodies[i]) {
			t.Fatalf("body %d came as another, of type %#x:\n%x, want\n%x", i, in.types[i], b, s.bodies[i])
		}
	}
}

// inOrder reports bodies that arrived out of order, twice, or from elsewhere.
func (s *script) inOrder(t *testing.T, in *inbox) {
	t.Helper()
	k := 0
	for i, b := range in.bodies {
		for k < len(s.bodies) && !bytes.Equal(s.bodies[k], b) {
			k++
		}
		if k == len(s.bodies) {
			t.Fatalf("body %d of %d that came was not sent, or came before", i, len(in.bodies))
		}
		k++
	}
}

// starts notes when the frames of a flow begin to leave its source, and what keeps it.
type starts struct {
	flow   uint32
	at     []unit.Time
	blocks [16]int
	again  int64 // packets that are retransmitted
}

func (s *starts) Record(e *trace.Event) {
	switch {
	case e.Flow != s.flow:
	case e.Kind == trace.Start && e.Node == 2:
		s.at = append(s.at, e.At)
	case e.Kind == trace.Stall:
		s.blocks[e.A]++
	case e.Kind == trace.Timeout:
		s.again += e.A
	case e.Kind == trace.Retransmit:
		s.again += e.B
	}
}

// Whatever holds a flow back, all bodies come, in order, byte for byte; the source is not
// read before the packet leaves; and both clocks agree, over values, bytes and sockets.
func TestModelBodiesComeThrough(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const n = 300
	for _, kind := range bodiedKinds {
		t.Run(kind.name, func(t *testing.T) {
			s := runtest.Load(t, kind.yaml)
			events := &starts{flow: fabric.FirstQP}
			source, sink, want := carry(t, s, n, kind.longest, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Sink: events})
			source.same(t, sink)
			if !slices.Equal(source.taken, events.at) {
				t.Errorf("bodies were taken at %v,\nand packets left at %v", source.taken, events.at)
			}
			if events.blocks[kind.block] < 5 {
				t.Errorf("%v held the flow back %d times", kind.block, events.blocks[kind.block])
			}
			if want.Verdict.Violations > 0 || len(want.Losses) > 0 {
				t.Errorf("%+v %+v", want.Violations, want.Losses)
			}
			missing := netns.Missing()
			for _, o := range []emu.Options{{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}}, {Settings: emu.Settings{Link: emu.Pipe}}, {}, {Settings: emu.Settings{Link: emu.Veth}}} {
				if o.Link == emu.Veth && missing != nil {
					continue
				}
				o.Verify = emu.VerifyOff
				source, sink, got := carry(t, s, n, kind.longest, o)
				source.same(t, sink)
				if got.Digest != want.Digest {
					t.Errorf("clock %s, link %s: digest %s, want %s", o.Clock, o.Link, got.Digest, want.Digest)
				}
			}
			// In measured time it is not known how far it gets, or what a busy machine loses.
			source, sink, _ = carry(t, s, n, kind.longest, emu.Options{Settings: emu.Settings{Timing: emu.ActualTiming}})
			source.inOrder(t, sink)
			if missing != nil {
				t.Skipf("not over veth pairs: %v", missing)
			}
		})
	}
}

// Packets that a link has lost are retransmitted with their bodies: each comes once.
func TestModelBodiesAreSentAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const events = ", {at: 1ms, link: trunk, state: down}, {at: 1500us, link: trunk, state: up}"
	for i, yaml := range []string{
		fmt.Sprintf(bodied, "buffer: 4 packets", "window: 16, timeout: 300us", "", events),
		fmt.Sprintf(bodied, "flow-control: pause", "transport: {kind: rocev2, ack-timeout: 300us}", queued, ", {at: 800us, switch: A, restart: 200us}"),
		fmt.Sprintf(bodied, "flow-control: none", "transport: {kind: rocev2, ack-timeout: 300us, window: 64}", "kind: output-queued, memory: 5KB per port", ""),
	} {
		s := runtest.Load(t, yaml)
		lost := &starts{flow: fabric.FirstQP}
		source, sink, r := carry(t, s, 200, 1496, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Sink: lost})
		source.same(t, sink)
		if lost.again == 0 || r.Verdict.Violations > 0 {
			t.Errorf("fabric %d: %d packets were sent again; %+v", i, lost.again, r.Violations)
		}
	}
}

// Where a fabric drops frames their bodies end too, and what comes does so in order.
func TestBodiesOfDroppedFramesEnd(t *testing.T) {
	const small, restart = "kind: output-queued, memory: 15KB per port", ", {at: 1ms, switch: A, restart: 200us}"
	s := runtest.Load(t, fmt.Sprintf(bodied, "flow-control: none", "limiter: token-bucket", small, restart))
	source, sink := newScript(200, 1500), &inbox{}
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	all, err := assemble.New(f, emu.Schemes{
		BodySource: func(f *fabric.Flow) node.BodySource {
			if f.Name == "bodies" {
				return source
			}
			return nil
		},
		BodySink: func(f *fabric.Flow) node.BodySink { return sink },
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (drive.Virtual{}).Run(context.Background(), all); err != nil {
		t.Fatal(err)
	}
	if source.next < 200 || len(sink.bodies) < 20 || len(sink.bodies) > 180 {
		t.Errorf("%d taken, %d came: the fabric drops none, or all", source.next, len(sink.bodies))
	}
	if n := all.Bodies.Held(); n != 0 {
		t.Errorf("%d bodies are left of frames that are no more", n)
	}
	source.inOrder(t, sink)
}

// pinger sends a body when the answer to the one before has come, and notes when.
type pinger struct {
	left, out int
	at        []unit.Time
}

func (p *pinger) Ready(now unit.Time) unit.Time {
	if p.left == 0 || p.out > 0 {
		return unit.Never
	}
	return now
}

func (p *pinger) Take(now unit.Time, _ int) (wire.Body, bool) {
	p.left, p.out, p.at = p.left-1, 1, append(p.at, now)
	return wire.Body{Type: 0x0800, Bytes: make([]byte, 84)}, true
}

func (p *pinger) Put(unit.Time, wire.Body) { p.out-- }

// answerer sends back what comes.
type answerer struct{ inbox }

func (a *answerer) Ready(now unit.Time) unit.Time {
	if len(a.bodies) == 0 {
		return unit.Never
	}
	return now
}

func (a *answerer) Take(unit.Time, int) (wire.Body, bool) {
	b := wire.Body{Type: a.types[0], Bytes: a.bodies[0]}
	a.bodies, a.types = a.bodies[1:], a.types[1:]
	return b, true
}

// What comes to an endpoint may be what a source there has waited for: it leaves at once, so
// that a round trip takes four times the length of a frame on its link, and the four flights.
func TestBodiesAreAnswered(t *testing.T) {
	const pings = 20
	s := runtest.Load(t, `name: ping
model: {duration: 1ms, framing: wire}
wall: {dilation: 20}
defaults: {link: {rate: 10Gb/s, propagation: 500ns, flow-control: pause}, flow: {packet: 1500B}}
switches: {A: {kind: output-queued, memory: 60KB per port, forwarding: store-and-forward, forwarding-delay: 1ns}}
endpoints: [s, guest]
links: [s - A, A - guest]
flows: [{name: there, from: s, to: guest}, {name: back, from: guest, to: s}]
`)
	const frame = wire.EthernetHeaderSize - 4 + 84 + wire.FCSSize + wire.LinkOverhead // without a tag
	trip := 4*(10_000_000_000*unit.BitPerSecond).Serialise(frame) + 4*500*unit.Nanosecond + 2*unit.Nanosecond
	var digest string
	for _, o := range []emu.Options{{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}}, {Settings: emu.Settings{Link: emu.Pipe}, Verify: emu.VerifyOff}} {
		p, a := &pinger{left: pings}, &answerer{}
		o.Schemes = emu.Schemes{
			BodySource: func(f *fabric.Flow) node.BodySource {
				if f.Name == "there" {
					return p
				}
				return a
			},
			BodySink: func(f *fabric.Flow) node.BodySink {
				if f.Name == "there" {
					return a
				}
				return p
			},
		}
		o.Digest = true
		r, err := emu.Run(context.Background(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.at) != pings || p.out != 0 {
			t.Fatalf("%d of %d pings, %d without an answer", len(p.at), pings, p.out)
		}
		for i := 1; i < pings; i++ {
			if got := p.at[i].Sub(p.at[i-1]); got != trip {
				t.Errorf("round trip %d takes %v, want %v", i, got, trip)
			}
		}
		if digest == "" {
			digest = r.Digest
		} else if r.Digest != digest {
			t.Errorf("digest %s, want %s", r.Digest, digest)
		}
	}
}

// Bodies are in a capture of whole frames, and Wireshark, without the add-on, shows them as the
// packets of IPv4 that they are; so does fabemu dump, where the frames are cut too.
func TestModelBodiesInACapture(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, kind := range bodiedKinds[1:3] {
		t.Run(kind.name, func(t *testing.T) {
			var source *script
			var captured [2]bytes.Buffer // frames that are whole, and cut
			for i, snap := range []int{0, capture.HeaderSnap} {
				var sink *inbox
				o := emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Capture: &emu.Capture{To: &captured[i], Snap: snap, Filter: []string{"trunk", "bodies"}}}
				source, sink, _ = carry(t, runtest.Load(t, kind.yaml), 100, kind.longest, o)
				source.same(t, sink)
				var out strings.Builder
				sum, err := dump.Dump(&out, dump.Options{Check: true}, bytes.NewReader(captured[i].Bytes()))
				if err != nil || sum.Problems() > 0 {
					t.Errorf("%v, %d wrong", err, sum.Problems())
				}
				dumped := out.String()
				for _, b := range source.bodies {
					want := fmt.Sprintf(" body=%d ipv4 10.0.0.1->10.0.0.2 udp 5000->6000 bytes=", len(b))
					if !strings.Contains(dumped, want) {
						t.Fatalf("the dump has no %q:\n%.2000s", want, dumped)
					}
				}
				if each := captured[i].Len() / int(sum.Packets); snap > 0 && each > snap+130 {
					t.Errorf("a frame takes %d bytes of the file, of which %d are its own", each, snap)
				}
			}
			var list bytes.Buffer
			for i, b := range source.bodies {
				fmt.Fprintf(&list, "0x%04x,10.0.0.1,10.0.0.2,5000,6000,%x\n", i+1, b[28:])
			}
			path := filepath.Join(t.TempDir(), "fabric.pcapng")
			if err := os.WriteFile(path, captured[0].Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
			tshark, err := exec.LookPath("tshark")
			if err != nil {
				t.Skip("there is no tshark")
			}
			args := []string{"-r", path, "-Y", "ip", "-T", "fields", "-E", "separator=,"}
			for _, f := range []string{"ip.id", "ip.src", "ip.dst", "udp.srcport", "udp.dstport", "udp.payload"} {
				args = append(args, "-e", f)
			}
			c := exec.Command(tshark, args...)
			c.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
			got, err := c.Output()
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != list.String() {
				t.Errorf("Wireshark shows\n%.2000s\nwant\n%.2000s", got, list.String())
			}
		})
	}
}
