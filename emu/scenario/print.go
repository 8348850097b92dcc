package scenario

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Resolved prints s as a scenario file with every field given and every range
// expanded, which Load reads back to an equal Scenario. It returns an error when
// it does not, which is so only for a Scenario that Load would not have
// returned: one that was built in Go and is not right, or not complete.
func (s *Scenario) Resolved() ([]byte, error) {
	p := &printer{}
	p.line("name: %s", quote(s.Name))
	p.text("source", s.Source)
	p.text("description", s.Description)
	p.line("model: {duration: %v, seed: %d, framing: %s}", s.Model.Duration, s.Model.Seed, s.Model.Framing)
	p.line("wall: {dilation: %d, udp-port: %d, socket-buffer: %v}", s.Wall.Dilation, s.Wall.UDPPort, s.Wall.Buffer)
	p.switches(s.Switches)
	p.endpoints(s.Endpoints)
	p.section("links", len(s.Links))
	for _, l := range s.Links {
		p.link(l)
	}
	p.section("flows", len(s.Flows))
	for _, f := range s.Flows {
		p.flow(f)
	}
	p.section("events", len(s.Events))
	for _, e := range s.Events {
		p.line("  - {at: %v, link: %s, rate: %v}", e.At, quote(e.Link), e.Rate)
	}
	p.line("measure: {window: %v}", s.Measure.Window)
	p.section("expect", len(s.Expect))
	for _, c := range s.Expect {
		p.check(c)
	}
	out := p.Bytes()
	back, err := Load("resolved scenario", out, nil)
	if err != nil {
		return nil, fmt.Errorf("scenario %s is not right: %w", s.Name, err)
	}
	if what := differs(back, s); what != "" {
		return nil, fmt.Errorf("scenario %s is not right: its %s does not read back", s.Name, what)
	}
	return out, nil
}

// printer writes the lines of a file.
type printer struct{ bytes.Buffer }

func (p *printer) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// text writes a field of free text.
func (p *printer) text(key, value string) { p.line("%s: %s", key, quote(value)) }

// section begins a list.
func (p *printer) section(name string, n int) {
	if n == 0 {
		p.line("%s: []", name)
		return
	}
	p.line("%s:", name)
}

func (p *printer) switches(switches []Switch) {
	if len(switches) == 0 {
		p.line("switches: {}")
		return
	}
	p.line("switches:")
	for _, s := range switches {
		p.line("  %s:", quote(s.Name))
		p.line("    kind: %s", s.Kind)
		p.line("    forwarding-delay: %v", s.ForwardingDelay)
		p.line("    crossbar: %s", s.Crossbar)
		p.line("    bypass: %d", s.Bypass)
		m := s.Marking
		threshold := "none"
		if m.Threshold != int(noThreshold) {
			threshold = strconv.Itoa(m.Threshold)
		}
		full := "whole"
		if m.FullAt != (Buffer{}) {
			full = m.FullAt.String()
		}
		p.line("    marking: {scheme: %s, threshold: %s, exceeds: %q, counts: %s, selection: %s, full-at: %s, skip-blocked: %t, idle-exempt: %t}",
			m.Scheme, threshold, m.Exceeds, m.Counts, m.Selection, full, m.SkipBlocked, m.IdleExempt)
	}
}

// endpoints writes the endpoints, a few to a line.
func (p *printer) endpoints(names []string) {
	const width = 76
	p.line("endpoints:")
	p.WriteString("  [")
	at := 3
	for i, name := range names {
		q := quote(name)
		if i > 0 {
			p.WriteByte(',')
			at++
			if at+1+len(q) > width {
				p.WriteString("\n   ")
				at = 3
			} else {
				p.WriteByte(' ')
				at++
			}
		}
		p.WriteString(q)
		at += len(q)
	}
	p.WriteString("]\n")
}

func (p *printer) link(l Link) {
	name, between := "", l.A+" - "+l.B
	if l.Name != between {
		name = "name: " + quote(l.Name) + ", "
	}
	p.line("  - {%sbetween: %s, rate: %v, propagation: %v, flow-control: %s, buffer: %v, resend: %v}",
		name, quote(between), l.Rate, l.Propagation, l.FlowControl, l.Buffer, l.Resend)
}

func (p *printer) flow(f Flow) {
	stop := "end"
	if f.Stop != 0 {
		stop = f.Stop.String()
	}
	rate := ""
	if f.Traffic == "constant" {
		rate = fmt.Sprintf(" rate: %v,", f.Rate)
	}
	p.line("  - {name: %s, group: %s, from: %s, to: %s, start: %v, stop: %s, jitter: %v, traffic: %s,%s packet: %v, window: %d, limiter: %s, control: {law: %s, rmax-over-rmin: %d, factor: %s}}",
		quote(f.Name), quote(f.Group), quote(f.From), quote(f.To), f.Start, stop, f.Jitter, f.Traffic, rate, f.Packet, f.Window, f.Limiter,
		f.Control.Law, f.Control.RmaxOverRmin, float(f.Control.Factor))
}

func (p *printer) check(c Check) {
	p.line("  - id: %s", quote(c.ID))
	p.text("    source", c.Source)
	p.text("    claim", c.Claim)
	p.text("    metric", c.Metric)
	p.line("    during: [%v, %v]", c.During[0], c.During[1])
	p.line("    low: %s", float(c.Low))
	p.line("    high: %s", float(c.High))
	p.line("    expected: %s", c.Expected)
	if c.Reason != "" {
		p.text("    reason", c.Reason)
	}
	if c.Why != "" {
		p.text("    why", c.Why)
	}
}

func float(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// quote prints a text so that YAML takes it for a text: plainly where it is a
// word that cannot be taken for something else.
func quote(s string) string {
	plain := s != ""
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		plain = plain && (letter || i > 0 && (c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-' || c == '/'))
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "true", "false", "on", "off", "null", "nan", "inf":
		plain = false
	}
	if plain {
		return s
	}
	return strconv.QuoteToGraphic(s)
}

// String prints b so that it reads back: "4 packets", "150KB"; the zero value is
// "0 packets".
func (b Buffer) String() string {
	switch {
	case b.Bytes > 0:
		return b.Bytes.String()
	case b.Packets == 1:
		return "1 packet"
	}
	return fmt.Sprintf("%d packets", b.Packets)
}

// MarshalText prints b as String does.
func (b Buffer) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// differs names the first part in which two scenarios differ, or nothing.
func differs(a, b *Scenario) string {
	switch {
	case a.Name != b.Name || a.Source != b.Source || a.Description != b.Description:
		return "name, source or description"
	case a.Model != b.Model:
		return "model"
	case a.Wall != b.Wall:
		return "wall"
	case a.Measure != b.Measure:
		return "measure"
	}
	lists := []func() string{
		func() string { return listDiffers("switch", a.Switches, b.Switches) },
		func() string { return listDiffers("endpoint", a.Endpoints, b.Endpoints) },
		func() string { return listDiffers("link", a.Links, b.Links) },
		func() string { return listDiffers("flow", a.Flows, b.Flows) },
		func() string { return listDiffers("event", a.Events, b.Events) },
		func() string { return listDiffers("check", a.Expect, b.Expect) },
	}
	for _, differ := range lists {
		if what := differ(); what != "" {
			return what
		}
	}
	return ""
}

func listDiffers[T comparable](what string, a, b []T) string {
	if len(a) != len(b) {
		return "number of " + what + " entries"
	}
	for i := range a {
		if a[i] != b[i] {
			return fmt.Sprintf("%s %d", what, i+1)
		}
	}
	return ""
}
