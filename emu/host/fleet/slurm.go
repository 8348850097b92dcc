package fleet

import (
	"fmt"
	"regexp"
)

// firstNode returns the first of the names that a list of Slurm stands for, as "scontrol show hostnames" prints
// them: names with commas between, in which brackets hold numbers and ranges of numbers, "rack[1-2]n[08-10,12],login".
func firstNode(list string) (string, error) {
	first := regexp.MustCompile(`^([^][,\s/]|\[[0-9]+([-,][0-9]+)*\])+`).FindString(list)
	if rest := list[len(first):]; list != "" && (first == "" || rest != "" && rest[0] != ',') {
		return "", fmt.Errorf("the list of nodes %q does not start with a name, such as rack[1-2]n[08-10,12]", list)
	}
	return regexp.MustCompile(`\[([0-9]+)[^]]*\]`).ReplaceAllString(first, "$1"), nil
}
