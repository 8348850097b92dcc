package scenario

import "fmt"

// Problem is something that a rule about several values has found. Load finds its place.
type Problem struct {
	Path string // of the value in the file, such as "links[3].buffer" or "defaults.link.buffer" (Item.Where)
	Text string

	// Manageable is true if a subnet manager may take the problem away during the run.
	Manageable bool
}

// Problems collects what rules find.
type Problems struct {
	List []Problem
	seen map[problem]bool
}

// problem identifies a problem by its place and its kind. Values are often shared: 20 links inherit
// a default, an item stands for 100 flows. Only the first is reported.
type problem struct{ path, format string }

// Add adds a problem with the value at a path, and returns it; nil if the value has it already.
func (p *Problems) Add(path, format string, args ...any) *Problem {
	if p.seen[problem{path, format}] {
		return nil
	}
	if p.seen == nil {
		p.seen = map[problem]bool{}
	}
	p.seen[problem{path, format}] = true
	p.List = append(p.List, Problem{Path: path, Text: fmt.Sprintf(format, args...)})
	return &p.List[len(p.List)-1]
}
