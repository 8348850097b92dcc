package cp_test

import (
	"testing"

	"fabemu/switchd/cp"
)

// Each test here quotes the sentence that it checks: J. R. Santos, Y. Turner and
// G. Janakiraman, "Evaluation of Congestion Detection Mechanisms for InfiniBand
// Switches", HPL-2002-224, section IV and its footnotes.

func TestPaperNaive(t *testing.T) {
	run(t, []testCase{{
		// IV.A: "a naive mechanism, which simply marks all packets in a buffer whenever
		// an arriving packet fills it up".
		name: "all packets in a buffer", config: naive,
		story: "0>9 0>8 0>9 0>7 -9 .9 -8 .8 -9 .9 -7", left: "A* B* C* D*",
		triggers: "9:full-buffer:2 8:full-buffer:1 7:full-buffer:1",
	}, {
		// IV.A: "switches detect congestion when a buffer becomes full".
		name: "when a buffer becomes full", config: naive,
		story: "0>9 0>9 0>9 -9", left: "A",
	}, {
		// IV.A: "we simply treat any packet in a full buffer as a generating packet,
		// regardless if the link for which the packet is waiting is blocked or not".
		name: "blocked or not", config: naive,
		story: "!9 0>9 0>8 0>9 0>8 -9 -8", left: "A* B*",
		triggers: "9:full-buffer:2 8:full-buffer:2",
	}, {
		// IV.A: "In switches with input buffers (typical for SANs), other packets at the
		// switch besides those in a full buffer may be generating packets, because they
		// all contend for the same root link. In this case, the naive mechanism fails to
		// mark some generating packets."
		name: "it fails to mark some generating packets", config: naive,
		story: "1>9 2>9 0>9 0>9 0>9 0>9 -9 .9 -9 .9 -9", left: "A B C*",
		triggers: "9:full-buffer:6",
	}, {
		// IV.A: "none of the packets of the local flows is marked since each local flow
		// uses a different input buffer and the window limit prevents it from filling
		// the buffer".
		name: "local flows are not marked", config: naive,
		story: "1>9 2>9 3>9 4>9 5>9 -9 .9 1>9 -9 .9 2>9 -9 .9 -9 .9 -9 .9 -9 .9 -9", left: "A B C D E F G",
	}})
}

func TestPaperInputTriggered(t *testing.T) {
	run(t, []testCase{{
		// IV.B: "First, as in the naive approach, a switch input buffer triggers packet
		// marking each time it becomes full."
		name: "each time it becomes full", config: input, room: 2,
		story: "0>9 0>9 -9 .9 -9 .9 0>9 -9 .9 0>9 0>9 -9 .9 -9", left: "A* B* C D* E*",
		triggers: "9:full-buffer:2 9:full-buffer:2",
	}, {
		// IV.B: "Second, any output link that is the destination for at least one packet
		// in such a full buffer is classified as a congested link."
		name: "at least one packet", config: input,
		story: "1>8 2>7 0>9 0>9 0>9 0>8 -9 .9 -8 .8 -7", left: "C* A* B",
		triggers: "9:full-buffer:3 8:full-buffer:2",
	}, {
		// IV.B: "Third, all packets that are resident (in any buffer) at the switch and
		// are destined to an output link that was classified as congested in the second
		// step are classified as generating packets and marked."
		name: "resident in any buffer", config: input,
		story: "1>9 2>9 3>9 0>9 0>9 0>9 0>9 -9 .9 -9 .9 -9 .9 -9 .9 -9 .9 -9 .9 -9", left: "A* B* C* D* E* F* G*",
		triggers: "9:full-buffer:7",
	}, {
		// IV.B: "cnt1 records the current number of packets in the switch that are
		// waiting for that output link".
		name: "that are waiting", config: input,
		story: "1>9 -9 0>9 0>9 0>9 0>9 .9 -9 .9 -9 .9 -9 .9 -9 .9 2>9 -9", left: "A B* C* D* E* F",
		triggers: "9:full-buffer:4",
	}, {
		// The same sentence continues: "cnt1 is incremented and decremented as packets
		// enter and leave the switch": if they leave it with their tails, the one on
		// the line counts.
		name: "as packets enter and leave the switch", config: input, counts: true,
		story: "1>9 -9 0>9 0>9 0>9 0>9 .9 -9 .9 -9 .9 -9 .9 -9 .9 2>9 -9 .9 2>9 -9", left: "A B* C* D* E* F* G",
		triggers: "9:full-buffer:5",
	}, {
		// IV.B: "Counter cnt2 is initialized to zero."
		name: "initialized to zero", config: input,
		story: "0>9 1>9 -9 .9 -9", left: "A B",
	}, {
		// IV.B: "Whenever a buffer becomes full, the value of counter cnt1 is copied to
		// counter cnt2. Then, the output port starts marking the next transmitted
		// packets, decrementing cnt2 at each transmission, until it reaches zero again."
		name: "until it reaches zero again", config: input, room: 2,
		story: "0>9 0>9 1>9 2>9 -9 .9 -9 .9 -9 .9 -9", left: "A* B* C D",
		triggers: "9:full-buffer:2",
	}, {
		// IV.B: "different input buffers can trigger marking on the same output port in a
		// short time interval, causing counter cnt2 to be updated with the current value
		// of counter cnt1 a second time before it reaches zero".
		name: "a second time before it reaches zero", config: input, room: 2,
		story: "0>9 0>9 -9 .9 1>9 1>9 -9 .9 -9 .9 -9 .9 2>9 -9", left: "A* B* C* D* E",
		triggers: "9:full-buffer:2 9:full-buffer:3",
	}, {
		// IV.B: "this can also happen if the same input buffer becomes full a second time
		// triggering the marking of all new packets that arrived since the last marking
		// event, in addition to the ones already marked and still in the input buffer".
		name: "the same input buffer a second time", config: input, room: 2,
		story: "0>9 0>9 1>9 -9 .9 0>9 -9 .9 -9 .9 -9 .9 2>9 -9", left: "A* B* C* D* E",
		triggers: "9:full-buffer:2 9:full-buffer:3",
	}, {
		// IV.B: "this counter implementation may mark a different set of packets than a
		// direct packet scanning approach, since packets can be transmitted out of order.
		// This turns out to be an advantage, since our implementation will mark the first
		// packets to leave the switch".
		name: "the first packets to leave the switch", config: input, room: 2,
		story: "0>9 0>9 1>9 2>9 -9:C .9 -9:D .9 -9 .9 -9", left: "C* D* A B",
		triggers: "9:full-buffer:2",
	}, {
		// The other side of that sentence: a direct scan marks those that are there.
		name: "a direct scan", config: scan, room: 3,
		story: "1>9 0>9 0>9 0>8 2>9 3>8 -9:E .9 -9:C .9 -9 .9 -9 -8 .8 -8", left: "E C* A* B* D* F",
		triggers: "9:full-buffer:3 8:full-buffer:1",
	}})
}

func TestPaperInputOutputTriggered(t *testing.T) {
	exceeds := inputOutput(3)
	exceeds.Exceeds = cp.MoreThan
	run(t, []testCase{{
		// IV.C: "triggered when the total number of packets that are waiting for an
		// output link exceeds a threshold", by the letter.
		name: "exceeds a threshold", config: exceeds,
		story: "0>9 1>9 2>9 -9 .9 2>9 3>9 -9 .9 -9", left: "A B* C*",
		triggers: "9:over-threshold:4",
	}, {
		// The same with the packet on the wire as one more that waits, though cnt1 has
		// counted it out: the default.
		name: "exceeds it with the packet on the wire", config: inputOutput(3),
		story: "0>9 -9 1>9 2>9 3>9 .9 -9", left: "A B*",
		triggers: "9:over-threshold:3",
	}, {
		// IV.C: "We do not adopt a pure output-triggered mechanism, because it would
		// allow congestion spreading caused by a full input buffer to occur without
		// being detected."
		name: "a full input buffer is detected", config: inputOutput(9), room: 3,
		story: "0>9 0>9 0>8 -9 .9 -8", left: "A* C*",
		triggers: "9:full-buffer:2 8:full-buffer:1",
	}, {
		// IV.C: "Marking is triggered by a burst of arriving packets that cannot be
		// served immediately by the single output link": local flows arrive in parallel.
		name: "a burst", config: inputOutput(4),
		story: "1>>9 2>9 3>9 4>9 5>9 .9 -9 .9 -9 .9 -9 .9 -9", left: "A B* C* D* E*",
		triggers: "9:over-threshold:4",
	}, {
		// IV.C: "the number of local flows (10) cannot themselves trigger the marking"
		// at a threshold of 16.
		name: "not by ten flows at a threshold of 16", config: inputOutput(16),
		story: "0>9 1>9 2>9 3>9 4>9 5>9 6>9 7>9 8>9 9>9 -9", left: "A",
	}, {
		// IV.C: "At buffer sizes larger than the output threshold, marking is always
		// output-triggered": the threshold is reached before a buffer is full.
		name: "buffers larger than the threshold", config: inputOutput(4), room: 6,
		story: "0>9 0>9 0>9 0>9 0>9 -9", left: "A*",
		triggers: "9:over-threshold:4 9:over-threshold:5",
	}})
}

func TestPaperFootnotes(t *testing.T) {
	skip := input
	skip.SkipBlocked = true
	skipNaive := naive
	skipNaive.SkipBlocked = true
	run(t, []testCase{{
		// Footnote 4: "a marking policy that does not mark packets that are transmitted
		// on a link that was recently blocked".
		name: "4: not on a link that was recently blocked", config: skip,
		story: "!9 1>9 0>9 0>9 0>9 0>8 -9 -8", left: "A E*",
		triggers: "8:full-buffer:1",
	}, {
		name: "4: nor in the full buffer", config: skipNaive,
		story: "!9 0>9 0>9 0>9 0>8 -9 -8", left: "A D*",
		triggers: "8:full-buffer:1",
	}, {
		// Footnote 6: "sometimes [...] a packet in the buffer is being transmitted and
		// cannot be marked anymore".
		name: "6: a packet that is being transmitted", config: naive,
		story: "0>9 -9 0>9 0>9 0>9 .9 -9", left: "A B*",
		triggers: "9:full-buffer:3",
	}, {
		name: "6: nor does it make its output congested", config: input,
		story: "0>8 -8 1>8 0>9 0>9 0>9 .8 -8 -9", left: "A B C*",
		triggers: "9:full-buffer:3",
	}, {
		// Footnote 6: "most of the time the victim can cut through and start being
		// transmitted to its output port just after its header is received".
		name: "6: a victim that cuts through, naive", config: naive,
		story: "0>9 0>9 0>9 0>>8 .8 0>>8", left: "D E",
		triggers: "9:full-buffer:3 9:full-buffer:3",
	}, {
		name: "6: a victim that cuts through, input", config: input,
		story: "0>9 0>9 0>9 0>>8 .8 0>>8 .8 -9", left: "D E A*",
		triggers: "9:full-buffer:3 9:full-buffer:3",
	}, {
		// Footnote 6: the number of marked packets of remote flows "is not exactly the
		// number of buffer slots".
		name: "6: a victim that has to wait is taken for one of them", config: naive,
		story: "1>8 -8 0>9 0>9 0>9 0>8 .8 -8", left: "A E*",
		triggers: "9:full-buffer:3 8:full-buffer:1",
	}})
}
