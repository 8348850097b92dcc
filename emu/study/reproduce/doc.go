// Package reproduce has the figures of papers again: what a paper draws, and what
// it says, each with what comes out here.
//
// A claim is quoted, derived from what the paper says, or ours (scenario.Basis); each
// kind is counted by itself, and ours are in tables of their own.
//
// A Paper is data. It has Figures; a Figure has Plots, whose curves are taken of
// runs, and Claims: a sentence of the paper, a Quantity that is taken of runs, and
// the range in which the sentence holds, with the reason why it is that range. A
// Quantity knows of which runs it is taken, so nobody lists runs: Run collects
// those that the figures in question need, does each once, in parallel on the
// virtual clock and one after another on the wall clock, and makes a Result of it.
// WriteDir writes that down: claims.json and claims.csv for programs, a picture for
// each plot, and report.html, one file that opens offline.
//
// What a paper says is in words/PAPER.md and words/PAPER.yaml: what to know before the
// figures, captions, and claims with their ranges, in the keys of expect in a scenario. How
// it is measured is in a file of Go beside them.
//
// Beside the range of a claim stands its null result (Null), as null-result in
// words/PAPER.yaml: what comes out if the scheme does nothing, or if all is equal. The
// range excludes it, or the row says why it has none; a test wants that of each claim. It
// is argued, {value: 1, how: Equal shares.}, in the unit of the range in its file; or
// measured, {set: [defaults.flow.control.law=none], how: Without a law.}; or there is none,
// {none: The link is full in any case.}. For a claim that stands in a scenario it is all
// that claims has under the ID.
//
// To add a paper, write both, with a function that returns a *Paper, as hpl2002.go does, and
// name it in Papers. Claims that stand under expect in a scenario are taken over with
// Figure.checks; only what compares runs is written here.
//
// CompareSchemes is a paper of ours: its figures are situations, each with a Matrix, which
// has a row for every scheme of the tables (rp.Laws, cp.Points) and no claims.
//
// # Limitations
//
// A claim is about a number: what a paper shows and does not say can be seen on the
// picture, and is not judged. Where a figure wants several seeds its value is their
// mean, on the virtual clock only: on the wall clock each run is done once, since it
// takes its time. The runs of a figure are kept in memory only as far as its
// quantities need them; to look further into one, run its scenario with fabemu run.
package reproduce
