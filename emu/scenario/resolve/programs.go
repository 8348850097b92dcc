package resolve

import (
	"fmt"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/pattern"
	"fabemu/emu/scenario/place"
	"fabemu/emu/scenario/yaml"
)

// programs are the programs that run in guests.
type programs struct {
	all  []scenario.Program
	at   []scenario.Error // for each of them, the place of its command
	left []string         // those that start after the end of the run
}

// makePrograms makes a program for each guest of an item.
func makePrograms(r *fabric, run span) (out programs) {
	names := map[string]place.Place{}
	count := map[string]int{}
	for n, v := range r.items("programs", new(bool)) {
		p := yaml.Build[scenario.Program](v)
		if run.leaves(&out.left, n, p.At, "program "+p.Name, "the program starts at %v, but %s") {
			continue
		}
		command, on := n.Get("run"), n.Get("on")
		if p.Run == "" {
			r.Add(command.Spot, "the command is empty")
		}
		guests := on.Value.(pattern.Names)
		for _, guest := range guests.List() {
			each := p
			each.On = guest
			kind, known := r.GuestKindOf(guest), !r.lost && r.sound("endpoints")
			if known && kind == "" {
				r.Add(on.Spot, "%s is not a guest: programs run in guests; give the endpoint guest: tun", guest)
				break
			}
			if known && kind == scenario.Netstack {
				if err := checkSending(r.Site, guest, p.Run); err != nil {
					r.Add(command.Spot, "%v", err)
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
			out.at = append(out.at, r.Entry(command.Spot, ""))
			out.all = append(out.all, each)
		}
	}
	return out
}

// checkSending refuses a command that a guest of kind netstack cannot run.
func checkSending(r *scenario.Site, guest, run string) error {
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
