package metrics

import (
	"math"
	"slices"
	"strings"

	"fabemu/emu/fabric"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Object is what figures are of.
type Object uint8

// The objects.
const (
	Link       Object = iota // a direction of a link, with the port that sends into it and the port at its end
	Flow                     // a flow, or all flows of a group together
	Workload                 // a workload, with its flows that arrive after the warm-up
	Collective               // the collective operation of a workload
	Buffer                   // the receive buffer of a switch behind a port, by the link that fills it
	Endpoint                 // an endpoint, with the flows that begin and end there
	Adapter                  // the RoCEv2 adapter of an endpoint: that of a guest counts itself
	Guest                    // a guest, which counts itself
)

// Objects returns all objects.
func Objects() []Object {
	return []Object{Link, Flow, Workload, Collective, Buffer, Endpoint, Adapter, Guest}
}

// Kind says how a figure changes with time.
type Kind uint8

// The kinds of figures.
const (
	Counter      Kind = iota // it only grows
	Gauge                    // a state
	Mean                     // a mean, or a share, over a time
	Distribution             // of many values: a percentile, a maximum, a deviation
)

// Figure is a row of the table of figures (Figures): something that is known of all objects of a
// kind. Reports, result.json, series.csv, the live page, Prometheus, the counters of InfiniBand,
// expressions, the reference and Python have it from here.
type Figure struct {
	Of      Object
	Name    string   // of figures of the object, as in expressions: "queue.max"; of several that are alike: "recovery"
	Ends    []string // behind the name and a dot: "90", "95", "99"
	Unit    Unit
	Kind    Kind
	Meaning string
	None    string // why it is undefined, where it is; empty: nothing was there to measure
	Works   bool   // a workload has it, as flows do; expressions have figures of workloads of flows, too
	Whole   bool   // it is of transfers or rounds that end: Metric.OverRun takes the whole run

	over   formula               // takes it over a time; nil: expressions do not have it
	values func(taken) []float64 // the values that it is of; nil: it is not of many
	read   func(At) float64      // reads it from the state of a run; nil: it is taken over the run so far
	each   func(At, PartFunc)    // reads it by By; nil: it is one number
	by     string

	// Where it appears.
	Columns    []Column  // of tables of its objects in reports
	JSON       string    // key in the objects of result.json, and attribute in Python; empty: none
	Series     Curve     // in series.csv
	Live       string    // key in moments of the live page; a mean, or a counter of a link or a flow, is that since the moment before; empty: none
	Prometheus []Exposed // names
	MAD        []Field   // fields of attributes of performance management
}

// PartFunc receives a part of a figure: of a stall the cause, of marks the reason.
type PartFunc func(part string, value float64)

// Column is a column of a table in reports.
type Column struct {
	Head  string
	Part  string // of a figure that has parts; empty: the first of them, and its number
	Least int    // the least width in text, in columns of the terminal
	Group string // of groups of objects the head: the sum of a counter, else the range; empty: they have no column
	Rare  bool   // it is left out where no object has a number other than 0
}

// Exposed is a metric of Prometheus, under our own names or, from "node_", those of node_exporter.
type Exposed struct {
	Name  string
	Help  string // of the port, or of the other program; empty: Figure.Meaning
	Far   bool   // it is of the port at the end of the link, and not of the port that sends into it
	Where func(At) bool
	As    func(float64) float64 // from the unit of the figure to that of the name; nil: they are the same
}

// Field is a field of an attribute of performance management of InfiniBand. Counters do not
// overflow.
type Field struct {
	Attribute uint16
	At, Bits  int // in the attribute, in bytes and bits
	Selected  int // bit of CounterSelect
	Far       bool
	Parts     bool // it is the first of fields of the parts of a figure, one behind the other; else the sum of them
}

// At is an object in the state of a run.
type At struct {
	*View
	Of   Object
	Hop  fabric.Hop // of a link, or a buffer
	Flow int        // of a flow its index in Fabric.Flows
	Work int        // of a workload, or its collective operation, its index in Fabric.Workloads
	Node int        // of an endpoint, an adapter or a guest its index in Fabric.Nodes

	Counts any // what an adapter or a guest counts itself, a struct with keys in JSON; nil: it does not
}

// String names the object.
func (x At) String() string {
	switch x.Of {
	case Flow:
		return x.c.fabric.Flows[x.Flow].Name
	case Workload, Collective:
		return x.c.works[x.Work].workload.Name
	case Endpoint, Adapter, Guest:
		return x.c.fabric.Nodes[x.Node].Name
	}
	return x.c.fabric.LinkName(x.Hop)
}

// Figures yields the rows of the table for an object, in the order of documents.
func Figures(of Object) func(yield func(*Figure) bool) {
	return func(yield func(*Figure) bool) {
		for _, f := range table {
			if f.isOf(of) && !yield(f) {
				return
			}
		}
	}
}

// AllFigures returns all rows of the table, in the order of documents.
func AllFigures() []*Figure { return slices.Clone(table) }

// isOf reports whether objects of a kind have the figure.
func (f *Figure) isOf(of Object) bool { return f.Of == of || f.Works && of == Workload }

// Find returns the row of a figure; nil: there is none.
func Find(of Object, name string) *Figure {
	for f := range Figures(of) {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Figures yields the rows of the table for an object: those of all runs, and those of this one.
func (v *View) Figures(of Object) func(yield func(*Figure) bool) {
	return func(yield func(*Figure) bool) {
		for _, f := range v.c.objects.rows {
			if f.isOf(of) && !yield(f) {
				return
			}
		}
	}
}

// Active returns when a flow had something to send, up to View.Until.
func (x At) Active() []Interval { return upTo(x.Until(), slices.Clone(x.c.lives[x.Flow].active)) }

// ends returns the ends of the names of a figure: "" if it has one name.
func (f *Figure) ends() []string {
	if f.Ends == nil {
		return []string{""}
	}
	return f.Ends
}

func (f *Figure) name(end string) string {
	if end == "" {
		return f.Name
	}
	return f.Name + "." + end
}

// names yields all names of figures in expressions, those of links and of flows alike.
func names(yield func(string, *Figure) bool) {
	for _, f := range table {
		if f.over == nil {
			continue
		}
		for _, end := range f.ends() {
			if !yield(f.name(end), f) {
				return
			}
		}
	}
}

// figures yields what expressions have of an object.
func (o *objects) figures(x *object) func(yield func(term) bool) {
	return func(yield func(term) bool) {
		link := x.work == 0 && x.flows == nil
		for _, f := range o.rows {
			ofOther := x.work > 0 && f.Of == Flow && !f.Works || x.flows != nil && f.Of != Flow && o.flows[f.Name]
			if f.over == nil || link != (f.Of == Link) || ofOther {
				continue
			}
			for _, end := range f.ends() {
				if !yield(term{*x, f, f.over, end}) {
					return
				}
			}
		}
	}
}

// Expression reports whether expressions have the figure.
func (f *Figure) Expression() bool { return f.over != nil }

// By returns the name of the parts of a figure ("cause"); empty: it has none.
func (f *Figure) By() string { return f.by }

// Read returns the figure of an object: a counter as it is, a state, or a mean over the run so far.
// It is not a number where the object has none, or where it has parts or several names.
func (f *Figure) Read(x At) float64 {
	switch {
	case f.read != nil:
		return f.read(x)
	case f.over == nil || f.ends()[0] != "":
		return math.NaN()
	case f.Whole || f.Kind == Counter:
		t := x.all()
		t.row, t.formula = f, f.over
		return f.over(t)
	}
	return f.Over(x, "", Interval{0, x.End()})
}

// Over returns the figure of an object over a time, as expressions do: that with an end of its
// name, if it has several. It is not a number where expressions do not have it.
func (f *Figure) Over(x At, end string, during Interval) float64 {
	if f.over == nil {
		return math.NaN()
	}
	return x.c.figure(&term{object: x.object(), row: f, formula: f.over, end: end}, during.From, during.To)
}

// all is an object over the whole run.
func (x At) all() taken { return taken{&term{object: x.object()}, &x.c, 0, unit.Never} }

// object is the object of expressions.
func (x At) object() object {
	switch x.Of {
	case Flow:
		return object{flows: []int{x.Flow}}
	case Workload, Collective:
		return object{work: x.Work + 1}
	}
	return object{hop: x.Hop}
}

// Each passes on the parts of a figure of an object that has some.
func (f *Figure) Each(x At, part PartFunc) {
	if f.each != nil {
		f.each(x, part)
	}
}

// Sentence is the meaning as a sentence.
func (f *Figure) Sentence() string {
	text := strings.ReplaceAll(f.Meaning, "`", "")
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// Links yields all directions of links in the state of a run.
func (v *View) Links(yield func(At) bool) {
	for w := range v.c.fabric.Wires {
		for from := range 2 {
			if !yield(At{View: v, Hop: fabric.Hop{Wire: w, From: from}}) {
				return
			}
		}
	}
}

// EachFlow yields all flows.
func (v *View) EachFlow(yield func(At) bool) {
	for i := range v.c.fabric.Flows {
		if !yield(At{View: v, Of: Flow, Flow: i}) {
			return
		}
	}
}

// Objects yields all objects of a kind.
func (v *View) Objects(of Object) func(yield func(At) bool) {
	switch of {
	case Flow:
		return v.EachFlow
	case Workload, Collective:
		return func(yield func(At) bool) {
			for k := range v.c.works {
				if p := v.c.works[k].workload; of == Collective && p.Collective == "" {
					continue
				}
				if !yield(At{View: v, Of: of, Work: k}) {
					return
				}
			}
		}
	}
	switch of {
	case Buffer:
		return v.buffers
	case Endpoint, Adapter, Guest:
		return func(yield func(At) bool) { v.endpoints(of, yield) }
	}
	return v.Links
}

// Outside are counts that an adapter or a guest has itself.
type Outside struct {
	Of     Object
	Node   int
	Counts any // At.Counts
}

// endpoints yields the endpoints, or of them those with an adapter or a guest.
func (v *View) endpoints(of Object, yield func(At) bool) {
	ends := v.c.objects.ends()
	for i := range v.c.fabric.Nodes {
		x := At{View: v, Of: of, Node: i}
		if k := slices.IndexFunc(v.Outside, func(o Outside) bool { return o.Of == of && o.Node == i }); k >= 0 {
			x.Counts = v.Outside[k].Counts
		}
		ethernet := func(f int) bool { return v.c.fabric.Flows[f].Family == wire.Ethernet }
		roce := of == Adapter && (slices.ContainsFunc(ends[0][i], ethernet) || slices.ContainsFunc(ends[1][i], ethernet))
		if (of == Endpoint && v.c.fabric.Nodes[i].Endpoint != nil || roce || x.Counts != nil) && !yield(x) {
			return
		}
	}
}

// buffers yields the buffers, by the number of the switch and of its port.
func (v *View) buffers(yield func(At) bool) {
	for i := range v.c.fabric.Nodes {
		if v.c.fabric.Nodes[i].Switch == nil {
			return
		}
		for _, p := range v.c.fabric.Nodes[i].Ports {
			if !yield(At{View: v, Of: Buffer, Hop: p.In()}) {
				return
			}
		}
	}
}
