package lint

import (
	"fmt"

	"fabemu/emu/scenario"
)

// idle warns of links that no flow uses, once for each item of the file. If a --set has left flows
// out, a longer run may use them.
func idle(s *scenario.Site, p *scenario.Problems) {
	if s.Shortened {
		return
	}
	keys := make([]scenario.Key, len(s.Flows))
	for i := range keys {
		keys[i] = s.Key(i)
	}
	could := s.Paths.ECMP().Used(keys, len(s.Links)) // with routing: ecmp
	var first []int                                  // the first idle link of each item
	more := map[string]int{}
	for i := range s.Links {
		item := s.Link(i).Path()
		if s.Largest(i) != nil {
			continue
		}
		if _, met := more[item]; !met {
			first = append(first, i)
			more[item] = -1
		}
		more[item]++
	}
	const most = 5 // items that are named
	for k, i := range first {
		item, nor, hint := s.Link(i).Path(), "", ""
		if k == most-1 && len(first) > most {
			p.Add(item, "no flow uses the links of this item and of %d more, in part or all of them", len(first)-most)
			return
		}
		if more[item] > 0 {
			nor = fmt.Sprintf(", nor %d more of this item", more[item])
		}
		if could[i] {
			hint = ": of several shortest paths one is taken; routing: ecmp takes all"
		}
		p.Add(item, "no flow uses link %s%s%s", s.Links[i].Name, nor, hint)
	}
}
