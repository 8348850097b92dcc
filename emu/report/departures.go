package report

import (
	"fabemu/emu/drive"
	"fabemu/emu/fabric"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// departures tells an event log when frames really left.
type departures struct {
	log    *EventLog
	fabric *fabric.Fabric
	next   drive.Tap // may be nil
}

// Departures returns a tap that tells the log of machines of f, which are told the
// measured time, when frames really left; next, if not nil, is told of all that the tap
// is.
func (l *EventLog) Departures(f *fabric.Fabric, next drive.Tap) drive.Tap {
	return &departures{log: l, fabric: f, next: next}
}

// Sent tells of a frame that has left.
func (d *departures) Sent(path int, t *port.Transmission, body wire.Body, now unit.Time, wall, late int64) {
	from := d.fabric.Wires[path/2].Ends[path%2]
	left := unit.Duration(wall).Scale(int64(unit.Nanosecond), d.fabric.Scenario.Wall.Dilation)
	d.log.Left(from.Machine, from.Port, t.Start, unit.Time(left))
	if d.next != nil {
		d.next.Sent(path, t, body, now, wall, late)
	}
}

// Received passes on a frame that has come.
func (d *departures) Received(path int, a *port.Arrival, body wire.Body, now unit.Time, wall int64) {
	if d.next != nil {
		d.next.Received(path, a, body, now, wall)
	}
}
