// Command aimd puts its own reaction point into the scenario incast.yaml, and runs it
// on the virtual clock, where every run is the same, and over sockets in real time. Its exit
// status is 1 if the verdict of a run says that its figures are not valid.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"fabemu/emu"
	"fabemu/node/rp"
	"fabemu/wire/unit"
)

func main() {
	status := 0
	own := emu.Schemes{Reaction: func(_ *emu.Flow, line unit.Rate) rp.Reaction { return newAIMD(line) }}
	for _, o := range []emu.Options{
		{Settings: emu.Settings{Clock: emu.VirtualClock}, Schemes: own},
		{Settings: emu.Settings{Clock: emu.WallClock, Timing: emu.ActualTiming}, Schemes: own},
	} {
		s, err := emu.Open("../incast.yaml")
		if err != nil {
			log.Fatal(err)
		}
		r, err := emu.Run(context.Background(), s, o)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("aimd  %-7s clock  bystander %4.1f %%  %s\n", r.Clock, 100*r.Checks[0].Value, r.Verdict.Level)
		if !r.Verdict.Level.Strict() {
			fmt.Fprintln(os.Stderr, "do not trust this line:", r.Verdict.Reason)
			status = 1
		}
	}
	os.Exit(status)
}
