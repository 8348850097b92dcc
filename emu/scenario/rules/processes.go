package rules

import (
	"fabemu/emu/scenario"
	"fabemu/node/rp"
)

// mostProcesses is how many processes the programs of flows may be, each with a flow.
const mostProcesses = 256

// processes refuses more processes than a machine should run at a time. The flows of workloads come
// and go, and have none of their own.
func processes(s *scenario.Site, p *scenario.Problems) {
	n := 0
	for i := range s.Flows {
		f := &s.Flows[i]
		exec, ok := f.Control.Params.(rp.ExecParams)
		if !ok || exec.Process == rp.ProcessShared {
			continue
		}
		at := s.Flow(i).In("control").Where("process", "algorithm")
		if i >= s.Own {
			p.Add(at, "the flows of workload %s come and go, too many for a process each: give the control process: shared", f.Group)
			return
		}
		if n++; n > mostProcesses {
			p.Add(at, "more than %d flows would each have a process with their algorithm: give their control process: shared", mostProcesses)
			return
		}
	}
}
