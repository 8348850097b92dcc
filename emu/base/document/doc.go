// Package document is the model of a report: a [Page] of sections, whose parts are tables, pictures and
// long texts. It has three writers. [Page.Write] makes one file for browsers, which opens offline.
// [Table.Text] sets a table in columns on a terminal, and [Table.Markdown] writes it for a document.
//
// A report builds its tables once, and hands them to the writer that is asked for.
//
// # Limitations
//
// Only tables have all three forms: a report for a terminal sets its other lines itself
// (package terminal).
package document
