// Command rates compares rates and queues over time of fabemu with those of htsim, whose programs scripts/peers.sh
// rates builds: one flow, two flows and an incast of sixteen with HPCC, Swift and DCTCP. It draws both on one
// scale and prints the means of all phases, and the effect of each changed rule.
//
//	rates FABEMU PROGRAMS OUT
//
// PROGRAMS has htsim with changed rules: hpcc-0 is its HPCC as published, hpcc-3 has the first three rules changed. OUT
// gets the pictures htsim-SCHEME-rates.svg and htsim-SCHEME-queues.svg, and htsim.md with the table for the document.
package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/result/plot"
)

// scheme is a congestion control in both programs. Times are in us, rates in Gb/s, packets in bytes.
type scheme struct {
	name, title string
	line        float64
	packet      int // on the line
	payload     [2]int
	step        float64
	parameters  string     // of the scenario
	rules       int        // how many are switched in htsim, one after the other
	ours        [][]string // rows of fabemu with other parameters: name, values of --set
	starts      int        // of two flows: how many runs, each with another start of the second
	apart       float64    // how long after one start the next is
	situations  []situation
}

// situation is how many flows begin, and when.
type situation struct {
	name             string
	flows, packets   int     // packets 0: without end
	second, duration float64 // when all but the first begin; how long it is
	phases           [][2]float64
	from             float64 // where the picture of the queue begins
}

var schemes = []scheme{{
	name: "hpcc", title: "HPCC", line: 100, packet: 1100, payload: [2]int{920, 1036}, step: 20,
	parameters: `
  link: {rate: 100Gb/s, propagation: 2900ns, flow-control: pfc}
  switch: {kind: output-queued, memory: 4MB per port, forwarding-delay: 1ns}
  flow:
    packet: 920B
    jitter: 0s
    transport: rocev2
    control: {law: hpcc, preset: htsim, exact: true, increase: 1036B}`,
	rules: 8, starts: 8, apart: 13.5,
	ours: [][]string{{"fabemu, W_AI with headers", "defaults.flow.control.increase=packet"},
		{"fabemu, telemetry rounded", "defaults.flow.control.exact=false", "defaults.flow.packet=1000B"}},
	situations: []situation{
		{"one flow", 1, 20000, 0, 2500, [][2]float64{{0, 100}, {100, 1600}}, 0},
		{"two flows", 2, 0, 1000, 5000, [][2]float64{{100, 1000}, {1000, 1500}, {3000, 5000}}, 0},
		{"sixteen flows", 16, 0, 0, 3000, [][2]float64{{0, 300}, {1000, 3000}}, 500},
	},
}, {
	name: "swift", title: "Swift", line: 100, packet: 1100, payload: [2]int{1044, 1100}, step: 100,
	parameters: `
  link: {rate: 100Gb/s, propagation: 2900ns, flow-control: none}
  switch: {kind: output-queued, memory: 4MB per port, forwarding-delay: 1ns}
  flow: {packet: 1044B, jitter: 0s, transport: rocev2, control: {law: swift, preset: htsim, hop-target: 0ns}}`,
	starts: 8, apart: 13.5,
	ours: [][]string{{"fabemu, the hop-target of one switch", "defaults.flow.control.hop-target=3053ns"}},
	situations: []situation{
		{"one flow", 1, 20000, 0, 4000, [][2]float64{{0, 1000}, {1000, 2000}}, 0},
		{"two flows", 2, 0, 4000, 20000, [][2]float64{{2000, 4000}, {4000, 6000}, {10000, 20000}}, 0},
		{"sixteen flows", 16, 0, 0, 20000, [][2]float64{{0, 1000}, {10000, 20000}}, 0},
	},
}, {
	name: "dctcp", title: "DCTCP", line: 10, packet: 1500, payload: [2]int{1460, 1500}, step: 250,
	parameters: `
  link: {rate: 40Gb/s, propagation: 24600ns, flow-control: none}
  switch:
    kind: output-queued
    memory: 4MB per port
    forwarding-delay: 1ns
    marking: {scheme: ecn, min: 60KB, max: 60KB, at: dequeue}
  flow:
    packet: 1500B
    jitter: 0s
    transport: {kind: tcp, recovery: sack, ecn: true, congestion: dctcp, delayed-ack: none, initial-window: 10}`,
	rules: 10, starts: 64, apart: 250, // a single run's first 5 ms vary by an eighth
	situations: []situation{
		{"one flow", 1, 20000, 0, 30000, [][2]float64{{0, 2000}, {2000, 20000}}, 0},
		{"two flows", 2, 0, 15000, 60000, [][2]float64{{5000, 15000}, {15000, 20000}, {30000, 60000}}, 0},
		{"sixteen flows", 16, 0, 0, 60000, [][2]float64{{0, 2000}, {20000, 60000}}, 0},
	},
}}

// run is rates by flow and the queue, a mean for each step.
type run struct {
	rates [][]float64 // Gb/s
	queue []float64   // KB
	later int         // how many steps its phases lie later
}

// row is the runs of one program with one set of rules, by situation: one, or several with other starts. A situation
// that did not end has none.
type row struct {
	name string
	runs [][]*run
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: rates FABEMU PROGRAMS OUT")
		os.Exit(2)
	}
	table := "| algorithm | mean of | rate (Gb/s): htsim | fabemu | queue (KB): htsim | fabemu |\n|---|---|---:|---:|---:|---:|\n"
	for _, s := range schemes {
		rows, err := beside(&s, os.Args[1], os.Args[2], os.Args[3])
		if err != nil {
			fmt.Fprintf(os.Stderr, "rates: %s: %v\n", s.name, err)
			os.Exit(1)
		}
		table += rows
	}
	if err := os.WriteFile(filepath.Join(os.Args[3], "htsim.md"), []byte(table), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "rates:", err)
		os.Exit(1)
	}
}

// beside runs a scheme in both programs, draws it, prints its tables, and returns its rows of the document's table.
func beside(s *scheme, fabemu, programs, out string) (string, error) {
	var all []row
	for i := range s.rules + 1 {
		r, err := s.row(ruled(i), func(x situation) (*run, error) {
			return s.read(exec.Command(filepath.Join(programs, fmt.Sprintf("%s-%d", s.name, i)), s.name, strconv.Itoa(x.flows),
				strconv.Itoa(x.packets*s.payload[1]), number(x.second), number(x.duration), number(s.step)), "", x)
		})
		if err != nil && i == s.rules {
			return "", err
		}
		all = append(all, r)
	}
	theirs := all[len(all)-1]
	for _, o := range append([][]string{{"fabemu"}}, s.ours...) {
		r, err := s.row(o[0], func(x situation) (*run, error) {
			dir := filepath.Join(out, "run")
			command := exec.Command(fabemu, "run", "-", "--clock", "virtual", "--all-points", "--force", "--out", dir)
			for _, set := range o[1:] {
				command.Args = append(command.Args, "--set", set)
			}
			command.Stdin = strings.NewReader(s.scenario(x))
			return s.read(command, filepath.Join(dir, "series.csv"), x)
		})
		if err != nil {
			return "", err
		}
		all = append(all, r)
	}
	ours := all[s.rules+1]
	type draws func(x situation, theirs, ours *run) *plot.Figure
	for name, draw := range map[string]draws{"rates": s.rates, "queues": s.queues} {
		var stack plot.Stack
		for i, x := range s.situations {
			stack = append(stack, draw(x, theirs.runs[i][0], ours.runs[i][0]))
		}
		var picture bytes.Buffer
		if err := stack.SVG(&picture); err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(out, "htsim-"+s.name+"-"+name+".svg"), picture.Bytes(), 0o644); err != nil {
			return "", err
		}
	}
	phases, rows := s.phases(ours, theirs)
	fmt.Printf("%s\n%s\n", phases, s.switched(all))
	return rows, nil
}

// ruled names htsim with a number of its rules changed.
func ruled(rules int) string {
	return [...]string{"htsim as published", "with rule 1", fmt.Sprintf("with rules 1 to %d", rules)}[min(rules, 2)]
}

// row runs all situations, two flows with several starts of the second. Its error is the last.
func (s *scheme) row(name string, one func(situation) (*run, error)) (r row, wrong error) {
	r.name = name
	for _, x := range s.situations {
		var all []*run
		starts := 1
		if x.flows == 2 {
			starts = s.starts
		}
		for i := range starts {
			y, after := x, float64(i)*s.apart
			later := int(after / s.step)
			y.second, y.duration = x.second+after, x.duration+float64(later)*s.step
			got, err := one(y)
			if err != nil {
				all, wrong = nil, fmt.Errorf("%s, %s: %w", name, x.name, err)
				break
			}
			got.later = later
			all = append(all, got)
		}
		r.runs = append(r.runs, all)
	}
	return r, wrong
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func (s *scheme) scenario(x situation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s-%d\nmodel: {duration: %sus}\nmeasure: {window: %sus}\ndefaults:%s\n", s.name, x.flows,
		number(x.duration), number(s.step), s.parameters)
	fmt.Fprintf(&b, "switches: {S: {}}\nendpoints: [\"A[1-%d]\", B]\nlinks:\n  - \"A[1-%d] - S\"\n", x.flows, x.flows)
	fmt.Fprintf(&b, "  - {name: hot, between: S - B, rate: %sGb/s}\nflows:\n", number(s.line))
	for i := range x.flows {
		fmt.Fprintf(&b, "  - {name: f%d, from: A%d, to: B", i+1, i+1)
		if i > 0 {
			fmt.Fprintf(&b, ", start: %sus", number(x.second))
		}
		if x.packets > 0 {
			fmt.Fprintf(&b, ", traffic: transfers, size: %dB", x.packets*s.payload[0])
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// read runs a command and reads the series that it prints, or those in a file.
func (s *scheme) read(command *exec.Cmd, file string, x situation) (*run, error) {
	var complaint bytes.Buffer
	command.Stderr = &complaint
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, complaint.String())
	}
	if file != "" {
		if text, err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	steps := int(x.duration / s.step)
	r := &run{rates: make([][]float64, x.flows), queue: make([]float64, steps)}
	for i := range r.rates {
		r.rates[i] = make([]float64, steps)
	}
	points := make([]float64, steps) // of the queue
	for _, cells := range rows {
		at, err := strconv.ParseFloat(cells[0], 64)
		value, wrong := strconv.ParseFloat(cells[3], 64)
		at /= 1e6 * s.step
		if i := int(math.Ceil(at)) - 1; err != nil || wrong != nil || i < 0 || i >= steps {
			continue
		} else if cells[1] == "link.queue" && cells[2] == "hot.S-B" { // the mean since the point before
			r.queue[i] += value / 1000
			points[i]++
		} else if at == float64(i)+0.5 && cells[1] == "flow.rate" { // the mean of half a step to both sides
			if flow, err := strconv.Atoi(strings.TrimPrefix(cells[2], "f")); err == nil && flow <= x.flows {
				r.rates[flow-1][i] = value * 8 / 1e9
			}
		}
	}
	for i := range r.queue {
		r.queue[i] /= max(points[i], 1)
	}
	return r, nil
}

// A quantity of a run is a column of a table: a value for each step.
type quantity func(*run) []float64

func ofFlow(i int) quantity    { return func(r *run) []float64 { return r.rates[i] } }
func ofQueue(r *run) []float64 { return r.queue }

// together is the rates of all flows together.
func together(r *run) []float64 {
	all := make([]float64, len(r.queue))
	for _, rates := range r.rates {
		for i, v := range rates {
			all[i] += v
		}
	}
	return all
}

// mean returns the mean over a phase of all runs.
func (s *scheme) mean(runs []*run, of quantity, phase [2]float64) (mean float64) {
	for _, r := range runs {
		part := of(r)[int(phase[0]/s.step)+r.later : int(phase[1]/s.step)+r.later]
		for _, v := range part {
			mean += v / float64(len(part)*len(runs))
		}
	}
	return mean
}

// phases returns the table of means by phase, and the rows of the document's table: the last phase of each situation,
// and of two flows the rate of the second.
func (s *scheme) phases(ours, theirs row) (table, document string) {
	var b, d strings.Builder
	fmt.Fprintf(&b, "| %s | time (ms) | mean of | htsim | fabemu | difference |\n|---|---|---|---:|---:|---:|\n", s.title)
	for i, x := range s.situations {
		for n, phase := range x.phases {
			from, to := number(phase[0]/1000), number(phase[1]/1000)
			line := func(name, unit string, of quantity, least float64) string {
				a, o := s.mean(theirs.runs[i], of, phase), s.mean(ours.runs[i], of, phase)
				apart := fmt.Sprintf("%+.1f %%", (o/a-1)*100)
				if max(a, o) < least {
					apart = "below a packet"
				}
				fmt.Fprintf(&b, "| %s | %s to %s | %s | %.2f %s | %.2f %s | %s |\n", x.name, from, to, name, a, unit, o, unit, apart)
				return fmt.Sprintf(" %.2f | %.2f |", a, o)
			}
			short := func(name, rate string) {
				queue := line("queue", "KB", ofQueue, float64(s.packet)/1000)
				if n == len(x.phases)-1 || name != x.name {
					fmt.Fprintf(&d, "| %s | %s, %s–%s ms |%s%s\n", s.title, name, from, to, rate, queue)
				}
			}
			if x.flows == 2 && phase[1] > x.second {
				line("rate of the first", "Gb/s", ofFlow(0), 0)
				short("second of two", line("rate of the second", "Gb/s", ofFlow(1), 0))
			} else {
				short(x.name, line("rate of all", "Gb/s", together, 0))
			}
		}
		if x.packets > 0 {
			fmt.Fprintf(&b, "| %s | | end, to %s µs | %.2f ms | %.2f ms | |\n", x.name, number(s.step), s.end(theirs.runs[i][0]),
				s.end(ours.runs[i][0]))
		}
	}
	return b.String(), d.String()
}

// end returns when the last step with data ends, in ms.
func (s *scheme) end(r *run) (end float64) {
	for i, v := range together(r) {
		if v > 0 {
			end = float64(i+1) * s.step / 1000
		}
	}
	return end
}

// switched returns the table of rules that were changed: means of each situation's last phase, and the rate of the
// second of two flows.
func (s *scheme) switched(all []row) string {
	table := make([]string, len(all)+2)
	table[0], table[1] = fmt.Sprintf("| %s, %% of the link and queue |", s.title), "|---|"
	for n, r := range all {
		table[n+2] = "| " + r.name + " |"
	}
	for i, x := range s.situations {
		column := func(name string, phase [2]float64, cell func([]*run) string) {
			table[0] += fmt.Sprintf(" %s, %s to %s ms |", name, number(phase[0]/1000), number(phase[1]/1000))
			table[1] += "---:|"
			for n, r := range all {
				text := "stops at an assertion"
				if r.runs[i] != nil {
					text = cell(r.runs[i])
				}
				table[n+2] += " " + text + " |"
			}
		}
		last := x.phases[len(x.phases)-1]
		column(x.name, last, func(runs []*run) string {
			return fmt.Sprintf("%.1f %%, %.1f KB", s.mean(runs, together, last)/s.line*100, s.mean(runs, ofQueue, last))
		})
		for _, phase := range x.phases {
			if x.flows == 2 && phase[1] > x.second {
				column("second flow", phase, func(runs []*run) string {
					return fmt.Sprintf("%.1f %%", s.mean(runs, ofFlow(1), phase)/s.line*100)
				})
			}
		}
	}
	return strings.Join(table, "\n") + "\n"
}

// times returns where a step lies in a picture: at its middle, in ms.
func (s *scheme) times(n int) []float64 {
	at := make([]float64, n)
	for i := range at {
		at[i] = (float64(i) + 0.5) * s.step / 1000
	}
	return at
}

func (s *scheme) figure(x situation, label string) *plot.Figure {
	return &plot.Figure{Title: s.title + ": " + x.name, Subtitle: fmt.Sprintf("Means over %s µs", number(s.step)),
		X: plot.Axis{Label: "model time (ms)"}, Y: plot.Axis{Label: label}}
}

// rates draws the rates of flows; of sixteen the mean, and between which they lie.
func (s *scheme) rates(x situation, theirs, ours *run) *plot.Figure {
	f := s.figure(x, "rate (Gb/s)")
	at := s.times(len(ours.queue))
	for _, of := range []struct {
		name string
		run  *run
	}{{"htsim", theirs}, {"fabemu", ours}} {
		if x.flows > 2 {
			c := plot.Curve{Name: of.name + ", mean and range", X: at, Y: together(of.run)}
			for i := range c.Y {
				c.Y[i] /= float64(x.flows)
				one := make([]float64, 0, x.flows)
				for _, rates := range of.run.rates {
					one = append(one, rates[i])
				}
				c.Low, c.High = append(c.Low, slices.Min(one)), append(c.High, slices.Max(one))
			}
			f.Curves = append(f.Curves, c)
			continue
		}
		for i, rates := range of.run.rates {
			name := of.name
			if x.flows == 2 {
				name += ", " + []string{"first", "second"}[i]
			}
			f.Curves = append(f.Curves, plot.Curve{Name: name, X: at, Y: rates})
		}
	}
	return f
}

func (s *scheme) queues(x situation, theirs, ours *run) *plot.Figure {
	f := s.figure(x, "queue (KB)")
	skip := int(x.from / s.step)
	at := s.times(len(ours.queue))[skip:]
	f.Curves = []plot.Curve{{Name: "htsim", X: at, Y: theirs.queue[skip:]}, {Name: "fabemu", X: at, Y: ours.queue[skip:]}}
	return f
}
