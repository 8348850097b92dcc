package generate

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"fabemu/emu/base/errs"
	"fabemu/emu/scenario"
	"fabemu/switchd/cp"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// sonicEntry is an entry of a table, and sonicTables are those of a configuration.
type (
	sonicEntry  map[string]string
	sonicTables map[string]map[string]sonicEntry
)

// set sets fields of an entry.
func (t sonicTables) set(table, key string, fields ...string) {
	if t[table] == nil {
		t[table] = map[string]sonicEntry{}
	}
	if t[table][key] == nil {
		t[table][key] = sonicEntry{}
	}
	for k := 0; k < len(fields); k += 2 {
		t[table][key][fields[k]] = fields[k+1]
	}
}

// sonicExport writes the configuration of a switch.
type sonicExport struct {
	*scenario.Scenario
	*scenario.Switch
	sonicTables
	ports []string         // in the order of the links of the switch
	links []*scenario.Link // of the ports
	pfc   bool
	left  *notes
}

// SONiC returns a config_db.json for each switch of a scenario, named by the switch: ports and
// neighbours, buffers, PFC and its watchdog, schedulers and WRED profiles. Port k is Ethernet(4k).
// It lists what of the switches and their links SONiC does not have. The error is a *errs.Mistake.
func SONiC(s *scenario.Scenario) (all []File, left []string, err error) {
	at := map[string][]*scenario.Link{}
	names := map[*scenario.Link]map[string]string{} // the port of a link at a switch
	for i := range s.Links {
		l := &s.Links[i]
		names[l] = map[string]string{}
		for _, node := range []string{l.A, l.B} {
			names[l][node] = fmt.Sprintf("Ethernet%d", 4*len(at[node]))
			at[node] = append(at[node], l)
		}
	}
	for i := range s.Switches {
		w := &s.Switches[i]
		if w.Kind != scenario.OutputQueued {
			return nil, nil, errs.Errorf("%s: switch %s is %s, and SONiC's are output-queued", s.Name, w.Name, w.Kind)
		}
		x := &sonicExport{Scenario: s, Switch: w, sonicTables: sonicTables{}, links: at[w.Name], left: &notes{}}
		for _, l := range x.links {
			x.ports = append(x.ports, names[l][w.Name])
		}
		x.pfc = x.links[0].FlowControl == port.PriorityPauseFrames && w.Lossless != 0
		x.set("DEVICE_METADATA", "localhost", "hostname", w.Name)
		for _, step := range []func() error{func() error { return x.writePorts(names) }, x.writeMaps, x.writeBuffers, x.writeWatchdog, x.writeQueues} {
			if err := step(); err != nil {
				return nil, nil, errs.Errorf("%s: %w", s.Name, err)
			}
		}
		x.leaveRest()
		text, err := json.MarshalIndent(x.sonicTables, "", "    ")
		if err != nil {
			return nil, nil, err
		}
		all = append(all, File{Name: w.Name + ".json", Text: append(text, '\n')})
		for _, why := range x.left.order {
			left = append(left, fmt.Sprintf("switch %s: %s", w.Name, why))
		}
	}
	return all, left, nil
}

// writePorts writes the ports, their cables and their neighbours.
func (x *sonicExport) writePorts(names map[*scenario.Link]map[string]string) error {
	for k, l := range x.links {
		name, other, otherPort := x.ports[k], l.A, "eth0"
		if other == x.Switch.Name {
			other = l.B
		}
		if slices.ContainsFunc(x.Switches, func(w scenario.Switch) bool { return w.Name == other }) {
			otherPort = names[l][other]
		}
		if l.Rate%1e6 != 0 {
			return fmt.Errorf("link %s has %s: SONiC has whole Mb/s", l.Name, l.Rate.InBits())
		}
		metres := (l.Propagation + sonicMetre - 1) / sonicMetre
		if metres*sonicMetre != l.Propagation {
			x.left.add(0, "link %s: a cable of %v is %dm", l.Name, l.Propagation, metres)
		}
		x.set("PORT", name, "admin_status", portUp, "index", fmt.Sprint(k+1), "lanes", fmt.Sprintf("%d,%d,%d,%d", 4*k+1, 4*k+2, 4*k+3, 4*k+4), "speed", fmt.Sprint(int64(l.Rate/1e6)))
		x.set("CABLE_LENGTH", "AZURE", name, fmt.Sprintf("%dm", metres))
		x.set("DEVICE_NEIGHBOR", name, "name", other, "port", otherPort)
		if l.FlowControl != port.PriorityPauseFrames && l.FlowControl != port.NoFlowControl {
			x.left.add(0, "link %s: flow-control: %s", l.Name, l.FlowControl)
		}
		if l.Retry.On() {
			x.left.add(0, "link %s: retry", l.Name)
		}
	}
	return nil
}

// ranges writes a set of priorities as ranges: 3-4, 6.
func ranges(set scenario.Priorities) (all []string) {
	for low := 0; low < int(port.Priorities); low++ {
		if set>>low&1 == 0 {
			continue
		}
		high := low
		for high+1 < int(port.Priorities) && set>>(high+1)&1 == 1 {
			high++
		}
		text := fmt.Sprint(low)
		if high > low {
			text = fmt.Sprintf("%d-%d", low, high)
		}
		all, low = append(all, text), high
	}
	return all
}

// writeMaps writes the classes of DSCP, and that each class has its own queue and group.
func (x *sonicExport) writeMaps() error {
	for dscp := range 64 {
		class, listed := x.Model.DSCP.Priority(uint8(dscp))
		if !listed {
			class = uint8(dscp / 8)
		}
		x.set("DSCP_TO_TC_MAP", "AZURE", fmt.Sprint(dscp), fmt.Sprint(class))
	}
	for class := range port.Priorities {
		for _, table := range []string{"TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE"} {
			x.set(table, "AZURE", fmt.Sprint(class), fmt.Sprint(class))
		}
	}
	for _, name := range x.ports {
		x.set("PORT_QOS_MAP", name, "dscp_to_tc_map", "AZURE", "tc_to_queue_map", "AZURE", "tc_to_pg_map", "AZURE", "pfc_to_queue_map", "AZURE")
		if x.pfc {
			x.set("PORT_QOS_MAP", name, "pfc_enable", strings.ReplaceAll(strings.Trim(x.Lossless.String(), "[]"), " ", ""))
		}
	}
	return nil
}

// writeBuffers writes the memory and the watermarks.
func (x *sonicExport) writeBuffers() error {
	total := x.Memory.Total(len(x.links))
	mode := "static"
	if x.Alpha > 0 {
		mode = "dynamic"
	}
	x.set("BUFFER_POOL", "ingress_lossless_pool", "type", "ingress", "mode", mode, "size", fmt.Sprint(int64(total)))
	profile := []string{"pool", "ingress_lossless_pool", "size", "0", "xon", fmt.Sprint(int64(x.Low))}
	switch {
	case !x.pfc:
		return nil
	case x.Alpha > 0:
		n := int(math.Round(math.Log2(x.Alpha)))
		if math.Ldexp(1, n) != x.Alpha {
			x.left.add(0, "alpha %v is 2^%d", x.Alpha, n)
		}
		groups := max(len(x.links)*bits.OnesCount8(uint8(x.Lossless)), 1)
		profile = append(profile, "dynamic_th", fmt.Sprint(n), "xon_offset", fmt.Sprint(int64(x.XonOffset)), "xoff", fmt.Sprint(int64(total-x.Shared)/int64(groups)))
	case x.High > 0:
		profile = append(profile, "static_th", fmt.Sprint(int64(x.High)), "xoff", fmt.Sprint(int64(max(total/unit.Size(len(x.links))-x.High, 0))))
	default:
		return nil
	}
	x.set("BUFFER_PROFILE", "pg_lossless_profile", profile...)
	for _, name := range x.ports {
		for _, group := range ranges(x.Lossless) {
			x.set("BUFFER_PG", name+"|"+group, "profile", "pg_lossless_profile")
		}
	}
	return nil
}

// writeWatchdog writes the PFC watchdog, whose times are whole milliseconds.
func (x *sonicExport) writeWatchdog() error {
	dog := x.Watchdog
	if dog.Poll == 0 {
		return nil
	}
	for _, t := range []unit.Duration{dog.Poll, dog.Detection, dog.Restoration} {
		if t%unit.Millisecond != 0 {
			x.left.add(0, "the watchdog: %v is not whole ms", t)
			return nil
		}
	}
	if dog.Strict {
		x.left.add(0, "strict of the watchdog")
	}
	x.set("PFC_WD", "GLOBAL", "POLL_INTERVAL", fmt.Sprint(int64(dog.Poll/unit.Millisecond)))
	for _, name := range x.ports {
		x.set("PFC_WD", name, "action", dog.Action.Words()[dog.Action], "detection_time", fmt.Sprint(int64(dog.Detection/unit.Millisecond)),
			"restoration_time", fmt.Sprint(int64(dog.Restoration/unit.Millisecond)))
	}
	return nil
}

// writeQueues writes the schedulers and the WRED profile.
func (x *sonicExport) writeQueues() error {
	marked := x.Lossless
	if !x.pfc {
		marked = scenario.AllPriorities
	}
	wred := x.writeWRED()
	for _, name := range x.ports {
		for class, weight := range x.ETS {
			scheduler := "scheduler.strict"
			if weight > 0 {
				scheduler = fmt.Sprintf("scheduler.%d", weight)
				x.set("SCHEDULER", scheduler, "type", "DWRR", "weight", fmt.Sprint(weight))
			} else {
				x.set("SCHEDULER", scheduler, "type", "STRICT")
			}
			queue := fmt.Sprintf("%s|%d", name, class)
			x.set("QUEUE", queue, "scheduler", scheduler)
			if wred && marked>>class&1 == 1 {
				x.set("QUEUE", queue, "wred_profile", "AZURE_LOSSLESS")
			}
		}
	}
	return nil
}

// writeWRED writes the profile by which queues mark, if they do.
func (x *sonicExport) writeWRED() bool {
	p, isECN := x.Marking.Params.(cp.ECNParams)
	if !isECN {
		if x.Marking.Scheme != scenario.NoScheme {
			x.left.add(0, "marking: %s", x.Marking.Scheme)
		}
		return false
	}
	percent := max(int(math.Round(100*p.MaxP)), 1)
	if math.Abs(float64(percent)/100-p.MaxP) > 1e-9 {
		x.left.add(0, "max-p %v of marking is %d %%", p.MaxP, percent)
	}
	if p.Cell > 0 || p.At != cp.AtDequeue {
		x.left.add(0, "at and cell of marking")
	}
	x.set("WRED_PROFILE", "AZURE_LOSSLESS", "ecn", "ecn_all", "wred_green_enable", "true", "green_min_threshold", fmt.Sprint(int64(p.Min)),
		"green_max_threshold", fmt.Sprint(int64(p.Max)), "green_drop_probability", fmt.Sprint(percent))
	return true
}

// leaveRest notes the fields of the switch that SONiC does not have.
func (x *sonicExport) leaveRest() {
	for _, f := range []struct {
		set  bool
		what string
	}{
		{x.Sharing != scenario.Pooled, "sharing: partitioned"},
		{x.OutputLimit > 0, "output-limit"},
		{x.Headroom != 1, "headroom"},
		{x.Forwarding != scenario.StoreAndForward, "forwarding: cut-through"},
	} {
		if f.set {
			x.left.add(0, "%s", f.what)
		}
	}
}
