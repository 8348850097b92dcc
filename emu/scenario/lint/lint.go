package lint

import (
	"fmt"

	"fabemu/emu/scenario"
	"fabemu/wire/param"
)

// Check returns what is probably not intended in a scenario.
func Check(s *scenario.Site) []scenario.Problem {
	p := &problems{seen: map[problem]bool{}}
	for _, rule := range []func(*scenario.Site, *problems){
		retries, channels, rest, ignored, credits, algorithms, madeFor, inactions, losses, idle, guests, timeouts, deadlocks,
	} {
		rule(s, p)
	}
	return p.list
}

// problems collects what rules find.
type problems struct {
	list []scenario.Problem
	seen map[problem]bool
}

// problem identifies a problem by its place and its kind. Values are often shared: 20 links inherit
// a default, an item stands for 100 flows. Only the first is warned of.
type problem struct{ path, format string }

// add adds a problem with the value at a path, and returns it; nil if the value has it already.
func (p *problems) add(path, format string, args ...any) *scenario.Problem {
	if p.seen[problem{path, format}] {
		return nil
	}
	p.seen[problem{path, format}] = true
	p.list = append(p.list, scenario.Problem{Path: path, Text: fmt.Sprintf(format, args...)})
	return &p.list[len(p.list)-1]
}

// pathOf returns the path of the first of some keys that is given in an object, or else the path of
// its item.
func pathOf(of scenario.Item, keys ...string) string {
	for _, key := range keys {
		if from := of.Mention(key); from.Given() {
			return from.Path
		}
	}
	return of.Path()
}

// textOf returns a parameter as a scenario writes it; empty if the scheme does not have the key.
func textOf(params any, key string) string {
	if params == nil {
		return ""
	}
	if p := param.Of(params).Find(key); p != nil {
		return p.Text(params)
	}
	return ""
}
