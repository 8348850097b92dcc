package assemble_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/fabric"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/scenario/resolve"
	"fabemu/switchd"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// lanesSeen counts the events of a run on lanes.
type lanesSeen struct {
	tally
	from      unit.Time        // deliveries count from here on
	delivered map[uint32]int   // by flow, packets
	started   map[[2]uint8]int // by kind of frame and lane
}

func (c *lanesSeen) Record(e *trace.Event) {
	c.tally.Record(e)
	switch kind, _, _ := trace.FrameOf(e.A); {
	case e.Kind == trace.Deliver && e.At >= c.from:
		c.delivered[e.Flow]++
	case e.Kind == trace.Start:
		c.started[[2]uint8{uint8(kind), e.Lane}]++
	}
}

// playLanes runs a scenario with further changes, and counts deliveries from its middle on.
func playLanes(t *testing.T, text string, changes ...drive.Change) (*drive.Setup, *lanesSeen) {
	t.Helper()
	s, err := resolve.Load("lanes.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	seen := &lanesSeen{tally: tally{kinds: map[trace.Kind]int{}, drops: map[trace.Reason]int{}},
		from: unit.Time(s.Model.Duration / 2), delivered: map[uint32]int{}, started: map[[2]uint8]int{}}
	events := trace.NewBatch(1, seen)
	made, err := assemble.New(f, assemble.Schemes{}, events)
	if err != nil {
		t.Fatal(err)
	}
	made.Changes = append(made.Changes, changes...)
	if _, err := (drive.Virtual{}).Run(context.Background(), made); err != nil {
		t.Fatal(err)
	}
	events.Flush()
	if len(seen.broken) > 0 {
		t.Fatalf("%d violations, the first: %+v", len(seen.broken), seen.broken[0])
	}
	return made, seen
}

// shares returns the shares of the first n flows in all deliveries.
func (c *lanesSeen) shares(n int) []float64 {
	all, out := 0, make([]float64, n)
	for i := range out {
		all += c.delivered[uint32(i+fabric.FirstQP)]
	}
	for i := range out {
		out[i] = float64(c.delivered[uint32(i+fabric.FirstQP)]) / float64(all)
	}
	return out
}

// turnsOf is an independent computation of the shares of lanes that always have a packet of some
// blocks: turn by turn instead of packet by packet. A turn is as many packets as it takes to use up
// its weight. In the time of a packet of low priority, high has as many as it takes to use up its
// limit; it is lane 3 alone.
func turnsOf(low []int, high bool, limit, blocks int) []float64 {
	up := func(n int) float64 { return math.Ceil(float64(n) / float64(blocks)) }
	shares, all := make([]float64, 4), 0.0
	for vl, weight := range low {
		shares[vl] = up(weight)
		all += up(weight)
	}
	if high {
		shares[3] = all * up(max(limit*64, 1))
		all += shares[3]
	}
	for vl := range shares {
		shares[vl] /= all
	}
	return shares
}

// Arbitration divides a link as the tables say, at an output of a switch and at an endpoint.
func TestModelArbitrationOfARun(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const head = `name: shares
model: {duration: 40ms}
defaults:
  link: {rate: 1GB/s, lanes: {max-vls: 4, vlarb-high: "HIGH", vlarb-low: "LOW", high-limit: LIMIT}}
  flow: {window: 8}
`
	places := map[string]string{
		"switch": `switches: {S: {}}
endpoints: ["h[0-3]", r]
links: ["h[0-3] - S", "S - r"]
flows: [{name: f0, from: h0, to: r, sl: 0}, {name: f1, from: h1, to: r, sl: 1}, {name: f2, from: h2, to: r, sl: 2}, {name: f3, from: h3, to: r, sl: 3}]
`,
		"endpoint": `switches: {S: {}}
endpoints: ["r[0-3]", h]
links: ["r[0-3] - S", "S - h"]
flows: [{name: f0, from: h, to: r0, sl: 0}, {name: f1, from: h, to: r1, sl: 1}, {name: f2, from: h, to: r2, sl: 2}, {name: f3, from: h, to: r3, sl: 3}]
`,
	}
	for _, c := range []struct {
		low, high, limit string
		want             []float64
	}{
		{"0:64,1:192,2:64,3:64", "none", "0", turnsOf([]int{64, 192, 64, 64}, false, 0, 33)},
		{"0:33,1:66,2:99,3:132", "none", "0", []float64{0.1, 0.2, 0.3, 0.4}},
		{"0:10,1:200,2:100,3:255", "none", "0", turnsOf([]int{10, 200, 100, 255}, false, 0, 33)},
		{"0:64,1:192,2:64", "3:64", "0", turnsOf([]int{64, 192, 64}, true, 0, 33)},
		{"0:64,1:192,2:64", "3:64", "3", turnsOf([]int{64, 192, 64}, true, 3, 33)},
		{"0:64,1:192,2:64", "3:64", "255", []float64{0, 0, 0, 1}},
	} {
		for place, rest := range places {
			t.Run(place+" "+c.low+" "+c.high+" "+c.limit, func(t *testing.T) {
				_, seen := playLanes(t, replaced(head+rest, "LOW", c.low, "HIGH", c.high, "LIMIT", c.limit))
				for vl, got := range seen.shares(4) {
					if math.Abs(got-c.want[vl]) > 0.01 {
						t.Errorf("VL%d has %.4f of the link, want %.4f", vl, got, c.want[vl])
					}
				}
			})
		}
	}
}

// replaced returns a text with words replaced, each by the one behind it.
func replaced(text string, words ...string) string {
	return strings.NewReplacer(words...).Replace(text)
}

// ring is four switches, each with an endpoint that sends to the one two hops on, clockwise.
const ring = `name: ring
model: {duration: 4ms}
defaults:
  link: {rate: 1GB/s, lanes: {max-vls: LANES, head-of-queue-lifetime: LIFE}}
  flow: {window: 16, timeout: TIMEOUT}
switches: {"S[0-3]": {}}
endpoints: ["n[0-3]"]
links: ["n[0-3] - S[0-3]", S0 - S1, S1 - S2, S2 - S3, S3 - S0]
routes: [{at: S0, to: n2, over: S0 - S1}, {at: S1, to: n3, over: S1 - S2}, {at: S2, to: n0, over: S2 - S3}, {at: S3, to: n1, over: S3 - S0}]
flows: [{name: a, from: n0, to: n2}, {name: b, from: n1, to: n3}, {name: c, from: n2, to: n0, sl: SL}, {name: d, from: n3, to: n1, sl: SL}]
`

// "A ring of switches with one VL deadlocks": the cycle is found, by lane. It does not if the flows
// across one link have another lane, by their service level or by the input at which they enter the
// first switch behind that link.
func TestModelLanesKeepARingFromDeadlock(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, c := range []struct {
		name, lanes, sl, rules string
		found                  int
	}{
		{"one lane", "1", "0", "", 1},
		{"two lanes, one of them in use", "2", "0", "", 1},
		{"a service level", "2", "1", "", 0},
		{"a rule at a switch", "2", "0", `sl2vl: [{at: S0, from: S3 - S0, over: S0 - S1, lanes: "1"}]` + "\n", 0},
		{"a rule for another input", "2", "0", `sl2vl: [{at: S0, from: n0 - S0, over: n0 - S0, lanes: "1"}]` + "\n", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			made, seen := playLanes(t, replaced(ring, "LANES", c.lanes, "LIFE", "never", "TIMEOUT", "never", "SL}", c.sl+"}")+c.rules)
			if len(made.Watch.Found) != c.found {
				t.Fatalf("found %+v, want %d cycles", made.Watch.Found, c.found)
			}
			for _, d := range made.Watch.Found {
				if len(d.Cycle) != 4 || d.Cycle[0].Class != 0 || d.Cycle[0].Block != port.NoCredit {
					t.Errorf("%+v, want four outputs that wait for credit on VL0", d)
				}
			}
			for flow, share := range seen.shares(4) {
				if c.found == 0 && math.Abs(share-0.25) > 0.01 {
					t.Errorf("flow %d has %.3f of all packets, want a quarter", flow, share)
				}
			}
			if len(seen.drops) > 0 {
				t.Errorf("drops: %v", seen.drops)
			}
		})
	}
}

// With a lifetime at the head of a queue the ring drops frames, and goes on.
func TestModelLifetimeEndsADeadlock(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	made, seen := playLanes(t, replaced(ring, "LANES", "1", "LIFE", "50us", "TIMEOUT", "200us", "SL}", "0}"))
	if len(made.Watch.Found) > 0 || seen.drops[trace.LifetimeOver] == 0 {
		t.Errorf("found %+v; drops %v", made.Watch.Found, seen.drops)
	}
	for flow, share := range seen.shares(4) {
		if !(share > 0.05) { // NaN, if nothing is delivered
			t.Errorf("flow %d has %.3f of all packets", flow, share)
		}
	}
}

// ACKs have the lane behind the data lanes, or the one of their service level.
func TestLaneOfACKs(t *testing.T) {
	const text = `name: acks
model: {duration: 200us}
defaults: {link: {rate: 1GB/s, lanes: LANES}, flow: {window: 2, ack-sl: ACKSL}}
switches: {S: {}}
endpoints: [a, b]
links: [a - S, b - S]
flows: [{name: f, from: a, to: b, sl: 5}]
`
	for _, c := range []struct {
		lanes, ack     string
		dataVL, ackVL  uint8
		controlHighest uint8
	}{
		{"1", "apart", 0, 1, 1}, {"1", "9", 0, 0, 0}, {"8", "apart", 5, 8, 8}, {"8", "9", 5, 1, 7}, {"15", "14", 5, 14, 14}, {"4", "3", 1, 3, 3},
	} {
		t.Run(c.lanes+" "+c.ack, func(t *testing.T) {
			_, seen := playLanes(t, replaced(text, "LANES", c.lanes, "ACKSL", c.ack))
			for place, n := range seen.started {
				highest := map[wire.Kind]uint8{wire.Data: c.dataVL, wire.Ack: c.ackVL, wire.FlowControl: c.controlHighest}[wire.Kind(place[0])]
				if n == 0 || place[1] > highest || place[1] < highest && wire.Kind(place[0]) != wire.FlowControl {
					t.Errorf("%d frames of kind %v on VL%d", n, wire.Kind(place[0]), place[1])
				}
			}
			if len(seen.started) != 2+1+int(c.controlHighest) {
				t.Errorf("frames by kind and lane: %v", seen.started)
			}
		})
	}
}

// Exceptions from the lanes of links count from the beginning, or from a time on, as a subnet
// manager changes them.
func TestModelTablesChangeDuringARun(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const text = `name: changes
model: {duration: 8ms}
routing: {recompute: 1ms} # packets may overtake one another: a packet with a new lane those that wait on the old one
defaults: {link: {rate: 1GB/s, lanes: 2}, flow: {window: 8}}
switches: {S: {}}
endpoints: ["h[0-2]"]
links: ["h[0-2] - S"]
flows: [{name: f0, from: h0, to: h2, sl: 0}, {name: f1, from: h1, to: h2, sl: 1}]
sl2vl: [RULES]
`
	for _, c := range []struct {
		name, rules string
		want        []float64
	}{
		{"nothing", "", []float64{0.5, 0.5}},
		{"arbitration", `{at: S, over: h2 - S, vlarb-low: "0:64,1:192"SINCE}`, []float64{0.25, 0.75}},
		{"arbitration of another node", `{at: h2, vlarb-low: "0:64,1:192"SINCE}`, []float64{0.5, 0.5}},
		{"arbitration that gives a lane no weight", `{at: S, vlarb-low: "0:64"SINCE}`, []float64{1, 0}},
		{"arbitration that gives a lane of an endpoint no weight", `{at: h0, vlarb-low: "1:64"SINCE}`, []float64{0, 1}},
		{"lanes of a switch", `{at: S, vlarb-low: "0:64,1:192"SINCE}, {at: S, lanes: "1"SINCE}`, []float64{0.5, 0.5}},
		{"lanes of one input, which drop packets", `{at: S, from: h0 - S, over: h2 - S, lanes: "15,1"SINCE}`, []float64{0, 1}},
		{"lanes of an endpoint", `{at: h0, lanes: "1"SINCE}`, []float64{0.5, 0.5}},
		{"lanes of an endpoint that do not exist", `{at: h0, lanes: "7"SINCE}`, []float64{0, 1}},
	} {
		for _, since := range []string{"", ", since: 1ms"} {
			t.Run(c.name+since, func(t *testing.T) {
				_, seen := playLanes(t, replaced(text, "RULES", strings.ReplaceAll(c.rules, "SINCE", since)))
				for i, got := range seen.shares(2) {
					if math.Abs(got-c.want[i]) > 0.01 {
						t.Errorf("flow %d has %.4f of the link, want %.4f", i, got, c.want[i])
					}
				}
			})
		}
	}
}

// A table of routes with a loop: frames go round until the two switches wait for each other, which
// is found, or until the lifetime of the head of a queue drops them. A table that names a port that
// does not exist changes nothing.
func TestModelRoutesWithALoop(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const text = `name: loop
model: {duration: 4ms}
defaults: {link: {rate: 1GB/s, lanes: {head-of-queue-lifetime: LIFE}}, flow: {window: 64, timeout: 300us}}
switches: {S: {}, T: {}}
endpoints: [a, b]
links: [a - S, b - T, S - T]
flows: [{name: f, from: a, to: b}]
`
	const toPeer = port.ID(1) // of T, which has b at port 0
	loop := switchd.Routes{To: slices.Repeat([]port.ID{toPeer}, 5)}
	change := func(r switchd.Routes) drive.Change {
		return drive.Change{At: unit.Time(unit.Millisecond), Node: 1, Makes: port.RoutesChange{Routes: r}}
	}
	for _, c := range []struct {
		name, life string
		routes     switchd.Routes
		found      int
		drops      bool
		delivers   bool
	}{
		{"deadlock", "never", loop, 1, false, false},
		{"lifetime", "50us", loop, 0, true, false},
		{"no such port", "never", switchd.Routes{To: slices.Repeat([]port.ID{9}, 5)}, 0, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			made, seen := playLanes(t, replaced(text, "LIFE", c.life), change(c.routes))
			if got := seen.drops[trace.LifetimeOver] > 0; len(made.Watch.Found) != c.found || got != c.drops || (seen.delivered[fabric.FirstQP] > 0) != c.delivers {
				t.Errorf("found %+v; drops %v; delivered %v", made.Watch.Found, seen.drops, seen.delivered)
			}
		})
	}
}
