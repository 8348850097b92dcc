package trace_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"fabemu/wire/trace"
)

// some are events with the least and the largest values of each field.
var some = []trace.Event{
	{Kind: trace.Start, A: -1, B: 1 << 40},
	{At: 5, Seq: 1, Node: 2, Port: math.MaxUint16, Kind: trace.Retry, Lane: math.MaxUint8, Flow: math.MaxUint32, PSN: math.MaxUint32, Bytes: math.MaxUint32},
	{At: 5, Seq: 0, Node: 2, Kind: trace.Arrive, A: math.MinInt64, B: math.MaxInt64},
	{At: math.MaxInt64, Seq: 1, Kind: trace.Mark, A: math.MaxInt64, B: math.MinInt64},
}

// packed returns events as a Packer writes them.
func packed(events []trace.Event) (b []byte) {
	p := trace.NewPacker(3)
	for i := range events {
		b = p.Append(b, &events[i])
	}
	return b
}

// unpacked returns the events that b begins with, and the error that ends them.
func unpacked(b []byte) (events []trace.Event, err error) {
	p := trace.NewPacker(3)
	for len(b) > 0 {
		e, n, err := p.Next(b)
		if err != nil {
			return events, err
		}
		events, b = append(events, e), b[n:]
	}
	return events, nil
}

// Packed events are read again as they were, and as far as they go.
func TestPacker(t *testing.T) {
	whole, ended := packed(some), 0
	for n := range len(whole) + 1 {
		got, err := unpacked(whole[:n])
		if n == len(packed(some[:min(ended+1, len(some))])) {
			ended++
		}
		if cut := n > len(packed(some[:ended])); !slices.Equal(got, some[:ended]) || errors.Is(err, trace.ErrTruncated) != cut || !cut && err != nil {
			t.Errorf("%d of %d bytes: %v, %v; want %d events", n, len(whole), got, err, ended)
		}
	}
	if n := len(packed(some[:1])); n != 4+1+1+6 {
		t.Errorf("the first event has %d bytes", n)
	}
	for b, want := range map[string]string{
		"\x09\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09": "no event", // a size of 9
		"\x08\x01\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x01": "no event", // a time before 0
		"\x10\x01\x00\x00\x03\x01":                             "node 3; there are 3",
		"\x00\x01\x00\x00\xc8":                                 "kind 200, which this version",
		"\x01\x00\x00\x00\x01":                                 "kind 0, which this version",
	} {
		if _, err := unpacked([]byte(b)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", b, err, want)
		}
	}
}

func FuzzPacker(f *testing.F) {
	f.Add(packed(some))
	f.Fuzz(func(t *testing.T, b []byte) {
		events, _ := unpacked(b)
		if again, err := unpacked(packed(events)); err != nil || !slices.Equal(again, events) {
			t.Errorf("%v became %v, %v", events, again, err)
		}
	})
}
