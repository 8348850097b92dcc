package process

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/fabric"
	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/pace"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

func TestMessages(t *testing.T) {
	var b bytes.Buffer
	if err := write(&b, events, []byte("abc")); err != nil {
		t.Fatal(err)
	}
	if err := writeJSON(&b, hello, greeting{Part: "A", PID: 7}); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	in := bufio.NewReader(bytes.NewReader(whole))
	if k, got, err := read(in, nil); k != events || string(got) != "abc" || err != nil {
		t.Errorf("%c %q %v", k, got, err)
	}
	if k, got, err := read(in, nil); k != hello || !strings.Contains(string(got), `"Part":"A"`) || err != nil {
		t.Errorf("%c %q %v", k, got, err)
	}
	for n := range len(whole) {
		in := bufio.NewReader(bytes.NewReader(whole[:n]))
		_, _, err := read(in, nil)
		if err == nil {
			_, _, err = read(in, nil)
		}
		if err == nil {
			t.Errorf("%d bytes are two messages", n)
		}
	}
	if _, _, err := read(bufio.NewReader(strings.NewReader("e\xff\xff\xff\xff")), nil); err == nil {
		t.Error("a message of 4 GiB was believed")
	}
}

func TestParseEvents(t *testing.T) {
	want := []entry{{place: 7, Event: trace.Event{At: 5, Node: 1, Kind: trace.Start}}, {place: 1 << 31, Event: trace.Event{At: 6, Node: 2, Kind: trace.Arrive, A: -3}}}
	b := appendStamp(nil, 99, pace.Counts{Late: 4, Gaps: 5, Off: 6})
	for i := range want {
		b = appendEntry(b, want[i].place, &want[i].Event)
	}
	now, counts, got, err := parseEvents(nil, b, []int{1, 1, 1}, 2)
	if err != nil || now != 99 || counts != (pace.Counts{Late: 4, Gaps: 5, Off: 6}) {
		t.Errorf("%v %v %v", now, counts, err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{}, frame{})); diff != "" {
		t.Error(diff)
	}
	if _, _, _, err := parseEvents(nil, b, []int{1, 1}, 2); err == nil {
		t.Error("an event of a node that does not exist")
	}
	if _, _, _, err := parseEvents(nil, b, []int{1, 1, 0}, 2); err == nil {
		t.Error("an event at a port that does not exist")
	}
	if _, _, _, err := parseEvents(nil, b[:len(b)-1], []int{1, 1, 1}, 2); err == nil {
		t.Error("half an event")
	}
}

// listening returns a conductor with one part, in a fabric of two nodes.
func listening() *conductor {
	return &conductor{
		plan: &Plan{Fabric: &fabric.Fabric{Wires: make([]fabric.Wire, 2)}}, fabric: &drive.Setup{},
		ports: []int{1, 2}, sink: sink(func(*trace.Event) {}),
		participants: []*participant{{File: &File{Part: "the part", Run: 5}, next: map[int32]uint32{}, base: map[int32]uint32{}}},
	}
}

// A message that a part must not send ends the run with an error that names the part.
func TestConductorIsToldNonsense(t *testing.T) {
	event := func(e trace.Event) string { return string(appendEntry(appendStamp(nil, 5, pace.Counts{}), 1, &e)) }
	for _, x := range []struct {
		kind    kind
		payload string
		want    string // "": it is none
	}{
		{hello, `{"Part": "the part", "Run": 5}`, ""},
		{events, event(trace.Event{Node: 1, Port: 1, Kind: trace.Start}), ""},
		{done, `{"Timing": {"Worst": -1}, "Traffic": [{"Path": 99, "Sent": 1, "Came": -1}]}`, ""},
		{'J', `{"Part": "the part", "Run": 5}`, `a message of unknown kind 'J'`},
		{'G', "", `a message of unknown kind 'G'`},
		{'E', "", `a message of unknown kind 'E'`},
		{0, "", `a message of unknown kind '\x00'`},
		{begin, "12345678", `a message of unknown kind 'b'`},
		{hello, `{`, "the process that joined"},
		{hello, `{"Part": "another", "Run": 5}`, `is part "another"`},
		{events, "short", "cut off"},
		{events, event(trace.Event{Node: 1, Port: 2}), "an event at port 2 of node 1, which has 2"},
		{events, event(trace.Event{Node: -1}), "an event of node -1"},
		{events, event(trace.Event{At: -1}), "an event at -"},
		{done, `[]`, "its report"},
		{done, `{"Actual": {"Starts": {"Lateness": [-1, 1, 0, 1, 999999999999, 1]}, "Of": [{"QP": 1, "Readings": "////////////////"}]}}`, ""},
		{done, `{"Actual": {"Starts": null, "Of": [{"QP": 1, "Readings": "not base64"}]}}`, "illegal base64"},
		{done, `{"Timing": {"Worst": 2}}`, "wire 2; there are 2"},
		{done, `{"Timing": {"Lateness": [-9, 1, 5, -1, 7]}}`, ""},
		{done, `{"Err": "no room"}`, "no room"},
		{events, seen(nil), ""},
		{events, seen(nil) + seen(nil)[stamp:], ""},
		{events, seen(nil)[:stamp+60], "a frame in 60 bytes: cut off"},
		{events, seen(nil)[:stamp+frameSize+20], "in 20: cut off"},
		{events, seen(func(b []byte) { b[12+3] = 4 }), "a frame on path 4; there are 4"},
		{events, seen(func(b []byte) { b[4] = 0x80 }), "a frame at -"},
		{events, seen(func(b []byte) { b[28] = 2 }), "a frame at "},
		{events, seen(func(b []byte) { b[29] = 9 }), "wire: Trailer.Delimiter"},
		{events, seen(func(b []byte) { b[len(b)-1] ^= 1 }), "wrong checksum"},
		{waits, waiting(5, held(0, 0), held(1, 0)), ""},
		{waits, waiting(5, held(0, 0))[1:], "the frames that wait, in "},
		{waits, waiting(5, held(-1, 0)), "node -1: there is none"},
		{waits, waiting(-1), "frames that wait at -"},
		{waits, waiting(5, held(2, 0)), "node 2: there is none"},
		{waits, waiting(5, held(1, 2)), "from port 0 for port 2 of node 1: there is none"},
		{waits, waiting(2, held(1, 0)), "has waited since 3ps, at 2ps"},
		{waits, waiting(5, held(1, 0), held(1, 0)), "out of order"},
		{waits, waiting(5, held(1, 0), held(0, 0)), "out of order"},
	} {
		err := listening().receive(partEvent{kind: x.kind, payload: []byte(x.payload)})
		if x.want == "" && err == nil {
			continue
		}
		if x.want == "" || err == nil || !strings.HasPrefix(err.Error(), "the part: ") || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q %q: %v, want %q", byte(x.kind), x.payload, err, x.want)
		}
	}
}

// seen is a message with a frame, changed.
func seen(change func(b []byte)) string {
	f := &frame{
		path: 3, now: 6, head: 4, tail: 9, due: 12, length: 276, wall: 7, late: 2, missed: 1,
		note: port.Note{Reason: 1, Waiting: 2, Credit: -1}, Frame: wire.Frame{Kind: wire.Data, Src: 1, Dst: 2, QP: 7, PSN: 5, Payload: 256},
	}
	b := appendFrame(appendStamp(nil, 5, pace.Counts{}), trace.Key{At: 6, Place: 8}, f)
	if change != nil {
		change(b[stamp:])
	}
	return string(b)
}

// A frame is read as it was sent; whatever can be read is what would be written.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(seen(nil))[stamp:])
	f.Add([]byte(seen(func(b []byte) { b[28] = 1 }))[stamp:])
	f.Fuzz(func(t *testing.T, b []byte) {
		x, rest, err := parseFrame(b, 2)
		if err != nil {
			return
		}
		k := trace.Key{At: x.At, Place: x.place}
		if again := appendFrame(nil, k, x.frame); b[22] == aFrame && !bytes.Equal(again, b[:len(b)-len(rest)]) {
			t.Errorf("%x is %+v, which is %x", b, x.frame, again)
		}
	})
}

// If the conductor does not read the messages of a part, frames are left out and counted, so that
// there is room for events.
func TestFramesAreLeftOut(t *testing.T) {
	ours, theirs := net.Pipe()
	p := newPart(&File{}, theirs, bufio.NewReader(theirs), &pace.Progress{})
	p.frames = wanted{1, 1, 1, 1}
	sent := &port.Transmission{Frame: wire.Frame{Kind: wire.Data, Src: 1, Dst: 2, QP: 7, Payload: 256}}
	const frames = 20_000 // 7 MB
	for range frames {
		p.Sent(3, sent, wire.Body{}, 0, 0, 0)
	}
	if p.missed == 0 || len(p.out) == cap(p.out) {
		t.Fatalf("%d frames were left out; %d messages wait, of %d", p.missed, len(p.out), cap(p.out))
	}
	told, missed := int64(0), int64(0)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for in := bufio.NewReader(ours); ; {
			k, b, err := read(in, nil)
			if err != nil {
				return
			}
			switch k {
			case events:
				_, _, list, err := parseEvents(nil, b, []int{1, 2}, 2)
				if err != nil {
					t.Error(err)
				}
				for _, x := range list {
					told++
					missed += x.frame.missed
				}
			case done:
				r, err := parseReport(b, 2)
				if err != nil {
					t.Error(err)
					return
				}
				missed += r.Missed
				return
			}
		}
	}()
	if err := p.Done(Report{}); err != nil {
		t.Error(err)
	}
	<-ended
	p.Close()
	if told+missed != frames {
		t.Errorf("%d frames were told and %d left out, of %d", told, missed, frames)
	}
}

func held(node int, out port.ID) deadlock.Held {
	return deadlock.Held{Node: node, Wait: port.Wait{Out: out, Block: port.NoCredit, Since: 3}}
}

func waiting(at unit.Time, list ...deadlock.Held) string {
	b, err := json.Marshal(deadlock.Waits{At: at, Carried: 7, Expects: true, Frames: list})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Waits are read as they were sent; whatever can be read is what would be written.
func FuzzWaits(f *testing.F) {
	f.Add([]byte(waiting(5, held(0, 0), held(1, 0), held(1, 1))))
	f.Add([]byte(waiting(0)))
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := parseWaits(b, []int{1, 2})
		if err != nil {
			return
		}
		again, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := parseWaits(again, []int{1, 2}); err != nil || !reflect.DeepEqual(v, w) {
			t.Errorf("%s is %+v, which is %s: %+v, %v", b, w, again, v, err)
		}
	})
}

// A part does not report an instant twice.
func TestWaitsGoOn(t *testing.T) {
	c := listening()
	for i, at := range []unit.Time{5, 6, 6} {
		err := c.receive(partEvent{kind: waits, payload: []byte(waiting(at))})
		if (err != nil) != (i == 2) {
			t.Errorf("at %v: %v", at, err)
		}
	}
}

// An output that waits in a cycle is an event of its node, the last of the instant: the events that
// the node reports later have higher numbers.
func TestDeadlockIsAnEvent(t *testing.T) {
	c := listening()
	s := c.participants[0]
	s.nodes = []int{1}
	const lookPlace = trace.Place(3 << 30)
	s.enqueue(9, pace.Counts{}, []entry{{Event: trace.Event{At: 4, Node: 1}}, {Event: trace.Event{At: 5, Node: 1, Seq: 1}}, {Event: trace.Event{At: 7, Node: 1, Seq: 2}}})
	c.deadlocked(5, lookPlace, deadlock.Waiting{From: port.End{Node: 1, Port: 1}, Class: 2, Since: 3})
	s.enqueue(9, pace.Counts{}, append(s.queue, entry{Event: trace.Event{At: 8, Node: 1, Seq: 3}}))
	want := []entry{
		{Event: trace.Event{At: 4, Node: 1}}, {Event: trace.Event{At: 5, Node: 1, Seq: 1}},
		{place: lookPlace, Event: trace.Event{At: 5, Node: 1, Seq: 2, Kind: trace.Deadlock, Port: 1, Lane: 2, B: 3}},
		{Event: trace.Event{At: 7, Node: 1, Seq: 3}}, {Event: trace.Event{At: 8, Node: 1, Seq: 4}},
	}
	if diff := cmp.Diff(want, s.queue, cmp.AllowUnexported(entry{}, frame{})); diff != "" {
		t.Error(diff)
	}
}

func FuzzConductor(f *testing.F) {
	e := trace.Event{At: 1, Node: 1, Kind: trace.Start}
	f.Add(byte(events), appendEntry(appendStamp(nil, 5, pace.Counts{}), 1, &e))
	f.Add(byte(done), []byte(`{"Timing": {"Worst": 1, "Lateness": {"0": 1, "1": 2}}, "Traffic": [{"Path": 1}]}`))
	f.Add(byte(hello), []byte(`{"Part": "the part", "Run": 5}`))
	f.Add(byte('J'), []byte{})
	f.Add(byte(events), []byte(seen(nil)))
	f.Add(byte(waits), []byte(waiting(5, held(1, 0))))
	f.Fuzz(func(t *testing.T, k byte, payload []byte) {
		c := listening()
		if err := c.receive(partEvent{kind: kind(k), payload: payload}); err != nil {
			if !strings.HasPrefix(err.Error(), "the part: ") {
				t.Errorf("%v does not say who it was", err)
			}
			return
		}
		c.merge(true, true)
		if s := c.participants[0]; s.report != nil {
			c.missing()
			if s.report.Timing != nil {
				s.report.Timing.Merge(s.report.Timing)
			}
		}
	})
}

// The merge hands on, by time and place, the events before which no part can report another, and
// each event as it was reported.
func TestMerge(t *testing.T) {
	var got []unit.Time
	var order []uint32
	c := listening()
	c.sink = sink(func(e *trace.Event) { got, order = append(got, e.At), append(order, e.PSN) })
	one := func(at unit.Time, p trace.Place, psn uint32) entry {
		return entry{place: p, Event: trace.Event{At: at, PSN: psn}}
	}
	a := &participant{now: 30, queue: []entry{one(10, 2, 1), one(10, 2, 2), one(10, 9, 4), one(29, 0, 6), one(30, 0, 7)}}
	b := &participant{now: 20, queue: []entry{one(5, 8, 0), one(10, 3, 3), one(15, 1, 5)}}
	c.participants = []*participant{a, b}
	if until := c.merge(false, false); until != 20 {
		t.Errorf("merged until %v", until)
	}
	if diff := cmp.Diff([]unit.Time{5, 10, 10, 10, 10, 15}, got); diff != "" {
		t.Error(diff)
	}
	if c.merge(true, false); len(got) != 6 {
		t.Errorf("of a run that has broken off it hands on %v, and not all parts have come so far", got[6:])
	}
	c.merge(true, true)
	if diff := cmp.Diff([]unit.Time{5, 10, 10, 10, 10, 15, 29, 30}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]uint32{0, 1, 2, 3, 4, 5, 6, 7}, order); diff != "" {
		t.Error(diff)
	}
}

// Datagrams that the kernel loses are missing on each link.
func TestMissing(t *testing.T) {
	report := func(traffic ...drive.Traffic) *participant {
		return &participant{File: &File{}, report: &Report{Traffic: traffic}}
	}
	for _, x := range []struct {
		came      int64 // by the switch
		arrived   int64 // from it
		elsewhere int64
		want      int64
	}{{7, 5, 9, 0}, {6, 5, 9, 1}, {7, 3, 9, 2}, {7, 5, 6, 3}, {0, 0, 0, 21}} {
		sw := report(drive.Traffic{Path: 0, Sent: 5, Came: -1}, drive.Traffic{Path: 1, Sent: -1, Came: x.came})
		sw.File.Links = []End{{Wire: 0}}
		peer := report(drive.Traffic{Path: 0, Sent: -1, Came: x.arrived}, drive.Traffic{Path: 1, Sent: 7, Came: -1}, drive.Traffic{Path: 2, Sent: 9, Came: x.elsewhere})
		c := &conductor{participants: []*participant{sw, peer}}
		if got := c.missing(); got != x.want {
			t.Errorf("%+v: %d are missing", x, got)
		}
	}
}

type sink func(*trace.Event)

func (s sink) Record(e *trace.Event) { s(e) }

func TestFile(t *testing.T) {
	dir := t.TempDir()
	f := &File{Fabemu: "v1", Part: "A", Nodes: []string{"A"}, Scenario: "s.yaml", Run: 5, Settings: mode.Settings{Dilation: 2}, Control: "c.sock", Links: []End{{Link: "x", Wire: 1, End: 1, Kind: "udp", Port: 7, Peer: 8}}}
	path := filepath.Join(dir, "A.json")
	if err := f.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	f.Scenario, f.Control = filepath.Join(dir, "s.yaml"), filepath.Join(dir, "c.sock")
	if diff := cmp.Diff(f, got); diff != "" {
		t.Error(diff)
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	os.WriteFile(path, []byte(strings.Repeat("line\n", 100)+"last\n"), 0o666)
	if got := tail(path); !strings.HasSuffix(got, "\nlast") || strings.Count(got, "\n") != 11 {
		t.Errorf("%q", got)
	}
	if got := tail(path + "x"); got != "" {
		t.Errorf("%q", got)
	}
}

// A part that sends nothing for a second is silent. A part that sends, or whose messages wait for
// the conductor, is not, and time in which the conductor is away does not count.
func TestAttend(t *testing.T) {
	now := int64(0)
	c := listening()
	c.clock = func() int64 { return now }
	s := c.participants[0]
	s.ready = true
	for _, x := range []struct {
		step    time.Duration // since the last look
		reports bool
		waits   bool
		want    time.Duration // of silence, now
	}{
		{100 * time.Millisecond, true, false, 0},
		{time.Hour, false, false, 0},
		{200 * time.Millisecond, false, false, 0},
		{200 * time.Millisecond, false, false, 0},
		{200 * time.Millisecond, false, false, 0},
		{200 * time.Millisecond, false, false, time.Second},
		{100 * time.Millisecond, false, false, 1100 * time.Millisecond},
		{100 * time.Millisecond, false, true, 0},
		{100 * time.Millisecond, true, false, 0},
	} {
		now += int64(x.step)
		if x.reports {
			s.heard.Add(1)
		}
		s.telling.Store(x.waits)
		c.attend()
		if got := c.silent; x.want == 0 && len(got) > 0 || x.want > 0 && (len(got) != 1 || got[0] != pace.Silent{Part: "the part", For: x.want}) {
			t.Errorf("at %v: %v, want %v", time.Duration(now), got, x.want)
		}
	}
	if got := c.silences(); len(got) != 1 || got[0].For != 1100*time.Millisecond {
		t.Errorf("in all: %v", got)
	}
}
