package rp

import (
	"bufio"
	"fmt"
	"os"
	"testing"

	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// modelRun is what a part of the reference model (uet-htsim, commit 40ccb05) took in and did, with
// the parameters that it had: link rate, base RTT, packet and payload.
type modelRun struct {
	*bufio.Scanner
	site Site
	p    RCCCParams
}

func openModelRun(t *testing.T, file string) modelRun {
	t.Helper()
	text, err := os.Open("testdata/rccc/" + file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { text.Close() })
	r := modelRun{Scanner: bufio.NewScanner(text), p: param.Defaults(RCCCParams{})}
	r.Scan()
	if _, err := fmt.Sscan(r.Text(), &r.site.Line, &r.p.BaseRTT, &r.site.Length, &r.site.Payload); err != nil {
		t.Fatal(err)
	}
	return r
}

// The credit that a destination gives is that of the model, to the picosecond and the byte: five
// flows that end at one endpoint, three of which were trimmed. A line is
//
//	data|trim|request time flow sum: a packet came, with the sum that the flow asks for
//	give time flow sum: the flow was given credit
func TestCreditIsThatOfTheModel(t *testing.T) {
	r := openModelRun(t, "destination.txt")
	flows, seen := map[uint32]*CreditPoint{}, map[string]int{}
	var beside Answerer
	var last unit.Time
	for line := 2; r.Scan(); line++ {
		var kind string
		var now, sum int64
		var qp uint32
		if _, err := fmt.Sscan(r.Text(), &kind, &now, &qp, &sum); err != nil {
			t.Fatal(line, err)
		}
		seen[kind]++
		c := flows[qp]
		if c == nil {
			r.site.Beside = beside
			c = newCreditPoint(r.p.Trip, r.p.CreditParams, r.site)
			c.qp, flows[qp], beside = qp, c, c
		}
		if kind == "give" {
			next, at, ok := c.Turn()
			if !ok || next != qp || max(at, last) != unit.Time(now) || c.Deadline() != at {
				t.Fatalf("line %d: %s: the turn is that of %d at %v, %v", line, r.Text(), next, at, ok)
			}
			if c.give(unit.Time(now)); c.given != sum {
				t.Fatalf("line %d: %s: it was given %d", line, r.Text(), c.given)
			}
			continue
		}
		if at := c.of.at; c.of.turn() != nil && at < unit.Time(now) {
			t.Fatalf("line %d: %s: credit was due at %v", line, r.Text(), at)
		}
		c.ask(sum)
		if kind != "data" {
			c.insist()
		}
		last = unit.Time(now)
	}
	if seen["give"] < 50 || seen["trim"] < 20 {
		t.Error(seen)
	}
}

// What a source asks for, and what credit it has left, is that of the model, to the byte. A line is
//
//	sent time bytes demand = credit sum: a packet leaves, with the sum that it asks for
//	credit time sum 0 = credit: credit has come, with its sum
//	heard time 0 0 = credit: something else has come
func TestCreditAtTheSourceIsThatOfTheModel(t *testing.T) {
	r := openModelRun(t, "source.txt")
	c := newRCCC(r.p, r.site)
	seen := map[string]int{}
	for line := 2; r.Scan(); line++ {
		var kind, is string
		var now, n, demand, left, sum int64
		if _, err := fmt.Sscan(r.Text(), &kind, &now, &n, &demand, &is, &left, &sum); err != nil {
			t.Fatal(line, err)
		}
		seen[kind]++
		switch kind {
		case "sent":
			if c.Allowance() == 0 {
				t.Fatalf("line %d: %s: there is no credit", line, r.Text())
			}
			c.Sent(unit.Time(now), unit.Size(n))
			c.Demand(unit.Time(now), unit.Size(demand))
			if got := c.target(0); got != max(sum, 0) {
				t.Fatalf("line %d: %s: it asks for %d", line, r.Text(), got)
			}
		case "credit":
			c.grant(n)
		case "heard":
			c.Acked(unit.Time(now), Ack{})
		}
		if c.left != left {
			t.Fatalf("line %d: %s: credit for %d bytes", line, r.Text(), c.left)
		}
	}
	if seen["sent"] < 50 || seen["credit"] < 10 || seen["heard"] < 10 {
		t.Error(seen)
	}
}
