// Package dissector holds the add-on with which Wireshark explains the frames of
// a fabric: fabemu.lua, colouring rules and a few preferences. It only holds and
// installs them; docs/guide/wireshark.md describes their output. The fields of frames in
// fabemu.lua come from the tables of package wire (wire.Field); a test writes them.
//
// # Limitations
//
// The add-on is written for Wireshark 4.0 and newer, and tested with 4.0. Its
// findings about credit and gaps are about the capture: a filter can make gaps.
package dissector
