package lint

import (
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// guests warns of guests that can only send, or only receive.
func guests(s *scenario.Site, p *scenario.Problems) {
	if all, _ := s.Guests(); all == 0 {
		return
	}
	pairs := map[[2]string]bool{}
	for i := range s.Flows {
		pairs[[2]string{s.Flows[i].From, s.Flows[i].To}] = true
	}
	for i := range s.Flows {
		if f := &s.Flows[i]; s.IsGuest(f.From) && s.IsGuest(f.To) && !pairs[[2]string{f.To, f.From}] {
			p.Add(s.Flow(i).Path(),
				"there is no flow from guest %s back to %s: programs that wait for an answer, such as TCP and ping, get none",
				f.To, f.From)
		}
	}
}

// rxeTimeout is the time without an ACK after which a queue pair retransmits: 4.096 µs times a
// power of two (IBTA Volume 1, 9.9.2.1.3), the 14th with the tools of perftest.
const (
	rxeTimeout  = 4096 * unit.Nanosecond
	rxeExponent = 14
)

// timeouts warns of queues on the path of RDMA programs that can hold packets for longer than
// these programs wait.
func timeouts(s *scenario.Site, p *scenario.Problems) {
	adapted := func(e scenario.Endpoint) bool { return e.Guest.Adapter != "" }
	if !slices.ContainsFunc(s.Endpoints, adapted) {
		return
	}
	inputs, of := queues(s)
	overruns := overruns(s)
	for i := range s.Flows {
		f := &s.Flows[i]
		if of == nil || s.EndpointOf(f.From).Guest.Adapter == "" {
			continue
		}
		total, parts := unit.Duration(0), []string{}
		for _, q := range of[i] {
			most, link := boundOf(s, q, inputs[q], overruns).total, &s.Links[q.link]
			total += link.Rate.Serialise(most)
			parts = append(parts, fmt.Sprintf("%v for link %s at %v", most, link.Name, link.Rate))
		}
		exponent, wall := rxeExponent, total
		if d := unit.Duration(max(1, s.Wall.Dilation)); total < unit.Duration(unit.Never)/d {
			wall = total * d
		}
		for ; exponent < 31 && rxeTimeout<<exponent <= wall; exponent++ {
		}
		if exponent > rxeExponent {
			p.Add(s.Flow(i).Path(), "packets of flow %s may wait for %v of wall time (%s; dilation %d), and RDMA programs retransmit after %v, 4.096us x 2^%d: give them 2^%d (ib_write_bw -u %d), or the switches less memory",
				f.Name, wall, strings.Join(parts, " and "), s.Wall.Dilation, rxeTimeout<<rxeExponent, rxeExponent, exponent, exponent)
		}
	}
}
