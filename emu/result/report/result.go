package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"fabemu/emu/base/terminal"
	"fabemu/emu/fabric"
	"fabemu/emu/host"
	"fabemu/emu/metrics"
	"fabemu/emu/run/guest"
	"fabemu/emu/run/mode"
	"fabemu/emu/scenario"
	"fabemu/switchd"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Form is the form of result.json that this version writes. It grows with each change that an older
// version cannot read, such as a new key. ReadDir reads all forms up to it.
const Form = 2

// Result is the result of a run: the content of result.json.
type Result struct {
	Form          int           `json:"form"`     // of result.json: Form
	Fabemu        string        `json:"fabemu"`   // version of this program
	Scenario      string        `json:"scenario"` // its name
	Source        string        `json:"source"`   // where the scenario comes from
	mode.Settings               // Codec: frames went through their bytes, and not as values; Loops: that shared the nodes
	Seed          uint64        `json:"seed"`
	Partial       bool          `json:"partial"`     // ended before its time
	DurationPs    int64         `json:"duration_ps"` // model time that was run
	WindowPs      int64         `json:"window_ps"`   // of the sliding means
	Verdict       Verdict       `json:"verdict"`
	Checks        []Check       `json:"checks"`
	Events        []Event       `json:"events,omitempty"` // changes of the fabric, by time
	Phases        []Phase       `json:"phases"`
	Flows         []Flow        `json:"flows"`
	Workloads     []Workload    `json:"workloads,omitempty"`
	Links         []Link        `json:"links"`
	Buffers       []Buffer      `json:"buffers"`
	Drops         []Count       `json:"drops"`
	Losses        []Loss        `json:"losses,omitempty"`  // drops by the place where they happened
	Violations    []Violation   `json:"violations"`        // the first ones; verdict.violations counts all
	Retries       []RetryCount  `json:"retries,omitempty"` // counters of the retry of links
	Credits       []RetryCount  `json:"credits,omitempty"` // and of the credits of channels
	Storms        []Storm       `json:"storms,omitempty"`  // of PFC, that watchdogs have found
	Deadlocks     []Deadlock    `json:"deadlocks,omitempty"`
	Deadlocked    bool          `json:"deadlocked,omitempty"` // one of them lasted to the end of the run
	Failures      []Failure     `json:"failures,omitempty"`   // queue pairs that have failed, by time
	Silences      []Silence     `json:"silences,omitempty"`   // flows that had something to send and delivered nothing for PatiencePs or longer, those to the end of the run first
	RankWaits     []RankWait    `json:"rank_waits,omitempty"` // ranks of parallel jobs that have waited for a tenth of the run or longer at its end, or cannot continue
	PatiencePs    int64         `json:"patience_ps"`          // a tenth of the run, and at least twice the time of a packet on the longest path
	EndedPs       int64         `json:"ended_ps,omitempty"`   // a deadlock stopped everything; the rest of the time was not run
	Machine       host.Computer `json:"machine"`
	Began         time.Time     `json:"began,omitzero"`         // wall time of model time 0; an event at model time t is due dilation x t later. Not in a virtual run
	WallSeconds   Number        `json:"wall_seconds"`           // how long the run took
	FrameHops     int64         `json:"frame_hops"`             // data and ACK frames put on a link
	Digest        string        `json:"digest,omitempty"`       // of the event log (Digest.Sum), of all events; empty: none was asked for
	Choice        *Choice       `json:"event_choice,omitempty"` // of the events in the log; nil: it has all
	Warnings      []string      `json:"warnings"`
	Unwritten     []string      `json:"unwritten,omitempty"` // files that were not written, or not to their end, with the reason

	// Derived are the watermarks that the scenario does not give.
	Derived []scenario.Threshold `json:"derived,omitempty"`

	// Guests are the hosts. With real ones no two runs are the same, and there is no digest.
	Guests   []guest.Report        `json:"guests,omitempty"`
	Programs []guest.ProgramReport `json:"programs,omitempty"` // that ran in them
	// KernelTimes are the times of the guests' kernels, at a dilation above 1.
	KernelTimes []guest.KernelTime `json:"kernel_times,omitempty"`

	Subnet *Subnet `json:"subnet,omitempty"` // of a run with a subnet manager

	Questions *Questions `json:"questions,omitempty"` // to the algorithms in other programs

	// Files are the SHA-256 sums of the other files of this run, by their
	// names, in hexadecimal. WriteDir fills it in; of an event log Record does before.
	Files map[string]string `json:"files,omitempty"`

	// Curves are the names that the scenario chooses for the picture of rates; nil: the usual ones.
	Curves []string `json:"curves,omitempty"`

	Pace      []metrics.Series `json:"-"` // of a wall run over model time (PaceOf); in series.csv and on the figure
	AllPoints bool             `json:"-"` // series.csv has every point that was measured
	Directory string           `json:"-"` // where the results lie; empty when they were not written
}

// Questions are what a run asked the algorithms in other programs.
type Questions struct {
	Count   int64  `json:"count"`
	Seconds Number `json:"seconds"` // that it waited for the answers
}

// Subnet is what a run had to do with its subnet manager.
type Subnet struct {
	UpSeconds Number `json:"up_seconds"`      // wall time from the first MAD until all ports were active and all routes set
	UpPs      int64  `json:"up_ps,omitempty"` // model time of the same, if management packets cross the links
	MADs      int64  `json:"mads"`            // received
	Refused   int64  `json:"refused"`         // of them, those that were no MAD, or that nothing answered
	Strange   int64  `json:"strange"`         // datagrams of a wrong size, of another user, or under a foreign name
	Slowed    int64  `json:"slowed"`          // MADs after which their client had to wait, because it sent too many
	Unsent    int64  `json:"unsent"`          // MADs for clients that did not take them
	Levels    int64  `json:"levels"`          // flows whose service level is that of a path record
	// Unadopted are the reasons why the run did not adopt forwarding tables, or the state of a
	// port.
	Unadopted []string `json:"unadopted,omitempty"`
	// DuplicateLIDs are those that two nodes had when the run adopted forwarding tables, with the
	// nodes.
	DuplicateLIDs []string `json:"duplicate_lids,omitempty"`
}

// Outcome is the outcome of a check.
type Outcome string

// The outcomes of a check.
const (
	Pass           Outcome = "pass"
	Fail           Outcome = "fail"
	Differs        Outcome = "differs"         // out of its range, as expected
	UnexpectedPass Outcome = "unexpected-pass" // in its range, though expected to differ
	NotMeasured    Outcome = "not-measured"    // the run ended before the time of the check
)

// Word is the outcome as in tables: "UNEXPECTED PASS".
func (o Outcome) Word() string {
	return strings.ToUpper(strings.ReplaceAll(string(cmp.Or(o, Fail)), "-", " "))
}

// Color is the colour of an outcome for people.
func (o Outcome) Color() terminal.Color {
	switch o {
	case Pass:
		return terminal.Green
	case Differs, UnexpectedPass, NotMeasured:
		return terminal.Yellow
	default:
		return terminal.Red
	}
}

// Check is a claim about a run, and its outcome.
type Check struct {
	Judged
	Claim    string   `json:"claim"`
	Metric   string   `json:"metric"`
	DuringPs [2]int64 `json:"during_ps"`
	Flows    int      `json:"flows,omitempty"` // of a figure of transfers, how many it is of: flows, or rounds
}

// Phase is a part of the run in which the same flows were active, and the means
// over it.
type Phase struct {
	BeginPs  int64      `json:"begin_ps"` // when it began
	FromPs   int64      `json:"from_ps"`  // the means begin here: a window later
	ToPs     int64      `json:"to_ps"`
	Flows    int        `json:"flows"` // how many were active
	Rates    []Rate     `json:"rates"`
	Fairness []Fairness `json:"fairness"`
}

// Event is something that changed the fabric while it ran.
type Event struct {
	AtPs int64  `json:"at_ps"`
	What string `json:"what"`
}

// Rate is how much an aggregate carried in a phase: a direction of a link that
// carries data, or a group of flows.
type Rate struct {
	Kind        string `json:"kind"` // "link" or "group"
	Name        string `json:"name"`
	Rate        Number `json:"rate"`        // bytes per second
	Utilisation Number `json:"utilisation"` // of the link; of the narrowest that the group shares
}

// Fairness measures how evenly flows shared their capacity.
type Fairness struct {
	Kind  string `json:"kind"` // "group", or "bottleneck": the flows that one link stops
	Name  string `json:"name"`
	Flows int    `json:"flows"`
	Jain  Number `json:"jain"` // Jain's index: 1 when all are equal, 1/flows when one has all
}

// Count is how often something happened for a reason.
type Count struct {
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

// Stall is model time spent waiting for a cause.
type Stall struct {
	Cause  string `json:"cause"`
	TimePs int64  `json:"time_ps"`
}

// Flow has the totals of a flow. Its figures are those of the rows of metrics.Figures with these
// keys.
type Flow struct {
	Name       string     `json:"name"`
	Group      string     `json:"group"`
	From       string     `json:"from"`
	To         string     `json:"to"`
	QP         uint32     `json:"qp"`
	ActivePs   [][2]int64 `json:"active_ps"` // when it had something to send
	Bytes      int64      `json:"bytes"`     // received whole, headers included
	Frames     int64      `json:"frames"`
	Marked     int64      `json:"marked"` // of the frames
	Rate       Number     `json:"rate"`   // over the time in which it was active
	Limit      Number     `json:"limit"`  // the rate of its limiter at the end, bytes per second
	Acks       int64      `json:"acks"`
	MarkedAcks int64      `json:"marked_acks"`
	Stalled    []Stall    `json:"stalled"`

	OutOfOrder         int64  `json:"out_of_order,omitempty"`          // packets ahead of their turn, where the receiver accepts them
	OutOfOrderDistance int64  `json:"out_of_order_distance,omitempty"` // of them the farthest, in packets
	ReorderBuffer      Number `json:"reorder_buffer_s,omitempty"`      // their mean time there
	ReorderBufferMax   Number `json:"reorder_buffer_max_s,omitempty"`

	Figures map[string]Number `json:"figures,omitempty"` // further ones, of rows that a program has added
}

// Link has the totals of one direction of a link. Its figures are those of the rows of
// metrics.Figures with these keys.
type Link struct {
	Name        string  `json:"name"` // "trunk.A-B"
	From        string  `json:"from"`
	To          string  `json:"to"`
	Capacity    Number  `json:"capacity"` // at the start of the run
	Bytes       int64   `json:"bytes"`    // of data, headers included
	Frames      int64   `json:"frames"`   // of data
	Acks        int64   `json:"acks"`
	Control     int64   `json:"flow_control"`
	Utilisation Number  `json:"utilisation"` // by data, over the run
	Marked      int64   `json:"marked"`      // data frames marked as they left by this line
	Marks       []Count `json:"marks"`
	Triggers    []Count `json:"triggers"` // how often congestion was detected
	Stalled     []Stall `json:"stalled"`

	Figures map[string]Number `json:"figures,omitempty"` // as in Flow
}

// Loss is how many frames a node has discarded, for a reason.
type Loss struct {
	Node   string `json:"node"`
	Link   string `json:"link,omitempty"` // by which they had come; empty: they had not left their source
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

// Buffer is how full the data lane of a switch's receive buffer was.
type Buffer struct {
	Node       string `json:"node"`
	Port       int    `json:"port"`
	Link       string `json:"link"`        // that fills it
	MeanBlocks Number `json:"mean_blocks"` // null on Ethernet, where bytes are counted
	MaxBlocks  int64  `json:"max_blocks"`
	MeanBytes  Number `json:"mean_bytes,omitempty"`
	MaxBytes   int64  `json:"max_bytes,omitempty"`

	Figures map[string]Number `json:"figures,omitempty"` // as in Flow
}

// Storm is a PFC storm at a queue.
type Storm struct {
	Node     string `json:"node"` // the switch whose watchdog has found it
	Link     string `json:"link"` // that the queue leads to
	Priority int    `json:"priority"`
	Action   string `json:"action,omitempty"` // of the watchdog, a word of switchd.WatchdogAction; empty: not known
	FromPs   int64  `json:"from_ps"`          // when it was found
	ToPs     int64  `json:"to_ps,omitempty"`  // when its end was found; absent: it lasts
}

// RetryCount is a counter of the retry of a link, or of its credits of channels, at one of its
// ends.
type RetryCount struct {
	Node    string `json:"node"`
	Link    string `json:"link"`    // that leaves the node by the port that counts
	Counter string `json:"counter"` // SAI's name behind SAI_PORT_STAT_LLR_ or SAI_PORT_STAT_CBFC_, or one of ours in small letters
	Count   int64  `json:"count"`
}

// Deadlock is a cycle of outputs, each of which waits for the next one's node to
// make room, and the last for the first.
type Deadlock struct {
	AtPs  int64     `json:"at_ps"` // when it was found
	Cycle []Waiting `json:"cycle"`
}

// Waiting is an output that waits.
type Waiting struct {
	Node    string `json:"node"`
	For     string `json:"for"`   // the node that has no room
	Link    string `json:"link"`  // between the two
	Class   int    `json:"class"` // virtual lane, or priority
	Cause   string `json:"cause"` // "no-credit" or "paused"
	SincePs int64  `json:"since_ps"`
}

// Violation is a broken promise of the fabric.
type Violation struct {
	AtPs   int64  `json:"at_ps"`
	Node   string `json:"node"`
	Port   string `json:"port"` // the link's direction that comes from it
	Flow   string `json:"flow,omitempty"`
	Reason string `json:"reason"`
	Figure int64  `json:"figure"`
}

// New makes a Result of the state of a run: the scenario, the checks, and the
// figures of flows, links and buffers. The caller sets the fields that come from the driver:
// Fabemu, Clock, Timing, Placement, Link, Dilation, Verdict, Machine, WallSeconds,
// Digest, Warnings.
func New(v *metrics.View) *Result {
	s := v.Scenario()
	first, total := v.Violations()
	r := &Result{
		Form:        Form,
		Scenario:    s.Name,
		Source:      s.Source,
		Seed:        s.Model.Seed,
		Partial:     v.Until() < unit.Time(s.Model.Duration),
		DurationPs:  int64(v.Until()),
		WindowPs:    int64(s.Measure.Window),
		Verdict:     Verdict{Figures: NoFigures()},
		Checks:      checksOf(v),
		Events:      eventsOf(v),
		Phases:      phasesOf(v),
		Flows:       flowsOf(v),
		Workloads:   workloadsOf(v),
		Links:       linksOf(v),
		Buffers:     buffersOf(v),
		Drops:       counts(v.Drops()),
		Losses:      lossesOf(v),
		Retries:     countsOf(v.Fabric(), v.Retries()),
		Credits:     countsOf(v.Fabric(), v.Credits()),
		Storms:      Storms(v.Fabric(), v.Storms()),
		Failures:    Failures(v),
		Silences:    silencesOf(v),
		RankWaits:   rankWaitsOf(v),
		PatiencePs:  int64(v.Patience()),
		Violations:  []Violation{},
		WallSeconds: Missing(),
		FrameHops:   v.FrameHops(),
		Warnings:    idleFaults(v),
		Derived:     s.Derived(),
		Curves:      s.Measure.Curves.Names(),
	}
	r.Verdict.Violations = total
	r.Verdict.Failed = int64(len(r.Failures))
	for i := range r.RankWaits {
		if r.RankWaits[i].cannotGoOn() {
			r.Verdict.Stopped++
		}
	}
	n := namesOf(v.Fabric())
	for i := range first {
		e := &first[i]
		r.Violations = append(r.Violations,
			Violation{int64(e.At), n.node(e), n.port(e), n.flow(e), e.Reason().String(), e.B})
	}
	return r
}

func checksOf(v *metrics.View) []Check {
	checks := []Check{}
	for i, want := range v.Scenario().Expect {
		unmeasured := ""
		switch _, ofProgram := v.Scenario().ProgramMetric(want.Metric); {
		case ofProgram:
			unmeasured = "its program has given no figure" // TakeGuests judges it
		case unit.Time(want.During[1]) > v.End():
			unmeasured = fmt.Sprintf("the run ended at %v", v.End())
		}
		value, _ := v.Check(i)
		k := JudgeCheck(&want, value, unmeasured)
		if math.IsNaN(value) && unmeasured == "" {
			k.Reason = v.WhyNot(i)
		}
		if unmeasured == "" {
			k.Flows = v.Values(i)
		}
		checks = append(checks, k)
	}
	return checks
}

// JudgeCheck judges a check; value and unmeasured are the arguments of JudgeClaim.
func JudgeCheck(c *scenario.Check, value float64, unmeasured string) Check {
	return Check{Judged: JudgeClaim(c, value, unmeasured), Claim: c.Claim, Metric: c.Metric, DuringPs: [2]int64{int64(c.During[0]), int64(c.During[1])}}
}

// Pauses returns numbers of PFC frames by priority under the names of adapters.
func Pauses(classes [port.Priorities]int64) map[string]int64 {
	named := map[string]int64{}
	for p, n := range classes {
		named[fmt.Sprintf("rx_prio%d_pause", p)] = n
	}
	return named
}

// TakeGuests records the guests of a run that has ended, and their programs,
// and removes them.
func (r *Result) TakeGuests(v *metrics.View, end unit.Time, g *guest.Guests) {
	s := v.Fabric().Scenario
	programs := g.Stop()
	r.Programs = programs.Report()
	r.judgePrograms(s, programs.Value)
	r.Verdict.Programs = ProgramsOf(g.Errors())
	all, warnings := g.Report()
	r.Guests, r.KernelTimes = all, g.Times()
	for i := range r.Guests {
		if roce := r.Guests[i].RoCE; roce != nil {
			node := slices.IndexFunc(v.Fabric().Nodes, func(m fabric.Node) bool { return m.Name == r.Guests[i].Name })
			roce.Pauses = Pauses(v.Classes(node, 0))
		}
	}
	r.Warnings = append(r.Warnings, warnings...)
	for _, e := range g.Events() {
		r.Events = append(r.Events, Event{e.AtPs, fmt.Sprintf("%s of guest %s: %s", e.Name, e.Guest, e.Text)})
	}
	slices.SortStableFunc(r.Events, func(a, b Event) int { return cmp.Compare(a.AtPs, b.AtPs) })
	if err := g.Close(); err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("not all of the guests' namespaces could be removed: %v", err))
	}
}

// judgePrograms judges the checks of programs. value returns a measurement of a program, or
// the reason why there is none.
func (r *Result) judgePrograms(s *scenario.Scenario, value func(scenario.ProgramMetric) (float64, string)) {
	for i := range r.Checks {
		k, want := &r.Checks[i], &s.Expect[i]
		m, ofProgram := s.ProgramMetric(want.Metric)
		if !ofProgram {
			continue
		}
		got, why := value(m)
		if k.Judged = JudgeClaim(want, got, ""); why != "" {
			k.Reason = why
		}
	}
}

func eventsOf(v *metrics.View) []Event {
	var events []Event
	for _, x := range v.Scenario().Changes() {
		if x.At < v.Until() {
			events = append(events, Event{int64(x.At), x.What})
		}
	}
	return events
}

func phasesOf(v *metrics.View) []Phase {
	f := v.Fabric()
	groups := f.Groups()
	phases := []Phase{}
	for _, p := range v.Phases() {
		out := Phase{BeginPs: int64(p.Begin), FromPs: int64(p.From), ToPs: int64(p.To), Flows: len(p.Flows),
			Rates: []Rate{}, Fairness: []Fairness{}}
		for _, h := range aggregates(f) {
			rate, share := v.LinkFigures(h, p.Interval)
			out.Rates = append(out.Rates, Rate{"link", f.LinkName(h), Number(rate), Number(share)})
		}
		for _, g := range groups {
			rate, share := v.FlowFigures(g.Flows, p.Interval)
			out.Rates = append(out.Rates, Rate{"group", g.Name, Number(rate), Number(share)})
		}
		for _, g := range groups {
			active := slices.DeleteFunc(slices.Clone(g.Flows), func(i int) bool {
				_, in := slices.BinarySearch(p.Flows, i)
				return !in
			})
			if len(active) > 1 {
				out.Fairness = append(out.Fairness,
					Fairness{"group", g.Name, len(active), Number(v.Jain(active, p.From, p.To))})
			}
		}
		for _, b := range v.Bottlenecks(p.Flows, p.Interval) {
			out.Fairness = append(out.Fairness,
				Fairness{"bottleneck", f.LinkName(b.Hop), len(b.Flows), Number(v.Jain(b.Flows, p.From, p.To))})
		}
		phases = append(phases, out)
	}
	return phases
}

// aggregates returns the links whose rates are worth a separate line: those
// that carry data and have a name, or join two switches.
func aggregates(f *fabric.Fabric) []fabric.Hop {
	var hops []fabric.Hop
	for _, h := range f.DataLinks() {
		w := &f.Wires[h.Wire]
		between := f.Nodes[w.Ends[0].Node].Switch != nil && f.Nodes[w.Ends[1].Node].Switch != nil
		if between || w.Named() {
			hops = append(hops, h)
		}
	}
	return hops
}

func flowsOf(v *metrics.View) []Flow {
	flows := []Flow{}
	for x := range v.EachFlow {
		f, nodes := &v.Fabric().Flows[x.Flow], v.Fabric().Nodes
		out := Flow{Name: f.Name, Group: f.Group, From: nodes[f.Src].Name, To: nodes[f.Dst].Name, QP: f.QP, ActivePs: [][2]int64{}}
		for _, a := range x.Active() {
			out.ActivePs = append(out.ActivePs, [2]int64{int64(a.From), int64(a.To)})
		}
		fill(&out, x)
		flows = append(flows, out)
	}
	return flows
}

func linksOf(v *metrics.View) []Link {
	f, links := v.Fabric(), []Link{}
	for x := range v.Links {
		ends := f.Wires[x.Hop.Wire].Ends
		l := Link{Name: f.LinkName(x.Hop), From: f.Nodes[ends[x.Hop.From].Node].Name, To: f.Nodes[ends[1-x.Hop.From].Node].Name}
		fill(&l, x)
		links = append(links, l)
	}
	return links
}

func buffersOf(v *metrics.View) []Buffer {
	f, buffers := v.Fabric(), []Buffer{}
	for x := range v.Objects(metrics.Buffer) {
		end := f.Wires[x.Hop.Wire].Ends[1-x.Hop.From]
		b := Buffer{Node: f.Nodes[end.Node].Name, Port: int(end.Port), Link: f.LinkName(x.Hop)}
		fill(&b, x)
		buffers = append(buffers, b)
	}
	return buffers
}

func lossesOf(v *metrics.View) (losses []Loss) {
	for _, l := range v.Losses() {
		losses = append(losses, lossOf(v.Fabric(), &l))
	}
	return losses
}

func lossOf(f *fabric.Fabric, l *metrics.Loss) Loss {
	m := &f.Nodes[l.Node]
	out := Loss{Node: m.Name, Reason: l.Reason.String(), Count: l.Count}
	if l.Reason != trace.EgressFull { // those were still at their source
		out.Link = f.LinkName(m.Ports[l.Port].In())
	}
	return out
}

// idleFaults warns of faults that lose or corrupt frames of a link on which no frame was lost, or
// corrupted, in the run.
func idleFaults(v *metrics.View) []string {
	f, warnings := v.Fabric(), []string{}
	all := v.Losses()
	for _, e := range v.Scenario().Events {
		x, word := e.Touch(), "lost"
		if x.Drops == trace.BadFCS {
			word = "corrupted"
		}
		on := func(w *fabric.Wire) bool { return e.Link == "*" || e.Link == w.Link.Name }
		hit := slices.ContainsFunc(all, func(l metrics.Loss) bool {
			m := &f.Nodes[l.Node]
			return l.Reason == x.Drops && on(&f.Wires[m.Ports[l.Port].Wire]) && x.From != m.Name
		})
		retried := slices.ContainsFunc(f.Wires, func(w fabric.Wire) bool { return on(&w) && w.Link.Retry.On() }) // no drops
		if e.Link == "" || x.Drops == trace.NoReason || hit || retried || unit.Time(e.At) >= v.Until() {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("the fault %s has %s no frame: none was there to hit, or its share is too small for this run",
			e.Text(), word))
	}
	return warnings
}

// countsOf puts counters of ports into the words of a fabric.
func countsOf(f *fabric.Fabric, counts []metrics.PortCount) (all []RetryCount) {
	for _, x := range counts {
		m := &f.Nodes[x.Node]
		all = append(all, RetryCount{Node: m.Name, Link: f.LinkName(m.Ports[x.Port].Out()), Counter: x.Counter, Count: x.Count})
	}
	return all
}

// Storms puts storms into the words of a fabric.
func Storms(f *fabric.Fabric, found []metrics.Storm) (storms []Storm) {
	for _, s := range found {
		m := &f.Nodes[s.Node]
		end := m.Ports[s.Port]
		out := Storm{Node: m.Name, Link: f.LinkName(end.Out()), Priority: int(s.Priority),
			Action: switchd.StormDrop.Words()[s.Action], FromPs: int64(s.From)}
		if s.To != unit.Never {
			out.ToPs = int64(s.To)
		}
		storms = append(storms, out)
	}
	return storms
}

func counts(in []metrics.ReasonCount) []Count {
	out := []Count{}
	for _, x := range in {
		out = append(out, Count{x.Reason.String(), x.Count})
	}
	return out
}

// InBytes reports whether the occupancy of buffers is in bytes, as on Ethernet, not in
// blocks of credit.
func (r *Result) InBytes() bool {
	return slices.ContainsFunc(r.Buffers, func(b Buffer) bool { return !b.MeanBlocks.Known() })
}
