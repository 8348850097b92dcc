package sweep_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"fabemu/emu/study/sweep"
)

// The utilisation of the root link of HPL-2002-224 by the size of the input buffers,
// with and without an output threshold. Called again with the same directory, it
// would continue where it was.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "sweep-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	plan := sweep.Plan{
		Scenario: "hpl2002/fig3c", // marking with an output threshold
		Axes: []sweep.Axis{
			{Path: "defaults.link.buffer", Values: []string{"2packets", "4packets"}},
			{Path: "defaults.switch.marking.threshold", Values: []string{"none", "4"}},
			{Path: "model.duration", Values: []string{"20ms"}},
		},
		Metrics: []string{"root.B-BC.utilisation"},
		Clock:   "virtual",
	}
	cells, err := sweep.Run(context.Background(), plan, dir, sweep.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range cells {
		fmt.Printf("%s, threshold %s: %.0f %%\n", c.Values[0], c.Values[1], 100*c.Figures[0].Value)
	}
	// Output:
	// 2packets, threshold none: 62 %
	// 2packets, threshold 4: 61 %
	// 4packets, threshold none: 98 %
	// 4packets, threshold 4: 79 %
}
