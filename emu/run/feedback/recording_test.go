package feedback_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/base/errs"
	"fabemu/emu/run/feedback"
	"fabemu/wire"
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
	{"cnp fecn=1 priority=6 src=3 dst=4 qp=5", wire.Frame{Kind: wire.CNP, FECN: true, Lane: 6, Src: 3, Dst: 4, QP: 5}},
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
		"":                                  "a kind of feedback is missing: ack, cnm, bcn, message, probe, cnp",
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
begin 50000000

0 rate 10000000000
73216000 feedback cnm fb=23 qoffset=-40 qdelta=12 psn=17
73216000 rate 9000000000
10000000000 end
`

func TestRecording(t *testing.T) {
	want := &feedback.Recording{
		Head: feedback.Head{Scenario: "incast", Flow: "sender1", Algorithm: "qcn", Family: wire.Ethernet, Line: 1e10, Packet: 1500, Begin: 5e7},
		Entries: []feedback.Entry{
			{Rate: 1e10}, {At: 73216000, Frame: wire.Frame{Kind: wire.Notification, Extension: wire.ExtensionOf(wire.SampleExtension{Fb: 23, QOffset: -40, QDelta: 12}), PSN: 17}}, {At: 73216000, Rate: 9e9},
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
	for _, e := range r.Entries {
		if e.Frame.Kind != 0 {
			w.Feedback(e.At, &e.Frame)
		} else {
			w.Rate(e.At, e.Rate)
		}
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
recording.txt:6: there is no "colour": the head has scenario, flow, algorithm, family, line, packet, begin, and each other line starts with an instant in ps
recording.txt:8: rate is "-1": expected a whole number of 0 or more
recording.txt:9: 4 is before the instant of the line before, 5
recording.txt:10: "6 rate 1 2": the instant is followed by rate RATE, feedback KIND KEY=NUMBER..., or end
recording.txt:11: fb cannot be 900
recording.txt:12: "8 shout": the instant is followed by rate RATE, feedback KIND KEY=NUMBER..., or end
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
	if err == nil || !strings.Contains(err.Error(), "recording.txt:13: ") {
		t.Errorf("a recording that is cut off: %v", err)
	}
	if _, err = feedback.Parse("recording.txt", nil); err == nil {
		t.Error("an empty recording")
	}
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
		if diff := cmp.Diff(r, again); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}
