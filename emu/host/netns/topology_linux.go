package netns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"fabemu/wire/link"
)

// Topology is the result of building a plan.
type Topology struct {
	// Ends are the two ports of each link, in the order of the plan.
	Ends [][2]Port
	// Devices are the guests' devices, in the order of the plan.
	Devices []*Device

	run        uint32
	lock       *lock
	namespaces []string // that were made, or are about to be
	cards      []card   // interfaces that were changed, or made
}

// Port has the names by which any process of this host can open one end of a link.
type Port struct {
	Namespace string  // the path of the network namespace
	Interface string  // the name of the interface in it
	Address   [6]byte // its hardware address
	Peer      [6]byte // the address of the other end
	Largest   int     // the longest datagram of the link
}

// Open opens the port; it fills in the names and the length of the options. The socket
// stays in its namespace, whichever thread uses it.
func (p Port) Open(o link.VethOptions) (v *link.Veth, err error) {
	o.Interface, o.Peer, o.Largest = p.Interface, p.Peer, p.Largest
	err = within(p.Namespace, func() error {
		v, err = link.OpenVeth(o)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("namespace %s: %w", filepath.Base(p.Namespace), err)
	}
	return v, nil
}

// carrierWait is how long an interface may take to come up: some milliseconds as a
// rule.
const carrierWait = 10 * time.Second

// Build builds a plan. If it fails, or ctx is done before, all that was made is
// taken down again. Errors name the remedy; one of them is ErrPrivilege.
func Build(ctx context.Context, p Plan) (*Topology, error) { return build(ctx, p, func(string) {}) }

// build does the work of Build. It also calls stage with the name of each stage before it begins,
// so that a test can interfere there.
func build(ctx context.Context, p Plan, stage func(string)) (t *Topology, err error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if err := Missing(); err != nil {
		return nil, err
	}
	l, err := ownLabel(p.Run)
	if err != nil {
		return nil, err
	}
	if err := prepareDir(ctx); err != nil {
		return nil, err
	}
	stage("claim the run")
	t = &Topology{run: p.Run}
	if t.lock, err = claim(l); err != nil {
		return nil, explain(err)
	}
	built := false
	defer func() {
		if !built { // after a panic, too
			err = errors.Join(err, t.close(stage))
			t = nil
		}
	}()
	b := builder{plan: &p, label: l, stage: stage}
	defer b.close()
	if err := b.build(ctx, t); err != nil {
		return t, err
	}
	stage("run")
	built = true
	return t, nil
}

// builder is the state of a Build.
type builder struct {
	plan       *Plan
	label      label
	stage      func(string)
	namespaces []*namespace
}

func (b *builder) close() {
	for _, n := range b.namespaces {
		n.close()
	}
}

func (b *builder) build(ctx context.Context, t *Topology) error {
	for i, node := range b.plan.Nodes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if g := b.plan.attached(i); g != nil {
			b.stage("open the namespace of " + node)
			n, err := openNamespace(g.At)
			if err != nil {
				return fmt.Errorf("guest %s: %w", node, err)
			}
			b.namespaces = append(b.namespaces, n)
			if g.At != "" {
				if err := t.lock.attach(g.At); err != nil {
					return err
				}
			}
			continue
		}
		name := namespaceName(b.plan.Run, node)
		b.stage("make the namespace of " + node)
		n, err := newNamespace(name, b.label)
		if err != nil {
			return err
		}
		t.namespaces = append(t.namespaces, name)
		b.namespaces = append(b.namespaces, n)
	}
	for _, l := range b.plan.Links {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.stage("make the link " + l.Name)
		ends, err := b.connect(l)
		if err != nil {
			return fmt.Errorf("link %s: %w", l.Name, err)
		}
		t.Ends = append(t.Ends, ends)
	}
	for i := range b.plan.Guests {
		if err := ctx.Err(); err != nil {
			return err
		}
		g := &b.plan.Guests[i]
		g.Interface = cmp.Or(g.Interface, guestInterface)
		b.stage("make the device of " + b.plan.Nodes[g.Node])
		if err := b.claimCard(t, g); err != nil {
			return fmt.Errorf("guest %s: %w", b.plan.Nodes[g.Node], err)
		}
		d, err := b.device(g)
		if err != nil {
			return fmt.Errorf("guest %s: %w", b.plan.Nodes[g.Node], err)
		}
		t.Devices = append(t.Devices, d)
	}
	return b.await(ctx)
}

// connect makes a veth pair.
func (b *builder) connect(l Link) (ports [2]Port, err error) {
	for i, e := range l.Ends {
		peer := l.Ends[1-i]
		ports[i] = Port{
			Namespace: b.namespaces[e.Node].path(), Interface: e.interfaceName(),
			Address: e.address(), Peer: peer.address(), Largest: b.plan.Largest,
		}
	}
	near, far := b.namespaces[l.Ends[0].Node], b.namespaces[l.Ends[1].Node]
	a := netlink.NewLinkAttrs()
	// The MTU does not count the Ethernet header; the kernel needs room for a small
	// IPv4 packet at least.
	a.Name, a.MTU, a.HardwareAddr = ports[0].Interface, cmp.Or(b.plan.MTU, max(b.plan.Largest, 68)), ports[0].Address[:]
	a.NumTxQueues, a.NumRxQueues = 1, 1
	veth := netlink.NewVeth(a)
	veth.PeerName, veth.PeerMTU, veth.PeerHardwareAddr = ports[1].Interface, uint32(a.MTU), ports[1].Address[:]
	veth.PeerNumTxQueues, veth.PeerNumRxQueues = 1, 1
	veth.PeerNamespace = netlink.NsFd(int(far.ns))
	if err := near.link.LinkAdd(veth); err != nil {
		if errors.Is(err, unix.EEXIST) {
			return ports, fmt.Errorf("make the veth pair %s in %s, %s in %s: a name is in use by another interface: %w",
				ports[0].Interface, near.name, ports[1].Interface, far.name, err)
		}
		return ports, fmt.Errorf("make a veth pair: %w", explain(err))
	}
	for i, n := range []*namespace{near, far} {
		peer := b.plan.Nodes[l.Ends[1-i].Node]
		dev, err := n.link.LinkByName(ports[i].Interface)
		if err == nil {
			err = n.link.LinkSetAlias(dev, b.label.of("link "+l.Name+" to "+peer))
		}
		if err == nil {
			err = within(ports[i].Namespace, func() error { return setOffloads(ports[i].Interface, offloadsOfLinks[:]) })
		}
		if err == nil {
			err = n.link.LinkSetUp(dev)
		}
		if err != nil {
			return ports, fmt.Errorf("set up %s in %s: %w", ports[i].Interface, n.name, explain(err))
		}
	}
	return ports, nil
}

// await waits until all interfaces can send, a moment after both ends of a pair are up.
// The kernel loses frames that are sent before.
func (b *builder) await(ctx context.Context) error {
	// A look each millisecond: for messages of the kernel it would need a socket in each namespace.
	for end := time.Now().Add(carrierWait); ; time.Sleep(time.Millisecond) {
		if err := ctx.Err(); err != nil {
			return err
		}
		waiting, err := b.waiting()
		if waiting == "" || err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s is not up after %v: is another program changing it?", waiting, carrierWait)
		}
	}
}

// waiting returns an interface that cannot send yet, or nothing.
func (b *builder) waiting() (string, error) {
	for _, l := range b.plan.Links {
		for _, e := range l.Ends {
			n := b.namespaces[e.Node]
			dev, err := n.link.LinkByName(e.interfaceName())
			if err != nil {
				return "", fmt.Errorf("link %s: %s in %s: %w", l.Name, e.interfaceName(), n.name, explain(err))
			}
			if dev.Attrs().OperState != netlink.OperUp {
				return fmt.Sprintf("link %s: %s in %s", l.Name, e.interfaceName(), n.name), nil
			}
		}
	}
	return "", nil
}

// Close takes the topology down. Sockets in it should be closed before: they keep
// their namespaces alive, without a name. The error names all that could not be removed;
// fabemu cleanup tries again. Closing twice does nothing.
func (t *Topology) Close() error { return t.close(func(string) {}) }

func (t *Topology) close(stage func(string)) error {
	if t.lock == nil {
		return nil
	}
	var wrong []error
	for _, d := range t.Devices {
		wrong = append(wrong, d.close())
	}
	for _, name := range t.namespaces {
		stage("remove " + name)
		wrong = append(wrong, removeNamespace(t.run, name, true))
	}
	if len(t.cards) > 0 {
		stage("put interfaces back")
		wrong = append(wrong, putBack(t.run, t.cards))
	}
	stage("remove the lock")
	held := t.lock
	t.lock, t.Devices, t.namespaces = nil, nil, nil
	err := held.end(errors.Join(wrong...))
	stage("end")
	return err
}
