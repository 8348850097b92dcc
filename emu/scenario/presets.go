package scenario

import (
	"strings"

	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
)

// Preset is an algorithm with the congestion points and the transport that it needs.
type Preset struct {
	Family           wire.Family // of the links: InfiniBand or Ethernet
	Algorithm, Point string      // Point is empty without congestion points
	Name             string      // of the algorithm, its congestion points, its variant: "lipd, input-output", "qcn without timer"
	Acts             bool        // sources change their rates
	Sets             []Set       // of defaults
	Marks            string      // the set of the congestion point that goes with it, in place of its values in Sets; empty: any

	// Further fields of defaults, by the fabric: those of rp.Trial, with its words.
	Fabric, Paths, Drops, Narrow []Set
}

// Presets returns each algorithm with each of its variants and congestion points: on InfiniBand,
// then on Ethernet.
func (s *Schemes) Presets() []Preset {
	var of [2][]Preset
	for i := range s.Algorithms {
		l := &s.Algorithms[i]
		if l.New == nil { // what it needs is for the user to say
			continue
		}
		variants := l.Trials
		if variants == nil {
			variants = []rp.Trial{{}}
		}
		for k := range variants {
			v := &variants[k]
			points := []*cp.Point{}
			if v.Point == rp.NoPoint {
				points = append(points, nil)
			}
			for n := range s.Points {
				if goesWith(l, v, &s.Points[n]) {
					points = append(points, &s.Points[n])
				}
			}
			for _, p := range points {
				preset := presetOf(l, v, p)
				if (p == nil || p.Sees == cp.Buffers) && l.Answer == nil && l.Feedback != rp.Notifications && l.Feedback != rp.Delays {
					of[0] = append(of[0], preset)
				}
				if preset.Family = wire.Ethernet; (p == nil || p.Sees == cp.Queues) && l.Feedback != rp.Echoes {
					of[1] = append(of[1], preset)
				}
			}
		}
	}
	return append(of[0], of[1]...)
}

// presetOf returns a variant of an algorithm with a congestion point, or with none.
func presetOf(l *rp.Algorithm, v *rp.Trial, p *cp.Point) Preset {
	preset := Preset{Algorithm: l.Name, Acts: l.Feedback != rp.Nothing || l.Answer != nil, Marks: v.Marks}
	add := func(section string, all ...string) {
		for _, s := range all {
			path, value, _ := strings.Cut(s, "=")
			preset.Sets = append(preset.Sets, Set{Path: "defaults." + section + path, Value: value})
		}
	}
	if p != nil {
		preset.Point = p.Name
		add("switch.marking.", append([]string{"scheme=" + p.Name}, v.Marking...)...)
	}
	add("flow.control.", "algorithm="+l.Name)
	add("flow.", v.Flow...)
	add("flow.control.", v.Control...)
	defaults := func(all []string) (sets []Set) {
		for _, s := range all {
			path, value, _ := strings.Cut(s, "=")
			sets = append(sets, Set{Path: "defaults." + path, Value: value})
		}
		return sets
	}
	preset.Fabric, preset.Paths, preset.Drops, preset.Narrow = defaults(v.Fabric), defaults(v.Paths), defaults(v.Drops), defaults(v.Narrow)
	switch {
	case p == nil && v.Name == "" && !preset.Acts:
		preset.Name = rp.NoPoint
	case !preset.Acts: // the transport changes the rates
	case p == nil || p.Name == l.Name || v.Point != "":
		preset.Name = l.Name
	default:
		preset.Name = l.Name + ", " + p.Name
	}
	preset.Name = strings.TrimSpace(preset.Name + " " + v.Name)
	return preset
}

// goesWith reports whether an algorithm is tried with a congestion point. One that drops belongs to
// none: a transport answers it.
func goesWith(l *rp.Algorithm, v *rp.Trial, p *cp.Point) bool {
	switch {
	case v.Point != "":
		return p.Name == v.Point
	case l.Feedback == rp.Echoes:
		return p.Marker != nil
	}
	return l.Feedback == rp.Notifications && p.Name == l.Name
}
