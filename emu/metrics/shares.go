package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// fairRate is the share of some flows together in a fair allocation, in bytes per second, among all
// flows that are active at some time of an interval. The capacity of a link is its mean over the
// interval, as is the capacity of a destination that takes frames in. A flow wants no more than the
// rate that it offers, and no more than its limiter ever allows.
func fairRate(rates func(paths [][]int, room []float64) []float64) formula {
	return func(t taken) float64 { return t.c.fair(rates, t.object.flows, t.from, t.to) }
}

func (c *Collector) fair(rates func(paths [][]int, room []float64) []float64, flows []int, from, to unit.Time) float64 {
	active := c.active(from, to)
	var room []float64              // of each thing that is shared
	numbers := make(map[[2]int]int) // of a direction of a wire, or of a destination: the index of its room
	share := func(id [2]int, rate float64) int {
		k, known := numbers[id]
		if !known {
			k = len(room)
			numbers[id], room = k, append(room, rate)
		}
		return k
	}
	paths, several := make([][]int, len(active)), map[string]int{}
	for n, i := range active {
		f := &c.fabric.Flows[i]
		for _, level := range c.fabric.Levels(f) { // equal links are one, with the sum of their capacities
			id, sum := [2]int{level[0].Wire, level[0].From}, 0.0
			for _, h := range level {
				sum += c.capacity(h.Wire, from, to)
			}
			if len(level) > 1 {
				key := fmt.Sprint(level)
				if _, known := several[key]; !known {
					several[key] = len(several)
				}
				id = [2]int{-1, several[key]}
			}
			paths[n] = append(paths[n], share(id, sum))
		}
		if rate, limited := serviceOf(c.scenario, f.To, from, to); limited {
			paths[n] = append(paths[n], share([2]int{f.Dst, -1}, rate))
		}
		for _, most := range []unit.Rate{f.Rate, f.RateLimit} {
			if most > 0 {
				paths[n] = append(paths[n], len(room))
				room = append(room, most.BytesPerSecond())
			}
		}
	}
	of := make(map[int]float64)
	for n, rate := range rates(paths, room) {
		of[active[n]] = rate
	}
	sum := 0.0
	for _, i := range flows {
		sum += of[i]
	}
	return sum
}

// serviceOf returns how fast an endpoint takes frames in, on average of an interval, in
// bytes per second; not limited where it takes all that come at some time of it.
func serviceOf(s *scenario.Scenario, endpoint string, from, to unit.Time) (rate float64, limited bool) {
	now := scenario.Unlimited
	for i := range s.Endpoints {
		if s.Endpoints[i].Name == endpoint && s.Endpoints[i].Service > 0 {
			now = s.Endpoints[i].Service
		}
	}
	at := from
	events := slices.Clone(s.Events)
	slices.SortStableFunc(events, func(a, b scenario.Event) int { return cmp.Compare(a.At, b.At) })
	for _, e := range events {
		service := e.Touch().Service
		if e.Endpoint != endpoint || service == 0 || unit.Time(e.At) >= to {
			continue
		}
		if t := unit.Time(e.At); t > at {
			if now == scenario.Unlimited {
				return 0, false
			}
			rate, at = rate+now.BytesPerSecond()*t.Sub(at).Seconds(), t
		}
		now = service
	}
	if now == scenario.Unlimited {
		return 0, false
	}
	return (rate + now.BytesPerSecond()*to.Sub(at).Seconds()) / to.Sub(from).Seconds(), true
}

// maxMinRates returns the max-min fair rates of flows: no flow can have more unless another flow
// has less that has no more than the first. paths lists the rooms of each flow. All rates rise
// together until a room is full; the flows in it keep their rates (D. Bertsekas, R. Gallager, Data
// Networks, section 6.5.2: progressive filling).
func maxMinRates(paths [][]int, room []float64) []float64 {
	rates, left := make([]float64, len(paths)), append([]float64{}, room...)
	free := make([]bool, len(paths))
	for i := range free {
		free[i] = true
	}
	for {
		in := make([]int, len(room)) // how many free flows take of each room
		for i, path := range paths {
			for _, k := range path {
				if free[i] {
					in[k]++
				}
			}
		}
		step, full := math.Inf(1), -1
		for k, n := range in {
			if n > 0 && left[k]/float64(n) < step {
				step, full = left[k]/float64(n), k
			}
		}
		if full < 0 {
			return rates
		}
		for k, n := range in {
			left[k] = max(left[k]-step*float64(n), 0)
		}
		left[full] = 0
		stop := make([]bool, len(paths))
		for i, path := range paths {
			if !free[i] {
				continue
			}
			rates[i] += step
			for _, k := range path {
				stop[i] = stop[i] || left[k] <= 1e-12*room[k]
			}
		}
		for i := range free {
			free[i] = free[i] && !stop[i]
		}
	}
}

// proportionalRates returns the rates of flows that are proportionally fair: of all that fit
// the sum of their logarithms is the greatest (F. Kelly, Charging and rate control for
// elastic traffic, 1997). Each room has a price, and a flow has one over the sum of those on
// its path; a price is 0, or so that its room is full. They are set one after another until
// none moves any more.
func proportionalRates(paths [][]int, room []float64) []float64 {
	price := make([]float64, len(room))
	in := make([][]int, len(room))
	for i, path := range paths {
		for _, k := range path {
			in[k] = append(in[k], i)
		}
	}
	for k, flows := range in {
		if len(flows) > 0 && room[k] > 0 {
			price[k] = float64(len(flows)) / room[k]
		}
	}
	others := make([]float64, len(paths))
	for range 100_000 {
		moved := 0.0
		for k, flows := range in {
			if len(flows) == 0 {
				continue
			}
			for _, i := range flows {
				others[i] = 0
				for _, other := range paths[i] {
					if other != k {
						others[i] += price[other]
					}
				}
			}
			want := func(p float64) (sum float64) {
				for _, i := range flows {
					sum += 1 / (others[i] + p)
				}
				return sum
			}
			low, high := 0.0, float64(len(flows))/room[k] // at which all together fit whatever the others cost
			if want(low) > room[k] {
				for range 60 {
					if p := (low + high) / 2; want(p) > room[k] {
						low = p
					} else {
						high = p
					}
				}
				low = high
			}
			moved = max(moved, math.Abs(low-price[k])*room[k])
			price[k] = low
		}
		if moved < 1e-12 {
			break
		}
	}
	rates := make([]float64, len(paths))
	for i, path := range paths {
		sum := 0.0
		for _, k := range path {
			sum += price[k]
		}
		rates[i] = 1 / sum
	}
	return rates
}
