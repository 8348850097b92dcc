//go:build linux && timing

package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fabemu/emu/host/netns"
)

// A sample is the sender's state at an instant, as in TCP_INFO.
type sample struct {
	At     time.Duration // from the start of the connection
	Window uint32        // the congestion window, in segments
	Resent uint32        // segments that were retransmitted so far
	Acked  uint64        // bytes
}

// lab is three namespaces, a line: sender, router, receiver. The bottleneck is at the router.
type lab struct {
	*netns.Topology
	sender, router, receiver string
	self                     string
}

// newLab makes the namespaces, with the labels by which fabemu cleanup knows them.
func newLab(ctx context.Context) (*lab, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t, err := netns.Build(ctx, netns.Plan{
		Run: rand.Uint32(), Nodes: []string{"sender", "router", "receiver"}, Largest: packet,
		Links: []netns.Link{
			{Name: "near", Ends: [2]netns.End{{Node: 0, Port: 0}, {Node: 1, Port: 0}}},
			{Name: "bottleneck", Ends: [2]netns.End{{Node: 1, Port: 1}, {Node: 2, Port: 0}}},
		},
	})
	if err != nil {
		return nil, err
	}
	name := func(link, end int) string { return filepath.Base(t.Ends[link][end].Namespace) }
	l := &lab{Topology: t, sender: name(0, 0), router: name(0, 1), receiver: name(1, 1), self: self}
	err = do(ctx,
		"ip -n "+l.sender+" address add 192.0.2.1/30 dev fab0",
		"ip -n "+l.router+" address add 192.0.2.2/30 dev fab0",
		"ip -n "+l.router+" address add 192.0.2.5/30 dev fab1",
		"ip -n "+l.receiver+" address add 192.0.2.6/30 dev fab0",
		l.in(l.router, "sysctl ip_forward=1 conf/all/rp_filter=0"),
	)
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return l, nil
}

// in is the command line by which this program does something in a namespace.
func (l *lab) in(namespace, what string) string {
	return "ip netns exec " + namespace + " " + l.self + " " + what
}

// start starts this program in a namespace. It says a line when it is ready.
func (l *lab) start(ctx context.Context, namespace, what string) (c *exec.Cmd, said *bytes.Buffer, err error) {
	words := strings.Fields(l.in(namespace, what))
	c = exec.CommandContext(ctx, words[0], words[1:]...)
	said = &bytes.Buffer{}
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err == nil {
		if _, err = io.ReadFull(out, make([]byte, len(ready))); err != nil {
			err = errors.Join(fmt.Errorf("%s did not start: %w", what, err), c.Wait())
		}
	}
	return c, said, err
}

const ready = "ready\n"

// run sends over a path for this long with the kernel's TCP.
func (l *lab) run(ctx context.Context, p path, length time.Duration) (course, error) {
	samples, drops, err := l.samples(ctx, p, length)
	c := course{dropped: drops}
	for _, s := range samples {
		c.acked = append(c.acked, progress{s.At, s.Acked})
		for len(c.resent) < int(s.Resent) {
			c.resent = append(c.resent, s.At)
		}
	}
	return c, err
}

// samples returns the sender's samples of a run, and how many packets the queue dropped.
func (l *lab) samples(ctx context.Context, p path, length time.Duration) (samples []sample, drops int, err error) {
	options := fmt.Sprintf("tcp_sack=%d tcp_dsack=%[1]d", number(p.sack))
	if p.plain {
		// No timestamps, no RACK, no tail loss probes, no F-RTO.
		options += " tcp_timestamps=0 tcp_recovery=0 tcp_early_retrans=0 tcp_frto=0"
	}
	options += " tcp_ecn=0 tcp_no_metrics_save=1"
	quick := ""
	if p.plain {
		quick = fmt.Sprintf(" initcwnd %d quickack 1", p.initial)
	}
	back := "via 192.0.2.5"
	if p.delay > 0 {
		var c *exec.Cmd
		if c, _, err = l.start(ctx, l.router, "tcp-delay "+p.delay.String()); err != nil {
			return nil, 0, err
		}
		defer func() { // the devices belong to the program
			_ = c.Process.Kill()
			_ = c.Wait()
		}()
		if err = do(ctx,
			"ip -n "+l.router+" link set "+farDevice+" netns "+l.receiver,
			"ip -n "+l.router+" link set "+nearDevice+" up",
			"ip -n "+l.receiver+" link set "+farDevice+" up",
		); err != nil {
			return nil, 0, err
		}
		back = "dev " + farDevice
	}
	if err = do(ctx,
		l.in(l.sender, "sysctl "+options),
		l.in(l.receiver, "sysctl "+options),
		"ip -n "+l.sender+" route replace default via 192.0.2.2"+quick,
		"ip -n "+l.receiver+" route replace default "+back+quick,
		// Two packets of burst: with one the qdisc loses what its timer is late by.
		fmt.Sprintf("tc -n %s qdisc replace dev fab1 root handle 1: tbf rate %dbit burst %d limit %d",
			l.router, bottleneck, 2*onQueue, p.room*onQueue),
	); err != nil {
		return nil, 0, err
	}
	defer func() {
		err = errors.Join(err, do(context.WithoutCancel(ctx), "tc -n "+l.router+" qdisc delete dev fab1 root"))
	}()
	if p.early {
		if err := do(ctx, "tc -n "+l.router+" qdisc add dev fab1 "+p.red()); err != nil {
			return nil, 0, err
		}
	}
	to, _, err := l.start(ctx, l.receiver, "tcp-receive")
	if err != nil {
		return nil, 0, err
	}
	words := strings.Fields(l.in(l.sender, "tcp-send "+length.String()))
	from := exec.CommandContext(ctx, words[0], words[1:]...)
	from.Stderr = os.Stderr
	said, err := from.Output()
	if err == nil {
		err = json.Unmarshal(said, &samples)
	}
	if err = errors.Join(err, to.Wait()); err != nil {
		return nil, 0, err
	}
	drops, err = l.drops(ctx)
	return samples, drops, err
}

// drops reads from the bottleneck's qdisc how many packets it has dropped.
func (l *lab) drops(ctx context.Context) (int, error) {
	out, err := exec.CommandContext(ctx, "tc", "-n", l.router, "-s", "-j", "qdisc", "show", "dev", "fab1", "root").Output()
	if err != nil {
		return 0, err
	}
	var all []struct{ Drops int }
	if err := json.Unmarshal(out, &all); err != nil || len(all) != 1 {
		return 0, fmt.Errorf("tc says %s: %v", out, err)
	}
	return all[0].Drops, nil
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// inNamespace is what this program does when a lab starts it, by the first word of its arguments.
var inNamespace = map[string]func(args []string) error{
	"sysctl": setSysctls, "tcp-send": sendTCP, "tcp-receive": receiveTCP, "tcp-delay": delayTCP,
}

// setSysctls sets some of /proc/sys/net/ipv4 in the namespace of this process.
func setSysctls(args []string) error {
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		if err := os.WriteFile("/proc/sys/net/ipv4/"+name, []byte(value), 0); err != nil {
			return err
		}
	}
	return nil
}

// reno chooses Linux' Reno for a socket, and buffers that never fill.
func reno(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = errors.Join(
			unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno"),
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 1<<21),
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 1<<21),
		)
	})
	return errors.Join(err, failed)
}

// sendTCP sends for this long, and writes what TCP_INFO said meanwhile.
func sendTCP(args []string) error {
	length, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	d := net.Dialer{Control: reno}
	c, err := d.Dial("tcp4", "192.0.2.6:"+tcpPort)
	if err != nil {
		return err
	}
	begin := time.Now()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	if err := c.SetWriteDeadline(begin.Add(length)); err != nil {
		return err
	}
	wrote := make(chan error)
	go func() {
		b := make([]byte, 1<<16)
		for {
			if _, err := c.Write(b); err != nil {
				wrote <- err
				return
			}
		}
	}()
	var samples []sample
	for time.Since(begin) < length {
		var info *unix.TCPInfo
		at := time.Since(begin)
		if failed := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); failed != nil || err != nil {
			return errors.Join(failed, err)
		}
		samples = append(samples, sample{At: at, Window: info.Snd_cwnd, Resent: info.Total_retrans, Acked: info.Bytes_acked})
		time.Sleep(packetTime)
	}
	if err := <-wrote; !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	// What waits in the socket need not be sent.
	if err := errors.Join(c.(*net.TCPConn).SetLinger(0), c.Close()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(samples)
}

// receiveTCP takes one connection's bytes, until its sender is gone.
func receiveTCP([]string) error {
	config := net.ListenConfig{Control: reno}
	l, err := config.Listen(context.Background(), "tcp4", ":"+tcpPort)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.(*net.TCPListener).SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := os.Stdout.WriteString(ready); err != nil {
		return err
	}
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := io.Copy(io.Discard, c); !errors.Is(err, syscall.ECONNRESET) {
		return err
	}
	return nil
}

// The ends of the return path that has a delay. Both are made at the router; one moves to the
// receiver.
const nearDevice, farDevice = "fabback0", "fabback1"

// delayTCP takes packets from the receiver's end of the return path and gives each to the router's
// end so much later. It is in for netem, which few kernels are without, and this needs none.
func delayTCP(args []string) error {
	delay, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	near, err := openTUN(nearDevice)
	if err != nil {
		return err
	}
	far, err := openTUN(farDevice)
	if err != nil {
		return err
	}
	if _, err := os.Stdout.WriteString(ready); err != nil {
		return err
	}
	// What it is late by comes as a burst, which the queue before the bottleneck has no room for.
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, -20); err != nil {
		return err
	}
	type held struct {
		packet []byte
		until  time.Time
	}
	queue := make(chan held, 1<<16)
	failed := make(chan error, 1)
	go func() {
		for h := range queue {
			time.Sleep(time.Until(h.until))
			if _, err := unix.Write(near, h.packet); err != nil && !errors.Is(err, unix.EIO) { // EIO: not up yet
				failed <- err
			}
		}
	}()
	for b := make([]byte, 2*packet); ; {
		n, err := unix.Read(far, b)
		switch {
		case len(failed) > 0:
			return <-failed
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		default:
			queue <- held{bytes.Clone(b[:n]), time.Now().Add(delay)}
		}
	}
}

// openTUN makes a device of IP packets; it belongs to the process.
func openTUN(name string) (fd int, err error) {
	if fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return 0, fmt.Errorf("/dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	return fd, unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
}

// red is RED behind tbf, instead of the queue that tbf has: thresholds of 5 and 15 packets, as in
// Floyd and Jacobson 1993.
func (p path) red() string {
	return fmt.Sprintf("parent 1:1 handle 10: red limit %d min %d max %d avpkt %d burst %d probability 0.02 bandwidth %dbit",
		p.room*onQueue, redMin*onQueue, redMax*onQueue, onQueue, redBurst, bottleneck)
}

// The thresholds of RED and its burst, in packets. The burst is that of tc's manual page: (min +
// min + max)/(3 avpkt).
const redMin, redMax, redBurst = 5, 15, (2*redMin + redMax + 2) / 3

// hasRED reports whether the kernel has RED, by trying it.
func (l *lab) hasRED(ctx context.Context) bool {
	const probe = "qdisc %s dev fab1 root handle 1:"
	tc := "tc -n " + l.router + " "
	err := do(ctx, tc+fmt.Sprintf(probe, "add")+" tbf rate 1mbit burst 2000 limit 2000", tc+"qdisc add dev fab1 "+path{room: 20}.red())
	return errors.Join(err, do(ctx, tc+fmt.Sprintf(probe, "delete"))) == nil
}
