package scripts

import (
	"encoding/json"
	"html"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"fabemu/emu/emutest/runtest"
)

var (
	reference = regexp.MustCompile(`\b(?:href|src|action)="([^"]*)"`)
	place     = regexp.MustCompile(`\bid="([^"]*)"`)
)

// The site is the same twice. Each link, anchor and image of it leads somewhere within it, each
// page can be reached from the first one, and nothing is read from a network. Readers find the
// answers to their questions.
func TestSite(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	runtest.NeedTools(t, "python3")
	program, err := runtest.Program(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	var sites []map[string]string
	for range 2 {
		dir := filepath.Join(t.TempDir(), "site")
		command(t, "./site.sh", "-q", "-p", program, dir)
		dirs, sites = append(dirs, dir), append(sites, filesOf(t, dir))
	}
	site := sites[0]
	if !maps.Equal(site, sites[1]) {
		for name, text := range site {
			if sites[1][name] != text {
				t.Errorf("%s differs in the second site", name)
			}
		}
	}
	pages, reached := 0, map[string]bool{}
	for name, text := range site {
		if path.Ext(name) != ".html" {
			continue
		}
		pages++
		for _, found := range reference.FindAllStringSubmatch(text, -1) {
			target := html.UnescapeString(found[1])
			u, err := url.Parse(target)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if u.Scheme != "" {
				if !strings.HasPrefix(found[0], "href=") {
					t.Errorf("%s reads %s", name, target)
				}
				continue
			}
			to := name
			if u.Path != "" {
				to = path.Join(path.Dir(name), u.Path)
			}
			if page, ok := site[to]; !ok {
				t.Errorf("%s: %s leads to no file", name, target)
			} else if u.Fragment != "" && path.Ext(to) == ".html" && !hasPlace(page, u.Fragment) {
				t.Errorf("%s: %s leads to no place of %s", name, target, to)
			}
			if to != name {
				reached[to] = true
			}
		}
	}
	for name := range site {
		if !reached[name] && name != "index.html" {
			t.Errorf("no page leads to %s", name)
		}
	}
	if pages < 60 || len(site) < 150 {
		t.Errorf("the site has %d pages and %d files", pages, len(site))
	}
	t.Run("questions", func(t *testing.T) { testQuestions(t, dirs[0], site) })
}

// A question is one that a reader has, with what the reader types into the search, and the page and
// heading with the answer.
type question struct{ Question, Search, Page, Heading string }

// testQuestions: each question of docs/questions.yaml finds its answer in two minutes: the index of
// the documents and the menu of the site lead to the page, and the search to the heading, among its
// first three results.
func testQuestions(t *testing.T, dir string, site map[string]string) {
	src, err := os.ReadFile("../docs/questions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var readers map[string][]question
	if err := yaml.Unmarshal(src, &readers); err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile("../docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, menu, _ := strings.Cut(site["index.html"], `<nav class="side"`)
	menu, _, _ = strings.Cut(menu, "</nav>")
	var all []question
	for reader, questions := range readers {
		if len(questions) != 5 {
			t.Errorf("%s has %d questions, not 5", reader, len(questions))
		}
		all = append(all, questions...)
	}
	if len(readers) != 4 {
		t.Errorf("%d kinds of reader, not 4", len(readers))
	}
	for _, q := range all {
		if !strings.Contains(string(index), "]("+q.Page) {
			t.Errorf("%s docs/README.md has no link to %s", q.Question, q.Page)
		}
		if to := "docs/" + strings.TrimSuffix(q.Page, ".md") + ".html"; !strings.Contains(menu, `href="`+to+`"`) {
			t.Errorf("%s the menu has no link to %s", q.Question, to)
		}
	}
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium")
	}
	// A page in addition to the search's index prints the first results of each question.
	wanted, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	page := `<meta charset="utf-8"><pre id="out"></pre><script src="search-index.js"></script><script src="search.js"></script>
<script>document.getElementById("out").textContent = JSON.stringify(` + string(wanted) + `.map(q => find(index, q.Search).slice(0, 3).map(r => [r[2], r[1] || r[0]])))</script>`
	if err := os.WriteFile(filepath.Join(dir, "questions.html"), []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+dir+"/questions.html").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, printed, _ := strings.Cut(string(out), `<pre id="out">`)
	printed, _, _ = strings.Cut(printed, "</pre>")
	var found [][][2]string
	if err := json.Unmarshal([]byte(html.UnescapeString(printed)), &found); err != nil || len(found) != len(all) {
		t.Fatalf("%v: %s", err, out)
	}
	for i, q := range all {
		to := "docs/" + strings.TrimSuffix(q.Page, ".md") + ".html"
		if !slices.ContainsFunc(found[i], func(r [2]string) bool {
			address, _, _ := strings.Cut(r[0], "#")
			return address == to && r[1] == q.Heading
		}) {
			t.Errorf("%s %q finds %q, and not %s, %q", q.Question, q.Search, found[i], to, q.Heading)
		}
	}
}

func hasPlace(page, id string) bool {
	for _, found := range place.FindAllStringSubmatch(page, -1) {
		if html.UnescapeString(found[1]) == id {
			return true
		}
	}
	return false
}

// filesOf returns the texts of all files in a folder.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
