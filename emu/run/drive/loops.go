package drive

import (
	"slices"

	"fabemu/wire/agenda"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Loops divides the nodes of a fabric among several loops, which run at the same time and keep the total order:
// each loop does the events of its nodes in order, and none before it is certain that no frame from another loop
// comes first.
//
// A loop owns its nodes, their outbox and the paths that lead to them. It hands a frame for a node of another
// loop over as a value.
type Loops struct {
	Of     []int          // by node: its loop
	Events []*trace.Batch // by loop: takes the events of its nodes; nil: they are not recorded
	Meet   Meeting        // may be nil
}

// Meeting is work for which all loops have to stop.
type Meeting interface {
	// Edge returns the instant of the next call of Meet: by then all loops must have done everything before it, and
	// nothing at or after it.
	Edge() unit.Time
	// Full reports whether a loop, the caller, has so much for Meet that it should be called soon.
	Full(loop int) bool
	// Meet is called while no loop does anything. All events before next have happened, and none at or after it.
	Meet(next unit.Time)
}

// split returns the orders of some loops over one fabric, which number nodes and paths alike.
func split(f *Setup) ([]*order, error) {
	base, err := number(f, f.Nodes, true)
	if err != nil {
		return nil, err
	}
	all := make([]*order, len(f.Loops.Events))
	for k := range all {
		own := func(m int) bool { return f.Loops.Of[m] == k }
		fabric := *f
		fabric.Changes, fabric.Key = nil, nil
		o := *base
		for i, c := range f.Changes {
			if own(c.Node) {
				fabric.Changes, o.numbers = append(fabric.Changes, c), append(o.numbers, i)
			}
		}
		o.fabric, o.keys, o.keyed = &fabric, f.Loops.Events[k], f.Loops.Events[k] != nil
		if k > 0 {
			o.paths, o.flights = slices.Clone(base.paths), newFlights(len(base.paths))
			o.agenda, o.soon = agenda.New(o.watchSlot()+1), agenda.NewNow(len(f.Nodes))
		}
		o.begin(own)
		all[k] = &o
	}
	return all, nil
}

// crossing is a frame that is handed over to another loop.
type crossing struct {
	slot    int32
	due     unit.Time
	arrival port.Arrival
}

// ahead returns the shortest time from the start of a transmission from one loop to another
// until it is due there; without a wire between two loops, the length of the run.
func (l *Loops) ahead(f *Setup) unit.Duration {
	least := unit.Duration(f.End)
	for w, ends := range f.Wires {
		if l.Of[ends[0].Node] != l.Of[ends[1].Node] {
			least = min(least, f.Least[2*w], f.Least[2*w+1])
		}
	}
	return least
}
