package scenarios

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"fabemu/emu/spelling"

	"github.com/goccy/go-yaml"
)

//go:embed */*.yaml
var files embed.FS

// Default is the scenario that is run when none is named.
const Default = "hpl2002/fig3b"

// Entry is a scenario in the list.
type Entry struct {
	Name        string `yaml:"name"`        // "hpl2002/fig3b"
	Source      string `yaml:"source"`      // document and figure
	Description string `yaml:"description"` // one line
}

// List returns the scenarios, sorted by name.
func List() []Entry {
	var entries []Entry
	for _, name := range names() {
		src, err := files.ReadFile(name + ext)
		var e Entry
		if err == nil {
			err = yaml.Unmarshal(src, &e)
		}
		if err != nil {
			panic("scenarios: " + name + ": " + err.Error()) // a file of ours, read by the tests
		}
		entries = append(entries, e)
	}
	return entries
}

const ext = ".yaml"

// names returns the names of the scenarios, sorted: paths without the extension.
func names() []string {
	var all []string
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if name, ok := strings.CutSuffix(path, ext); ok && err == nil {
			all = append(all, name)
		}
		return err
	})
	if err != nil {
		panic("scenarios: " + err.Error()) // the files are in the binary
	}
	slices.Sort(all) // not by the names of the files, of which the extension is a part
	return all
}

// Read returns the text of a scenario. A name that does not exist gives an
// error that lists those that do, and the nearest of them.
func Read(name string) ([]byte, error) {
	all := names()
	for _, n := range all {
		if n == name {
			return files.ReadFile(name + ext)
		}
	}
	return nil, fmt.Errorf("there is no scenario named %q%s: there are %s", name, spelling.DidYouMean(nearest(name, all)), strings.Join(all, ", "))
}

// nearest returns the scenario that is meant by a name that does not exist: one
// that ends in it, or the one with which it shares the most letters at its begin
// and end, at least half of them; "" when none is near.
func nearest(name string, all []string) string {
	best, most := "", 0
	for _, n := range all {
		if strings.HasSuffix(n, "/"+name) {
			return n
		}
		if s := shared(strings.ToLower(name), n); s > most && 2*s >= len(n) && 2*s >= len(name) {
			best, most = n, s
		}
	}
	return best
}

// shared returns how many letters two words have in common at their begins and
// ends.
func shared(a, b string) int {
	n := min(len(a), len(b))
	front := 0
	for front < n && a[front] == b[front] {
		front++
	}
	back := 0
	for back < n-front && a[len(a)-1-back] == b[len(b)-1-back] {
		back++
	}
	return front + back
}
