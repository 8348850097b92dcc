// Package dissector holds the add-on with which Wireshark explains the frames of
// a fabric: fabemu.lua, colouring rules and a few preferences. It only holds and
// installs them; docs/guide/wireshark.md says what they show.
//
// # Limitations
//
// The add-on is written for Wireshark 4.0 and newer, and tested with 4.0. What it
// says of credit and of gaps is what the capture shows: a filter can make gaps.
package dissector
