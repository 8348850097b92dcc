package rp

import (
	"fmt"
	"math"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Algorithm is a row of the table of algorithms: everything about an algorithm except its code.
type Algorithm struct {
	Name     string   // in scenarios
	Also     []string // its other names
	Doc      string   // a description, as the rest of a sentence: "never changes the rate"
	Feedback Feedback // the feedback that makes it lower the rate
	Ultra    bool     // its frames are those of Ultra Ethernet transport, which its flows must have

	// Trials are the variants in which the algorithm is compared with others (fabemu reproduce
	// compare-schemes); nil: once with its defaults, and with the congestion points that
	// Trial.Point has by default.
	Trials []Trial

	// Params is a struct of parameters (package param), the zero value; nil: it has none.
	// It may have the methods of Traited, SiteChecker, Adapter, param.Completer and
	// param.Explainer.
	Params any
	// New returns the reaction point of a flow, or of a group of them. The parameters are
	// a struct of the type of Params. Nil: another program has the algorithm (ExecAlgorithm).
	New func(params any, s Site) (Reaction, error)
	// Answer returns the Answerer of a flow at its destination; nil: nothing does.
	Answer func(params any, s Site) (Answerer, error)
}

// Trial is a variant in which an algorithm is compared with others.
type Trial struct {
	Name string // of the variant: "without timer"; empty: the name of the algorithm is enough
	// Point is the scheme of the congestion points (cp.Points) of the trial; NoPoint: none. Empty:
	// for an algorithm with Notifications the scheme of the same name, for one with Echoes every
	// scheme that marks.
	Point   string
	Control []string // parameters that are not as by default: "timer=none"
	Marking []string // parameters of the congestion points: "octets=14"
	Marks   string   // the set of parameters of the congestion points that suits it on other links; empty: any
	Flow    []string // of the flows, that the algorithm needs: "transport=rocev2"

	// Fields of defaults that the scheme has in a fabric, and not on the bench: in any; where a
	// hash chooses among equal paths; where links drop; and where the fabric has a lower rate than
	// its endpoints. The words below stand for what follows from the fabric.
	Fabric, Paths, Drops, Narrow []string // "flow.transport.spray=mixed"
}

// The words of a Trial for what follows from the fabric.
const (
	Oversubscription = "{oversubscription}"  // the rate of the endpoints over that of the fabric
	Timer            = "{timer}"             // 15 us and the time of six queues, as long as one can become
	ThreeTrips       = "{three round trips}" // without queues
)

// NoPoint is the scheme of switches that give no feedback about congestion.
const NoPoint = "none"

// Feedback is the kind of feedback that an algorithm takes in.
type Feedback uint8

// The kinds of feedback.
const (
	Nothing       Feedback = iota
	Echoes                 // marks that ACKs carry back
	Notifications          // their own frames, from congestion points
	Marks                  // the destination's own frames about marked packets: CNPs on RoCEv2
	Delays                 // round trips, which the stamps of ACKs of RoCEv2 measure: the reaction point is Acknowledged
)

// Site is the place of a reaction point or an Answerer.
type Site struct {
	Line    unit.Rate // of its endpoint's link: the highest rate, at which a flow starts; positive
	Length  unit.Size // of a packet on the link; positive
	Payload unit.Size // of a packet; 0: unknown
	// Trip is the longest round trip of such a packet and its ACK in the fabric, without queues; 0:
	// unknown.
	Trip   unit.Duration
	Random *unit.Random // the generator that it uses; nil: its own
	Hops   int          // switches on the path; 0: unknown
	Beside Answerer     // of an Answerer: one of the same algorithm at the same endpoint, nil for the first

	// For Traits.Warns, of the busiest link of the path: how many flows cross it, its rate, and
	// which share of the frames that meet congestion is marked. 0: unknown.
	Flows    int
	Capacity unit.Rate
	Marked   float64
}

// check refuses a site where nothing can be sent.
func (s Site) check() error {
	if s.Line <= 0 || s.Length <= 0 {
		return fmt.Errorf("reaction point: rate %v and packet %v must be positive", s.Line, s.Length)
	}
	return nil
}

// Traits are the properties of an algorithm that follow from its parameters. The zero value has
// none.
type Traits struct {
	// Key distinguishes the groups into which the algorithm puts the flows of an endpoint: flows of
	// one key share a reaction point and a rate limiter. By is the parameter that decides the key;
	// empty: each flow has its own.
	Key int
	By  string

	// Frame adds to f everything that the algorithm adds to the data frames of a flow, so that f is
	// as long as they can be; nil: nothing.
	Frame func(f *wire.Frame)

	// Sends returns the frames that an algorithm with Answer itself sends about data frames like f,
	// and their answers, each with its priority. Nil: a wire.Message of the priority of f in both
	// directions, or, for an algorithm with Marks on RoCEv2, no frames and a CNP of the priority of
	// f.
	Sends func(f *wire.Frame) (probe, answer wire.Frame)

	// Telemetry is the form of the telemetry that packets collect and their ACKs carry back, for an
	// algorithm with Delays.
	Telemetry wire.Telemetry

	// Assumes are the keys of the parameters that must be the same at the congestion points on the
	// path of the flow.
	Assumes []string

	// Warns returns the parameters that make little sense at a site, and why; nil: none.
	Warns func(s Site) []Doubt
}

// Traited is a struct of parameters of an algorithm with Traits.
type Traited interface{ Traits() Traits }

// Tripped is a struct of parameters that may need Site.Trip.
type Tripped interface{ NeedsTrip() bool }

// TraitsOf returns the traits of an algorithm with these parameters.
func TraitsOf(params any) Traits {
	if t, ok := params.(Traited); ok {
		return t.Traits()
	}
	return Traits{}
}

// SiteChecker is a struct of parameters that are not valid at every site. For a site where they are
// not, it returns the key of the parameter that is wrong, and why.
type SiteChecker interface {
	CheckSite(s Site) (key string, err error)
}

// Adapter is a struct of parameters that decide about the row of their algorithm, such as which
// feedback it takes.
type Adapter interface{ Adapt(l *Algorithm) }

// With returns the row as it is with parameters.
func (l Algorithm) With(params any) Algorithm {
	if a, ok := params.(Adapter); ok {
		a.Adapt(&l)
	}
	return l
}

// Doubt is a parameter that is valid but probably not intended, and why.
type Doubt struct{ Key, Why string }

// Algorithms returns the table of algorithms.
func Algorithms() []Algorithm {
	return []Algorithm{fixedAlgorithm(), lipdAlgorithm(), fimdAlgorithm(), aimdAlgorithm(), qcnAlgorithm(), bcnAlgorithm(), e2cmAlgorithm(), dcqcnAlgorithm(), dcqcnWindowAlgorithm(), ccaAlgorithm(),
		timelyAlgorithm(), swiftAlgorithm(), hpccAlgorithm(), nsccAlgorithm(), rcccAlgorithm(), nsccRCCCAlgorithm()}
}

// row completes a row of the table by the function that makes the algorithm of its parameters. A
// scenario has checked their ranges: New only checks whether they fit the site.
func row[P any](l Algorithm, make func(P, Site) Reaction) Algorithm {
	var zero P
	l.Params = zero
	l.New = func(params any, s Site) (Reaction, error) {
		if err := s.fits(params); err != nil {
			return Reaction{}, err
		}
		return make(params.(P), s), nil
	}
	return l
}

// fits refuses a site where nothing can be sent, and parameters that do not fit it.
func (s Site) fits(params any) error {
	if err := s.check(); err != nil {
		return err
	}
	if c, ok := params.(SiteChecker); ok {
		if key, err := c.CheckSite(s); err != nil {
			return fmt.Errorf("reaction point: %s: %w", key, err)
		}
	}
	return nil
}

// checked makes a reaction point of parameters from a program: they must be in their ranges, and
// fit the site.
func checked[P, C any](p P, s Site, make func(P, Site) C) (c C, err error) {
	if err := param.Check(p); err != nil {
		return c, fmt.Errorf("reaction point: %w", err)
	}
	if err := s.fits(p); err != nil {
		return c, err
	}
	if s.Random == nil {
		s.Random = unit.NewRandom(0, 0)
	}
	return make(p, s), nil
}

// Ratio is the parameter of the algorithms of Santos, Turner and Janakiraman: how low a rate
// may become.
type Ratio struct {
	// Sender's link rate over the minimum rate.
	// Source: fitted; the range of IBTA's 8-bit static rate
	RmaxOverRmin int64 `key:"rmax-over-rmin" def:"256" low:"1" high:"2147483648"`
}

// CheckSite refuses a lowest rate of less than a bit per second.
func (r Ratio) CheckSite(s Site) (string, error) {
	if int64(s.Line) < r.RmaxOverRmin {
		return "rmax-over-rmin", fmt.Errorf("the lowest rate, %v over %d, is less than 1b/s", s.Line, r.RmaxOverRmin)
	}
	return "", nil
}

// Factor is the parameter of the algorithms that divide: m.
type Factor struct {
	M float64 `key:"factor" def:"2" low:"above 1" doc:"Divisor of the rate per mark."`
}

// multiplicative is the common part of the algorithms that divide the rate by a factor for a mark.
type multiplicative struct {
	ackClocked
	r, min, max, m float64 // bits per second: the packet length cancels out
}

// newMultiplicative returns the part at the highest rate.
func newMultiplicative(r Ratio, f Factor, s Site) multiplicative {
	most := float64(s.Line)
	return multiplicative{r: most, min: most / float64(r.RmaxOverRmin), max: most, m: f.M}
}

// unmarked takes in a frame of feedback. It lowers the rate for a marked ACK, and reports whether
// the frame is an unmarked one, which raises the rate.
func (c *multiplicative) unmarked(f *wire.Frame) bool {
	if f.Kind == wire.Ack && f.BECN {
		c.r = math.Max(c.r/c.m, c.min)
	}
	return f.Kind == wire.Ack && !f.BECN
}

// Rate returns the rate, to the nearest bit per second.
func (c *multiplicative) Rate() unit.Rate { return unit.Rate(math.Round(c.r)) }
