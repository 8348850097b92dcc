package scenario

import (
	"fmt"
	"path/filepath"

	"fabemu/emu/base/files"
	"fabemu/emu/scenario/pattern"
	nodes "fabemu/node"
	"fabemu/node/schedule"
	"fabemu/node/traffic"
	"fabemu/wire/unit"
)

// Workload is transfers among the endpoints of a group. It has no flow for each pair: each transfer
// is a flow of its own, with a queue pair or a connection, a rate limiter and a reaction point that
// begin and end with it.
type Workload struct {
	Name string `key:"name" form:"name" values:"a name such as web" need:"given" own:"true" doc:"Name of the workload."`
	// Endpoints that exchange flows.
	Over string `key:"over" form:"names" values:"a range of endpoints such as h[1-64]" need:"given" own:"true" also:"among|members"`
	// Destinations. uniform: any other, at random; permutation: a fixed other, at random; ring: the
	// next; all-to-all: each other in turn; incast: random groups of senders send to one at the
	// same instant.
	Pattern traffic.Pattern `key:"pattern" def:"uniform" means:"random=uniform|alltoall=all-to-all|shift=ring"`
	// Payload of each flow: a size or a distribution, built in (web-search, hadoop, storage) or as
	// points, each a size and the percentage of flows up to it, linear in between; two points of
	// one size are a step. {cdf: web-search} is the long form, and {cdf: sizes.txt} reads points
	// from a file: percentages, or shares if the last one is 1.
	Size Sizes `key:"size" def:"1MB" parts:"cdf=size" also:"sizes|cdf"`
	// Mean payload offered per endpoint as a share of its link rate; incast: of all, as a share of
	// their sum. Flows (incast: events) arrive as a Poisson process. Without load, each endpoint
	// starts with one flow per destination, and no more follow.
	Load float64 `key:"load" low:"above 0" high:"1" omit:"usual" values:"a part such as 0.5"`
	// Flows per endpoint; all-to-all: per destination; incast: events.
	Count int `key:"count" low:"1" high:"2147483648" computed:"1, or unlimited with a load" omit:"usual"`
	// incast: senders per event.
	Senders int `key:"senders" low:"1" high:"65535" computed:"all others" with:"pattern=incast"`
	// CSV file of flows, relative to the scenario, such as the transfers.csv of a run, instead of
	// pattern, size, load and count; columns at (since start), from, to and bytes.
	Transfers string `key:"transfers" form:"text" omit:"usual" also:"list|csv"`
	// Concurrent flows per endpoint; more wait.
	Open int `key:"open" def:"256" low:"1" high:"4096" also:"concurrency|queue-pairs"`
	// Collective operation, with the endpoints as ranks in order; size is the vector per rank,
	// count the number of rounds. Rounds have no global barrier.
	Collective string `key:"collective" words:"all-reduce|all-gather|reduce-scatter|all-to-all|broadcast|barrier" omit:"usual"`
	// all-reduce: ring (usual), halving-doubling; all-to-all: pairwise (usual), shift; all-gather,
	// reduce-scatter: ring; broadcast: binomial; barrier: dissemination.
	Algorithm schedule.Algorithm `key:"algorithm" def:"usual" omit:"usual"`
	Compute   unit.Duration      `key:"compute" def:"0s" omit:"usual" doc:"collective: computation per rank between rounds."`
	// GOAL text file with the sends, receives and computations of the ranks, the endpoints in
	// order. A message matches the first receive with its source and tag. If any tag is not 0, the
	// last packet of each message carries it: as 4 bytes of immediate data on InfiniBand and
	// RoCEv2, in the padding on Ethernet.
	Goal  string        `key:"goal" form:"text" omit:"usual"`
	Start unit.Duration `key:"start" def:"0s" also:"begin" doc:"Earliest arrival."`
	// Latest arrival. end: the end of the run.
	Stop unit.Duration `key:"stop" def:"end" none:"end" low:"above 0s" values:"a duration such as 60ms" also:"until"`
	// Time after start in which arrivals are in no figure.
	WarmUp unit.Duration `key:"warm-up" def:"0s" omit:"usual" also:"warmup"`
	// Time without arrivals at the end of the run, so that flows can complete. The run ends early
	// when nothing is left to do.
	Drain unit.Duration `key:"drain" def:"0s" omit:"usual" also:"cool-down"`
	// Ethernet: priority of its frames; higher ones are sent first, and pfc stops each separately.
	Priority uint8 `key:"priority" def:"0" low:"0" high:"7" omit:"usual" also:"class|pcp"`
	Source
}

// Until returns when arrivals stop that have a stop, or 0, and a drain, or 0, in a run of a length;
// unit.Never: they do not.
func Until(stop, drain, length unit.Duration) unit.Time {
	switch {
	case stop > 0:
		return unit.Time(stop)
	case drain > 0:
		return unit.Time(length - drain)
	}
	return unit.Never
}

// Range returns the endpoints of a workload.
func (w *Workload) Range() pattern.Names {
	p, _ := pattern.Parse(w.Over)
	return p
}

// Members returns the names of the endpoints of a workload, in their order.
func (w *Workload) Members() []string { return w.Range().List() }

// Template returns a flow with all that the transfers of a workload have in common, from one of its
// endpoints to another.
func (w *Workload) Template(from, to string) Flow {
	return Flow{Name: w.Name + "." + from + "." + to, Group: w.Name, From: from, To: to, Start: w.Start, Stop: w.Stop,
		Priority: w.Priority, Traffic: traffic.Transfers, Size: w.Size, WarmUp: w.WarmUp, Drain: w.Drain, Source: w.Source}
}

// Complete fills in how many endpoints send at an event of incast.
func (w *Workload) Complete(given func(key string) bool) {
	if w.Pattern == traffic.Incast && !given("senders") {
		w.Senders = max(w.Range().Size()-1, 1)
	}
	w.Source.Complete(given)
}

// Ranked reports whether the endpoints are ranks of a parallel job.
func (w *Workload) Ranked() bool { return w.Collective != "" || w.Goal != "" }

func (w *Workload) Operation() schedule.Collective {
	c := schedule.Collective{Algorithm: w.Algorithm, Ranks: len(w.Members()), Repeat: w.Count, Compute: w.Compute}
	for i, word := range c.Kind.Words() {
		if word == w.Collective {
			c.Kind = schedule.Operation(i)
		}
	}
	if d := w.Size.Distribution(); c.Kind != schedule.Barrier {
		c.Size, _ = d.Single()
	}
	return c
}

// Schedule returns the schedule of a GOAL file. The file stays open as long as the schedule is
// used.
func (w *Workload) Schedule() (*schedule.Goal, error) {
	f, err := files.Open(w.Goal)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	g, err := schedule.ReadGoal(f, info.Size())
	if err != nil {
		err = fmt.Errorf("%s: %w", filepath.Base(w.Goal), err)
	} else if g.Ranks() != len(w.Members()) {
		err = fmt.Errorf("it has %d ranks, and workload %s is over %d endpoints", g.Ranks(), w.Name, len(w.Members()))
	}
	return g, err
}

// Offered returns the payload that an endpoint with a line offers, of incast all endpoints
// together.
func (w *Workload) Offered(lines []unit.Rate, self int) unit.Rate {
	sum := lines[self]
	if w.Pattern == traffic.Incast {
		sum = 0
		for _, l := range lines {
			sum += l
		}
	}
	return unit.Rate(w.Load * float64(sum))
}

// Ranges returns the queue pairs of each workload. They follow the queue pairs of the flows.
func (s *Scenario) Ranges() (all []nodes.QPRange) {
	first, members := uint32(len(s.Flows)+FirstQP), 0
	for i := range s.Workloads {
		members += len(s.Workloads[i].Members())
	}
	for i := range s.Workloads {
		each := uint32(1) << 16
		for each > 1 && uint64(each)*uint64(members) > lastQP-uint64(first) {
			each /= 2
		}
		all = append(all, nodes.QPRange{First: first, Each: each})
		first += each * uint32(len(s.Workloads[i].Members()))
		members -= len(s.Workloads[i].Members())
	}
	return all
}

// lastQP is the greatest queue pair number: 24 bits, without the multicast number 0xFFFFFF.
const lastQP = 1<<24 - 2
