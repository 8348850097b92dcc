package generate

import (
	"iter"
	"strings"
)

// wordsOf visits the lines of a file that have words, by their numbers.
func wordsOf(text []byte) iter.Seq2[int, []string] {
	return func(yield func(int, []string) bool) {
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(words[0], "#") && !yield(n, words) {
				return
			}
		}
	}
}
