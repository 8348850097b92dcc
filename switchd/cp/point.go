package cp

import (
	"fmt"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Point is a row of the table of congestion points: everything about a point except its code. It is
// a marker, a notifier or a dropper: two of Marker, Notifier and Dropper are nil.
type Point struct {
	Name string   // the scheme, in scenarios
	Also []string // its other names
	Doc  string   // whom it marks or notifies, and when: the rest of a sentence
	Sees Sight

	// Params is a struct of parameters (package param), the zero value; nil: it has none.
	// It may have the methods of Traited, RoomChecker, SwitchFitter, param.Completer, and
	// String, which sums it up for pictures.
	Params any

	// Marker, Notifier and Dropper return the points of a switch. The parameters are a struct
	// of the type of Params.
	Marker   func(params any, s Site) (Marking, error)
	Notifier func(params any, s Site) (Notifier, error)
	Dropper  func(params any, s Site) (Dropper, error)
}

// Sight is the queues that a congestion point looks at, which determine the kind of switch that it
// fits.
type Sight uint8

// The queues and buffers that a point looks at.
const (
	Buffers Sight = iota // of inputs: Queue.Switch
	Queues               // of outputs: Queue.Bytes
)

// Site is the place of congestion points: a switch.
type Site struct {
	Ports    int
	Hosts    []bool          // by port: it leads to an endpoint
	Address  wire.LID        // of the switch, the source of its notifications
	Random   *unit.Random    // the generator that they use; nil: their own
	Recorder *trace.Recorder // the recorder that they report to
}

// happens draws whether an event of the given probability happens.
func (s *Site) happens(probability float64) bool {
	return float64(s.Random.Below(1<<32)) < probability*(1<<32)
}

// loses draws whether something is lost, with the given probability in percent. For 0 it draws
// nothing.
func (s *Site) loses(percent int) bool {
	return percent > 0 && s.Random.Below(100) < uint64(percent)
}

// check refuses parameters that are out of their ranges, or fit no switch. It gives a site without
// a generator one.
func (s *Site) check(params any) error {
	if err := param.Check(params); err != nil {
		return fmt.Errorf("marking: %w", err)
	}
	if c, ok := params.(RoomChecker); ok {
		for _, wrong := range c.CheckRoom(unit.MaxRoom, 1) {
			return fmt.Errorf("marking: %s: %s", wrong.Key, wrong.Why)
		}
	}
	if s.Random == nil {
		s.Random = unit.NewRandom(0, 0)
	}
	return nil
}

// Points returns the table of congestion points.
func Points() []Point {
	return []Point{naivePoint(), inputPoint(), inputOutputPoint(), qcnPoints(), bcnPoints(), redPoints(), ecnPoints(),
		ccaPoints()}
}

// Marker sets bits in the frames that pass. A switch has at most one. It receives the time,
// which never goes back.
type Marker interface {
	// Enqueue notifies the point that f can be forwarded to q.Output. The switch has tried already:
	// q.Leaving is whether f has begun to leave. At a switch that queues at its outputs it may
	// mark f.
	Enqueue(now unit.Time, f *wire.Frame, q Queue)
	// Dequeue notifies the point that f begins to leave by q.Output. It may mark f, and returns the
	// reason if it does.
	Dequeue(now unit.Time, f *wire.Frame, q Queue) trace.Reason
	// Reset restores the initial state, because the switch has lost its content.
	Reset()
}

// A Quiet Marker does nothing while a queue is short. A switch may work out at once what becomes of
// the frames of such a queue, and show them to it neither when they join nor when they leave.
type Quiet interface {
	Marker
	// Quiet returns the length of a queue, as it counts it, up to which the Marker does nothing at
	// an output of a rate: it marks no frame, draws no number, and remembers nothing.
	Quiet(rate unit.Rate) unit.Size
}

// Marking is a Marker, and what it does in addition at a switch with input buffers; the functions
// may be nil.
type Marking struct {
	Marker

	// Starve starves neighbours of credit. It is called when a data frame begins to leave; onLink
	// is how long it takes on the link by which it arrived. It returns how long after the frame's
	// tail has left its credit goes back, which is also the least time, in addition to onLink,
	// after the credit before it; 0: at once.
	Starve func(q Queue, onLink unit.Duration) unit.Duration

	// Congested returns for how long an output has been congested up to now.
	Congested func(now unit.Time, output int) unit.Duration
}

// Notifier sends its own frames to the sources of frames that pass. A switch has at most one.
// It receives the time, which never goes back.
type Notifier interface {
	// Enqueue is the same as for a Marker; it returns a frame for the source of f, if it sends one.
	Enqueue(now unit.Time, f *wire.Frame, q Queue) (feedback wire.Frame, ok bool)
	// Dequeue notifies the point that f begins to leave by q.Output.
	Dequeue(now unit.Time, f *wire.Frame, q Queue)
	// Reset is the same as for a Marker.
	Reset()
}

// Dropper decides whether a frame joins a queue at all. A switch that queues at its outputs has
// at most one. It receives the time, which never goes back.
type Dropper interface {
	// Admit is called before f joins the queue that q shows. It may mark f.
	Admit(now unit.Time, f *wire.Frame, q Queue) Verdict
	// Dequeue notifies the point that f begins to leave by q.Output.
	Dequeue(now unit.Time, f *wire.Frame, q Queue)
	// Reset is the same as for a Marker.
	Reset()
}

// Verdict is a Dropper's decision about a frame.
type Verdict uint8

// The verdicts.
const (
	Pass   Verdict = iota // it joins the queue
	Marked                // it has been marked, and joins
	Drop                  // it is discarded
)

// Made is the congestion points of a switch: one of the three; the others are nil.
type Made struct {
	Marking
	Notifier Notifier
	Dropper  Dropper
	Cell     unit.Size // as Traits has it
}

// Maker makes the congestion points of a switch, which is the first to have its
// recorder.
type Maker func(ports int, rec *trace.Recorder) (Made, error)

// Maker returns the function that makes points of the row, with parameters of its type.
func (p Point) Maker(params any, s Site) Maker {
	return func(ports int, rec *trace.Recorder) (all Made, err error) {
		s.Ports, s.Recorder = ports, rec
		all.Cell = TraitsOf(params).Cell
		switch {
		case p.Marker != nil:
			all.Marking, err = p.Marker(params, s)
		case p.Notifier != nil:
			all.Notifier, err = p.Notifier(params, s)
		default:
			all.Dropper, err = p.Dropper(params, s)
		}
		return all, err
	}
}

// Traits are the properties of a point that follow from its parameters; of the zero value it has
// none.
type Traits struct {
	Levels []Level // the lengths of a queue at which it acts, for pictures

	// Of a point of a switch with input buffers: a frame on the link counts among the frames that
	// wait for its output, and the occupancy at which a buffer counts as full; zero: its whole
	// room.
	Sending bool
	Full    unit.Room

	// Notice returns the longest frame that a notifier sends about data frames like f, with its
	// priority; nil: a wire.Message of the priority of f. Nameless notifications do not name
	// their flow: the source must find it another way.
	Notice   func(f *wire.Frame) wire.Frame
	Nameless bool

	Cell   unit.Size // of a marker at a switch that queues at its outputs: it counts queues in cells of this size; 0: it does not
	Share  float64   // of a marker: the mean share of the frames in congestion that it marks, up to 1; 0: unknown
	Line   *Line     // of points that mark by a line; nil: these do not
	Spares bool      // of a dropper: it drops no frame that flow control protects from loss; otherwise it cannot be used with flow control
}

// Traited is a struct of parameters of a point with Traits.
type Traited interface{ Traits() Traits }

// TraitsOf returns the traits of a point with these parameters.
func TraitsOf(params any) Traits {
	if t, ok := params.(Traited); ok {
		return t.Traits()
	}
	return Traits{}
}

// Triggered is a struct of parameters of a point that acts only where enough waits for an output.
// Least returns the most bytes with which it never acts on f, of which the input buffer has a room,
// and the parameter from which they follow; unit.MaxRoom: no queue is long enough.
type Triggered interface {
	Least(f *wire.Frame, room unit.Size) (key string, most unit.Size)
}

// Scaled is a struct of parameters that depend on the rate of an output.
type Scaled interface {
	// AtRate returns a struct of the same type with its parameters at an output of a rate.
	AtRate(rate unit.Rate) any
}

// AtRate returns parameters as they are at an output of a rate.
func AtRate(params any, rate unit.Rate) any {
	if s, ok := params.(Scaled); ok {
		return s.AtRate(rate)
	}
	return params
}

// LeastOf returns what Triggered.Least returns for these parameters; 0 if the point may act on any
// queue.
func LeastOf(params any, f *wire.Frame, room unit.Size) (key string, most unit.Size) {
	if t, ok := params.(Triggered); ok {
		return t.Least(f, room)
	}
	return "", 0
}

// Level is a length of a queue, and the key of the parameter that it comes from.
type Level struct {
	Key string
	At  unit.Room
}

// Line describes which frames are marked: no frame of a queue up to Min, all above Max, and between
// them a share that rises to Most.
type Line struct {
	Min, Max unit.Room
	Most     float64
}

// RoomChecker is a struct of parameters that fit the queues of some switches and others
// not: room is the longest that a queue can be, and longest the longest frame. It returns
// the mistakes.
type RoomChecker interface {
	CheckRoom(room, longest unit.Size) []Misfit
}

// SwitchFitter is a struct of parameters, by its pointer, of which some have defaults that
// follow from the switch: whether an input feeds one output at a time, and the limit of all that
// may wait for an output, 0 where there is none. FitSwitch fills in those that were not given.
type SwitchFitter interface {
	FitSwitch(single bool, limit unit.Size, given func(key string) bool)
}

// Misfit is a parameter that does not fit the place of its scheme, and why.
type Misfit struct{ Key, Why string }

// Queue is a congestion point's view of the place of a frame.
type Queue struct {
	Input   int    // port by which the frame came
	Output  int    // port by which it leaves
	Leaving bool   // it has begun to leave
	Switch  Switch // the rest of the switch with input buffers; else nil

	// Bytes is how much waits for Output in the class of the frame, the frame itself
	// included while it waits: of a switch with input buffers over all inputs, in whole
	// credits, and data only.
	Bytes    unit.Size
	Room     unit.Size // of the data buffer of Input, of a switch with input buffers; of the other kind:
	Rate     unit.Rate // of the line of Output
	Frames   int       // as Bytes, in frames
	Cells    int       // as Bytes, in cells; 0 unless the points count in cells
	Length   unit.Size // of the frame, on the link
	Lossless bool      // flow control promises that the frame is not lost
}

// queues is how many queues the points of a switch with queues at its outputs look after: one for
// each priority of each output.
func (s *Site) queues() int { return s.Ports * priorities }

// index returns which of them f is in, or joins.
func (q *Queue) index(f *wire.Frame) int { return q.Output*priorities + int(f.Lane%priorities) }

// priorities is how many priorities Ethernet has.
const priorities = 8

// Switch is a congestion point's view of its switch, at the moment of the call.
// Only data frames count. Ports are numbered from 0.
type Switch interface {
	// Waiting returns how many frames wait for an output: cnt1 of the paper.
	Waiting(output int) int
	// Sending reports whether the line of an output serialises a frame.
	Sending(output int) bool
	// Blocked reports whether an output was recently blocked: the frames that wait
	// for it lack credit now, or the one it sends has had to wait for credit.
	Blocked(output int) bool
	// Full reports whether an input buffer counts as full.
	Full(input int) bool
	// Resident returns the i-th frame of an input buffer in order of arrival, which
	// output it is for, and whether it still waits; ok is false past the last.
	Resident(input, i int) (output int, waiting, ok bool)
	// Mark marks the i-th frame of an input buffer.
	Mark(input, i int, why trace.Reason)
}
