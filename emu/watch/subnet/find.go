package subnet

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"fabemu/emu/host"
)

// Served is the subnet of a run.
type Served struct {
	Name string // value of IBSIM_SOCKNAME for clients
	PID  int    // process of the run
}

// answerTime is how long a run may take to answer. One that is stopped takes longer.
const answerTime = time.Second

// Find returns the subnets that processes of this user serve on this machine. The kernel lists the
// names of sockets, which anybody can take: only those count that answer as a run does, from a
// process of this user.
func Find() (all []Served) {
	text, _ := os.ReadFile("/proc/net/unix")
	var names []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 8 {
			continue
		}
		// A zero byte, at the start of an abstract name and at the end of these, is shown as "@".
		name, ends := strings.CutSuffix(strings.TrimPrefix(fields[7], "@"), ":ctl@")
		if ends && strings.HasPrefix(name, namePrefix) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if pid, err := askServer(name); err == nil {
			all = append(all, Served{name, pid})
		}
	}
	return all
}

// askServer returns the process of this user that serves a subnet.
func askServer(name string) (pid int, err error) {
	v := &Server{name: name}
	own := fmt.Sprintf("ctlfind-%d", os.Getpid())
	c, err := net.ListenUnixgram("unixgram", v.address(own))
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := host.PassCredentials(c); err != nil {
		return 0, err
	}
	var m [controlSize]byte
	native := binary.NativeEndian
	native.PutUint32(m[0:], ctlMagic)
	native.PutUint32(m[4:], mostClients) // no client has this slot, so the answer is an error
	native.PutUint32(m[8:], ctlGetPort)
	_ = c.SetDeadline(time.Now().Add(answerTime))
	if _, err := c.WriteToUnix(m[:], v.address("ctl")); err != nil {
		return 0, err
	}
	var got [controlSize + 1]byte
	n, from, pid, user, err := host.ReadCredentials(c, got[:])
	switch {
	case err != nil:
		return 0, err
	case user != os.Getuid() || from == nil || from.Name+"\x00" != v.address("ctl").Name || n != controlSize ||
		native.Uint32(got[:]) != ctlMagic || native.Uint32(got[8:]) != ctlError:
		return 0, fmt.Errorf("what answers at %s is no run of this user", name)
	}
	return pid, nil
}
