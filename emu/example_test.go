package emu_test

import (
	"context"
	"fmt"
	"log"

	"fabemu/emu"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// A scenario by its name, run on the virtual clock; its checks say whether the
// claims of the paper hold.
func ExampleRun() {
	s, err := emu.Open("hpl2002/fig3b")
	if err != nil {
		log.Fatal(err)
	}
	result, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range result.Checks {
		fmt.Printf("%s: %s between %.2f and %.2f: %s\n", c.ID, c.Metric, c.Low, c.High, c.Outcome)
	}
	// Output:
	// IB-5a: trunk.A-B.utilisation between 0.90 and 1.00: pass
	// IB-5b: remote.rate / local.rate between 0.28 and 0.45: pass
	// IB-5c: victim.utilisation between 0.60 and 1.00: pass
}

// A scenario built in Go: two senders that meet at one link. It is run on the
// virtual clock, and on the wall clock over UDP sockets, 10 times slower than its
// model; every event is the same.
func ExampleRun_built() {
	const rate = 8e9 // bits per second: 1 GB/s
	s := scenario.New("two", 2*unit.Millisecond)
	s.Wall.Dilation = 10
	s.Switches = []scenario.Switch{scenario.NewSwitch("S")}
	s.Endpoints = scenario.NewEndpoints("early", "late", "sink")
	for _, e := range s.Endpoints {
		s.Links = append(s.Links, scenario.NewLink(e.Name, "S", rate))
	}
	first, second := scenario.NewFlow("first", "early", "sink"), scenario.NewFlow("second", "late", "sink")
	second.Start = unit.Millisecond
	s.Flows = []scenario.Flow{first, second}
	s.Expect = []scenario.Check{{
		ID: "fair", Claim: "each gets the same", Metric: "first.rate / second.rate",
		During: [2]unit.Duration{1100 * unit.Microsecond, 2 * unit.Millisecond}, Low: 0.95, High: 1.05, Expected: "holds",
	}}

	var digests []string
	for _, clock := range []emu.Clock{emu.VirtualClock, emu.WallClock} {
		result, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: clock}, Digest: true})
		if err != nil {
			log.Fatal(err)
		}
		for _, f := range result.Flows {
			fmt.Printf("%s clock: %s delivered %d packets\n", clock, f.Name, f.Frames)
		}
		fmt.Printf("%s clock: %s: %s\n", clock, result.Checks[0].Claim, result.Checks[0].Outcome)
		digests = append(digests, result.Digest)
	}
	fmt.Println("the same events:", digests[0] == digests[1])
	// Output:
	// virtual clock: first delivered 702 packets
	// virtual clock: second delivered 241 packets
	// virtual clock: each gets the same: pass
	// wall clock: first delivered 702 packets
	// wall clock: second delivered 241 packets
	// wall clock: each gets the same: pass
	// the same events: true
}

// What a scenario has that is right but probably not meant is in its warnings.
func ExampleOpen() {
	set, err := scenario.ParseSet("model.duration=10ms")
	if err != nil {
		log.Fatal(err)
	}
	s, err := emu.Open("hpl2002/fig2", set)
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range s.Warnings {
		fmt.Println(w)
	}
	// Output:
	// --set model.duration=10ms: flows that start later are left out: victim
	// --set model.duration=10ms: checks that look further are left out: IB-1a, IB-1b, IB-1c, IB-1d
}
