//go:build timing

package node_test

import (
	"testing"

	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/node/spray"
	"fabemu/node/uet"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// contexts are two endpoints, and flows of UET from one to the other, which spray and are under
// NSCC and RCCC. Now and then a packet is trimmed.
type contexts struct {
	a, b    *node.Endpoint
	now     unit.Time
	flying  []port.Transmission
	arrival port.Arrival
	packets int // that have arrived
	trimmed int
}

func newContexts(t testing.TB, flows int) *contexts {
	t.Helper()
	p := ultra(func(p *uet.Params) {
		p.Spray, p.Entropies, p.Seed, p.Timeout = spray.Mixed, 16, 1, unit.Second
	})
	var row rp.Algorithm
	for _, l := range rp.Algorithms() {
		if l.Name == "nscc-rccc" {
			row = l
		}
	}
	site := rp.Site{Line: gigabyte, Length: 1100, Payload: 1024, Trip: 12 * us, Random: unit.NewRandom(1, 1)}
	params := param.Defaults(row.Params)
	from, to := node.Config{LID: 1, Port: ethernetPort()}, node.Config{LID: 2, Port: ethernetPort()}
	for i := range flows {
		f := uetFlow(p)
		reaction, err := row.New(params, site)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := row.Answer(params, site)
		if err != nil {
			t.Fatal(err)
		}
		site.Beside = answer
		f.QP, f.Reaction, f.Limiter = uint32(i+2), reaction, node.NewInterPacketDelay(gigabyte)
		from.Flows = append(from.Flows, f)
		to.Sinks = append(to.Sinks, node.Sink{QP: f.QP, Source: 1, Lane: f.Lane, Transport: f.Transport, Answer: answer})
	}
	c := &contexts{flying: make([]port.Transmission, 0, 1024)}
	var err error
	if c.a, err = node.New(from, nil); err != nil {
		t.Fatal(err)
	}
	if c.b, err = node.New(to, nil); err != nil {
		t.Fatal(err)
	}
	return c
}

// carry takes what an endpoint sends to the other one.
func (c *contexts) carry(from, to *node.Endpoint) {
	c.flying = c.flying[:0]
	for tr, ok := from.Poll(); ok; tr, ok = from.Poll() {
		c.flying = append(c.flying, *tr)
	}
	for i := range c.flying {
		tr := &c.flying[i]
		c.now = max(c.now, tr.Due)
		if tr.Frame.Kind == wire.Data {
			if c.packets++; c.packets%50 == 7 && tr.Frame.Trim(76, 11) {
				c.trimmed++
			}
		}
		c.arrival = port.Arrival{Frame: tr.Frame, Head: tr.Start, Tail: tr.Start.Add(tr.Duration), Length: tr.Length}
		to.Receive(c.now, 0, &c.arrival)
	}
	to.Advance(c.now)
}

// round lets both endpoints do what is due.
func (c *contexts) round() {
	c.a.Advance(c.now)
	c.carry(c.a, c.b)
	c.carry(c.b, c.a)
	c.now = max(c.now, min(c.a.Deadline(), c.b.Deadline()))
}

// An endpoint with ten thousand contexts allocates nothing per packet: sources, windows, credit and
// its turns, paths, ACKs, and retransmissions of trimmed packets.
func TestAllocsOfContexts(t *testing.T) {
	const flows = 10000
	c := newContexts(t, flows)
	for c.packets < 10*flows {
		c.round()
	}
	c.packets, c.trimmed = 0, 0
	if n := testing.AllocsPerRun(5*flows, c.round); n != 0 {
		t.Errorf("a round allocates %v times", n)
	}
	if c.packets < 3*flows || c.trimmed < flows/50 {
		t.Errorf("%d packets, and %d trimmed: the test does not test", c.packets, c.trimmed)
	}
}
