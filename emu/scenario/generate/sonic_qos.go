package generate

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/switchd"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// referred returns the name in a reference, such as [BUFFER_PROFILE|pg_lossy_profile] of earlier
// versions.
func referred(text string) string {
	text = strings.Trim(text, "[]")
	return text[strings.LastIndexByte(text, '|')+1:]
}

// classes reads a list of priorities or a range: 3,4 or 3-4.
func (w *sonicSwitch) classes(line int, text string) (set scenario.Priorities, err error) {
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, wrongLow := strconv.ParseUint(low, 10, 8)
		to, wrongHigh := strconv.ParseUint(high, 10, 8)
		if wrongLow != nil || wrongHigh != nil || from > to || to >= 64 {
			return 0, w.wrong(line, "%.40q is not a list of priorities, such as 3,4", text)
		}
		for class := from; class <= to && class < port.Priorities; class++ {
			set |= 1 << class
		}
	}
	return set, nil
}

// eachQueue visits the entries of a table by port and priority, such as Ethernet0|3-4, in the order
// of the ports.
func (w *sonicSwitch) eachQueue(table *sonicValue, visit func(p *sonicPort, set scenario.Priorities, entry *sonicValue) error) error {
	if table == nil {
		return nil
	}
	by := map[string][]string{}
	for _, key := range table.keys {
		names, _, ok := strings.Cut(key, "|")
		if !ok || strings.Count(key, "|") != 1 {
			continue
		}
		for name := range strings.SplitSeq(names, ",") {
			by[name] = append(by[name], key)
		}
	}
	for _, p := range w.ports {
		for _, key := range by[p.name] {
			entry := table.get(key)
			set, err := w.classes(entry.line, key[strings.IndexByte(key, '|')+1:])
			if err != nil {
				return err
			}
			if err := visit(p, set, entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// readMaps reads the lossless priorities, and the classes of DSCP. All ports of a switch have the
// same.
func (w *sonicSwitch) readMaps() error {
	table := w.db.get("PORT_QOS_MAP")
	names := map[string]string{} // by field, its value at the first port
	for _, p := range w.ports {
		v := table.get(p.name)
		if v == nil {
			continue
		}
		if f := v.get("pfc_enable"); f != nil {
			set, err := w.classes(f.line, f.text)
			if err != nil {
				return err
			}
			if w.pfc != 0 && set != w.pfc {
				w.left.add(f.line, "pfc_enable %s: a switch has the lossless priorities of all its ports", f.text)
			}
			w.pfc |= set
		}
		for _, key := range []string{"dscp_to_tc_map", "tc_to_queue_map", "tc_to_pg_map", "pfc_to_queue_map", "pfc_to_pg_map"} {
			f := v.get(key)
			switch {
			case f == nil:
			case names[key] == "":
				names[key] = referred(f.text)
			case names[key] != referred(f.text):
				w.left.add(f.line, "%s %s: a switch has one, and takes %s", key, referred(f.text), names[key])
			}
		}
	}
	if m, err := w.readMap("DSCP_TO_TC_MAP", names["dscp_to_tc_map"], 63); err != nil {
		return err
	} else if m != nil {
		w.dscp, w.dscpAt = m, w.db.get("DSCP_TO_TC_MAP").line
	}
	for _, m := range []struct {
		table, name string
		of          scenario.Priorities
	}{
		{"TC_TO_QUEUE_MAP", names["tc_to_queue_map"], scenario.AllPriorities},
		{"MAP_PFC_PRIORITY_TO_QUEUE", names["pfc_to_queue_map"], w.pfc},
		{"TC_TO_PRIORITY_GROUP_MAP", names["tc_to_pg_map"], w.pfc},
		{"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", names["pfc_to_pg_map"], w.pfc},
	} {
		to, err := w.readMap(m.table, m.name, 63)
		if err != nil {
			return err
		}
		for from := range int(port.Priorities) {
			if has, ok := to[from]; ok && has != from && m.of>>from&1 == 1 {
				w.left.add(w.db.fields[m.table].line, "%s: %d has %d: a priority is its own queue and group", m.table, from, has)
			}
		}
	}
	return nil
}

// readMap reads a map of numbers up to most, to classes.
func (w *sonicSwitch) readMap(table, name string, most int64) (map[int]int, error) {
	v := w.db.get(table).get(name)
	if v == nil {
		return nil, nil
	}
	m := map[int]int{}
	for _, key := range v.keys {
		from, err := strconv.ParseInt(key, 10, 64)
		if err != nil || from < 0 || from > most {
			return nil, w.wrong(v.fields[key].line, "%.40q is not a number from 0 to %d", key, most)
		}
		to, err := w.number(v, key, 0, 15, 0)
		switch {
		case err != nil:
			return nil, err
		case to >= int64(port.Priorities):
			w.left.add(v.fields[key].line, "%s: class %d: priorities are 0 to %d", table, to, port.Priorities-1)
			continue
		}
		m[int(from)] = int(to)
	}
	return m, nil
}

// readBuffers reads the memory and the watermarks: the pool and the profile of the lossless
// priority groups.
func (w *sonicSwitch) readBuffers() error {
	profiles, pools := w.db.get("BUFFER_PROFILE"), w.db.get("BUFFER_POOL")
	chosen, pool := "", "ingress_lossless_pool"
	err := w.eachQueue(w.db.get("BUFFER_PG"), func(p *sonicPort, set scenario.Priorities, entry *sonicValue) error {
		name := referred(entry.word("profile"))
		switch {
		case set&w.pfc == 0 || name == "NULL" || name == "":
		case chosen == "":
			chosen = name
		case chosen != name:
			w.left.add(entry.line, "profile %s: a switch has one for lossless priorities, and takes %s", name, chosen)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(w.ports) == 0 {
		return nil
	}
	profile, memory := profiles.get(chosen), w.memoryOfPorts()
	if name := referred(profile.word("pool")); name != "" {
		pool = name
	}
	size, err := w.number(pools.get(pool), "size", 0, 1<<40, 0)
	if err != nil {
		return err
	}
	reserve, err := w.number(pools.get(pool), "xoff", 0, 1<<40, 0)
	if err != nil {
		return err
	}
	switch p := pools.get(pool); {
	case p == nil:
	case size == 0:
		w.doubts.add(p.line, "pool %s has no size: the memory is that of the ports", pool)
	case size+reserve > math.MaxInt32:
		w.left.add(p.line, "pool %s: a memory of %d bytes; a switch has at most %d", pool, size+reserve, math.MaxInt32)
	default:
		memory = unit.Size(size + reserve)
		w.fields = append(w.fields, fmt.Sprintf("memory: %v", memory), pooled)
	}
	if profile == nil {
		return nil
	}
	if profile.fields["dynamic_th"] != nil {
		return w.readDynamic(profile, memory, slices.Contains(w.fields, pooled))
	}
	return w.readProfile(profile, memory/unit.Size(len(w.ports)))
}

// pooled is the field of a switch whose inputs share one memory.
const pooled = "sharing: pooled"

// memoryOfPorts is the memory of a switch whose file states none.
func (w *sonicSwitch) memoryOfPorts() unit.Size {
	longest := 0.0
	for _, p := range w.ports {
		longest = max(longest, p.propagation.Seconds()*float64(p.rate)/8)
	}
	return unit.Size(memoryFor(longest)*len(w.ports)) * unit.KB
}

// headroom is what an input needs above the high watermark for each lossless priority: at most, for
// the flow of the scenario.
func (w *sonicSwitch) headroom(dynamic bool) (most unit.Size) {
	const frame = 1200
	for _, p := range w.ports {
		most = max(most, port.Headroom{Rate: p.rate, There: p.propagation, Back: p.propagation, Frame: frame, Reverse: frame, Pause: 64, Dynamic: dynamic}.Bytes())
	}
	return most
}

// readDynamic reads a profile of lossless priority groups whose watermark is 2^dynamic_th times the
// free memory, if the headroom of all inputs leaves some of that.
func (w *sonicSwitch) readDynamic(v *sonicValue, memory unit.Size, shares bool) error {
	var n [4]int64
	for k, key := range []string{"dynamic_th", "size", "xon", "xon_offset"} {
		low, high := int64(0), int64(1<<40)
		if k == 0 {
			low, high = math.MinInt8, math.MaxInt8
		}
		var err error
		if n[k], err = w.number(v, key, low, high, 0); err != nil {
			return err
		}
	}
	alpha := math.Ldexp(1, int(n[0]))
	if n[0] < -10 || n[0] > 10 {
		w.left.add(v.line, "dynamic_th %d: alpha is a power of two from 2^-10 to 2^10: the watermark is computed", n[0])
		return nil
	}
	need := w.headroom(true) * unit.Size(len(w.ports)*bits.OnesCount8(uint8(w.pfc)))
	alone := alpha / (1 + alpha) * float64(memory-need)
	if alone < 1 {
		w.left.add(v.line, "dynamic_th %d: the headroom of all inputs, %v, leaves nothing of a memory of %v: the watermark is computed", n[0], need, memory)
		return nil
	}
	if !shares {
		w.fields = append(w.fields, pooled)
	}
	w.fields = append(w.fields, fmt.Sprintf("alpha: %v", alpha))
	if n[1] > 0 {
		w.left.add(v.line, "size %d: no memory is reserved for an input", n[1])
	}
	switch low := n[2]; {
	case float64(low) >= alone:
		w.left.add(v.line, "xon %d: an input alone is stopped at %.0f bytes, and resumes below that", low, alone)
	case low > 0:
		w.fields = append(w.fields, fmt.Sprintf("low: %v", unit.Size(low)))
	}
	if n[3] > 0 {
		w.fields = append(w.fields, fmt.Sprintf("xon-offset: %v", unit.Size(n[3])))
	}
	return nil
}

// readProfile reads the watermarks of a profile of lossless priority groups, if they and the
// headroom fit into the part of the memory that an input has.
func (w *sonicSwitch) readProfile(v *sonicValue, part unit.Size) error {
	var n [4]int64
	for k, key := range []string{"size", "static_th", "xon", "xon_offset"} {
		var err error
		if n[k], err = w.number(v, key, 0, 1<<40, 0); err != nil {
			return err
		}
	}
	if v.fields["static_th"] == nil {
		return nil
	}
	high, classes := n[0]+n[1], bits.OnesCount8(uint8(w.pfc))
	if need := unit.Size(high)*unit.Size(classes+1) + w.headroom(false)*unit.Size(classes); need > part {
		w.left.add(v.line, "static_th: a watermark of %v needs a part of the memory of %v for an input, and it is %v: the watermark is computed", unit.Size(high), need, part)
		return nil
	}
	w.fields = append(w.fields, fmt.Sprintf("high: %v", unit.Size(high)))
	low := n[2]
	if n[3] > 0 {
		low = max(low, high-n[3])
	}
	if low > 0 {
		w.fields = append(w.fields, fmt.Sprintf("low: %v", unit.Size(low)))
	}
	return nil
}

// readWatchdog reads the PFC watchdog of the first port that has one.
func (w *sonicSwitch) readWatchdog() error {
	table := w.db.get("PFC_WD")
	poll, err := w.number(table.get("GLOBAL"), "POLL_INTERVAL", 1, 1e6, 200)
	if err != nil {
		return err
	}
	chosen := ""
	for _, p := range w.ports {
		v := table.get(p.name)
		if v == nil || v.fields["detection_time"] == nil {
			continue
		}
		detection, err := w.number(v, "detection_time", 1, 1e6, 0)
		if err != nil {
			return err
		}
		restoration, err := w.number(v, "restoration_time", 1, 1e6, 2*detection)
		if err != nil {
			return err
		}
		action := v.word("action")
		if action == "" {
			action = "drop"
		}
		if !slices.Contains(switchd.StormDrop.Words(), action) {
			return w.wrong(v.line, "the action %.40q of the watchdog is none of %s", action, strings.Join(switchd.StormDrop.Words(), ", "))
		}
		dog := fmt.Sprintf("watchdog: {action: %s, detection: %dms, restoration: %dms, poll: %dms}", action, detection, restoration, poll)
		switch {
		case chosen == "":
			chosen = dog
			w.fields = append(w.fields, dog)
		case chosen != dog:
			w.left.add(v.line, "PFC_WD: a switch has one watchdog, and takes that of another port")
		}
	}
	return nil
}

// readQueues reads the schedulers and the WRED profiles of queues.
func (w *sonicSwitch) readQueues() error {
	schedulers, profiles := w.db.get("SCHEDULER"), w.db.get("WRED_PROFILE")
	weights, known, marking := scenario.Weights{}, scenario.Priorities(0), ""
	err := w.eachQueue(w.db.get("QUEUE"), func(p *sonicPort, set scenario.Priorities, entry *sonicValue) error {
		if name := referred(entry.word("scheduler")); name != "" {
			weight, err := w.scheduler(entry, name, schedulers.get(name))
			if err != nil {
				return err
			}
			for class := range weights {
				switch {
				case set>>class&1 == 0:
				case known>>class&1 == 0:
					weights[class] = weight
				case weights[class] != weight:
					w.left.add(entry.line, "scheduler %s: all ports of a switch have the weights of the first", name)
				}
			}
			known |= set
		}
		name := referred(entry.word("wred_profile"))
		if name == "" || marking != "" && name == marking {
			return nil
		}
		if w.pfc != 0 && set&w.pfc == 0 || marking != "" {
			w.left.add(entry.line, "wred_profile %s: a switch has one, that of the lossless priorities", name)
			return nil
		}
		marking = name
		return w.wred(entry, name, profiles.get(name))
	})
	if weights != (scenario.Weights{}) {
		w.fields = append(w.fields, "ets: "+weights.String())
	}
	return err
}

// scheduler reads the weight of a scheduler; 0: strict priority.
func (w *sonicSwitch) scheduler(entry *sonicValue, name string, v *sonicValue) (int, error) {
	if v == nil {
		return 0, w.wrong(entry.line, "there is no scheduler %.60q", name)
	}
	kind := v.word("type")
	switch kind {
	case "STRICT", "":
		return 0, nil
	case "WRR":
		w.left.add(v.line, "scheduler %s: WRR counts packets, and ets bytes", name)
	case "DWRR":
	default:
		return 0, w.wrong(v.line, "the type %.40q of scheduler %s is none of DWRR, WRR, STRICT", kind, name)
	}
	n, err := w.number(v, "weight", 1, 1000, 1)
	return int(n), err
}

// wred reads a WRED profile that marks.
func (w *sonicSwitch) wred(entry *sonicValue, name string, v *sonicValue) error {
	if v == nil {
		return w.wrong(entry.line, "there is no WRED profile %.60q", name)
	}
	if mode := v.word("ecn"); mode != "ecn_all" && mode != "ecn_green" && mode != "ecn_green_yellow" && mode != "ecn_green_red" {
		w.left.add(v.line, "WRED profile %s: it does not mark green frames, and lossless frames are never dropped", name)
		return nil
	}
	if on := v.word("wred_green_enable"); on == "false" {
		w.left.add(v.line, "WRED profile %s: it is not enabled for green frames", name)
		return nil
	}
	var n [3]int64
	for k, key := range []string{"green_min_threshold", "green_max_threshold", "green_drop_probability"} {
		var err error
		if n[k], err = w.number(v, key, 0, []int64{1 << 40, 1 << 40, 100}[k], []int64{0, 0, 100}[k]); err != nil {
			return err
		}
	}
	if n[1] < n[0] || n[2] == 0 {
		return w.wrong(v.line, "WRED profile %s marks from %d to %d bytes with at most %d %%: that is nothing", name, n[0], n[1], n[2])
	}
	w.ecn = true
	w.fields = append(w.fields, fmt.Sprintf("marking: {scheme: ecn, min: %v, max: %v, max-p: %v}", unit.Size(n[0]), unit.Size(n[1]), float64(n[2])/100))
	return nil
}
