package netns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"fabemu/wire/link"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// needRights skips a test that this process has no rights for.
func needRights(t testing.TB) {
	t.Helper()
	if err := Missing(); err != nil {
		t.Skip(err)
	}
}

// line returns the plan of three machines in a row: end, middle, other.
func line(run uint32) Plan {
	return Plan{
		Run: run, Largest: 3000, Nodes: []string{"end", "middle", "other"},
		Links: []Link{
			{"left", [2]End{{Node: 0, Port: 0}, {Node: 1, Port: 0}}},
			{"right", [2]End{{Node: 1, Port: 1}, {Node: 2, Port: 0}}},
		},
	}
}

// traces returns the names of what there is of a run.
func traces(t testing.TB, run uint32) []string {
	t.Helper()
	var all []string
	for _, dir := range []string{namespaceDir, runDir} {
		list, err := names(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range list {
			if strings.Contains(name, fmt.Sprintf("%08x", run)) {
				all = append(all, filepath.Join(dir, name))
			}
		}
	}
	return all
}

func noTraces(t testing.TB, run uint32) {
	t.Helper()
	if left := traces(t, run); len(left) > 0 {
		t.Errorf("what is left of run %08x: %s", run, strings.Join(left, ", "))
	}
}

// living is a topology that is used, in addition to which others come and go.
type living struct {
	*Topology
	a, b *link.Veth
}

func newLiving(t testing.TB) *living {
	t.Helper()
	l := &living{}
	var err error
	if l.Topology, err = Build(context.Background(), line(rand.Uint32())); err != nil {
		t.Fatal(err)
	}
	if l.a, err = l.Ends[0][0].Open(link.VethOptions{}); err != nil {
		t.Fatal(err)
	}
	if l.b, err = l.Ends[0][1].Open(link.VethOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(l.a.Close(), l.b.Close(), l.Close()); err != nil {
			t.Error(err)
		}
		noTraces(t, l.run)
	})
	return l
}

// works fails the test if the topology has suffered.
func (l *living) works(t testing.TB) {
	t.Helper()
	exchange(t, l.a, l.b)
	if n := len(traces(t, l.run)); n != 4 {
		t.Errorf("%d traces of the run that lives, want 3 namespaces and a lock", n)
	}
}

func exchange(t testing.TB, a, b *link.Veth) {
	t.Helper()
	want := []byte("a frame")
	if err := a.Send(want); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	for end := time.Now().Add(5 * time.Second); ; {
		n, err := b.Recv(buf)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			if !bytes.Equal(buf[:n], want) {
				t.Errorf("got %q", buf[:n])
			}
			return
		}
		if time.Now().After(end) {
			t.Fatal("nothing came within 5 seconds")
		}
	}
}

func TestTopologyIsAsPlanned(t *testing.T) {
	needRights(t)
	run := rand.Uint32()
	top, err := Build(context.Background(), line(run))
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	own, err := ownLabel(run)
	if err != nil {
		t.Fatal(err)
	}
	// machine -> its interfaces, each with what its label says
	for node, want := range map[string]map[string]string{
		"end":    {"lo": "lo", "fab0": "link left to middle"},
		"middle": {"lo": "lo", "fab0": "link left to end", "fab1": "link right to other"},
		"other":  {"lo": "lo", "fab0": "link right to middle"},
	} {
		path := filepath.Join(namespaceDir, namespaceName(run, node))
		err := within(path, func() error {
			all, err := netlink.LinkList()
			if err != nil {
				return err
			}
			got := map[string]bool{}
			for _, i := range all {
				a := i.Attrs()
				got[a.Name] = true
				if part := want[a.Name]; part != "" && a.Alias != own.of(part) {
					t.Errorf("%s of %s has the label %q, want %q", a.Name, node, a.Alias, own.of(part))
				}
				if a.Name == "lo" {
					continue
				}
				if a.MTU != 3000 || a.OperState != netlink.OperUp || a.Flags&net.FlagUp == 0 {
					t.Errorf("%s of %s: MTU %d, %v, %v; want 3000, up", a.Name, node, a.MTU, a.OperState, a.Flags)
				}
				for what, on := range map[string]uint32{
					"checksums": unix.ETHTOOL_GTXCSUM, "segmentation": unix.ETHTOOL_GTSO, "tags and so on": unix.ETHTOOL_GFLAGS,
					"receive offload": unix.ETHTOOL_GGRO, "generic segmentation": unix.ETHTOOL_GGSO,
				} {
					if v, err := ethtool(a.Name, on, 0); err != nil || v != 0 {
						t.Errorf("%s of %s: offload of %s is %#x, %v", a.Name, node, what, v, err)
					}
				}
			}
			for name := range want {
				if !got[name] {
					t.Errorf("%s has no %s", node, name)
				}
			}
			// No address: the kernel itself sends nothing.
			if b, err := os.ReadFile("/proc/thread-self/net/if_inet6"); err == nil && len(b) > 0 {
				t.Errorf("%s has IPv6 addresses:\n%s", node, b)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := top.Close(); err != nil {
		t.Error(err)
	}
	noTraces(t, run)
	if err := top.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

// Nothing of the host's own network changes, no file stays open, and no thread
// stays in another namespace.
func TestHostIsAsBefore(t *testing.T) {
	needRights(t)
	state := func() string {
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		all, err := netlink.LinkList()
		if err != nil {
			t.Fatal(err)
		}
		var s strings.Builder
		fmt.Fprintln(&s, len(open), "files")
		for _, i := range all {
			fmt.Fprintln(&s, i.Attrs().Name, i.Attrs().MTU, i.Attrs().Alias)
		}
		return s.String()
	}
	for _, again := range []bool{false, true} { // once, so that the runtime has opened what it keeps
		before := state()
		top, err := Build(context.Background(), line(rand.Uint32()))
		if err != nil {
			t.Fatal(err)
		}
		v, err := top.Ends[1][0].Open(link.VethOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(v.Close(), top.Close()); err != nil {
			t.Fatal(err)
		}
		if after := state(); again && before != after {
			t.Errorf("before:\n%safter:\n%s", before, after)
		}
	}
	home, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		ns, err := os.Readlink("/proc/self/task/" + task.Name() + "/ns/net")
		if err == nil && ns != home {
			t.Errorf("thread %s is in %s, not in %s", task.Name(), ns, home)
		}
	}
}

// stagesOf returns what build tells on its path through a plan.
func stagesOf(t *testing.T) []string {
	t.Helper()
	var all []string
	top, err := build(context.Background(), line(rand.Uint32()), func(s string) { all = append(all, s) })
	if err != nil {
		t.Fatal(err)
	}
	if err := top.close(func(s string) { all = append(all, s) }); err != nil {
		t.Fatal(err)
	}
	return all
}

// A run that is told to stop while it builds takes down what it has built; one that
// panics does, too.
func TestNothingStaysOfAHalfBuiltTopology(t *testing.T) {
	needRights(t)
	beside := newLiving(t)
	stages := stagesOf(t)
	building := stages[:slices.Index(stages, "run")]
	if len(building) != 6 {
		t.Fatalf("the stages are %q", stages)
	}
	for i, name := range building {
		t.Run(name, func(t *testing.T) {
			run, n := rand.Uint32(), 0
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			top, err := build(ctx, line(run), func(string) {
				if n == i {
					cancel()
				}
				n++
			})
			if !errors.Is(err, context.Canceled) || top != nil {
				t.Errorf("cancelled: %v, %v", top, err)
			}
			noTraces(t, run)

			run, n = rand.Uint32(), 0
			func() {
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				_, _ = build(context.Background(), line(run), func(string) {
					n++
					if n == i+1 {
						panic("a mistake")
					}
				})
			}()
			noTraces(t, run)
		})
	}
	beside.works(t)
}

// What has a name of ours and no label, a label and another name, or holds something
// of others, is left alone: a namespace, a link, a file.
func TestWhatIsNotOursIsLeftAlone(t *testing.T) {
	needRights(t)
	if err := prepareDir(t.Context()); err != nil {
		t.Fatal(err)
	}
	dead := func() label { return label{run: rand.Uint32(), pid: 1 << 22, start: 1} } // above any process number
	namespace := func(name string, l label) {
		n, err := newNamespace(name, l)
		if err != nil {
			t.Fatal(err)
		}
		n.close()
		t.Cleanup(func() {
			if err := errors.Join(unix.Unmount(n.path(), unix.MNT_DETACH), os.Remove(n.path())); err != nil {
				t.Error(err)
			}
		})
	}
	file := func(name, content string) {
		path := filepath.Join(namespaceDir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
		})
	}
	relabel := func(name, dev, alias string) {
		err := within(filepath.Join(namespaceDir, name), func() error {
			i, err := netlink.LinkByName(dev)
			if err != nil {
				return err
			}
			return netlink.LinkSetAlias(i, alias)
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	var mine []string
	keep := func(name string) string { mine = append(mine, name); return name }

	l := dead()
	namespace(keep(namespaceName(l.run, "without-label")), l)
	relabel(mine[0], "lo", "")
	l = dead()
	namespace(keep(namespaceName(l.run, "with-another-label")), l)
	relabel(mine[1], "lo", "fabemu run 00000000: not like ours")
	l = dead()
	namespace(keep(namespaceName(l.run, "of-another-run")), dead())
	l = dead()
	namespace(keep("fabemu-lab"), l)
	namespace(keep(fmt.Sprintf("my-fabemu-%08x-a", l.run)), l)
	namespace(keep(fmt.Sprintf("fabemu-%08X-a", l.run|0xA0000000)), l)
	namespace(keep(fmt.Sprintf("fabemu-%08x", l.run)), l)
	file(keep(namespaceName(dead().run, "a-file")), "")
	l = dead()
	file(keep(namespaceName(l.run, "a-file-with-something-in-it")), "mine")
	guest := dead()
	namespace(keep(namespaceName(guest.run, "with-a-guest")), guest)
	err := within(filepath.Join(namespaceDir, namespaceName(guest.run, "with-a-guest")), func() error {
		a := netlink.NewLinkAttrs()
		a.Name = "guest0"
		return netlink.LinkAdd(&netlink.Veth{LinkAttrs: a, PeerName: "guest1"})
	})
	if err != nil {
		t.Fatal(err)
	}
	alive, err := ownLabel(rand.Uint32()) // of a run that lives, whose lock file was removed
	if err != nil {
		t.Fatal(err)
	}
	namespace(keep(namespaceName(alive.run, "of-a-run-that-lives")), alive)

	runs, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		for _, name := range r.Namespaces {
			if slices.Contains(mine, name) && r.ID != guest.run && r.ID != alive.run {
				t.Errorf("%s is taken for a namespace of run %v", name, r)
			}
		}
		if r.ID == alive.run && !r.Lives {
			t.Error("a run that lives is taken for dead when its lock file is gone")
		}
		if r.ID != guest.run {
			continue
		}
		err := r.Remove(t.Context())
		if err == nil || !strings.Contains(err.Error(), "interfaces that are not ours (guest") {
			t.Errorf("a namespace with a guest: %v", err)
		}
	}
	// And when asked for it by name.
	for _, name := range mine {
		run, ok := parseNamespace(name)
		if !ok || run == alive.run {
			continue
		}
		if err := removeNamespace(run, name, false); err == nil {
			t.Errorf("%s is removed", name)
		}
		r := &Run{ID: run, Namespaces: []string{name}}
		if err := r.Remove(t.Context()); err != nil && run != guest.run {
			t.Error(err)
		}
	}
	for _, name := range mine {
		if _, err := os.Stat(filepath.Join(namespaceDir, name)); err != nil {
			t.Error(err)
		}
	}
	for _, r := range []uint32{guest.run} {
		if err := os.Remove(lockName(r)); err != nil { // that Remove had made
			t.Error(err)
		}
	}
}

// Nor is a file among the locks that is none.
func TestFilesAmongTheLocksAreLeftAlone(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needRights(t)
	if err := prepareDir(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := makeRunDir(); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"mine\n", fmt.Sprintln(label{run: rand.Uint32(), pid: 1 << 22, start: 1})} {
		run := rand.Uint32()
		if err := os.WriteFile(lockName(run), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(lockName(run))
		runs, err := Find()
		if err != nil {
			t.Error(err)
		}
		for _, r := range runs {
			if r.ID == run {
				t.Errorf("%s with %q in it is taken for the lock of a run", r.Lock(), content)
			}
		}
		if err := (&Run{ID: run}).Remove(t.Context()); err != nil {
			t.Error(err)
		}
		// Not even where there are namespaces of such a run.
		n, err := newNamespace(namespaceName(run, "a"), label{run: run, pid: 1 << 22, start: 1})
		if err != nil {
			t.Fatal(err)
		}
		n.close()
		err = (&Run{ID: run, Namespaces: []string{namespaceName(run, "a")}}).Remove(t.Context())
		if unmountErr := errors.Join(unix.Unmount(n.path(), unix.MNT_DETACH), os.Remove(n.path())); unmountErr != nil {
			t.Error(unmountErr)
		}
		if err == nil || !strings.Contains(err.Error(), "not touched") {
			t.Errorf("a run whose lock has %q in it: %v", content, err)
		}
		if b, err := os.ReadFile(lockName(run)); err != nil || string(b) != content {
			t.Errorf("%q is left of it, %v", b, err)
		}
	}
}

// Names that are taken are an error that says what to do; what has them stays, and
// what was built before goes.
func TestTakenNames(t *testing.T) {
	needRights(t)
	if err := prepareDir(t.Context()); err != nil {
		t.Fatal(err)
	}
	run := rand.Uint32()
	path := filepath.Join(namespaceDir, namespaceName(run, "middle"))
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Build(context.Background(), line(run))
	if err == nil || !strings.Contains(err.Error(), "the name is in use, but not by this run: start the run again") {
		t.Errorf("a namespace that is there: %v", err)
	}
	if left := traces(t, run); len(left) != 1 || left[0] != path {
		t.Errorf("left: %q", left)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}

	beside := newLiving(t)
	_, err = Build(context.Background(), line(beside.run))
	if err == nil || !strings.Contains(err.Error(), "start this one again, it will have another id") {
		t.Errorf("a run that is there: %v", err)
	}
	beside.works(t)

	// Another program puts an interface of that name into the namespace at the moment when
	// it has none.
	run = rand.Uint32()
	_, err = build(context.Background(), line(run), func(stage string) {
		if stage != "make the link left" {
			return
		}
		if err := within(filepath.Join(namespaceDir, namespaceName(run, "end")), func() error {
			a := netlink.NewLinkAttrs()
			a.Name = "fab0"
			return netlink.LinkAdd(&netlink.Veth{LinkAttrs: a, PeerName: "guest"})
		}); err != nil {
			t.Fatal(err)
		}
	})
	if err == nil || !strings.Contains(err.Error(), "a name is in use by another interface") {
		t.Errorf("an interface that is there: %v", err)
	}
	// It is not ours to remove.
	name := namespaceName(run, "end")
	if left := traces(t, run); !slices.Contains(left, filepath.Join(namespaceDir, name)) || len(left) != 2 {
		t.Errorf("left: %q", left)
	}
	if err := netns.DeleteNamed(name); err != nil {
		t.Error(err)
	}
	if err := os.Remove(lockName(run)); err != nil {
		t.Error(err)
	}
}

func TestImpossiblePlansAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Plan){
		"no name":           func(p *Plan) { p.Nodes[0] = "" },
		"a path for a name": func(p *Plan) { p.Nodes[0] = "../../etc/passwd" },
		"a name of spaces":  func(p *Plan) { p.Nodes[0] = "a b" },
		"a very long name":  func(p *Plan) { p.Nodes[0] = strings.Repeat("x", 240) },
	} {
		p := line(1)
		change(&p)
		if err := p.check(); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	p := line(1)
	if err := p.check(); err != nil {
		t.Error(err)
	}
}
