package report

import (
	"math"

	"fabemu/emu/fabric"
	"fabemu/emu/run/pace"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// FiguresOf puts the measurements of a fabric's driver into the terms of the verdict. The Record of
// a running run may have no histograms.
func FiguresOf(f *fabric.Fabric, t *pace.Record) Figures {
	x := NoFigures()
	x.Order.Frames = t.Hops
	x.Order.Reports, x.Order.Promises = t.Reports, t.Promises
	x.Pace = paceOf(t, f.Scenario.Wall.Dilation, unit.Time(f.Scenario.Model.Duration))
	x.BusySeconds = Number(float64(t.Wall-t.Spun-t.Slept) / 1e9)
	x.LostDatagrams, x.Changed, x.Reordered = t.Lost, t.Changed, t.Reordered
	for _, k := range t.Faults {
		w := &f.Wires[k.Path/2]
		x.Faults = append(x.Faults, Fault{string(k.Kind), w.Name, f.Nodes[w.Ends[k.Path%2].Node].Name, int64(k.Seq)})
	}
	x.Train = part(t.Sent, t.Trains)
	refuse := func(reason string, n int64) {
		if n > 0 {
			x.Refused += n
			x.RefusedFor = append(x.RefusedFor, Count{reason, n})
		}
	}
	refuse("not of this run", t.Foreign)
	refuse("too long", t.TooLong)
	for reason, n := range t.Refused {
		refuse(wire.Reason(reason).Error(), n)
	}
	x.Unreachable = t.Unreachable
	if t.Worst >= 0 {
		x.WorstLink = f.Wires[t.Worst].Name
	}
	for _, s := range t.Silent {
		x.Silent = append(x.Silent, Silent{s.Part, Number(math.Round(s.For.Seconds()*10) / 10)})
	}
	return x
}

// part returns a part of a whole; Missing where there is none.
func part[N, W ~int64](n N, whole W) Number {
	if whole <= 0 {
		return Missing()
	}
	return Number(float64(n) / float64(whole))
}
