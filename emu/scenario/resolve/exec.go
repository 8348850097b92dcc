package resolve

import (
	"fabemu/emu/base/files"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
	"fabemu/node/rp"
)

// readProgram makes the path of the program of an algorithm absolute, and refuses one that cannot
// be started. It does not start it.
func readProgram(r *source, c *scenario.Control, v yaml.View) {
	p, ok := c.Params.(rp.ExecParams)
	if !ok || p.Program == "" {
		return
	}
	n := v.Sub("control").Node("program")
	path := beside(r, string(p.Program), n)
	if err := files.Runs(path); err != nil {
		r.Add(n.Spot, "program %s: %v", p.Program, unread(err))
	}
	p.Program = rp.Word(path)
	c.Params = p
}
