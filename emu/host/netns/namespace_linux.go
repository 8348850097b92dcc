package netns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// namespaceDir is where network namespaces have names, as in ip netns.
const namespaceDir = "/run/netns"

// prepareDir makes namespaceDir, and a mount that is shared with other mount
// namespaces, as ip netns does before it gives a namespace a name. Otherwise the first
// ip netns add of the host would hide our mounts.
func prepareDir(ctx context.Context) error {
	if err := os.MkdirAll(namespaceDir, 0o755); err != nil {
		return explain(err)
	}
	if mounted, err := shareDir(); mounted || err != nil {
		return err
	}
	dir, err := os.Open(namespaceDir)
	if err != nil {
		return explain(err)
	}
	defer dir.Close()
	// ip mounts it under this lock, too.
	if err := await(ctx, dir, func() error { return unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB) }); err != nil {
		return fmt.Errorf("mount %s: %w", namespaceDir, err)
	}
	if mounted, err := shareDir(); mounted || err != nil {
		return err
	}
	if err := unix.Mount(namespaceDir, namespaceDir, "none", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s: %w", namespaceDir, explain(err))
	}
	_, err = shareDir()
	return err
}

// shareDir shares the mount of namespaceDir, and reports whether there is one.
func shareDir() (mounted bool, err error) {
	err = unix.Mount("", namespaceDir, "none", unix.MS_SHARED|unix.MS_REC, "")
	switch {
	case errors.Is(err, unix.EINVAL):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("share %s: %w", namespaceDir, explain(err))
	}
	return true, nil
}

// namespace is one that is being built.
type namespace struct {
	name string // under namespaceDir; of one that was there, its path
	ns   netns.NsHandle
	link *netlink.Handle // a netlink socket in it
}

func (n *namespace) path() string {
	if filepath.IsAbs(n.name) {
		return n.name
	}
	return filepath.Join(namespaceDir, n.name)
}

// within runs f in the namespace.
func (n *namespace) within(f func() error) error {
	return apart(func() error {
		if err := netns.Set(n.ns); err != nil {
			return fmt.Errorf("enter %s: %w", n.name, explain(err))
		}
		return f()
	})
}

// openNamespace opens the namespace of a path, or for an empty path the calling thread's.
func openNamespace(path string) (n *namespace, err error) {
	n = &namespace{name: path, ns: netns.None()}
	if path == "" {
		n.name = "this computer"
		n.ns, err = netns.Get()
	} else {
		n.ns, err = openSpace(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no network namespace %s: it is gone, or was never there; ip netns list shows the names", path)
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", path, explain(err))
	}
	if n.link, err = netlink.NewHandleAt(n.ns, unix.NETLINK_ROUTE); err != nil {
		n.close()
		return nil, fmt.Errorf("%s is not a network namespace, or cannot be entered: %w", path, explain(err))
	}
	return n, nil
}

// newNamespace makes a namespace, quiet and with its label, and then gives it its
// name.
func newNamespace(name string, l label) (*namespace, error) {
	n := &namespace{name: name, ns: netns.None()}
	err := apart(func() (err error) {
		if n.ns, err = netns.New(); err != nil {
			return fmt.Errorf("make a network namespace: %w", explainNew(err))
		}
		if n.link, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
			return fmt.Errorf("open a netlink socket: %w", explain(err))
		}
		// Some kernel modules put their own interfaces into every namespace.
		all, err := settled(n.link.LinkList)
		if err != nil {
			return fmt.Errorf("list its interfaces: %w", explain(err))
		}
		for _, i := range all {
			if err := n.link.LinkSetAlias(i, l.of(i.Attrs().Name)); err != nil {
				return fmt.Errorf("label its interface %s: %w", i.Attrs().Name, explain(err))
			}
		}
		if err := setIPv6Off(); err != nil {
			return err
		}
		return n.mount()
	})
	if err != nil {
		n.close()
		return nil, fmt.Errorf("namespace %s: %w", name, err)
	}
	return n, nil
}

// setIPv6Off keeps the kernel from sending its own frames on the future interfaces of
// the network namespace of the calling thread.
func setIPv6Off() error {
	for _, which := range []string{"all", "default"} {
		err := os.WriteFile("/proc/sys/net/ipv6/conf/"+which+"/disable_ipv6", []byte("1\n"), 0o644)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without IPv6
			return fmt.Errorf("turn IPv6 off: %w", explain(err))
		}
	}
	return nil
}

// mount gives the network namespace of the calling thread its name.
func (n *namespace) mount() error {
	f, err := os.OpenFile(n.path(), os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("the name is in use, but not by this run: start the run again with other names, or remove its owner (ip netns delete %s): %w",
				n.name, err)
		}
		return explain(err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := unix.Mount("/proc/thread-self/ns/net", n.path(), "none", unix.MS_BIND, ""); err != nil {
		return errors.Join(fmt.Errorf("mount it at %s: %w", n.path(), explain(err)), os.Remove(n.path()))
	}
	return nil
}

// close closes the handles that were needed to build it. The namespace stays.
func (n *namespace) close() {
	if n.link != nil {
		n.link.Close()
		n.link = nil
	}
	if n.ns.IsOpen() {
		n.ns.Close()
	}
}

// kind is the kind of thing that is under a name in namespaceDir.
type kind int

const (
	nothing kind = iota
	empty        // a file without a namespace mounted on it
	ours         // a namespace with a label of the run
	foreign      // a namespace without
	other
)

// look returns the kind of a name; a namespace is foreign, since look reads no label.
func look(name string) (kind, error) {
	path := filepath.Join(namespaceDir, name)
	var st unix.Statfs_t
	err := unix.Statfs(path, &st)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nothing, nil
	case err != nil:
		return other, fmt.Errorf("%s: %w", path, explain(err))
	case st.Type == unix.NSFS_MAGIC:
		return foreign, nil
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nothing, nil
	case err != nil:
		return other, err
	case info.Mode().IsRegular() && info.Size() == 0:
		return empty, nil
	}
	return other, nil
}

// examine returns the kind of a name, and for a namespace its label and the names of the
// interfaces in it that are not of the run. A namespace that another process removes
// meanwhile is nothing.
func examine(run uint32, name string) (found kind, l label, strange []string, err error) {
	found, err = look(name)
	if err != nil || found != foreign {
		return found, l, nil, err
	}
	var all []netlink.Link
	err = lookInto(filepath.Join(namespaceDir, name), func(h *netlink.Handle) (err error) {
		if all, err = settled(h.LinkList); err != nil {
			err = fmt.Errorf("list its interfaces: %w", explain(err))
		}
		return err
	})
	if err != nil {
		if again, lookErr := look(name); lookErr == nil && again != foreign {
			return nothing, l, nil, nil
		}
		return other, l, nil, fmt.Errorf("namespace %s: %w", name, err)
	}
	for _, i := range all {
		a := i.Attrs()
		of, labelled := parseLabel(a.Alias)
		switch {
		case a.Flags&net.FlagLoopback == 0:
			if (!labelled || of.run != run) && !unlabelled(i) {
				strange = append(strange, a.Name)
			}
		case labelled && of.run == run:
			found, l = ours, of
		}
	}
	return found, l, strange, nil
}

// settled lists interfaces again when some came or went meanwhile: the kernel removes the
// other end of a pair some time after its namespace. It returns an error when the list
// does not settle.
func settled(list func() ([]netlink.Link, error)) (all []netlink.Link, err error) {
	for range 100 {
		if all, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return all, err
}

// unlabelled reports whether an interface is ours and has not got its label yet.
func unlabelled(i netlink.Link) bool {
	a := i.Attrs()
	if a.Alias != "" || !strings.HasPrefix(a.Name, interfacePrefix) {
		return false
	}
	return i.Type() == deviceType ||
		i.Type() == "veth" && len(a.HardwareAddr) == 6 && [2]byte(a.HardwareAddr) == addressPrefix()
}

// removeNamespace removes a namespace of a run, if all interfaces in it are ours. It
// removes a file of its name without a namespace if known reports that the run existed.
func removeNamespace(run uint32, name string, known bool) error {
	path := filepath.Join(namespaceDir, name)
	switch found, _, strange, err := examine(run, name); {
	case err != nil:
		return err
	case found == nothing:
		return nil
	case found == other:
		return fmt.Errorf("%s is not a namespace and was not touched", path)
	case found == empty && !known:
		return fmt.Errorf("%s is not a namespace, and there is no trace of the run %08x: it was not touched", path, run)
	case found == foreign:
		return fmt.Errorf("namespace %s has no label of the run %08x and was not touched", name, run)
	case len(strange) > 0:
		return fmt.Errorf("namespace %s holds interfaces that are not ours (%s) and was not touched: move them away (ip -n %s link set %s netns 1), then fabemu cleanup",
			name, strings.Join(strange, ", "), name, strange[0])
	case found == ours:
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("namespace %s: unmount it: %w", name, explain(err))
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return explain(err)
	}
	return nil
}
