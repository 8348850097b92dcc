package emu

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"fabemu/emu/base/terminal"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/host/netns"
	"fabemu/emu/result/report"
	"fabemu/emu/result/summary"
	"fabemu/emu/run/guest/netstack"
	"fabemu/emu/run/process"
	"fabemu/emu/watch/capture/dump"
	"fabemu/emu/watch/observe"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
	vnetns "github.com/vishvananda/netns"
)

// twoGuests is a fabric of two real hosts at a switch.
const twoGuests = `
name: two-guests
model: {duration: 1.5s}
wall: {dilation: 1}
defaults: {link: {rate: 100Mb/s}}
switches: {S: {forwarding-delay: 2us}}
endpoints: [{name: "h[1-2]", guest: tun}]
links: ["h[1-2] - S"]
flows: [{name: there, from: h1, to: h2}, {name: back, from: h2, to: h1}]
`

// inGuest runs f in the namespace of a guest of a run of this process.
func inGuest(name string, f func() error) error {
	runs, err := netns.Find()
	for _, r := range runs {
		for _, n := range r.Namespaces {
			if r.PID == os.Getpid() && strings.HasSuffix(n, "-"+name) {
				return inNamespace(n, f)
			}
		}
	}
	return errors.Join(err, errors.New("there is no namespace of guest "+name))
}

func inNamespace(name string, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		ns, err := vnetns.GetFromName(name)
		if err == nil {
			defer ns.Close()
			err = vnetns.Set(ns)
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// The kernel's TCP carries a megabyte from guest to guest, over Ethernet with PFC, by devices
// of IP and of Ethernet, and over InfiniBand: nothing is lost, nothing is retransmitted, and the
// run says that it cannot be repeated.
func TestGuestsSpeakTCP(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needNamespaces(t)
	ethernet := []string{"defaults.link.flow-control=pfc", "switches.S.kind=output-queued"}
	for name, sets := range map[string][]string{"tun": ethernet, "tap": append([]string{"endpoints.h[1-2].guest.kind=tap"}, ethernet...), "infiniband": {"flows.there.window=4"}} {
		t.Run(name, func(t *testing.T) {
			s := runtest.Load(t, twoGuests, runtest.Sets(t, append(sets, "model.duration=120s")...)...)
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			began, ready, sent := make(chan bool), make(chan error, 1), make(chan error, 1)
			sum := make(chan [32]byte, 1)
			data := make([]byte, 1<<20)
			for i := range data {
				data[i] = byte(i * i >> 8)
			}
			go func() {
				defer close(sum)
				<-began
				var l net.Listener
				err := inGuest("h2", func() (err error) { l, err = net.Listen("tcp4", ":9"); return err })
				ready <- err
				if err != nil {
					return
				}
				c, err := l.Accept()
				l.Close()
				if err != nil {
					return
				}
				h := sha256.New()
				_, _ = io.Copy(h, c)
				c.Close()
				sum <- [32]byte(h.Sum(nil))
			}()
			var got [32]byte
			go func() {
				defer stop() // the rest is not wanted
				if err := <-ready; err != nil {
					sent <- err
					return
				}
				var c net.Conn
				err := inGuest("h1", func() (err error) { c, err = net.Dial("tcp4", "10.0.0.2:9"); return err })
				if err == nil {
					_, err = c.Write(data)
					_ = c.(*net.TCPConn).CloseWrite()
					got = <-sum
					_ = c.Close()
					err = errors.Join(err, inGuest("h1", lossesSeen), inGuest("h2", allAcknowledged))
				}
				sent <- err
			}()
			r, err := Run(ctx, s, Options{Settings: Settings{Link: Pipe}, test: process.Hooks{Epoch: func() { close(began) }}})
			if err != nil {
				t.Fatal(err)
			}
			if err := <-sent; err != nil {
				t.Fatal(err)
			}
			if got != sha256.Sum256(data) {
				t.Error("what was received is not what was sent")
			}
			if len(r.Guests) != 2 || r.Guests[0].Sent < 700 || r.Guests[1].Received != r.Guests[0].Sent || r.Guests[0].KernelDrops != 0 {
				t.Errorf("guests: %+v", r.Guests)
			}
			if r.Verdict.Level == report.Void || r.Verdict.Verify != "" || r.Digest != "" || len(r.Drops) > 0 || len(r.Warnings) > 0 {
				t.Errorf("verdict %+v, digest %q, drops %v, warnings %q", r.Verdict.Reason, r.Digest, r.Drops, r.Warnings)
			}
			var text strings.Builder
			if err := summary.WriteText(&text, r.Result, terminal.Look{}); err != nil || !strings.Contains(text.String(), "guests  2, not reproducible") {
				t.Errorf("the report does not say it, %v:\n%s", err, text.String())
			}
		})
	}
}

// lossesSeen says whether TCP, in the namespace of the calling thread, has taken a segment for
// lost by what was acknowledged behind it. What it retransmits because an ACK is late is none:
// the machine may be busy.
func lossesSeen() error {
	b, err := os.ReadFile("/proc/thread-self/net/netstat")
	if err != nil {
		return err
	}
	lines := strings.Split(string(b), "\n")
	names, values := strings.Fields(lines[0]), strings.Fields(lines[1])
	seen := 0
	for i, name := range names {
		switch name {
		case "TCPFastRetrans", "TCPSackRecovery", "TCPRenoRecovery", "TCPLostRetransmit":
			if seen++; values[i] != "0" {
				return fmt.Errorf("%s is %s", name, values[i])
			}
		}
	}
	if seen != 4 {
		return fmt.Errorf("%d of 4 counters are in /proc/net/netstat", seen)
	}
	return nil
}

// allAcknowledged waits, in the namespace of the calling thread, until there is no connection any
// more: the peer of who closes last has told it that all has come.
func allAcknowledged() error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile("/proc/thread-self/net/tcp")
		if err != nil || strings.Count(string(b), "\n") == 1 { // the names of the columns
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("after a minute there are connections:\n%s", b)
		}
	}
}

// A real host and one of this program speak to each other: the pings of the one are answered,
// and it receives the bytes of the other.
func TestRealGuestAndNetstack(t *testing.T) {
	needNamespaces(t, "ping")
	s := runtest.Load(t, strings.Replace(twoGuests, `[{name: "h[1-2]", guest: tun}]`, "[{name: h1, guest: tun}, {name: h2, guest: netstack}]", 1)+`
programs:
  - {name: ping, on: h1, run: ping -c 3 -i 0.1 h2}
  - {name: client, at: 500ms, on: h2, run: send h1 100KB}
expect:
  - {id: answered, metric: ping.status, low: 0, high: 0}
  - {id: sent, metric: client.status, low: 0, high: 0}
`)
	listening, came := make(chan bool, 2), make(chan error, 1)
	listen := func() {
		err := inGuest("h1", func() error {
			l, err := net.Listen("tcp4", ":5001")
			listening <- true
			if err != nil {
				return err
			}
			defer l.Close()
			c, err := l.Accept()
			if err != nil {
				return err
			}
			defer c.Close()
			if n, err := io.Copy(io.Discard, c); err != nil || n != 100_000 {
				return fmt.Errorf("%d bytes have come, %v", n, err)
			}
			return nil
		})
		listening <- false
		came <- err
	}
	r, err := Run(context.Background(), s, Options{Settings: Settings{Link: Pipe}, NewStack: netstack.New, test: process.Hooks{Epoch: func() { go listen(); <-listening }}})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-came; err != nil {
		t.Error(err)
	}
	for _, k := range r.Checks {
		if k.Outcome != report.Pass {
			t.Errorf("%s is %v: %s", k.ID, k.Value, k.Reason)
		}
	}
}

// A run with guests continues the wall clock, in one process.
func TestGuestsAreRefused(t *testing.T) {
	t.Attr("depends-on", "privileges")
	s := runtest.Load(t, twoGuests)
	for want, o := range map[string]Options{
		"--clock wall": {Settings: Settings{Clock: VirtualClock}}, "placement goroutine": {Settings: Settings{Placement: InProcesses}},
	} {
		_, err := Run(context.Background(), s, o)
		var m *Mistake
		if !errors.As(err, &m) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want a mistake with %q", err, want)
		}
	}
}

// The scenario that comes with the program has the round trip of the model, and its capture has
// the guests' packets of ICMP, whole.
func TestGuestsPing(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needNamespaces(t, "ping")
	s, err := Open("guest/ping", runtest.Sets(t, "model.duration=2s", "programs.ping.run=ping -c 10 -i 0.05 h2 | sed -n 's|^rtt [^=]*= \\([0-9.]*\\)/\\([0-9.]*\\)/.*|{\"least\": \\1}|p'")...)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	r, err := Run(context.Background(), s, Options{Settings: Settings{Link: Pipe}, Capture: &Capture{To: &file}})
	captured := bytes.Clone(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	// Not how much longer it took: that is a matter of what else the machine does.
	if k := r.Checks[0]; !(k.Value >= 10.02) {
		t.Errorf("%s: %v", k.ID, k.Value)
	}
	// Each packet crosses two links, and is in the capture once for each. What gopacket's
	// layers make of it is what the guest has sent.
	requests, replies := 0, 0
	for frame := range framesOf(t, &file) {
		at := bytes.Index(frame, []byte{0x08, 0x00, 0x45}) // the EtherType and the packet
		if at < 0 {
			continue
		}
		p := gopacket.NewPacket(frame[at+2:], layers.LayerTypeIPv4, gopacket.Default)
		icmp, ok := p.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4)
		switch {
		case !ok:
			t.Errorf("a packet that is not ICMP: %v", p)
		case icmp.TypeCode.Type() == layers.ICMPv4TypeEchoRequest:
			requests++
		case icmp.TypeCode.Type() == layers.ICMPv4TypeEchoReply:
			replies++
		}
	}
	if requests != 20 || replies != 20 {
		t.Errorf("%d requests and %d replies; want 20 of each", requests, replies)
	}
	// Wireshark, without the add-on, shows the same: packets of 84 bytes in frames of Ethernet.
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("there is no tshark")
	}
	path := filepath.Join(t.TempDir(), "ping.pcapng")
	if err := os.WriteFile(path, captured, 0o666); err != nil {
		t.Fatal(err)
	}
	shown, err := exec.Command(tshark, "-r", path, "-Y", "icmp", "-T", "fields", "-e", "ip.len", "-e", "frame.len", "-e", "icmp.checksum.status").Output()
	if got := string(shown); err != nil || got != strings.Repeat("84\t102\t1\n", 40) {
		t.Errorf("tshark: %v\n%s", err, got)
	}
}

// A run with real programs at dilation 1 is judged by what they see, while it runs and at its end,
// and not by the gaps between frames. At another dilation gaps decide.
func TestVerdictOfPrograms(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needNamespaces(t, "ping")
	for _, dilation := range []string{"1", "2"} {
		s, err := Open("guest/ping", runtest.Sets(t, "model.duration=1500ms", "wall.dilation="+dilation, "defaults.endpoint.guest.tcp=reno", "programs.ping.run=ping -c 10 -i 0.05 h2 >/dev/null; echo '{\"least\": 10.5}'")...)
		if err != nil {
			t.Fatal(err)
		}
		var last observe.Snapshot
		early := 0 // snapshots with a verdict before a packet has arrived
		r, err := Run(context.Background(), s, Options{Observe: []observe.Request{{Every: 20 * time.Millisecond, Observer: observe.Func(func(x *observe.Snapshot) {
			if x.Verdict.Programs == nil && x.Level != "" && x.Level != report.Void {
				early++
			}
			last.Level, last.Reason, last.Verdict = x.Level, x.Reason, x.Verdict
		})}}})
		if err != nil {
			t.Fatal(err)
		}
		v, p := &r.Verdict, r.Verdict.Programs
		if level, reason := report.Judge(v.Figures); v.Level != level || v.Reason != reason {
			t.Errorf("dilation %s: %s, %q; by the figures %s, %q", dilation, v.Level, v.Reason, level, reason)
		}
		if dilation != "1" {
			if p != nil || last.Verdict.Programs != nil || !strings.Contains(v.Reason, "gaps") || early == 0 {
				t.Errorf("dilation %s: judged by programs, %+v: %s", dilation, p, v.Reason)
			}
			continue
		}
		if p == nil || p.Packets < 20 || !(p.ErrorMs.P50 >= 0 && p.ErrorMs.P50 <= p.ErrorMs.P99 && p.ErrorMs.P99 <= p.ErrorMs.Max) {
			t.Fatalf("ten pings and their answers: %+v", p)
		}
		for what, reason := range map[string]string{"the verdict": v.Reason, "the page": last.Reason} {
			if strings.Contains(reason, "gaps") || !strings.Contains(reason, "of the packets of programs took at most ") || !strings.Contains(reason, "round trips are right to ") {
				t.Errorf("%s says: %s", what, reason)
			}
		}
		if q := last.Verdict.Programs; q == nil || q.Packets != p.Packets || early > 0 {
			t.Errorf("the page has %+v, the result %+v; %d verdicts came before a packet", q, p, early)
		}
	}
}

// framesOf yields the frames of a capture.
func framesOf(t *testing.T, file io.Reader) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		r, err := pcapgo.NewNgReader(file, pcapgo.NgReaderOptions{WantMixedLinkType: true})
		if err != nil {
			t.Fatal(err)
		}
		for {
			data, _, err := r.ReadPacketData()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !yield(data) {
				return
			}
		}
	}
}

// What a real host sends to the port of Ultra Ethernet transport comes as it was sent, whether its
// headers name flows of the fabric or make no sense, is never trimmed, and changes none of the
// flows beside it, whose packets are trimmed.
func TestGuestsSendUltraEthernet(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needNamespaces(t)
	s := runtest.Load(t, fmt.Sprintf(besideUltra, "120s", "20Mb/s", "tun"))
	packet := func(kind uint16, qp int, size int) []byte { // one of a flow, 4793 from source to destination
		b := binary.BigEndian.AppendUint16(nil, kind<<11|2<<7)
		return append(binary.BigEndian.AppendUint16(append(b, 0, 0, 0, 0, 0, 1), uint16(0x8000|qp)), make([]byte, size)...)
	}
	var sent [][]byte
	for kind := range uint16(32) { // of which most are none
		sent = append(sent, packet(kind, 2+int(kind)%5, 300))
	}
	for size := range 20 { // cut anywhere
		sent = append(sent, packet(13, 4, 300)[:size])
	}
	sent = append(sent, packet(2, 4, 3000)) // in fragments
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	began, ended := make(chan bool), make(chan error, 1)
	go func() {
		defer stop() // the rest is not wanted
		<-began
		var here, there net.PacketConn
		err := inGuest("h1", func() (err error) { here, err = net.ListenPacket("udp4", ":4793"); return err })
		if err == nil {
			err = inGuest("h2", func() (err error) { there, err = net.ListenPacket("udp4", ":4793"); return err })
		}
		for i := 0; err == nil && i < len(sent); i++ { // one by one: the switch may drop packets of guests
			got, n := make([]byte, 4096), 0
			for tries := 0; tries < 100; tries++ {
				if _, err = here.WriteTo(sent[i], &net.UDPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 4793}); err != nil {
					break
				}
				if there.SetReadDeadline(time.Now().Add(time.Second)) == nil {
					if n, _, err = there.ReadFrom(got); err == nil {
						break
					}
				}
			}
			if err == nil && !bytes.Equal(got[:n], sent[i]) {
				err = fmt.Errorf("packet %d: %x has come for %x", i, got[:n], sent[i])
			}
		}
		ended <- err
	}()
	var file bytes.Buffer
	cut := trims{}
	r, err := Run(ctx, s, Options{Settings: Settings{Link: Pipe}, Sink: cut, Capture: &Capture{To: &file, Both: true}, test: process.Hooks{Epoch: func() { close(began) }}})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, f := range r.Flows {
		if all += cut[f.QP]; (f.Name == "there" || f.Name == "back") && cut[f.QP] > 0 {
			t.Errorf("%d packets of %s are trimmed", cut[f.QP], f.Name)
		}
	}
	sum, err := dump.Dump(io.Discard, dump.Options{Check: true, Quiet: true}, &file)
	if err != nil || sum.Problems() > 0 || sum.Checked[dump.Deliveries] == 0 || all == 0 || r.Verdict.Violations > 0 {
		t.Errorf("%v, %v of %v; %d packets are trimmed, %d violations", err, sum.Found, sum.Checked, all, r.Verdict.Violations)
	}
}
