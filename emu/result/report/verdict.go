package report

import (
	"fmt"
	"strings"

	"fabemu/emu/base/terminal"
	"fabemu/wire/unit"
)

// Verified is the result of running a run again on the virtual clock.
type Verified string

// The results of a comparison.
const (
	VerifiedEqual   Verified = "equal"
	VerifiedDiffers Verified = "differs"
)

// Level is how far the figures of a run can be trusted.
type Level string

// The levels, the best first. Virtual is separate: it has no wall time to keep.
const (
	Virtual   Level = "virtual"    // virtual clock: figures in model time are exact, and there are none in wall time
	Exact     Level = "exact"      // an observer on a link finds the gaps of the model, at the requested dilation
	Faithful  Level = "faithful"   // most gaps are those of the model, at the dilation that was achieved: all figures are valid
	OrderOnly Level = "order-only" // figures in model time are valid, figures in wall time are not
	Degraded  Level = "degraded"   // figures are off by an unknown amount
	Void      Level = "void"       // no figure is valid
)

// Levels returns all levels, Virtual and then the best first.
func Levels() []Level { return []Level{Virtual, Exact, Faithful, OrderOnly, Degraded, Void} }

// Strict reports whether l is good enough for a strict run: faithful at least.
func (l Level) Strict() bool { return l == Virtual || l == Exact || l == Faithful }

// Color is the colour of a level for people.
func (l Level) Color() terminal.Color {
	switch {
	case l.Strict():
		return terminal.Green
	case l == OrderOnly:
		return terminal.Yellow
	default:
		return terminal.Red
	}
}

// Verdict is the judgement of a run and the figures that it rests on.
type Verdict struct {
	Level  Level  `json:"level"`
	Reason string `json:"reason"`
	Figures
}

// Sentence is the reason as a sentence.
func (v *Verdict) Sentence() string {
	if v.Reason == "" {
		return ""
	}
	return capital(v.Reason) + "."
}

// Figures are a driver's measurements of its run. A frame leaves late if it is sent after its due
// wall time. T is the time of the scenario's longest data frame on the link in question. A Number
// that was not measured is Missing; NoFigures returns a value in which all are.
type Figures struct {
	Virtual       bool      `json:"-"` // the run was on the virtual clock
	Order         Order     `json:"order"`
	Pace          Pace      `json:"pace"`
	Clocks        *Clocks   `json:"clocks,omitempty"`              // of a run on several hosts
	Starts        *Starts   `json:"starts,omitempty"`              // under actual timing
	Programs      *Programs `json:"programs,omitempty"`            // of a run with real programs at dilation 1
	LostDatagrams int64     `json:"lost_datagrams"`                // by the kernel
	Changed       int64     `json:"changed_datagrams,omitempty"`   // came back with other bytes
	Reordered     int64     `json:"reordered_datagrams,omitempty"` // overtook one of their direction of a link
	Faults        []Fault   `json:"faults,omitempty"`              // the first of these three
	Train         Number    `json:"datagrams_per_call"`            // datagrams that the kernel took in a call, as a mean
	Refused       int64     `json:"refused_datagrams"`             // by the driver: datagrams of others
	RefusedFor    []Count   `json:"refused_for,omitempty"`         // why, where any were
	Unreachable   int64     `json:"icmp_errors,omitempty"`         // reported by sockets; they change nothing
	Violations    int64     `json:"violations"`                    // broken promises of the fabric
	Stopped       int64     `json:"stopped_ranks,omitempty"`       // ranks of parallel jobs whose programs cannot continue; no Violations
	Failed        int64     `json:"failed_pairs,omitempty"`        // queue pairs that have failed
	WorstLink     string    `json:"worst_link"`                    // whose gaps were off the most often
	GCCycles      int64     `json:"gc_cycles"`                     // of Go's collector during the run
	Silent        []Silent  `json:"silent_parts,omitempty"`        // parts in other processes that did not answer
	ForeignCPUs   Number    `json:"foreign_cpus"`                  // processors that others used, as a mean
	BusySeconds   Number    `json:"busy_seconds"`                  // wall time in which the driver's loop had something to do
	CPUSeconds    Number    `json:"cpu_seconds"`                   // processor time of all processes of the run, since model time 0
	Verify        Verified  `json:"verify"`                        // against a virtual re-run; "": not done
}

// Fault is a frame that the kernel did not carry as it was sent.
type Fault struct {
	What  string `json:"what"`  // lost, changed or out of order
	Link  string `json:"link"`  // on which
	From  string `json:"from"`  // the node that sent it
	Frame int64  `json:"frame"` // its number in this direction of the link, from 0
}

// Silent is a part of a run that did not answer: its process was stopped, or got no processor.
type Silent struct {
	Part    string `json:"part"`
	Seconds Number `json:"seconds"` // of wall time, all times together that were longer than a second
}

// Order counts the frames that a run has passed to nodes, and the messages that its processes have
// exchanged to keep the order of the model.
type Order struct {
	Frames   int64 `json:"frames"`             // handed to nodes
	Reports  int64 `json:"reports,omitempty"`  // of processes: how far they are
	Promises int64 `json:"promises,omitempty"` // to them, in addition to those in the trailers of datagrams
}

// Percentiles are percentiles of a distribution.
type Percentiles struct {
	P50   Number `json:"p50"`
	P95   Number `json:"p95"`
	P98   Number `json:"p98"`
	P99   Number `json:"p99"`
	P99_9 Number `json:"p99_9"`
	Max   Number `json:"max"`
}

// NoFigures returns Figures in which nothing is measured yet.
func NoFigures() Figures {
	n := Missing()
	return Figures{Pace: noPace(), Train: n, ForeignCPUs: n, BusySeconds: n, CPUSeconds: n}
}

func noPercentiles() Percentiles {
	n := Missing()
	return Percentiles{n, n, n, n, n, n}
}

// Judge returns the level of a run's figures, and the reason in a sentence. A run is void where a
// datagram was lost, a frame left early, a promise broke, or the log differs from the virtual
// clock's. Otherwise it is of the first level whose limits it keeps (limitsOf), and degraded if it
// keeps none.
//
// A figure that is missing cannot lift a run. Queue pairs that have failed are named in the reason,
// and do not change the level: the figures are right.
func Judge(f Figures) (Level, string) {
	level, why := judge(f)
	return level, why + failedWords(f.Failed)
}

func judge(f Figures) (Level, string) {
	switch {
	case f.LostDatagrams+f.Changed+f.Reordered > 0:
		return Void, useless + faultWords(&f)
	case f.Pace.Early > 0:
		return Void, useless + fmt.Sprintf("%s left before the due time, which is a fault of the program",
			terminal.Count(f.Pace.Early, "frame"))
	case f.Violations > 0:
		return Void, useless + fmt.Sprintf("The fabric broke its promises %s", times(f.Violations))
	case f.Stopped > 0:
		return Void, useless + fmt.Sprintf("The program of %s cannot continue, and the job waits forever", terminal.Count(f.Stopped, "rank"))
	case f.Verify == VerifiedDiffers:
		return Void, useless + "The event log differs from the virtual clock's"
	case f.Virtual:
		return Virtual, "all figures may be used. The run was on the virtual clock: figures in model time are exact, and there are none in wall time"
	}
	why := f.Pace.words()
	if f.Programs != nil {
		why = f.Programs.words()
	}
	why += clockWords(f.Clocks) + f.Starts.words()
	for _, s := range f.Silent {
		why += fmt.Sprintf(", %s did not answer for %s s", s.Part, s.Seconds.Short())
	}
	for _, l := range limitsOf() {
		switch {
		case !l.kept(&f) || !l.timed(f.Clocks) || !l.started(f.Starts):
			continue
		case l.level == OrderOnly && f.Programs != nil:
			return l.level, "what programs have measured may not be used, figures in model time may. " + capital(why)
		case l.level == OrderOnly:
			return l.level, "figures in model time may be used, figures in wall time may not. " + capital(why)
		case f.Pace.slow():
			return l.level, "all figures may be used, those in wall time at the achieved dilation. " + capital(why)
		default:
			return l.level, "all figures may be used. " + capital(why)
		}
	}
	return Degraded, inexact + capital(why)
}

// The first sentences of verdicts by which no figure may be used.
const (
	useless = "no figure may be used. "
	inexact = "no figure may be used: all are off by an unknown amount. "
)

// kept reports whether a run keeps the limits of a level: those for programs, if there are any, and
// otherwise those for the gaps between frames.
func (l *limits) kept(f *Figures) bool {
	if f.Programs != nil {
		return l.served(f.Programs)
	}
	return l.paced(&f.Pace)
}

// capital returns a sentence with a capital letter.
func capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// faultWords counts the faults of the kernel, and names the first frame.
func faultWords(f *Figures) string {
	var words []string
	for _, x := range []struct {
		n    int64
		verb string
	}{{f.LostDatagrams, "lost"}, {f.Changed, "changed"}, {f.Reordered, "reordered"}} {
		if x.n > 0 {
			words = append(words, fmt.Sprintf("%s %s", x.verb, terminal.Count(x.n, "datagram")))
		}
	}
	text := "The kernel " + strings.Join(words, " and ")
	if len(f.Faults) > 0 {
		x := f.Faults[0]
		text += fmt.Sprintf(" (%s: frame %d from %s on link %s)", x.What, x.Frame, x.From, x.Link)
	}
	return text
}

// BreakOff marks a run that a failure has ended before its time: it is degraded at best.
func (v *Verdict) BreakOff(at unit.Time, why error) {
	first, _, _ := strings.Cut(why.Error(), "\n")
	broke := fmt.Sprintf("The run broke off at %v: %s", at, first)
	if v.Level == Void {
		v.Reason += ". " + broke
		return
	}
	v.Level, v.Reason = Degraded, inexact+broke
}

// Comment returns the verdict for a capture of the run, which may be partial; nothing on
// the virtual clock.
func (v *Verdict) Comment(partial bool) string {
	if v.Level == Virtual {
		return ""
	}
	text := fmt.Sprintf("Verdict: %s: %s", v.Level, v.Reason)
	if partial {
		text += " (the run was ended early)"
	}
	return text
}
