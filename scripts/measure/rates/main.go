// Command rates puts rates and queues over time of fabemu beside those of htsim, whose programs scripts/peers.sh
// rates builds: one transfer, two flows and an incast of sixteen with HPCC, Swift and DCTCP. It draws both on one
// scale and prints tables of the means.
//
//	rates FABEMU PROGRAMS OUT
//
// PROGRAMS has htsim with switched rules: hpcc-0 is its HPCC as it is, hpcc-3 has the first three rules. OUT gets the
// pictures htsim-SCHEME-rates.svg and htsim-SCHEME-queues.svg, and SCHEME.md with the tables.
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

	"fabemu/emu/report/plot"
)

// scheme is a congestion control in both programs. Times are in us, rates in Gb/s, packets in bytes.
type scheme struct {
	name, title string
	line        float64
	packet      int // on the line
	payload     [2]int
	step        float64
	parameters  string      // of the scenario
	rules       []string    // that are switched in htsim, one after the other
	ours        [][2]string // rows of fabemu with other parameters: name, --set
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
  flow: {packet: 920B, jitter: 0s, transport: rocev2, control: {law: hpcc, preset: htsim, exact: true, increase: 1036B}}`,
	rules: []string{"htsim as it is", "with rule 1", "with rules 1 and 2", "with rules 1 to 3", "with rules 1 to 4", "with rules 1 to 5"},
	ours: [][2]string{{"fabemu, W_AI with headers", "defaults.flow.control.increase=packet"},
		{"fabemu, telemetry rounded", "defaults.flow.control.exact=false"}},
	situations: []situation{
		{"one transfer", 1, 20000, 0, 2500, [][2]float64{{0, 100}, {100, 1800}}, 0},
		{"two flows", 2, 0, 1000, 5000, [][2]float64{{100, 1000}, {1000, 1500}, {3000, 5000}}, 0},
		{"sixteen flows", 16, 0, 0, 3000, [][2]float64{{0, 300}, {1000, 3000}}, 500},
	},
}, {
	name: "swift", title: "Swift", line: 100, packet: 1100, payload: [2]int{1000, 1100}, step: 100,
	parameters: `
  link: {rate: 100Gb/s, propagation: 2900ns, flow-control: none}
  switch: {kind: output-queued, memory: 4MB per port, forwarding-delay: 1ns}
  flow: {packet: 1000B, jitter: 0s, transport: rocev2, control: {law: swift, preset: htsim, hop-target: 0ns}}`,
	rules: []string{"htsim as it is"},
	ours:  [][2]string{{"fabemu, the hop-target of one switch", "defaults.flow.control.hop-target=3053ns"}},
	situations: []situation{
		{"one transfer", 1, 20000, 0, 4000, [][2]float64{{0, 1000}, {1000, 2000}}, 0},
		{"two flows", 2, 0, 4000, 20000, [][2]float64{{2000, 4000}, {4000, 6000}, {10000, 20000}}, 0},
		{"sixteen flows", 16, 0, 0, 20000, [][2]float64{{0, 1000}, {10000, 20000}}, 0},
	},
}, {
	name: "dctcp", title: "DCTCP", line: 10, packet: 1522, payload: [2]int{1460, 1522}, step: 250,
	parameters: `
  link: {rate: 10Gb/s, propagation: 24600ns, flow-control: none}
  switch:
    kind: output-queued
    memory: 4MB per port
    forwarding-delay: 1ns
    marking: {scheme: ecn, min: 60KB, max: 60KB, at: dequeue}
  flow:
    packet: 1500B
    jitter: 0s
    transport: {kind: tcp, recovery: sack, ecn: true, congestion: dctcp, delayed-ack: none, initial-window: 10}`,
	rules: []string{"htsim as it is", "with rule 1", "with rules 1 and 2", "with rules 1 to 3", "with rules 1 to 4"},
	situations: []situation{
		{"one transfer", 1, 20000, 0, 30000, [][2]float64{{0, 2000}, {2000, 20000}}, 0},
		{"two flows", 2, 0, 15000, 60000, [][2]float64{{5000, 15000}, {15000, 20000}, {30000, 60000}}, 0},
		{"sixteen flows", 16, 0, 0, 60000, [][2]float64{{0, 2000}, {20000, 60000}}, 0},
	},
}}

// run is rates by flow and the queue, a mean for each step.
type run struct {
	rates [][]float64 // Gb/s
	queue []float64   // KB
}

// row is the runs of one program with one set of rules, by situation. A run that did not end is nil.
type row struct {
	name string
	runs []*run
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: rates FABEMU PROGRAMS OUT")
		os.Exit(2)
	}
	for _, s := range schemes {
		if err := beside(&s, os.Args[1], os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintf(os.Stderr, "rates: %s: %v\n", s.name, err)
			os.Exit(1)
		}
	}
}

// beside runs a scheme in both programs, draws it, and writes its tables.
func beside(s *scheme, fabemu, programs, out string) error {
	all := make([]row, 0, len(s.rules)+1+len(s.ours))
	for i, rule := range s.rules {
		r := row{name: rule}
		for _, x := range s.situations {
			count := strconv.Itoa(x.packets * s.payload[1])
			got, err := s.read(exec.Command(filepath.Join(programs, fmt.Sprintf("%s-%d", s.name, i)), s.name,
				strconv.Itoa(x.flows), count, number(x.second), number(x.duration), number(s.step)), "", x)
			if err != nil && i == len(s.rules)-1 {
				return fmt.Errorf("%s, %s: %w", rule, x.name, err)
			}
			r.runs = append(r.runs, got)
		}
		all = append(all, r)
	}
	theirs := all[len(all)-1]
	for _, o := range append([][2]string{{"fabemu"}}, s.ours...) {
		r := row{name: o[0]}
		for _, x := range s.situations {
			dir := filepath.Join(out, "run")
			command := exec.Command(fabemu, "run", "-", "--clock", "virtual", "--all-points", "--force", "--out", dir)
			if o[1] != "" {
				command.Args = append(command.Args, "--set", o[1])
			}
			command.Stdin = strings.NewReader(s.scenario(x))
			got, err := s.read(command, filepath.Join(dir, "series.csv"), x)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", o[0], x.name, err)
			}
			r.runs = append(r.runs, got)
		}
		all = append(all, r)
	}
	ours := all[len(s.rules)]
	for name, draw := range map[string]func(i int, x situation) *plot.Figure{
		"rates":  func(i int, x situation) *plot.Figure { return s.rates(x, theirs.runs[i], ours.runs[i]) },
		"queues": func(i int, x situation) *plot.Figure { return s.queues(x, theirs.runs[i], ours.runs[i]) },
	} {
		var stack plot.Stack
		for i, x := range s.situations {
			stack = append(stack, draw(i, x))
		}
		var picture bytes.Buffer
		if err := stack.SVG(&picture); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, "htsim-"+s.name+"-"+name+".svg"), picture.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(out, s.name+".md"), []byte(s.phases(ours, theirs)+"\n"+s.switched(all)), 0o644)
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// scenario returns the scenario of a situation.
func (s *scheme) scenario(x situation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s-%d\nmodel: {duration: %sus}\nmeasure: {window: %sus}\ndefaults:%s\n", s.name, x.flows,
		number(x.duration), number(s.step), s.parameters)
	fmt.Fprintf(&b, "switches: {S: {}}\nendpoints: [\"A[1-%d]\", B]\nlinks:\n  - \"A[1-%d] - S\"\n", x.flows, x.flows)
	b.WriteString("  - {name: hot, between: S - B}\nflows:\n")
	for i := range x.flows {
		fmt.Fprintf(&b, "  - {name: f%d, from: A%d, to: B", i+1, i+1)
		if i > 0 {
			fmt.Fprintf(&b, ", start: %sus", number(x.second))
		}
		if x.packets > 0 {
			fmt.Fprintf(&b, ", size: %dB", x.packets*s.payload[0])
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
	for _, cells := range rows {
		at, err := strconv.ParseFloat(cells[0], 64)
		step := at / 1e6 / s.step
		i := int(step) - 1
		if err != nil || step != math.Trunc(step) || i < 0 || i >= steps {
			continue
		}
		value, err := strconv.ParseFloat(cells[3], 64)
		switch {
		case err != nil:
		case cells[1] == "link.queue" && cells[2] == "hot.S-B":
			r.queue[i] = value / 1000
		case cells[1] == "flow.rate":
			if flow, err := strconv.Atoi(strings.TrimPrefix(cells[2], "f")); err == nil && flow <= x.flows {
				r.rates[flow-1][i] = value * 8 / 1e9
			}
		}
	}
	return r, nil
}

// mean returns the mean over a phase.
func (s *scheme) mean(values []float64, phase [2]float64) (mean float64) {
	part := values[int(phase[0]/s.step):int(phase[1]/s.step)]
	for _, v := range part {
		mean += v / float64(len(part))
	}
	return mean
}

// together returns the rates of all flows together.
func (r *run) together() []float64 {
	all := make([]float64, len(r.queue))
	for _, rates := range r.rates {
		for i, v := range rates {
			all[i] += v
		}
	}
	return all
}

// phases returns the table of means by phase.
func (s *scheme) phases(ours, theirs row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | time | mean of | htsim | fabemu | difference |\n|---|---|---|---:|---:|---:|\n", s.title)
	for i, x := range s.situations {
		a, o := theirs.runs[i], ours.runs[i]
		for _, phase := range x.phases {
			line := func(of, unit string, theirs, ours, least float64) {
				apart := fmt.Sprintf("%+.1f %%", (ours/theirs-1)*100)
				if max(ours, theirs) < least {
					apart = "less than a packet"
				}
				fmt.Fprintf(&b, "| %s | %s to %s ms | %s | %.2f %s | %.2f %s | %s |\n", x.name, number(phase[0]/1000),
					number(phase[1]/1000), of, theirs, unit, ours, unit, apart)
			}
			if x.flows == 2 && phase[1] > x.second {
				line("rate of the first", "Gb/s", s.mean(a.rates[0], phase), s.mean(o.rates[0], phase), 0)
				line("rate of the second", "Gb/s", s.mean(a.rates[1], phase), s.mean(o.rates[1], phase), 0)
			} else {
				line("rate of all", "Gb/s", s.mean(a.together(), phase), s.mean(o.together(), phase), 0)
			}
			line("queue", "KB", s.mean(a.queue, phase), s.mean(o.queue, phase), float64(s.packet)/1000)
		}
		if x.packets > 0 {
			fmt.Fprintf(&b, "| %s | | its last step with data | %s ms | %s ms | |\n", x.name, number(s.last(a)), number(s.last(o)))
		}
	}
	return b.String()
}

// last returns when the last step with data ends, in ms.
func (s *scheme) last(r *run) (end float64) {
	for i, v := range r.together() {
		if v > 0 {
			end = float64(i+1) * s.step / 1000
		}
	}
	return end
}

// switched returns the table of rules that were switched: means of each situation's last phase.
func (s *scheme) switched(all []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |", s.title)
	for _, x := range s.situations {
		last := x.phases[len(x.phases)-1]
		fmt.Fprintf(&b, " %s, %s to %s ms |", x.name, number(last[0]/1000), number(last[1]/1000))
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(s.situations)) + "\n")
	for _, r := range all {
		fmt.Fprintf(&b, "| %s |", r.name)
		for i, x := range s.situations {
			last := x.phases[len(x.phases)-1]
			if got := r.runs[i]; got == nil {
				b.WriteString(" stops at an assertion |")
			} else {
				fmt.Fprintf(&b, " %.1f %%, %.1f KB |", s.mean(got.together(), last)/s.line*100, s.mean(got.queue, last))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
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
	return &plot.Figure{Title: s.title + ": " + x.name, Subtitle: fmt.Sprintf("Means over %s us.", number(s.step)),
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
			c := plot.Curve{Name: of.name + ", mean and range", X: at, Y: of.run.together()}
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

// queues draws the queue.
func (s *scheme) queues(x situation, theirs, ours *run) *plot.Figure {
	f := s.figure(x, "queue (KB)")
	skip := int(x.from / s.step)
	at := s.times(len(ours.queue))[skip:]
	f.Curves = []plot.Curve{{Name: "htsim", X: at, Y: theirs.queue[skip:]}, {Name: "fabemu", X: at, Y: ours.queue[skip:]}}
	return f
}
