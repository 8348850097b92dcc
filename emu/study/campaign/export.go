package campaign

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"regexp"
	"strings"
	"text/template"
	"time"

	"fabemu/emu/base/errs"
)

// Engine is a system that runs the calls of a campaign on many machines.
type Engine string

// The engines.
const (
	Slurm      Engine = "slurm" // a script for sbatch: an array of shards, and the table after it
	Kubernetes Engine = "k8s"   // an Indexed Job of shards, and a Job for the table
)

func Engines() []Engine { return []Engine{Slurm, Kubernetes} }

// Job is a campaign as engines take it.
type Job struct {
	Kind    string        // of campaign
	Name    string        // of the scenario or figure, for people
	Command []string      // the call without its action; its first word finds the program on the machines
	Dir     string        // where calls are made; Kubernetes: not used
	Out     string        // the directory of the campaign, as in Command
	Workers string        // the flag for the number of runs at a time: "--jobs"
	Table   string        // the file in Out that is written last
	Wall    bool          // on the wall clock
	Cells   []Cell        // with rounds, those of the first
	Rounds  int           // if runs follow from the results of others: of so many rounds (--round), of which each begins when the one before is done; 0: all are known
	Shards  int           // Slurm, Kubernetes: tasks of the array
	CPUs    int           // of each task
	Memory  int           // of each task, in MiB
	Time    time.Duration // a task may take; 0: no limit
	Image   string        // Kubernetes: the image that has the program
	Claim   string        // Kubernetes: the PersistentVolumeClaim with the directory; ReadWriteMany
	Files   []File        // Kubernetes: files that the command reads, all in one folder
}

// File is a file that comes along.
type File struct {
	Path string // where the command finds it
	Text string
}

// check reports all faults of a job.
func (j *Job) check(e Engine) error {
	wrong := []error{errs.Unknown("engine", e, Engines()...)}
	report := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	report(len(j.Cells) == 0, "there is no cell to do")
	report(j.Shards < 1 || j.Shards > max(1, len(j.Cells)),
		"--shards %d: expected 1 to %d, at most one for each cell", j.Shards, len(j.Cells))
	report(j.CPUs < 1 || j.CPUs > 4096, "--cpus %d: expected 1 to 4096", j.CPUs)
	report(j.Memory < 1, "--memory: it must be at least 1 MiB")
	report(j.Time < 0 || j.Time > 0 && j.Time < time.Minute, "--time %v: it must be at least a minute", j.Time)
	for _, w := range append([]string{j.Name, j.Dir, j.Image, j.Claim}, j.Command...) {
		report(strings.ContainsAny(w, "\n\r\x00"), "%q has a line break, which %s cannot take", w, e)
	}
	if e == Kubernetes {
		report(j.Image == "", "--image: name the image that contains fabemu, such as registry.example/fabemu:1.0")
		report(!label.MatchString(j.Claim), "--claim %q: expected the name of a PersistentVolumeClaim", j.Claim)
		bytes, names := 0, map[string]bool{}
		for _, f := range j.Files {
			key := path.Base(f.Path)
			report(!configKey.MatchString(key),
				"the name of %s cannot be a key of a ConfigMap: use only letters, digits, '-', '_' and '.'", f.Path)
			report(names[key], "two files have the name %s, and a ConfigMap holds one of them: rename one", key)
			bytes, names[key] = bytes+len(f.Text), true
		}
		report(bytes > 1<<20-4096, "the files have %d bytes, but a ConfigMap holds 1 MiB", bytes)
	}
	return errors.Join(wrong...)
}

var (
	label     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`) // RFC 1123, as Kubernetes has names
	configKey = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)
)

// Label makes a name of the campaign's that all engines take: a label of RFC 1123, of 40
// characters at most, so that the additions of engines have room in 63.
func (j *Job) Label() string {
	name := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(j.Kind+"-"+strings.TrimSuffix(j.Name, ".yaml")))
	return strings.Trim(name[:min(len(name), 40)], "-")
}

// Export writes a job for an engine. A fault of the job is a *errs.Mistake.
func Export(w io.Writer, e Engine, j *Job) error {
	if err := j.check(e); err != nil {
		return &errs.Mistake{Err: err}
	}
	var b bytes.Buffer
	t := template.Must(template.New("").Funcs(functions()).Parse(templates))
	if err := t.ExecuteTemplate(&b, string(e), j); err != nil {
		panic("campaign: " + err.Error()) // a template of ours, and memory
	}
	_, err := w.Write(b.Bytes())
	return err
}

func functions() template.FuncMap {
	return template.FuncMap{
		"base": path.Base, "dir": path.Dir,
		"sh": func(word string) string { return Quote(word) }, "json": jsonString,
		"argument": func(s string) (string, error) { // in which $(X) is a variable to Kubernetes
			return jsonString(strings.ReplaceAll(s, "$(", "$$("))
		},
		"indent": func(s string) string { return strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n    ") },
		"clock":  clock,
	}
}

//go:embed engines.tmpl
var templates string

// Names returns the names of the jobs of shares on Kubernetes: one, or one for each round.
func (j *Job) Names() []string {
	if j.Rounds == 0 {
		return []string{j.Label()}
	}
	var all []string
	for i := range j.Rounds {
		all = append(all, fmt.Sprintf("%s-%d", j.Label(), j.RoundOf(i)))
	}
	return all
}

// RoundOf returns the number of the i-th round.
func (j *Job) RoundOf(i int) int { return i + 1 }

// Folder is that of the files.
func (j *Job) Folder() string { return path.Dir(j.Files[0].Path) }

// Line is the call as a shell takes it.
func (j *Job) Line() string { return Quote(j.Command...) }

// Args are the words of the call after the program.
func (j *Job) Args() []string { return j.Command[1:] }

// jsonString is a string as JSON and YAML have it.
func jsonString(s string) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// clock prints a time as sbatch takes it: days-hours:minutes:seconds.
func clock(d time.Duration) string {
	s := int(math.Ceil(d.Seconds()))
	return fmt.Sprintf("%d-%02d:%02d:%02d", s/86400, s/3600%24, s/60%60, s%60)
}
