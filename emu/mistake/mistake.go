package mistake

import "fmt"

// Error is an error that the user can mend.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an *Error with the text of fmt.Errorf.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }
