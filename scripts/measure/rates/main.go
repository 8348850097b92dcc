// Command rates compares rates and queues over time of fabemu with those of htsim, whose programs
// scripts/lab/peers.sh rates builds: one flow, two flows and an incast of sixteen with HPCC, Swift
// and DCTCP. It draws both on one scale and prints the means of all phases, and the effect of each
// changed rule.
//
//	rates FABEMU PROGRAMS OUT
//
// PROGRAMS has htsim with changed rules: hpcc-0 is its HPCC as published, hpcc-3 has the first
// three rules changed. OUT gets the pictures htsim-SCHEME-rates.svg and htsim-SCHEME-queues.svg,
// and htsim.md with the table for the document.
package main

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"fabemu/emu/result/plot"
)

// scheme is a congestion control in both programs, as in schemes.yaml. Times are in us, rates in
// Gb/s, packets in bytes.
type scheme struct {
	Name, Title string
	Line        float64
	Packet      int // on the line
	Payload     [2]int
	Step        float64
	Parameters  string     // of the scenario
	Rules       int        // how many are switched in htsim, one after the other
	Ours        [][]string // rows of fabemu with other parameters: name, values of --set
	Starts      int        // of two flows: how many runs, each with another start of the second
	Apart       float64    // how long after one start the next is
	Situations  []situation
}

// situation is how many flows begin, and when.
type situation struct {
	Name             string
	Flows, Packets   int     // packets 0: without end
	Second, Duration float64 // when all but the first begin; how long it is
	Phases           [][2]float64
	From             float64 // where the picture of the queue begins
}

//go:embed schemes.yaml
var schemesText []byte

// run is rates by flow and the queue, a mean for each step.
type run struct {
	rates [][]float64 // Gb/s
	queue []float64   // KB
	later int         // how many steps its phases lie later
}

// row is the runs of one program with one set of rules, by situation: one, or several with other
// starts. A situation that did not end has none.
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
	var schemes []scheme
	if err := yaml.Load(schemesText, &schemes, yaml.WithKnownFields()); err != nil {
		panic(err) // a file of ours
	}
	for _, s := range schemes {
		rows, err := beside(&s, os.Args[1], os.Args[2], os.Args[3])
		if err != nil {
			fmt.Fprintf(os.Stderr, "rates: %s: %v\n", s.Name, err)
			os.Exit(1)
		}
		table += rows
	}
	if err := os.WriteFile(filepath.Join(os.Args[3], "htsim.md"), []byte(table), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "rates:", err)
		os.Exit(1)
	}
}

// beside runs a scheme in both programs, draws it, prints its tables, and returns its rows of the
// document's table.
func beside(s *scheme, fabemu, programs, out string) (string, error) {
	var all []row
	for i := range s.Rules + 1 {
		r, err := s.row(ruled(i), func(x situation) (*run, error) {
			return s.read(exec.Command(filepath.Join(programs, fmt.Sprintf("%s-%d", s.Name, i)), s.Name, strconv.Itoa(x.Flows),
				strconv.Itoa(x.Packets*s.Payload[1]), number(x.Second), number(x.Duration), number(s.Step)), "", x)
		})
		if err != nil && i == s.Rules {
			return "", err
		}
		all = append(all, r)
	}
	theirs := all[len(all)-1]
	for _, o := range append([][]string{{"fabemu"}}, s.Ours...) {
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
	ours := all[s.Rules+1]
	type draws func(x situation, theirs, ours *run) *plot.Figure
	for name, draw := range map[string]draws{"rates": s.rates, "queues": s.queues} {
		var stack plot.Stack
		for i, x := range s.Situations {
			stack = append(stack, draw(x, theirs.runs[i][0], ours.runs[i][0]))
		}
		var picture bytes.Buffer
		if err := stack.SVG(&picture); err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(out, "htsim-"+s.Name+"-"+name+".svg"), picture.Bytes(), 0o644); err != nil {
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
	for _, x := range s.Situations {
		var all []*run
		starts := 1
		if x.Flows == 2 {
			starts = s.Starts
		}
		for i := range starts {
			y, after := x, float64(i)*s.Apart
			later := int(after / s.Step)
			y.Second, y.Duration = x.Second+after, x.Duration+float64(later)*s.Step
			got, err := one(y)
			if err != nil {
				all, wrong = nil, fmt.Errorf("%s, %s: %w", name, x.Name, err)
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
	fmt.Fprintf(&b, "name: %s-%d\nmodel: {duration: %sus}\nmeasure: {window: %sus}\ndefaults:%s\n", s.Name, x.Flows,
		number(x.Duration), number(s.Step), s.Parameters)
	fmt.Fprintf(&b, "switches: {S: {}}\nendpoints: [\"A[1-%d]\", B]\nlinks:\n  - \"A[1-%d] - S\"\n", x.Flows, x.Flows)
	fmt.Fprintf(&b, "  - {name: hot, between: S - B, rate: %sGb/s}\nflows:\n", number(s.Line))
	for i := range x.Flows {
		fmt.Fprintf(&b, "  - {name: f%d, from: A%d, to: B", i+1, i+1)
		if i > 0 {
			fmt.Fprintf(&b, ", start: %sus", number(x.Second))
		}
		if x.Packets > 0 {
			fmt.Fprintf(&b, ", traffic: transfers, size: %dB", x.Packets*s.Payload[0])
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
	steps := int(x.Duration / s.Step)
	r := &run{rates: make([][]float64, x.Flows), queue: make([]float64, steps)}
	for i := range r.rates {
		r.rates[i] = make([]float64, steps)
	}
	points := make([]float64, steps) // of the queue
	for _, cells := range rows {
		at, err := strconv.ParseFloat(cells[0], 64)
		value, wrong := strconv.ParseFloat(cells[3], 64)
		at /= 1e6 * s.Step
		if i := int(math.Ceil(at)) - 1; err != nil || wrong != nil || i < 0 || i >= steps {
			continue
		} else if cells[1] == "link.queue" && cells[2] == "hot.S-B" { // the mean since the point before
			r.queue[i] += value / 1000
			points[i]++
		} else if at == float64(i)+0.5 && cells[1] == "flow.rate" { // the mean of half a step to both sides
			if flow, err := strconv.Atoi(strings.TrimPrefix(cells[2], "f")); err == nil && flow <= x.Flows {
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
		part := of(r)[int(phase[0]/s.Step)+r.later : int(phase[1]/s.Step)+r.later]
		for _, v := range part {
			mean += v / float64(len(part)*len(runs))
		}
	}
	return mean
}

// phases returns the table of means by phase, and the rows of the document's table: the last phase
// of each situation, and of two flows the rate of the second.
func (s *scheme) phases(ours, theirs row) (table, document string) {
	var b, d strings.Builder
	fmt.Fprintf(&b, "| %s | time (ms) | mean of | htsim | fabemu | difference |\n|---|---|---|---:|---:|---:|\n", s.Title)
	for i, x := range s.Situations {
		for n, phase := range x.Phases {
			from, to := number(phase[0]/1000), number(phase[1]/1000)
			line := func(name, unit string, of quantity, least float64) string {
				a, o := s.mean(theirs.runs[i], of, phase), s.mean(ours.runs[i], of, phase)
				apart := fmt.Sprintf("%+.1f %%", (o/a-1)*100)
				if max(a, o) < least {
					apart = "below a packet"
				}
				fmt.Fprintf(&b, "| %s | %s to %s | %s | %.2f %s | %.2f %s | %s |\n", x.Name, from, to, name, a, unit, o, unit, apart)
				return fmt.Sprintf(" %.2f | %.2f |", a, o)
			}
			short := func(name, rate string) {
				queue := line("queue", "KB", ofQueue, float64(s.Packet)/1000)
				if n == len(x.Phases)-1 || name != x.Name {
					fmt.Fprintf(&d, "| %s | %s, %s–%s ms |%s%s\n", s.Title, name, from, to, rate, queue)
				}
			}
			if x.Flows == 2 && phase[1] > x.Second {
				line("rate of the first", "Gb/s", ofFlow(0), 0)
				short("second of two", line("rate of the second", "Gb/s", ofFlow(1), 0))
			} else {
				short(x.Name, line("rate of all", "Gb/s", together, 0))
			}
		}
		if x.Packets > 0 {
			fmt.Fprintf(&b, "| %s | | end, to %s µs | %.2f ms | %.2f ms | |\n", x.Name, number(s.Step), s.end(theirs.runs[i][0]),
				s.end(ours.runs[i][0]))
		}
	}
	return b.String(), d.String()
}

// end returns when the last step with data ends, in ms.
func (s *scheme) end(r *run) (end float64) {
	for i, v := range together(r) {
		if v > 0 {
			end = float64(i+1) * s.Step / 1000
		}
	}
	return end
}

// switched returns the table of rules that were changed: means of each situation's last phase, and
// the rate of the second of two flows.
func (s *scheme) switched(all []row) string {
	table := make([]string, len(all)+2)
	table[0], table[1] = fmt.Sprintf("| %s, %% of the link and queue |", s.Title), "|---|"
	for n, r := range all {
		table[n+2] = "| " + r.name + " |"
	}
	for i, x := range s.Situations {
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
		last := x.Phases[len(x.Phases)-1]
		column(x.Name, last, func(runs []*run) string {
			return fmt.Sprintf("%.1f %%, %.1f KB", s.mean(runs, together, last)/s.Line*100, s.mean(runs, ofQueue, last))
		})
		for _, phase := range x.Phases {
			if x.Flows == 2 && phase[1] > x.Second {
				column("second flow", phase, func(runs []*run) string {
					return fmt.Sprintf("%.1f %%", s.mean(runs, ofFlow(1), phase)/s.Line*100)
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
		at[i] = (float64(i) + 0.5) * s.Step / 1000
	}
	return at
}

func (s *scheme) figure(x situation, label string) *plot.Figure {
	return &plot.Figure{Title: s.Title + ": " + x.Name, Subtitle: fmt.Sprintf("Means over %s µs", number(s.Step)),
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
		if x.Flows > 2 {
			c := plot.Curve{Name: of.name + ", mean and range", X: at, Y: together(of.run)}
			for i := range c.Y {
				c.Y[i] /= float64(x.Flows)
				one := make([]float64, 0, x.Flows)
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
			if x.Flows == 2 {
				name += ", " + []string{"first", "second"}[i]
			}
			f.Curves = append(f.Curves, plot.Curve{Name: name, X: at, Y: rates})
		}
	}
	return f
}

func (s *scheme) queues(x situation, theirs, ours *run) *plot.Figure {
	f := s.figure(x, "queue (KB)")
	skip := int(x.From / s.Step)
	at := s.times(len(ours.queue))[skip:]
	f.Curves = []plot.Curve{{Name: "htsim", X: at, Y: theirs.queue[skip:]}, {Name: "fabemu", X: at, Y: ours.queue[skip:]}}
	return f
}
