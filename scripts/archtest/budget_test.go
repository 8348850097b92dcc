package archtest

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// lines is the budget of Go without tests: how many lines each room may have. A room that
// has to grow gets its new number here, with the reason in the commit message.
const lines = `
cmd 5141, docs 197, emu 618, emu/run/measured 417, emu/run/barrier 58, emu/watch/capture 3799, emu/run/lookahead 1291
emu/base/errs 90, emu/run/deadlock 416, emu/base/document 340, emu/run/drive 3239, emu/fabric 1179, emu/base/files 445
emu/study/limiters/program 731, emu/emutest/golden 67, emu/run/guest 2660, emu/host 3993, emu/host/fleet 705
emu/limitertest 115, emu/run/carrier 298, emu/watch/live 1666, emu/run/assemble 890, emu/metrics 4594
emu/base/errs 39, emu/watch/observe 1160, emu/watch/openmetrics 707, emu/watch/perfetto 765, emu/run/process 4257
emu/record 726, emu/result/report 8365, emu/emutest/runtest 320, emu/scenario 9138, emu/scenario/builtin 162
emu/scenario/schema 347, emu/base/spelling 120, emu/study 61, emu/study/limiters/bench 2059, emu/study/campaign 875
emu/study/papers/fluid 1109, emu/scenario/generate 1003, emu/study/limiters 1665, emu/study/propose 600
emu/study/papers 4421, emu/study/scale 85, emu/study/sweep 920, emu/base/terminal 237
emu/run/pace 462, emu/watch/feedback 414, node 10554, scripts 1350, switchd 3937, wire 12025
`

// roomOf returns the room of a file: its first folder, two of emu, three of emu/study.
func roomOf(name string) string {
	parts := strings.Split(path.Dir(name), "/")
	n := 1
	if parts[0] == "emu" {
		n = 2
	}
	if n < len(parts) && parts[1] == "study" {
		n = 3
	}
	return path.Join(parts[:min(n, len(parts))]...)
}

func TestLinesOfRooms(t *testing.T) {
	have := map[string]int{}
	for _, name := range files(t) {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if src, err := os.ReadFile(filepath.Join(root, name)); err == nil {
			have[roomOf(name)] += bytes.Count(src, []byte("\n"))
		}
	}
	may := map[string]int{}
	for row := range strings.SplitSeq(strings.NewReplacer("\n", ",").Replace(lines), ",") {
		if room, number, ok := strings.Cut(strings.TrimSpace(row), " "); ok {
			n, err := strconv.Atoi(number)
			if err != nil {
				t.Fatal(err)
			}
			may[room] = n
		}
	}
	for _, room := range slices.Sorted(maps.Keys(have)) {
		if grown := have[room] - may[room]; grown > 0 {
			t.Errorf("%s has %d lines, %d more than its budget of %d", room, have[room], grown, may[room])
		}
	}
	for room := range may {
		if have[room] == 0 {
			t.Errorf("%s has a budget and no Go", room)
		}
	}
}

// patterns are those of sentences that are hard to read, with how many may be left of each:
// in comments, in messages and help texts, and in documents. The numbers only fall: left are names (package told, keys of
// JSON) and titles of slides.
var patterns = []struct {
	about  string
	re     *regexp.Regexp
	budget [3]int
}{
	{"code that tells, hears, heeds, knows or says", regexp.MustCompile(`(?i)\b(tells?|told|hears?|heard|heeds?|knows?|knew|says?|said)\b`), [3]int{8, 13, 5}},
	{"that of, those of", regexp.MustCompile(`(?i)\b(that|those) of\b`), [3]int{0, 0, 1}},
	{"a clause that begins with what or whoever", regexp.MustCompile(`(?i)\b(what|whoever)\b`), [3]int{0, 4, 4}},
}

// TestPlainSentences: a sentence has a subject, a verb and a noun. Instead of "the rate is
// told to those of the port", write "the limiter sends its rate to the port's queues".
func TestPlainSentences(t *testing.T) {
	texts := [3]map[string]string{{}, {}, {}}
	for _, p := range packages(t) {
		if !p.isProduct() {
			continue
		}
		room := roomOf(p.dir + "/x.go")
		for _, f := range p.product() {
			for _, c := range f.ast.Comments {
				texts[0][room] += c.Text()
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if b, ok := n.(*ast.BasicLit); ok && b.Kind == token.STRING {
					texts[1][room] += b.Value + "\n"
				}
				return true
			})
		}
	}
	for name, text := range documents(t) {
		texts[2][path.Dir(name)] += text
	}
	for _, x := range patterns {
		for i, in := range []string{"comments", "messages", "documents"} {
			n, rooms := 0, []string{}
			count := map[string]int{}
			for room, text := range texts[i] {
				count[room] = len(x.re.FindAllString(text, -1))
				n += count[room]
			}
			if n <= x.budget[i] {
				continue
			}
			for _, room := range slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Compare(count[b], count[a]) }) {
				if count[room] > 0 {
					rooms = append(rooms, fmt.Sprintf("%s %d", room, count[room]))
				}
			}
			t.Errorf("%s, in %s: %d, and %d are the most:\n%s", x.about, in, n, x.budget[i], strings.Join(rooms, ", "))
		}
	}
}
