package loops

import (
	"fmt"
	"slices"

	"fabemu/emu/scenario"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Subject is an algorithm that is put into loops, with what its fabric needs for it.
type Subject struct {
	tables    scenario.Schemes
	algorithm int            // its index in tables
	sets      []scenario.Set // change a loop into one for the algorithm
	feedback  wire.Kind      // the frames of its feedback
}

// own is the name of an algorithm, and of congestion points, that the caller has.
const own = "own"

// Of returns reaction points of the caller. New returns them, and may be called more often than
// there are flows. Points makes the congestion points whose notifications reach them. If points is
// nil, they receive ACKs, which echo marks.
func Of(new func(site rp.Site) rp.Reaction, points func(site cp.Site) (cp.Notifier, error)) (*Subject, error) {
	s := &Subject{tables: scenario.BuiltIn()}
	algorithm := rp.Algorithm{Name: own, Doc: "is the caller's", Feedback: rp.Echoes,
		New: func(_ any, site rp.Site) (rp.Reaction, error) { return new(site), nil }}
	if points == nil {
		return s, s.choose(append(s.tables.Algorithms, algorithm), own, wire.Ack)
	}
	algorithm.Feedback = rp.Notifications
	s.tables.Points = append(s.tables.Points, cp.Point{Name: own, Doc: "tells the sources what the caller's say", Sees: cp.Queues,
		Notifier: func(_ any, site cp.Site) (cp.Notifier, error) { return points(site) }})
	kind, err := sentBy(points)
	if err != nil {
		return nil, err
	}
	return s, s.choose(append(s.tables.Algorithms, algorithm), own, kind)
}

// Named returns an algorithm of this program, with its usual parameters.
func Named(a rp.Algorithm) (*Subject, error) {
	s := &Subject{tables: scenario.BuiltIn()}
	kind := wire.Ack
	switch a.Feedback {
	case rp.Marks:
		kind = wire.CNP
	case rp.Notifications:
		kind = wire.Message
	}
	return s, s.choose(s.tables.Algorithms, a.Name, kind)
}

// choose chooses an algorithm of a table, with the first of its presets, and the kind of frames of
// its feedback, unless its congestion points say another.
func (s *Subject) choose(all []rp.Algorithm, name string, kind wire.Kind) error {
	s.tables.Algorithms, s.feedback = all, kind
	s.algorithm = slices.IndexFunc(all, func(a rp.Algorithm) bool { return a.Name == name })
	if a := &all[s.algorithm]; a.Feedback == rp.Echoes && a.Trials == nil { // any point that marks: that of the scenarios
		s.sets = []scenario.Set{{Path: "defaults.flow.control.algorithm", Value: name}}
		return nil
	}
	presets := s.tables.Presets()
	i := slices.IndexFunc(presets, func(p scenario.Preset) bool { return p.Algorithm == name })
	if i < 0 {
		return fmt.Errorf("there is no preset of algorithm %s", name)
	}
	if presets[i].Family == wire.Ethernet {
		s.sets = []scenario.Set{{Path: "defaults.link.flow-control", Value: "pause"},
			{Path: "defaults.switch.kind", Value: "output-queued"}, {Path: "defaults.flow.window", Value: "none"},
			{Path: "defaults.flow.timeout", Value: "never"}}
	}
	s.sets = append(s.sets, presets[i].Sets...)
	for _, p := range s.tables.Points {
		if p.Name != presets[i].Point || p.Notifier == nil || p.Params == nil {
			continue
		}
		if notice := cp.TraitsOf(param.Defaults(p.Params)).Notice; notice != nil {
			s.feedback = notice(&wire.Frame{Kind: wire.Data, Family: wire.Ethernet}).Kind
		}
	}
	return nil
}

// sentBy returns the kind of the frames that congestion points send: they are shown packets of a
// long queue until they send one.
func sentBy(points func(cp.Site) (cp.Notifier, error)) (wire.Kind, error) {
	n, err := points(cp.Site{Ports: 2, Address: 1, Random: unit.NewRandom(0, 1)})
	if err != nil {
		return 0, err
	}
	q := cp.Queue{Input: 1, Bytes: 300 * unit.KB, Frames: 200, Rate: 10e9, Length: 1500}
	now := unit.Time(0)
	for range 10_000 {
		f := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Src: 2, Dst: 1, QP: 1, Payload: 1400}
		feedback, ok := n.Enqueue(now, &f, q)
		if ok {
			return feedback.Kind, nil
		}
		n.Dequeue(now, &f, q)
		now = now.Add(unit.Microsecond)
	}
	return wire.Message, nil
}

// faults begins the faults of feedback in a scenario. They are called first and second.
const faults = "\nfaults:"

// setsFor returns the changes that make the text of a scenario one for the subject.
func (s *Subject) setsFor(hasFaults bool) []scenario.Set {
	sets := s.sets[:len(s.sets):len(s.sets)]
	if hasFaults {
		for _, name := range [...]string{"first", "second"} {
			sets = append(sets, scenario.Set{Path: "faults." + name + ".frames", Value: s.feedback.String()})
		}
	}
	return sets
}

// watchedBy returns the tables of the subject with a watch around each of its reaction points.
func (s *Subject) watchedBy(w *watched) scenario.Schemes {
	tables := s.tables
	tables.Algorithms = slices.Clone(tables.Algorithms)
	row := &tables.Algorithms[s.algorithm]
	inner := row.New
	row.New = func(params any, site rp.Site) (rp.Reaction, error) {
		r, err := inner(params, site)
		if err != nil || r.Controller == nil {
			return r, err
		}
		return w.watch(r, site), nil
	}
	return tables
}
