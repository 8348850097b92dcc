package draw

import (
	"fmt"
	"math"
	"strings"

	"fabemu/emu/fabric"
)

// Loads is how the frames of flows are divided among equal outputs: what drawings say about them.
type Loads struct {
	of      map[fabric.Hop]load
	caption string
}

// load is that of one output.
type load struct {
	words string
	over  float64 // an even share is 1; not a number where nothing is divided
}

// FlowLoads returns how many flows have each of equal outputs: by the hash of switches, or a part
// of them where switches or sources choose for each packet. Transfers of workloads, each of which
// has a hash of its own, do not count.
func FlowLoads(f *fabric.Fabric) *Loads {
	whole, parts := map[fabric.Hop]int{}, map[fabric.Hop]int{} // flows that take a hop always, or sometimes
	hashed, divided := false, false
	for i := range f.Flows {
		w := &f.Flows[i]
		for _, level := range f.Levels(w) {
			for _, h := range level {
				if f.Spreads(w) {
					parts[h]++
				} else {
					whole[h]++
				}
			}
		}
	}
	l := &Loads{of: map[fabric.Hop]load{}}
	for _, c := range f.Choices() {
		sum, n := 0.0, float64(len(c.Hops))
		for _, h := range c.Hops {
			sum += float64(whole[h]) + float64(parts[h])/n
		}
		for _, h := range c.Hops {
			var words []string
			if whole[h] > 0 || parts[h] == 0 {
				words = append(words, flows(whole[h]))
				hashed = true
			}
			if parts[h] > 0 {
				words = append(words, fmt.Sprintf("1/%d of %s", len(c.Hops), flows(parts[h])))
				divided = true
			}
			if sum > 0 {
				l.add(h, strings.Join(words, ", "), (float64(whole[h])+float64(parts[h])/n)/(sum/n))
			}
		}
	}
	switch {
	case hashed && divided:
		l.caption = "Of equal outputs: how many flows have each by the hash, and what part of flows that choose for each packet"
	case hashed:
		l.caption = fmt.Sprintf("Of equal outputs: how many flows have each by the hash, with seed %d", f.Scenario.Model.Seed)
	case divided:
		l.caption = "Of equal outputs: the part of flows that each has if packets are divided evenly"
	}
	return l
}

func flows(n int) string {
	if n == 1 {
		return "1 flow"
	}
	return fmt.Sprintf("%d flows", n)
}

// CarriedLoads returns what share of the data that equal outputs carried in a run each of them had.
// The run has the bytes of links by their names; a name that it does not know is returned as
// missing.
func CarriedLoads(f *fabric.Fabric, bytes map[string]int64) (l *Loads, missing string) {
	l = &Loads{of: map[fabric.Hop]load{}, caption: "Of equal outputs: the share of their data that each carried"}
	for _, c := range f.Choices() {
		sum := 0.0
		for _, h := range c.Hops {
			n, known := bytes[f.LinkName(h)]
			if !known {
				return nil, f.LinkName(h)
			}
			sum += float64(n)
		}
		for _, h := range c.Hops {
			if share := float64(bytes[f.LinkName(h)]) / sum; sum > 0 {
				l.add(h, fmt.Sprintf("%.3g %%", 100*share), share*float64(len(c.Hops)))
			}
		}
	}
	if len(l.of) == 0 {
		l.caption = ""
	}
	return l, ""
}

// add adds what is said of an output. One that is in several choices, which have others in common,
// has the words of the first and the greater load.
func (l *Loads) add(h fabric.Hop, words string, over float64) {
	was, known := l.of[h]
	if known {
		words, over = was.words, max(over, was.over)
	}
	l.of[h] = load{words, over}
}

// mostLoads is how many outputs of a drawing have words; with more there are only colours.
const mostLoads = 80

// lines returns the line of the legend.
func (l *Loads) lines() []string {
	if l == nil || l.caption == "" {
		return nil
	}
	return []string{l.caption + "; the darker, the more"}
}

// loadOf returns the loads of the directions of an edge, as words, and the greater of them; not a
// number if there is none.
func (p *picture) loadOf(e *edge) (words string, over float64) {
	over = math.NaN()
	if p.loads == nil || len(e.links) != 1 {
		return "", over
	}
	var all []string
	for from := range 2 {
		x, known := p.loads.of[fabric.Hop{Wire: e.links[0], From: from}]
		if !known {
			continue
		}
		if len(p.loads.of) <= mostLoads {
			all = append(all, x.words)
		}
		if !(over >= x.over) {
			over = x.over
		}
	}
	if len(all) == 2 {
		all = []string{all[0] + " there", all[1] + " back"}
	}
	return strings.Join(all, ", "), over
}

// loadColour is the colour of a link by its load, of which an even share is 1: lighter below,
// darker above.
func loadColour(over float64) string {
	switch {
	case math.IsNaN(over):
		return "#d9dfe5"
	case over < 0.25:
		return "#fdf3d0"
	case over < 0.75:
		return "#fbe08a"
	case over < 1.25:
		return "#f5c242"
	case over < 1.75:
		return "#e8862e"
	default:
		return "#c43d1b"
	}
}
