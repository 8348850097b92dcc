package archtest

import (
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"fabemu/emu/emutest/golden"
)

// columns is how long a line with nothing but a comment can be, where a tab is four columns.
const columns = 100

// No comment is longer than the columns of a page. With -update the longer ones are broken.
func TestCommentsFitAPage(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range p.files {
			got, err := narrow(f.src)
			if err != nil {
				t.Errorf("%s: %v", f.name, err)
			} else if got != string(f.src) {
				golden.File(t, root+"/"+f.name, got)
			}
		}
	}
}

// item is the beginning of a list's item in a comment: what comes before its text.
var item = regexp.MustCompile(`^// +(?:[-*•]|\d+[.)]) +`)

// begins matches a line that is more than the continuation of the line before it: an item, a
// heading, or a label such as "Source:".
var begins = regexp.MustCompile(`^(?:(?:[-*•#]+|\d+[.)])(?: |$)|[A-Z][a-z]+: )`)

// output matches the comment with the output of an example, which is compared.
var output = regexp.MustCompile(`(?mi)^(unordered )?output:`)

// narrow breaks the comments of a file that are longer than columns. What is broken off goes to the
// beginning of the next line of the same paragraph.
func narrow(src []byte) (string, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(src), "\n")
	alone := make([]bool, len(lines)) // a line has nothing but a comment
	for _, g := range f.Comments {
		if output.MatchString(g.Text()) {
			continue
		}
		for _, c := range g.List {
			n := set.PositionFor(c.Pos(), false).Line - 1
			alone[n] = strings.TrimSpace(lines[n]) == c.Text && strings.HasPrefix(c.Text, "// ")
		}
	}
	for n := 0; n < len(lines); n++ {
		if !alone[n] || width(lines[n]) <= columns {
			continue
		}
		tabs, text := indented(lines[n])
		begin := "// "
		if m := item.FindString(text); m != "" {
			begin = "//" + strings.Repeat(" ", utf8.RuneCountInString(m)-2)
		} else {
			begin += strings.Repeat(" ", len(text[3:])-len(strings.TrimLeft(text[3:], " ")))
		}
		at := strings.LastIndex(cut(lines[n], columns+1), " ")
		for at > 0 && begins.MatchString(lines[n][at+1:]) {
			at = strings.LastIndex(lines[n][:at], " ")
		}
		if at <= len(tabs)+len(begin) {
			continue // a word, such as an address
		}
		rest := lines[n][at+1:]
		lines[n] = strings.TrimRight(lines[n][:at], " ")
		next := n + 1
		if next < len(lines) && alone[next] {
			if more, ok := strings.CutPrefix(lines[next], tabs+begin); ok && more != "" && more[0] != ' ' && !begins.MatchString(more) {
				lines[next] = tabs + begin + rest + " " + more
				continue
			}
		}
		lines = slices.Insert(lines, next, tabs+begin+rest)
		alone = slices.Insert(alone, next, true)
	}
	return strings.Join(lines, "\n"), nil
}

// indented splits a line into its tabs and the rest.
func indented(line string) (tabs, rest string) {
	rest = strings.TrimLeft(line, "\t")
	return line[:len(line)-len(rest)], rest
}

// width is how many columns a line has.
func width(line string) int {
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}

// cut returns the beginning of a line that has so many columns.
func cut(line string, columns int) string {
	for i, r := range line {
		if columns--; r == '\t' {
			columns -= 3
		}
		if columns < 0 {
			return line[:i]
		}
	}
	return line
}

func TestNarrow(t *testing.T) {
	long := strings.Repeat("word ", 17) // 85 columns
	for _, tc := range []struct{ name, src, want string }{
		{"short", "// " + long + "end\n", "// " + long + "end\n"},
		{"alone", "// " + long + "this one goes\nvar x int\n", "// " + long + "this one\n// goes\nvar x int\n"},
		{"next line", "// " + long + "this one goes\n// to the next.\n//\n// P\n", "// " + long + "this one\n// goes to the next.\n//\n// P\n"},
		{"paragraph", "// " + long + "this one goes\n//\n// P\n", "// " + long + "this one\n// goes\n//\n// P\n"},
		{"item", "//   - " + long + "this one goes\n//   - next\n", "//   - " + long + "this one\n//     goes\n//   - next\n"},
		{"rest of item", "//   - x\n//     " + long + "this one goes\n//     next\n", "//   - x\n//     " + long + "this one\n//     goes next\n"},
		{"tabs", "func f() {\n\t\t// " + long + "goes on\n\t\tf()\n}\n", "func f() {\n\t\t// " + long + "goes\n\t\t// on\n\t\tf()\n}\n"},
		{"number", "// " + long + "of twelve, 10. So\n", "// " + long + "of\n// twelve, 10. So\n"},
		{"label", "// " + long + "this one goes\n// Source: A\n", "// " + long + "this one\n// goes\n// Source: A\n"},
		{"a word", "// " + strings.Repeat("x", 100) + "\n", "// " + strings.Repeat("x", 100) + "\n"},
		{"code", "var x = `" + long + "this one is code`\n", "var x = `" + long + "this one is code`\n"},
		{"output", "// Output:\n// " + long + "this one stays\n", "// Output:\n// " + long + "this one stays\n"},
		{"in a text", "var x = `\n// " + long + "this one stays\n`\n", "var x = `\n// " + long + "this one stays\n`\n"},
	} {
		got, err := narrow([]byte("package x\n\n" + tc.src))
		if got = strings.TrimPrefix(got, "package x\n\n"); err != nil || got != tc.want {
			t.Errorf("%s: %v\n got %q\nwant %q", tc.name, err, got, tc.want)
		}
	}
}
