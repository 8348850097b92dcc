package netns

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// capabilities are needed by a run in namespaces, by the number of the bit.
var capabilities = []struct {
	bit  int
	name string
}{
	{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
	{unix.CAP_NET_ADMIN, "CAP_NET_ADMIN"},
	{unix.CAP_NET_RAW, "CAP_NET_RAW"},
}

// ErrPrivilege reports that this process lacks a capability. Missing names it.
var ErrPrivilege = errors.New("a capability is missing")

// Missing returns nil if this process may build namespaces and open links in them;
// otherwise an ErrPrivilege that names the capabilities that it lacks.
func Missing() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("read the capabilities of this process: %w", err)
	}
	return missing(uint64(data[1].Effective)<<32 | uint64(data[0].Effective))
}

// missing returns the error of Missing for the given set of capabilities.
func missing(effective uint64) error {
	var names []string
	for _, c := range capabilities {
		if effective>>c.bit&1 == 0 {
			names = append(names, c.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	list := names[len(names)-1]
	if len(names) > 1 {
		list = strings.Join(names[:len(names)-1], ", ") + " and " + list
	}
	return &privilegeError{list}
}

// privilegeError is an ErrPrivilege with the names in it.
type privilegeError struct{ names string }

func (e *privilegeError) Error() string {
	return "network namespaces and veth pairs need " + e.names + ", which this process lacks"
}

func (e *privilegeError) Is(target error) bool { return target == ErrPrivilege }

// explain adds the remedy to an error of the kernel that has one.
func explain(err error) error {
	for _, r := range remedies {
		if slices.ContainsFunc(r.errnos, func(e unix.Errno) bool { return errors.Is(err, e) }) {
			return fmt.Errorf("%w: %s", err, r.text)
		}
	}
	return err
}

var remedies = []struct {
	errnos []unix.Errno
	text   string
}{
	{[]unix.Errno{unix.EPERM, unix.EACCES}, "root has the rights, in a container only if it is privileged"},
	{[]unix.Errno{unix.EROFS}, "the file system is mounted read-only, as in a container that is not privileged"},
	{[]unix.Errno{unix.EMFILE}, "this process has too many files open; raise its limit (ulimit -n)"},
	{[]unix.Errno{unix.ENFILE}, "the machine has too many files open; raise its limit (sysctl fs.file-max)"},
	{[]unix.Errno{unix.ENOSPC},
		"there are too many network namespaces or mounts; raise the limits (sysctl user.max_net_namespaces, fs.mount-max)"},
	{[]unix.Errno{unix.EOPNOTSUPP, unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT},
		"the kernel lacks a module; load veth and af_packet (modprobe veth af_packet)"},
	{[]unix.Errno{unix.ENOMEM}, "the kernel has no memory for it"},
}

// explainNew explains an error of the call that makes a network namespace, where EINVAL has its own
// meaning.
func explainNew(err error) error {
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%w: this kernel was built without network namespaces (CONFIG_NET_NS)", err)
	}
	return explain(err)
}
