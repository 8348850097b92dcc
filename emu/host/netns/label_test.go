package netns

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func TestLabelsAreReadAsWritten(t *testing.T) {
	own, err := ownLabel(0x0badcafe)
	if err != nil {
		t.Fatal(err)
	}
	if !own.lives() {
		t.Error("this process does not live")
	}
	if other := (label{own.run, own.pid, own.start + 1}); other.lives() {
		t.Error("a process with the same number that started later is taken for this one")
	}
	for _, s := range []string{own.String(), own.of("link a to b"), own.of("x: y"), own.of(strings.Repeat("long", 100))} {
		if got, ok := parseLabel(s); !ok || got != own || len(s) > maxAlias {
			t.Errorf("%q is read as %+v, %v", s, got, ok)
		}
	}
	text := own.String()
	for _, bad := range []string{"", "fabemu", text + " ", " " + text, strings.Replace(text, "fabemu", "Fabemu", 1), strings.Replace(text, "0badcafe", "badcafe", 1),
		strings.Replace(text, "0badcafe", "0BADCAFE", 1), text + "x", strings.Replace(text, "process ", "process -", 1), "eth0"} {
		if l, ok := parseLabel(bad); ok {
			t.Errorf("%q is read as %+v", bad, l)
		}
	}
}

func TestNamesAreReadAsWritten(t *testing.T) {
	for _, node := range []string{"A", "A1", "spine-1", "x_y"} {
		if run, ok := parseNamespace(namespaceName(0x00c0ffee, node)); !ok || run != 0x00c0ffee {
			t.Errorf("%s: %x, %v", node, run, ok)
		}
	}
	for _, bad := range []string{"", "fabemu-", "fabemu-00c0ffee", "fabemu-00c0ffee-", "fabemu-c0ffee-a", "fabemu-00C0FFEE-a", "fabemu-00c0ffeg-a", "fabemu-+0c0ffee-a", "xfabemu-00c0ffee-a", "fabemu-00c0ffee.a"} {
		if run, ok := parseNamespace(bad); ok {
			t.Errorf("%q is read as %x", bad, run)
		}
	}
}

// The sentence names what is missing, and nothing else.
func TestMissingCapabilitiesAreNamed(t *testing.T) {
	const sysAdmin, netAdmin, netRaw = 1 << unix.CAP_SYS_ADMIN, 1 << unix.CAP_NET_ADMIN, 1 << unix.CAP_NET_RAW
	for have, want := range map[uint64]string{
		0:                    "CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW",
		netRaw:               "CAP_SYS_ADMIN and CAP_NET_ADMIN",
		sysAdmin | netAdmin:  "CAP_NET_RAW",
		1<<63 | 1 | sysAdmin: "CAP_NET_ADMIN and CAP_NET_RAW",
	} {
		err := missing(have)
		if sentence := "network namespaces and veth pairs need " + want + ", which this process lacks"; !errors.Is(err, ErrPrivilege) || err.Error() != sentence {
			t.Errorf("%x: %v, want %s", have, err, sentence)
		}
	}
	if err := missing(sysAdmin | netAdmin | netRaw); err != nil {
		t.Error(err)
	}
}

// Each error of the kernel that a user can do something about says what.
func TestErrorsSayWhatToDo(t *testing.T) {
	for errno, want := range map[unix.Errno]string{
		unix.EOPNOTSUPP:   "modprobe veth",
		unix.EAFNOSUPPORT: "modprobe veth af_packet",
		unix.EMFILE:       "ulimit -n",
		unix.ENFILE:       "fs.file-max",
		unix.ENOSPC:       "user.max_net_namespaces",
		unix.EPERM:        "privileged",
		unix.EROFS:        "read-only",
	} {
		err := explain(fmt.Errorf("do something: %w", &os.PathError{Op: "open", Path: "x", Err: errno}))
		if !strings.Contains(err.Error(), want) || !errors.Is(err, errno) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	if err := explainNew(unix.EINVAL); !strings.Contains(err.Error(), "CONFIG_NET_NS") {
		t.Error(err)
	}
	if err := explain(unix.EINVAL); err != unix.EINVAL {
		t.Error(err)
	}
	if err := explain(nil); err != nil {
		t.Error(err)
	}
}

// Interfaces come and go while they are listed.
func TestSettled(t *testing.T) {
	n := 0
	list := func(interrupted int) func() ([]netlink.Link, error) {
		n = 0
		return func() ([]netlink.Link, error) {
			if n++; n <= interrupted {
				return nil, netlink.ErrDumpInterrupted
			}
			return []netlink.Link{&netlink.Veth{}}, nil
		}
	}
	if all, err := settled(list(3)); err != nil || len(all) != 1 || n != 4 {
		t.Errorf("interrupted three times: %d interfaces after %d lists, %v", len(all), n, err)
	}
	if _, err := settled(list(1 << 30)); !errors.Is(err, netlink.ErrDumpInterrupted) {
		t.Errorf("interrupted always: %v", err)
	}
	broken := errors.New("broken")
	if _, err := settled(func() ([]netlink.Link, error) { return nil, broken }); err != broken {
		t.Errorf("broken: %v", err)
	}
}
