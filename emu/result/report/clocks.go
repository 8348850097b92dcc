package report

import (
	"fmt"
	"time"

	"fabemu/emu/fabric"
	"fabemu/emu/run/pace"
	"fabemu/wire/unit"
)

// Clocks records how well the clocks of the hosts of a run agreed. Each host keeps to its own
// clock. Its distance from the clock of rank 0 is measured before the run, and again at its end.
type Clocks struct {
	ErrorPacketTimes Number      `json:"error_packet_times"` // the largest ErrorUs, in T of the links between hosts; missing without the measurement at the end
	Hosts            []HostClock `json:"hosts"`
}

// HostClock compares the clock of a host with the clock of rank 0, in wall time.
type HostClock struct {
	Host        string `json:"host"`
	OffsetUs    Number `json:"offset_us"`     // how far it was ahead; the run allowed for it
	ErrorUs     Number `json:"error_us"`      // how far it may have been off nevertheless: half of the round trip, and the drift
	DriftUs     Number `json:"drift_us"`      // how much further it was ahead at the end
	RoundTripUs Number `json:"round_trip_us"` // the least
}

// ClocksOf puts measurements of the clocks of hosts into the terms of the verdict; between lists
// the wires that lead from one host to another. It returns nil for a run on one host.
func ClocksOf(f *fabric.Fabric, clocks []pace.HostClock, between []int) *Clocks {
	if len(clocks) == 0 {
		return nil
	}
	longest, shortest := f.Longest(), unit.Duration(0)
	for _, w := range between {
		if t := longest[w]; t > 0 && (shortest == 0 || t < shortest) {
			shortest = t
		}
	}
	us := func(d time.Duration) Number { return Number(float64(d) / 1e3) }
	c := &Clocks{}
	var worst time.Duration
	measured := shortest > 0
	for _, x := range clocks {
		h := HostClock{Host: x.Part, OffsetUs: us(x.Offset), ErrorUs: us(x.Error), DriftUs: us(x.Drift), RoundTripUs: us(x.RoundTrip)}
		if !x.Measured {
			measured, h.DriftUs = false, Missing()
		}
		worst = max(worst, x.Error)
		c.Hosts = append(c.Hosts, h)
	}
	c.ErrorPacketTimes = Missing()
	if measured {
		c.ErrorPacketTimes = Number(worst.Seconds() / (shortest.Seconds() * float64(f.Scenario.Wall.Dilation)))
	}
	return c
}

// timed reports whether the clocks of a run keep the limits.
func (l *limits) timed(c *Clocks) bool {
	return c == nil || l.clocks == noLimit || c.ErrorPacketTimes <= l.clocks
}

// clockWords describes how far the clocks of hosts agree.
func clockWords(c *Clocks) string {
	limit := limitsOf()[1].clocks
	switch {
	case c == nil:
		return ""
	case !c.ErrorPacketTimes.Known():
		return ", how far the clocks of the hosts drifted is not known"
	case c.ErrorPacketTimes > limit:
		return fmt.Sprintf(", the clocks of the hosts agree only within %s of a packet time (limit: %s)",
			c.ErrorPacketTimes.Percent(), limit.Percent())
	}
	return fmt.Sprintf(", the clocks of the hosts agree within %s of a packet time", c.ErrorPacketTimes.Percent())
}
