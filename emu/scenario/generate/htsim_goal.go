package generate

import (
	"bytes"
	"fmt"
	"slices"

	"fabemu/wire/unit"
)

// rankText is a rank of a GOAL file.
type rankText struct{ operations, dependencies bytes.Buffer }

// require has an operation of a connection wait for one of a connection.
func (t *rankText) require(op string, k int, other string, of int) {
	fmt.Fprintf(&t.dependencies, "  %s%d requires %s%d\n", op, k+1, other, of+1)
}

// goal returns all connections as a GOAL file, in which host k is rank k. A connection that waits
// for a trigger begins when those that fire it are sent or received at its host. What it cannot
// wait for is noted: a connection of other hosts.
func (r *htsimReader) goal() []byte {
	ranks := make([]rankText, r.hosts)
	r.starts(ranks)
	fired, targets := map[int][]int{}, map[int]int{} // by trigger, what fires it; how many it has started
	for k, c := range r.all {
		for _, trigger := range c.fires {
			if trigger > 0 && c.size > 0 {
				fired[trigger] = append(fired[trigger], k)
			}
		}
	}
	for k, c := range r.all {
		if c.size == 0 {
			r.notes.add(c.line, "a connection without end: a GOAL file has none")
			continue
		}
		fmt.Fprintf(&ranks[c.from].operations, "  s%d: send %db to %d tag %d\n", k+1, c.size, c.to, k+1)
		fmt.Fprintf(&ranks[c.to].operations, "  r%d: recv %db from %d tag %d\n", k+1, c.size, c.from, k+1)
		if c.waits == 0 {
			continue
		}
		by := fired[c.waits]
		if x := r.fire[c.waits]; x.kind == "multishot" { // each that fires it starts one
			at := targets[c.waits]
			by = by[min(at, len(by)):min(at+1, len(by))]
		}
		targets[c.waits]++
		if len(by) == 0 {
			r.notes.add(c.line, "a connection whose trigger nothing fires: in the GOAL file it starts at once")
		}
		for _, b := range by {
			if op := r.all[b].ends(c.waits, c.from); op != "" {
				ranks[c.from].require("s", k, op, b)
			} else {
				r.notes.add(c.line, "a connection that waits for one between other hosts: in the GOAL file it does not wait for that")
			}
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Connections of htsim: host k is rank k.\nnum_ranks %d\n", r.hosts)
	for k := range ranks {
		fmt.Fprintf(&b, "rank %d {\n%s%s}\n", k, &ranks[k].operations, &ranks[k].dependencies)
	}
	return b.Bytes()
}

// ends returns which operation of a host fires a trigger at the end of a connection: s or r.
func (c *htsimConnection) ends(trigger, host int) string {
	switch {
	case c.from == host:
		return "s"
	case c.to == host && (c.fires[1] == trigger || c.fires[0] == trigger):
		return "r" // what has been sent is acknowledged, and so received
	}
	return ""
}

// starts writes computations that last until the starts of connections, one behind another.
func (r *htsimReader) starts(ranks []rankText) {
	var late []int
	for k, c := range r.all {
		if c.start >= unit.Nanosecond && c.size > 0 {
			late = append(late, k)
		}
	}
	slices.SortStableFunc(late, func(a, b int) int { return int(min(max(r.all[a].start-r.all[b].start, -1), 1)) })
	until, before := map[int]unit.Duration{}, map[int]int{}
	for _, k := range late {
		c := &r.all[k]
		n := (c.start - until[c.from]) / unit.Nanosecond
		fmt.Fprintf(&ranks[c.from].operations, "  c%d: calc %d\n", k+1, n)
		ranks[c.from].require("s", k, "c", k)
		if b, known := before[c.from]; known {
			ranks[c.from].require("c", k, "c", b)
		}
		until[c.from], before[c.from] = until[c.from]+n*unit.Nanosecond, k
	}
}
