// Package summary writes the results of a run for people: as text for a terminal, as
// report.html for browsers, and as curves (rates.svg). [Page], [Claims] and
// [MachineSection] serve other reports that have a verdict and claims.
//
// # Limitations
//
// rates.svg shows at most 16 curves; series.csv has all. A page shows of many flows one for
// each group.
package summary
