package fluid

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

const second = unit.Second

// low returns the loop whose instability the QCN talk shows: 50 sources, 9000 packets per
// second; of S. Low, F. Paganini, J. Wang, S. Adlakha, J. Doyle, "Dynamics of TCP/RED and a
// scalable control" (INFOCOM 2002).
func low(rtt unit.Duration) TCP {
	red := cp.REDParams{Min: unit.Room{Packets: 50}, Max: unit.Room{Packets: 550}, MaxP: 0.1, Weight: 1e-4, Gaps: cp.GeometricGaps}
	return TCP{Sources: 50, Capacity: 9000, RTT: rtt, Memory: 2000, Packet: 1000, AckEvery: 1, RED: red}
}

// swings returns how many times a minute the queue rises through its mean, and its standard
// deviation, in the second half of a run of 150 s.
func swings(t *testing.T, c TCP) (perMinute, deviation float64) {
	t.Helper()
	course, err := c.Solve(150*second, unit.Millisecond/2)
	if err != nil {
		t.Fatal(err)
	}
	mean := course.Mean(course.Queue, 75*second, 150*second)
	part := course.part(course.Queue, 75*second, 150*second)
	for i := 1; i < len(part); i++ {
		if part[i-1] < mean && part[i] >= mean {
			perMinute += 60 / 75.0
		}
	}
	return perMinute, course.Deviation(course.Queue, 75*second, 150*second)
}

// The loop rests where W^2 p = 2 and N W/R = C, and comes there by itself below the boundary.
func TestTCPComesToRest(t *testing.T) {
	for _, rtt := range []unit.Duration{20, 40, 60, 80} {
		for _, gaps := range []string{cp.GeometricGaps, cp.UniformGaps, cp.WaitGaps} {
			c := low(rtt * unit.Millisecond)
			c.RED.Gaps = gaps
			if gain, _, _ := c.Margin(); gain >= 1 {
				continue
			}
			rest, err := c.Rest()
			if err != nil {
				t.Fatal(err)
			}
			near(t, "W^2 p", rest.Window*rest.Window*rest.Lost, 2, 1e-6)
			near(t, "N W/R", 50*rest.Window/(c.RTT.Seconds()+rest.Queue/c.Capacity), c.Capacity, 1e-6)
			course, err := c.Solve(150*second, unit.Millisecond/2)
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("%v, %s: ", c.RTT, gaps)
			near(t, name+"queue", course.Queue[len(course.Queue)-1], rest.Queue, 0.01)
			near(t, name+"average", course.Average[len(course.Queue)-1], rest.Queue, 0.01)
			near(t, name+"window", course.Window[len(course.Queue)-1], rest.Window, 0.01)
		}
	}
}

// "TCP/RED becomes unstable when delay increases, or more strikingly, when link capacity
// increases" (Low et al., INFOCOM 2002, abstract). The boundary of the linear loop divides
// what the equations themselves do on either side of it.
func TestTCPBoundary(t *testing.T) {
	for _, b := range []struct {
		what      string
		low, high float64
		grows     bool // it is beyond the boundary that the loop oscillates
		set       func(c *TCP, v float64)
	}{
		{"RTT in ms", 10, 300, true, func(c *TCP, v float64) { c.RTT = unit.Duration(v * float64(unit.Millisecond)) }},
		{"capacity at an RTT of 40 ms", 3000, 40000, true, func(c *TCP, v float64) { c.RTT, c.Capacity = 40*unit.Millisecond, v }},
		{"sources at an RTT of 150 ms", 20, 400, false, func(c *TCP, v float64) { c.RTT, c.Sources = 150*unit.Millisecond, int(math.Round(v)) }},
	} {
		at, err := low(1).Boundary(b.low, b.high, b.set)
		if err != nil || math.IsNaN(at) {
			t.Fatalf("%s: no boundary: %v", b.what, err)
		}
		for _, by := range []float64{0.9, 1.1} {
			c := low(1)
			b.set(&c, at*by)
			gain, frequency, err := c.Margin()
			if err != nil {
				t.Fatal(err)
			}
			perMinute, deviation := swings(t, c)
			if unstable := (by > 1) == b.grows; gain > 1 != unstable || deviation > 20 != unstable || !unstable && deviation > 2 {
				t.Errorf("%s: at %.4g of a boundary of %.4g the gain is %.3g, and the queue swings by %.3g", b.what, at*by, at, gain, deviation)
			} else if unstable {
				near(t, b.what+": oscillations a minute", perMinute, 60*frequency, 0.25)
			}
		}
	}
	at, _ := low(1).Boundary(10, 300, func(c *TCP, v float64) { c.RTT = unit.Duration(v * float64(unit.Millisecond)) })
	if at < 80 || at > 100 {
		t.Errorf("the boundary of 50 sources at 9000 packets/s is an RTT of %.3g ms, want 80 to 100", at)
	}
}

// The share that is lost is one for each mean gap of RED itself.
func TestTCPLosesWhatREDDrops(t *testing.T) {
	c := low(unit.Millisecond)
	c.RED.MeanPacket, c.RED.Weight = 1000, 1
	for _, gaps := range []string{cp.GeometricGaps, cp.UniformGaps, cp.WaitGaps} {
		for _, gentle := range []bool{false, true} {
			c.RED.Gaps, c.RED.Gentle = gaps, gentle
			for _, length := range []int{40, 100, 500, 700, 1200} {
				red, err := cp.NewRED(c.RED, cp.Site{Ports: 1, Random: unit.NewRandom(1, 1)})
				if err != nil {
					t.Fatal(err)
				}
				dropped := 0.0
				const n = 100000
				for range n {
					q := cp.Queue{Frames: length, Rate: 72e6}
					if red.Admit(0, &wire.Frame{Kind: wire.Data}, q) == cp.Drop {
						dropped++
					}
				}
				if got, want := dropped/n, c.lost(float64(length)); math.Abs(got-want) > 0.04*want {
					t.Errorf("%s, gentle %v: of a queue of %d %.5g are dropped, want %.5g", gaps, gentle, length, got, want)
				}
			}
		}
	}
}

// A memory that is too small for RED to hold the sources has no rest, and loses what it has
// no room for.
func TestTCPWithAShortMemory(t *testing.T) {
	c := low(20 * unit.Millisecond)
	c.Memory = 60
	if _, err := c.Rest(); err == nil || !strings.Contains(err.Error(), "does not hold 50 windows") {
		t.Errorf("%v, want that there is no rest", err)
	}
	if _, err := c.Boundary(0.01, 0.1, func(*TCP, float64) {}); err == nil {
		t.Error("there is a boundary")
	}
	course, err := c.Solve(100*second, unit.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if most := slices.Max(course.Queue); most != 60 || slices.Max(course.Window[50000:]) > 40 {
		t.Errorf("the queue has up to %v packets, the window %v", most, slices.Max(course.Window[50000:]))
	}
}

func TestTCPRefuses(t *testing.T) {
	for want, change := range map[string]func(c *TCP){
		"0 sources":             func(c *TCP) { c.Sources = 0 },
		"an RTT of 0":           func(c *TCP) { c.RTT = 0 },
		"an ACK for 0 packets":  func(c *TCP) { c.AckEvery = 0 },
		"RED from 550 to 550":   func(c *TCP) { c.RED.Min = c.RED.Max },
		"weight 2":              func(c *TCP) { c.RED.Weight = 2 },
		"at most a fifth of":    func(c *TCP) { c.RTT = unit.Millisecond },
		"max-p 0":               func(c *TCP) { c.RED.MaxP = 0 },
		"a memory of 0 packets": func(c *TCP) { c.Memory = 0 },
	} {
		c := low(100 * unit.Millisecond)
		change(&c)
		if _, err := c.Solve(second, unit.Millisecond); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
