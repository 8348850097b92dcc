package generate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/base/errs"
	"fabemu/wire/unit"
)

// htsimConnection is a connection of htsim.
type htsimConnection struct {
	line     int
	from, to int
	id       int
	size     int64 // 0: without end
	start    unit.Duration
	waits    int    // for this trigger; 0: it has a start
	fires    [2]int // the triggers when it is sent, and when it is received; 0: none
}

// htsimTrigger is a trigger of htsim.
type htsimTrigger struct {
	kind  string
	count int
}

// htsimReader reads connections.
type htsimReader struct {
	file  string
	line  int
	hosts int
	fire  map[int]htsimTrigger
	all   []htsimConnection
	ids   map[int]int // the lines of identifiers
	notes notes
}

func (r *htsimReader) wrong(format string, args ...any) error {
	return errs.Errorf("%s:%d: %s", r.file, r.line, fmt.Sprintf(format, args...))
}

// number reads a whole number.
func (r *htsimReader) number(what, word string, low, high int64) (int64, error) {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < low || n > high {
		return 0, r.wrong("%.40q is not %s, a whole number from %d to %d", word, what, low, high)
	}
	return n, nil
}

// htsimFlows returns the flows for connections, and when the run may end.
func htsimFlows(file string, text []byte, x *htsimTopology, out *Imported) (flows string, end unit.Duration, err error) {
	r := &htsimReader{file: file, hosts: x.nodes, ids: map[int]int{}, fire: map[int]htsimTrigger{}}
	counts := map[string]int{"Nodes": 0, "Connections": 0, "Triggers": 0, "Failures": 0}
	triggers, failures := 0, 0
	for line, words := range wordsOf(text) {
		r.line = line
		switch _, isCount := counts[words[0]]; {
		case isCount && len(words) < 2:
			return "", 0, r.wrong("%s has no value", words[0])
		case isCount:
			n, err := r.number("the number of "+words[0], words[1], 0, mostListed)
			if err != nil {
				return "", 0, err
			}
			if words[0] == "Nodes" && int(n) > r.hosts {
				return "", 0, r.wrong("Nodes %d: the topology has %d", n, r.hosts)
			}
			counts[words[0]] = int(n)
		case words[0] == "trigger":
			triggers++
			if err := r.trigger(words[1:]); err != nil {
				return "", 0, err
			}
		case words[0] == "failure":
			failures++
			r.notes.add(r.line, "failure: an event takes its place, such as {link: agg0 - core0, state: down}")
		default:
			if err := r.connection(words); err != nil {
				return "", 0, err
			}
		}
	}
	if r.line == 0 {
		return "", 0, errs.Errorf("%s: the file is empty", file)
	}
	for _, c := range []struct {
		what string
		got  int
	}{{"Connections", len(r.all)}, {"Triggers", triggers}, {"Failures", failures}} {
		if counts[c.what] != c.got {
			return "", 0, errs.Errorf("%s: the file has %d %s, and its header says %s %d", file, c.got, strings.ToLower(c.what), c.what, counts[c.what])
		}
	}
	if triggers > 0 {
		out.Goal = r.goal()
	}
	out.Left = append(out.Left, r.notes.list(file)...)
	return r.flows(x.slowest())
}

// slowest is the rate of the slowest link.
func (x *htsimTopology) slowest() unit.Rate {
	slowest := x.tiers[0].rate
	for _, t := range x.tiers {
		slowest = min(slowest, t.rate)
	}
	return slowest
}

// connection reads a connection.
func (r *htsimReader) connection(words []string) error {
	from, to, ok := strings.Cut(words[0], "->")
	if !ok {
		return r.wrong("%.40q is not a connection, such as 0->13, a trigger or a failure", words[0])
	}
	if len(r.all) == mostListed {
		return r.wrong("more than %d connections", mostListed)
	}
	c := htsimConnection{line: r.line}
	for k, word := range []string{from, to} {
		n, err := r.number("the number of a host", word, 0, int64(r.hosts-1))
		if err != nil {
			return err
		}
		*[]*int{&c.from, &c.to}[k] = int(n)
	}
	if c.from == c.to {
		return r.wrong("host %d sends to itself", c.from)
	}
	hasStart := false
	for words = words[1:]; len(words) > 0; words = words[1:] {
		key := words[0]
		if key == "addon" {
			r.notes.add(r.line, "addon: transfers have no successors")
			continue
		}
		if words = words[1:]; len(words) == 0 {
			return r.wrong("%s has no value", key)
		}
		var n int64
		var err error
		switch key {
		case "id":
			n, err = r.number("an identifier", words[0], 1, math.MaxUint32)
			if c.id = int(n); err == nil && r.ids[c.id] > 0 {
				err = r.wrong("line %d has this identifier, %d", r.ids[c.id], c.id)
			}
			r.ids[c.id] = r.line
		case "start":
			hasStart = true
			c.start, err = r.start(words[0])
		case "size":
			c.size, err = r.number("a number of bytes", words[0], 0, 1<<40)
		case "trigger":
			n, err = r.number("the number of a trigger", words[0], 1, math.MaxUint32)
			c.waits = int(n)
		case "send_done_trigger", "recv_done_trigger":
			n, err = r.number("the number of a trigger", words[0], 1, math.MaxUint32)
			c.fires[strings.Index("sr", key[:1])] = int(n)
		case "prio":
			r.notes.add(r.line, "prio: htsim's receivers serve connections by it; priorities of flows are classes of PFC")
		default:
			err = r.wrong("%.40q is unknown: id, start, trigger, size, send_done_trigger, recv_done_trigger, prio and addon are expected", key)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case hasStart == (c.waits > 0):
		return r.wrong("a connection has a start or a trigger")
	case c.waits > 0:
		r.notes.add(r.line, "a connection that waits for a trigger: --goal prints all connections as a GOAL file")
	}
	r.all = append(r.all, c)
	return nil
}

// trigger reads a trigger.
func (r *htsimReader) trigger(words []string) error {
	id, x := int64(0), htsimTrigger{}
	for ; len(words) > 0; words = words[1:] {
		var err error
		switch key := words[0]; {
		case slices.Contains([]string{"oneshot", "multishot", "barrier"}, key):
			x.kind = key
		case key != "id" && key != "count":
			return r.wrong("%.40q is unknown: id, oneshot, multishot, barrier and count are expected", key)
		case len(words) < 2:
			return r.wrong("%s has no value", key)
		default:
			var n int64
			words = words[1:]
			if n, err = r.number("a number", words[0], 1, math.MaxUint32); err != nil {
				return err
			}
			if key == "id" {
				id = n
			} else {
				x.count = int(n)
			}
		}
	}
	if id == 0 || x.kind == "" {
		return r.wrong("a trigger has an id, and is oneshot, multishot or barrier")
	}
	r.fire[int(id)] = x
	return nil
}

// start reads a start in picoseconds.
func (r *htsimReader) start(word string) (unit.Duration, error) {
	s, err := strconv.ParseFloat(word, 64)
	if err != nil || !(s >= 0 && s < 1e18) {
		return 0, r.wrong("%.40q is not a start in picoseconds", word)
	}
	return unit.Duration(s) * unit.Picosecond, nil
}

// flows writes the flows of a scenario, by identifier if all have one, else by line. The run may
// end after twice the time that all bytes take on the slowest link.
func (r *htsimReader) flows(slowest unit.Rate) (string, unit.Duration, error) {
	var b strings.Builder
	var last unit.Duration
	total, n := 0.0, 0
	for _, c := range r.all {
		if c.waits > 0 {
			continue
		}
		n++
		id := n
		if len(r.ids) == len(r.all) {
			id = c.id
		}
		amount := "traffic: greedy"
		if c.size > 0 {
			amount = fmt.Sprintf("size: %dB", c.size)
		}
		fmt.Fprintf(&b, "  - {name: f%d, from: h%d, to: h%d, priority: 3, %s, start: %v}\n", id, c.from, c.to, amount, c.start)
		last, total = max(last, c.start), total+float64(c.size)
	}
	if n == 0 {
		return "", 0, errs.Errorf("%s: no connection has a start", r.file)
	}
	return b.String(), last + durationOf(total, slowest), nil
}

// durationOf is twice the time that so many bytes take at a rate, and at least 1 ms.
func durationOf(bytes float64, rate unit.Rate) unit.Duration {
	return rounded(unit.Millisecond + unit.Duration(min(16*bytes/float64(rate)*1e12, 1e18))*unit.Picosecond)
}
