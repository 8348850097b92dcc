package generate

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/base/errs"
	"fabemu/emu/scenario"
)

// slurmSwitch is a switch of the tree, which may stand for several of the fabric.
type slurmSwitch struct {
	name  string
	level int
	nodes []string
	below []string
}

// Slurm returns the fabric of a scenario as Slurm's topology.conf of topology/tree. A switch is as
// far up as it is far from the nearest endpoint. A tree has one switch where a fabric has several
// ways up: switches of one level that have a switch below them in common are one line, with the
// name of the first. If no switch is above all others, one named "fabric" is added. The error is a
// *errs.Mistake.
func Slurm(s *scenario.Scenario) ([]byte, error) {
	if len(s.Switches) == 0 {
		return nil, errs.Errorf("%s: there are no switches, and Slurm's tree is of switches", s.Name)
	}
	next := map[string][]string{}
	for i := range s.Links {
		l := &s.Links[i]
		next[l.A], next[l.B] = append(next[l.A], l.B), append(next[l.B], l.A)
	}
	level, queue := map[string]int{}, []string(nil)
	for i := range s.Endpoints {
		level[s.Endpoints[i].Name] = 0
		queue = append(queue, s.Endpoints[i].Name)
	}
	highest := 0
	for k := 0; k < len(queue); k++ {
		for _, to := range next[queue[k]] {
			if _, been := level[to]; !been {
				level[to] = level[queue[k]] + 1
				highest = max(highest, level[to])
				queue = append(queue, to)
			}
		}
	}
	stands := map[string]string{} // for a switch, that of its line
	var all []*slurmSwitch
	for up := 1; up <= highest; up++ {
		joined := map[string]string{}
		var here []string
		for i := range s.Switches {
			w := s.Switches[i].Name
			if level[w] != up {
				continue
			}
			here = append(here, w)
			for _, to := range next[w] {
				if up > 1 && level[to] == up-1 {
					join(joined, w, "below "+stands[to])
				}
			}
		}
		lines := map[string]*slurmSwitch{}
		for _, w := range here {
			top := root(joined, w)
			line := lines[top]
			if line == nil {
				line = &slurmSwitch{name: w, level: up}
				lines[top] = line
				all = append(all, line)
			}
			stands[w] = line.name
			for _, to := range next[w] {
				switch {
				case level[to] == 0 && up == 1:
					line.nodes = append(line.nodes, to)
				case level[to] == up-1 && up > 1 && !slices.Contains(line.below, stands[to]):
					line.below = append(line.below, stands[to])
				}
			}
		}
	}
	under := map[string]bool{}
	for _, w := range all {
		for _, b := range w.below {
			under[b] = true
		}
	}
	var tops []string
	for _, w := range all {
		if !under[w.name] {
			tops = append(tops, w.name)
		}
	}
	if len(tops) > 1 {
		name := "fabric"
		for stands[name] != "" || next[name] != nil {
			name += "-"
		}
		all = append(all, &slurmSwitch{name: name, level: highest + 1, below: tops})
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# topology.conf of %s for TopologyPlugin=topology/tree\n", s.Name)
	for _, w := range all {
		if w.nodes != nil {
			fmt.Fprintf(&b, "SwitchName=%s Nodes=%s\n", w.name, slurmList(w.nodes))
		} else {
			fmt.Fprintf(&b, "SwitchName=%s Switches=%s\n", w.name, slurmList(w.below))
		}
	}
	return b.Bytes(), nil
}

// slurmList writes names as a host list: h[1-4],x.
func slurmList(names []string) string {
	type part struct {
		prefix    string
		low, high int
		single    string
		hasNumber bool
	}
	var parts []part
	for _, name := range names {
		digits := len(name) - len(strings.TrimRight(name, "0123456789"))
		p := part{single: name}
		if number := name[len(name)-digits:]; digits > 0 && digits < 9 && (number[0] != '0' || digits == 1) {
			fmt.Sscan(number, &p.low)
			p.prefix, p.high, p.hasNumber = name[:len(name)-digits], p.low, true
		}
		if last := len(parts) - 1; last >= 0 && p.hasNumber && parts[last].hasNumber && parts[last].prefix == p.prefix && parts[last].high+1 == p.low {
			parts[last].high++
			continue
		}
		parts = append(parts, p)
	}
	var list []string
	for _, p := range parts {
		list = append(list, cmp.Or(map[bool]string{true: fmt.Sprintf("%s[%d-%d]", p.prefix, p.low, p.high)}[p.high > p.low], p.single))
	}
	return strings.Join(list, ",")
}
