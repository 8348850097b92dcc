// Package document is the model of a report: a [Page] of sections, whose parts are tables,
// pictures, paragraphs, lists and long texts. It has three writers. [Page.WriteHTML] makes one file
// for browsers, which opens offline; [Page.WriteText] sets the page in columns on a terminal;
// [Page.WriteMarkdown] writes a document.
//
// A report builds its page once, and hands it to the writer that is asked for. A section or a part
// may be meant for some formats only ([Format], [Only]).
//
// # Limitations
//
// A terminal leaves out pictures, folds and the introductions of sections; a document leaves out
// folds and the notes of cells. At most one column of a table wraps.
package document
