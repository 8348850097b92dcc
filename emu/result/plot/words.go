package plot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// words are what the user calls things, in place of the words of a figure.
type words struct {
	x, y  string            // the axes; empty: as they are
	names map[string]string // of curves, parts of their names, and names on the X axis
}

// labels reads the words of a style.
func (s *Style) labels() (words, error) {
	w := words{s.XLabel, s.YLabel, map[string]string{}}
	for _, text := range s.Labels {
		name, to, found := strings.Cut(text, "=")
		if name = strings.TrimSpace(name); !found || name == "" || strings.TrimSpace(to) == "" {
			return w, fmt.Errorf("--label %s: expected NAME=WORDS, such as dcqcn=DCQCN", text)
		}
		w.names[name] = strings.TrimSpace(to)
	}
	return w, nil
}

// Worded returns a drawing with the words that the style has for axes and names: a *Figure or a
// Stack; another drawing stays.
func (s *Style) Worded(d Drawing) Drawing {
	w, err := s.labels()
	if err != nil || w.x == "" && w.y == "" && len(w.names) == 0 {
		return d
	}
	switch d := d.(type) {
	case *Figure:
		return w.on(d)
	case Stack:
		all := make(Stack, len(d))
		for i, f := range d {
			all[i] = w.on(f)
		}
		return all
	}
	return d
}

// on returns a figure in these words.
func (w *words) on(f *Figure) *Figure {
	out := *f
	out.X.Label, out.Y.Label = cmp.Or(w.x, f.X.Label), cmp.Or(w.y, f.Y.Label)
	out.X.Names = slices.Clone(f.X.Names)
	for i, name := range out.X.Names {
		out.X.Names[i] = w.name(name)
	}
	out.Curves = slices.Clone(f.Curves)
	for i := range out.Curves {
		out.Curves[i].Name = w.name(out.Curves[i].Name)
	}
	out.References = slices.Clone(f.References)
	for i := range out.References {
		r := &out.References[i]
		r.Name, r.Of = w.name(r.Name), w.name(r.Of)
	}
	return &out
}

// name returns a name in other words: as a whole, or those of its parts, which have commas between.
func (w *words) name(name string) string {
	if to := w.names[name]; to != "" {
		return to
	}
	parts := strings.Split(name, ", ")
	for i, part := range parts {
		parts[i] = cmp.Or(w.names[part], part)
	}
	return strings.Join(parts, ", ")
}

// caption is the text for the caption of a figure.
func (f *Figure) caption() string {
	parts := []string{f.Title, f.Subtitle, f.Note, f.Stamp}
	if f.Y.Label != "" && f.Y.Label != f.Title {
		parts[0] += fmt.Sprintf(" (%s over %s)", f.Y.Label, f.X.Label)
	}
	text := strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ". ") + ".\n"
	if f.Caption != "" {
		text += "\n" + f.Caption
	}
	return text
}

// caption is the texts of all its figures; what they have in common beside it comes once.
func (s Stack) caption() string {
	text, common := "", ""
	for _, f := range s {
		one := *f
		common, one.Caption = cmp.Or(common, f.Caption), ""
		text += one.caption()
	}
	if common != "" {
		text += "\n" + common
	}
	return text
}

// caption is the title, and what the picture shows.
func (r *Ranks) caption() string { return r.Title + ". " + r.Words() + "\n" }
