package resolve

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/pattern"
	"fabemu/emu/scenario/yaml"
	"fabemu/node/schedule"
	"fabemu/node/traffic"
)

// workloads are the workloads of a scenario.
type workloads struct {
	all     []scenario.Workload
	origins []origin // for each of them
	lost    bool     // some are left out, since a mistake leaves open what they are
}

// working makes workloads.
type working struct {
	sending
	workloads
	run    span
	flows  []scenario.Flow
	links  map[string]*yaml.Node // by name
	linked bool                  // the fabric is known
}

// makeWorkloads makes the workloads of a fabric beside its flows.
func makeWorkloads(of *fabric, run span, flows []scenario.Flow) workloads {
	r := &working{sending: sending{of.source, of.Site}, run: run, flows: flows, links: of.links, linked: of.linked()}
	for n, v := range r.items("workload", &r.lost) {
		name, over := n.Get("name"), n.Get("over")
		w := yaml.Build[scenario.Workload](v)
		w.Name, w.Over = name.Text, strings.TrimSpace(over.Value.(pattern.Names).Text)
		w.Control.Algorithm, w.Control.Params = chosen(r.language.Algorithms, v, "control", nil)
		w.Transport.Kind, w.Transport.Params = chosen(r.language.Transports, v, "transport", nil)
		of := r.originOf("workload", n, v)
		readSizes(r.source, &w.Size, v)
		readProgram(r.source, &w.Control, v)
		if r.checkWorkload(&w, of, name, over) {
			r.workloads.all = append(r.workloads.all, w)
			r.origins = append(r.origins, of)
		} else {
			r.lost = true
		}
	}
	return r.workloads
}

// checkWorkload refuses a workload that cannot run, and fills in the values that depend on the
// links of its endpoints.
func (r *working) checkWorkload(w *scenario.Workload, of origin, name, over *yaml.Node) bool {
	taken := func(f *scenario.Flow) bool { return f.Name == w.Name || f.Group == w.Name }
	switch {
	case slices.ContainsFunc(r.flows, func(f scenario.Flow) bool { return taken(&f) }), r.links[w.Name] != nil,
		slices.ContainsFunc(r.workloads.all, func(o scenario.Workload) bool { return o.Name == w.Name }):
		r.Add(name.Spot, "duplicate name %q: metrics could not distinguish the two", w.Name)
		return false
	case w.Range().Size() < 2:
		r.Add(over.Spot, "workload %s has one endpoint: at least two send to one another", w.Name)
		return false
	case w.Transfers != "" && !r.listed(w, of), w.Ranked() && !r.ranked(w, of):
		return false
	case w.Pattern == traffic.Incast && w.Senders >= w.Range().Size():
		r.Add(of.View.Spot("senders", of.Spot), "%d endpoints would send at each event of workload %s, which has %d: one of them receives",
			w.Senders, w.Name, w.Range().Size())
		return false
	}
	names := w.Range().List()
	for _, member := range names {
		if r.GuestKindOf(member) != "" {
			r.Add(over.Spot, "%s is a guest, which sends its own packets: a workload is for other endpoints", member)
			return false
		}
	}
	f := w.Template(names[0], names[1])
	if r.linked {
		r.adaptSending(&f, of)
	}
	w.Priority, w.Source = f.Priority, f.Source
	if by := scenario.SharedBy(&f); by != "" {
		r.Add(of.View.Sub("control").Spot(by, of.Spot), "the flows of workload %s have their own limiters: omit control.%s", w.Name, by)
	}
	if w.Start >= r.run.end && r.run.cut.Set == nil && r.timed() {
		r.Add(of.View.Spot("start", of.Spot), "the workload starts at %v, but %s", w.Start, r.run.ends())
	}
	switch {
	case w.Stop > 0 && w.Stop <= w.Start:
		r.Add(of.View.Spot("stop", of.Spot), "workload %s stops at %v and starts at %v", w.Name, w.Stop, w.Start)
	case w.Ranked() && w.WarmUp+w.Drain > 0:
		r.Add(of.View.Spot("warm-up", of.View.Spot("drain", of.Spot)), "workload %s has the program of a parallel job, which has no arrivals: leave warm-up and drain out", w.Name)
	default:
		checkCounting(r.run, "workload "+w.Name, of, w.Start, w.Stop, w.WarmUp, w.Drain)
	}
	return true
}

// listed refuses a table of transfers that cannot be read.
func (r *working) listed(w *scenario.Workload, of origin) bool {
	w.Transfers = beside(r.source, w.Transfers, of.Get("transfers"))
	if _, err := w.Listed(); err != nil {
		r.Add(of.View.Spot("transfers", of.Spot), "workload %s: %v", w.Name, unread(err))
		return false
	}
	for _, key := range []string{"pattern", "size", "load", "count"} {
		if n := of.Get(key); n != nil {
			r.Warn(n.Spot, "%s has no effect: workload %s reads its flows from %s", key, w.Name, filepath.Base(w.Transfers))
		}
	}
	return true
}

// ranked refuses ranks whose program cannot run.
func (r *working) ranked(w *scenario.Workload, of origin) bool {
	if w.Open = w.Range().Size() - 1; w.Open > mostPeers {
		r.Add(of.View.Spot("over", of.Spot), "workload %s: %d endpoints: at most %d can be ranks", w.Name, w.Open+1, mostPeers+1)
		return false
	}
	key := "collective"
	var err error
	switch {
	case w.Collective != "" && w.Goal != "":
		err = errors.New("collective and goal both set the messages: give one of them")
	case w.Transfers != "":
		err = errors.New("transfers and a program of ranks both set the messages: give one of them")
	case w.Goal != "":
		key, w.Goal = "goal", beside(r.source, w.Goal, of.Get("goal"))
		var g *schedule.Goal
		if g, err = w.Schedule(); err == nil && g.Tagged() && w.Transport.Streams() {
			err = errors.New("its messages have tags, for which TCP has no place: give transport: rocev2, or leave the tags out")
		}
	default:
		d := w.Size.Distribution()
		if _, one := d.Single(); !one {
			key, err = "size", errors.New("a collective operation has one size, and no distribution")
			break
		}
		err = w.Operation().Check()
	}
	if err != nil {
		r.Add(of.View.Spot(key, of.Spot), "workload %s: %v", w.Name, unread(err))
		return false
	}
	resolved := map[string]string{"pattern": traffic.Uniform.String(), "open": strconv.Itoa(w.Open)}
	for _, key := range []string{"pattern", "load", "open"} {
		if n := of.Get(key); n != nil && n.Text != resolved[key] {
			r.Warn(n.Spot, "%s has no effect: the endpoints of workload %s are ranks with a program", key, w.Name)
		}
	}
	return true
}

// mostPeers is the highest value of open.
const mostPeers = 4096
