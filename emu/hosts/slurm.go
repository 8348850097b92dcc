package hosts

import (
	"fmt"
	"strconv"
	"strings"
)

// mostNodes is how many names a list of nodes may stand for.
const mostNodes = 1 << 16

// expandNodes returns the names that a list of Slurm stands for, in its order, as
// "scontrol show hostnames" prints them: names with commas between, in which brackets hold
// numbers and ranges of numbers, "rack[1-2]n[08-10,12],login". The digits of a
// range's first number say how wide its numbers are.
func expandNodes(list string) ([]string, error) {
	var all []string
	for list != "" {
		names := []string{""}
		for list != "" && list[0] != ',' {
			if list[0] != '[' {
				n := strings.IndexAny(list, "[,")
				if n < 0 {
					n = len(list)
				}
				for i := range names {
					names[i] += list[:n]
				}
				list = list[n:]
				continue
			}
			inside, rest, closed := strings.Cut(list[1:], "]")
			if !closed {
				return nil, fmt.Errorf("the list of nodes has a [ without its ] in %q", list)
			}
			numbers, err := expandNumbers(inside)
			if err != nil {
				return nil, err
			}
			if len(all)+len(names)*len(numbers) > mostNodes {
				return nil, fmt.Errorf("the list of nodes stands for more than %d", mostNodes)
			}
			var longer []string
			for _, name := range names {
				for _, number := range numbers {
					longer = append(longer, name+number)
				}
			}
			names, list = longer, rest
		}
		list = strings.TrimPrefix(list, ",")
		for _, name := range names {
			if name == "" || strings.ContainsAny(name, "] \t\n/") {
				return nil, fmt.Errorf("%q in the list of nodes is no name of a node", name)
			}
		}
		all = append(all, names...)
	}
	return all, nil
}

// expandNumbers returns the numbers of a pair of brackets: "08-10,12".
func expandNumbers(text string) (all []string, err error) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 31)
		to, err2 := strconv.ParseUint(last, 10, 31)
		if err != nil || err2 != nil || to < from || to-from >= mostNodes || len(all) > mostNodes {
			return nil, fmt.Errorf("[%s] in the list of nodes: numbers and ranges of them are wanted, as [08-10,12]", text)
		}
		for n := from; n <= to; n++ {
			all = append(all, fmt.Sprintf("%0*d", len(first), n))
		}
	}
	return all, nil
}
