//go:build linux && timing

package measure

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/run/drive"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// What is paced: a frame counts with its 14 bytes of Ethernet at the qdiscs, and with its
// 2068 bytes of InfiniBand on the link of fabemu.
const (
	frameBytes = 2068
	gapNs      = 206_800
	rateBits   = frameBytes * 8 * 1_000_000_000 / gapNs // 80 Mbit/s
)

// skipped is how many gaps at the start do not count: bursts that a qdisc grants at first,
// cold caches.
const skipped = 100

// arrivals are what came of a round.
type arrivals struct {
	stamps []int64 // of the kernel, in ns, in the order of arrival
	sent   int64
}

// BenchmarkPacing lets frames of 2068 bytes go out at one each 206.8 µs, and says how far the
// gaps between the kernel's receive time stamps are off, in us, and the mean rate, in percent:
//
//	fabemu       the line of an endpoint on the wall clock, at dilation 100, over UDP
//	htb, tbf     qdiscs on a veth pair between two network namespaces; tbf once more with a
//	             burst of a single frame
//	time.Sleep   a program that sleeps until each instant, over UDP
//
// The namespaces are removed at the end, after an interrupt too. Nothing else of the network
// is touched.
func BenchmarkPacing(b *testing.B) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b.Run("fabemu", paced(ctx, fabemu))
	if os.Geteuid() == 0 {
		k, err := newKernel(ctx)
		if err != nil {
			b.Fatal(err)
		}
		defer func() {
			if err := k.close(); err != nil {
				b.Error(err)
			}
		}()
		// With a burst of two frames both do best: with one they lose what they are late by,
		// with many they make up for it in bursts.
		b.Run("htb", paced(ctx, k.htb(2)))
		b.Run("tbf", paced(ctx, k.tbf(2)))
		b.Run("tbf-least-burst", paced(ctx, k.tbf(1)))
	}
	b.Run("time.Sleep", paced(ctx, sleep))
}

// paced lets a method pace b.N frames.
func paced(ctx context.Context, run func(ctx context.Context, length time.Duration) (arrivals, error)) func(*testing.B) {
	return func(b *testing.B) {
		a, err := run(ctx, time.Duration(b.N)*gapNs)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(a.sent-int64(len(a.stamps))), "lost")
		if len(a.stamps) < skipped+2 {
			return
		}
		stamps := a.stamps[skipped:]
		var errs []float64
		for i := 1; i < len(stamps); i++ {
			errs = append(errs, math.Abs(float64(stamps[i]-stamps[i-1]-gapNs))/1e3)
		}
		slices.Sort(errs)
		for _, q := range []float64{50, 90, 99, 99.9} {
			b.ReportMetric(errs[min(len(errs)-1, int(q/100*float64(len(errs))))], fmt.Sprintf("p%v-us", q))
		}
		b.ReportMetric(100*(float64(len(errs))*gapNs/float64(stamps[len(stamps)-1]-stamps[0])-1), "rate-%")
	}
}

// fabemu paces by the link of an endpoint: two endpoints that are joined directly, a greedy
// flow, the wall clock.
func fabemu(ctx context.Context, length time.Duration) (out arrivals, err error) {
	const (
		rate     = 8_000_000_000 * unit.BitPerSecond
		dilation = 100 // makes 206.8 µs of the 2.068 µs that a frame takes
		pair     = 2
	)
	end := port.Config{Rate: rate, Propagation: unit.Nanosecond, Room: 16 * 33, Resend: 262_144 * unit.Nanosecond}
	var outbox port.Outbox
	source, err := node.New(node.Config{Index: 0, Outbox: &outbox, LID: 1, Port: end, Flows: []node.Flow{{
		QP: pair, Dst: 2, Payload: 2048, Transport: node.Acknowledged{Window: 16}, Stop: unit.Never,
		Limiter: node.NewInterPacketDelay(rate), Reaction: rp.Reaction{Controller: rp.NewFixed(rate)},
	}}}, discard{})
	if err != nil {
		return out, err
	}
	sinks := []node.Sink{{QP: pair, Transport: node.Acknowledged{Window: 16}}}
	sink, err := node.New(node.Config{Index: 1, Outbox: &outbox, LID: 2, Port: end, Sinks: sinks}, discard{})
	if err != nil {
		return out, err
	}
	a, b, err := link.UDPPair(link.UDPOptions{Buffer: 128 * unit.KiB})
	if err != nil {
		return out, err
	}
	defer a.Close()
	defer b.Close()

	// As in a run: the garbage collector does not disturb.
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	out.stamps = make([]int64, 0, int(length/gapNs)+1000)
	w := drive.Wall{
		Dilation: dilation,
		Links: [][2]link.Link{{a, runtest.Stamped(b, func(datagram []byte, at int64) {
			if _, ok := runtest.Frame(datagram, 0); ok {
				out.stamps = append(out.stamps, at)
			}
		})}},
		Longest: []unit.Duration{rate.Serialise(frameBytes)},
	}
	t, err := w.Run(ctx, &drive.Setup{
		Nodes: []drive.Node{source, sink},
		Wires: [][2]port.End{{{Node: 0}, {Node: 1}}},
		End:   unit.Time(length.Nanoseconds()) * 1000 / dilation,
		Run:   uint32(time.Now().UnixNano()),
	})
	if err == nil && t.Early > 0 {
		err = fmt.Errorf("%d frames left early", t.Early)
	}
	if err == nil {
		out.sent = t.Data
	}
	return out, err
}

// discard is a sink of events that are not looked at.
type discard struct{}

func (discard) Record(*trace.Event) {}

// sleep paces frames as a program does that knows no better: it sleeps until the next
// instant, and instants follow one another at the wanted gap, however late it wakes.
func sleep(ctx context.Context, length time.Duration) (out arrivals, err error) {
	a, b, err := link.UDPPair(link.UDPOptions{Buffer: 128 * unit.KiB})
	if err != nil {
		return out, err
	}
	defer a.Close()
	defer b.Close()
	frame, in := make([]byte, frameBytes), make([]byte, frameBytes)
	stamped := runtest.Stamped(b, func(_ []byte, at int64) { out.stamps = append(out.stamps, at) })
	collect := func() error {
		for {
			if n, err := stamped.Recv(in); err != nil || n == 0 {
				return err
			}
		}
	}
	begin := time.Now()
	for due := time.Duration(0); due < length; due += gapNs {
		time.Sleep(due - time.Since(begin))
		if err := cmp.Or(ctx.Err(), a.Send(frame), collect()); err != nil {
			return out, err
		}
		out.sent++
	}
	time.Sleep(50 * time.Millisecond)
	return out, collect()
}

// kernel is a veth pair between two network namespaces of our own.
type kernel struct{ from, to, self string }

// The ends of the veth pair. The addresses are those for documentation (RFC 5737); nothing
// else is in the namespaces.
const (
	fromDevice, toDevice = "fabemu0", "fabemu1"
	fromAddress          = "192.0.2.1"
	receiver             = "192.0.2.2:4791"
)

// payloadBytes is what fills a frame of frameBytes: headers of Ethernet, IP and UDP are in
// front, and a qdisc counts them all.
const payloadBytes = frameBytes - 14 - 20 - 8

// newKernel makes the namespaces and the veth pair. If it fails nothing stays.
func newKernel(ctx context.Context) (*kernel, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	prefix := fmt.Sprintf("fabemu-pacing-%d-", os.Getpid())
	k := &kernel{from: prefix + "from", to: prefix + "to", self: self}
	err = do(ctx,
		"ip netns add "+k.from,
		"ip netns add "+k.to,
		"ip link add "+fromDevice+" netns "+k.from+" type veth peer name "+toDevice+" netns "+k.to,
		// Ethernet's own 14 bytes are not part of the MTU.
		fmt.Sprintf("ip -n %s link set %s mtu %d up", k.from, fromDevice, frameBytes-14),
		fmt.Sprintf("ip -n %s link set %s mtu %d up", k.to, toDevice, frameBytes-14),
		"ip -n "+k.from+" address add "+fromAddress+"/30 dev "+fromDevice,
		"ip -n "+k.to+" address add 192.0.2.2/30 dev "+toDevice,
	)
	if err != nil {
		return nil, errors.Join(err, k.close())
	}
	return k, nil
}

// close removes the namespaces, and with them the veth pair and its qdiscs.
func (k *kernel) close() error {
	var errs []error
	for _, name := range []string{k.from, k.to} {
		if _, err := os.Stat("/run/netns/" + name); err == nil {
			errs = append(errs, do(context.Background(), "ip netns delete "+name))
		}
	}
	return errors.Join(errs...)
}

// do runs commands, one after another, up to the first that fails.
func do(ctx context.Context, commands ...string) error {
	for _, line := range commands {
		words := strings.Fields(line)
		if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, bytes.TrimSpace(out))
		}
	}
	return nil
}

// htb paces by a class of a hierarchical token bucket with a burst of this many frames.
func (k *kernel) htb(frames int) func(context.Context, time.Duration) (arrivals, error) {
	return k.through(
		"qdisc add dev "+fromDevice+" root handle 1: htb default 1",
		fmt.Sprintf("class add dev %s parent 1: classid 1:1 htb rate %dbit burst %[3]d cburst %[3]d quantum %d",
			fromDevice, rateBits, frames*frameBytes, frameBytes),
	)
}

// tbf paces by a token bucket filter with a burst of this many frames.
func (k *kernel) tbf(frames int) func(context.Context, time.Duration) (arrivals, error) {
	return k.through(fmt.Sprintf("qdisc add dev %s root tbf rate %dbit burst %d limit %d",
		fromDevice, rateBits, frames*frameBytes, 1000*frameBytes))
}

// through makes a qdisc by commands of tc, sends through it for this long, and removes it.
func (k *kernel) through(qdisc ...string) func(context.Context, time.Duration) (arrivals, error) {
	return func(ctx context.Context, length time.Duration) (out arrivals, err error) {
		for _, line := range qdisc {
			if err := do(ctx, "tc -n "+k.from+" "+line); err != nil {
				return out, err
			}
		}
		defer func() {
			err = errors.Join(err, do(context.WithoutCancel(ctx), "tc -n "+k.from+" qdisc delete dev "+fromDevice+" root"))
		}()
		// The receiver says that it is ready, and at the end what came.
		to := exec.CommandContext(ctx, "ip", "netns", "exec", k.to, k.self, "receive")
		to.Stderr = os.Stderr
		pipe, err := to.StdoutPipe()
		if err != nil {
			return out, err
		}
		if err := to.Start(); err != nil {
			return out, err
		}
		lines := bufio.NewScanner(pipe)
		if !lines.Scan() {
			return out, errors.Join(errors.New("the receiver did not start"), to.Wait())
		}
		from := exec.CommandContext(ctx, "ip", "netns", "exec", k.from, k.self, "send", length.String())
		from.Stderr = os.Stderr
		said, err := from.Output()
		if err == nil {
			out.sent, err = strconv.ParseInt(strings.TrimSpace(string(said)), 10, 64)
		}
		for err == nil && lines.Scan() {
			var stamp int64
			stamp, err = strconv.ParseInt(lines.Text(), 10, 64)
			out.stamps = append(out.stamps, stamp)
		}
		return out, errors.Join(err, lines.Err(), to.Wait())
	}
}

// TestMain is also the sender and the receiver in their namespaces.
func TestMain(m *testing.M) {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "send":
		err = send(os.Args[2])
	case len(os.Args) == 2 && os.Args[1] == "receive":
		err = receive()
	case len(os.Args) >= 2 && inNamespace[os.Args[1]] != nil:
		err = inNamespace[os.Args[1]](os.Args[2:])
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// send sends as fast as the qdisc takes, since the socket waits when its buffer is full, and
// says at the end how many datagrams that were.
func send(text string) error {
	length, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	c, err := net.Dial("udp4", receiver)
	if err != nil {
		return err
	}
	defer c.Close()
	// Enough for about 400 datagrams with what the kernel needs in addition to them, 80 ms of
	// sending: the qdisc has always something to send. It holds 1000.
	if err := option(c.(*net.UDPConn), syscall.SO_SNDBUFFORCE, 1<<20); err != nil {
		return err
	}
	b := make([]byte, payloadBytes)
	sent := 0
	for begin := time.Now(); time.Since(begin) < length; sent++ {
		if _, err := c.Write(b); err != nil {
			return err
		}
	}
	fmt.Println(sent)
	return nil
}

// receive writes the time stamp of each datagram, a line each, once no more come.
func receive() error {
	address, err := net.ResolveUDPAddr("udp4", receiver)
	if err != nil {
		return err
	}
	c, err := net.ListenUDP("udp4", address)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := errors.Join(option(c, syscall.SO_TIMESTAMPNS, 1), option(c, syscall.SO_RCVBUFFORCE, 4<<20)); err != nil {
		return err
	}
	fmt.Println("ready")
	w := bufio.NewWriterSize(os.Stdout, 1<<21) // what is read at the end only
	in, control := make([]byte, payloadBytes), make([]byte, 64)
	for wait := 5 * time.Second; ; wait = 300 * time.Millisecond { // far longer than the socket's buffer takes to drain
		if err := c.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return err
		}
		_, n, _, _, err := c.ReadMsgUDP(in, control)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return w.Flush()
		}
		if err != nil {
			return err
		}
		messages, err := syscall.ParseSocketControlMessage(control[:n])
		if err != nil || len(messages) != 1 || len(messages[0].Data) < 16 {
			return fmt.Errorf("a datagram came without a time stamp: %v", err)
		}
		stamp := messages[0].Data
		fmt.Fprintln(w, int64(binary.NativeEndian.Uint64(stamp))*1e9+int64(binary.NativeEndian.Uint64(stamp[8:])))
	}
}

// option sets an option of a socket.
func option(c *net.UDPConn, name, value int) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, name, value) })
	return errors.Join(err, failed)
}
