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
	"fabemu/wire/unit"
)

// checkCounting refuses arrivals of which none would count. They begin at start and may end at
// stop; 0: at the end.
func (r *resolver) checkCounting(what string, of origin, start, stop, warmUp, drain unit.Duration) {
	if !r.timed() {
		return
	}
	end := r.s.Model.Duration
	until := min(scenario.Until(stop, drain, end), unit.Time(end))
	switch {
	case drain > 0 && stop > 0:
		r.Add(of.View.Spot("drain", of.Spot), "%s: stop and drain both set when arrivals stop: leave one of them out", what)
	case drain > 0 && until <= unit.Time(start):
		r.Add(of.View.Spot("drain", of.Spot), "%s: nothing would arrive: it starts at %v, and drain takes the last %v of %v: shorten drain, or give a longer model.duration",
			what, start, drain, end)
	case warmUp > 0 && unit.Time(start+warmUp) >= until:
		r.Add(of.View.Spot("warm-up", of.Spot), "%s: nothing would count: warm-up lasts until %v, and arrivals stop at %v: shorten warm-up, or give a longer model.duration",
			what, start+warmUp, until)
	}
}

func (r *resolver) resolveWorkloads() {
	for n, v := range r.items("workload") {
		name, over := n.Get("name"), n.Get("over")
		w := yaml.Build[scenario.Workload](v)
		w.Name, w.Over = name.Text, strings.TrimSpace(over.Value.(pattern.Names).Text)
		w.Control.Algorithm, w.Control.Params = chosen(r.Tables.Algorithms, v, "control", nil)
		w.Transport.Kind, w.Transport.Params = chosen(r.Tables.Transports, v, "transport", nil)
		of := r.originOf("workload", n, v)
		r.readSizes(&w.Size, v)
		r.readProgram(&w.Control, v)
		if r.checkWorkload(&w, of, name, over) {
			r.s.Workloads = append(r.s.Workloads, w)
			r.workloadOrigins = append(r.workloadOrigins, of)
			r.WorkloadOrigins = append(r.WorkloadOrigins, of.origin())
		} else {
			r.trafficLost = true
		}
	}
}

// checkWorkload refuses a workload that cannot run, and fills in the values that depend on the
// links of its endpoints.
func (r *resolver) checkWorkload(w *scenario.Workload, of origin, name, over *yaml.Node) bool {
	taken := func(f *scenario.Flow) bool { return f.Name == w.Name || f.Group == w.Name }
	switch {
	case slices.ContainsFunc(r.s.Flows, func(f scenario.Flow) bool { return taken(&f) }), r.linkNames[w.Name] != nil,
		slices.ContainsFunc(r.s.Workloads, func(o scenario.Workload) bool { return o.Name == w.Name }):
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
	if r.linked() {
		r.adaptSending(&f, of)
	}
	w.Priority, w.Source = f.Priority, f.Source
	if by := scenario.SharedBy(&f); by != "" {
		r.Add(of.View.Sub("control").Spot(by, of.Spot), "the flows of workload %s have their own limiters: omit control.%s", w.Name, by)
	}
	if end := r.s.Model.Duration; w.Start >= end && r.cut.Set == nil && r.timed() {
		r.Add(of.View.Spot("start", of.Spot), "the workload starts at %v, but %s", w.Start, r.runEnds())
	}
	switch {
	case w.Stop > 0 && w.Stop <= w.Start:
		r.Add(of.View.Spot("stop", of.Spot), "workload %s stops at %v and starts at %v", w.Name, w.Stop, w.Start)
	case w.Ranked() && w.WarmUp+w.Drain > 0:
		r.Add(of.View.Spot("warm-up", of.View.Spot("drain", of.Spot)), "workload %s has the program of a parallel job, which has no arrivals: leave warm-up and drain out", w.Name)
	default:
		r.checkCounting("workload "+w.Name, of, w.Start, w.Stop, w.WarmUp, w.Drain)
	}
	return true
}

// listed refuses a table of transfers that cannot be read.
func (r *resolver) listed(w *scenario.Workload, of origin) bool {
	w.Transfers = r.beside(w.Transfers, of.Get("transfers"))
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
func (r *resolver) ranked(w *scenario.Workload, of origin) bool {
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
		key, w.Goal = "goal", r.beside(w.Goal, of.Get("goal"))
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

// standIns is how many flows stand for an endpoint of a workload while the scenario is checked: as
// many as reach all links where endpoints are few, and enough of them where they are many.
const standIns = 64

// standIn adds flows instead of each workload: from each endpoint to others, evenly apart. So the
// checks of flows apply to workloads too. withdraw removes these flows.
func (r *resolver) standIn() {
	r.Own = len(r.s.Flows)
	for i, of := range r.workloadOrigins {
		w := &r.s.Workloads[i]
		names := w.Members()
		r.WorkloadOrigins[i].Index = len(r.s.Flows)
		step := max(1, (len(names)-1+standIns-1)/standIns)
		for n, from := range names {
			for k := 1; k < len(names); k += step {
				of.Index = len(r.s.Flows)
				r.s.Flows = append(r.s.Flows, w.Template(from, names[(n+k)%len(names)]))
				r.flowOrigins = append(r.flowOrigins, of)
				r.FlowOrigins = append(r.FlowOrigins, of.origin())
			}
		}
	}
}

func (r *resolver) withdraw() {
	r.s.Flows, r.flowOrigins = r.s.Flows[:r.Own:r.Own], r.flowOrigins[:r.Own:r.Own]
	r.FlowOrigins = r.FlowOrigins[:r.Own:r.Own]
}

// mostAtOnce is how many transfers may begin at one instant where each takes memory or time before
// any of them has left: transfers of flows, and events of incast, which each member draws.
const mostAtOnce = 4_000_000

// checkAtOnce refuses more transfers than can begin at one instant.
func (r *resolver) checkAtOnce() {
	all := 0.
	add := func(count, times int, of origin, what string) {
		before := all
		if all += float64(count) * float64(times); count > 1 && before <= mostAtOnce && all > mostAtOnce {
			r.Add(of.View.Spot("count", of.Spot), "%s: %.0f flows would start at one instant, and at most %d can: give a lower count, or a load",
				what, all, mostAtOnce)
		}
	}
	senders := map[[2]string]bool{}
	for i, of := range r.flowOrigins[:len(r.s.Flows)] {
		f := &r.s.Flows[i]
		if key := [2]string{f.Group, f.From}; f.Traffic == traffic.Transfers && f.Rate == 0 && !(f.Spread == scenario.Uniform && senders[key]) {
			senders[key] = true
			add(f.Count, 1, of, "flow "+f.Name)
		}
	}
	for i, of := range r.workloadOrigins {
		w := &r.s.Workloads[i]
		switch n := w.Range().Size(); {
		case w.Load > 0 || w.Ranked() || w.Transfers != "" || w.Pattern != traffic.Incast:
		default:
			add(w.Count, n, of, "workload "+w.Name)
		}
	}
}

// checkRanges refuses workloads whose transfers have not enough queue pairs.
func (r *resolver) checkRanges() {
	for i, q := range r.s.Ranges() {
		if w := &r.s.Workloads[i]; q.Each < uint32(w.Open) {
			r.Add(r.workloadOrigins[i].View.Spot("open", r.workloadOrigins[i].Spot),
				"workload %s has %d queue pairs for each of its %d endpoints, and sends %d flows at a time: queue pair numbers have 24 bits",
				w.Name, q.Each, len(w.Members()), w.Open)
		}
	}
}
