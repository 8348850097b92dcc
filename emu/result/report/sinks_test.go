package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/emutest/reporttest"
	"fabemu/emu/emutest/runtest"
	. "fabemu/emu/result/report"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

const us = unit.Time(unit.Microsecond)

func digestOf(nodes int, events []trace.Event) string {
	d := NewDigest(nodes)
	for i := range events {
		d.Record(&events[i])
	}
	return d.Sum()
}

// Every field of every event changes the digest, zero values included.
func TestDigestTakesEveryField(t *testing.T) {
	for _, base := range []trace.Event{{Kind: trace.Start}, {At: 5, Seq: 1, Node: 1, Port: 2, Kind: trace.Mark, Lane: 1, Flow: 7, PSN: 9, Bytes: 2068, A: 1, B: -1}} {
		before := digestOf(4, []trace.Event{base, base})
		for i := range reflect.TypeFor[trace.Event]().NumField() {
			for _, first := range []bool{true, false} {
				changed := base
				switch f := reflect.ValueOf(&changed).Elem().Field(i); {
				case f.CanInt():
					f.SetInt(f.Int() + 1)
				default:
					f.SetUint(f.Uint() + 1)
				}
				events := []trace.Event{base, changed}
				if first {
					events = []trace.Event{changed, base}
				}
				if digestOf(4, events) == before {
					t.Errorf("%s does not count", reflect.TypeFor[trace.Event]().Field(i).Name)
				}
			}
		}
	}
}

func TestDigestOfNodes(t *testing.T) {
	a, b := trace.Event{At: 1, Node: 0, Kind: trace.Start}, trace.Event{At: 2, Node: 1, Kind: trace.Arrive}
	c := trace.Event{At: 3, Node: 0, Seq: 1, Kind: trace.Release}
	if digestOf(2, []trace.Event{a, b, c}) != digestOf(2, []trace.Event{b, a, c}) {
		t.Error("the order between nodes counts")
	}
	if digestOf(2, []trace.Event{a, b, c}) == digestOf(2, []trace.Event{c, b, a}) {
		t.Error("the order within a node does not count")
	}
	if digestOf(2, []trace.Event{a, b}) == digestOf(2, []trace.Event{a}) || digestOf(2, nil) == digestOf(3, nil) {
		t.Error("the number of events or of nodes does not count")
	}
	d := NewDigest(2)
	d.Record(&a)
	d.Record(&b)
	if len(d.Sum()) != 32 {
		t.Errorf("%s", d.Sum())
	}
}

// The digest is the same in every version: runs are compared across them.
func TestDigestIsFixed(t *testing.T) {
	f, _ := reporttest.Fabric()
	const want = "d2baa75f8b6db2527f22313da2e0c3b5"
	if got := digestOf(len(f.Nodes), reporttest.Events()[:1000]); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

func TestDigestsDoNotCollide(t *testing.T) {
	seen := map[string]trace.Event{}
	for at := range 40 {
		for a := range 40 {
			for seq := range 40 {
				e := trace.Event{At: us * 0, Seq: uint32(seq), A: int64(a), B: int64(at)}
				sum := digestOf(1, []trace.Event{e})
				if other, taken := seen[sum]; taken {
					t.Fatalf("%+v and %+v have the digest %s", e, other, sum)
				}
				seen[sum] = e
			}
		}
	}
}

// sampleLog is a log of a few events that are handed on in batches.
func sampleLog(t testing.TB, form LogForm, batch int) []byte {
	t.Helper()
	f, _ := reporttest.Fabric()
	var b bytes.Buffer
	l := NewEventLog(&b, f, form)
	events := trace.NewBatch(batch, l)
	data := wire.Frame{Kind: wire.Data, FECN: true}
	for _, e := range []trace.Event{
		{At: 0, Node: 4, Kind: trace.FlowStart, Flow: 2},
		// One instant, as it was run: node 4 comes twice.
		{At: 10, Node: 4, Seq: 2, Kind: trace.Stall, Flow: 2, A: int64(port.Window), B: int64(port.Open)},
		{At: 10, Node: 1, Seq: 1, Port: 2, Kind: trace.Mark, Flow: 2, PSN: 6, A: int64(trace.FullBuffer), B: 3},
		{At: 10, Node: 4, Seq: 1, Kind: trace.Start, Flow: 2, PSN: 7, Bytes: 2068, A: trace.FrameWord(&data), B: 99},
		{At: 10, Node: 1, Seq: 0, Port: 2, Kind: trace.Trigger, A: int64(trace.OverThreshold), B: 4},
		{At: 20, Node: 1, Seq: 2, Port: 0, Kind: trace.Arrive, Flow: 2, PSN: 7, Bytes: 2068, A: trace.FrameWord(&data), B: 33},
		{At: 30, Node: 1, Seq: 3, Port: 0, Kind: trace.Release},
		{At: 31, Node: 1, Seq: 4, Port: 0, Kind: trace.Start, A: int64(wire.FlowControl), B: -1},
		{At: 32, Node: 1, Seq: 5, Port: 2, Kind: trace.Stall, A: int64(port.NoCredit), B: int64(port.LinkBusy)},
		{At: 40, Node: 5, Seq: 0, Kind: trace.Deliver, Flow: 2, PSN: 7, Bytes: 2068, A: trace.FrameWord(&data)},
		{At: 50, Node: 4, Seq: 3, Kind: trace.Feedback, Flow: 2, PSN: 7, A: int64(wire.Ack) | 1<<9, B: 4e9},
		{At: 60, Node: 4, Seq: 4, Kind: trace.FlowStop, Flow: 2},
		{At: 70, Node: 6, Seq: 0, Kind: trace.Drop, Flow: 99, PSN: 1, Bytes: 20, A: int64(trace.UnknownFlow)},
		{At: 80, Node: 1, Seq: 6, Port: 1, Kind: trace.Violation, A: int64(trace.Overrun), B: 165},
		{At: 90, Node: 1, Seq: 7, Port: 2, Kind: trace.Control, A: 1, B: 4e9},
	} {
		events.Record(&e)
	}
	events.Flush()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestEventLog(t *testing.T) {
	text := sampleLog(t, JSONLog, 1)
	golden.File(t, "testdata/events.jsonl", text)
	for batch := 2; batch < 20; batch++ {
		if got := sampleLog(t, JSONLog, batch); !bytes.Equal(got, text) {
			t.Errorf("in batches of %d the log is\n%s", batch, got)
		}
	}
	for line := range bytes.Lines(text) {
		if !json.Valid(line) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

// A binary log has the lines of the other form, and each part of it has its first lines and says
// that it is cut off.
func TestEventReader(t *testing.T) {
	text, log := sampleLog(t, JSONLog, 1), sampleLog(t, BinaryLog, 2)
	golden.File(t, "testdata/events.bin", log) // later versions read it
	for n := range len(log) + 1 {
		var got []byte
		r, err := NewEventReader(bytes.NewReader(log[:n]))
		if err == nil {
			got, err = io.ReadAll(r)
		}
		lines := bytes.Count(got, []byte("\n"))
		switch want := fmt.Sprintf("cut off after %d events", lines); {
		case n == len(log) && (err != nil || !bytes.Equal(got, text)):
			t.Errorf("%v\n%s", err, got)
		case n < len("fabemu events ") && (err == nil || !strings.Contains(err.Error(), "no binary event log")),
			n >= len("fabemu events ") && n < len(log) && (err == nil || !strings.Contains(err.Error(), want)),
			!bytes.HasPrefix(text, got):
			t.Errorf("%d bytes of %d: %v\n%s", n, len(log), err, got)
		}
	}
	first := []byte("fabemu events 1\n") // without blocks
	old, err := os.ReadFile("testdata/events-0.1.0.bin")
	if err != nil {
		t.Fatal(err)
	}
	for want, bad := range map[string][]byte{
		`begins with "fabemu events 3\n"`: bytes.Replace(log, []byte("events 2"), []byte("events 3"), 1),
		"bytes of names":                  append(first[:len(first):len(first)], "\xff\xff\xff\x7f"...),
		"the names of this event log":     append(first[:len(first):len(first)], "\x01\x00\x00\x00{"...),
		"bytes after its end":             append(old[:len(old):len(old)], old...),
		"event 1 of this event log":       append(first[:len(first):len(first)], "\x02\x00\x00\x00{}\x00\x01\x00\x00\x01"...),
		"a sum is wrong":                  append(log[:len(log):len(log)], log...),
	} {
		r, err := NewEventReader(bytes.NewReader(bad))
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A log of version 0.1.0, in which nodes were called machines, has the same lines, without blocks.
func TestEventReaderOfEarlierVersion(t *testing.T) {
	log, err := os.ReadFile("testdata/events-0.1.0.bin")
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewEventReader(bytes.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if want := sampleLog(t, JSONLog, 1); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// TestChangedEventLogs: a bit that is changed anywhere in a binary log, a block that is missing or
// one that is exchanged for another is an error, and no line of such a block is given out.
func TestChangedEventLogs(t *testing.T) {
	text, log := sampleLog(t, JSONLog, 1), sampleLog(t, BinaryLog, 2)
	read := func(b []byte) ([]byte, error) {
		r, err := NewEventReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	}
	for i := range log {
		for bit := range 8 {
			log[i] ^= 1 << bit
			if got, err := read(log); err == nil || !bytes.HasPrefix(text, got) {
				t.Errorf("bit %d of byte %d is changed: %v\n%s", bit, i, err, got)
			}
			log[i] ^= 1 << bit
		}
	}
}

// Whatever a file has, its lines are JSON.
func FuzzEventReader(f *testing.F) {
	runtest.MinimizeLittle(f)
	f.Add(sampleLog(f, BinaryLog, 1))
	if first, err := os.ReadFile("testdata/events-0.1.0.bin"); err == nil {
		f.Add(first)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := NewEventReader(bytes.NewReader(b))
		for err == nil {
			var line []byte
			if line, err = r.Line(); err == nil && !json.Valid(line) {
				t.Errorf("not JSON: %q", line)
			}
		}
	})
}

func TestEventLogRefusesTimeThatGoesBack(t *testing.T) {
	f, _ := reporttest.Fabric()
	var b bytes.Buffer
	l := NewEventLog(&b, f, JSONLog)
	for _, at := range []int64{5, 9, 8, 10} {
		l.Record(&trace.Event{At: us * 0, Node: 1, Kind: trace.Release, Seq: uint32(at)})
	}
	if err := l.Close(); err != nil {
		t.Errorf("one instant: %v", err)
	}
	l = NewEventLog(&b, f, JSONLog)
	l.Record(&trace.Event{At: 2 * us, Kind: trace.Release})
	l.Record(&trace.Event{At: us, Node: 1, Seq: 8, Kind: trace.Release})
	if err := l.Close(); err == nil || !strings.Contains(err.Error(), "event 8 of B at 1us came after one at 2us") {
		t.Errorf("time that goes back: %v", err)
	}
	l = NewEventLog(&b, f, BinaryLog)
	l.RecordAll([]trace.Event{{At: us, Kind: trace.Release}, {At: 3 * us, Kind: trace.Release}, {At: 2 * us, Node: 1, Kind: trace.Release, Seq: 8}})
	if err := l.Close(); err == nil || !strings.Contains(err.Error(), "event 8 of B at 2us came after one at 3us") {
		t.Errorf("time that goes back in a batch: %v", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestEventLogReportsTheWriter(t *testing.T) {
	f, _ := reporttest.Fabric()
	l := NewEventLog(broken{}, f, JSONLog)
	l.Record(&trace.Event{Kind: trace.Release})
	if err := l.Close(); err == nil || err.Error() != "no room" {
		t.Errorf("%v", err)
	}
}

func BenchmarkDigest(b *testing.B) {
	d := NewDigest(8)
	e := trace.Event{Kind: trace.Start, Bytes: 2068, A: 1, B: 99, Flow: 3}
	b.ReportAllocs()
	for b.Loop() {
		e.At += 1000
		e.Seq++
		e.Node = int32(e.Seq & 7)
		d.Record(&e)
	}
}

func BenchmarkEventLog(b *testing.B) {
	f, _ := reporttest.Fabric()
	l := NewEventLog(discard{}, f, JSONLog)
	e := trace.Event{Kind: trace.Start, Bytes: 2068, A: 1, B: 99, Flow: 3}
	b.ReportAllocs()
	for b.Loop() {
		e.At += 1000
		e.Seq++
		l.Record(&e)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
