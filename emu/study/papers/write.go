package papers

import (
	"fmt"
	"io"
	"path/filepath"
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

// WriteDir writes the result into a directory, which it makes if it does not exist: pictures in a
// style, claims.csv, claims.md, report.html, and claims.json last, so that if it exists the others
// do too. It sets r.Directory.
func (r *Result) WriteDir(dir string, style plot.Style) error {
	if err := files.MakeAll(dir); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	write := func(name string, to func(io.Writer) error) error {
		if err := files.Write(filepath.Join(dir, name), to); err != nil {
			return fmt.Errorf("results: %w", err)
		}
		return nil
	}
	for _, p := range r.pictures() {
		if err := style.Files(p.Name, p.Figure, write); err != nil {
			return err
		}
	}
	pictures := func(name string) string {
		for _, format := range []string{"svg", "png"} {
			if style.Formats == nil || slices.Contains(style.Formats, format) {
				return name + "." + format
			}
		}
		return ""
	}
	for _, x := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{TableFile, r.WriteCSV},
		{MatrixFile, r.WriteMatrix},
		{DocumentFile, func(w io.Writer) error { return r.WriteMarkdown(w, pictures) }},
		{PageFile, r.WritePage},
		{ClaimsFile, r.WriteJSON},
	} {
		if x.name == MatrixFile && r.matrices() == nil {
			continue
		}
		if err := write(x.name, x.write); err != nil {
			return err
		}
	}
	r.Directory = dir
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
