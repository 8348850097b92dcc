package switchd_test

import (
	"fmt"
	"strings"
	"testing"

	"fabemu/switchd"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

func TestForwardingDelay(t *testing.T) {
	for _, c := range []struct {
		name               string
		delay, propagation unit.Duration
		payload            uint32
	}{
		{"of the paper", 40 * unit.Nanosecond, unit.Nanosecond, 2048},
		{"the header alone", 20 * unit.Nanosecond, unit.Nanosecond, 2048},
		{"longer", 100 * unit.Nanosecond, unit.Nanosecond, 2048},
		{"over a long link", 40 * unit.Nanosecond, 500 * unit.Nanosecond, 2048},
		{"longer than the frame", 40 * unit.Nanosecond, unit.Nanosecond, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(2)
			cfg.Delay = c.delay
			for p := range cfg.Ports {
				cfg.Ports[p].Propagation = c.propagation
			}
			r := newRig(t, cfg)
			f := data(7, 1)
			f.Payload = c.payload
			var out port.Transmission
			r.leave = func(tr *port.Transmission) {
				if tr.Frame.Kind == wire.Data {
					out = *tr
				}
			}
			r.send(100*ns, 0, f)
			r.run(10 * t1)
			firstIn := (100 * ns).Add(c.propagation)
			length := unit.Size(20 + c.payload)
			end := firstIn.Add(c.delay).Add(gbyte.Serialise(length))
			if out.Start.Sub(firstIn) != c.delay {
				t.Errorf("first bit in at %v, first bit out at %v: %v, want %v", firstIn, out.Start, out.Start.Sub(firstIn), c.delay)
			}
			if out.Port != 1 || out.Length != length || out.Start.Add(out.Duration) != end || out.Due != end.Add(c.propagation) {
				t.Errorf("port %d, %d bytes, tail at %v, due at %v; want port 1, %d bytes, %v, a propagation later", out.Port, out.Length, out.Start.Add(out.Duration), out.Due, length, end)
			}
			if out.Frame != f {
				t.Errorf("the frame has changed: %+v, was %+v", out.Frame, f)
			}
			r.noLoss()
		})
	}
}

// The peer of a port may be a switch too: then it acts on the header.
func TestDueAtNextSwitch(t *testing.T) {
	cfg := config(2)
	cfg.Ports[1].CutThrough = true
	r := newRig(t, cfg)
	r.send(0, 0, data(1, 1))
	r.run(10 * t1)
	for _, tr := range r.sent {
		if tr.Frame.Kind == wire.Data && (tr.Start != 41*ns || tr.Due != (41+20+1)*ns) {
			t.Errorf("starts at %v, due at %v", tr.Start, tr.Due)
		}
	}
}

func TestFrameWaitsForBusyOutput(t *testing.T) {
	r := newRig(t, config(3))
	r.send(0, 0, data(1, 2))
	r.send(5*ns, 1, data(2, 2))
	r.send(3000*ns, 0, data(3, 2))
	r.run(10 * t1)
	// 41 is 1 ns of flight and the forwarding delay; then one follows the other.
	want(t, "port 2", r.left(2), "1@41 2@2109 3@4177")
	r.noLoss()
}

func TestOutputDoesNotRunDry(t *testing.T) {
	for _, c := range []struct {
		name    string
		in, out unit.Rate
		start   string // by hand: 1 ns of flight, all of the frame in, less the time that it takes to leave
	}{
		{"as fast", gbyte, gbyte, "41"},
		{"twice as fast", gbyte, 2 * gbyte, "1035"},      // 1 + 2068 - 1034
		{"four times as fast", gbyte, 4 * gbyte, "1552"}, // 1 + 2068 - 517
		{"by a third", 3e9, 4e9, "1379.667"},             // 1 + 5514.667 - 4136
		{"slower", gbyte, gbyte / 2, "41"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(2)
			cfg.Ports[0].Rate, cfg.Ports[1].Rate = c.in, c.out
			r := newRig(t, cfg)
			r.send(0, 0, data(1, 1))
			r.run(20 * t1)
			want(t, "port 1", r.left(1), "1@"+c.start)
		})
	}
}

func TestOrderOfArrivalOverAllInputs(t *testing.T) {
	r := newRig(t, config(6))
	r.send(0, 0, data(9, 5)) // keeps the output busy until 2109
	r.send(100*ns, 4, data(4, 5))
	r.send(50*ns, 2, data(2, 5))
	r.send(50*ns, 1, data(1, 5)) // at the same instant: by port
	r.send(51*ns, 3, data(3, 5))
	r.run(20 * t1)
	want(t, "port 5", r.left(5), "9@41 1@2109 2@4177 3@6245 4@8313")
	r.noLoss()
}

// A frame may not leave before its forwarding delay has passed, idle as the output
// may be. Nor does it keep a younger one from leaving that may.
func TestHeaderIsStillRead(t *testing.T) {
	r := newRig(t, config(3))
	r.send(0, 0, data(1, 2))
	r.send(2080*ns, 1, data(2, 2)) // registered at 2101; the link is idle at 2109
	r.run(20 * t1)
	want(t, "port 2", r.left(2), "1@41 2@2121")

	cfg := config(3)
	cfg.Ports[0].Rate = gbyte / 2
	r = newRig(t, cfg)
	r.send(0, 0, data(1, 2)) // at 1 + 4136 - 2068
	r.send(100*ns, 1, data(2, 2))
	r.run(20 * t1)
	want(t, "port 2", r.left(2), "2@141 1@2209")

	// Two of one input at once.
	r = newRig(t, config(2))
	r.send(0, 0, ack(1, 1))
	r.send(20*ns, 0, ack(2, 1))
	r.run(20 * t1)
	want(t, "port 1", r.left(1), "1@41 2@61")
}

// Of what is due at one instant, lines that become idle come before frames that
// may now be forwarded.
func TestOrderWithinAnInstant(t *testing.T) {
	for _, c := range []struct {
		name  string
		older bool
		left  string
	}{
		{"an older one takes the line", true, "1@41 2@2109 3@4177"},
		{"none does: it cuts through", false, "1@41 3@2109"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, config(4))
			r.send(0, 0, data(1, 3))
			if c.older {
				r.send(10*ns, 1, data(2, 3))
			}
			r.send(2068*ns, 2, data(3, 3)) // eligible at 2109, the instant at which the link is idle
			r.run(20 * t1)
			want(t, "port 3", r.left(3), c.left)
		})
	}
}

// Frames and credit of one instant are all in before anything is decided.
func TestDecisionsWhenAllIsIn(t *testing.T) {
	cfg := config(3)
	cfg.Delay = 20 * unit.Nanosecond // eligible at the instant of Receive
	r := newRig(t, cfg, 2)
	r.grant(0, 2, port.DataLane, 0)
	r.send(0, 0, data(1, 2))
	r.send(0, 1, data(2, 2))
	r.grant(21*ns, 2, port.DataLane, packet) // port 2 comes after ports 0 and 1
	r.run(20 * t1)
	want(t, "port 2", r.left(2), "1@21")
	want(t, "stalls", r.reported(trace.Stall, block), "p2@2089:no-credit")
}

func TestSlotIsHeldToTheTail(t *testing.T) {
	for _, c := range []struct {
		name    string
		out     unit.Rate
		credits string
	}{
		// One flow control packet for each lane when the link comes up; then one for
		// the frame, when its tail has left: 41 + 2068. It comes 1 ns later.
		{"as fast", gbyte, "vl0@0>1:132 vl1@0>1:64 vl0@2109>2110:165"},
		{"slower", gbyte / 2, "vl0@0>1:132 vl1@0>1:64 vl0@4177>4178:165"},
		{"twice as fast", gbyte * 2, "vl0@0>1:132 vl1@0>1:64 vl0@2069>2070:165"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(2)
			cfg.Ports[1].Rate = c.out
			r := newRig(t, cfg)
			r.send(0, 0, data(1, 1))
			r.run(20 * t1)
			want(t, "port 0", r.credits(0), c.credits)
			want(t, "port 1", r.credits(1), "vl0@0>1:132 vl1@0>1:64")
		})
	}
}

// Credit that is owed waits for the link, and then goes before data.
func TestCreditWaitsForTheLine(t *testing.T) {
	r := newRig(t, config(3))
	r.send(0, 0, data(1, 2))       // its tail leaves at 2109
	r.send(1000*ns, 1, data(2, 0)) // has port 0's line from 1041 to 3109
	r.send(1010*ns, 2, data(3, 0)) // and this is next
	r.run(20 * t1)
	want(t, "port 0", r.left(0), "2@1041 3@3109")
	want(t, "credit", r.credits(0), "vl0@0>1:132 vl1@0>1:64 vl0@3109>3110:165")
	r.noLoss()
}

// With the wire's framing a flow control packet takes the line for its 6 bytes.
func TestCreditTakesTheLine(t *testing.T) {
	cfg := config(2)
	for p := range cfg.Ports {
		cfg.Ports[p].Framing = wire.WireFraming
	}
	r := newRig(t, cfg)
	r.run(t1)
	want(t, "credit", r.credits(0), "vl0@0>7:132 vl1@6>13:64")
}

func TestFlowControlIsRepeated(t *testing.T) {
	cfg := config(2)
	for p := range cfg.Ports {
		cfg.Ports[p].Resend = 10 * unit.Microsecond
	}
	r := newRig(t, cfg)
	r.send(0, 0, data(1, 1))
	r.run(25_000 * ns)
	want(t, "port 0", r.credits(0), "vl0@0>1:132 vl1@0>1:64 vl0@2109>2110:165 vl1@10000>10001:64 vl0@12109>12110:165 vl1@20000>20001:64 vl0@22109>22110:165")
	want(t, "port 1", r.credits(1), "vl0@0>1:132 vl1@0>1:64 vl0@10000>10001:132 vl1@10000>10001:64 vl0@20000>20001:132 vl1@20000>20001:64")
}

func TestBufferIsNeverAboveItsRoom(t *testing.T) {
	r := newRig(t, config(2), 1)
	for i := range 5 { // the fifth without credit for it
		r.send(unit.Time(i)*t1, 0, data(uint32(i+1), 1))
	}
	r.run(10 * t1)
	want(t, "violations", r.reported(trace.Violation, reason), "p0@8293:overrun")
	want(t, "drops", r.reported(trace.Drop, reason), "p0@8293:overrun")
	for _, e := range r.events {
		if e.Kind == trace.Arrive && e.B > 4*packet {
			t.Errorf("%d blocks in a buffer of %d", e.B, 4*packet)
		}
	}
	r.grant(r.now, 1, port.DataLane, roomy)
	r.run(20 * t1)
	want(t, "port 1", r.left(1), "1@20680 2@22748 3@24816 4@26884")
	// 5 frames came and the whole room is free again.
	want(t, "last credit", r.credits(0)[len(r.credits(0))-4:], fmt.Sprint(":", 5*packet+4*packet))
}

func TestWithoutCreditFramesWait(t *testing.T) {
	r := newRig(t, config(3), 2)
	r.send(0, 0, data(1, 2))
	r.send(10*ns, 1, data(2, 2))
	r.grant(5000*ns, 2, port.DataLane, packet)
	r.grant(8000*ns, 2, port.DataLane, packet-1) // a block too few
	r.grant(9000*ns, 2, port.DataLane, 1)
	r.run(20 * t1)
	// They leave at the instant at which the credit comes, in order.
	want(t, "port 2", r.left(2), "1@5000 2@9000")
	want(t, "stalls", r.reported(trace.Stall, block), "p2@41:no-credit p2@5000:open p2@7068:no-credit p2@9000:open")
	r.noLoss()
}

// An output without credit does not hold up another.
func TestBlockedOutputKeepsNoOther(t *testing.T) {
	r := newRig(t, config(4), 2)
	r.send(0, 0, data(1, 2))
	r.send(t1, 0, data(2, 3))
	r.send(t1, 1, data(3, 2))
	r.run(20 * t1)
	want(t, "port 2", r.left(2), "")
	want(t, "port 3", r.left(3), "2@2109")
}

// What keeps data is told even while an ACK has the line.
func TestStallUnderAnAck(t *testing.T) {
	r := newRig(t, config(3), 2)
	r.grant(0, 2, port.AckLane, roomy)
	r.send(0, 0, data(1, 2))
	r.send(100*ns, 1, ack(2, 2))
	r.send(120*ns, 1, ack(3, 2))
	r.grant(1000*ns, 2, port.DataLane, roomy)
	r.run(20 * t1)
	want(t, "port 2", r.left(2), "2@141 3@161 1@1000")
	want(t, "stalls", r.reported(trace.Stall, block), "p2@41:no-credit p2@1000:open")
}

func TestAcksGoFirst(t *testing.T) {
	r := newRig(t, config(4))
	r.send(0, 0, data(1, 3))
	r.send(10*ns, 1, data(2, 3))
	r.send(1000*ns, 2, ack(3, 3))
	r.send(1020*ns, 2, ack(4, 3))
	r.run(20 * t1)
	want(t, "port 3", r.left(3), "1@41 3@2109 4@2129 2@2149")
	r.noLoss()
}

func TestLanesDoNotBlockEachOther(t *testing.T) {
	for _, c := range []struct {
		name   string
		open   int
		left   string
		stalls string // of data
	}{
		{"data without credit", port.AckLane, "2@141", "p2@41:no-credit"},
		{"ACKs without credit", port.DataLane, "1@41", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, config(3), 2)
			r.grant(0, 2, c.open, roomy)
			r.send(0, 0, data(1, 2))
			r.send(100*ns, 1, ack(2, 2))
			r.run(20 * t1)
			want(t, "port 2", r.left(2), c.left)
			want(t, "stalls", r.reported(trace.Stall, block), c.stalls)
			r.noLoss()
		})
	}
}

// The room of ACKs goes back by halves: 32 of 64 blocks.
func TestCreditOfAcks(t *testing.T) {
	r := newRig(t, config(2))
	for i := range 70 {
		r.send(unit.Time(100*i)*ns, 0, ack(uint32(i), 1))
	}
	r.run(20 * t1)
	// The 32nd ACK begins at 3100 + 41 and is gone 20 ns later.
	want(t, "port 0", r.credits(0), "vl0@0>1:132 vl1@0>1:64 vl1@3161>3162:96 vl1@6361>6362:128")
	r.noLoss()
}

// The two models: input 0 feeds output 2 from 2109 to 4177. Its next frame is for
// output 3 and may be forwarded at 2119; then comes an ACK, at 4187.
func TestCrossbar(t *testing.T) {
	for _, c := range []struct {
		name   string
		single bool
		left   string // by port 3, and by port 1
	}{
		{"M1: an input feeds several outputs at once", false, "3@2119 and 4@4187"},
		{"M2: it feeds one at a time", true, "3@4177 and 4@6245"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(5)
			cfg.Single = c.single
			r := newRig(t, cfg)
			r.send(0, 4, data(1, 2))
			r.send(10*ns, 0, data(2, 2))
			r.send(2078*ns, 0, data(3, 3))
			r.send(4146*ns, 0, ack(4, 1))
			r.run(20 * t1)
			want(t, "port 2", r.left(2), "1@41 2@2109")
			want(t, "ports 3 and 1", r.left(3)+" and "+r.left(1), c.left)
			r.noLoss()
		})
	}
}

// Input 0 feeds output 9, which is slow, until 41401. What it has for output 8 is
// the oldest there; younger frames come by the other inputs.
func TestBypass(t *testing.T) {
	for _, c := range []struct {
		name   string
		single bool
		limit  int
		closed bool // output 8 has no credit until 4000
		left   string
		stalls string
	}{
		{
			name: "M2: four times", single: true, limit: 4,
			left:   "11@3041 12@5109 13@7177 14@9245 2@41401 15@43469 16@45537",
			stalls: "p8@2109:crossbar-busy p8@3041:open p8@11313:crossbar-busy p8@41401:open",
		},
		{
			name: "M2: never", single: true, limit: 0,
			left:   "2@41401 11@43469 12@45537 13@47605 14@49673 15@51741 16@53809",
			stalls: "p8@2109:crossbar-busy p8@41401:open",
		},
		{
			name: "M2: none that stays is counted", single: true, limit: 4, closed: true,
			left:   "11@4000 12@6068 13@8136 14@10204 2@41401 15@43469 16@45537",
			stalls: "p8@2109:crossbar-busy p8@3041:no-credit p8@4000:open p8@12272:crossbar-busy p8@41401:open",
		},
		{
			name: "M1: nothing is bypassed", limit: 4,
			left: "2@2109 11@4177 12@6245 13@8313 14@10381 15@12449 16@14517",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(10)
			cfg.Single, cfg.Bypass = c.single, c.limit
			cfg.Ports[9].Rate = gbyte / 20
			var closed []int
			if c.closed {
				closed = []int{8}
			}
			r := newRig(t, cfg, closed...)
			if c.closed {
				r.grant(4000*ns, 8, port.DataLane, roomy)
			}
			r.send(0, 0, data(1, 9))
			r.send(2068*ns, 0, data(2, 8))
			for i := range 6 {
				r.send(unit.Time(3000+i)*ns, 1+i, data(uint32(11+i), 8))
			}
			r.run(100 * t1)
			want(t, "port 9", r.left(9), "1@41")
			want(t, "port 8", r.left(8), c.left)
			want(t, "stalls", r.reported(trace.Stall, block), c.stalls)
			r.noLoss()
		})
	}
}

// A younger frame of its own input does not bypass a frame.
func TestBypassKeepsTheOrderOfAnInput(t *testing.T) {
	cfg := config(6)
	cfg.Single = true
	cfg.Ports[5].Rate = gbyte / 4 // until 8313
	r := newRig(t, cfg)
	r.send(0, 0, data(1, 5))
	r.send(2068*ns, 0, data(2, 4))
	r.send(4136*ns, 0, data(3, 4))
	r.send(4200*ns, 1, data(4, 4))
	r.run(20 * t1)
	want(t, "port 4", r.left(4), "4@4241 2@8313 3@10381")
}

// A frame that cannot be forwarded yet is not bypassed by one that leaves before
// it. Here it is frame 1, until 14477; from then on its input is busy, and it may be
// bypassed once.
func TestBypassOfOneThatIsStillComing(t *testing.T) {
	cfg := config(8)
	cfg.Single, cfg.Bypass = true, 1
	cfg.Ports[0].Rate = gbyte / 4
	cfg.Ports[6].Rate = gbyte / 20
	cfg.Ports[7].Rate = gbyte / 2
	r := newRig(t, cfg)
	r.send(0, 0, data(8, 6))        // input 0 is busy from 81, when the header is in, to 41441
	r.send(8272*ns, 0, data(1, 5))  // registered at 8353, may leave at 8272 + 1 + 8272 - 2068
	r.send(8000*ns, 1, data(9, 7))  // input 1 is busy from 8041 to 12177
	r.send(10068*ns, 1, data(2, 5)) // may leave at 10109
	r.send(10200*ns, 2, data(3, 5)) // bypasses frame 2 alone
	r.send(14500*ns, 3, data(4, 5)) // bypasses frame 1
	r.send(14600*ns, 4, data(5, 5)) // may not
	r.run(100 * t1)
	want(t, "port 5", r.left(5), "3@10241 2@12309 4@14541 1@41441 5@43509")
}

// Two outputs want input 0 when it has fed output 2, at 2109: the older frame goes,
// whichever output it is for, though the line of output 2 is the first to be looked at.
func TestOldestGetsTheInput(t *testing.T) {
	for _, c := range []struct {
		name           string
		older, younger wire.Frame
		left           string // by ports 2 and 3
	}{
		{"the older is for the output that was idle", data(2, 3), data(3, 2), "1@41 3@4177 and 2@2109"},
		{"the older is for the output that was busy", data(2, 2), data(3, 3), "1@41 2@2109 and 3@4177"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(4)
			cfg.Single = true
			cfg.Ports[0].Rate *= 4 // all three have come by 1551
			r := newRig(t, cfg)
			r.send(0, 0, data(1, 2))
			r.send(517*ns, 0, c.older)
			r.send(1034*ns, 0, c.younger)
			r.run(20 * t1)
			want(t, "ports 2 and 3", r.left(2)+" and "+r.left(3), c.left)
			r.noLoss()
		})
	}
}

// What ends at an instant has ended when an output chooses. Input 0 feeds output 3 and
// input 1 feeds output 2, both until 2109: frame 3, which input 0 has for output 2, is not
// bypassed by frame 4, though the line of output 2 is looked at before that of output 3.
func TestInputThatIsFreeInTheSameInstant(t *testing.T) {
	cfg := config(5)
	cfg.Single = true
	cfg.Ports[0].Rate *= 4
	r := newRig(t, cfg)
	r.send(0, 0, data(1, 3))
	r.send(0, 1, data(2, 2))
	r.send(517*ns, 0, data(3, 2))
	r.send(1000*ns, 4, data(4, 2))
	r.run(20 * t1)
	want(t, "ports 2 and 3", r.left(2)+" and "+r.left(3), "2@41 3@2109 4@4177 and 1@41")
	r.noLoss()
}

// The victim of HPL-2002-224 at switch B, in small. By input 0 come frame 10 for output 2,
// and then frames 20, 21, ... for output 3, each 180 ns after the tail of the one before:
// so long does an ACK take to bring the next. Output 2 serves frames 1 and 2 from 41 to
// 4177, and younger ones of other inputs where input 0 is busy when it chooses, which is
// every 2068 ns: frame 10 gets its turn where one of those instants falls into one of
// the 180 ns, and else when it has been bypassed four times and the output has idled
// until the input is free. So the use of output 2 hangs on a phase.
func TestBypassHangsOnThePhase(t *testing.T) {
	for _, c := range []struct {
		name  string
		first unit.Time // frame 20 leaves its sender
		left  string    // by port 2
	}{
		{"8313 falls between frames 21, until 8185, and 22, from 8365", 3828 * ns, "1@41 2@2109 3@4177 4@6245 10@8313 5@10381 6@12449 7@14517"},
		{"none falls between two: the fifth would be 12449, frame 24 takes until 13179", 2078 * ns, "1@41 2@2109 3@4177 4@6245 5@8313 6@10381 10@13179 7@15247"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(9)
			cfg.Single = true
			r := newRig(t, cfg)
			r.send(0, 1, data(1, 2))
			r.send(5*ns, 4, data(2, 2))
			r.send(10*ns, 0, data(10, 2))
			for i, input := range []int{5, 6, 7, 8, 1} {
				r.send(unit.Time(2500+i)*ns, input, data(uint32(3+i), 2))
			}
			for i := range 8 {
				r.send(c.first+unit.Time(i)*(t1+180*ns), 0, data(uint32(20+i), 3))
			}
			r.run(20 * t1)
			want(t, "port 2", r.left(2), c.left)
			r.noLoss()
		})
	}
}

func TestUnknownDestination(t *testing.T) {
	for _, c := range []struct {
		name string
		dst  wire.LID
	}{{"without a route", 0}, {"beyond the table", 99}} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, config(2))
			f := data(1, 0)
			f.Dst = c.dst
			r.send(0, 0, f)
			r.send(t1, 0, data(2, 1))
			r.run(10 * t1)
			want(t, "drops", r.reported(trace.Drop, reason), "p0@21:no-route")
			want(t, "port 1", r.left(1), "2@2109")
			// Its room goes back at once.
			want(t, "credit", r.credits(0), "vl0@0>1:132 vl1@0>1:64 vl0@21>22:165 vl0@4177>4178:198")
		})
	}
}

func TestRateChange(t *testing.T) {
	change := func(r *rig, at unit.Time, rate unit.Rate) {
		r.run(at)
		r.sw.Apply(at, 2, port.RateChange{Rate: rate})
	}
	t.Run("from the next frame on", func(t *testing.T) {
		r := newRig(t, config(3))
		r.send(0, 0, data(1, 2))
		r.send(10*ns, 1, data(2, 2))
		r.send(t1, 0, data(3, 2))
		change(r, 1000*ns, gbyte/2)
		change(r, 3000*ns, gbyte)
		r.run(20 * t1)
		want(t, "port 2", r.left(2), "1@41 2@2109 3@6245") // the second takes 4136 ns
		want(t, "control", r.reported(trace.Control, func(a int64) string { return fmt.Sprint(a) }), "p2@1000:1 p2@3000:1")
	})
	// Once the link is faster, a frame that is still coming in must not run dry.
	for _, c := range []struct {
		name     string
		at       unit.Time
		closed   []int
		credited unit.Time
	}{
		{"while the header is read", 30 * ns, nil, 0},
		{"while it waits for credit", 500 * ns, []int{2}, 600 * ns},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, config(3), c.closed...)
			if c.closed != nil {
				r.grant(c.credited, 2, port.DataLane, roomy)
			}
			r.send(0, 0, data(1, 2))
			change(r, c.at, 2*gbyte)
			r.run(20 * t1)
			want(t, "port 2", r.left(2), "1@1035") // 1 + 2068 - 1034
		})
	}
}

// Without frames there is nothing to do but to repeat flow control packets.
func TestIdle(t *testing.T) {
	r := newRig(t, config(2))
	if d := r.sw.Deadline(); d != 0 {
		t.Errorf("the link is to come up at 0; the first deadline is %v", d)
	}
	r.run(0)
	if d, resend := r.sw.Deadline(), unit.Time(unit.Second); d != resend {
		t.Errorf("the deadline is %v, want %v", d, resend)
	}
	events := len(r.events)
	r.now = t1
	r.advance() // it came too early
	if len(r.events) != events || len(r.sent) != 4 {
		t.Errorf("Advance before the deadline: %d events, %d frames; before %d, 4", len(r.events), len(r.sent), events)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*switchd.Config)
		want   string
	}{
		{"a small buffer", func(c *switchd.Config) { c.Ports[1].Room = packet - 1 }, "port 1: a buffer of 32 blocks has no room for a packet of 33"},
		{"no packet", func(c *switchd.Config) { c.Packet = 0 }, "a packet of 0"},
		{"a route to nowhere", func(c *switchd.Config) { c.Routes[0].To[2] = 2 }, "the route to LID 2 is port 2; there are 2 ports"},
		{"a threshold", func(c *switchd.Config) { c.Points = points(cp.InputOutputParams{Threshold: -1}) }, `threshold: "-1"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(2)
			c.change(&cfg)
			if _, err := switchd.New(cfg, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
