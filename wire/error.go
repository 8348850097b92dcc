package wire

import (
	"fmt"

	"fabemu/wire/unit"
)

// Reason is why bytes were refused. It is an error itself, so that
// errors.Is(err, wire.ErrChecksum) holds for a *ParseError with that reason, and
// a small number, so that callers can count refusals in an array.
type Reason uint8

// The reasons to refuse bytes.
const (
	ErrTruncated   Reason = iota + 1 // bytes are missing
	ErrTrailing                      // bytes follow where none should
	ErrChecksum                      // a CRC is wrong
	ErrReserved                      // a reserved bit is set
	ErrUnsupported                   // well formed, but of a kind that this package does not write
	ErrRange                         // a number that its field may not hold
	ErrPayload                       // a payload that is neither zeros nor a body
)

// Reasons is one more than the highest Reason: the size of an array that counts
// refusals by reason.
const Reasons = int(ErrPayload) + 1

var reasonWords = [...]string{
	0: "unknown reason", ErrTruncated: "truncated", ErrTrailing: "trailing bytes", ErrChecksum: "wrong checksum",
	ErrReserved: "reserved bit set", ErrUnsupported: "unsupported value", ErrRange: "value out of range",
	ErrPayload: "payload is not padding",
}

// Error returns the reason in words.
func (r Reason) Error() string { return unit.Word(r, reasonWords[:]) }

// ParseError describes bytes that were refused. Such bytes are
// counted and dropped; they are never a reason to stop.
type ParseError struct {
	Field  string // the field, such as "BTH.OpCode"
	Offset int    // of the field's first byte, from the start of the parsed bytes
	Reason Reason
}

// Error returns the error in words.
func (e *ParseError) Error() string {
	return fmt.Sprintf("wire: %s at byte %d: %v", e.Field, e.Offset, e.Reason)
}

// Unwrap returns the reason, for errors.Is and errors.As.
func (e *ParseError) Unwrap() error { return e.Reason }

// refuse is the one place where a ParseError is made.
func refuse(field string, offset int, reason Reason) error {
	return &ParseError{Field: field, Offset: offset, Reason: reason}
}

// shift moves the offset of an error that a part of a packet gave to where that
// part begins.
func shift(err error, by int) error {
	if e, ok := err.(*ParseError); ok {
		e.Offset += by
	}
	return err
}
