package errs

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// Mistake is an error that the user can correct.
type Mistake struct{ Err error }

func (e *Mistake) Error() string { return e.Err.Error() }

func (e *Mistake) Unwrap() error { return e.Err }

// Errorf returns a *Mistake with the text of fmt.Errorf.
func Errorf(format string, args ...any) error { return &Mistake{fmt.Errorf(format, args...)} }

// Unknown returns a *Mistake if word is not one of the words of a kind, of which there are at
// least two.
func Unknown[W ~string](kind string, word W, words ...W) error {
	if slices.Contains(words, word) {
		return nil
	}
	last := len(words) - 1
	var list strings.Builder
	for _, w := range words[:last] {
		fmt.Fprintf(&list, ", %s", w)
	}
	return Errorf("there is no %s %q; there are %s and %s", kind, word, list.String()[2:], words[last])
}

// Panic is a panic that was recovered. Its stack has been written to standard error.
type Panic struct {
	Value any    // of the panic
	Place string // in the source, such as "wire.appendEthernet (frame.go:351)"; empty: not known
}

func (e *Panic) Error() string {
	place := ""
	if e.Place != "" {
		place = " in " + e.Place
	}
	return fmt.Sprintf("a mistake of the program%s: %v; the stack is on standard error, please report it", place, e.Value)
}

// Unwrap returns the value of the panic if that is an error.
func (e *Panic) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Catch recovers a panic of its goroutine and passes it on as a *Panic. It must be deferred itself.
func Catch(failed func(error)) {
	if v := recover(); v != nil {
		failed(newError(v))
	}
}

// Into recovers a panic of its goroutine and puts a *Panic instead of the error. It must be
// deferred itself.
func Into(err *error) {
	if v := recover(); v != nil {
		*err = newError(v)
	}
}

// Again turns a panic of its goroutine into a panic with a *Panic, which keeps the place: for a
// coroutine, whose panic becomes one of its caller. It must be deferred itself.
func Again() {
	if v := recover(); v != nil {
		panic(newError(v))
	}
}

// newError describes a panic that its caller has recovered.
func newError(v any) *Panic {
	if e, ok := v.(*Panic); ok {
		return e // of another goroutine, which has written its stack
	}
	fmt.Fprintf(os.Stderr, "panic: %v\n\n%s", v, debug.Stack())
	return &Panic{v, place()}
}

// place returns where a panic happened: the first function of this program below the runtime's.
func place() string {
	var calls [64]uintptr
	frames := runtime.CallersFrames(calls[:runtime.Callers(2, calls[:])])
	for panicked := false; ; {
		f, more := frames.Next()
		switch {
		case strings.HasPrefix(f.Function, "runtime."):
			panicked = true
		case panicked && strings.HasPrefix(f.Function, "fabemu/"):
			return fmt.Sprintf("%s (%s:%d)", strings.TrimPrefix(f.Function, "fabemu/"), f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
		if !more {
			return ""
		}
	}
}
