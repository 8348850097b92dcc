package metrics

import (
	"math"
	"reflect"
	"strconv"
	"strings"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Ethernet reports whether a link is one of Ethernet.
func (x At) Ethernet() bool { return InBytes(x.c.fabric, x.Hop.Wire) }

func (x At) infiniBand() bool { return !x.Ethernet() }

// fromSwitch reports whether a switch sends into a link.
func (x At) fromSwitch() bool {
	return x.c.fabric.Nodes[x.c.fabric.Wires[x.Hop.Wire].Ends[x.Hop.From].Node].Switch != nil
}

// portState returns the state of the port that sends into a link, or of the port at its end.
func (x At) portState(far bool) *PortState {
	end := x.Hop.From
	if far {
		end = 1 - end
	}
	p := x.c.fabric.Wires[x.Hop.Wire].Ends[end]
	return x.Port(p.Node, p.Port)
}

// sentTotal is a counter of the port that sends into a link, and ofFlow of a flow.
func sentTotal(column int) func(At) float64 {
	return func(x At) float64 { return float64(x.c.last(x.c.out(x.Hop) + column)) }
}

func ofFlow(column int) func(At) float64 {
	return func(x At) float64 { return float64(x.c.last(x.c.ofFlows + x.Flow*flowColumns + column)) }
}

// whole is the bytes of the data frames that have begun on a link.
func whole(x At) float64 { return float64(x.c.tallies[x.c.out(x.Hop)/portColumns].Bytes) }

// dropped are the frames that were discarded at the end of a link for some reasons.
func dropped(why ...trace.Reason) func(At) float64 {
	return func(x At) (n float64) {
		if d := x.c.drops[x.c.in(x.Hop)/portColumns]; d != nil {
			for _, r := range why {
				n += float64(d[r])
			}
		}
		return n
	}
}

// discards are the drops at the end of a link without those by faults of the link.
func discards(x At) float64 {
	return float64(x.c.last(x.c.in(x.Hop)+inDrops)) - dropped(trace.LostOnLink, trace.BadFCS)(x)
}

// packets are data frames and ACKs.
func packets(x At) float64 { return sentTotal(outFrames)(x) + sentTotal(outAcks)(x) }

// octets are those between the delimiters that a link of InfiniBand has carried, in units of 4.
func octets(x At) float64 {
	ack := x.c.fabric.Framing().Length(&wire.Frame{Kind: wire.Ack, Family: wire.InfiniBand})
	return math.Floor((whole(x) + sentTotal(outAcks)(x)*float64(ack)) / 4)
}

// words is a time in units of 4 octets on the link, that of PortSamplesControl.
func words(of func(At) float64) func(At) float64 {
	return func(x At) float64 {
		return math.Floor(of(x) / float64(max(x.c.fabric.Wires[x.Hop.Wire].Link.Rate.Serialise(4), 1)))
	}
}

// queued is how many bytes wait for a link; not a number where it cannot be found.
func queued(x At) float64 {
	if n := x.portState(false).Queue; n >= 0 {
		return float64(n)
	}
	return math.NaN()
}

// activeRate is the rate of a flow over the time in which it had something to send.
func activeRate(x At) float64 {
	active := unit.Duration(0)
	for _, a := range x.Active() {
		active += a.To.Sub(a.From)
	}
	return ofFlow(flowBytes)(x) / active.Seconds()
}

// resent is a counter of the flows that send lost packets again; 0 of others.
func resent(column int) func(At) float64 {
	return func(x At) float64 {
		if x.c.ofStreams == 0 {
			return 0
		}
		return float64(x.c.last(x.c.ofStreams + x.Flow*tcpColumns + column))
	}
}

// inBytes and inBlocks are figures of buffers that are counted so; not a number of others.
func inBytes(of func(At) float64) func(At) float64 { return where(At.Ethernet, of) }

func inBlocks(of func(At) float64) func(At) float64 { return where(At.infiniBand, of) }

func where(is func(At) bool, of func(At) float64) func(At) float64 {
	return func(x At) float64 {
		if is(x) {
			return of(x)
		}
		return math.NaN()
	}
}

// meanHeld and mostHeld are how full the buffer at the end of a link was over the run.
func meanHeld(x At) float64 {
	return ratio(float64(x.c.last(x.c.in(x.Hop)+inOccupancy)), float64(x.Until()))
}

func mostHeld(x At) float64 { return float64(x.c.tallies[x.c.in(x.Hop)/portColumns].Most) }

// own is a count that an object has itself, by its key in JSON; not a number where it does not.
func own(key string) func(At) float64 {
	return func(x At) float64 {
		if x.Counts == nil {
			return math.NaN()
		}
		for f, v := range reflect.Indirect(reflect.ValueOf(x.Counts)).Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == key {
				return float64(v.Int())
			}
		}
		return math.NaN()
	}
}

// counts reports whether an object counts itself.
func (x At) counts() bool { return x.Counts != nil }

// ownOr is a count that an adapter has itself, and of others a counter of the flows of Ethernet
// that begin (0) or end (1) there.
func ownOr(key string, end, column int) func(At) float64 {
	return func(x At) (n float64) {
		if x.counts() {
			return own(key)(x)
		}
		for _, i := range x.c.objects.ends()[end][x.Node] {
			if x.c.fabric.Flows[i].Family == wire.Ethernet {
				n += ofFlow(column)(At{View: x.View, Flow: i})
			}
		}
		return n
	}
}

// byLevel passes on a counter of the flows that begin (0) or end (1) at an endpoint, by their
// service level.
func byLevel(end, column int) func(At, PartFunc) {
	return func(x At, part PartFunc) {
		var sums [ServiceLevels]float64
		for _, i := range x.c.objects.ends()[end][x.Node] {
			sums[x.c.fabric.Flows[i].SL] += ofFlow(column)(At{View: x.View, Flow: i})
		}
		for sl, n := range sums {
			part(strconv.Itoa(sl), n)
		}
	}
}

// ServiceLevels is how many service levels InfiniBand has.
const ServiceLevels = 16

// pauseFrames passes on the PFC frames that came to an endpoint, by their priority.
func pauseFrames(x At, part PartFunc) {
	for p, n := range x.Classes(x.Node, 0) {
		part(strconv.Itoa(p), float64(n))
	}
}

// Conversions to the units of Prometheus.
func inSeconds(ps float64) float64 { return unit.Duration(ps).Seconds() }

func bytesInBits(bytes float64) float64 { return 8 * bytes }

func blocksInBytes(n float64) float64 { return n * wire.BlockSize }

// nanoseconds are the ticks of node_exporter, of model time.
func nanoseconds(ps float64) float64 { return math.Round(unit.Duration(ps).Seconds() * 1e9) }

// reasonsOf passes on how often something happened at the port that sends into a link, by the
// reason.
func reasonsOf(of func(*trace.Reasons) []int64) func(At, PartFunc) {
	return func(x At, part PartFunc) {
		if why := x.c.causes[x.c.out(x.Hop)/portColumns]; why != nil {
			for _, r := range ReasonCounts(of(why)) {
				part(r.Reason.String(), float64(r.Count))
			}
		}
	}
}

// positive is a reader of a state that is not known where it is 0.
func positive(of func(At) float64) func(At) float64 {
	return func(x At) float64 {
		if v := of(x); v > 0 {
			return v
		}
		return math.NaN()
	}
}

// stalledBy passes on the times in counters by cause, of the causes that occurred.
func stalledBy(first func(At) int) func(At, PartFunc) {
	return func(x At, part PartFunc) {
		for b := port.LinkBusy; b < port.Blocks; b++ {
			if t := x.c.last(first(x) + int(b)); t > 0 {
				part(b.String(), float64(t))
			}
		}
	}
}

// Counters of ports and flows that are drawn.
func outColumn(column int) func(At, string) int {
	return func(x At, _ string) int { return x.c.out(x.Hop) + column }
}

func inColumn(column int) func(At, string) int {
	return func(x At, _ string) int { return x.c.in(x.Hop) + column }
}

func flowColumn(column int) func(At, string) int {
	return func(x At, _ string) int { return x.c.ofFlows + x.Flow*flowColumns + column }
}

func windowColumn(x At, _ string) int { return x.c.ofStreams + x.Flow*tcpColumns + tcpWindow }

// stallColumn is the counter of a cause that occurred, behind the first of them.
func stallColumn(first func(At, string) int) func(At, string) int {
	return func(x At, cause string) int {
		if b := causesOf(cause); len(b) == 1 {
			if column := first(x, "") + int(b[0]); x.c.last(column) > 0 {
				return column
			}
		}
		return -1
	}
}

// hasQueue reports whether frames have waited at the output to a link of Ethernet, hasTarget
// whether a reaction point had a target, and hasWindow whether a flow has a congestion window.
func hasQueue(x At) bool { return x.Ethernet() && x.c.last(x.c.out(x.Hop)+outQueue) > 0 }

func hasTarget(x At) bool { return ofFlow(flowTarget)(x) > 0 }

func hasWindow(x At) bool { return x.c.hasWindow(x.Flow) }

// truth is 1 or 0.
func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
