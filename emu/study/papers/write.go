package papers

import (
	"fmt"
	"io"
	"slices"

	"fabemu/emu/base/files"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
)

// The files that WriteDir writes, in addition to a picture for each plot.
const (
	ClaimsFile   = "claims.json"
	TableFile    = "claims.csv"
	DocumentFile = "claims.md"
	PageFile     = report.PageFile
	MatrixFile   = "matrix.csv" // where something is compared
	OverviewName = "overview"   // of a picture
)

// Files returns the names of all files that WriteDir writes for figures. The first is ClaimsFile:
// where it exists, the others are complete.
func Files(figures []*Figure) []string {
	names := []string{ClaimsFile, TableFile, DocumentFile, PageFile}
	for _, f := range figures {
		var pictures []string
		if f.Matrix != nil && !slices.Contains(names, MatrixFile) {
			names, pictures = append(names, MatrixFile), []string{OverviewName}
		}
		for i := range f.Plots {
			pictures = append(pictures, f.pictureName(&f.Plots[i]))
		}
		for _, name := range pictures {
			names = append(names, plot.NamesOf(name)...)
		}
	}
	return names
}

// WriteDir writes the result into a directory, which it makes if it does not exist: report.html,
// claims.csv, claims.md, pictures in a style, and claims.json last, so that if it exists the others
// do too. Where the disk has no room for all, claims.json comes first and then the others in this
// order (files.WriteAll), and the error names those that are not there. It sets r.Directory.
func (r *Result) WriteDir(dir string, style plot.Style) error {
	if err := files.MakeAll(dir); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	pictures := func(name string) string {
		for _, format := range []string{"svg", "png"} {
			if style.Formats == nil || slices.Contains(style.Formats, format) {
				return name + "." + format
			}
		}
		return ""
	}
	all := []files.File{
		{Name: ClaimsFile, Write: r.WriteJSON},
		{Name: PageFile, Write: r.WritePage},
		{Name: TableFile, Write: r.WriteCSV},
		{Name: DocumentFile, Write: func(w io.Writer) error { return r.WriteMarkdown(w, pictures) }},
	}
	if r.matrices() != nil {
		all = append(all, files.File{Name: MatrixFile, Write: r.WriteMatrix})
	}
	for _, p := range r.pictures() {
		_ = style.Files(p.Name, p.Figure, func(name string, to func(io.Writer) error) error {
			all = append(all, files.File{Name: name, Write: to})
			return nil
		})
	}
	r.Directory = dir
	if err := files.WriteAll(dir, all, func(string, error) {}); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	return nil
}

// pictures returns the overview, where there is one, and the pictures of the figures.
func (r *Result) pictures() (all []Picture) {
	if o := r.overview(); o != nil {
		all = append(all, *o)
	}
	for i := range r.Figures {
		all = append(all, r.Figures[i].Pictures...)
	}
	return all
}
