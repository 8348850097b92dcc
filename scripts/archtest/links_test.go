package archtest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	linked  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	named   = regexp.MustCompile(`\bdocs/[\w./-]*\.(md|svg|png|json|yaml|yml)\b`)
)

// documents returns the texts of the Markdown files of the tree by path, without fenced code.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range files(t) {
		if path.Ext(name) != ".md" || strings.Contains(name, "testdata/") || strings.Contains(name, "papers/words/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, the deletion not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		all[name] = fenced.ReplaceAllString(string(text), "")
	}
	if len(all) < 20 {
		t.Fatalf("only %d documents found: the test looks in the wrong place", len(all))
	}
	return all
}

// anchors returns the anchors of a document's headings, as GitHub and GitLab make them.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(text, -1) {
		words := dropped.ReplaceAllString(linked.ReplaceAllString(strings.ToLower(h[1]), "$1"), "")
		all[strings.ReplaceAll(strings.TrimSpace(words), " ", "-")] = true
	}
	return all
}

// Every link of a document leads to a file of the tree, and to a heading where it names one.
func TestLinksLeadSomewhere(t *testing.T) {
	all := documents(t)
	for name, text := range all {
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			file, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			to := name
			if file != "" {
				to = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s: the link %s leads to no file", name, found[1])
			} else if anchor != "" && path.Ext(to) == ".md" && !anchors(all[to])[anchor] {
				t.Errorf("%s: the link %s leads to no heading of %s", name, found[1], to)
			}
		}
	}
}

// A file of docs that some other file names is there.
func TestNamedDocumentsAreThere(t *testing.T) {
	for _, name := range files(t) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || strings.Contains(name, "testdata/") {
			continue
		}
		for _, found := range named.FindAllString(string(text), -1) {
			if _, err := os.Stat(filepath.Join(root, found)); err != nil {
				t.Errorf("%s names %s, and there is no such file", name, found)
			}
		}
	}
}

// The index of docs leads to every document there, and that of the reference to its pages.
func TestIndexIsComplete(t *testing.T) {
	all := documents(t)
	for name := range all {
		index := "docs/README.md"
		if strings.HasPrefix(name, "docs/reference/") && path.Base(name) != "README.md" {
			index = "docs/reference/README.md"
		}
		within, ok := strings.CutPrefix(name, path.Dir(index)+"/")
		if ok && name != index && !strings.Contains(all[index], "]("+within) {
			t.Errorf("%s has no link to %s", index, within)
		}
	}
}
