package scripts

import (
	"html"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
)

var (
	reference = regexp.MustCompile(`\b(?:href|src|action)="([^"]*)"`)
	place     = regexp.MustCompile(`\bid="([^"]*)"`)
)

// The site is the same twice. Each link, anchor and image of it leads somewhere within it, each page can
// be reached from the first one, and nothing is read from a network. The search finds a section.
func TestSite(t *testing.T) {
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
	t.Run("search", func(t *testing.T) { testSearch(t, dirs[0]) })
}

// testSearch opens the search in a browser, from the disk.
func testSearch(t *testing.T, dir string) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium")
	}
	out, err := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(),
		"--dump-dom", "file://"+dir+"/search.html?q=pause+storm").Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := `href="docs/guide/faults.html#of-endpoints-and-switches"`; !strings.Contains(string(out), want) {
		t.Errorf("the search for a pause storm does not find %s:\n%s", want, out)
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
