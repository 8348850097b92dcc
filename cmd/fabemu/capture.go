package main

import (
	"fmt"
	"io"

	"fabemu/emu"

	"github.com/spf13/cobra"
)

// captureFlags say what is captured.
type captureFlags struct {
	filter []string
	snap   int
	time   string
}

func (f *captureFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringSliceVar(&f.filter, "pcap-filter", nil, "capture these alone: ports (B:3), machines, links or flows, with commas between")
	flags.IntVar(&f.snap, "pcap-snap", 0, "keep so many bytes of each frame; 0: all")
	flags.StringVar(&f.time, "pcap-time", "model", "time stamps of the capture: model, or wall")
	complete(c, "pcap-time", "model", "wall")
}

// capture returns the capture to w that the flags say.
func (f *captureFlags) capture(w io.Writer) (*emu.Capture, error) {
	if f.time != "model" && f.time != "wall" {
		return nil, fmt.Errorf("--pcap-time %s: there are model and wall", f.time)
	}
	return &emu.Capture{To: w, Filter: f.filter, Snap: f.snap, WallTime: f.time == "wall"}, nil
}
