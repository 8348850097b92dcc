package scenario

import (
	"fmt"

	"fabemu/wire/port"
)

// CongestionReport has a switch report congestion that it does not have, as one with a wrong
// threshold does, or report what it has again.
type CongestionReport struct {
	Plain
	// reported: the switch reports congestion, whatever waits in it. Input-buffered, it marks each
	// data frame that leaves; output-queued, its congestion points see queues as long as the part
	// of the memory that a port has. measured: it reports what it has.
	Congestion Reporting `key:"congestion" words:"reported|measured" also:"false-congestion"`
	Lasting
}

// Row implements Act.
func (CongestionReport) Row() Row { return Row{Key: "congestion", On: OnSwitch} }

func (a CongestionReport) check(x *entered) { x.checkEnds(a.Congestion == Measured) }

// fit refuses a switch that reports nothing.
func (a CongestionReport) fit(x *entered) Act {
	if s := &x.Switches[x.Nodes[x.Switch].Index]; s.Marking.Scheme == NoScheme {
		x.refuse("congestion", "switch %s has marking scheme %s: it cannot report congestion", s.Name, NoScheme)
	}
	return nil
}

// Course implements Act.
func (a CongestionReport) Course(e *Event) Course {
	return Course{Begins: fmt.Sprintf("switch %s: congestion is %s", e.Switch, a.Congestion),
		Ends: fmt.Sprintf("switch %s: congestion is %s", e.Switch, Measured), Last: a.For,
		Fault: "congestion of " + e.Switch, Over: a.Congestion == Measured}
}

// Begin implements Act.
func (a CongestionReport) Begin(e *Event, m *Making) {
	end := e.At
	if a.Congestion == Reported {
		m.AtNode(e.At, e.Switch, port.CongestionReported{})
		end = a.over(e, m)
	}
	m.AtNode(end, e.Switch, port.CongestionMeasured{})
}
