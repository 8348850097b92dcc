package generate

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/base/errs"
	"fabemu/emu/scenario"
	"fabemu/node/traffic"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// mostListed is how many nodes, links or flows a file of HPCC may have.
const mostListed = 1 << 17

// fields reads a file of HPCC: words with white space between them.
type fields struct {
	file  string
	words []string
	lines []int // of the words
	next  int
}

func fieldsOf(file string, text []byte) *fields {
	f := &fields{file: file}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		for _, w := range strings.Fields(line) {
			f.words, f.lines = append(f.words, w), append(f.lines, n)
		}
	}
	return f
}

// line returns the line of the last word that was read.
func (f *fields) line() int { return f.lines[max(f.next-1, 0)] }

// wrong returns a mistake in the last word.
func (f *fields) wrong(format string, args ...any) error {
	return errs.Errorf("%s:%d: %s", f.file, f.line(), fmt.Sprintf(format, args...))
}

// word returns the next word.
func (f *fields) word(what string) (string, error) {
	if f.next == len(f.words) {
		if f.next == 0 {
			return "", errs.Errorf("%s: the file is empty", f.file)
		}
		return "", f.wrong("the file ends where %s is expected", what)
	}
	f.next++
	return f.words[f.next-1], nil
}

// number returns the next word as a number from low to high.
func (f *fields) number(what string, low, high int64) (int64, error) {
	w, err := f.word(what)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil || n < low || n > high {
		return 0, f.wrong("%.40q is not %s, a whole number from %d to %d", w, what, low, high)
	}
	return n, nil
}

// read reads the next word with a function.
func read[T any](f *fields, what string, parse func(string) (T, error)) (v T, err error) {
	w, err := f.word(what)
	if err != nil {
		return v, err
	}
	if v, err = parse(w); err != nil {
		return v, f.wrong("%.40q is not %s", w, what)
	}
	return v, nil
}

// hpccRate reads a rate of ns-3, such as 100Gbps.
func hpccRate(w string) (unit.Rate, error) {
	number, ok := strings.CutSuffix(w, "bps")
	if !ok || strings.HasSuffix(number, "i") {
		return 0, strconv.ErrSyntax
	}
	return unit.ParseRate(number + "b/s")
}

// hpccDelay reads a time of ns-3, such as 1000ns or 0.001ms. Without a unit it is in seconds.
func hpccDelay(w string) (unit.Duration, error) {
	if _, err := strconv.ParseFloat(w, 64); err == nil {
		w += "s"
	}
	return unit.ParseDuration(w)
}

// hpccStart reads a time in seconds.
func hpccStart(w string) (unit.Duration, error) {
	s, err := strconv.ParseFloat(w, 64)
	if err != nil || !(s >= 0 && s < 1e6) {
		return 0, strconv.ErrRange
	}
	return unit.Duration(math.Round(s*1e9)) * unit.Nanosecond, nil
}

// hpccLink is a link: its switches, its number among the links between them, and its fields.
type hpccLink struct {
	pair   [2]int64
	number int
	fields string
}

// FromHPCC returns the scenario for a topology of HPCC's simulator, and for its flows if there are
// any (flowFile is then not empty). Host 3 is h3, its second link h3-2, switch 9 is s9. All links
// have PFC, and flows are transfers over RoCEv2. What follows the last link or flow, and the error
// rates of links, are left out. The error is a *errs.Mistake.
func FromHPCC(file string, text []byte, flowFile string, flowText []byte) (out Imported, err error) {
	if err := cmp.Or(checkSize(file, text), checkSize(flowFile, flowText)); err != nil {
		return out, err
	}
	f := fieldsOf(file, text)
	var counts [3]int64
	for k, what := range []string{"the number of nodes", "the number of switches", "the number of links"} {
		if counts[k], err = f.number(what, 0, mostListed); err != nil {
			return out, err
		}
	}
	nodes := counts[0]
	isSwitch := map[int64]bool{}
	for range counts[1] {
		n, err := f.number("the number of a switch", 0, nodes-1)
		if err != nil {
			return out, err
		}
		if isSwitch[n] {
			return out, f.wrong("switch %d is listed twice", n)
		}
		isSwitch[n] = true
	}
	name := func(n int64) string {
		if isSwitch[n] {
			return fmt.Sprintf("s%d", n)
		}
		return fmt.Sprintf("h%d", n)
	}
	var links, switches, endpoints, flows bytes.Buffer
	linked, pairs, all := map[int64]int{}, map[[2]int64]int{}, []hpccLink(nil)
	slowest, longest, lossy, several, more := unit.Rate(math.MaxInt64), 0.0, 0, 0, map[int64][]string{}
	for range counts[2] {
		var ends [2]int64
		for k := range ends {
			if ends[k], err = f.number("the number of a node", 0, nodes-1); err != nil {
				return out, err
			}
		}
		at := f.line()
		rate, err := read(f, "a rate, such as 100Gbps", hpccRate)
		if err != nil {
			return out, err
		}
		delay, err := read(f, "a delay, such as 1000ns", hpccDelay)
		if err != nil {
			return out, err
		}
		loss, err := read(f, "an error rate", func(w string) (float64, error) { return strconv.ParseFloat(w, 64) })
		switch {
		case err != nil:
			return out, err
		case ends[0] == ends[1]:
			return out, f.wrong("node %d is linked to itself", ends[0])
		case rate <= 0 || delay < unit.Nanosecond:
			return out, f.wrong("a link has a rate above 0, and a delay of at least 1ns")
		case loss != 0:
			lossy = max(lossy, at)
		}
		var between [2]string
		for k, n := range ends {
			between[k] = name(n)
			if linked[n]++; linked[n] > 1 && !isSwitch[n] {
				between[k] += fmt.Sprintf("-%d", linked[n])
				several = max(several, at)
				more[n] = append(more[n], between[k])
			}
		}
		pair := [2]int64{min(ends[0], ends[1]), max(ends[0], ends[1])}
		if !isSwitch[pair[0]] || !isSwitch[pair[1]] {
			pair = [2]int64{-1, -int64(len(all)) - 2} // the only one
		}
		pairs[pair]++
		all = append(all, hpccLink{pair, pairs[pair], fmt.Sprintf("between: %s - %s, rate: %s, propagation: %v", between[0], between[1], rate.InBits(), delay)})
		slowest, longest = min(slowest, rate), max(longest, delay.Seconds()*float64(rate)/8)
	}
	for _, l := range all {
		own := ""
		if pairs[l.pair] > 1 {
			own = fmt.Sprintf("name: %s-%s-%d, ", name(l.pair[0]), name(l.pair[1]), l.number)
		}
		fmt.Fprintf(&links, "  - {%s%s}\n", own, l.fields)
	}
	if f.next < len(f.words) && f.words[f.next][0] <= '9' {
		out.Left = append(out.Left, fmt.Sprintf("%s:%d: what follows the %d links that the first line announces", file, f.lines[f.next], counts[2]))
	}
	if lossy > 0 {
		out.Left = append(out.Left, fmt.Sprintf("%s:%d: error rates, up to this line: faults of the scenario take their place", file, lossy))
	}
	if several > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s:%d: hosts with several links, up to this line: each link is an endpoint (h0, h0-2), and flows take the first", file, several))
	}
	var hosts []string
	for n := range nodes {
		switch {
		case linked[n] == 0:
			out.Left = append(out.Left, fmt.Sprintf("%s: node %d: it has no links", file, n))
		case isSwitch[n]:
			fmt.Fprintf(&switches, "  %s: {}\n", name(n))
		default:
			hosts = append(hosts, name(n))
			for _, own := range append([]string{name(n)}, more[n]...) {
				fmt.Fprintf(&endpoints, "  - %s\n", own)
			}
		}
	}
	if len(hosts) < 2 {
		return out, errs.Errorf("%s: fewer than two hosts have links", file)
	}
	end := 10 * unit.Millisecond
	if flowFile == "" {
		fmt.Fprintf(&flows, "  - {name: f1, from: %s, to: %s, priority: 3, size: 1MB}\n", hosts[0], hosts[len(hosts)-1])
	} else if end, err = hpccFlows(fieldsOf(flowFile, flowText), nodes, isSwitch, linked, slowest, &flows, &out); err != nil {
		return out, err
	}
	out.Scenario = fmt.Appendf(nil, `# A topology of HPCC's simulator. Give its flows an algorithm: generate --scheme has some.
%sname: hpcc
model: {duration: %v}
routing: ecmp
defaults:
  link: {flow-control: pfc}
  switch: {kind: output-queued, memory: %dKB per port}
  flow: {packet: 1000B, traffic: transfers, transport: rocev2}
switches:
%sendpoints:
%slinks:
%sflows:
%s`, out.comments(), end, memoryFor(longest), &switches, &endpoints, &links, &flows)
	return out, nil
}

// hpccFlows writes the flows of a file: source, destination, priority group, port, bytes and start
// in seconds. It returns when the run may end: after twice the time that all bytes take on the
// slowest link.
func hpccFlows(f *fields, nodes int64, isSwitch map[int64]bool, linked map[int64]int, slowest unit.Rate, flows *bytes.Buffer, out *Imported) (end unit.Duration, err error) {
	count, err := f.number("the number of flows", 1, mostListed)
	if err != nil {
		return 0, err
	}
	total := 0.0
	for i := range count {
		var ends [2]int64
		for k := range ends {
			if ends[k], err = f.number("the number of a host", 0, nodes-1); err != nil {
				return 0, err
			}
			if isSwitch[ends[k]] || linked[ends[k]] == 0 {
				return 0, f.wrong("node %d is no host with a link", ends[k])
			}
		}
		if ends[0] == ends[1] {
			return 0, f.wrong("host %d sends to itself", ends[0])
		}
		priority, err := f.number("a priority group", 0, port.Priorities-1)
		if err != nil {
			return 0, err
		}
		if _, err = f.number("the number of a UDP port", 0, math.MaxUint16); err != nil {
			return 0, err
		}
		size, err := f.number("a number of bytes", 1, 1<<40)
		if err != nil {
			return 0, err
		}
		start, err := read(f, "a start in seconds", hpccStart)
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(flows, "  - {name: f%d, from: h%d, to: h%d, priority: %d, size: %dB, start: %v}\n", i+1, ends[0], ends[1], priority, size, start)
		end, total = max(end, start), total+float64(size)
	}
	if f.next < len(f.words) && f.words[f.next][0] <= '9' {
		out.Left = append(out.Left, fmt.Sprintf("%s:%d: what follows the %d flows that the first line announces", f.file, f.lines[f.next], count))
	}
	return end + durationOf(total, slowest), nil
}

// hpccNumbers returns a number for each node, and how many numbers there are: those in the names if
// all have one, as FromHPCC gives them; otherwise hosts come first.
func hpccNumbers(s *scenario.Scenario) (numbers map[string]int, count int) {
	numbers, taken := map[string]int{}, map[int]bool{}
	most := 0
	enter := func(name string, prefix string) {
		text, isOne := strings.CutPrefix(name, prefix)
		text, link, again := strings.Cut(text, "-")
		n, err := strconv.Atoi(text)
		if k, bad := strconv.Atoi(link); !isOne || err != nil || n < 0 || again && (prefix != "h" || bad != nil || k < 2) || taken[n] && !again {
			return
		}
		numbers[name], taken[n], most = n, true, max(most, n)
	}
	for i := range s.Switches {
		enter(s.Switches[i].Name, "s")
	}
	for i := range s.Endpoints {
		enter(s.Endpoints[i].Name, "h")
	}
	if len(numbers) == len(s.Endpoints)+len(s.Switches) && len(taken) == most+1 {
		return numbers, len(taken)
	}
	clear(numbers)
	for i := range s.Endpoints {
		numbers[s.Endpoints[i].Name] = i
	}
	for i := range s.Switches {
		numbers[s.Switches[i].Name] = len(s.Endpoints) + i
	}
	return numbers, len(numbers)
}

// HPCC returns the topology of a scenario as HPCC's simulator reads it.
func HPCC(s *scenario.Scenario) []byte {
	numbers, count := hpccNumbers(s)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d %d %d\n", count, len(s.Switches), len(s.Links))
	var switches []int
	for i := range s.Switches {
		switches = append(switches, numbers[s.Switches[i].Name])
	}
	slices.Sort(switches)
	fmt.Fprintln(&b, strings.Trim(fmt.Sprint(switches), "[]"))
	for i := range s.Links {
		l := &s.Links[i]
		fmt.Fprintf(&b, "%d %d %s %s 0\n", numbers[l.A], numbers[l.B], strings.Replace(l.Rate.InBits(), "b/s", "bps", 1), hpccTime(l.Propagation))
	}
	return b.Bytes()
}

// hpccTime writes a time that ns-3 reads.
func hpccTime(d unit.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(unit.Nanosecond), 'f', -1, 64) + "ns"
}

// HPCCFlows returns the flows of a scenario as HPCC's simulator reads them, by their start, and
// those that are left out: flows other than a single transfer of one size, and workloads.
func HPCCFlows(s *scenario.Scenario) (text []byte, left []string) {
	numbers, _ := hpccNumbers(s)
	var all []*scenario.Flow
	for i := range s.Flows {
		f := &s.Flows[i]
		if f.Traffic != traffic.Transfers || f.Count > 1 || f.Rate > 0 || !hasOneSize(f) {
			left = append(left, fmt.Sprintf("flow %s: HPCC's simulator has single transfers of one size", f.Name))
			continue
		}
		all = append(all, f)
	}
	for i := range s.Workloads {
		left = append(left, fmt.Sprintf("workload %s: HPCC's simulator has single transfers", s.Workloads[i].Name))
	}
	slices.SortStableFunc(all, func(a, b *scenario.Flow) int { return cmp.Compare(a.Start, b.Start) })
	var b bytes.Buffer
	fmt.Fprintln(&b, len(all))
	for _, f := range all {
		sizes := f.Size.Distribution()
		size, _ := sizes.Single()
		fmt.Fprintf(&b, "%d %d %d 100 %d %s\n", numbers[f.From], numbers[f.To], f.Priority, int64(size),
			strconv.FormatFloat(f.Start.Seconds(), 'f', -1, 64))
	}
	return b.Bytes(), left
}

// hasOneSize reports whether all transfers of a flow have the same size.
func hasOneSize(f *scenario.Flow) bool {
	sizes := f.Size.Distribution()
	_, one := sizes.Single()
	return one
}
