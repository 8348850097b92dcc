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

// Find returns the runs that live, and the dead runs that have left something, by their
// ids. It leaves out namespaces that have a name like ours and no label.
func Find() ([]*Run, error) {
	if err := Missing(); err != nil {
		return nil, err
	}
	runs := map[uint32]*Run{}
	files, err := names(runDir)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if id, ok := parseRun(name); ok {
			runs[id] = &Run{ID: id}
		}
	}
	namespaces, err := names(namespaceDir)
	if err != nil {
		return nil, err
	}
	for _, name := range namespaces {
		if id, ok := parseNamespace(name); ok {
			if runs[id] == nil {
				runs[id] = &Run{ID: id}
			}
			runs[id].Namespaces = append(runs[id].Namespaces, name)
		}
	}
	var all []*Run
	var wrong []error
	for _, r := range runs {
		ours, err := r.look()
		wrong = append(wrong, err)
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

// look finds out whether a run lives, and removes from its list the namespaces that are
// not ours. It reports false if nothing remains.
func (r *Run) look() (left bool, err error) {
	there, held, l, err := inspect(r.ID)
	others := errors.Is(err, errOthers)
	if others {
		there = false
	} else if err != nil {
		return false, err
	}
	if r.cards, err = cardsOf(r.ID); err != nil {
		return false, err
	}
	r.known, r.PID = there, l.pid
	runs := l.run == r.ID && l.lives()
	r.Lives, r.ending = held || runs, held && l.run == r.ID && !runs
	if r.Lives {
		r.attached = attachedTo(r.ID)
		return true, nil
	}
	var mine []string
	var wrong []error
	for _, name := range r.Namespaces {
		found, l, _, err := examine(r.ID, name)
		switch {
		case err != nil:
			wrong = append(wrong, err)
		case found == ours:
			mine = append(mine, name)
			r.PID = l.pid
			r.Lives = r.Lives || l.lives() // its file is gone, its process is not
		case found == empty && r.known:
			mine = append(mine, name)
		}
	}
	r.Namespaces = mine
	if others && len(mine) > 0 {
		return false, errors.Join(append(wrong,
			fmt.Errorf("run %v was not touched: %s: %w; remove it if it is not needed", r, r.Lock(), errOthers))...)
	}
	return r.known || len(mine) > 0 || len(r.cards) > 0, errors.Join(wrong...)
}

// Remove removes the traces of a dead run. It returns an error while the run lives, or
// while another process keeps its lock.
func (r *Run) Remove(ctx context.Context) error {
	left, err := r.look()
	switch {
	case err != nil:
		return err
	case !left:
		return nil // another was faster
	case r.Lives && !r.ending:
		return fmt.Errorf("run %v is running as process %d and was not touched", r, r.PID)
	}
	held, err := seize(ctx, r.ID)
	if err != nil {
		return fmt.Errorf("run %v was not touched: %w", r, explain(err))
	}
	var wrong []error
	for _, name := range r.Namespaces {
		wrong = append(wrong, removeNamespace(r.ID, name, r.known))
	}
	wrong = append(wrong, putBack(r.ID, r.cards))
	return held.end(errors.Join(wrong...))
}

// cleaning is how long a run may wait for processes that hold the locks of dead runs.
const cleaning = time.Second

// RemoveDead removes the traces of dead runs. It returns no error, because a trace that stays
// disturbs no run; Find and Run.Remove report it.
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
