package emu

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
	"fabemu/wire/trace"
)

// What ports and flows count themselves, and what is counted from their events, are the same
// figures: with retransmissions, drops, silences, credits of channels and algorithms that change
// rates.
func TestOwnCountsAreThoseOfEvents(t *testing.T) {
	short := func(name, duration string) *scenario.Scenario {
		return runtest.Load(t, runtest.Text(t, name), scenario.Set{Path: "model.duration", Value: duration})
	}
	for name, s := range map[string]*scenario.Scenario{
		"InfiniBand":  shortHPL(t, "400us"),
		"restart":     runtest.Restarting(t, "400us", "200us"),
		"storm":       short("ethernet/pause-storm", "20ms"),
		"deadlock":    short("ethernet/ring-deadlock", "1ms"),
		"lossy":       short("pfc/lossy", "2ms"),
		"go back n":   short("roce/go-back-n", "5ms"),
		"spray":       short("ethernet/spray", "1ms"),
		"trim":        short("ethernet/trim", "1ms"),
		"orders":      short("ethernet/orders", "1ms"),
		"first":       short("roce/first", "2ms"),
		"DCTCP":       short("tcp/dctcp", "5ms"),
		"TCP":         short("tcp/droptail", "200ms"),
		"QCN":         short("qcn/lost-cnm", "20ms"),
		"Swift":       short("swift/target", "1ms"),
		"channels":    short("cbfc/channels", "1ms"),
		"retry":       short("cbfc/retry", "4ms"),
		"replays":     short("llr/streams", "200us"),
		"a workload":  short("workload/web-search", "1ms"),
		"collectives": short("workload/all-reduce", "1ms"),
	} {
		t.Run(name, func(t *testing.T) {
			var figures [2]bytes.Buffer
			for i, o := range []Options{{}, {Sink: unread{}}} {
				o.Clock, o.Domains = VirtualClock, 1
				out, err := Run(t.Context(), s, o)
				if err != nil {
					t.Fatal(err)
				}
				out.Began, out.WallSeconds = time.Time{}, 0
				v := out.Metrics.View()
				for row := range v.Rows(metrics.Interval{To: v.End()}) {
					fmt.Fprintln(&figures[i], row.Object, row.Name(), row.Value)
				}
				for node := range out.Metrics.Fabric().Nodes {
					if out.Metrics.Fabric().Nodes[node].Switch != nil {
						fmt.Fprintln(&figures[i], v.Marked(node, nil, 16))
					}
				}
				if err := errors.Join(report.WriteJSON(&figures[i], out.Result), report.WriteSeries(&figures[i], out.Result, out.Metrics.Series())); err != nil {
					t.Fatal(err)
				}
			}
			if own, events := figures[0].String(), figures[1].String(); own != events {
				t.Error(runtest.FirstDifference(events, own))
			}
		})
	}
}

// unread is a sink that wants events.
type unread struct{}

// Record does nothing.
func (unread) Record(*trace.Event) {}
