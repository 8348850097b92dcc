package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"fabemu/emu/base/terminal"
	"fabemu/emu/host"
	"fabemu/emu/run/guest"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
)

// linkFlags are the flags of link that run does not have.
type linkFlags struct {
	// Rate of the link, in each direction.
	Rate string `flag:"rate" group:"Link" arg:"RATE" def:"1Gb/s"`
	// Propagation delay, in each direction.
	Delay string `flag:"delay" arg:"TIME" def:"1us"`
	// Flow control of the link.
	Control string `flag:"flow-control" def:"pfc" words:"pfc|pause|none|credit"`
	// Share of the frames that are lost, such as 1e-4.
	Loss float64 `flag:"loss" arg:"SHARE" low:"0" high:"1"`
	// Longest IP packet, up to 8984B.
	MTU string `flag:"mtu" arg:"SIZE" def:"1500B"`
	// Print the scenario, for fabemu run, and run nothing.
	Print bool `flag:"print"`
}

// places are the kinds of ends of a link.
var places = []string{"netns", "pid", "container", "interface", "vm"}

func linkCommand() *cobra.Command {
	f, x := runFlags{endless: true}, linkFlags{}
	c := &cobra.Command{
		Use:   "link A B",
		Short: "Connect two namespaces, containers or interfaces by a link, until Ctrl-C",
		Args:  cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, ends []string) error {
			text, err := x.scenario(ends)
			if err != nil {
				return err
			}
			f.source = text
			if x.Print {
				if _, err := f.open(c, linkName); err != nil {
					return err
				}
				_, err := c.OutOrStdout().Write(text)
				return err
			}
			if err := host.NeedsLinux("link"); err != nil {
				return err
			}
			return f.runAll(c, []string{linkName})
		},
	}
	add(c, &x)
	f.add(c)
	return c
}

// linkName is the name of the scenario of a link.
const linkName = "link"

// overhead is the most that a packet of a flow has in addition to a guest's packet of IP: the
// fabric's header, the header of Ethernet and a tag, in whole words.
const overhead = 32

// plain are texts that need no quotes in YAML.
var plain = regexp.MustCompile(`^[A-Za-z0-9./_-]+$`)

// scenario returns the scenario of a link between two ends.
func (x *linkFlags) scenario(ends []string) ([]byte, error) {
	mtu, err := unit.ParseSize(x.MTU)
	if err != nil {
		return nil, fmt.Errorf("--mtu: %w", err)
	}
	var guests [2]string
	for i, end := range ends {
		if guests[i], err = guestAt(end); err != nil {
			return nil, err
		}
	}
	faults := ""
	if x.Loss != 0 {
		faults = fmt.Sprintf("faults: [{name: loss, link: link, loss: %v}]\n", x.Loss)
	}
	return fmt.Appendf(nil, `# The counterpart of fabemu link %s: fabemu run FILE runs it.
name: link
description: One link between two existing hosts.
model: {duration: 86400s}
wall: {dilation: 1}
defaults:
  link: {rate: %s, propagation: %s, flow-control: %s}
  flow: {packet: %v}
endpoints:
  - {name: A, guest: {kind: tap, %smtu: %v}}
  - {name: B, guest: {kind: tap, %smtu: %v}}
links: [{name: link, between: A - B}]
%sflows:
  - {name: there, from: A, to: B}
  - {name: back, from: B, to: A}
`, strings.Join(ends, " "), quoted(x.Rate), quoted(x.Delay), x.Control, mtu+overhead, guests[0], mtu, guests[1], mtu, faults), nil
}

// showEnds shows where the ends of a link are, and how to use and to end it.
func showEnds(w io.Writer, s *scenario.Scenario) {
	enter := ""
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		g := &e.Guest
		line := fmt.Sprintf("%s: %s is %s", s.Name, e.Name, cmp.Or(guest.PlaceOf(g), "a new namespace"))
		if !g.Card() {
			line += fmt.Sprintf(", device %s", g.Device)
			enter = cmp.Or(enter, e.Name)
			for _, a := range []scenario.Address{g.Address, g.IPv6} {
				if !a.None() {
					line += ", address " + a.String()
				}
			}
		}
		fmt.Fprintln(w, terminal.Harmless(line))
	}
	if enter != "" {
		fmt.Fprintf(w, "%s: fabemu exec %s -- COMMAND runs a command there\n", s.Name, enter)
	}
	fmt.Fprintf(w, "%s: Ctrl-C ends it, or kill -INT %d\n", s.Name, os.Getpid())
}

// quoted returns a text as in YAML.
func quoted(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// guestAt returns the fields of the guest that is an end of a link.
func guestAt(end string) (fields string, err error) {
	at, more, _ := strings.Cut(end, ",")
	kind, name, named := strings.Cut(at, ":")
	switch {
	case strings.ContainsAny(end, "\n\r"):
		return "", fmt.Errorf("end %q: it has several lines", end)
	case slices.Contains(places, kind) && name != "":
		fields = kind + ": " + quoted(name) + ", "
	case at != "new" || named:
		return "", fmt.Errorf("end %q: an end is new, or one of %s: with a name behind it, such as netns:web", end, strings.Join(places, ":, "))
	}
	for field := range strings.SplitSeq(more, ",") {
		key, value, ok := strings.Cut(field, "=")
		switch {
		case more == "":
		case !ok || !plain.MatchString(key):
			return "", fmt.Errorf("end %q: %q is not a field of a guest and its value, such as address=10.1.0.1/24", end, field)
		default:
			fields += key + ": " + quoted(value) + ", "
		}
	}
	return fields, nil
}
