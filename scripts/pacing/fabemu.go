package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"fabemu/emu/drive"
	"fabemu/emu/host"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// dilation makes 206.8 us of the 2.068 us that a frame takes at 1 GB/s.
const dilation = 100

// fabemu paces frames by the line of an endpoint: two endpoints that are joined
// directly, a greedy flow, the wall clock.
func fabemu(ctx context.Context, length time.Duration) (arrivals, error) {
	const rate = 8_000_000_000 * unit.BitPerSecond
	out := arrivals{stamps: make([]int64, 0, int(length/gapNs)+1000)}
	port := port.Config{Rate: rate, Propagation: unit.Nanosecond, Room: 16 * 33, Resend: 262_144 * unit.Nanosecond}
	controller := rp.NewFixed(rate)
	const pair = 2
	source, err := node.New(node.Config{Index: 0, LID: 1, Port: port, Flows: []node.Flow{{
		QP: pair, Dst: 2, Payload: 2048, Transport: node.Acknowledged{Window: 16}, Stop: unit.Never,
		Limiter: node.NewInterPacketDelay(rate), Controller: controller,
	}}}, discard{})
	if err != nil {
		return out, err
	}
	sink, err := node.New(node.Config{Index: 1, LID: 2, Port: port, Sinks: []node.Sink{{QP: pair, Transport: node.Acknowledged{Window: 16}}}}, discard{})
	if err != nil {
		return out, err
	}
	a, b, err := link.UDPPair(link.UDPOptions{Buffer: 128 * unit.KiB, Stamp: true})
	if err != nil {
		return out, err
	}
	defer a.Close()
	defer b.Close()

	// As in a run: the garbage collector does not disturb, nor do other processes.
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer host.RaisePriority()()
	w := drive.Wall{
		Dilation: dilation,
		Links:    [][2]link.Link{{a, b}},
		Longest:  []unit.Duration{rate.Serialise(frameBytes)},
		Stamped: func(path int, f wire.Frame, _ unit.Time, stamp int64) {
			if path == 0 && f.Kind == wire.Data {
				out.stamps = append(out.stamps, stamp)
			}
		},
	}
	t, err := w.Run(ctx, &drive.Fabric{
		Machines: []drive.Machine{source, sink},
		Wires:    [][2]drive.End{{{Machine: 0}, {Machine: 1}}},
		End:      unit.Time(length.Nanoseconds()) * 1000 / dilation,
		Run:      uint32(time.Now().UnixNano()),
	})
	if err != nil {
		return out, err
	}
	if t.Early > 0 {
		return out, fmt.Errorf("%d frames left early", t.Early)
	}
	out.sent = t.Data
	if int64(len(out.stamps))+t.Lost < t.Data {
		return out, errors.New("a datagram came without a time stamp")
	}
	return out, nil
}

// discard is a sink of events that are not looked at.
type discard struct{}

func (discard) Record(*trace.Event) {}
