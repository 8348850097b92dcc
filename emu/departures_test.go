package emu

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"fabemu/emu/scenario"
)

// With actual timing a machine that is late starts several frames when it is told. The log
// says since when each has the line, which no two have at a time, and when it really left,
// which is not before. With ideal timing there is nothing of it.
func TestLogOfActualTimingTellsTheMeasuredInstants(t *testing.T) {
	const packet = 2_068_000 // on the line, in ps; see wire.PaperFraming
	const text = `
name: stream
model: {duration: 4ms}
wall: {dilation: 50}
defaults: {link: {rate: 1GB/s, buffer: 60 packets}, flow: {window: 60}}
endpoints: [A, B]
links: [A - B]
flows: [{name: f, from: A, to: B}]
`
	for _, timing := range []Timing{ActualTiming, IdealTiming} {
		s, err := scenario.Load("stream.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := Run(context.Background(), s, Options{Timing: timing, Link: Pipe, Events: &b, Verify: VerifyOff}); err != nil {
			t.Fatal(err)
		}
		type direction struct{ machine, port string }
		last := map[direction]int64{}
		starts, together := 0, 0
		told := map[direction]int64{}
		for d := json.NewDecoder(&b); d.More(); {
			var e struct {
				Time    int64 `json:"time_ps"`
				Machine string
				Event   string
				Port    string
				Frame   string
				Start   *int64 `json:"start_ps"`
				Left    *int64 `json:"left_ps"`
			}
			if err := d.Decode(&e); err != nil {
				t.Fatal(err)
			}
			if (e.Start != nil) != (e.Event == "start" && timing == ActualTiming) || (e.Left != nil) != (e.Start != nil) {
				t.Fatalf("%s timing: %+v", timing, e)
			}
			if e.Start == nil {
				continue
			}
			if *e.Start > e.Time || *e.Left < *e.Start-1000 { // to the nanosecond
				t.Fatalf("told at %d, it started at %d and left at %d", e.Time, *e.Start, *e.Left)
			}
			if e.Frame != "data" {
				continue
			}
			line := direction{e.Machine, e.Port}
			if before, known := last[line]; known && *e.Start-before < packet {
				t.Fatalf("%v: %d ps from start to start", line, *e.Start-before)
			}
			if before, known := told[line]; known && e.Time-before < packet {
				together++
			}
			last[line], told[line] = *e.Start, e.Time
			starts++
		}
		if timing == ActualTiming && (starts < 100 || together == 0) {
			t.Errorf("%d packets, %d of them told of sooner than the line lets them start: the test does not test", starts, together)
		}
	}
}
