package netns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

func (r *Run) String() string { return fmt.Sprintf("%08x", r.ID) }

// Lock returns the path of the file that is locked while the run lives.
func (r *Run) Lock() string { return lockName(r.ID) }

// Find returns the runs that have left something, and those that live, by their
// ids. Namespaces that bear a name like ours and no label are not among them.
func Find() ([]*Run, error) {
	if err := Missing(); err != nil {
		return nil, err
	}
	runs := map[uint32]*Run{}
	of := func(id uint32) *Run {
		if runs[id] == nil {
			runs[id] = &Run{ID: id}
		}
		return runs[id]
	}
	files, err := names(runDir)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if id, ok := parseRun(name); ok {
			of(id).known = true
		}
	}
	namespaces, err := names(namespaceDir)
	if err != nil {
		return nil, err
	}
	for _, name := range namespaces {
		id, ok := parseNamespace(name)
		if !ok {
			continue
		}
		r := of(id)
		r.Namespaces = append(r.Namespaces, name)
	}
	var all []*Run
	var wrong []error
	for _, r := range runs {
		ours, err := r.look()
		if err != nil {
			wrong = append(wrong, err)
		}
		if ours {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *Run) int { return strings.Compare(a.String(), b.String()) })
	return all, errors.Join(wrong...)
}

// names lists a folder that need not be there.
func names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all, explain(err)
}

// parseNamespace returns the run of a namespace, by its name.
func parseNamespace(name string) (run uint32, ok bool) {
	rest, ok := strings.CutPrefix(name, namespacePrefix)
	if !ok || len(rest) < 10 || rest[8] != '-' {
		return 0, false
	}
	return parseRun(rest[:8])
}

// look finds out whether a run lives, and leaves out of its namespaces what is not
// ours. It reports false if nothing remains.
func (r *Run) look() (ours bool, err error) {
	there, held, l, err := inspect(r.ID)
	others := errors.Is(err, errOthers)
	if others {
		there = false
	} else if err != nil {
		return false, err
	}
	r.known, r.PID = there, l.pid
	r.Lives = held || l.run == r.ID && l.lives()
	if r.Lives {
		return true, nil
	}
	var mine []string
	var wrong []error
	for _, name := range r.Namespaces {
		what, l, err := r.owns(name)
		switch {
		case err != nil:
			wrong = append(wrong, err)
		case what == aNamespace:
			mine = append(mine, name)
			r.PID = l.pid
			r.Lives = r.Lives || l.lives() // its file is gone, but it is not
		case what == empty && r.known:
			mine = append(mine, name)
		}
	}
	r.Namespaces = mine
	if others && len(mine) > 0 {
		return false, errors.Join(append(wrong,
			fmt.Errorf("run %v is left alone: %s: %w; remove it if nobody misses it", r, r.Lock(), errOthers))...)
	}
	return r.known || len(mine) > 0, errors.Join(wrong...)
}

// owns says what stands under a name, and the label of it: a namespace that is not of
// this run is other. What another process removes meanwhile is nothing.
func (r *Run) owns(name string) (kind, label, error) {
	what, err := look(name)
	if err != nil || what != aNamespace {
		return what, label{}, err
	}
	l, _, labelled, err := contents(name)
	if err != nil {
		if again, lookErr := look(name); lookErr == nil && again != aNamespace {
			return nothing, label{}, nil
		}
		return other, label{}, err
	}
	if !labelled || l.run != r.ID {
		return other, label{}, nil
	}
	return aNamespace, l, nil
}

// Remove removes what a dead run has left. It is refused while the run lives, or while
// another process keeps its lock.
func (r *Run) Remove(ctx context.Context) error {
	ours, err := r.look()
	switch {
	case err != nil:
		return err
	case !ours:
		return nil // another was faster
	case r.Lives:
		return fmt.Errorf("run %v lives, in process %d: it is left alone", r, r.PID)
	}
	held, err := seize(ctx, r.ID)
	if err != nil {
		return fmt.Errorf("run %v is left alone: %w", r, explain(err))
	}
	var wrong []error
	for _, name := range r.Namespaces {
		if err := removeNamespace(r.ID, name, r.known); err != nil {
			wrong = append(wrong, err)
		}
	}
	if len(wrong) > 0 {
		return errors.Join(append(wrong, held.release())...)
	}
	return held.remove()
}

// cleaning is how long a run may wait for those who have locks of dead ones.
const cleaning = time.Second

// RemoveDead removes what dead runs have left. What cannot be removed is no reason not to
// run: Find and Run.Remove say what it is.
func RemoveDead(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, cleaning)
	defer stop()
	runs, err := Find()
	if err != nil {
		return
	}
	for _, run := range runs {
		if !run.Lives {
			_ = run.Remove(ctx)
		}
	}
}
