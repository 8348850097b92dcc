//go:build !race

package emu

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"fabemu/emu/fabric"
	"fabemu/emu/proc"
	"fabemu/emu/runtest"
	"fabemu/emu/scenario"
	"fabemu/emu/scenarios"
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

// With --timing actual machines are told the measured time. The kernel's time stamps on
// the receiving socket of a source's link say that what its limiter lets go is what its
// reaction point asks for. The limiter makes up for the lateness of this computer: for ten
// packets' at the quickest pace, and for as much wall time, but two packets at least, at
// slower ones, where less is sent.
func TestWallDeparturesFollowTheReactionPoint(t *testing.T) {
	for name, sources := range map[string]string{"qcn/unit-step": "A[1-10]", "bcn/convergence": "A[1-4]"} {
		t.Run(name, func(t *testing.T) { departuresFollow(t, name, sources) })
	}
}

// departuresFollow runs a scenario with two of its sources.
func departuresFollow(t *testing.T, name, sources string) {
	paces := []pace{{"200", "20ms"}, {"500", "10ms"}, {"1000", "5ms"}, {"2000", "4ms"}, {"5000", "3ms"}}
	atSomePace(t, paces, func(t *testing.T, p pace) (complaints []string) {
		src, err := scenarios.Read(name)
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
			{"defaults.switch.memory", "500KB per port"}, {"defaults.switch.high", "400KB"}, {"defaults.switch.low", "300KB"}, // nobody is paused
		} {
			sets = append(sets, scenario.Set{Path: s[0], Value: s[1]})
		}
		s, err := scenario.Load(name+".yaml", []byte(text), sets)
		if err != nil {
			t.Fatal(err)
		}
		dilation := float64(s.Wall.Dilation)
		point := &reaction{flow: fabric.FirstQP}
		var stamps []int64
		var epoch time.Time
		o := Options{Timing: ActualTiming, Sink: point, test: proc.Hooks{
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
