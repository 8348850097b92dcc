// Package draw draws a scenario: its nodes, the links between them with
// rates and buffers, and the paths of its flows.
//
// [SVG] makes a picture that needs nothing else; [DOT] and [Mermaid] make texts
// for Graphviz and for documents that render Mermaid.
//
// In the picture, switches are in rows by how far they are from endpoints, and
// each endpoint at its switch. Where all switches have endpoints, those that
// receive are below their switch and the others above. Along a link run coloured
// strands, one for each group of flows and direction. The common properties of most
// links are listed once, in the caption; a link with a name, or that differs, has a label. Equal
// outputs of a switch have their [Loads], as labels and colours: the flows that the hash gives
// each, or what each has carried in a run.
//
// # Limitations
//
// Crossings are not minimised: switches of a row are in the order of the
// scenario, rows above them over the middle of the nodes they join. Endpoints of a
// range at one switch are drawn as one pile when there are many; switches are
// always drawn one by one, so that a fabric of hundreds makes a wide picture.
package draw
