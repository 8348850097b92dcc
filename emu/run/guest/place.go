package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/host"
	"fabemu/emu/scenario"
	"fabemu/wire"
)

// namespaces has the network namespaces that have names, as in ip netns.
const namespaces = "/run/netns"

// findPlace returns the path of the network namespace in which a guest is already; empty: there is
// none.
func findPlace(ctx context.Context, x *guest) (path string, err error) {
	g := &x.scene
	pid := strconv.Itoa(g.PID)
	switch {
	case filepath.IsAbs(g.Netns):
		return g.Netns, nil
	case g.Netns != "" && g.Netns != filepath.Base(g.Netns):
		return "", errs.Errorf("guest %s: netns %s is neither the name of a network namespace nor a path from /", x.name, g.Netns)
	case g.Netns != "":
		return filepath.Join(namespaces, g.Netns), nil
	case g.Container != "":
		if pid, err = processOf(ctx, g.Container); err != nil {
			return "", errs.Errorf("guest %s: %w", x.name, err)
		}
	case g.PID == 0:
		return "", nil
	}
	return fmt.Sprintf("/proc/%s/ns/net", pid), nil
}

// engines are the commands of container engines.
var engines = [...]string{"docker", "podman"}

// Limits of the answer of an engine: its daemon may hang.
const (
	engineTime = 10 * time.Second
	mostSaid   = 64 << 10 // bytes
)

// inspect asks an engine for the process of a container. If that fails, wrong is the reason, if
// there is one.
func inspect(ctx context.Context, engine, container string) (out []byte, wrong string, err error) {
	within, stop := context.WithTimeout(ctx, engineTime)
	defer stop()
	c := exec.CommandContext(within, engine, "inspect", "--type", "container", "--format", "{{.State.Pid}}", container)
	host.InGroup(c)
	c.WaitDelay = time.Second
	said, told := capped{stop: stop}, capped{stop: stop}
	c.Stdout, c.Stderr = &said, &told
	switch err = c.Run(); {
	case said.over || told.over:
		wrong = fmt.Sprintf("it prints more than %d KiB", mostSaid>>10)
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case within.Err() != nil:
		wrong = fmt.Sprintf("it does not answer within %v", engineTime)
	case err != nil:
		wrong = strings.TrimSpace(told.b.String())
	}
	return said.b.Bytes(), wrong, err
}

// capped keeps output up to mostSaid, and ends the program that writes more.
type capped struct {
	b    bytes.Buffer
	over bool
	stop func()
}

func (c *capped) Write(b []byte) (int, error) {
	if c.b.Len()+len(b) > mostSaid {
		c.over = true
		c.stop()
		return 0, errTooMuch
	}
	return c.b.Write(b)
}

var errTooMuch = errors.New("too much output")

// processOf returns the first process of a container of one of the engines.
func processOf(ctx context.Context, container string) (pid string, err error) {
	var found, tried []string
	said := ""
	for _, engine := range engines {
		path, err := exec.LookPath(engine)
		if err != nil {
			continue
		}
		tried = append(tried, engine)
		out, wrong, err := inspect(ctx, path, container)
		if wrong != "" { // its daemon may not run
			said += fmt.Sprintf(" (%s: %s)", engine, wrong)
		}
		for line := range strings.Lines(string(out)) {
			if n, e := strconv.Atoi(strings.TrimSpace(line)); err == nil && e == nil {
				found, pid = append(found, engine), strconv.Itoa(n)
			}
		}
	}
	switch {
	case tried == nil:
		return "", fmt.Errorf("container %s: there is neither docker nor podman on this machine", container)
	case found == nil:
		return "", fmt.Errorf("there is no container %s: %s finds none%s; start it, or list them (%s ps)",
			container, strings.Join(tried, " and "), said, tried[0])
	case len(found) > 1:
		return "", fmt.Errorf("two containers have the name %s, of %s: give the id of one of them, or its process by pid",
			container, strings.Join(found, " and "))
	case pid == "0":
		return "", fmt.Errorf("container %s does not run: start it (%s start %s)", container, found[0], container)
	}
	return pid, nil
}

// PlaceOf describes the place of a guest that is not a new namespace, for people.
func PlaceOf(g *scenario.Guest) string {
	switch {
	case g.PID > 0:
		return fmt.Sprintf("pid %d", g.PID)
	case g.Interface != "":
		return "interface " + g.Interface
	case g.VM != "":
		return "virtual machine at " + g.VM
	case g.Container != "":
		return "container " + g.Container
	case g.Netns != "":
		return "netns " + g.Netns
	}
	return ""
}

// watchEvery is how long, in ns, devices are not looked at for changes.
const watchEvery = 20e6

// mostEvents is how many events of guests are kept.
const mostEvents = 1000

// watch records changes of devices by others.
func (g *Guests) watch() {
	if g.topology == nil || g.now-g.looked < watchEvery {
		return
	}
	g.looked = g.now
	for i, x := range g.real {
		for _, c := range g.topology.Devices[i].Changes() {
			g.event(x, c.Name, c.Text)
		}
	}
}

// event records an event, and warns of the first of its name of a guest.
func (g *Guests) event(x *guest, name, text string) {
	g.record(x, name, text)
	g.warnOnce(name+"."+x.name, "guest %s, %s: %s", x.name, name, text)
}

// record records an event.
func (g *Guests) record(x *guest, name, text string) {
	s, at := g.fabric.Scenario, int64(0)
	if p := g.programs; p != nil && !p.began.IsZero() {
		at = min(int64(time.Since(p.began))*1000/s.Wall.Dilation, int64(s.Model.Duration))
	}
	if len(g.events) < mostEvents {
		g.events = append(g.events, Event{at, x.name, name, text})
	}
}

// lose records that the device of a guest is no more. The run continues without it.
func (g *Guests) lose(x *guest) {
	g.watch()
	x.gone = true
	if !g.warned["device-gone."+x.name] {
		g.event(x, "device-gone", "its device is gone: it was removed")
	}
}

// mostLearned is how many hardware addresses are kept.
const mostLearned = 1 << 16

// learn records that a hardware address that is neither the fabric's nor one of the scenario is
// behind a guest.
func (g *Guests) learn(x *guest, from wire.MAC) {
	if from>>40&1 == 1 || g.given[from] || len(g.learned) == mostLearned {
		return
	}
	g.learned[from] = x.node
}

// spoofed reports whether the source of a packet is not the guest's: its hardware address, if it
// has a device of the program's, and its address. It counts the packet.
func (g *Guests) spoofed(x *guest, packet []byte) bool {
	source := g.headers.from
	ok, wrong := source.IsValid(), x.scene.Kind == scenario.Tap && macAt(packet[6:]) != x.mac
	own := x.scene.Address
	if ok && source.Is6() {
		own = x.scene.IPv6
	}
	if known := !x.scene.Address.None() || !x.scene.IPv6.None(); ok && known {
		wrong = wrong || (own.None() || source != own.Addr()) && !source.IsUnspecified() && !source.IsLinkLocalUnicast()
	}
	if !wrong {
		return false
	}
	if x.count.Spoofed++; x.count.Spoofed == 1 {
		from := "the hardware address of another"
		if ok {
			from = source.String()
		}
		g.event(x, "spoofed", "it has sent a packet from "+from+", which is not its own: such packets are dropped")
	}
	return true
}
