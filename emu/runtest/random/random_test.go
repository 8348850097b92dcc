package random_test

import (
	"context"
	"fabemu/emu"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/fabric"
	"fabemu/emu/report"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// witness hears the events of a fabric of Ethernet and holds them against what must
// be so, with an account of its own: where each frame is, how long each line is
// taken, until when each port is paused. It believes nothing that a machine says of
// itself but what it sends, takes in and lets go.
type witness struct {
	fabric *fabric.Fabric
	ports  [][]witnessed
	frames map[sent]*passing
	wrong  []string

	started, delivered, dropped, pauses int
	violations                          int
}

// witnessed is a port as the witness has it.
type witnessed struct {
	rate  unit.Rate
	kind  port.FlowControl // of flow control
	down  bool
	free  unit.Time                  // from here on the line is idle
	until [port.Priorities]unit.Time // when each class may be sent again
	held  [port.Priorities]bool      // it was told to stop, and not yet to go on
	said  []unit.Time                // when the PAUSE frames left that are on the way to it
	old   unit.Rate                  // before it changed
	since unit.Time                  // when that was
	used  [port.Priorities]unit.Size // of the memory, by class
	room  unit.Size                  // 0: no limit
}

// taken returns how much of the memory is used.
func (p *witnessed) taken() (sum unit.Size) {
	for _, n := range p.used {
		sum += n
	}
	return sum
}

// class returns which of them a priority has.
func (p *witnessed) class(lane uint8) uint8 {
	if p.kind == port.PriorityPauseFrames {
		return lane
	}
	return 0
}

// sent names a frame.
type sent struct{ flow, psn uint32 }

// passing is a frame on its way.
type passing struct {
	at    fabric.End // it is in this machine, having come by this port; or on the way there
	under bool       // it is on the way
	size  unit.Size
	kept  map[fabric.End]bool // whose memory has it
}

func newWitness(f *fabric.Fabric) *witness {
	w := &witness{fabric: f, frames: map[sent]*passing{}}
	for i := range f.Machines {
		m := &f.Machines[i]
		var all []witnessed
		for _, p := range m.Ports {
			l := f.Wires[p.Wire].Link
			s := witnessed{rate: l.Rate, kind: l.FlowControl}
			if m.Switch != nil {
				s.room = m.Switch.Memory.Total(len(m.Ports))
				if m.Switch.Sharing != scenario.Pooled {
					s.room /= unit.Size(len(m.Ports))
				}
			}
			all = append(all, s)
		}
		w.ports = append(w.ports, all)
	}
	return w
}

func (w *witness) say(e *trace.Event, format string, args ...any) {
	if len(w.wrong) < 10 {
		w.wrong = append(w.wrong, fmt.Sprintf("%v %s.%d flow %d psn %d: ", e.At, w.fabric.Machines[e.Machine].Name, e.Port, e.Flow, e.PSN)+fmt.Sprintf(format, args...))
	}
}

// Record hears an event.
func (w *witness) Record(e *trace.Event) {
	kind, _, _ := trace.FrameOf(e.A)
	here := fabric.End{Machine: int(e.Machine), Port: port.ID(e.Port)}
	p := &w.ports[e.Machine][e.Port]
	id := sent{e.Flow, e.PSN}
	f := w.frames[id]
	switch e.Kind {
	case trace.Start:
		w.start(e, p, kind)
		end := w.fabric.Machines[e.Machine].Ports[e.Port]
		to := w.fabric.Wires[end.Wire].Ends[1-end.End]
		if kind != wire.Data {
			peer := &w.ports[to.Machine][to.Port]
			peer.said = append(peer.said, e.At)
			return
		}
		if w.fabric.Machines[e.Machine].Switch == nil {
			if f != nil {
				w.say(e, "is sent twice")
			}
			f = &passing{size: unit.Size(e.Bytes), kept: map[fabric.End]bool{}}
			w.frames[id] = f
			w.started++
		} else if f == nil || f.under || f.at.Machine != here.Machine {
			w.say(e, "leaves a switch where it is not: %+v", f)
			return
		}
		f.at, f.under = to, true
	case trace.Arrive:
		if kind == wire.Pause || kind == wire.PriorityPause {
			w.pauses++
			w.paused(e, p, kind)
			return
		}
		if f == nil || !f.under || f.at != here {
			w.say(e, "arrives where it was not sent: %+v", f)
			return
		}
		f.under, f.kept[here] = false, true
		p.used[p.class(e.Lane)] += f.size
		w.within(e, p)
	case trace.Release:
		if f == nil || !f.kept[here] {
			w.say(e, "is let go where it is not kept: %+v", f)
			return
		}
		delete(f.kept, here)
		p.used[p.class(e.Lane)] -= f.size
		w.within(e, p)
	case trace.Deliver:
		if f == nil || f.under || f.at.Machine != here.Machine {
			w.say(e, "is delivered where it is not: %+v", f)
			return
		}
		f.at.Machine = -1
		w.delivered++
	case trace.Drop:
		if trace.Reason(e.A) == trace.EgressFull || e.Flow == 0 {
			return // it was none yet; or flow control
		}
		if f == nil || f.at.Machine != here.Machine {
			w.say(e, "is dropped where it is not: %+v", f)
			return
		}
		if f.kept[here] {
			delete(f.kept, here)
			p.used[p.class(e.Lane)] -= f.size
		}
		f.at.Machine = -1
		w.dropped++
		if why := trace.Reason(e.A); why != trace.LinkWasDown && why != trace.Restarted && p.kind == port.PauseFrames {
			w.say(e, "is dropped: %v", why)
		}
	case trace.Control:
		w.change(e, p)
	case trace.Violation:
		w.violations++
		w.say(e, "%v", trace.Reason(e.A))
	}
}

// start checks that the line is free, the link up, and the class not paused.
func (w *witness) start(e *trace.Event, p *witnessed, kind wire.Kind) {
	if e.At < p.free {
		w.say(e, "starts on a line that is busy until %v", p.free)
	}
	p.free = e.At.Add(p.rate.Serialise(unit.Size(e.Bytes)))
	if p.down {
		w.say(e, "starts on a link that is down")
	}
	if kind == wire.Data && p.until[e.Lane] > e.At {
		w.say(e, "starts although paused until %v", p.until[e.Lane])
	}
}

// paused notes what a PAUSE or PFC frame says (IEEE 802.3, annexes 31B and 31D): quanta of
// 512 bit times, from when it came.
func (w *witness) paused(e *trace.Event, p *witnessed, kind wire.Kind) {
	until := e.At.Add(p.rate.Serialise(unit.Size(e.B) * 64))
	if left := p.said[0]; left < p.since { // of the rate that the quanta were meant at
		until = max(until, e.At.Add(p.old.Serialise(unit.Size(e.B)*64)))
	}
	p.said = p.said[1:]
	spoken, stopped := uint8(0xFF), uint8(0xFF)
	if kind == wire.PriorityPause {
		spoken, stopped = trace.ClassesOf(e.PSN)
	} else if e.B == 0 {
		stopped = 0
	}
	for c := range p.until {
		switch bit := uint8(1) << c; {
		case spoken&bit == 0:
		case stopped&bit == 0:
			p.until[c], p.held[c] = e.At, false
		default:
			if p.held[c] && p.until[c] < e.At {
				w.say(e, "was stopped until %v, and is stopped again only now", p.until[c])
			}
			p.until[c], p.held[c] = until, true
		}
	}
}

// within checks that a memory holds what is in it, an input's part or all inputs of a
// pool, and that the machine has the same account of it.
func (w *witness) within(e *trace.Event, p *witnessed) {
	if got := p.used[p.class(e.Lane)]; got != unit.Size(e.B) {
		w.say(e, "%d bytes in the memory, and it says %d", got, e.B)
	}
	if p.room == 0 {
		return
	}
	used := p.taken()
	if w.fabric.Machines[e.Machine].Switch.Sharing == scenario.Pooled {
		used = 0
		for i := range w.ports[e.Machine] {
			used += w.ports[e.Machine][i].taken()
		}
	}
	if used > p.room {
		w.say(e, "%d bytes in a memory of %d", used, p.room)
	}
}

// change notes a change from outside.
func (w *witness) change(e *trace.Event, p *witnessed) {
	switch port.EventKind(e.A) {
	case port.RateChange:
		p.old, p.rate, p.since = p.rate, unit.Rate(e.B), e.At
		for c, until := range p.until {
			if until > e.At && p.rate < p.old { // as many quanta as were left
				p.until[c] = e.At + unit.Time(float64(until-e.At)*float64(p.old)/float64(p.rate))
			}
		}
	case port.ServiceRate, port.StormStart, port.StormStop:
		return
	case port.LinkDown, port.Restart:
		p.said = nil
		p.down, p.until, p.held = true, [port.Priorities]unit.Time{}, [port.Priorities]bool{}
		if port.EventKind(e.A) == port.Restart { // what it was sending was in its memory too
			here := fabric.End{Machine: int(e.Machine), Port: port.ID(e.Port)}
			for _, f := range w.frames {
				delete(f.kept, here)
			}
			p.used = [port.Priorities]unit.Size{}
		}
	case port.LinkUp:
		p.down = false
	}
}

// left returns how many frames are still on their way, or in a memory.
func (w *witness) left() (n int) {
	for _, f := range w.frames {
		if f.at.Machine >= 0 || len(f.kept) > 0 {
			n++
		}
	}
	return n
}

// randomFabric returns a scenario of Ethernet: some switches in a tree, maybe with two
// links between two of them, whatever routing, strict priorities or weights, endpoints at
// them, all kinds of traffic until a sixth of the run, and things that happen until
// a fifth of it and are over then. What is under way has the rest of the run to
// arrive.
func randomFabric(seed uint64) string {
	r, other := unit.NewRandom(seed, 7), unit.NewRandom(seed, 8) // what was added later draws from a stream of its own
	either := func(all ...string) string { return all[other.Below(uint64(len(all)))] }
	pick := func(all ...string) string { return all[r.Below(uint64(len(all)))] }
	below := func(n int) int { return int(r.Below(uint64(n))) }
	us := func(from, to int) string { return fmt.Sprintf("%d.%03dus", from+below(to-from), below(1000)) }
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }

	const stop, over = 300, 400 // us
	control := pick("pause", "pfc", "pause", "pfc", "none")
	switches, endpoints := 1+below(3), 3+below(4)
	line("name: random\nmodel: {duration: 20ms, seed: %d, framing: %s}", seed, pick("paper", "wire"))
	line("routing: %s", either("shortest", "ecmp", "{recompute: 20us}", "{paths: ecmp, recompute: 5us}"))
	line("defaults:")
	line("  link: {rate: 10Gb/s, propagation: %s, flow-control: %s, quanta: %s}", pick("1ns", "500ns", "5us"), control, pick("65535", "65535", "150", "2000"))
	memory := pick("60KB per port", "100KB per port", "150KB per port", "300KB per port")
	if control == "none" {
		memory = pick("20KB per port", "50KB per port")
	}
	lossless := ""
	if control == "pfc" && below(2) == 0 {
		lossless = ", lossless: [3, 5]"
	}
	limit := ""
	if control == "none" || lossless != "" {
		limit = pick("", ", output-limit: 15KB")
	}
	line("  switch: {kind: output-queued, memory: %s, sharing: %s, forwarding: %s, forwarding-delay: 500ns%s}", memory, pick("partitioned", "pooled"), pick("store-and-forward", "cut-through"), lossless+limit+either("", ", ets: [{priority: 3, weight: 3}, {priority: 0, weight: 1}]", ", ets: [{priority: 5, weight: 1}, {priority: 7, weight: 100}, {priority: 0, weight: 7}]"))
	line("  endpoint: {ingress: %s, egress: %s}", pick("unlimited", "300KB"), pick("unlimited", "60KB"))
	line("switches: {%s}", strings.Join([]string{"S0: {}", "S1: {}", "S2: {}"}[:switches], ", "))
	line("endpoints:")
	for i := range endpoints {
		line("  - {name: E%d%s}", i, pick("", "", ", service: 2Gb/s", ", service: 15Gb/s"))
	}
	line("links:")
	var links []string
	rates := []string{"10Gb/s", "10Gb/s", "4Gb/s", "25Gb/s", "1Gb/s"}
	link := func(x, y string) {
		line("  - {name: L%d, between: %s - %s, rate: %s}", len(links), x, y, pick(rates...))
		links = append(links, fmt.Sprintf("L%d", len(links)))
	}
	for i := 1; i < switches; i++ {
		link(fmt.Sprintf("S%d", i), fmt.Sprintf("S%d", below(i)))
	}
	if switches > 1 && either("", "twice") != "" { // another link beside the first
		link("S1", "S0")
	}
	for i := range endpoints {
		link(fmt.Sprintf("E%d", i), fmt.Sprintf("S%d", below(switches)))
	}
	line("flows:")
	for i := range 2 + below(8) {
		from := below(endpoints)
		to := (from + 1 + below(endpoints-1)) % endpoints
		if from != 0 && below(2) == 0 {
			to = 0 // most of it to one: it is there that there is too little room
		}
		priority := pick("0", "3", "5", "7")
		kind := pick("greedy", "greedy", "greedy", "constant, load: 0.4", "bernoulli, load: 0.3", "poisson, load: 0.5", "bursts, load: 0.2, burst: 20KB", fmt.Sprintf("transfers, size: %dB, count: %d", 1+below(60000), 1+below(4)))
		limiter := pick("", ", limiter: token-bucket", ", limiter: token-bucket, depth: 1B")
		line("  - {name: f%d, from: E%d, to: E%d, priority: %s, traffic: %s%s, packet: %s, start: %s, stop: %s}",
			i, from, to, priority, kind, limiter, pick("12B", "700B", "1500B", "1500B", "4000B", "9000B"), us(0, 100), us(200, stop))
	}
	line("events:")
	for range below(12) {
		switch below(5) {
		case 0:
			line("  - {at: %s, link: %s, rate: %s}", us(0, over), pick(links...), pick(rates...))
		case 1:
			l := pick(links...)
			line("  - {at: %s, link: %s, state: down}\n  - {at: %s, link: %s, state: up}", us(0, stop), l, us(stop, over), l)
		case 2:
			e := below(endpoints)
			line("  - {at: %s, endpoint: E%d, service: 500Mb/s}\n  - {at: %s, endpoint: E%d, service: unlimited}", us(0, stop), e, us(stop, over), e)
		case 3:
			if e := below(endpoints); control != "none" {
				line("  - {at: %s, endpoint: E%d, pause-storm: \"on\"}\n  - {at: %s, endpoint: E%d, pause-storm: \"off\"}", us(0, stop), e, us(stop, over), e)
			}
		case 4:
			line("  - {at: %s, switch: S%d, restart: %s}", us(0, stop), below(switches), us(1, 100))
		}
	}
	return strings.TrimSuffix(b.String(), "events:\n") // a list of nothing is none
}

// Whatever the fabric, and whatever happens to it: nothing is sent while paused, on a
// busy line or on a link that is down, nothing overruns a memory, no frame is lost
// but where a link was down or flow control is not there, and none is stuck: what was
// sent has been delivered or dropped when the time is up.
func TestRandomFabricsKeepTheirPromises(t *testing.T) {
	refused, sum := 0, [4]int{}
	const runs = 150
	for seed := range uint64(runs) {
		text := randomFabric(seed)
		s, err := scenario.Load("random.yaml", []byte(text), nil)
		if err != nil {
			if refused++; !strings.Contains(err.Error(), "could lose a frame") {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			continue
		}
		w := witnessRun(t, s)
		if left := w.left(); left > 0 {
			w.wrong = append(w.wrong, fmt.Sprintf("%d frames are still on their way", left))
		}
		if w.started != w.delivered+w.dropped {
			w.wrong = append(w.wrong, fmt.Sprintf("%d frames were sent, %d delivered, %d dropped", w.started, w.delivered, w.dropped))
		}
		if len(w.wrong) > 0 {
			t.Errorf("seed %d:\n%s\n%s", seed, strings.Join(w.wrong, "\n"), text)
		}
		for i, n := range []int{w.started, w.delivered, w.dropped, w.pauses} {
			sum[i] += n
		}
	}
	t.Logf("%d runs, %d refused; %d frames sent, %d delivered, %d dropped; %d PAUSE frames", runs, refused, sum[0], sum[1], sum[2], sum[3])
	if refused > runs/4 || sum[2] == 0 || sum[3] < runs {
		t.Error("that shows little")
	}
}

func witnessRun(t *testing.T, s *scenario.Scenario) *witness {
	t.Helper()
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	w := newWitness(f)
	out, err := emu.Run(context.Background(), s, emu.Options{Clock: emu.VirtualClock, Sink: w})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Deadlocks) > 0 || out.EndedPs != 0 {
		w.wrong = append(w.wrong, fmt.Sprintf("deadlocks: %+v", out.Deadlocks))
	}
	if (out.Verdict.Level == report.Void) != (w.violations > 0) {
		w.wrong = append(w.wrong, "the verdict is "+string(out.Verdict.Level))
	}
	return w
}

// What random fabrics have found once, made as small as it could be, stays right.
func TestKeptFabrics(t *testing.T) {
	files, err := filepath.Glob("testdata/fabrics/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		s, err := emu.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := emu.Run(context.Background(), s, emu.Options{Clock: emu.VirtualClock})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict.Violations > 0 {
			t.Errorf("%s: %d violations, the first: %+v", file, r.Verdict.Violations, r.Violations[0])
		}
	}
}

// On the wall clock, over links, each of them is what it is on the virtual one, however
// little time there is.
func TestRandomFabricsOnTheWallClock(t *testing.T) {
	for seed := range uint64(12) {
		s, err := scenario.Load("random.yaml", []byte(randomFabric(seed)), []scenario.Set{{Path: "wall.dilation", Value: "1"}})
		if err != nil {
			continue // refused: see above
		}
		r, err := emu.Run(context.Background(), s, emu.Options{Link: emu.Pipe, Verify: emu.VerifyOn})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict.Verify != "equal" || r.Verdict.Order.Overtaken != 0 {
			t.Errorf("seed %d: the log is %q to that of the virtual clock; %d frames overtaken", seed, r.Verdict.Verify, r.Verdict.Order.Overtaken)
		}
	}
}
