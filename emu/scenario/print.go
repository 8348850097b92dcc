package scenario

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Resolved prints s as a scenario file with every field given and every range
// expanded, which Load reads back to an equal Scenario. It returns an error when
// it does not, which is so only for a Scenario that Load would not have
// returned: one that was built in Go, or changed, and is not right, or not complete.
func (s *Scenario) Resolved() ([]byte, error) {
	p := &printer{}
	p.line("name: %s", quote(s.Name))
	p.text("source", s.Source)
	p.text("description", s.Description)
	p.line("model: {duration: %v, seed: %d, framing: %s}", s.Model.Duration, s.Model.Seed, s.Model.Framing)
	lateness := ""
	if s.Wall.Lateness > 0 {
		lateness = fmt.Sprintf(" lateness: %v,", s.Wall.Lateness)
	}
	p.line("wall: {dilation: %d, udp-port: %d,%s socket-buffer: %v}", s.Wall.Dilation, s.Wall.UDPPort, lateness, s.Wall.Buffer)
	if s.Routing != (Routing{Paths: "shortest"}) {
		recompute := "never"
		if s.Routing.Recompute > 0 {
			recompute = s.Routing.Recompute.String()
		}
		p.line("routing: {paths: %s, recompute: %s}", s.Routing.Paths, recompute)
	}
	p.switches(s.Switches)
	p.endpoints(s)
	p.section("links", len(s.Links))
	for _, l := range s.Links {
		p.link(l)
	}
	if len(s.Routes) > 0 {
		p.section("routes", len(s.Routes))
	}
	for _, t := range s.Routes {
		p.line("  - {at: %s, to: %s, over: %s}", quote(t.At), quote(t.To), quote(t.Over))
	}
	p.section("flows", len(s.Flows))
	for _, f := range s.Flows {
		p.flow(f)
	}
	p.section("events", len(s.Events))
	for _, e := range s.Events {
		p.event(e)
	}
	p.line("measure: {window: %v}", s.Measure.Window)
	p.section("expect", len(s.Expect))
	for _, c := range s.Expect {
		p.check(c)
	}
	out := p.Bytes()
	if s.loaded.is(s) {
		return out, nil
	}
	var opts []Option
	if s.Schemes != nil {
		opts = append(opts, WithSchemes(*s.Schemes))
	}
	back, err := Load("resolved scenario", out, nil, opts...)
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
		if s.Kind == "input-buffered" {
			p.line("    crossbar: %s", s.Crossbar)
			p.line("    bypass: %d", s.Bypass)
		} else {
			p.memory(s)
			p.weights(s.ETS)
		}
		p.explain("    ", s.Marking.Params)
		p.line("    marking: {scheme: %s%s}", s.Marking.Scheme, paramsOf(s.Marking.Params))
	}
}

// paramsOf prints the parameters of a scheme behind its name.
func paramsOf(params any) string {
	var b strings.Builder
	of := param.Of(params)
	for i := range of.Params {
		p := &of.Params[i]
		text := p.Text(params)
		if p.Kind == param.Word {
			text = quote(text)
		}
		fmt.Fprintf(&b, ", %s: %s", p.Key, text)
	}
	return b.String()
}

// explain writes the arithmetic behind the parameters of a scheme.
func (p *printer) explain(indent string, params any) {
	if e, ok := params.(param.Explainer); ok && e.Explain() != "" {
		p.line("%s# %s", indent, e.Explain())
	}
}

// memory writes what an output-queued switch has.
func (p *printer) memory(s Switch) {
	p.line("    forwarding: %s", s.Forwarding)
	p.line("    memory: %v", s.Memory)
	p.line("    sharing: %s", s.Sharing)
	p.line("    output-limit: %s", sizeOr(s.OutputLimit, "none"))
	p.line("    high: %s", sizeOr(s.High, "auto"))
	p.line("    low: %s", lowOf(s.High, s.Low))
	p.line("    headroom: %s", float(s.Headroom))
	if s.Lossless != 0xFF {
		var classes []string
		for class := range 8 {
			if s.Lossless>>class&1 == 1 {
				classes = append(classes, strconv.Itoa(class))
			}
		}
		p.line("    lossless: [%s]", strings.Join(classes, ", "))
	}
}

// weights writes the weights of priorities.
func (p *printer) weights(ets [8]int) {
	var all []string
	for priority, weight := range ets {
		if weight > 0 {
			all = append(all, fmt.Sprintf("{priority: %d, weight: %d}", priority, weight))
		}
	}
	if len(all) > 0 {
		p.line("    ets: [%s]", strings.Join(all, ", "))
	}
}

// endpoints writes the endpoints: those without an adapter a few to a line.
func (p *printer) endpoints(s *Scenario) {
	endpoints := s.Endpoints
	p.line("endpoints:")
	for _, e := range endpoints {
		if e != (Endpoint{Name: e.Name}) {
			credit := map[string]bool{}
			for _, l := range s.Links {
				credit[l.A], credit[l.B] = l.FlowControl == "credit", l.FlowControl == "credit"
			}
			for _, e := range endpoints {
				p.endpoint(e, credit[e.Name])
			}
			return
		}
	}
	const width = 76
	p.WriteString("  [")
	at := 3
	for i, e := range endpoints {
		q := quote(e.Name)
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

func (p *printer) endpoint(e Endpoint, credit bool) {
	switch {
	case e == (Endpoint{Name: e.Name}):
		p.line("  - %s", quote(e.Name))
		return
	case credit:
		p.line("  - {name: %s, service: %s}", quote(e.Name), service(e.Service))
		return
	}
	p.line("  - {name: %s, egress: %s, ingress: %s, high: %s, low: %s, service: %s}",
		quote(e.Name), sizeOr(e.Egress, "unlimited"), sizeOr(e.Ingress, "unlimited"), sizeOr(e.High, "auto"), lowOf(e.High, e.Low), service(e.Service))
}

// lowOf prints a low watermark; without a high one there is none.
func lowOf(high, low unit.Size) string {
	if high == 0 {
		return "auto"
	}
	return low.String()
}

// sizeOr prints a size, or a word for none.
func sizeOr(n unit.Size, none string) string {
	if n == 0 {
		return none
	}
	return n.String()
}

// service prints a rate of service.
func service(r unit.Rate) string {
	if r == Unlimited {
		return "unlimited"
	}
	return r.String()
}

func (p *printer) link(l Link) {
	name, between := "", l.A+" - "+l.B
	if l.Name != between {
		name = "name: " + quote(l.Name) + ", "
	}
	rest := ""
	switch l.FlowControl {
	case "credit":
		rest = fmt.Sprintf(", buffer: %v, resend: %v", l.Buffer, l.Resend)
	case "pause", "pfc":
		rest = fmt.Sprintf(", quanta: %d", l.Quanta)
	}
	p.line("  - {%sbetween: %s, rate: %v, propagation: %v, flow-control: %s%s}", name, quote(between), l.Rate, l.Propagation, l.FlowControl, rest)
}

func (p *printer) flow(f Flow) {
	stop := "end"
	if f.Stop != 0 {
		stop = f.Stop.String()
	}
	window := "none"
	if f.Window != 0 {
		window = strconv.Itoa(f.Window)
	}
	p.explain("  ", f.Control.Params)
	p.line("  - {name: %s, group: %s, from: %s, to: %s, start: %v, stop: %s, jitter: %v,%s packet: %v, window: %s,%s limiter: %s,%s%s control: {law: %s%s}}",
		quote(f.Name), quote(f.Group), quote(f.From), quote(f.To), f.Start, stop, f.Jitter, trafficOf(f), f.Packet, window, timeoutOf(f), f.Limiter, depthOf(f), rateLimitOf(f),
		f.Control.Law, paramsOf(f.Control.Params))
}

// timeoutOf prints after how long packets are sent again, if they are.
func timeoutOf(f Flow) string {
	if f.Timeout == 0 {
		return ""
	}
	return fmt.Sprintf(" timeout: %v,", f.Timeout)
}

// trafficOf prints what a flow offers.
func trafficOf(f Flow) string {
	var b strings.Builder
	if f.Priority > 0 {
		fmt.Fprintf(&b, " priority: %d,", f.Priority)
	}
	fmt.Fprintf(&b, " traffic: %s,", f.Traffic)
	if f.Rate > 0 {
		fmt.Fprintf(&b, " rate: %v,", f.Rate)
	}
	switch f.Traffic {
	case "bursts":
		fmt.Fprintf(&b, " burst: %v, shape: %s,", f.Burst, float(f.Shape))
	case "transfers":
		fmt.Fprintf(&b, " size: %v,", f.Size)
		if f.Count > 0 {
			fmt.Fprintf(&b, " count: %d,", f.Count)
		}
	}
	if f.Spread != "" {
		fmt.Fprintf(&b, " spread: %s,", f.Spread)
	}
	return b.String()
}

func depthOf(f Flow) string {
	if f.Limiter != "token-bucket" {
		return ""
	}
	return fmt.Sprintf(" depth: %v,", f.Depth)
}

// rateLimitOf prints the highest rate of a flow, if there is one.
func rateLimitOf(f Flow) string {
	if f.RateLimit == 0 {
		return ""
	}
	return fmt.Sprintf(" rate-limit: %v,", f.RateLimit)
}

func (p *printer) event(e Event) {
	what := "link: " + quote(e.Link)
	if e.Endpoint != "" {
		what = "endpoint: " + quote(e.Endpoint)
	}
	if e.Switch != "" {
		what = "switch: " + quote(e.Switch)
	}
	change := fmt.Sprintf("rate: %v", e.Rate)
	switch {
	case e.Restart != 0:
		change = fmt.Sprintf("restart: %v", e.Restart)
	case e.State != "":
		change = "state: " + e.State
	case e.PauseStorm != "":
		change = "pause-storm: " + quote(e.PauseStorm)
	case e.Service != 0:
		change = "service: " + service(e.Service)
	}
	p.line("  - {at: %v, %s, %s}", e.At, what, change)
}

func (p *printer) check(c Check) {
	p.line("  - id: %s", quote(c.ID))
	p.text("    source", c.Source)
	p.text("    claim", c.Claim)
	p.text("    metric", c.Metric)
	p.line("    during: [%v, %v]", c.During[0], c.During[1])
	p.line("    low: %s", float(c.Low))
	p.line("    high: %s", float(c.High))
	p.line("    basis: %s", cmp.Or(c.Basis, Ours))
	if c.From != "" {
		p.text("    from", c.From)
	}
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

// String prints m so that it reads back: "300KB per port", "2MB".
func (m Memory) String() string {
	if m.PerPort {
		return m.Bytes.String() + " per port"
	}
	return m.Bytes.String()
}

// differs names the first part in which two scenarios differ, or nothing.
func differs(a, b *Scenario) string {
	switch {
	case a.Name != b.Name || a.Source != b.Source || a.Description != b.Description:
		return "name, source or description"
	case a.Model != b.Model:
		return "model"
	case a.Wall != b.Wall:
		return "wall"
	case a.Routing != b.Routing:
		return "routing"
	case a.Measure != b.Measure:
		return "measure"
	}
	lists := []func() string{
		func() string { return listDiffers("switch", a.Switches, b.Switches) },
		func() string { return listDiffers("endpoint", a.Endpoints, b.Endpoints) },
		func() string { return listDiffers("link", a.Links, b.Links) },
		func() string { return listDiffers("route", a.Routes, b.Routes) },
		func() string { return listDiffers("flow", a.Flows, b.Flows) },
		func() string { return listDiffers("event", a.Events, b.Events) },
		func() string { return listDiffers("check", based(a.Expect), based(b.Expect)) },
	}
	for _, differ := range lists {
		if what := differ(); what != "" {
			return what
		}
	}
	return ""
}

// based returns checks that all have a basis: ours where a program gives none.
func based(checks []Check) []Check {
	out := slices.Clone(checks)
	for i := range out {
		out[i].Basis = cmp.Or(out[i].Basis, Ours)
	}
	return out
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
