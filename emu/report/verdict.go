package report

import (
	"fmt"
	"strings"

	"fabemu/emu/terminal"
)

// Level says how far the figures of a run can be trusted.
type Level string

// The levels, the best first. Virtual stands apart: it has no wall time to keep.
const (
	Virtual   Level = "virtual"    // virtual clock: model-time figures stand, there are no wall-time figures
	Exact     Level = "exact"      // order and pace are those of the model
	Faithful  Level = "faithful"   // nearly so: all figures stand
	OrderOnly Level = "order-only" // model-time figures stand, wall-time figures do not
	Degraded  Level = "degraded"   // figures are off by an unknown amount
	Void      Level = "void"       // no figure stands
)

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
	return strings.ToUpper(v.Reason[:1]) + v.Reason[1:] + "."
}

// Figures are what a driver measures of its own run. T is the time of the
// scenario's longest data frame on the link in question. A Number that was not
// measured is Missing; NoFigures returns a value in which all are.
type Figures struct {
	Virtual       bool   `json:"-"` // the run was on the virtual clock
	Order         Order  `json:"order"`
	Pace          Pace   `json:"pace"`
	LostDatagrams int64  `json:"lost_datagrams"` // by the kernel
	Refused       int64  `json:"refused_datagrams"`
	Violations    int64  `json:"violations"`                // broken promises of the fabric
	Overruns      int64  `json:"timing_overruns,omitempty"` // frames that found no room since one came late; no Violations
	WorstLink     string `json:"worst_link"`                // whose frames left the latest
	Stalls        int64  `json:"stalls"`                    // gaps in which the driver did not run
	StalledUs     Number `json:"stalled_us"`                // their sum, in wall time
	GCCycles      int64  `json:"gc_cycles"`                 // of Go's collector during the run
	ForeignCPUs   Number `json:"foreign_cpus"`              // processors that others used, as a mean
	BusySeconds   Number `json:"busy_seconds"`              // wall time in which the driver's loop had something to do
	CPUSeconds    Number `json:"cpu_seconds"`               // processor time of this process during the run
	Verify        string `json:"verify"`                    // against a virtual re-run: "equal", "differs", or "" when not done
}

// Order is how far the order of events was that of the model.
type Order struct {
	Frames           int64  `json:"frames"`                   // handed to machines
	LateFrames       int64  `json:"late_frames"`              // that came when their machine had handled a later event
	WorstPacketTimes Number `json:"worst_late_packet_times"`  // the latest of them, in T of model time
	Over5Percent     Number `json:"late_over_5_percent_of_t"` // share of all frames
	OverT            Number `json:"late_over_t"`              // share of all frames
}

// Pace is how well the run kept to the wall clock.
type Pace struct {
	Ratio               Number      `json:"ratio"`                 // dilation x model time run / wall time
	LatenessUs          Percentiles `json:"lateness_us"`           // how long after its due wall time a data frame left
	LatenessPacketTimes Percentiles `json:"lateness_packet_times"` // the same in T
	LateShare           Number      `json:"late_share"`            // of data frames that left more than 5 % of T late
	FloorShare          Number      `json:"floor_share"`           // what a loop that only waits would have had
	Early               int64       `json:"early"`                 // frames that left before their due wall time
}

// Percentiles are those of a distribution.
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
	none := Percentiles{n, n, n, n, n, n}
	return Figures{
		Order:       Order{WorstPacketTimes: n, Over5Percent: n, OverT: n},
		Pace:        Pace{Ratio: n, LatenessUs: none, LatenessPacketTimes: none, LateShare: n, FloorShare: n},
		StalledUs:   n,
		ForeignCPUs: n,
		BusySeconds: n,
		CPUSeconds:  n,
	}
}

// What the levels ask for.
const (
	exactPace     = 0.995
	exactAbove    = 0.02 // share of late departures above the floor
	faithfulPace  = 0.95
	faithfulLate  = 0.02  // share of late frames that are late by more than 5 % of T
	faithfulLateT = 0.001 // and by more than T
	faithfulP99   = 1     // lateness of departures, in T
)

// Judge says what the figures of a run are worth, and why in a sentence:
//
//	void        a datagram was lost, a frame left early, a promise broke, or the
//	            log differs from the virtual clock's although no frame was late
//	exact       no late frame; pace >= 99.5 %; departures later than 5 % of T at
//	            most 2 points above the floor
//	faithful    frames late by more than 5 % of T at most 2 %, by more than T at
//	            most 0.1 %; pace >= 95 %; departures p99 <= T
//	order-only  no late frame, but the pace is below that
//	degraded    anything else; always where a frame found no room because one came late
//
// A figure that is missing cannot lift a run, with two exceptions: a floor that
// was not sampled counts as zero, which is the strictest, and shares of late
// frames are not needed when there are none.
func Judge(f Figures) (Level, string) {
	switch {
	case f.LostDatagrams > 0:
		return Void, fmt.Sprintf("the kernel lost %s: no figure stands", terminal.Count(f.LostDatagrams, "datagram"))
	case f.Pace.Early > 0:
		return Void, fmt.Sprintf("%s left before the due time, which is a fault of the program: no figure stands", terminal.Count(f.Pace.Early, "frame"))
	case f.Violations > 0:
		return Void, fmt.Sprintf("the fabric broke its promises %s: no figure stands", times(f.Violations))
	case f.Verify == "differs" && f.Order.LateFrames == 0:
		return Void, "the event log is not that of the virtual clock although no frame was late: no figure stands"
	case f.Virtual:
		return Virtual, "the virtual clock has no pace: model-time figures stand, there are no wall-time figures"
	}
	order, orderKept := judgeOrder(f.Order)
	if f.Overruns > 0 {
		return Degraded, fmt.Sprintf("%s, and for %s there was no room because of that (timing-overrun): figures are off by an unknown amount", order, terminal.Count(f.Overruns, "frame"))
	}
	pace, faithfulPaced, exactPaced := judgePace(f.Pace)
	none := f.Order.LateFrames == 0
	switch {
	case none && exactPaced:
		return Exact, fmt.Sprintf("%s and %s: all figures stand", order, pace)
	case orderKept && faithfulPaced:
		return Faithful, fmt.Sprintf("%s and %s: all figures stand", order, pace)
	case none:
		return OrderOnly, fmt.Sprintf("%s, but %s: model-time figures stand, wall-time figures do not", order, pace)
	default:
		return Degraded, fmt.Sprintf("%s and %s: figures are off by an unknown amount", order, pace)
	}
}

// judgeOrder says how the order was, and whether it does for faithful.
func judgeOrder(o Order) (words string, kept bool) {
	if o.LateFrames == 0 {
		return "no frame was late", true
	}
	words = terminal.Count(o.LateFrames, "frame") + " came late"
	if o.LateFrames == 1 {
		words = "one frame came late"
	}
	if o.WorstPacketTimes.Known() {
		words += fmt.Sprintf(" (by %s packet times at the worst)", significant(float64(o.WorstPacketTimes), 2))
	}
	// Comparisons with a missing figure are false.
	return words, o.Over5Percent <= faithfulLate && o.OverT <= faithfulLateT
}

// judgePace says how the pace was, and for which levels it does.
func judgePace(p Pace) (words string, faithful, exact bool) {
	if !p.Ratio.Known() {
		return "the pace was not measured", false, false
	}
	floor := p.FloorShare
	if !floor.Known() {
		floor = 0
	}
	exact = p.Ratio >= exactPace && p.LateShare <= floor+exactAbove
	faithful = p.Ratio >= faithfulPace && p.LatenessPacketTimes.P99 <= faithfulP99
	if exact {
		return fmt.Sprintf("the pace was %s of the wanted one", percent(p.Ratio)), faithful, true
	}
	var short []string // what keeps it from being exact
	if p.Ratio < exactPace {
		short = append(short, fmt.Sprintf("the pace was only %s of the wanted one", percent(p.Ratio)))
	}
	if !p.LateShare.Known() {
		short = append(short, "the lateness of frames was not measured")
	} else if p.LateShare > floor+exactAbove {
		short = append(short, fmt.Sprintf("%s of the frames left late (the machine's floor: %s)", percent(p.LateShare), percent(p.FloorShare)))
	}
	if p99 := p.LatenessPacketTimes.P99; p99 > faithfulP99 {
		short = append(short, fmt.Sprintf("one in a hundred left more than %s packet times late", significant(float64(p99), 2)))
	}
	return strings.Join(short, ", "), faithful, false
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// percent prints a share of 1, or a dash for what is missing.
func percent(n Number) string {
	if !n.Known() {
		return "-"
	}
	digits := 1
	if n > 0.99 && n < 0.9999 {
		digits = 2 // where the levels are decided
	}
	return fmt.Sprintf("%.*f %%", digits, 100*float64(n))
}
