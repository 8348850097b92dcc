package subnet

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/host"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/observe"

	"golang.org/x/time/rate"
)

// Types of control messages (enum SIM_CTL_TYPES).
const (
	ctlError, ctlConnect, ctlDisconnect, ctlGetPort, ctlGetVendor, ctlGetGID = 0, 1, 2, 3, 4, 5
	ctlGetGUID, ctlGetNodeInfo, ctlGetPortInfo, ctlSetSM, ctlGetPKeys        = 6, 7, 8, 9, 10
)

const (
	ctlMagic    = 0xDEADBEEF
	ctlData     = 16 // offset of the data
	ctlHello    = 44 // bytes of data of a client that connects
	mostClients = 64
	sendTime    = time.Second // how long a client may accept no MAD
	// A client that sends more than perSecond MADs in a second, after the first burst of them, is
	// slowed to that.
	perSecond, burst = 10_000, 20_000
	// settled is how long forwarding tables must not change before the run adopts them, because a
	// manager sets many blocks: from one tick to the next.
	settled = 50 * time.Millisecond
)

// namePrefix begins the names of servers.
const namePrefix = "fabemu-"

// Server connects clients to a Subnet.
type Server struct {
	name    string
	sockets []*net.UnixConn
	ctl     *net.UnixConn
	done    chan struct{}
	wg      sync.WaitGroup

	incoming, outgoing chan struct{} // have room for one: MADs in-band wait for a node, or for a client

	// Swept is called with the scenario of the run after it has adopted new forwarding tables or
	// lanes of a manager. Set it before Follow.
	Swept func(*scenario.Scenario)

	mu      sync.Mutex
	subnet  *Subnet
	run     *scenario.Scenario // as the manager has set it up
	clients [mostClients]client
	began   time.Time        // time of the first MAD
	changes *observe.Changes // makes changes in the run
	running bool             // a run is active
	quiet   bool             // no forwarding table has changed since the run adopted them
	failed  error            // a panic
}

// client is a slot for a client.
type client struct {
	conn *net.UnixConn
	pid  int    // 0: the slot is free
	id   uint32 // chosen by the client, in the name of its socket
	pace *rate.Limiter
}

// Listen starts to serve a subnet.
func Listen(s *Subnet) (*Server, error) {
	if err := host.NeedsLinux("a subnet manager"); err != nil {
		return nil, err
	}
	var secret [8]byte
	rand.Read(secret[:])
	v := &Server{name: namePrefix + fmt.Sprintf("%x", secret), subnet: s, done: make(chan struct{}),
		incoming: make(chan struct{}, 1), outgoing: make(chan struct{}, 1)}
	var err error
	v.ctl, err = v.bind("ctl")
	for slot := 0; slot < mostClients && err == nil; slot++ {
		v.clients[slot].conn, err = v.bind("out" + strconv.Itoa(slot))
	}
	if err != nil {
		v.Close()
		return nil, fmt.Errorf("the sockets for subnet managers: %w", err)
	}
	for slot := range v.clients {
		v.begin(func() { v.serve(slot) })
	}
	v.begin(v.control)
	v.begin(v.tick)
	return v, nil
}

// begin starts a goroutine.
func (v *Server) begin(run func()) {
	v.wg.Go(func() {
		defer errs.Catch(func(err error) {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.failed = err
		})
		run()
	})
}

// do calls f with exclusive use of the subnet, and then sends the resulting MADs.
func (v *Server) do(f func()) {
	locked := func() []Delivery {
		v.mu.Lock()
		defer v.mu.Unlock() // also after a panic
		if f(); len(v.subnet.launched) > 0 {
			signal(v.incoming)
		}
		return v.subnet.Outbox()
	}
	for _, d := range locked() {
		v.mu.Lock()
		c := v.clients[d.Client]
		v.mu.Unlock()
		if c.pid == 0 {
			continue
		}
		c.conn.SetWriteDeadline(time.Now().Add(sendTime))
		if _, err := c.conn.WriteToUnix(d.Packet[:], v.address(c.name())); err != nil {
			v.mu.Lock()
			v.subnet.Counts.Unsent++
			if now := &v.clients[d.Client]; errors.Is(err, syscall.ECONNREFUSED) && now.id == c.id && now.pid == c.pid {
				v.free(d.Client)
			}
			v.mu.Unlock()
		}
	}
}

// tick makes the run adopt changes, repeats traps, and looks for clients that have died.
func (v *Server) tick() {
	t := time.NewTicker(settled)
	defer t.Stop()
	for n := 1; ; n++ {
		select {
		case <-v.done:
			return
		case <-v.outgoing:
			v.do(func() {})
			n--
			continue
		case <-t.C:
		}
		v.adopt()
		if n%int(time.Second/settled) == 0 {
			v.do(func() {
				v.reap()
				v.subnet.Repeat()
			})
		}
	}
}

// bind opens a socket of the server.
func (v *Server) bind(what string) (*net.UnixConn, error) {
	c, err := net.ListenUnixgram("unixgram", v.address(what))
	if err != nil {
		return nil, err
	}
	v.sockets = append(v.sockets, c)
	return c, host.PassCredentials(c)
}

// address returns the address of a socket. libumad2sim's names end with a zero byte.
func (v *Server) address(what string) *net.UnixAddr {
	return &net.UnixAddr{Net: "unixgram", Name: "@" + v.name + ":" + what + "\x00"}
}

// Name returns the value of IBSIM_SOCKNAME for clients.
func (v *Server) Name() string { return v.name }

// Answers returns an error if no server has this name.
func Answers(name string) error {
	c, err := net.DialUnix("unixgram", nil, (&Server{name: name}).address("ctl"))
	if err == nil {
		c.Close()
	}
	return err
}

// Close stops the server.
func (v *Server) Close() {
	close(v.done)
	for _, c := range v.sockets {
		c.Close()
	}
	v.wg.Wait()
}

// receive reads a datagram of exactly the size of b from a client of this user. ok is false for any
// other.
func (v *Server) receive(c *net.UnixConn, b []byte) (from string, pid int, ok bool, err error) {
	big := make([]byte, len(b)+1)
	n, addr, pid, user, err := host.ReadCredentials(c, big)
	copy(b, big)
	if addr != nil {
		from, _ = strings.CutPrefix(addr.Name, "@"+v.name+":")
	}
	return from, pid, err == nil && user == os.Getuid() && n == len(b), err
}

// control answers control messages.
func (v *Server) control() {
	var m [controlSize]byte
	native := binary.NativeEndian
	for {
		from, pid, ok, err := v.receive(v.ctl, m[:])
		if errors.Is(err, net.ErrClosed) {
			return
		}
		id, isClient := strings.CutPrefix(from, "ctl")
		v.do(func() { ok = v.take(id, pid, ok && isClient, m[:]) })
		if !ok {
			native.PutUint32(m[8:], ctlError)
		}
		if isClient {
			v.ctl.SetWriteDeadline(time.Now().Add(sendTime))
			_, _ = v.ctl.WriteToUnix(m[:], v.address(from)) // the client may be gone
		}
	}
}

// take takes in a control message, which is well-formed only if whole says so, and writes the
// answer into it. It reports whether the message was executed. A process without an identifier,
// which is not of this PID namespace, cannot be told from the process of a free slot.
func (v *Server) take(id string, pid int, whole bool, m []byte) bool {
	native := binary.NativeEndian
	what, size := native.Uint32(m[8:]), native.Uint32(m[12:])
	if !whole || pid <= 0 || native.Uint32(m) != ctlMagic || size < least(what) || size > controlSize-ctlData {
		v.subnet.Counts.Strange++
		return false
	}
	return v.command(id, pid, what, native.Uint32(m[4:]), m[ctlData:])
}

// least returns how many bytes of data a control message has at least.
func least(what uint32) uint32 {
	switch what {
	case ctlConnect:
		return ctlHello
	case ctlSetSM:
		return 4
	}
	return 0
}

// command executes a control message, and writes the answer into its data.
func (v *Server) command(id string, pid int, what, slot uint32, data []byte) bool {
	native := binary.NativeEndian
	if what == ctlConnect {
		return v.connect(id, pid, data)
	}
	if slot >= mostClients || v.clients[slot].pid != pid || pid == 0 {
		return false
	}
	number := int(slot)
	at := v.subnet.clients[number].place
	p, m := v.subnet.at(at), mad{1: classSMP, 3: methodGet}
	switch what {
	case ctlDisconnect:
		v.free(number)
	case ctlGetPort:
		native.PutUint16(data, p.lid())
		data[2] = p.state()
	case ctlGetVendor:
		clear(data)
	case ctlGetGID:
		copy(data, p.info[8:16])
		be.PutUint64(data[8:], guid(at.node, at.port))
	case ctlGetGUID:
		be.PutUint64(data, guid(at.node, at.port))
	case ctlGetNodeInfo, ctlGetPortInfo, ctlGetPKeys:
		be.PutUint16(m[16:], map[uint32]uint16{ctlGetNodeInfo: attrNodeInfo, ctlGetPortInfo: attrPortInfo, ctlGetPKeys: attrPKeys}[what])
		copy(m[24:32], v.subnet.own(at.node).info[:8]) // M_Key
		v.subnet.serve(at, &m)
		copy(data, m.data())
	case ctlSetSM:
		issm, other := native.Uint32(data) != 0, v.subnet.manager(at.node)
		if issm && other >= 0 && other != number {
			return false
		}
		v.subnet.SetManager(number, issm)
	default:
		return false
	}
	return true
}

// connect gives a client a slot, and attaches it to the node that it names.
func (v *Server) connect(id string, pid int, data []byte) bool {
	native := binary.NativeEndian
	own := native.Uint32(data)
	v.reap()
	slot := slices.IndexFunc(v.clients[:], func(c client) bool { return c.pid == 0 })
	name, _, _ := bytes.Cut(data[12:44], []byte{0})
	node, known := v.subnet.Node(string(name))
	if slot < 0 || !known || id != strconv.FormatUint(uint64(own), 10) || v.subnet.Attach(slot, node, native.Uint32(data[8:]) != 0) != nil {
		return false
	}
	c := &v.clients[slot]
	c.pid, c.id, c.pace = pid, own, rate.NewLimiter(perSecond, burst)
	native.PutUint32(data, uint32(slot))
	clear(data[12:44])
	copy(data[12:43], ClientName(v.subnet.nodes[node].Name))
	return true
}

// free detaches a client.
func (v *Server) free(slot int) {
	v.subnet.Detach(slot)
	v.clients[slot].pid = 0
}

// reap frees the slots of clients that have died.
func (v *Server) reap() {
	for i, c := range v.clients {
		if c.pid != 0 && host.Gone(c.pid) {
			v.free(i)
		}
	}
}

// serve handles the MADs from a slot, for one client after another.
func (v *Server) serve(slot int) {
	var p Packet
	c := &v.clients[slot]
	for {
		from, pid, ok, err := v.receive(c.conn, p[:])
		if errors.Is(err, net.ErrClosed) {
			return
		}
		wait := time.Duration(0)
		v.do(func() {
			now := time.Now()
			if !ok || c.pid == 0 || pid != c.pid || from != c.name() {
				v.subnet.Counts.Strange++
				return
			}
			if v.began.IsZero() {
				v.began = now
			}
			if wait = c.pace.ReserveN(now, 1).DelayFrom(now); wait > 0 {
				v.subnet.Counts.Slowed++
			}
			v.subnet.Handle(slot, &p)
		})
		if wait > 0 {
			select {
			case <-v.done:
			case <-time.After(wait):
			}
		}
	}
}

// name returns the name of a client's socket for MADs.
func (c *client) name() string { return "in" + strconv.FormatUint(uint64(c.id), 10) }

// Wait returns when all ports are active, all switches have routes to all endpoints, and the
// manager has told the service levels of paths, or with an error that says what is missing.
func (v *Server) Wait(ctx context.Context) error {
	if v.subnet.fabric.Scenario.Subnet.InBand {
		return v.InBand().up(ctx)
	}
	t := time.NewTicker(settled)
	defer t.Stop()
	for {
		why := v.lacks()
		if why == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the subnet is not up: %s", why)
		case <-t.C:
		}
	}
}

// lacks returns what the subnet still lacks.
func (v *Server) lacks() (why string) {
	v.do(func() {
		v.subnet.Counts.UpSeconds = report.Number(time.Since(v.began).Seconds())
		if why = v.subnet.Missing(); why == "" {
			why = v.subnet.Levels()
		}
	})
	return why
}

// Scenario returns the scenario of the run as the manager has set it up.
func (v *Server) Scenario() *scenario.Scenario {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.run = v.subnet.Scenario()
	return v.run
}

// Follow makes the run follow changes of forwarding tables, and the disabling and enabling of
// ports, from its first snapshot on. If c is nil, it does not.
func (v *Server) Follow(c *observe.Changes) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.changes = c
}

// Observe receives the state of the run, of which the server is an observer.
func (v *Server) Observe(s *observe.Snapshot) {
	v.do(func() {
		v.running = !s.Last && v.changes != nil
		if s.Last {
			v.subnet.inBand = false
			v.subnet.lost()
		}
		v.subnet.Observe(s.Figures)
		for w := range v.subnet.fabric.Wires {
			end := v.subnet.fabric.Wires[w].Ends[0]
			v.subnet.Link(w, s.Port(end.Node, end.Port).Down)
		}
	})
}

// adopt makes the run adopt what managers have changed.
func (v *Server) adopt() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	v.mu.Lock()
	var routes []scenario.Route
	var lanes []scenario.LaneRule
	var events []string
	if v.running {
		events = v.subnet.Switched()
		for _, e := range v.subnet.Congested() {
			events = append(events, strings.Replace(e.Text(), "at: 0s, ", "", 1))
		}
		switch {
		case v.subnet.stirred:
			v.subnet.stirred, v.quiet = false, false
		case !v.quiet:
			v.quiet, routes, lanes = true, v.subnet.Rerouted(), v.subnet.Relaned()
		}
	}
	v.mu.Unlock()
	var err error
	if len(routes)+len(lanes) > 0 {
		if err = v.changes.Reroute(ctx, routes, lanes); err == nil && v.run != nil {
			now := *v.run // in which later routes and rules replace earlier ones
			now.Routes, now.LaneRules = slices.Concat(now.Routes, routes), slices.Concat(now.LaneRules, lanes)
			v.run = &now
			if v.Swept != nil {
				v.Swept(v.run)
			}
		}
	}
	for _, e := range events {
		_, failed := v.changes.Apply(ctx, e)
		err = errors.Join(err, failed)
	}
	if err != nil && len(v.subnet.Counts.Unadopted) < 10 {
		v.mu.Lock()
		v.subnet.Counts.Unadopted = append(v.subnet.Counts.Unadopted, err.Error())
		v.mu.Unlock()
	}
}

// Report returns the counts of the server so far, and its panic, if there was one.
func (v *Server) Report() (*report.Subnet, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	counts := v.subnet.Counts
	return &counts, v.failed
}

// ClientFolder returns the folder that libumad2sim makes in the working folder of a client.
func ClientFolder(pid int) string { return fmt.Sprintf("sys-%d", pid) }

// DeadClients returns the folders in a folder of clients that have died: those with a process that
// has ended, and with a file of libumad2sim.
func DeadClients(dir string) (dead []string) {
	found, _ := filepath.Glob(filepath.Join(dir, "sys-*"))
	for _, path := range found {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(path), "sys-"))
		if _, none := os.Stat(filepath.Join(path, "sys", "class", "infiniband")); err == nil && none == nil && pid > 0 && host.Gone(pid) {
			dead = append(dead, path)
		}
	}
	return dead
}
