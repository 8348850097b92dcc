package perfetto_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/watch/perfetto"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// message is a message of protobuf: its fields by their numbers, in their order.
type message map[protowire.Number][]field

// field is a varint or a fixed64 (Number), or bytes.
type field struct {
	Number uint64
	Bytes  []byte
}

func parse(t *testing.T, b []byte) message {
	t.Helper()
	m := message{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatalf("a tag: %v", protowire.ParseError(n))
		}
		b = b[n:]
		var f field
		switch kind {
		case protowire.VarintType:
			f.Number, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.Number, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			f.Bytes, n = protowire.ConsumeBytes(b)
		default:
			t.Fatalf("field %d is of wire type %d", number, kind)
		}
		if n < 0 {
			t.Fatalf("field %d: %v", number, protowire.ParseError(n))
		}
		m[number], b = append(m[number], f), b[n:]
	}
	return m
}

func (m message) number(n protowire.Number) uint64 {
	if len(m[n]) == 0 {
		return 0
	}
	return m[n][0].Number
}

func (m message) text(n protowire.Number) string {
	if len(m[n]) == 0 {
		return ""
	}
	return string(m[n][0].Bytes)
}

func (m message) message(t *testing.T, n protowire.Number) message {
	t.Helper()
	return parse(t, []byte(m.text(n)))
}

// happening is an event of a trace, read back.
type happening struct {
	At       uint64
	Kind     string // begin, end, instant or count
	Track    string // process and name
	Name     string
	Value    int64
	Flow     uint64
	LastFlow bool
	Notes    string
}

func (h happening) String() string {
	s := fmt.Sprintf("%d %s [%s] %s", h.At, h.Kind, h.Track, h.Name)
	if h.Kind == "count" {
		s = fmt.Sprintf("%d %s [%s] %d", h.At, h.Kind, h.Track, h.Value)
	}
	if h.Flow != 0 {
		s += fmt.Sprintf(" arrow %x", h.Flow)
	}
	if h.LastFlow {
		s += " ends"
	}
	return strings.TrimSpace(s + " " + h.Notes)
}

// read reads a trace back as Perfetto's own documents say.
func read(t *testing.T, b []byte) (all []happening) {
	t.Helper()
	processes, tracks := map[uint64]string{}, map[uint64]string{}
	names, keys := map[uint64]string{}, map[uint64]string{}
	for i, p := range parse(t, b)[1] {
		packet := parse(t, p.Bytes)
		if cleared := packet.number(13)&1 != 0; cleared != (i == 0) || packet.number(10) != 1 {
			t.Fatalf("packet %d: sequence %d, flags %d", i, packet.number(10), packet.number(13))
		}
		if len(packet[60]) > 0 {
			d := packet.message(t, 60)
			id := d.number(1)
			if tracks[id] != "" || id == 0 {
				t.Fatalf("track %d comes twice, or has no number", id)
			}
			if len(d[3]) > 0 {
				process := d.message(t, 3)
				processes[id] = process.text(6)
				tracks[id] = process.text(6)
				continue
			}
			process, known := processes[d.number(5)]
			if !known {
				t.Fatalf("track %q is of no process", d.text(2))
			}
			tracks[id] = process + ": " + d.text(2)
			if len(d[8]) > 0 {
				tracks[id] += " in " + d.message(t, 8).text(6)
			}
			continue
		}
		for n, known := range map[protowire.Number]map[uint64]string{2: names, 3: keys} {
			for _, x := range packet.message(t, 12)[n] {
				entry := parse(t, x.Bytes)
				if known[entry.number(1)] != "" {
					t.Fatalf("a name comes twice: %q", entry.text(2))
				}
				known[entry.number(1)] = entry.text(2)
			}
		}
		e := packet.message(t, 11)
		h := happening{
			At: packet.number(8), Track: tracks[e.number(11)], Name: names[e.number(10)], Value: int64(e.number(30)),
			Kind: []string{"", "begin", "end", "instant", "count"}[e.number(9)],
			Flow: e.number(47) | e.number(48), LastFlow: len(e[48]) > 0,
		}
		if h.Track == "" || h.Kind == "" || h.Name == "" && (h.Kind == "begin" || h.Kind == "instant") {
			t.Fatalf("an event without a track, a kind or a name: %+v", h)
		}
		var notes []string
		for _, x := range e[4] {
			n := parse(t, x.Bytes)
			value := n.text(6)
			if len(n[4]) > 0 {
				value = fmt.Sprint(int64(n.number(4)))
			}
			notes = append(notes, keys[n.number(1)]+"="+value)
		}
		h.Notes = strings.Join(notes, " ")
		all = append(all, h)
	}
	return all
}

const twoHosts = `
name: two-hosts
model: {duration: 1ms}
switches: {S: {}}
endpoints: [A, B]
links:
  - {between: A - S, rate: 1GB/s}
  - {between: S - B, rate: 500MB/s}
flows:
  - {name: victim, from: A, to: B}
`

// build lays a scenario out.
func build(t *testing.T, text string) *fabric.Fabric {
	t.Helper()
	f, err := fabric.Build(runtest.Load(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// script tells a trace of one packet's way, of what keeps the next one, and of a late frame.
func script(t *perfetto.Trace, f *fabric.Fabric) {
	qp := f.Flows[0].QP
	data := int64(wire.Data)
	us := unit.Time(unit.Microsecond)
	t.Record(&trace.Event{At: 0, Kind: trace.FlowStart, Node: 1, Flow: qp})
	t.Record(&trace.Event{At: 0, Kind: trace.Start, Node: 1, Flow: qp, PSN: 7, Bytes: 2068, A: data, B: 90})
	t.Sent(0, &port.Transmission{Frame: wire.Frame{Kind: wire.Data}, Start: 0, Duration: 2068 * unit.Nanosecond}, wire.Body{}, 0, 0, 300_000)
	t.Record(&trace.Event{At: 0, Kind: trace.Stall, Node: 1, Flow: qp, A: int64(port.NoCredit), B: int64(port.Open)})
	t.Record(&trace.Event{At: us, Kind: trace.Arrive, Node: 0, Flow: qp, PSN: 7, Bytes: 2068, A: data, B: 33})
	t.Record(&trace.Event{At: us, Kind: trace.Start, Node: 0, Port: 1, Flow: qp, PSN: 7, Bytes: 2068, A: data | 1<<8, B: 95})
	t.Record(&trace.Event{At: us, Kind: trace.Mark, Node: 0, Port: 1, Flow: qp, PSN: 7, A: int64(trace.FullBuffer), B: 3})
	t.Record(&trace.Event{At: 2 * us, Kind: trace.Stall, Node: 0, Port: 1, Lane: 2, A: int64(port.Paused), B: int64(port.Idle)})
	t.Record(&trace.Event{At: 3 * us, Kind: trace.Start, Node: 0, Bytes: 0, A: int64(wire.FlowControl), B: -1})
	t.Record(&trace.Event{At: 3 * us, Kind: trace.Stall, Node: 1, Flow: qp, A: int64(port.Open), B: int64(port.NoCredit)})
	t.Record(&trace.Event{At: 5*us + 500_999, Kind: trace.Deliver, Node: 2, Flow: qp, PSN: 7, Bytes: 2068, A: data | 1<<8})
	t.Record(&trace.Event{At: 6 * us, Kind: trace.Feedback, Node: 1, Flow: qp, PSN: 7, A: int64(wire.Ack) | 1<<9, B: 4e9})
	t.Record(&trace.Event{At: 6 * us, Kind: trace.Control, Node: 0, Port: 1, A: int64(port.RateChange{}.Kind()), B: 1e9})
	t.Record(&trace.Event{At: 6 * us, Kind: trace.Start, Node: 0, Port: 1, Flow: qp, PSN: 8, Bytes: 125, A: data, B: 95})
}

func TestTrace(t *testing.T) {
	f := build(t, twoHosts)
	for _, c := range []struct {
		name string
		q    perfetto.Request
	}{
		{"whole", perfetto.Request{Follow: "victim"}},
		{"window", perfetto.Request{From: unit.Time(unit.Microsecond), Until: unit.Time(4 * unit.Microsecond)}},
		{"counters", perfetto.Request{Counters: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			c.q.To = &b
			trace, err := perfetto.New(f, c.q)
			if err != nil {
				t.Fatal(err)
			}
			script(trace, f)
			if err := trace.Close(unit.Time(7*unit.Microsecond), nil); err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, h := range read(t, b.Bytes()) {
				lines = append(lines, h.String())
			}
			golden.File(t, "testdata/"+c.name+".txt", []byte(strings.Join(lines, "\n")+"\n"))
			golden.File(t, "testdata/"+c.name+".pftrace", b.Bytes())
		})
	}
}

func TestMistakes(t *testing.T) {
	f := build(t, twoHosts)
	for want, q := range map[string]perfetto.Request{
		`"victor" is not a flow of this scenario`: {Follow: "victor"},
		"from 2ms to never":                       {From: unit.Time(2 * unit.Millisecond)},
		"from 20us to 10us":                       {From: unit.Time(20 * unit.Microsecond), Until: unit.Time(10 * unit.Microsecond)},
	} {
		if _, err := perfetto.New(f, q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want: %s", err, want)
		}
	}
}
