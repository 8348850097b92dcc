// Package terminal writes text for people who read it on a terminal: lines, titles and
// paragraphs of a width that fits, and colours where they are wanted.
//
// # Limitations
//
// A column is a letter (a Unicode code point): letters that are wider than others, or
// that are made of several, make lines longer or shorter than they should be.
package terminal
