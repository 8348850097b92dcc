package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages are groups of documents and other texts for users, and the words that each may have, as wc counts them. Lower a
// number when a group gets shorter. A page that has to grow takes its words from another page of the group, or gets a
// new number with the reason in the commit message.
var pages = []struct {
	pattern string
	most    int
}{
	{"README.md", 700},
	{"ARCHITECTURE.md", 2180},
	{"CONTRIBUTING.md", 1470},
	{"CHANGELOG.md", 450},
	{"docs/README.md", 260},
	{"docs/guide/*.md", 25060},
	{"docs/guide/faults.md", 1030},
	{"docs/guide/limiters.md", 1330},
	{"docs/guide/wireshark.md", 1300},
	{"docs/guide/workloads.md", 840},
	{"docs/reference/*.md", 15195},
	{"docs/notes/*.md", 2000},
	{"docs/papers/*.md", 39350},
	{"cmd/fabemu/help.txt", 3200},
	{"cmd/fabemu/flags.txt", 1950},
	{"wire/param/docs.txt", 7370}, // comments on fields
	{"emu/scenario/builtin/*/*.yaml", 38000},
}

// private are words of this project that a reader does not know, or that stand for a word of the field, and what to
// write instead.
var private = map[string]string{
	"anew": "again", "came out": "the result was", "likewise": "too, or the same", "nobody": "no node, no process", "somebody": "another process",
	"goes with": "requires, or is compatible with", "at the most": "at most", "of its own accord": "by itself",
	"main job": "default scenario", "overtaken": "late", "as the paper has it": "as in the paper", "comes out": "the result is",
	"beside": "next to, or compared with", "stands": "is", "reckon": "count", "send again": "retransmit", "furthest": "farthest",
}

func TestWordsOfDocuments(t *testing.T) {
	all := map[string]*regexp.Regexp{}
	for word := range private {
		all[word] = regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(word, " ", `\s+`) + `\b`)
	}
	for _, g := range pages {
		names, err := filepath.Glob(filepath.Join("../..", g.pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: no documents, %v", g.pattern, err)
		}
		words := 0
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			words += len(strings.Fields(string(b)))
			for word, re := range all {
				if at := re.FindIndex(b); at != nil && !strings.HasPrefix(g.pattern, "docs/papers") { // papers are quoted
					line := 1 + strings.Count(string(b[:at[0]]), "\n")
					t.Errorf("%s:%d: %q: write %s", strings.TrimPrefix(name, "../../"), line, word, private[word])
				}
			}
		}
		if words > g.most {
			t.Errorf("%s: %d words, and the limit is %d", g.pattern, words, g.most)
		}
	}
}
