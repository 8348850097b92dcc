package guests

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"fabemu/emu/mistake"
	"fabemu/emu/scenario"
)

// minRTO is the least retransmission timeout of Linux' TCP, TCP_RTO_MIN.
const minRTO = 200 * time.Millisecond

// mostRTO keeps a least timeout below TCP_RTO_MAX, 120 s.
const mostRTO = time.Minute

// kernelTCP returns the congestion control that TCP has where nobody says otherwise; empty
// where that is not known.
func kernelTCP() string {
	b, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	return strings.TrimSpace(string(b))
}

// checkTCP refuses, at a dilation above 1, a congestion control whose law has times in it that
// nobody has asked for: a guest's kernel lives in wall time, and its seconds are a dilation-th
// of one in model time. CUBIC's window grows by 0.4 t^3 segments (RFC 9438), so by D^3 as much;
// BBR measures the least round trip once in 10 s.
func checkTCP(s *scenario.Scenario, usual string) error {
	if s.Wall.Dilation == 1 || !slices.Contains([]string{"cubic", "bbr"}, usual) {
		return nil
	}
	for i := range s.Endpoints {
		if g := &s.Endpoints[i].Guest; g.Kind != "" && g.TCP == "" {
			return mistake.Errorf("guest %s would have the kernel's congestion control, %s, whose times mean nothing at dilation %d: give it tcp: reno, or tcp: %s to have that all the same",
				s.Endpoints[i].Name, usual, s.Wall.Dilation, usual)
		}
	}
	return nil
}

// dilate returns the least retransmission timeout to set in guests so that it is the usual one
// in model time; 0 at dilation 1. It warns of what cannot be set.
func (g *Guests) dilate() time.Duration {
	d := g.fabric.Scenario.Wall.Dilation
	if d == 1 {
		return 0
	}
	rto := min(minRTO*time.Duration(d), mostRTO)
	in := func(wall time.Duration) string {
		return fmt.Sprintf("%v", (wall / time.Duration(d)).Round(time.Microsecond))
	}
	g.warnOnce("dilation", "guests live in wall time, of which dilation %d makes this in model time: the least RTO of TCP is %s (set to %v on the routes between guests), an ACK is delayed by up to %s, a SYN is sent again after %s; processors are %d times as fast",
		d, in(rto), rto, in(200*time.Millisecond), in(time.Second), d)
	return rto
}
