//go:build timing

package emu

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/resolve"
	"fabemu/node"
	"fabemu/wire/link"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// asked is the rate that a reaction point asked for, from an instant on.
type asked struct {
	from unit.Time
	rate unit.Rate
}

// reaction notes what the reaction point of a flow asks for.
type reaction struct {
	flow  uint32
	rates []asked
}

// Record notes a change of the rate.
func (r *reaction) Record(e *trace.Event) {
	if e.Kind == trace.Limit && e.Flow == r.flow {
		r.rates = append(r.rates, asked{e.At, unit.Rate(e.A)})
	}
}

// allowed returns how many bytes those rates let through between two instants of model
// time.
func allowed(rates []asked, from, to float64) float64 {
	sum := 0.0
	for i, r := range rates {
		end := to
		if i+1 < len(rates) {
			end = min(to, float64(rates[i+1].from))
		}
		if begin := max(from, float64(r.from)); end > begin {
			sum += r.rate.BytesPerSecond() * (end - begin) / 1e12
		}
	}
	return sum
}

// With --timing actual limiters have the measured time. The kernel's time stamps on
// the receiving socket of a source's link say that what its limiter releases it is what its
// reaction point asks for. The limiter makes up for the lateness of this machine: for ten
// packets' at the quickest pace, and for as much wall time, but two packets at least, at
// slower ones, where less is sent.
func TestWallDeparturesFollowTheReactionPoint(t *testing.T) {
	for name, sources := range map[string]string{"qcn/unit-step": "A[1-10]", "bcn/convergence": "A[1-4]"} {
		t.Run(name, func(t *testing.T) { departuresFollow(t, name, sources) })
	}
}

// departuresFollow runs a scenario with two of its sources.
func departuresFollow(t *testing.T, name, sources string) {
	paces := []atPace{{"200", "10ms"}, {"500", "10ms"}, {"1000", "5ms"}, {"2000", "4ms"}, {"5000", "3ms"}}
	atSomePace(t, paces, func(t *testing.T, p atPace) (complaints []string) {
		src, err := builtin.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(string(src), "\nexpect:")
		text = strings.ReplaceAll(text, sources, "A[1-2]") + "\n"
		var sets []scenario.Set
		at, err := strconv.Atoi(p.dilation)
		if err != nil {
			t.Fatal(err)
		}
		depth := float64(max(15_000*200/at, 3000))
		for _, s := range [][2]string{
			{"model.duration", p.duration}, {"measure.window", "500us"}, {"wall.dilation", p.dilation}, {"defaults.flow.depth", fmt.Sprint(depth, "B")},
			{"defaults.switch.memory", "500KB per port"}, {"defaults.switch.high", "400KB"}, {"defaults.switch.low", "300KB"}, // no PAUSE
		} {
			sets = append(sets, scenario.Set{Path: s[0], Value: s[1]})
		}
		s, err := resolve.Load(name+".yaml", []byte(text), sets)
		if err != nil {
			t.Fatal(err)
		}
		dilation := float64(s.Wall.Dilation)
		point := &reaction{flow: fabric.FirstQP}
		var stamps []int64
		var epoch time.Time
		o := Options{Settings: Settings{Timing: ActualTiming, Link: UDP}, Sink: point, test: process.Hooks{
			Epoch: func() { epoch = time.Now() },
			Wrap: func(l link.Link) link.Link {
				return runtest.Stamped(l, func(datagram []byte, at int64) {
					if _, ok := runtest.Frame(datagram, 0); ok { // the first link, from A1
						stamps = append(stamps, at)
					}
				})
			},
		}}
		r, err := Run(context.Background(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		slew := float64(now.UnixNano()-epoch.UnixNano()) / float64(now.Sub(epoch))
		rates := point.rates
		if len(rates) < 2 || len(stamps) < 50 {
			return append(complaints, "too few frames to tell")
		}
		model := func(at int64) float64 { return float64(at-epoch.UnixNano()) / slew / dilation * 1000 }
		// From some time after the first notification, by when the bucket is as full as it
		// will be.
		first := 0
		for first < len(stamps)-1 && model(stamps[first]) < float64(rates[0].from)+100e6 {
			first++
		}
		last := len(stamps) - 1
		sent := 1500 * float64(last-first)
		want := allowed(rates, model(stamps[first]), model(stamps[last]))
		t.Logf("dilation %s: %d frames, %d rates; %.0f bytes left where %.0f were asked for, %.4f of them; verdict %s, timing %s", p.dilation, last-first, len(rates), sent, want, sent/want, r.Verdict.Level, o.Timing)
		if want < 20*depth {
			complaints = append(complaints, "too few bytes to tell")
		}
		if sent > want*1.01+depth+1500 {
			complaints = append(complaints, "more left than the reaction point and the bucket allow")
		}
		if math.Abs(sent/want-1) > 0.05 {
			complaints = append(complaints, "what left is not within 5 % of what the reaction point asked for")
		}
		return complaints
	})
}

// measuredCalls is a limiter that notes the instants that it is handed, and when it really was.
type measuredCalls struct {
	node.RateLimiter
	all  []measuredCall
	lets []unit.Time // the instants of those calls of Next that let a packet start, of packets that started
	let  unit.Time
}

type measuredCall struct {
	handed unit.Time
	wall   int64
}

func (m *measuredCalls) note(now unit.Time) {
	m.all = append(m.all, measuredCall{now, time.Now().UnixNano()})
}

func (m *measuredCalls) Next(now unit.Time, n unit.Size) unit.Time {
	m.note(now)
	at := m.RateLimiter.Next(now, n)
	if at == now {
		m.let = now
	}
	return at
}

func (m *measuredCalls) Sent(now unit.Time, n unit.Size) {
	m.note(now)
	m.lets = append(m.lets, m.let)
	m.RateLimiter.Sent(now, n)
}

func (m *measuredCalls) SetRate(now unit.Time, r unit.Rate) {
	m.note(now)
	m.RateLimiter.SetRate(now, r)
}

// incastText is eight limited senders and a receiver at 10 Gb/s.
const incastText = `
name: incast
model: {duration: 1ms}
defaults:
  link: {rate: 10Gb/s, buffer: 4 packets}
  switch: {marking: {scheme: input-output, threshold: 6}}
  flow: {packet: 2048B, control: {algorithm: lipd}}
switches: {left: {}}
endpoints: ["sender[1-8]", receiver]
links: ["sender[1-8] - left", left - receiver]
flows: [{name: incast, from: "sender[1-8]", to: receiver}]
`

// The kernel's time stamps say that no packet left before the instant as of which its limiter let
// it start, and that half of them left within half a packet time after it; and no limiter was
// handed an instant that was still to come. The run clock is not held, because stamps are compared
// with its epoch.
func TestWallStampsFollowTheLimiter(t *testing.T) {
	paces := []atPace{{"200", "10ms"}, {"1000", "5ms"}, {"5000", "3ms"}, {"20000", "1ms"}}
	atSomePace(t, paces, func(t *testing.T, p atPace) (complaints []string) {
		s := runtest.Load(t, incastText, runtest.Sets(t, "model.duration="+p.duration, "wall.dilation="+p.dilation)...)
		var stamps []int64
		var epoch time.Time
		m := &measuredCalls{}
		o := Options{Settings: Settings{Timing: ActualTiming, Link: UDP, Hold: mode.HoldOff}, Verify: VerifyOff, test: process.Hooks{
			Epoch: func() { epoch = time.Now() },
			Wrap: func(l link.Link) link.Link {
				return runtest.Stamped(l, func(datagram []byte, at int64) {
					if _, ok := runtest.Frame(datagram, 0); ok { // the first link, from sender1
						stamps = append(stamps, at)
					}
				})
			},
		}}
		o.Schemes.Limiter = func(f *fabric.Flow, line unit.Rate) node.RateLimiter {
			if f.QP != fabric.FirstQP {
				return nil
			}
			m.RateLimiter = node.NewTokenBucket(line, 15_000)
			return m
		}
		r, err := Run(context.Background(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		slew := float64(now.UnixNano()-epoch.UnixNano()) / float64(now.Sub(epoch))
		model := func(at int64) float64 {
			return float64(at-epoch.UnixNano()) / slew / float64(s.Wall.Dilation) * 1000
		}
		const packet = 2068 * 800e3 / 1e3 // at 10 Gb/s, in ps
		if len(stamps) != len(m.lets) || len(stamps) < 20 {
			t.Fatalf("%d packets left, and the limiter let %d start", len(stamps), len(m.lets))
		}
		var late []float64
		for i, at := range stamps {
			late = append(late, (model(at)-float64(m.lets[i]))/packet)
		}
		ahead := 0.0
		for _, c := range m.all[1:] { // the first is before the run
			ahead = max(ahead, (float64(c.handed)-model(c.wall))/packet)
		}
		slices.Sort(late)
		t.Logf("dilation %s: %d packets left from %.4f to %.4f, in the median %.4f packet times after the limiter let them; it was handed instants %.5f ahead; %s", p.dilation, len(late), late[0], late[len(late)-1], late[len(late)/2], ahead, r.Verdict.Level)
		const exact = 0.002 // of a packet time: how well the epoch is known
		if late[0] < -exact {
			t.Errorf("a packet left %v packet times before it was let", -late[0])
		}
		if ahead > exact {
			t.Errorf("the limiter was handed an instant that was %v packet times ahead", ahead)
		}
		if late[len(late)/2] > 0.5 {
			complaints = append(complaints, "half of the packets are more than half a packet time late")
		}
		return complaints
	})
}
