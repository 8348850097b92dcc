package scenario

import (
	"sync"

	nodes "fabemu/node"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/param"
)

// Schemes are the tables that a scenario chooses from by name: algorithms of reaction points,
// congestion points, and what events do.
type Schemes struct {
	Algorithms []rp.Algorithm
	Points     []cp.Point
	Acts       []Act // without parameters
}

// BuiltIn returns the tables of the program.
func BuiltIn() Schemes {
	return Schemes{Algorithms: append(rp.Algorithms(), rp.ExecAlgorithm()), Points: cp.Points(), Acts: Acts()}
}

// Algorithm returns the row of a flow's algorithm. It is empty if the scenario was built in Go and
// is not right.
func (s *Scenario) Algorithm(f *Flow) rp.Algorithm {
	l, _ := rowOf(s.choices().Algorithms, func(l *rp.Algorithm) bool { return l.Name == f.Control.Algorithm })
	return l.With(f.Control.Params)
}

// Point returns the row of a switch's scheme; ok is false for NoScheme.
func (s *Scenario) Point(w *Switch) (p cp.Point, ok bool) {
	return rowOf(s.choices().Points, func(p *cp.Point) bool { return p.Name == w.Marking.Scheme })
}

// SharedBy returns the parameter by which a flow shares its rate limiter; empty: it has its own.
func SharedBy(f *Flow) string {
	return rp.TraitsOf(f.Control.Params).By
}

// TransportOf returns the row of a flow's transport, given the family of its frames.
func TransportOf(kind string, family wire.Family) nodes.TransportRow {
	row, _ := rowOf(transports(), func(t *nodes.TransportRow) bool {
		return t.Name == kind || kind == "" && t.Usual && t.Family == family
	})
	return row
}

// NewTransport returns the transport of a flow, given the family of its frames and
// [Scenario.Loses].
func NewTransport(f *Flow, family wire.Family, loses bool) nodes.Transport {
	return TransportOf(f.Transport.Kind, family).New(f.Transport.Params,
		nodes.Acknowledged{Window: f.Window, Timeout: f.Timeout, Loses: loses,
			AckSL: uint8(max(f.AckSL, 0)), AcksAsData: f.AckSL != AcksApart})
}

// choices returns the tables that the scenario chooses from.
func (s *Scenario) choices() Schemes {
	if s.Schemes == nil {
		return ownRows()
	}
	return *s.Schemes
}

// The tables of the program, made once. They must not be changed.
var (
	ownRows    = sync.OnceValue(BuiltIn)
	transports = sync.OnceValue(nodes.Transports)
)

// builtIn returns the tables of BuiltIn, which are made once.
var builtIn = sync.OnceValue(func() Tables { return ownRows().Tables() })

// Tables returns the tables that s chooses from.
func (s *Scenario) Tables() Tables {
	if s.Schemes == nil {
		return builtIn()
	}
	return s.Schemes.Tables()
}

func (s Schemes) Tables() Tables {
	t := Tables{Algorithms: newTable("algorithm", "defaults", "flow", "control"),
		Points: newTable("scheme", "defaults", "switch", "marking"), Transports: newTable("kind", "defaults", "flow", "transport"),
		acts: newTable(""), rows: s.Acts}
	for _, l := range s.Algorithms {
		t.Algorithms.add(l.Name, l.Also, l.Doc, l.Params)
	}
	t.Algorithms.old = "law"
	t.Points.add(NoScheme, []string{"off"}, "marks nothing", nil)
	for _, p := range s.Points {
		t.Points.add(p.Name, p.Also, p.Doc, p.Params)
	}
	for _, x := range transports() {
		t.Transports.add(x.Name, x.Also, x.Doc, x.Params)
	}
	t.chosen = map[*param.Struct]*Table{}
	t.language = param.Of(Scenario{}, t.forms())
	return t
}

// Language returns the scenario language, which Load follows. It consists of the tags of
// Scenario and of the types within it, and of the parameters of schemes.
func Language() *param.Param { return builtIn().Language() }

// LanguageOf returns the language with other tables of schemes.
func LanguageOf(t Schemes) *param.Param { return t.Tables().Language() }

// Acts returns the acts of the program without parameters, in the order in which messages list
// them.
func Acts() []Act {
	return []Act{RateChange{}, StateChange{}, Loss{}, Corruption{}, Delay{}, Repeat{}, Overtake{}, Flap{}, Stuck{}, BufferCut{},
		ServiceChange{}, PauseStorm{}, PauseChange{}, SinkChange{}, ControlChange{},
		Restart{}, WatermarksChange{}, WatchdogChange{}, MarkingChange{}, CongestionReport{}}
}
