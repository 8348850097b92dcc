package feedback_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/base/errs"
	"fabemu/emu/run/feedback"
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// frames are of all kinds that a source is told, with words for them.
var frames = []struct {
	text  string
	frame wire.Frame
}{
	{"ack", wire.Frame{Kind: wire.Ack}},
	{"ack marked=1 psn=7 msn=8 fecn=1 priority=1 src=3 dst=4 qp=5", wire.Frame{Kind: wire.Ack, BECN: true, FECN: true, PSN: 7, MSN: 8, Lane: 1, Src: 3, Dst: 4, QP: 5}},
	{"cnm fb=23 qoffset=-351 qdelta=70 cpid=-2 psn=73 last=1 payload=1500 octets=14 sampled-priority=3 sampled-dst=12 tagged=1 priority=6", wire.Frame{
		Kind: wire.Notification, Extension: wire.ExtensionOf(wire.SampleExtension{Fb: 23, QOffset: -351, QDelta: 70, Octets: 14, Lane: 3, Dst: 12}), CPID: 1<<64 - 2, PSN: 73, Last: true, Payload: 1500, Tagged: true, Lane: 6}},
	{"bcn flags=2 qoffset=5 bottleneck=9", wire.Frame{Kind: wire.BCN, Flags: 2, Extension: wire.ExtensionOf(wire.SampleExtension{QOffset: 5, Bottleneck: 9})}},
	{"message value=99 psn=1", wire.Frame{Kind: wire.Message, Extension: wire.ExtensionOf(wire.MessageExtension{Value: 99}), PSN: 1}},
	{"probe flags=3 value=4 sent-at=1000 came-at=2000", wire.Frame{Kind: wire.Probe, Flags: 3, Extension: wire.ExtensionOf(wire.ProbeExtension{Bytes: 4, SentAt: 1000, CameAt: 2000})}},
	{"uet-control code=7 amount=17 src=3 dst=4 qp=5", ultra},
	{"cnp fecn=1 priority=6 src=3 dst=4 qp=5", wire.Frame{Kind: wire.CNP, FECN: true, Lane: 6, Src: 3, Dst: 4, QP: 5}},
}

// ultra is credit of UET.
var ultra = func() wire.Frame {
	f := wire.Frame{Kind: wire.UETControl, Family: wire.UET, Src: 3, Dst: 4, QP: 5}
	f.UET().Code, f.UET().Amount = wire.UETCredit, 17
	return f
}()

// inputs are of all kinds that are no frames, with words for them.
var inputs = []struct {
	text  string
	input rp.Input
}{
	{"delay", rp.Input{Kind: rp.AckInput}},
	{"delay rtt=1 held=2 bytes=3 flight=4 oldest=5 next=6 marked=1", rp.Input{Kind: rp.AckInput, Frame: wire.Frame{BECN: true}, Ack: rp.Ack{RTT: 1, Held: 2, Bytes: 3, Flight: 4, Oldest: 5, Next: 6}}},
	{"delay rtt=1 hops=2 time1=3 sent1=4 queue1=5 rate1=6 rate2=7", rp.Input{Kind: rp.AckInput, Ack: rp.Ack{RTT: 1, Hops: []wire.Hop{{Time: 3, Sent: 4, Queue: 5, Rate: 6}, {Rate: 7}}}}},
	{"lost", rp.Input{Kind: rp.LossInput}},
	{"trimmed rtt=1 bytes=2 flight=3 last-hop=1", rp.Input{Kind: rp.TrimInput, Trim: rp.Trim{RTT: 1, Bytes: 2, Flight: 3, LastHop: true}}},
	{"expired bytes=5", rp.Input{Kind: rp.ExpiryInput, Bytes: 5}},
}

func TestInputs(t *testing.T) {
	for _, tc := range inputs {
		if tc.input.Kind == rp.AckInput {
			tc.input.Frame.Kind = wire.Ack
		}
		if got := string(feedback.AppendInput(nil, &tc.input)); got != tc.text {
			t.Errorf("%q, want %q", got, tc.text)
		}
		if got, err := feedback.ParseInput(strings.Fields(tc.text)); err != nil || !cmp.Equal(got, tc.input) {
			t.Errorf("%q: %+v, %v", tc.text, got, err)
		}
	}
	for text, want := range map[string]string{
		"delay rtt":                      `"rtt" is not KEY=NUMBER`,
		"delay rtt=-1":                   "rtt cannot be -1",
		"delay rtt=1 rtt=1":              "rtt occurs twice",
		"delay marked=2":                 "marked cannot be 2",
		"delay hops=6":                   "hops cannot be 6",
		"delay hops=-1":                  "hops cannot be -1",
		"delay hops=1 time2=5":           `delay has no "time2": it has rtt, held, bytes, flight, oldest, next, marked, hops, time1, sent1, queue1, rate1`,
		"trimmed psn=5":                  `trimmed has no "psn": it has rtt, bytes, flight, last-hop`,
		"lost bytes=5":                   `lost has no "bytes": it has none`,
		"expired bytes=9e9":              `"bytes=9e9" is not KEY=NUMBER`,
		"delay next=9000000000000000000": "next cannot be 9000000000000000000",
		"":                               "a kind of feedback is missing",
	} {
		if _, err := feedback.ParseInput(strings.Fields(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestFrames(t *testing.T) {
	for _, tc := range frames {
		if got := string(feedback.AppendFrame(nil, &tc.frame)); got != tc.text {
			t.Errorf("%q, want %q", got, tc.text)
		}
		if got, err := feedback.ParseFrame(strings.Fields(tc.text)); err != nil || got != tc.frame {
			t.Errorf("%q: %+v, %v", tc.text, got, err)
		}
	}
	address := ", tagged, priority, src, dst, qp"
	for kind, keys := range map[string]string{
		"ack": "marked, psn, msn, fecn", "message": "value, psn", "cnp": "fecn",
		"cnm":   "fb, qoffset, qdelta, cpid, psn, fecn, last, payload, octets, sampled-priority, sampled-dst",
		"bcn":   "flags, qoffset, qdelta, bottleneck, cpid, psn, fecn, last, payload, sampled-priority, sampled-dst",
		"probe": "flags, value, sent-at, came-at, psn",
	} {
		_, err := feedback.ParseFrame([]string{kind, "=1"})
		if want := kind + ` has no "": it has ` + keys + address; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for text, want := range map[string]string{
		"":                                  "a kind of feedback is missing: ack, cnm, bcn, message, probe, cnp, uet-control, delay, lost, trimmed, expired",
		"pause quanta=5":                    `there is no feedback "pause"`,
		"cnm fb":                            `"fb" is not KEY=NUMBER`,
		"cnm fb=NaN":                        `"fb=NaN" is not KEY=NUMBER`,
		"cnm fb=256":                        "fb cannot be 256",
		"cnm fb=-1":                         "fb cannot be -1",
		"cnm fb=1 fb=1":                     "fb occurs twice",
		"ack fb=1":                          `ack has no "fb": it has marked, psn, msn, fecn, tagged, priority, src, dst, qp`,
		"ack marked=2":                      "marked cannot be 2",
		"bcn qdelta=4e4":                    `"qdelta=4e4" is not KEY=NUMBER`,
		"bcn qdelta=4000000000000000000000": `is not KEY=NUMBER`,
	} {
		if _, err := feedback.ParseFrame(strings.Fields(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

const example = `fabemu recording 1
scenario incast
flow sender1
algorithm qcn
family ethernet
line 10000000000
packet 1500
payload 1482
trip 12000000
hops 2
begin 50000000

0 rate 10000000000
73216000 feedback cnm fb=23 qoffset=-40 qdelta=12 psn=17
73216000 rate 9000000000
73216000 window 3000
73216000 credit 2000
73300000 sent 1500
73300000 demand 4500
73300000 credit 500
73400000 feedback trimmed bytes=1500
10000000000 end
`

func TestRecording(t *testing.T) {
	want := &feedback.Recording{
		Head: feedback.Head{Scenario: "incast", Flow: "sender1", Algorithm: "qcn", Family: wire.Ethernet, Line: 1e10, Packet: 1500, Payload: 1482, Trip: 12e6, Hops: 2, Begin: 5e7},
		Entries: []feedback.Entry{
			{Limit: feedback.Limit{Value: 1e10}},
			{At: 73216000, Input: rp.Input{Kind: rp.FrameInput, Frame: wire.Frame{Kind: wire.Notification, Extension: wire.ExtensionOf(wire.SampleExtension{Fb: 23, QOffset: -40, QDelta: 12}), PSN: 17}}},
			{At: 73216000, Limit: feedback.Limit{Value: 9e9}},
			{At: 73216000, Limit: feedback.Limit{Of: feedback.WindowLimit, Value: 3000}},
			{At: 73216000, Limit: feedback.Limit{Of: feedback.CreditLimit, Value: 2000}},
			{At: 73300000, Input: rp.Input{Kind: rp.StartInput, Bytes: 1500}},
			{At: 73300000, Input: rp.Input{Kind: rp.DemandInput, Bytes: 4500}},
			{At: 73300000, Limit: feedback.Limit{Of: feedback.CreditLimit, Value: 500}},
			{At: 73400000, Input: rp.Input{Kind: rp.TrimInput, Trim: rp.Trim{Bytes: 1500}}},
		},
		End: 1e10,
	}
	if diff := cmp.Diff(example, written(t, want)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err := feedback.Parse("x", []byte("\n" + example)[1:])
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// written returns a recording as a Writer writes it.
func written(t *testing.T, r *feedback.Recording) string {
	t.Helper()
	var b bytes.Buffer
	w := feedback.NewWriter(&b, r.Head)
	now := rp.Limits{Credit: rp.NoCredit}
	for _, e := range r.Entries {
		if e.Input.Kind != rp.NoInput {
			w.Told(e.At, e.Input)
			continue
		}
		switch v := e.Limit.Value; e.Limit.Of {
		case feedback.RateLimit:
			now.Rate = unit.Rate(v)
		case feedback.WindowLimit:
			now.Window = unit.Size(v)
		case feedback.CreditLimit:
			now.Credit = unit.Size(v)
		}
		w.Limits(e.At, now)
	}
	if err := w.Close(r.End); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// All mistakes are told at once, with their lines.
func TestMistakes(t *testing.T) {
	_, err := feedback.Parse("recording.txt", []byte(`fabemu recording 2
flow a
flow b
family token-ring
line fast
colour blue
# fine
5 rate -1
4 rate 1
6 rate 1 2
7 feedback cnm fb=900
8 shout
-9 end
10 end
`))
	want := `recording.txt:1: a recording starts with "fabemu recording 1", and this file with "fabemu recording 2"
recording.txt:3: flow occurs twice
recording.txt:4: there is no family "token-ring": there are infiniband, ethernet and rocev2
recording.txt:5: line is "fast": expected a whole number of 1 or more
recording.txt:6: there is no "colour": the head has scenario, flow, algorithm, family, line, packet, payload, trip, hops, begin, and each other line starts with an instant in ps
recording.txt:8: rate is "-1": expected a whole number of 0 or more
recording.txt:9: 4 is before the instant of the line before, 5
recording.txt:10: "6 rate 1 2": the instant is followed by rate or window or credit or sent or demand NUMBER, feedback KIND KEY=NUMBER..., or end
recording.txt:11: fb cannot be 900
recording.txt:12: "8 shout": the instant is followed by rate or window or credit or sent or demand NUMBER, feedback KIND KEY=NUMBER..., or end
recording.txt:13: the instant is "-9": expected a whole number of 0 or more
recording.txt:13: 0 is before the instant of the line before, 8
recording.txt:14: "10 end" follows the end
recording.txt:14: the head has no packet`
	var m *errs.Mistake
	if !errors.As(err, &m) {
		t.Fatalf("%v", err)
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = feedback.Parse("recording.txt", []byte(example[:len(example)-5]))
	if err == nil || !strings.Contains(err.Error(), "recording.txt:22: ") {
		t.Errorf("a recording that is cut off: %v", err)
	}
	if _, err = feedback.Parse("recording.txt", nil); err == nil {
		t.Error("an empty recording")
	}
}

// kept returns entries without limits: a limit that stays as it is, is not written again.
func kept(all []feedback.Entry) []feedback.Entry {
	return slices.DeleteFunc(all, func(e feedback.Entry) bool { return e.Input.Kind == rp.NoInput })
}

// What is read is written as it was.
func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := feedback.Parse("x", text)
		if err != nil {
			return
		}
		again, err := feedback.Parse("y", []byte(written(t, r)))
		if r.Entries = kept(r.Entries); err != nil {
			t.Fatal(err)
		}
		again.Entries = kept(again.Entries)
		if diff := cmp.Diff(r, again); diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}
