package report

import (
	"math"

	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/run/pace"
	"fabemu/wire"
)

// FiguresOf puts the measurements of a fabric's driver into the terms of the verdict. The Timing of
// a running run may have no histograms.
func FiguresOf(f *fabric.Fabric, t *pace.Record) Figures {
	x := NoFigures()
	x.Order.Frames = t.Hops
	x.Order.Statements, x.Order.Promises = t.Statements, t.Promises
	x.Pace.StalledShare = part(t.Held, t.Wall)
	x.Pace.Ratio = paceOf(t, f.Scenario.Wall.Dilation)
	if t.Data > 0 && t.Lateness.Histogram != nil {
		x.Pace.LatenessUs = percentiles(t.Lateness, 1e3)
		x.Pace.LatenessPacketTimes = percentiles(t.LatenessT, 1e3)
	}
	x.Pace.LateShare, x.Pace.FloorShare = part(t.Late, t.Data), part(t.SpunLate, t.Spun)
	x.BusySeconds = Number(float64(t.Wall-t.Spun-t.Slept) / 1e9)
	x.Pace.Early = t.Early
	x.LostDatagrams, x.Changed, x.Reordered = t.Lost, t.Changed, t.Reordered
	for _, k := range t.Faults {
		w := &f.Wires[k.Path/2]
		x.Faults = append(x.Faults, Fault{string(k.Kind), w.Name, f.Machines[w.Ends[k.Path%2].Machine].Name, int64(k.Seq)})
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
	x.Stalls = t.HoldCount
	x.StalledUs = Number(float64(t.Held) / 1e3)
	return x
}

// part returns a part of a whole; Missing where there is none.
func part[N, W ~int64](n N, whole W) Number {
	if whole <= 0 {
		return Missing()
	}
	return Number(float64(n) / float64(whole))
}

// paceOf divides the wall time that a dilation asks for by the wall time that the run took. A run that lags behind
// while it has much to do, and catches up while it has nothing, has kept no pace. So the run took at least the
// wanted time and the median of the frames' lateness.
func paceOf(t *pace.Record, dilation int64) Number {
	if t.Wall <= 0 {
		return NoFigures().Pace.Ratio
	}
	wanted := t.Reached.Seconds() * 1e9 * float64(dilation)
	took := float64(t.Wall)
	if t.Data > 0 && t.Lateness.Histogram != nil {
		took = max(took, wanted+float64(t.Lateness.ValueAtQuantile(50)))
	}
	return Number(wanted / took)
}

// PaceOf returns how a wall run kept to the wall clock over model time, as series of the kind
// "pace": the share of data frames that left more than 5 % of T late, by how much the latest of
// them was, and the wall time in which the driver did not run. t may be nil.
func PaceOf(t *pace.Record) []metrics.Series {
	if t == nil || len(t.Moments) == 0 {
		return nil
	}
	list := []metrics.Series{
		{Kind: "pace", Name: "late-share"}, {Kind: "pace", Name: "latest-us"}, {Kind: "pace", Name: StalledUs},
	}
	for _, m := range t.Moments {
		for i, v := range []float64{float64(m.Late) / float64(m.Data), float64(m.Worst) / 1e3, float64(m.Held) / 1e3} {
			list[i].Times, list[i].Values = append(list[i].Times, m.From), append(list[i].Values, v)
		}
	}
	return list
}

// StalledUs is the name of the series of wall time in which the driver did not run.
const StalledUs = "stalled-us"
