package process_test

import (
	"bytes"
	std "cmp"
	"context"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/lookahead"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/pace"
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/watch/capture"
	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The conductor and its parts, in simulated time and over a network with faults drawn from a
// seed: the code of a run in processes, except for the processes and the sockets.

const simulatedScenario = `
name: simulated
model: {duration: 1ms, seed: 1}
wall: {dilation: 500}
defaults:
  link: {rate: 1GB/s, propagation: 2us, buffer: 4 packets}
  flow: {packet: 2048B, timeout: 200us}
switches: {left: {}, right: {}}
endpoints: ["sender[1-3]", receiver]
links:
  - "sender[1-3] - left"
  - {name: trunk, between: left - right}
  - {name: root, between: right - receiver}
flows:
  - {name: all, from: "sender[1-3]", to: receiver, start: 0us + 1us}
`

// lingers is how long the kernel takes to end a killed process: longer than the
// conductor waits for it.
const lingers = 20 * time.Second

// faults are what goes wrong in a simulated run.
type faults struct {
	delay  time.Duration // of datagrams, at most
	lose   float64       // share of the datagrams that are lost,
	from   time.Duration // from then on
	stray  float64       // share of the datagrams before which one comes that is too long, and an ICMP message
	forge  time.Duration // when a datagram from one part to another takes back what was promised; 0: never
	stop   string        // part that is stopped
	kill   string        // part that dies
	stays  string        // part whose process the kernel does not end when it is killed
	at     time.Duration // when
	away   time.Duration // for how long it is stopped
	events string        // of the scenario
	pcap   *capture.Request

	memory error                                  // why there is no memory to share
	unable func(words []uint64) ([]uint64, error) // the board as part "right" sees it; nil: as all others see it
	lies   func(s *lookahead.Report)              // changes a report of part "left", from at on; nil: it does not lie

	host        string        // part that is on another host,
	ahead       time.Duration // whose clock is ahead,
	drift       float64       // and goes faster by this share
	there, back time.Duration // delay of messages to it, and from it

	scenario  string         // default: simulatedScenario
	placement mode.Placement // default: InProcesses
}

// distant is a connection to another host.
type distant struct {
	net.Conn
	there, back time.Duration
}

func (d distant) Write(b []byte) (int, error) {
	time.Sleep(d.there)
	return d.Conn.Write(b)
}

func (d distant) Read(b []byte) (int, error) {
	n, err := d.Conn.Read(b)
	if err == nil {
		time.Sleep(d.back)
	}
	return n, err
}

// simulation is a run and its network.
type simulation struct {
	faults
	began time.Time

	mu                    sync.Mutex
	rand                  *rand.Rand
	sent, lost, long, icm int64
}

func (s *simulation) clock() int64 { return int64(time.Since(s.began)) }

// socket is an end of a simulated link.
type socket struct {
	*simulation
	peer  *socket
	wake  chan struct{} // of its part: a datagram has arrived
	under [][]byte      // datagrams in flight to it, in order of arrival
	last  time.Time     // when the last of them arrives
	queue [][]byte      // what has arrived
	strip bool          // the next Send reports an ICMP message
}

// Send sends b, or loses it.
func (x *socket) Send(b []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.strip {
		x.strip = false
		return link.ErrPeerClosed
	}
	if x.rand.Float64() < x.stray {
		x.peer.comes(0, make([]byte, 40_000))
		x.strip = true
		x.long++
		x.icm++
	}
	x.sent++
	if x.lose > 0 && time.Since(x.began) >= x.from && x.rand.Float64() < x.lose {
		x.lost++
		return nil
	}
	delay := time.Duration(x.rand.Int64N(int64(x.delay) + 1))
	if x.wake == x.peer.wake {
		delay = 0
	}
	b = slices.Clone(b)
	if x.forge > 0 && time.Since(x.began) >= x.forge && x.wake != x.peer.wake {
		x.forge = 0
		clear(b[len(b)-wire.TrailerSize+32:][:8]) // Trailer.Promise
	}
	x.peer.comes(delay, b)
	return nil
}

// comes sends a datagram to x, where it arrives later.
func (x *socket) comes(delay time.Duration, b []byte) {
	if at := time.Now().Add(delay); at.After(x.last) {
		x.last = at
	}
	if delay == 0 && len(x.under) == 0 {
		x.arrives(b)
		return
	}
	x.under = append(x.under, b)
	time.AfterFunc(time.Until(x.last), func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		first := x.under[0]
		x.under = x.under[1:]
		x.arrives(first)
	})
}

// arrives makes a datagram readable for x.
func (x *socket) arrives(b []byte) {
	x.queue = append(x.queue, b)
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Recv reads what has arrived.
func (x *socket) Recv(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.queue) == 0 {
		return 0, nil
	}
	first := x.queue[0]
	x.queue = x.queue[1:]
	if len(first) > len(b) {
		return 0, link.ErrTooLong
	}
	return copy(b, first), nil
}

func (x *socket) Close() error { return nil }
func (x *socket) FD() int      { return -1 }

// sockets waits for several sockets and for promises to the part, which come last.
type sockets struct {
	all  []*socket
	bell <-chan struct{} // nil: no promises
}

// Wait waits as link.Poller does, for simulated sockets and for the bell.
func (p sockets) Wait(ns int64, came func(i int)) error {
	looked := func() (found bool) {
		for i, x := range p.all {
			x.mu.Lock()
			waits := len(x.queue) > 0
			x.mu.Unlock()
			if waits {
				found = true
				came(i)
			}
		}
		return found
	}
	if looked() || ns <= 0 {
		return nil
	}
	select {
	case <-p.all[0].wake:
		looked()
	case <-p.bell:
		came(len(p.all))
	case <-time.After(time.Duration(ns)):
	}
	return nil
}

// errNoMemory is why a simulated part has no board.
var errNoMemory = errors.New("no memory here")

// noBoard denies a part the board.
func noBoard([]uint64) ([]uint64, error) { return nil, errNoMemory }

// talk is the control connection of a simulated process. While the process is stopped, its writes
// wait.
type talk struct {
	net.Conn
	*simulation
}

func (x talk) Write(b []byte) (int, error) {
	if now := time.Since(x.began); now >= x.at && now < x.at+x.away {
		time.Sleep(x.at + x.away - now)
	}
	return x.Conn.Write(b)
}

// settling is the connection of a part that reports its end only when what it has sent has arrived,
// as it would have within a kernel.
type settling struct {
	net.Conn
	after time.Duration
}

func (x settling) Write(b []byte) (int, error) {
	if b[0] == 'x' {
		time.Sleep(x.after)
	}
	return x.Conn.Write(b)
}

// actor is a simulated process.
type actor struct {
	end    func()
	done   chan error
	stays  time.Duration // how long it runs on after it was killed
	killed atomic.Bool
}

func (a *actor) Kill() error {
	a.killed.Store(true)
	a.end()
	return nil
}

func (a *actor) Wait() error {
	err := <-a.done
	time.Sleep(a.stays)
	if !a.killed.Load() {
		return err
	}
	return errors.New("signal: killed")
}

// outcome is the result of a simulated run.
type outcome struct {
	*simulation
	verdict report.Verdict
	digest  string
	log     string // all of it, in order
	timing  *pace.Record
	missed  []pace.Silent // the silent parts that the progress named
	warned  []string
	now     unit.Time // up to which all parts have reported
	err     error
}

// simulate runs the scenario with faults, in a bubble of simulated time.
func simulate(t *testing.T, seed uint64, f faults) outcome {
	s := &simulation{faults: f, began: time.Now(), rand: rand.New(rand.NewPCG(seed, 0))}
	layOut := func() *fabric.Fabric {
		read, err := resolve.Load("simulated.yaml", []byte(std.Or(f.scenario, simulatedScenario)+f.events), nil)
		if err != nil {
			t.Fatal(err)
		}
		laidOut, err := fabric.Build(read)
		if err != nil {
			t.Fatal(err)
		}
		return laidOut
	}
	whole := layOut()
	plan := &process.Plan{Fabric: whole, Settings: mode.Settings{Placement: std.Or(f.placement, mode.InProcesses), Link: mode.UDP, Timing: "ideal", Dilation: whole.Scenario.Wall.Dilation}, ID: 5, Version: "v", Directory: t.TempDir()}
	plan.Hooks.Memory = f.memory
	digest := report.NewDigest(len(whole.Nodes))
	collector, err := metrics.New(whole, whole.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	log := &logHash{hash: fnv.New64()}
	sinks := []trace.Sink{collector, digest, log}
	var tap *capture.Capture
	if f.pcap != nil {
		if tap, err = capture.Begin(whole, f.pcap, true, true, "simulated", collector.Scenario); err != nil {
			t.Fatal(err)
		}
		plan.Records, sinks = tap.Records, append(sinks, tap)
	}
	events := trace.NewBatch(1, sinks...)
	all, err := assemble.New(whole, assemble.Schemes{}, events)
	if err != nil {
		t.Fatal(err)
	}
	c, err := plan.Conductor()
	if err != nil {
		t.Fatal(err)
	}
	if tap != nil {
		all.Tap, plan.Missed = tap, tap.Missed
	}

	words, bells := c.Memory(), process.NewBells(len(c.Participants()))
	bells.Wrong = func(b *lookahead.Board) {
		if f.lies != nil && b.Me() >= 0 && c.Participants()[b.Me()].Part == "left" && time.Since(s.began) >= f.at {
			f.lies(b.Own())
			b.Publish(false)
		}
	}

	ends := make([][2]*socket, len(whole.Wires))
	for _, participant := range c.Participants() {
		wake := make(chan struct{}, 1)
		for _, e := range participant.Links {
			ends[e.Wire][e.End] = &socket{simulation: s, wake: wake}
		}
	}
	for w := range ends {
		ends[w][0].peer, ends[w][1].peer = ends[w][1], ends[w][0]
	}
	begin := func(file process.File) (net.Conn, process.Process) {
		ours, theirs := net.Pipe()
		ctx, cancel := context.WithCancel(context.Background())
		a := &actor{end: func() { cancel(); theirs.Close() }, done: make(chan error, 1)}
		d := drive.Part{
			Links: make([][2]link.Link, len(whole.Wires)),
			Poller: func(files []link.File) drive.Poller {
				var p sockets
				for _, f := range files {
					if p.bell = process.BellOf(f); p.bell == nil {
						p.all = append(p.all, f.(*socket))
					}
				}
				return p
			},
		}
		if file.Part == s.stays {
			a.stays = lingers
		}
		for _, e := range file.Links {
			d.Links[e.Wire][e.End] = ends[e.Wire][e.End]
		}
		due := file.Part == s.stop || file.Part == s.kill
		d.Clock = func() int64 {
			if due && time.Since(s.began) >= s.at {
				due = false
				time.Sleep(s.away)
				if file.Part == s.kill {
					a.Kill()
				}
			}
			if file.Part == s.host {
				return s.clock() + int64(s.ahead) + int64(s.drift*float64(s.clock()))
			}
			return s.clock()
		}
		own, said := layOut(), net.Conn(settling{theirs, s.delay})
		if file.Part == s.stop {
			said = talk{said, s}
		}
		go func() {
			defer cancel()
			memory := func() ([]uint64, error) {
				switch {
				case words == nil || s.host != "":
					return nil, errNoMemory
				case file.Part == "right" && s.unable != nil:
					return s.unable(words)
				}
				return words, nil
			}
			a.done <- process.RunPart(ctx, &file, said, own, d, file.Part == s.host, memory, bells)
		}()
		return ours, a
	}
	c.Simulate(s.clock, begin, bells)
	for _, participant := range c.Participants() {
		if participant.Part == s.host {
			conn, _ := begin(*participant.File)
			c.SendAway(participant, distant{conn, s.there, s.back})
		}
	}
	all.Progress = &pace.Progress{}
	var missed []pace.Silent
	stop := all.Progress.Follow(all.End, whole.Scenario.Wall.Dilation, func(st pace.Status) { missed = append(missed, st.Silent...) })
	out, err := c.Run(all, events)
	stop()
	time.Sleep(time.Second + lingers) // what is in flight to the conductor is lost
	events.Flush()
	o := outcome{simulation: s, err: err, digest: digest.Sum(), log: log.String(), timing: out.Timing, missed: missed, warned: out.Warnings, now: out.Now}
	if tap != nil {
		tap.End()
		if err := tap.Close(""); err != nil {
			t.Error(err)
		}
	}
	if err != nil {
		return o
	}
	end := unit.Time(whole.Scenario.Model.Duration)
	collector.Close(end)
	o.verdict.Figures = report.FiguresOf(whole, out.Timing)
	o.verdict.Clocks = report.ClocksOf(whole, out.Clocks, out.Between)
	o.verdict.Violations = report.New(collector.View()).Verdict.Violations
	o.verdict.Level, o.verdict.Reason = report.Judge(o.verdict.Figures)
	return o
}

// logHash hashes an event log, including the order of its events.
type logHash struct {
	hash   hash.Hash64
	events int
	last   unit.Time
	buf    []byte
}

func (l *logHash) Record(e *trace.Event) {
	l.buf = e.Append(l.buf[:0])
	l.hash.Write(l.buf)
	l.events, l.last = l.events+1, e.At
}

func (l *logHash) String() string {
	return fmt.Sprintf("%d events until %v, %x", l.events, l.last, l.hash.Sum64())
}

// onTheVirtualClock is the digest of the run that the simulated ones should equal, and its log. The
// run is captured if requested.
func onTheVirtualClock(t *testing.T, text string, pcap *capture.Request) (sum, all string) {
	read, err := resolve.Load("simulated.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fabric.Build(read)
	if err != nil {
		t.Fatal(err)
	}
	digest, log := report.NewDigest(len(f.Nodes)), &logHash{hash: fnv.New64()}
	sinks := []trace.Sink{digest, log}
	var tap *capture.Capture
	if pcap != nil {
		if tap, err = capture.Begin(f, pcap, false, false, "virtual", func() *scenario.Scenario { return f.Scenario }); err != nil {
			t.Fatal(err)
		}
		sinks = append(sinks, tap)
	}
	events := trace.NewBatch(1, sinks...)
	run, err := assemble.New(f, assemble.Schemes{}, events)
	if err != nil {
		t.Fatal(err)
	}
	if tap != nil {
		run.Tap = tap
		defer func() { tap.End(); tap.Close("") }()
	}
	if _, err := (drive.Virtual{}).Run(context.Background(), run); err != nil {
		t.Fatal(err)
	}
	events.Flush()
	return digest.Sum(), log.String()
}

// clockIs says what is wrong with the verdict's reading of the host's clock, which is ahead by this
// much, within an error of at most most, which includes drift. In µs.
func clockIs(o outcome, ahead, most, drift float64) string {
	c := o.verdict.Clocks
	if c == nil || len(c.Hosts) != 1 || c.Hosts[0].Host != "right" {
		return fmt.Sprintf("the clocks are %+v", c)
	}
	h := c.Hosts[0]
	off := math.Abs(float64(h.OffsetUs) - ahead)
	if off > float64(h.ErrorUs)+0.01 || float64(h.ErrorUs) > most+0.01 || float64(h.ErrorUs) < most*0.9 || math.Abs(float64(h.DriftUs)-drift) > 0.1*drift {
		return fmt.Sprintf("the clock is known as %+v; it is %v us ahead, to be known within %v", h, ahead, most)
	}
	if want := "the clocks of the hosts agree "; !strings.Contains(o.verdict.Reason, want) {
		return "the reason does not say " + want
	}
	return ""
}

// Whatever goes wrong, the run ends and the error says what was wrong, or the log is that of the
// virtual clock, the counts are those of the network, and the verdict is no better than the faults
// allow.
func TestModelSimulatedFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	simulatedFaults(t, []uint64{1, 2})
}
func TestSimulatedFaults(t *testing.T) {
	simulatedFaults(t, []uint64{0}, "lost", "all lost", "half lost", "stopped for long", "a host that dies", "never ends", "killed")
}

// simulatedFaults does the runs with these names, or all if there are none.
func simulatedFaults(t *testing.T, seeds []uint64, names ...string) {
	const us, ms = time.Microsecond, time.Millisecond
	virtual, _ := onTheVirtualClock(t, simulatedScenario, nil)
	same := func(o outcome) string {
		if o.digest != virtual {
			return "the log is not that of the virtual clock"
		}
		return ""
	}
	ends := func(words string) func(o outcome) string {
		return func(o outcome) string {
			if o.err == nil || !strings.Contains(o.err.Error(), words) {
				return fmt.Sprintf("the error is %v, want %q", o.err, words)
			}
			return ""
		}
	}
	dies := func(part, how string) func(o outcome) string {
		return func(o outcome) string {
			var died *process.Died
			if !errors.As(o.err, &died) || died.Part != part || !strings.Contains(died.State, how) {
				return fmt.Sprintf("the error is %v", o.err)
			}
			return ""
		}
	}
	loses := func(o outcome) string {
		if wrong := ends("datagrams were lost 6 times")(o); wrong != "" || o.timing == nil || o.timing.Lost == 0 {
			return fmt.Sprintf("%s; measured: %+v", wrong, o.timing)
		}
		return ""
	}
	losesOrIsVoid := func(o outcome) string { // how often the run waits for what is lost depends on which frames that is
		if o.err == nil && o.verdict.Level == report.Void && o.verdict.LostDatagrams == o.lost {
			return ""
		}
		return loses(o)
	}
	for _, x := range []struct {
		name   string
		faults faults
		want   report.Level // "": the run fails
		check  func(o outcome) string
	}{
		{"none", faults{delay: 20 * us}, report.Exact, same},
		{"strays", faults{delay: 20 * us, stray: 0.01}, report.Exact, func(o outcome) string {
			if o.long == 0 {
				return "there were none"
			}
			return same(o)
		}},
		{"delayed", faults{delay: 4 * ms}, report.OrderOnly, func(o outcome) string {
			if p := &o.verdict.Pace; p.Achieved < 1.1*p.Requested {
				return fmt.Sprintf("the dilation is %v", p.Achieved)
			}
			return same(o)
		}},
		{"lost", faults{delay: 20 * us, lose: 0.002}, report.Void, nil},
		{"all lost from an instant on", faults{delay: 20 * us, lose: 1, from: 499 * ms}, report.Void, nil},
		{"all lost", faults{delay: 20 * us, lose: 1, from: 100 * ms}, "", loses},
		{"half lost", faults{delay: 20 * us, lose: 0.5}, "", losesOrIsVoid},
		{"stopped", faults{delay: 20 * us, stop: "right", at: 200 * ms, away: 50 * ms}, report.Faithful, func(o outcome) string {
			if held := o.verdict.Pace.LongestUs; held < 40_000 || held > 51_000 {
				return fmt.Sprintf("the longest hold is of %v us, want 50 ms", held)
			}
			if len(o.verdict.Silent) > 0 || len(o.missed) > 0 {
				return fmt.Sprintf("silent for 50 ms: %v, %v", o.verdict.Silent, o.missed)
			}
			return same(o)
		}},
		{"stopped for long", faults{delay: 20 * us, stop: "right", at: 200 * ms, away: 3 * time.Second}, report.Faithful, func(o outcome) string {
			s := o.verdict.Silent
			if len(s) != 1 || s[0].Part != "right" || s[0].Seconds < 2.8 || s[0].Seconds > 3.1 || !strings.Contains(o.verdict.Reason, "right did not answer for 3") && !strings.Contains(o.verdict.Reason, "right did not answer for 2.9") {
				return fmt.Sprintf("the verdict names %v", s)
			}
			if len(o.missed) == 0 || o.missed[0].Part != "right" || o.missed[0].For > 1200*ms {
				return fmt.Sprintf("the progress named %v", o.missed)
			}
			return same(o)
		}},
		{"stopped for too long", faults{delay: 20 * us, stop: "right", at: 200 * ms, away: 33_000 * ms}, "", ends("the others wait for right, which has promised nothing for 30s")},
		{"a forged frame", faults{delay: 20 * us, forge: 300 * ms}, "", func(o outcome) string {
			if o.timing == nil || o.timing.Data < 100 || o.now < 100*unit.Time(unit.Microsecond) {
				return fmt.Sprintf("until %v, %+v", o.now, o.timing)
			}
			return ends("a promise that goes back")(o)
		}},
		{"a host", faults{delay: 20 * us, host: "right", ahead: -time.Hour, there: 60 * us}, report.Exact, func(o outcome) string {
			return std.Or(same(o), clockIs(o, -3600e6, 30, 0))
		}},
		{"a host whose answers take long", faults{delay: 20 * us, host: "right", ahead: time.Hour, back: 110 * us}, report.OrderOnly, func(o outcome) string {
			return std.Or(same(o), clockIs(o, 3600e6, 55, 0))
		}},
		{"a host whose clock drifts", faults{delay: 20 * us, host: "right", ahead: time.Hour, drift: 200e-6}, report.OrderOnly, func(o outcome) string {
			return std.Or(same(o), clockIs(o, 3600e6, 110, 110))
		}},
		{"a host that loses", faults{delay: 20 * us, host: "right", lose: 0.002}, report.Void, nil},
		{"a host that dies", faults{delay: 20 * us, host: "right", kill: "right", at: 200 * ms}, "", dies("right", "its connection is lost")},
		{"never ends", faults{delay: 20 * us, stays: "left"}, report.Exact, func(o outcome) string {
			if want := "the process of left was killed, and the kernel has not ended it yet"; !slices.Contains(o.warned, want) {
				return fmt.Sprintf("warnings %q", o.warned)
			}
			return same(o)
		}},
		{"killed", faults{delay: 20 * us, kill: "left", at: 200 * ms}, "", dies("left", "killed")},
	} {
		if len(names) > 0 && !slices.Contains(names, x.name) {
			continue
		}
		ways := eachWay
		if x.faults.host != "" { // hosts have no board
			ways = func(t *testing.T, name string, test func(*testing.T, faults)) {
				t.Run(name, func(t *testing.T) { test(t, faults{}) })
			}
		}
		ways(t, x.name, func(t *testing.T, way faults) {
			for _, seed := range seeds {
				synctest.Test(t, func(t *testing.T) {
					x.faults.unable = way.unable
					began := time.Now()
					o := simulate(t, seed, x.faults)
					v := &o.verdict
					if x.want != "" && (o.err != nil || v.Level != x.want || v.LostDatagrams != o.lost || v.Unreachable != o.icm || v.Refused != o.long || (x.want == report.Void) != (o.lost > 0)) {
						t.Errorf("seed %d: %v; %s: %s\n%d of %d datagrams are missing, %d were lost; %d refused, %d ICMP errors, of %d and %d",
							seed, o.err, v.Level, v.Reason, v.LostDatagrams, o.sent, o.lost, v.Refused, v.Unreachable, o.long, o.icm)
					}
					if x.check != nil {
						if wrong := x.check(o); wrong != "" {
							t.Errorf("seed %d: %s: %v: %s", seed, wrong, o.err, v.Reason)
						}
					}
					if took := time.Since(began); took > 2*time.Minute {
						t.Errorf("seed %d: it took %v", seed, took)
					}
				})
			}
		})
	}
}

// A capture of a run in processes has the records of a run on the virtual clock, in the same order,
// plus the lateness of each frame.
func TestModelSimulatedCapture(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, x := range []struct {
		name    string
		request capture.Request
		records int // at least
	}{
		{"all", capture.Request{}, 600},
		{"both ends, cut", capture.Request{Both: true, Snap: 64}, 1200},
		{"a link", capture.Request{Filter: []string{"trunk"}}, 150},
		{"a flow at a port", capture.Request{Filter: []string{"all.sender2", "left:1"}, Both: true}, 20},
	} {
		t.Run(x.name, func(t *testing.T) {
			var want, got bytes.Buffer
			virtual := x.request
			virtual.To = &want
			onTheVirtualClock(t, simulatedScenario, &virtual)
			synctest.Test(t, func(t *testing.T) {
				apart := x.request
				apart.To = &got
				if o := simulate(t, 1, faults{delay: 20 * time.Microsecond, pcap: &apart}); o.err != nil {
					t.Fatalf("%v, %s", o.err, o.verdict.Reason)
				}
			})
			virtualRecords, _ := records(t, want.Bytes())
			apartRecords, late := records(t, got.Bytes())
			if len(virtualRecords) < x.records || late == 0 {
				t.Errorf("%d records, %d of them say how late they left", len(virtualRecords), late)
			}
			if diff := cmp.Diff(virtualRecords, apartRecords); diff != "" {
				t.Errorf("-virtual +processes\n%s", diff)
			}
		})
	}
}

// records returns the records of a capture as text without the lateness of frames, and how many
// state a lateness.
func records(t *testing.T, b []byte) (lines []string, late int) {
	t.Helper()
	r, err := pcapng.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	left := regexp.MustCompile(`(; )?late [0-9.]+us`)
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines, late
		}
		if err != nil {
			t.Fatal(err)
		}
		said := string(bytes.Join(p.Comments, []byte("|")))
		if left.MatchString(said) {
			late++
		}
		lines = append(lines, fmt.Sprintf("%d %s %v %d %x %s", p.Time, r.Interfaces[p.Interface].Name, p.Direction, p.Length, p.Data, strings.Trim(left.ReplaceAllString(said, ""), "|")))
	}
}
