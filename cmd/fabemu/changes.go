package main

import (
	"fabemu/emu"
	"fabemu/emu/host"
	"fabemu/emu/scenario"

	"github.com/spf13/cobra"
)

// changes are what a call changes about scenarios.
type changes struct {
	sets  []string
	short bool
}

// add gives a command the flags of changes.
func (x *changes) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&x.sets, "set", nil,
		"change a field of the scenario: PATH=VALUE, such as defaults.link.buffer=8packets (may be repeated)")
	c.Flags().BoolVar(&x.short, "short", false,
		"the short run of the scenario, if it has one: what its section short says takes the place of the rest")
}

// open reads a scenario and changes it; more changes come last.
func (x *changes) open(name string, more ...scenario.Set) (*scenario.Scenario, error) {
	defer host.LateGC()()
	var sets []scenario.Set
	for _, text := range x.sets {
		s, err := scenario.ParseSet(text)
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	sets = append(sets, more...)
	if x.short {
		return emu.OpenShort(name, sets...)
	}
	return emu.Open(name, sets...)
}
