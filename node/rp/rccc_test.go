package rp

import (
	"math"
	"testing"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// rcccSite has a link that carries 150 kB in a round trip of 12 us.
var rcccSite = Site{Line: 100e9, Length: 4096, Payload: 4000, Trip: 12 * unit.Microsecond}

// credited returns a frame of credit with a sum, in bytes.
func credited(sum unit.Size) wire.Frame {
	f := wire.Frame{Kind: wire.UETControl, Family: wire.UET}
	f.UET().Code = wire.UETCredit
	f.SetCredit(sum)
	return f
}

// starving returns a source that has sent all that it had, whose start is over.
func starving() *RCCC {
	r := newRCCC(param.Defaults(RCCCParams{}), rcccSite)
	r.Demand(0, 4096)
	r.Sent(0, 4096)
	r.Demand(0, 0)
	r.Acked(1, Ack{})
	return r
}

// A source that has nothing in flight that asks for credit asks by a frame of its own when it has
// something to send, and again after a round trip, then after twice as long each time, until there
// is credit.
func TestRequestsForCredit(t *testing.T) {
	r := starving()
	if _, begs := r.request(0); begs || r.Allowance() != 0 || r.Deadline() != unit.Never {
		t.Errorf("it asks for credit without anything to send: %v, with credit for %v, due at %v", begs, r.Allowance(), r.Deadline())
	}
	now := unit.Time(100)
	r.Demand(now, 8192)
	for i := range 14 {
		f, begs := r.request(0)
		if !begs || f.UET().Code != wire.UETCreditRequest || f.CreditSince(0) != 8192 {
			t.Fatalf("request %d: %v, %+v", i, begs, f.UET())
		}
		if _, again := r.request(0); again {
			t.Fatal("it asks twice")
		}
		due := now.Add(rcccSite.Trip << min(i, 10))
		if r.Demand(now, 8192); r.Deadline() != due {
			t.Fatalf("request %d: the next is due at %v, want %v", i, r.Deadline(), due)
		}
		if r.Advance(due - 1); r.begs {
			t.Fatalf("request %d comes too early", i+1)
		}
		now = due
		r.Advance(now)
	}
	r.request(0)
	r.Feedback(now, credited(8192))
	if r.Allowance() != 8192 || r.Deadline() != unit.Never {
		t.Errorf("credit for %v, due at %v", r.Allowance(), r.Deadline())
	}
	r.Demand(now, 12288) // there is credit
	if r.begs {
		t.Error("it asks by a frame though it has credit")
	}
	r.Sent(now, 8192)
	r.Demand(now, 4096) // the packet asks
	if r.Demand(now, 8192); r.begs {
		t.Error("it asks by a frame though a packet has asked")
	}
	r = starving()
	r.left, r.early, r.demand = 100, true, 4096 // a packet waits, and an answer ends the start
	if r.Acked(now, Ack{}); !r.begs {
		t.Error("it does not ask when its first credit is void")
	}
	r = starving()
	r.left, r.early, r.demand = 100, true, 4096
	if r.Trimmed(now, Trim{}); !r.begs {
		t.Error("it does not ask when its first credit is void")
	}
}

// A flow whose credit is lost asks for it after a long time, and goes on.
func TestCreditThatIsLost(t *testing.T) {
	r := starving()
	r.Demand(0, 4096)
	r.request(0)
	r.Feedback(1, credited(4096))
	r.Sent(2, 4096)
	r.Demand(2, 8192) // the packet asks for the next ones
	if r.Deadline() != unit.Never {
		t.Errorf("with a packet in flight it asks at %v", r.Deadline())
	}
	r.Acked(3, Ack{}) // its answer is lost
	if _, begs := r.request(0); begs {
		t.Fatal("it asks at once")
	}
	if r.Expired(unit.Time(rcccSite.Trip), 0); !r.begs { // as if it did not wait
		t.Error("it does not ask when a packet is given up")
	}
	r.request(0)
	due := unit.Time(3).Add(rcccSite.Trip << 10)
	for now := due; now < due.Add(5*rcccSite.Trip<<10); now = r.Deadline() {
		if _, begs := r.request(0); begs || r.Deadline() != now {
			t.Fatalf("it asks at %v, want %v; before: %v", r.Deadline(), now, begs)
		}
		r.Advance(now)
		if f, begs := r.request(0); !begs || f.CreditSince(0) != 4096+8192 {
			t.Fatalf("at %v it asks for credit up to %v: %v", now, f.CreditSince(0), begs)
		}
	}
	if r.Feedback(due, credited(4096+8192)); r.Allowance() != 8192 || r.Deadline() != unit.Never {
		t.Errorf("credit for %v, due at %v", r.Allowance(), r.Deadline())
	}
}

// Credit asks for what is to be sent, up to the window and a packet, less what is left; a packet's
// worth at the start; and up to a round number of units.
func TestCreditTarget(t *testing.T) {
	for _, c := range []struct {
		demand, left, granted, window int64
		early                         bool
		want                          int64 // in units of 256 bytes
	}{
		{demand: 10000, granted: 7, want: 7 + 40}, // 39.06 units
		{demand: 10240, granted: 7, want: 7 + 40}, // exactly
		{demand: 10240, left: 256, want: 39},
		{demand: 1 << 30, want: (225000 + 255) / 256}, // max-window
		{demand: 1 << 30, window: 8192, want: (8192 + 4096) / 256},
		{demand: 4096, window: 8192, want: 16},
		{demand: 100, left: 5000, early: true, want: 16}, // a packet
		{demand: 0, left: 5000, early: true, want: 0},
		{demand: 100, left: 5000, granted: 100, want: 100 - 19},
		{demand: 100, left: 5000, want: 0},
		{demand: 100, left: -100, want: 1},
	} {
		r := newRCCC(param.Defaults(RCCCParams{}), rcccSite)
		r.credit.demand, r.credit.left, r.credit.granted, r.credit.early = c.demand, c.left, c.granted, c.early
		if got := r.target(c.window); got != c.want {
			t.Errorf("%+v: it asks for %d", c, got)
		}
	}
}

// After a timeout without credit a request leaves, once in a round trip; with credit none does.
func TestRequestAfterATimeout(t *testing.T) {
	r := starving()
	now := unit.Time(5)
	for _, c := range []struct {
		at   unit.Duration
		left int64
		begs bool
	}{{0, 0, true}, {rcccSite.Trip - 1, 0, false}, {rcccSite.Trip, 1, false}, {rcccSite.Trip, 0, true}, {2 * rcccSite.Trip, -5, true}, {3*rcccSite.Trip - 1, 0, false}} {
		r.left = c.left
		r.Expired(now.Add(c.at), 4096)
		if _, begs := r.request(0); begs != c.begs {
			t.Errorf("%+v: %v", c, begs)
		}
	}
	r = newRCCC(param.Defaults(RCCCParams{}), rcccSite)
	if r.Expired(now, 4096); r.early || r.left != 0 || !r.begs {
		t.Error("a timeout does not end the start")
	}
}

// What comes back is credit; a destination takes requests.
func TestCreditRefuses(t *testing.T) {
	for _, c := range []struct {
		kind   wire.Kind
		code   uint8
		source bool
		sink   bool
	}{
		{wire.UETControl, wire.UETCredit, true, false}, {wire.UETControl, wire.UETCreditRequest, false, true}, {wire.UETControl, wire.UETProbe, false, false},
		{wire.CNP, wire.UETCredit, false, true}, {wire.Data, 0, false, true}, {wire.Trimmed, 0, false, true},
	} {
		f := wire.Frame{Kind: c.kind, Family: wire.UET}
		f.UET().Code = c.code
		point := newCreditPoint(param.Defaults(RCCCParams{}).Trip, param.Defaults(RCCCParams{}).CreditParams, rcccSite)
		both := newNSCCRCCC(param.Defaults(NSCCRCCCParams{}), rcccSite).Reaction()
		one := starving().Reaction()
		if got := one.Refuses(0, f) == trace.NoReason; got != c.source || both.Refuses(0, f) == trace.NoReason != c.source {
			t.Errorf("%v %d: the source takes it: %v", c.kind, c.code, got)
		}
		if got := point.Refuses(0, f) == trace.NoReason; got != c.sink {
			t.Errorf("%v %d: the destination takes it: %v", c.kind, c.code, got)
		}
	}
	r := starving()
	f := credited(4096)
	f.UET().Code = wire.UETCreditRequest
	if r.Feedback(0, f); r.left != 0 {
		t.Error("a request is taken for credit")
	}
}

// The rate of credit in a fabric with a lower rate than endpoints, interval by interval.
func TestCreditOfTheFabric(t *testing.T) {
	p := param.Defaults(RCCCParams{}).CreditParams
	p.Oversubscription = 4
	f := fabricCredit{rate: 1, random: unit.NewRandom(1, 1), interval: 1e6}
	for i, c := range []struct {
		came, marked, trimmed, here int
		rate, g                     float64
		raised                      int
	}{
		{100, 0, 0, 0, 1, 0, 1},                                    // it stays the highest
		{100, 0, 10, 0, 0.9, 0, 0},                                 // less by what was trimmed before the last hop
		{100, 0, 0, 50, 0.91, 0, 1},                                // at the last hop it does not count
		{100, 0, 0, 0, 0.93, 0, 2},                                 // 0.01 2^1
		{100, 30, 0, 0, 0.94, 0.15, 3},                             // marks below the target do not double it
		{100, 90, 10, 0, (0.94 - 0.1) * (1 - 0.275*0.5), 0.575, 0}, // of those that are whole: 90 of 90 are marked
		{0, 0, 0, 0, 0.7345, 0.2875, 1},                            // nothing came
		{100, 40, 0, 0, 0.7345 * (1 - 0.04375*0.5), 0.34375, 0},    // 0.5 g + 0.5 share, above the target
		{100, 0, 99, 0, 0.225, 0.171875, 0},                        // 0.9 / 4 at least
		{10, 0, 5, 5, 0.225, 0.0859375, 0},                         // none is whole
	} {
		f.came, f.marked, f.trimmed, f.trimmedHere = c.came, c.marked, c.trimmed, c.here
		f.adjust(&p)
		if math.Abs(f.rate-c.rate) > 1e-12 || math.Abs(f.g-c.g) > 1e-12 || f.raised != c.raised {
			t.Errorf("interval %d: rate %v, marks %v, %d intervals without a decrease; want %+v", i, f.rate, f.g, f.raised, c)
		}
		if f.came+f.marked+f.trimmed+f.trimmedHere != 0 {
			t.Errorf("interval %d: packets are counted twice", i)
		}
	}
	p.Oversubscription = 1000
	f.rate, f.came, f.trimmed = 0.02, 100, 50
	if f.adjust(&p); f.rate != 0.01 {
		t.Errorf("the least rate is %v", f.rate)
	}
}

// Intervals last 3/4 to 5/4 of 1.5 round trips; at the full rate without packets they begin with
// the next one; without oversubscription there are none.
func TestIntervalsOfTheFabric(t *testing.T) {
	p := param.Defaults(RCCCParams{}).CreditParams
	f := fabricCredit{rate: 0.5, random: unit.NewRandom(1, 1), interval: 1e6}
	if f.settle(5e6, &p); f.due != 0 || f.rate != 0.5 {
		t.Errorf("without oversubscription an interval ends at %v, with the rate %v", f.due, f.rate)
	}
	p.Oversubscription = 2
	least, most, last := unit.Duration(1<<62), unit.Duration(0), unit.Time(0)
	f.settle(1000, &p)
	if f.rate != 0.5 {
		t.Error("the first interval begins with an end")
	}
	for last = f.due; f.rate < 1; last = f.due {
		f.came, f.marked = 10, 1
		f.settle(last, &p)
		least, most = min(least, f.due.Sub(last)), max(most, f.due.Sub(last))
	}
	if least < 75e4 || least > 85e4 || most > 125e4 || most < 115e4 {
		t.Errorf("intervals last %v to %v", least, most)
	}
	f.g = 0
	f.settle(last.Add(unit.Second), &p)
	if d := f.due.Sub(last.Add(unit.Second)); d <= 0 || d > 125e4 {
		t.Errorf("after a rest the next interval ends %v after it", d)
	}
}

// Packets that ask for credit are longer, and the algorithm says so; without the payload of packets
// NSCC takes their length.
func TestSiteOfUltraEthernet(t *testing.T) {
	for _, params := range []any{RCCCParams{}, NSCCRCCCParams{}} {
		f := wire.Frame{Kind: wire.Data, Family: wire.UET}
		if TraitsOf(params).Frame(&f); f.UET().Flags != wire.UETState {
			t.Errorf("%T: packets have flags %d", params, f.UET().Flags)
		}
		request, credit := TraitsOf(params).Sends(&wire.Frame{Lane: 3})
		if request.Kind != wire.UETControl || credit.Kind != wire.UETControl || credit.UET().Code != wire.UETCredit || credit.Lane != 3 {
			t.Errorf("%T: requests %+v, credit %+v", params, request, credit)
		}
	}
	site := rcccSite
	site.Payload = 0
	without := newNSCC(param.Defaults(NSCCParams{}), site)
	site.Payload = site.Length
	with := newNSCC(param.Defaults(NSCCParams{}), site)
	if without.alpha != with.alpha || without.fair != with.fair || without.eta != with.eta {
		t.Errorf("gains %v, %v, %v; want %v, %v, %v", without.alpha, without.fair, without.eta, with.alpha, with.fair, with.eta)
	}
	p := param.Defaults(NSCCParams{})
	p.BaseRTT, p.TargetShare = 1, 0.5
	if n := newNSCC(p, rcccSite); n.target != 1 {
		t.Errorf("the least target is %v", n.target)
	}
}
