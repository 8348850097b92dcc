package wire_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// collecting returns a stamped frame of RoCEv2 with telemetry.
func collecting(f wire.Frame, form wire.Telemetry) wire.Frame {
	r := f.RoCE()
	r.Telemetry = form
	f.SetRoCE(r)
	return f
}

// hop is the state of an output, k switches on.
func hop(k int) wire.Hop {
	return wire.Hop{Time: unit.Time(1234567890 + 1_000_000*k), Sent: 1_000_000 + unit.Size(k)*12345, Queue: unit.Size(k) * 1001,
		Rate: 100e9}
}

// passed returns the body of a frame that has passed this many switches.
func passed(f *wire.Frame, hops int) wire.Body {
	var s wire.Bodies
	s.PutTelemetry(f)
	for k := range hops {
		h := hop(k)
		s.AddHop(f, &h)
	}
	b := s.Of(f)
	f.Stamp().Body = 0
	return b
}

// The bytes of an entry are those of the simulator of HPCC, from the high bit: rate, time, bytes,
// queue.
func TestEntryOfTelemetry(t *testing.T) {
	f := collecting(roceStamped, wire.Rounded)
	b := passed(&f, 2)
	// 1234567 ns mod 2^24, 1000000/128 and 0; 1235567 ns, 1012345/128 and 1001/80 = 12; code 2 is
	// 100 Gb/s.
	want := []uint64{2<<61 | 1234567<<37 | 7812<<17, 2<<61 | 1235567<<37 | 7908<<17 | 12}
	text := "01020000"
	for _, v := range want {
		text += hex.EncodeToString([]byte{byte(v >> 56), byte(v >> 48), byte(v >> 40), byte(v >> 32), byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
	}
	if got := hex.EncodeToString(b.Bytes[:20]); got != text || len(b.Bytes) != 44 || !allZero(b.Bytes[20:]) {
		t.Errorf("%x, want %s and zeros", b.Bytes, text)
	}
	hops, err := b.Hops(nil)
	rounded := []wire.Hop{{Time: 1234567000, Sent: 999936, Rate: 100e9}, {Time: 1235567000, Sent: 1012224, Queue: 960, Rate: 100e9}}
	if err != nil || !slices.Equal(hops, rounded) {
		t.Errorf("%+v, %v, want %+v", hops, err, rounded)
	}
	f = collecting(roceStamped, wire.Exact)
	if hops, err = passed(&f, 2).Hops(nil); err != nil || !slices.Equal(hops, []wire.Hop{hop(0), hop(1)}) {
		t.Errorf("exact: %+v, %v", hops, err)
	}
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// A packet and its ACK come back from their bytes, with all that they have collected.
func TestTelemetryComesBack(t *testing.T) {
	for _, form := range []wire.Telemetry{wire.Rounded, wire.Exact} {
		for _, f := range []wire.Frame{roceStamped, roceStampedAck} {
			for hops := range wire.MaxHops + 2 {
				f := collecting(f, form)
				body := passed(&f, hops)
				b := f.AppendBody(nil, body)
				if got := unit.Size(len(b)); got != f.WireSize() {
					t.Fatalf("%d bytes, WireSize %d", got, f.WireSize())
				}
				got, back, err := wire.ParseBody(wire.StartOfFrame, b)
				if err != nil || got != f || !bytes.Equal(back.Bytes, body.Bytes) {
					t.Fatalf("%d hops: %+v, %v, want %+v", hops, got, err, f)
				}
				list, err := back.Hops(nil)
				if over := hops > wire.MaxHops; (err != nil) != over || !over && len(list) != hops {
					t.Errorf("%d hops: %d entries, %v", hops, len(list), err)
				}
				for n := wire.MinFrame; n < len(b); n++ {
					cut := refit(bytes.Clone(b[:n]))
					if _, _, err := wire.ParseBody(wire.StartOfFrame, cut); err == nil {
						t.Fatalf("%d of %d bytes are taken in", n, len(b))
					}
				}
			}
		}
	}
}

// Telemetry that is cut, or that has another number of entries than it says, is refused, and so is
// anything in addition to it.
func TestTelemetryRefusals(t *testing.T) {
	const ip4, bth4 = wire.EthernetHeaderSize, wire.EthernetHeaderSize + wire.IPv4Size + wire.UDPSize
	const at = bth4 + wire.BTHSize + wire.StampSize
	f := collecting(roceStamped, wire.Rounded)
	whole := f.AppendBody(nil, passed(&f, 2))
	for _, c := range []struct {
		what  string
		at    int
		value byte
		field string
	}{
		{"a length of no form", bth4 + wire.BTHSize, 15, "stamp.Length"},
		{"a length without telemetry", bth4 + wire.BTHSize, 3, "payload"},
		{"the length of the exact form", bth4 + wire.BTHSize, 34, "stamp"},
		{"another form", at, 2, "telemetry.Form"},
		{"fewer hops than entries", at + 1, 1, "telemetry.Hops"},
		{"more hops than room", at + 1, 6, "telemetry.Hops"},
		{"reserved", at + 2, 1, "telemetry.Reserved"},
		{"an entry of no hop", at + 4 + 3*8, 1, "telemetry.Hops"},
		{"a payload next to it", at + 44, 1, "payload"},
	} {
		b := bytes.Clone(whole)
		b[c.at] = c.value
		_, _, err := wire.ParseBody(wire.StartOfFrame, resealIP(b, ip4))
		var wrong *wire.ParseError
		if !errors.As(err, &wrong) || wrong.Field != c.field {
			t.Errorf("%s: %v, want %s", c.what, err, c.field)
		}
	}
}

// Time and bytes wrap in the rounded form, and their differences do not; the queue ends at its
// limit.
func TestTelemetryWraps(t *testing.T) {
	f := collecting(roceStamped, wire.Rounded)
	var s wire.Bodies
	s.PutTelemetry(&f)
	const wrap = unit.Time(1<<24) * unit.Time(unit.Nanosecond)
	for _, h := range []wire.Hop{
		{Time: 3*wrap - 5000, Sent: 128<<20 - 1280, Rate: 25e9}, {Time: 3*wrap + 7000, Sent: 128<<20 + 12800, Rate: 25e9, Queue: 1 << 30},
	} {
		s.AddHop(&f, &h)
	}
	hops, err := s.Of(&f).Hops(nil)
	if err != nil {
		t.Fatal(err)
	}
	time, sent := hops[1].Since(&hops[0], wire.Rounded)
	if time != 12*unit.Nanosecond || sent != 14080 || hops[1].Queue != 80*(1<<17-1) {
		t.Errorf("%v, %v, a queue of %v", time, sent, hops[1].Queue)
	}
	s.Free(&f)
	if s.Held() != 0 {
		t.Error("it is still there")
	}
}

func TestRatesOfTelemetry(t *testing.T) {
	for _, c := range []struct {
		rate           unit.Rate
		rounded, exact bool
	}{{100e9, true, true}, {10e9, true, true}, {7e9, false, true}, {1500, false, false}, {5e15, false, false}} {
		if got := [2]bool{wire.Rounded.Fits(c.rate), wire.Exact.Fits(c.rate)}; got != [2]bool{c.rounded, c.exact} {
			t.Errorf("%v: %v", c.rate, got)
		}
	}
}
