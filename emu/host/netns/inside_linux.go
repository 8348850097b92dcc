package netns

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Inside is a thread in the network namespace of a guest. It has its own mount namespace,
// in which the names of the run's guests are in /etc/hosts and /sys shows the guest's devices.
// The commands that it starts are there too. They end with the thread: at Close, or with this
// process, however it ends.
type Inside struct {
	calls chan func()
	ended chan struct{}
}

// Enter makes a thread in the namespace of a path; empty: in that of this process.
func Enter(namespace string, hosts []Host) (*Inside, error) {
	in := &Inside{calls: make(chan func()), ended: make(chan struct{})}
	ready := make(chan error)
	go func() {
		defer close(in.ended)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := called(func() error { return enter(namespace, hosts) })
		ready <- err
		if err != nil {
			return
		}
		for call := range in.calls {
			call()
		}
	}()
	if err := <-ready; err != nil {
		return nil, fmt.Errorf("namespace %s: %w", filepath.Base(namespace), err)
	}
	return in, nil
}

// enter brings the calling thread into a namespace; no other goroutine will get the thread.
func enter(namespace string, hosts []Host) error {
	ns, err := openSpace(cmp.Or(namespace, "/proc/thread-self/ns/net"))
	if err != nil {
		return fmt.Errorf("open it: %w", explain(err))
	}
	defer ns.Close()
	if err := netns.Set(ns); err != nil {
		return fmt.Errorf("enter it: %w", explain(err))
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", explain(err))
	}
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("keep its mounts apart: %w", explain(err))
	}
	// Where it cannot be mounted, as in some containers, /sys shows the devices of the host.
	_ = unix.Mount("sysfs", "/sys", "sysfs", 0, "")
	return mountHosts(hosts)
}

// hostsFile has the names of hosts.
const hostsFile = "/etc/hosts"

// mountHosts puts names before the others in /etc/hosts, for the mount namespace of the
// calling thread. The file is in its own file system, which belongs to the mount.
func mountHosts(hosts []Host) error {
	if len(hosts) == 0 {
		return nil
	}
	old, err := os.ReadFile(hostsFile)
	if err != nil {
		return fmt.Errorf("names of guests: %w", err)
	}
	if err := unix.Mount("tmpfs", runDir, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("names of guests: mount a file system at %s: %w", runDir, explain(err))
	}
	var b strings.Builder
	for _, h := range hosts {
		if h.Address.IsUnspecified() {
			continue // the program gave its device no address
		}
		fmt.Fprintf(&b, "%v\t%s\n", h.Address, h.Name)
	}
	b.Write(old)
	file := filepath.Join(runDir, "hosts")
	err = os.WriteFile(file, []byte(b.String()), 0o644)
	if err == nil {
		err = os.Chmod(file, 0o644) // in spite of the umask: programs may run as other users
	}
	if err == nil {
		err = unix.Mount(file, hostsFile, "", unix.MS_BIND, "")
	}
	if err = errors.Join(err, unix.Unmount(runDir, unix.MNT_DETACH)); err != nil {
		return fmt.Errorf("names of guests: %w", explain(err))
	}
	return nil
}

// Start starts a command in the guest, in its own PID namespace: its children end with it,
// and it ends with the thread.
func (in *Inside) Start(c *exec.Cmd) error {
	done := make(chan error)
	in.calls <- func() {
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID, Pdeathsig: unix.SIGKILL, Setpgid: true}
		done <- c.Start()
	}
	return <-done
}

// Exec makes this process a command in the guest; it returns only if that fails.
func (in *Inside) Exec(path string, args []string) error {
	done := make(chan error)
	in.calls <- func() { done <- unix.Exec(path, args, os.Environ()) }
	return <-done
}

// Close ends the thread and its commands.
func (in *Inside) Close() {
	close(in.calls)
	<-in.ended
}

// LiveGuests returns the guests of the runs that live, by run and name.
func LiveGuests() ([]LiveGuest, error) {
	runs, err := Find()
	var all []LiveGuest
	for _, r := range runs {
		if !r.Lives {
			continue
		}
		var of []LiveGuest
		var hosts []Host
		for _, path := range r.spaces() {
			in, e := guestsIn(path, r.ID)
			err = errors.Join(err, e)
			for _, h := range in {
				hosts = append(hosts, h)
				of = append(of, LiveGuest{Name: h.Name, Run: r, Namespace: path})
			}
		}
		for i := range of {
			of[i].Hosts = hosts
		}
		all = append(all, of...)
	}
	slices.SortStableFunc(all, func(a, b LiveGuest) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

// spaces returns the paths of the network namespaces of a run: of those that it has made, and of
// those that its guests were in before.
func (r *Run) spaces() (paths []string) {
	for _, name := range r.Namespaces {
		paths = append(paths, filepath.Join(namespaceDir, name))
	}
	return append(paths, r.attached...)
}

// guestsIn returns the guests of a run in a namespace, by the labels of their devices.
func guestsIn(path string, run uint32) (hosts []Host, err error) {
	err = lookInto(path, func(h *netlink.Handle) error {
		all, err := settled(h.LinkList)
		for _, dev := range all {
			if dev.Type() != deviceType {
				continue
			}
			l, ours := parseLabel(dev.Attrs().Alias)
			_, part, _ := strings.Cut(dev.Attrs().Alias, ": ")
			f := strings.Fields(part)
			if !ours || l.run != run || len(f) != 3 || f[0] != "guest" {
				continue
			}
			if a, err := netip.ParseAddr(f[2]); err == nil {
				hosts = append(hosts, Host{f[1], a})
			}
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it is removed
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return hosts, nil
}
