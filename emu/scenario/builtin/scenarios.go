package builtin

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"fabemu/emu/base/spelling"
	"fabemu/wire/unit"

	"go.yaml.in/yaml/v4"
)

//go:embed */*.yaml
var files embed.FS

// Default is the scenario that is run when none is named.
const Default = "hpl2002/fig3b"

// Entry is a scenario in the list.
type Entry struct {
	Name        string // "hpl2002/fig3b"
	Source      string // document and figure
	Description string // one line
	Whole       Extent
	Short       Extent // of its short run; zero: it has none
	Guests      bool   // it has real hosts: it runs on the wall clock only, and needs root
}

// Extent is how long a run takes.
type Extent struct {
	Duration unit.Duration // model time
	Dilation int64         // wall time per model time; 0: the default
}

// List returns the scenarios, sorted by name.
func List() []Entry {
	var entries []Entry
	head := regexp.MustCompile(`(?m)^(name|source|description|model|wall|short):.*\n(?: .*\n)*`)
	for _, name := range names() {
		src, _ := files.ReadFile(name + ext) // it is in the binary
		e, err := entryOf(string(src), head)
		if err != nil {
			panic("scenarios: " + name + ": " + err.Error()) // a file of ours, read by the tests
		}
		entries = append(entries, e)
	}
	return entries
}

// entryOf reads the entry of a scenario from the sections of its head: to parse the whole text
// takes four times as long.
func entryOf(src string, head *regexp.Regexp) (Entry, error) {
	type extent struct {
		Duration string
		Dilation int64
	}
	var h struct {
		Name, Source, Description string
		Model, Wall, Short        extent
	}
	if err := yaml.Load([]byte(strings.Join(head.FindAllString(src, -1), "")), &h); err != nil {
		return Entry{}, err
	}
	e := Entry{Name: h.Name, Source: h.Source, Description: h.Description, Whole: Extent{Dilation: h.Wall.Dilation},
		Guests: strings.Contains(src, "guest:") && !strings.Contains(src, "netstack")}
	var err error
	if e.Whole.Duration, err = unit.ParseDuration(h.Model.Duration); err != nil || h.Short == (extent{}) {
		return e, err
	}
	e.Short.Dilation = cmp.Or(h.Short.Dilation, h.Wall.Dilation)
	e.Short.Duration, err = unit.ParseDuration(h.Short.Duration)
	return e, err
}

const ext = ".yaml"

// names returns the names of the scenarios, sorted: paths without the extension.
func names() []string {
	all, _ := fs.Glob(files, "*/*"+ext) // the pattern is right
	for i := range all {
		all[i] = strings.TrimSuffix(all[i], ext)
	}
	slices.Sort(all) // without the extension the order is another
	return all
}

// Find returns the text of a scenario and its name for messages: one that comes with the
// program, a file (its name ends in .yaml or .yml, or begins with "." or "/"), or standard
// input ("-").
func Find(name string) (src []byte, file string, err error) {
	switch {
	case name == "-":
		src, err = readAll(os.Stdin)
		return src, "standard input", err
	case strings.HasSuffix(name, ".yaml"), strings.HasSuffix(name, ".yml"), strings.HasPrefix(name,
		"."), strings.HasPrefix(name, "/"):
		f, err := os.Open(name)
		if err == nil {
			defer f.Close()
			src, err = readAll(f)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("there is no file %s; fabemu list shows the built-in scenarios", name)
		}
		return src, name, err
	default:
		src, err = Read(name)
		return src, name + ".yaml", err
	}
}

// readAll reads at most a byte more than package scenario takes, so that a longer file is refused
// there.
func readAll(f *os.File) ([]byte, error) { return io.ReadAll(io.LimitReader(f, 16<<20+1)) }

// Read returns the text of a scenario. A name that does not exist gives an error with the nearest
// names.
func Read(name string) ([]byte, error) {
	all := names()
	if slices.Contains(all, name) {
		return files.ReadFile(name + ext)
	}
	near, folder, part := "", name, path.Base
	if strings.Contains(name, "/") {
		near, folder, part = spelling.Nearest(name, all), path.Dir(name), path.Clean
	}
	if i := slices.IndexFunc(all, func(n string) bool { return strings.HasSuffix(n, "/"+name) }); i >= 0 {
		near = all[i]
	}
	spelling.Sort(name, all, part)
	slices.SortStableFunc(all, func(a, b string) int { // names of the folder come first
		switch in, other := path.Dir(a) == folder, path.Dir(b) == folder; {
		case in == other:
			return 0
		case in:
			return -1
		}
		return 1
	})
	return nil, fmt.Errorf("there is no scenario %q%s; the closest are %s; fabemu list shows all %d",
		name, spelling.DidYouMean(near), strings.Join(all[:5], ", "), len(all))
}
