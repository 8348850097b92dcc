package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"fabemu/emu"
	"fabemu/emu/fabric"
	"fabemu/emu/fabric/draw"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"

	"github.com/spf13/cobra"
)

func graphCommand() *cobra.Command {
	var x changes
	var f commonFlags
	var out outFile
	var o graphOptions
	c := &cobra.Command{
		Use:               "graph SCENARIO",
		Short:             "Draw the fabric of a scenario and the paths of its flows",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeScenario,
		RunE: func(c *cobra.Command, args []string) error {
			if err := graphFormat(c, &f.Format, out.Name); err != nil {
				return err
			}
			s, err := x.open(args[0])
			if err != nil {
				return err
			}
			showWarnings(s)
			laidOut, err := emu.Prepare(s)
			if err != nil {
				return err
			}
			loads, err := o.loads(laidOut)
			if err != nil {
				return err
			}
			draw := map[string]func(io.Writer, *scenario.Scenario,
				*fabric.Fabric, *draw.Loads) error{"svg": draw.SVG, "dot": draw.DOT, "mermaid": draw.Mermaid}[f.Format]
			var picture bytes.Buffer
			if err := draw(&picture, s, laidOut, loads); err != nil {
				return failure{err}
			}
			return out.write(c, picture.Bytes())
		},
	}
	add(c, &x)
	add(c, &o)
	f.formats(c, "svg", "dot", "mermaid")
	add(c, &out)
	return c
}

// graphOptions are the flags of graph.
type graphOptions struct {
	// Of equal outputs, draw what this run of the scenario has carried over each.
	//
	// DIR is its results. Without it, equal outputs have the number of flows that the hash gives
	// each.
	Results string `flag:"results" arg:"DIR"`
}

// loads returns the loads of equal outputs.
func (o *graphOptions) loads(f *fabric.Fabric) (*draw.Loads, error) {
	if o.Results == "" {
		return draw.FlowLoads(f), nil
	}
	d, err := report.ReadDir(o.Results)
	if err != nil {
		return nil, err
	}
	if d.Scenario != f.Scenario.Name {
		return nil, fmt.Errorf("--results %s: that is a run of %s, and the drawing is of %s", o.Results, d.Scenario, f.Scenario.Name)
	}
	bytes := map[string]int64{}
	for i := range d.Links {
		bytes[d.Links[i].Name] = d.Links[i].Bytes
	}
	l, missing := draw.CarriedLoads(f, bytes)
	if missing != "" {
		return nil, fmt.Errorf("--results %s: that is a run of another fabric than %s: it has no link %s", o.Results, f.Scenario.Name, missing)
	}
	return l, nil
}

// graphEndings are the formats of files by how their names end.
var graphEndings = map[string]string{".svg": "svg", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid"}

// graphFormat takes the format from the name of the file, unless --format is given. It refuses a
// name with the ending of another format, or of a picture that is none of the formats.
func graphFormat(c *cobra.Command, format *string, name string) error {
	ending := strings.ToLower(filepath.Ext(name))
	meant, chosen := graphEndings[ending], c.Flags().Changed("format")
	switch {
	case slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".eps", ".ps"}, ending):
		svg := strings.TrimSuffix(name, filepath.Ext(name)) + ".svg"
		return fmt.Errorf("--out %s: graph draws SVG, DOT and Mermaid: write %s, and open that in a browser, or convert it with rsvg-convert",
			name, svg)
	case meant != "" && chosen && meant != *format:
		return fmt.Errorf("--out %s and --format %s: the name is for %s; one of them is wrong", name, *format, meant)
	case meant != "":
		*format = meant
	}
	return nil
}
