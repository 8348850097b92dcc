package spelling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Nearest returns the intended word for a misspelt one, or "" if none is
// near: at most one letter in three may differ (rounded up), or one word must
// begin with the other ("multi" for "multi-output"). Of words that
// are equally near, it takes the one with the longer common beginning, so that
// "GBs" is GB/s.
func Nearest(word string, words []string) string {
	letters := len(fold(word))
	most := (letters + 2) / 3
	if letters == 1 {
		most = 0
	}
	best, bestDistance := "", most+1
	for _, w := range words {
		d := distance(word, w)
		if d < bestDistance || d == bestDistance && best != "" && agreement(word, w) > agreement(word, best) {
			best, bestDistance = w, d
		}
	}
	if best != "" || len(word) < 2 {
		return best
	}
	for _, w := range words {
		if len(w) >= 2 && (strings.HasPrefix(fold(w), fold(word)) || strings.HasPrefix(fold(word), fold(w))) {
			return w
		}
	}
	return ""
}

// ByNearness sorts words, the nearest to a misspelt one first; of those equally near,
// the one that agrees longer from its begin. When none is near the order stays.
func ByNearness(word string, words []string) []string {
	sorted := slices.Clone(words)
	if Nearest(word, words) != "" {
		Sort(word, sorted, func(w string) string { return w })
	}
	return sorted
}

// Sort sorts words by their parts that a function returns: the nearest to a misspelt word first,
// however far it is.
func Sort(word string, words []string, part func(string) string) {
	slices.SortStableFunc(words, func(a, b string) int {
		a, b = part(a), part(b)
		return cmp.Or(distance(word, a)-distance(word, b), agreement(word, b)-agreement(word, a))
	})
}

// Some lists at most n words, and says how many more there are.
func Some(words []string, most int) string {
	if more := len(words) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), more)
	}
	return strings.Join(words, ", ")
}

// Several lists words, of very many the first, for a message.
func Several(words []string) string { return Some(words, 24) }

// DidYouMean asks in brackets, after a space, whether near was meant; it is "" when
// near is.
func DidYouMean(near string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", near)
}

// Same reports whether two words are the same, whatever the case and whether parts of
// them are joined by "-" or "_".
func Same(a, b string) bool { return fold(a) == fold(b) }

// distance is the number of letters to insert, delete, change or swap with their
// neighbour to get from a to b (optimal string alignment), whatever the case and
// whether words are joined by "-" or "_".
func distance(a, b string) int {
	x, y := fold(a), fold(b)
	rows := [3][]int{make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(x); i++ {
		before, last, row := rows[0], rows[1], rows[2]
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		rows[0], rows[1], rows[2] = last, row, before
	}
	return rows[1][len(y)]
}

// agreement is how many letters two words have in common at their begin.
func agreement(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func fold(s string) string {
	if len(s) > 64 { // longer than any word of ours: more letters cannot make it near
		s = s[:64]
	}
	return strings.Map(func(c rune) rune {
		if c == '_' || c == '-' || c == ' ' {
			return -1
		}
		return c
	}, strings.ToLower(s))
}
