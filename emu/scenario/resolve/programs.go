package resolve

import (
	"fmt"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/pattern"
	"fabemu/emu/scenario/place"
	"fabemu/emu/scenario/yaml"
)

// resolvePrograms makes a program for each guest of an item.
func (r *resolver) resolvePrograms() {
	names := map[string]place.Place{}
	count := map[string]int{}
	for n, v := range r.items("programs") {
		p := yaml.Build[scenario.Program](v)
		if r.leaves(n, p.At, "program "+p.Name, "the program starts at %v, but %s") {
			continue
		}
		run, on := n.Get("run"), n.Get("on")
		if p.Run == "" {
			r.Add(run.Spot, "the command is empty")
		}
		guests := on.Value.(pattern.Names)
		for _, guest := range guests.List() {
			each := p
			each.On = guest
			kind, known := r.GuestKindOf(guest), !r.fabricLost && r.sound("endpoints")
			if known && kind == "" {
				r.Add(on.Spot, "%s is not a guest: programs run in guests; give the endpoint guest: tun", guest)
				break
			}
			if known && kind == scenario.Netstack {
				if err := r.checkSending(guest, p.Run); err != nil {
					r.Add(run.Spot, "%v", err)
					break
				}
			}
			count[guest]++
			switch {
			case each.Name == "":
				each.Name = fmt.Sprintf("%s-%d", guest, count[guest])
			case guests.Ranged:
				each.Name += "-" + guest
			}
			if first, twice := names[each.Name]; twice {
				r.Add(n.Spot, "duplicate name %q: a program has it already%s", each.Name, place.InLine(first))
				break
			}
			names[each.Name] = n.At
			r.programs = append(r.programs, r.Entry(run.Spot, ""))
			r.s.Programs = append(r.s.Programs, each)
		}
	}
}

// checkSending refuses a command that a guest of kind netstack cannot run.
func (r *resolver) checkSending(guest, run string) error {
	s, err := scenario.ReadSending(run)
	if err != nil {
		return fmt.Errorf("guest %s is a stack in this program: %w", guest, err)
	}
	switch {
	case s.To == guest:
		return fmt.Errorf("guest %s would send to itself", guest)
	case r.GuestKindOf(s.To) == "":
		return fmt.Errorf("guest %s would send to %s, which is not a guest", guest, s.To)
	}
	return nil
}
