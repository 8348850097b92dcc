package rp

import (
	"testing"

	"fabemu/wire"
	"fabemu/wire/param"
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
