package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// kernel is a veth pair between two network namespaces of our own.
type kernel struct {
	from, to string // the namespaces
	self     string // this program
}

// The two ends of the veth pair. The addresses are those for documentation
// (RFC 5737); nobody else is in the namespaces.
const (
	fromDevice, toDevice   = "fabemu0", "fabemu1"
	fromAddress, toAddress = "192.0.2.1", "192.0.2.2"
	udpPort                = "4791"
)

// payloadBytes is what fills a frame of frameBytes: headers of Ethernet, IP and
// UDP are in front, and a qdisc counts them all.
const payloadBytes = frameBytes - 14 - 20 - 8

// bestBurst is the burst, in frames, with which both qdiscs do best: with one
// frame they lose what they are late by, with many they make up for it in bursts.
const bestBurst = 2

// newKernel makes the namespaces and the veth pair. If it fails nothing stays.
func newKernel(ctx context.Context) (*kernel, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(name); err != nil {
			return nil, fmt.Errorf("%w; install iproute2", err)
		}
	}
	prefix := fmt.Sprintf("fabemu-pacing-%d-", os.Getpid())
	k := &kernel{from: prefix + "from", to: prefix + "to", self: self}
	err = k.do(ctx,
		"ip netns add "+k.from,
		"ip netns add "+k.to,
		"ip link add "+fromDevice+" netns "+k.from+" type veth peer name "+toDevice+" netns "+k.to,
		// Ethernet's own 14 bytes are not part of the MTU.
		fmt.Sprintf("ip -n %s link set %s mtu %d up", k.from, fromDevice, frameBytes-14),
		fmt.Sprintf("ip -n %s link set %s mtu %d up", k.to, toDevice, frameBytes-14),
		"ip -n "+k.from+" address add "+fromAddress+"/30 dev "+fromDevice,
		"ip -n "+k.to+" address add "+toAddress+"/30 dev "+toDevice,
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
		if _, err := os.Stat("/run/netns/" + name); err != nil {
			continue // it was not made
		}
		errs = append(errs, k.do(context.Background(), "ip netns delete "+name))
	}
	return errors.Join(errs...)
}

// do runs commands, one after another, up to the first that fails.
func (k *kernel) do(ctx context.Context, commands ...string) error {
	for _, line := range commands {
		words := strings.Fields(line)
		out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, bytes.TrimSpace(out))
		}
	}
	return nil
}

// htb paces by a class of a hierarchical token bucket with a burst of so many
// frames.
func (k *kernel) htb(frames int) func(context.Context, time.Duration) (arrivals, error) {
	return k.paced(
		"qdisc add dev "+fromDevice+" root handle 1: htb default 1",
		fmt.Sprintf("class add dev %s parent 1: classid 1:1 htb rate %dbit burst %d cburst %d quantum %d", fromDevice, rateBits, frames*frameBytes, frames*frameBytes, frameBytes),
	)
}

// tbf paces by a token bucket filter with a burst of so many frames.
func (k *kernel) tbf(frames int) func(context.Context, time.Duration) (arrivals, error) {
	return k.paced(fmt.Sprintf("qdisc add dev %s root tbf rate %dbit burst %d limit %d", fromDevice, rateBits, frames*frameBytes, 1000*frameBytes))
}

// paced is a method that sends through a qdisc that tc commands make.
func (k *kernel) paced(qdisc ...string) func(context.Context, time.Duration) (arrivals, error) {
	return func(ctx context.Context, length time.Duration) (arrivals, error) { return k.send(ctx, length, qdisc) }
}

// send makes the qdisc, sends through it for so long, and removes it.
func (k *kernel) send(ctx context.Context, length time.Duration, qdisc []string) (out arrivals, err error) {
	for _, line := range qdisc {
		if err := k.do(ctx, "tc -n "+k.from+" "+line); err != nil {
			return out, err
		}
	}
	defer func() {
		err = errors.Join(err, k.do(context.WithoutCancel(ctx), "tc -n "+k.from+" qdisc delete dev "+fromDevice+" root"))
	}()

	// The receiver says that it is ready, and at the end what came.
	receiver := exec.CommandContext(ctx, "ip", "netns", "exec", k.to, k.self, "receive", toAddress+":"+udpPort)
	receiver.Stderr = os.Stderr
	pipe, err := receiver.StdoutPipe()
	if err != nil {
		return out, err
	}
	if err := receiver.Start(); err != nil {
		return out, err
	}
	lines := bufio.NewScanner(pipe)
	if !lines.Scan() {
		return out, errors.Join(errors.New("the receiver did not start"), receiver.Wait())
	}
	sender := exec.CommandContext(ctx, "ip", "netns", "exec", k.from, k.self, "send", toAddress+":"+udpPort, length.String())
	sender.Stderr = os.Stderr
	said, err := sender.Output()
	if err == nil {
		out.sent, err = strconv.ParseInt(strings.TrimSpace(string(said)), 10, 64)
	}
	for lines.Scan() {
		stamp, bad := strconv.ParseInt(lines.Text(), 10, 64)
		if bad != nil {
			err = errors.Join(err, bad)
			break
		}
		out.stamps = append(out.stamps, stamp)
	}
	return out, errors.Join(err, lines.Err(), receiver.Wait())
}

// send is the sender in its namespace: ADDRESS LENGTH. It sends as fast as the
// qdisc takes, since the socket waits when its buffer is full, and says at the end
// how many datagrams that were.
func send(args []string) error {
	if len(args) != 2 {
		return usageError("usage: pacing send ADDRESS LENGTH")
	}
	length, err := time.ParseDuration(args[1])
	if err != nil {
		return usageError(err.Error())
	}
	address, err := net.ResolveUDPAddr("udp4", args[0])
	if err != nil {
		return err
	}
	c, err := net.DialUDP("udp4", nil, address)
	if err != nil {
		return err
	}
	defer c.Close()
	// The qdisc has always something to send, even if this program is not let run for
	// some tens of milliseconds.
	if err := option(c, syscall.SO_SNDBUFFORCE, sendBuffer); err != nil {
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

// sendBuffer is enough for about 400 datagrams with what the kernel needs beside
// them: 80 ms of sending, and less than the 1000 that the qdiscs hold.
const sendBuffer = 1 << 20

// silence is how long nothing must come for the round to be over: far longer than
// the socket's buffer takes to drain.
const silence = 300 * time.Millisecond

// receive is the receiver in its namespace: ADDRESS. It writes the time stamp of
// each datagram, a line each, once no more come.
func receive(args []string) error {
	if len(args) != 1 {
		return usageError("usage: pacing receive ADDRESS")
	}
	address, err := net.ResolveUDPAddr("udp4", args[0])
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

	stamps := make([]int64, 0, 1<<17)
	in, control := make([]byte, payloadBytes), make([]byte, 64)
	wait := 5 * time.Second // for the first
	for {
		if err := c.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return err
		}
		_, n, _, _, err := c.ReadMsgUDP(in, control)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return err
		}
		wait = silence
		stamp, err := stampOf(control[:n])
		if err != nil {
			return err
		}
		stamps = append(stamps, stamp)
	}
	w := bufio.NewWriter(os.Stdout)
	for _, s := range stamps {
		fmt.Fprintln(w, s)
	}
	return w.Flush()
}

// option sets an option of a socket.
func option(c *net.UDPConn, name, value int) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, name, value)
	})
	return errors.Join(err, os.NewSyscallError("setsockopt", failed))
}

// stampOf returns the receive time in the control messages of a datagram, in ns.
func stampOf(control []byte) (int64, error) {
	messages, err := syscall.ParseSocketControlMessage(control)
	if err != nil {
		return 0, err
	}
	for _, m := range messages {
		if m.Header.Level == syscall.SOL_SOCKET && m.Header.Type == syscall.SCM_TIMESTAMPNS && len(m.Data) >= 16 {
			return int64(binary.NativeEndian.Uint64(m.Data))*1e9 + int64(binary.NativeEndian.Uint64(m.Data[8:])), nil
		}
	}
	return 0, errors.New("a datagram came without a time stamp")
}
