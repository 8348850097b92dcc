package switchd_test

import (
	"fmt"
	"slices"
	"testing"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// The closed form of a saturated output without congestion control. It serves by
// order of arrival; each of n local inputs always has one packet there (window 1),
// and the input from the other switch as many as its buffer holds. So every round
// of n+room packets has one of each local input and room of the others: in Fig. 2
// of HPL-2002-224, 4/(10+4) = 28.6 % for the remote flows.
func TestSaturatedOutput(t *testing.T) {
	for _, c := range []struct {
		n, room int
		single  bool
	}{{10, 4, false}, {10, 4, true}, {5, 2, false}, {3, 8, false}, {1, 1, false}, {1, 6, true}} {
		t.Run(fmt.Sprintf("%d inputs and room for %d, single %v", c.n, c.room, c.single), func(t *testing.T) {
			trunk, output := c.n, c.n+1
			cfg := config(c.n + 2)
			cfg.Single = c.single
			cfg.Ports[trunk].Room = c.room * packet
			r := newRig(t, cfg)

			sent := make([]uint32, c.n+1)
			served := make([]int, c.n+1)
			next := func(at unit.Time, input int) {
				f := data(uint32(input), output)
				f.PSN = sent[input]
				sent[input]++
				r.send(max(at, r.peers[input].busy), input, f)
			}
			r.leave = func(tr *port.Transmission) {
				switch input := int(tr.Frame.QP); {
				case tr.Frame.Kind == wire.Data && int(tr.Frame.PSN) != served[input]:
					t.Fatalf("input %d: packet %d leaves after %d others", input, tr.Frame.PSN, served[input])
				case tr.Frame.Kind == wire.Data:
					served[input]++
					if input != trunk { // the next one, when its ACK is back
						next(tr.Start.Add(tr.Duration)+60*ns, input)
					}
				case int(tr.Port) == trunk: // as many as there is credit for
					for credit := &r.peers[trunk].theirs[port.DataLane]; credit.sent+packet <= credit.limit; {
						next(tr.Due, trunk)
					}
				}
			}
			for input := range c.n {
				next(unit.Time(input)*100*ns, input)
			}

			const rounds = 50
			round := unit.Time(c.n+c.room) * t1
			r.run(10*round + 50*ns) // the beginning
			before := slices.Clone(served)
			r.run((10+rounds)*round + 50*ns)
			for input := range served {
				share := rounds
				if input == trunk {
					share = rounds * c.room
				}
				if got := served[input] - before[input]; got != share {
					t.Errorf("input %d: %d packets in %d rounds, want %d", input, got, rounds, share)
				}
			}
			r.noLoss()
		})
	}
}
