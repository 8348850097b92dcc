// Package papers makes the figures of papers again: the plots and statements of a paper, each with
// the outcome here.
//
// A claim is quoted, derived from a statement of the paper, or ours (scenario.Basis); each
// kind is counted by itself, and ours are their own in tables.
//
// A Paper is data. It has Figures; a Figure has Plots, whose curves are taken of runs, and Claims:
// a sentence of the paper, a Quantity that is taken of runs, and the range in which the sentence
// holds, with the reason for that range. A Quantity names its runs: Run collects the runs that the
// figures in question need, does each once, in parallel on the virtual clock and one after another
// on the wall clock, and makes a Result of it. WriteDir writes that down: claims.json and
// claims.csv for programs, a picture for each plot, and report.html, one file that opens offline.
//
// words/papers.yaml lists papers and their figures. words/PAPER.md introduces a paper and has the
// section "What differs and why", which names each claim that differs. words/PAPER.yaml has its
// figures: caption, plots, claims in the keys of expect in a scenario, and a table. Values are
// expressions of a small language (language.go) with the syntax of Go:
//
//	value: lost(with(dropping, sets)) / lost(dropping)
//
// Names are definitions under define, keys of an item of each, or functions of the table in
// measures.go. In a text {x} is a value, {x:%.2f} one with two digits. A row with each is several,
// one for each item. A measurement that is an algorithm is in Go.
//
// In addition to its range a claim has a null result (Null), as null-result in words/PAPER.yaml:
// the value if the scheme does nothing, or if all is equal. The range excludes it, or the row gives
// a reason for its absence; a test checks each claim. It is argued, {value: 1, how: Equal shares.},
// in the unit of the range in its file; or measured, {set: [defaults.flow.control.algorithm=none],
// how: Without an algorithm.}; or there is none, {none: The link is full in any case.}. Claims that
// are under expect in a scenario are taken over with checks: [SCENARIO]; a row with the ID of such
// a claim adds its null result.
//
// To add a paper, write both files, and name it in papers.yaml and Papers.
//
// CompareSchemes is a paper of ours: its figures are situations, each with a Matrix, which has a
// row for every scheme of the tables (rp.Algorithms, cp.Points) and no claims.
//
// # Limitations
//
// A claim is about a number: a property of a picture without a sentence about it can be seen there,
// and is not judged. Where a figure has several seeds its value is their mean, over thirty at least
// if that is near a bound, on the virtual clock only: on the wall clock each run is done once,
// since it takes its time. The runs of a figure are kept in memory only as far as its quantities
// need them; to look further into one, run its scenario with fabemu run.
package papers
