package resolve

import (
	"fabemu/emu/base/files"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
	"fabemu/node/rp"
)

// readProgram makes the path of the program of an algorithm absolute, and refuses one that cannot
// be started. It does not start it.
func (r *resolver) readProgram(c *scenario.Control, v yaml.View) {
	p, ok := c.Params.(rp.ExecParams)
	if !ok || p.Program == "" {
		return
	}
	n := v.Sub("control").Node("program")
	path := r.beside(string(p.Program), n)
	if err := files.Runs(path); err != nil {
		r.Add(n.Spot, "program %s: %v", p.Program, unread(err))
	}
	p.Program = rp.Word(path)
	c.Params = p
}

// mostProcesses is how many processes the programs of flows may be, each with a flow.
const mostProcesses = 256

// checkProcesses refuses more processes than a machine should run at a time. The flows of workloads
// come and go, and have none of their own.
func (r *resolver) checkProcesses() {
	n := 0
	for f, of := range each(r.s.Flows, r.FlowOrigins) {
		p, ok := f.Control.Params.(rp.ExecParams)
		if !ok || p.Process == rp.ProcessShared {
			continue
		}
		c := scenario.Scheme{View: of.View.Sub("control"), By: "algorithm", Of: of.Spot}
		if of.Index >= r.Own {
			r.Add(c.SpotOf("process"), "the flows of workload %s come and go, too many for a process each: give the control process: shared", f.Group)
			return
		}
		if n++; n > mostProcesses {
			r.Add(c.SpotOf("process"), "more than %d flows would each have a process with their algorithm: give their control process: shared", mostProcesses)
			return
		}
	}
}
