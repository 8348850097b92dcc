package port

import (
	"strings"
	"testing"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

func TestParseResponse(t *testing.T) {
	for text, want := range map[string]Response{
		"67 quanta": {Quanta: 67}, "1 quantum": {Quanta: 1}, "1 quanta": {Quanta: 1}, "65535 quanta": {Quanta: 65535},
		"2us": {Time: 2 * us}, "0s": {}, "0 quanta": {}, "1s": {Time: MaxResponse},
	} {
		got, err := ParseResponse(text)
		if err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
		if again, err := ParseResponse(got.String()); err != nil || again != got {
			t.Errorf("%q is printed as %q, which is %+v, %v", text, got, again, err)
		}
	}
	for text, want := range map[string]string{
		"67": `write "67 quanta"`, "-1 quanta": "from 0 to 65535", "65536 quanta": "from 0 to 65535",
		"1.5 quanta": "from 0 to 65535", "2 packets": "unit", "": "no unit", "-1s": "", "1001ms": "at most 1s",
	} {
		if got, err := ParseResponse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %+v, %v; want %q", text, got, err, want)
		}
	}
	if got := (Response{Quanta: 67}).At(tenGigabit); got != 67*51200 {
		t.Errorf("67 quanta are %v at 10 Gb/s, and 51.2 ns each", got)
	}
}

// The port sends until the response is over, completes its frame, and continues as much later than
// it is told to. An order that comes in between counts from its own arrival.
func TestResponse(t *testing.T) {
	const response = 5 * us
	for _, kind := range []FlowControl{PauseFrames, PriorityPauseFrames} {
		c := etherLink(kind)
		c.Response = Response{Time: response}
		p := newPair(t, c, BufferConfig{Room: 1 << 30})
		tell := func(quanta uint16) {
			f := wire.Frame{Kind: wire.Pause, Src: 2, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: quanta})}
			if kind == PriorityPauseFrames {
				f = wire.Frame{Kind: wire.PriorityPause, Src: 2, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: quanta, Classes: 1, Stopped: uint8(min(quanta, 1))})}
			}
			p.ports[0].Receive(p.now, &Arrival{Frame: f, Head: p.now, Length: 64})
		}
		p.run(at(10*us + 1))
		tell(MaxQuanta) // from 15 us on
		p.run(at(12*us + 1))
		tell(0) // from 17 us on
		p.run(at(14*us + 1))
		tell(100) // from 19 us to 24.12 us
		p.run(at(40 * us))
		stops := [][2]unit.Time{{at(15*us + 1), at(17*us + 1)}, {at(19*us + 1), at(24*us + 120*ns + 1)}}
		var last unit.Time
		for _, tr := range p.seen[0] {
			idle := tr.Start - last
			for _, s := range stops {
				if tr.Start >= s[0] && tr.Start < s[1] {
					t.Errorf("%v: a frame starts at %v, in a stop from %v", kind, tr.Start, s)
				}
				if last < s[1] && tr.Start >= s[1] {
					if tr.Start != s[1] {
						t.Errorf("%v: after the stop until %v a frame starts at %v", kind, s[1], tr.Start)
					}
					idle = 0
				}
			}
			if idle > 0 {
				t.Errorf("%v: the line is idle from %v to %v", kind, last, tr.Start)
			}
			last = tr.Start.Add(tr.Duration)
		}
	}
}

// A port that has nothing to send keeps no orders that have taken effect, and a link that comes up
// has none of those before.
func TestOrdersDoNotPileUp(t *testing.T) {
	c := etherLink(PauseFrames)
	c.Response = Response{Quanta: 10}
	p := newPair(t, c, BufferConfig{Room: 1 << 30})
	pt := p.ports[0]
	for i := range 1000 {
		f := wire.Frame{Kind: wire.Pause, Src: 2, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: uint16(i & 1)})}
		pt.Receive(at(unit.Duration(i)*200*ns), &Arrival{Frame: f, Length: 64})
		if n := len(pt.Pausing().late.waiting); n > 3 {
			t.Fatalf("%d orders wait for their 512 ns, one each 200 ns", n)
		}
	}
	now := at(200 * us)
	for _, change := range []Change{LinkDown{}, LinkUp{}} {
		pt.Apply(now, change)
	}
	if n := len(pt.Pausing().late.waiting); n > 0 {
		t.Errorf("%d orders after the link was down", n)
	}
}

// The published calculators of headroom, as sums of the bytes that still arrive. fabemu counts a
// PAUSE frame and, because a memory counts whole frames, the frame that reaches the watermark but
// for two bytes: one is below the watermark, and one is in the last frame that begins.
//
// SONiC: "propagation_delay = port_mtu + bytes_on_cable + 2 * bytes_on_gearbox + mac_phy_delay +
// peer_response_time", and that plus lossless_mtu is xoff (sonic-net/sonic-swss,
// cfgmgr/buffer_headroom_mellanox.lua; without small packets, before it is rounded up to KiB); its
// responses are those of IEEE 802.3, 31B.3.7. Cisco: "MTU on the transmitting end of receiver R",
// the wire in both directions (641 bytes for 100 m at 10 Gb/s), the response of 60 quanta, and the
// MTU of the sender (white paper "Priority Flow Control: Build Reliable Layer 2 Infrastructure").
func TestHeadroomOfPublishedCalculators(t *testing.T) {
	for _, c := range []struct {
		name           string
		rate           unit.Rate
		quanta         uint16
		cable, ends    unit.Size // in one direction; in the interfaces of both ends
		frame, reverse unit.Size
	}{
		{"Cisco, 100 m", tenGigabit, 60, 641, 0, 9216, 9216},
		{"SONiC, 10 Gb/s", tenGigabit, 67, 625, 2048, 1024, 9100},
		{"SONiC, 25 Gb/s", 25e9, 80, 625, 2048, 1024, 9100},
		{"SONiC, 40 Gb/s", 40e9, 118, 1000, 2048, 9100, 9100},
		{"SONiC, 100 Gb/s", 100e9, 394, 2500, 4096, 9100, 9100},
		{"SONiC, 400 Gb/s", 400e9, 905, 75_000, 4096, 9100, 9100},
	} {
		const pause = 84 // with preamble and gap
		published := c.frame + c.reverse + 2*c.cable + c.ends + unit.Size(c.quanta)*64
		h := Headroom{Rate: c.rate, There: c.rate.Serialise(c.cable), Back: c.rate.Serialise(c.cable + c.ends),
			Frame: c.frame, Reverse: c.reverse, Pause: pause, Response: Response{Quanta: c.quanta}}
		if got, want := h.Bytes(), published+pause+c.frame-2; got != want {
			t.Errorf("%s: the headroom is %d bytes, want %d: %d are published", c.name, got, want, published)
		}
	}
}

// With the responses of the standard the headroom is enough at each rate, and with one byte less a
// frame is lost, in the worst case: the frame that reaches the watermark was one byte below it, a
// frame of the receiver has just begun, and the last frame of the sender begins with the last byte
// of the time that it has. The lengths of the cable have these two frames be whole.
func TestHeadroomWithResponseIsLeast(t *testing.T) {
	for rate, quanta := range map[unit.Rate]uint16{10e9: 67, 25e9: 80, 40e9: 118, 100e9: 394, 400e9: 905} {
		const frame, back, pause = 1501, 9000, 64
		cable := unit.Size(1)
		for (2*cable+unit.Size(quanta)*64+back+pause)%frame != 1 {
			cable++
		}
		link := etherLink(PauseFrames)
		link.Rate, link.Response, link.Propagation = rate, Response{Quanta: quanta}, rate.Serialise(cable)
		h := Headroom{Rate: rate, There: link.Propagation, Back: link.Propagation, Frame: frame, Reverse: back, Pause: pause, Response: link.Response}
		const high = 20*frame + 1
		reached := at(21*rate.Serialise(frame) + link.Propagation)
		for less, want := range map[unit.Size]bool{0: false, 1: true} {
			p := newPair(t, link, BufferConfig{Room: high + h.Bytes() - less, High: high})
			p.size, p.back, p.quiet = frame, back, reached-1
			p.run(at(500 * us))
			lost := p.count(trace.Violation, trace.Overrun)
			if got := lost > 0; got != want {
				t.Errorf("%v, %d bytes of cable: headroom of %d less %d: %d frames have no room", rate, cable, h.Bytes(), less, lost)
			}
		}
	}
}
