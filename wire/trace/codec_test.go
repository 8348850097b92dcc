package trace_test

import (
	"bytes"
	"errors"
	"testing"

	"fabemu/wire/trace"
)

func TestEventCodec(t *testing.T) {
	e := trace.Event{At: 1 << 50, Seq: 7, Node: 22, Port: 11, Kind: trace.Mark, Lane: 3, Flow: 0xABCDEF, PSN: 0x123456, Bytes: 2068, A: -1, B: 1 << 40}
	b := e.Append([]byte("x"))
	if len(b) != 1+trace.EventSize {
		t.Fatalf("%d bytes, want %d", len(b)-1, trace.EventSize)
	}
	if got, err := trace.ParseEvent(b[1:]); err != nil || got != e {
		t.Errorf("%+v, %v; want %+v", got, err, e)
	}
	for n := range trace.EventSize {
		if _, err := trace.ParseEvent(b[1 : 1+n]); !errors.Is(err, trace.ErrTruncated) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add((&trace.Event{At: 1, Kind: trace.Start, A: -1}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := trace.ParseEvent(b)
		if err != nil {
			if len(b) >= trace.EventSize {
				t.Error(err)
			}
			return
		}
		if again := e.Append(nil); !bytes.Equal(again, b[:trace.EventSize]) {
			t.Errorf("%x became %x", b[:trace.EventSize], again)
		}
	})
}
