package port

import (
	"testing"

	"fabemu/wire"
	"fabemu/wire/unit"
)

const (
	gigabyte = unit.Rate(8e9) // per second: a byte lasts a nanosecond
	ns       = unit.Nanosecond
	us       = unit.Microsecond
)

// newTransmitter returns an idle link.
func newTransmitter(r unit.Rate, propagation unit.Duration, cut bool) Transmitter {
	return Transmitter{medium: new(media).of(kind{rate: r, propagation: propagation, cut: cut})}
}

// start puts a frame of length n on l, and returns how long it takes and when it is due.
func start(l *Transmitter, t unit.Time, n unit.Size, control bool) (unit.Duration, unit.Time) {
	k := l.medium.of(n)
	l.start(t, t.Add(k.duration), k.after(control))
	return k.duration, l.due
}

// at is an instant as a span since the run began.
func at(d unit.Duration) unit.Time { return unit.Time(d) }

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if recover() == nil {
			t.Errorf("%s: no panic", what)
		}
	}()
	f()
}

// "A 64-byte frame at 10 Gb/s lasts 51.2 ns"; serialisation "rounds up to a whole
// picosecond, so that a line never runs faster than its rate".
func TestSerialisationRoundsUp(t *testing.T) {
	for _, tc := range []struct {
		rate unit.Rate
		n    unit.Size
		want unit.Duration
	}{
		{gigabyte, 2068, 2068 * ns}, // HPL-2002-224, Table I: "data packet tx time 2.068 us"
		{10e9, 64, 51200},
		{7e9, 2068, 2363429},           // 2 363 428.57...
		{3, 1, 2666666666667},          // 8/3 s
		{3, 3, 8 * unit.Second},        // exact: nothing is added
		{400e9, 1, 20},                 // exact
		{401e9, 1, 20},                 // 19.95
		{800e9 * 1000, 1, 1},           // faster than the unit of time: never no time at all
		{gigabyte, 0, 0},               // the paper's flow control packets take no time
		{1, 1 << 20, 8388608e12},       // 97 days
		{1, 1 << 30, 1<<63 - 1},        // more than a Duration holds: never
		{0, 1, 1<<63 - 1},              // a line without a rate: never
		{-1, 1, 1<<63 - 1},             // the same
		{1<<62 - 1, 2068, 1},           // absurdly fast
		{gigabyte, wire.FCPSize, 6000}, // WireFraming
	} {
		l := newTransmitter(tc.rate, ns, false)
		for range 2 { // the second answer is the remembered one
			if got := l.Serialise(tc.n); got != tc.want {
				t.Errorf("%v: %v takes %d ps, want %d", tc.rate, tc.n, got, tc.want)
			}
		}
		_ = l.Serialise(tc.n + 1)
		if got := l.Serialise(tc.n); got != tc.want {
			t.Errorf("%v: %v takes %d ps after another length, want %d", tc.rate, tc.n, got, tc.want)
		}
	}
}

// "due is the first instant at which the receiver may act on the frame: head +
// header time (20 ns at 1 GB/s) + propagation for a cut-through switch; tail +
// propagation for store-and-forward switches, endpoints and control frames."
func TestDueIsHeaderOrTail(t *testing.T) {
	for _, tc := range []struct {
		name    string
		cut     bool
		control bool
		n       unit.Size
		want    unit.Duration // after the start
	}{
		{"data to a cut-through switch: the header", true, false, 2068, 20*ns + 5*ns},
		{"an ACK of the paper is all header", true, false, 20, 20*ns + 5*ns},
		{"shorter than a header: all of it", true, false, 8, 8*ns + 5*ns},
		{"data to an endpoint: the tail", false, false, 2068, 2068*ns + 5*ns},
		{"control to a cut-through switch: the tail", true, true, 30, 30*ns + 5*ns},
		{"control to an endpoint: the tail", false, true, 6, 6*ns + 5*ns},
		{"control without length: the propagation, never nothing", true, true, 0, 5 * ns},
	} {
		l := newTransmitter(gigabyte, 5*ns, tc.cut)
		d, due := start(&l, at(us), tc.n, tc.control)
		if want := gigabyte.Serialise(tc.n); d != want {
			t.Errorf("%s: takes the line for %v, want %v", tc.name, d, want)
		}
		if want := at(us + tc.want); due != want {
			t.Errorf("%s: due at %v, want %v", tc.name, due, want)
		}
		if want := at(us).Add(d); l.Free() != want {
			t.Errorf("%s: the line is free at %v, want %v", tc.name, l.Free(), want)
		}
	}
}

// "It never decreases along one direction of a link (control frames queue with data
// on the line, or a flow control packet would overtake data and overdraw the
// buffer)."
func TestControlStaysBehindData(t *testing.T) {
	for _, cut := range []bool{true, false} {
		l := newTransmitter(gigabyte, ns, cut)
		_, data := start(&l, 0, 2068, false)
		if l.Free() != at(2068*ns) {
			t.Fatalf("the line is free at %v", l.Free())
		}
		_, control := start(&l, l.Free(), 0, true)
		if want := at(2069 * ns); control != want || control < data {
			t.Errorf("cut-through %v: control behind data is due at %v, want %v; the data is due at %v", cut, control, want, data)
		}
	}
}

// "A rate change ... acts at the next frame start; a frame begun completes at its
// old rate."
func TestRateChangeActsAtTheNextFrame(t *testing.T) {
	l := newTransmitter(gigabyte, ns, true)
	start(&l, 0, 2000, false)
	l.SetRate(gigabyte / 2)
	if l.Free() != at(2*us) || l.Rate() != gigabyte/2 {
		t.Errorf("after the change the line is free at %v, at the rate %v, want 2us and %v", l.Free(), l.Rate(), gigabyte/2)
	}
	d, due := start(&l, at(2*us), 2000, false)
	if d != 4*us {
		t.Errorf("the next frame takes %v, want 4us", d)
	}
	if want := at(2*us + 40*ns + ns); due != want { // its header takes twice as long as well
		t.Errorf("the next frame is due at %v, want %v", due, want)
	}
}

// Property: whatever is sent as soon as the link is free, at whatever rates, frames
// never overlap, none is due before its last bit for it has come, and due never
// decreases.
func TestFramesNeverOverlap(t *testing.T) {
	for stream := range uint64(20) {
		random := unit.NewRandom(2, stream)
		l := newTransmitter(1e9, 1*ns+random.Span(us), stream%2 == 0)
		now, due := unit.Time(0), unit.Time(0)
		for range 2000 {
			if random.Below(8) == 0 {
				l.SetRate(1e6 + unit.Rate(random.Below(400e9)))
			}
			n, control := unit.Size(random.Below(4200)), random.Below(3) == 0
			before := l.Free()
			if random.Below(4) == 0 {
				now = now.Add(random.Span(3 * us)) // it idles a while, or not
			}
			now = max(now, before)
			d, nextDue := start(&l, now, n, control)
			if d < l.Rate().Serialise(n) || l.Free() != now.Add(d) {
				t.Fatalf("a frame of %v from %v takes %v and the line is free at %v", n, now, d, l.Free())
			}
			if nextDue < due {
				t.Fatalf("due at %v behind a frame that is due at %v", nextDue, due)
			}
			needs := d
			if l.medium.cut && !control {
				needs = min(d, l.Rate().Serialise(wire.HeaderSize))
			}
			if nextDue < now.Add(needs).Add(l.medium.propagation) {
				t.Fatalf("due at %v: what it takes to act is not there before %v", nextDue, now.Add(needs).Add(l.medium.propagation))
			}
			due = nextDue
		}
	}
}

// A line serialises one frame at a time: to start another is a mistake of ours.
func TestStartOnABusyLinePanics(t *testing.T) {
	l := newTransmitter(gigabyte, ns, false)
	start(&l, 0, 2068, false)
	mustPanic(t, "a frame on a busy line", func() { start(&l, at(2068*ns)-1, 20, false) })
	start(&l, at(2068*ns), 20, false)
}
