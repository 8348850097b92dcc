package guest

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/scenario"
)

// A KernelTime is a wall time that a guest's kernel keeps to. It is shorter in model time, unless
// it is set.
type KernelTime struct {
	What  string        `json:"what"`
	Usual time.Duration `json:"usual_ns"`
	Wall  time.Duration `json:"wall_ns"`      // in guests
	Model time.Duration `json:"model_ns"`     // in guests, in model time
	By    string        `json:"by,omitempty"` // the setting that changes it; empty: none
	unit  time.Duration // of a parameter of the kernel
}

// minRTO is the least retransmission timeout of Linux' TCP, TCP_RTO_MIN.
const minRTO = 200 * time.Millisecond

// The longest times that are set: a least RTO below TCP_RTO_MAX, 120 s; others in 31 bits of
// ticks, of which there are up to 1000 in a second.
const (
	mostRTO = time.Minute
	mostSet = math.MaxInt32 * time.Millisecond
)

// KernelTimes returns the times of Linux' TCP and IP (include/net/tcp.h, and
// Documentation/networking/ip-sysctl.rst) in a guest at a dilation. Times that can be set are
// multiplied by the dilation.
func KernelTimes(dilation int64) []KernelTime {
	all := []KernelTime{
		{What: "least RTO", Usual: minRTO, By: "rto_min of the routes between guests"},
		{What: "FIN-WAIT-2", Usual: time.Minute, By: "net.ipv4.tcp_fin_timeout", unit: time.Second},
		{What: "keepalive, first", Usual: 2 * time.Hour, By: "net.ipv4.tcp_keepalive_time", unit: time.Second},
		{What: "keepalive, again", Usual: 75 * time.Second, By: "net.ipv4.tcp_keepalive_intvl", unit: time.Second},
		{What: "SACK withheld, at most", Usual: time.Millisecond, By: "net.ipv4.tcp_comp_sack_delay_ns",
			unit: time.Nanosecond},
		{What: "fragments of IP kept", Usual: 30 * time.Second, By: "net.ipv4.ipfrag_time", unit: time.Second},
		{What: "ACK delayed, at least", Usual: 40 * time.Millisecond},
		{What: "ACK delayed, at most", Usual: 200 * time.Millisecond},
		{What: "first RTO, SYN sent again", Usual: time.Second},
		{What: "greatest RTO", Usual: 2 * time.Minute},
		{What: "TIME-WAIT", Usual: time.Minute},
	}
	for i := range all {
		k := &all[i]
		k.Wall = k.Usual
		switch {
		case k.unit > 0:
			k.Wall = min(k.Usual*time.Duration(dilation), mostSet).Truncate(k.unit)
		case k.By != "":
			k.Wall = min(k.Usual*time.Duration(dilation), mostRTO)
		}
		k.Model = k.Wall / time.Duration(dilation)
	}
	return all
}

// kernelTCP returns the kernel's default congestion control of TCP; empty: not known.
func kernelTCP() string {
	b, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	return strings.TrimSpace(string(b))
}

// checkTCP refuses, at a dilation D above 1, a default congestion control whose algorithm has times
// in it: a guest's kernel lives in wall time, and its second is a D-th of a second of model time.
// CUBIC's window grows by 0.4 t^3 segments (RFC 9438), so D^3 times as fast. BBR measures the
// least round trip once in 10 s.
func checkTCP(s *scenario.Scenario, usual string) error {
	for i := range s.Endpoints {
		if g := &s.Endpoints[i].Guest; g.Attached() && s.Wall.Dilation != 1 {
			return errs.Errorf("guest %s existed before the run: its kernel keeps its times, so it requires a dilation of 1, and this one is %d",
				s.Endpoints[i].Name, s.Wall.Dilation)
		}
	}
	if s.Wall.Dilation == 1 || !slices.Contains([]string{"cubic", "bbr"}, usual) {
		return nil
	}
	for i := range s.Endpoints {
		if g := &s.Endpoints[i].Guest; g.Kind.Real() && g.TCP == "" {
			return errs.Errorf("guest %s would have the kernel's congestion control, %s, whose times mean nothing at dilation %d: give it tcp: reno, or tcp: %s to keep it",
				s.Endpoints[i].Name, usual, s.Wall.Dilation, usual)
		}
	}
	return nil
}

// dilate returns the least retransmission timeout to set in guests, so that it is the usual one
// in model time (0 at dilation 1), and the kernel settings for other times. It warns of times
// that cannot be set.
func (g *Guests) dilate() (rto time.Duration, parameters map[string]string) {
	d, parameters := g.fabric.Scenario.Wall.Dilation, map[string]string{}
	if d == 1 {
		return 0, parameters
	}
	g.times = KernelTimes(d)
	var short []string
	for _, k := range g.times {
		if k.unit > 0 {
			parameters[k.By] = fmt.Sprint(int64(k.Wall / k.unit))
		}
		if k.Model < k.Usual {
			short = append(short, fmt.Sprintf("%s %v", k.What, k.Model.Round(time.Microsecond)))
		}
	}
	g.warnOnce("dilation",
		"guests live in wall time: in model time, at dilation %d, their processors are %d times as fast, and these are shorter than usual: %s",
		d, d, strings.Join(short, "; "))
	return g.times[0].Wall, parameters
}
