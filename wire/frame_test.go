package wire

import (
	"reflect"
	"testing"
)

// Parts share the memory of Frame.Extension: each fits, and none has a gap between its fields,
// whose bytes == would compare although they are never written.
func TestPartsFitWithoutGaps(t *testing.T) {
	if size := reflect.TypeFor[Frame]().Size(); size != 64 {
		t.Errorf("a frame has %d bytes, want one line of the cache, 64", size)
	}
	for _, part := range []reflect.Type{
		reflect.TypeFor[CreditExtension](), reflect.TypeFor[PauseExtension](), reflect.TypeFor[SampleExtension](), reflect.TypeFor[MessageExtension](),
		reflect.TypeFor[ProbeExtension](), reflect.TypeFor[synExtension](), reflect.TypeFor[sackExtension](),
	} {
		if room := reflect.TypeFor[Extension]().Size(); part.Size() > room {
			t.Errorf("%v has %d bytes, want at most %d", part, part.Size(), room)
		}
		if part.Kind() != reflect.Struct {
			continue
		}
		fields := uintptr(0)
		for f := range part.NumField() {
			fields += part.Field(f).Type.Size()
		}
		if fields != part.Size() {
			t.Errorf("%v has %d bytes, and its fields %d", part, part.Size(), fields)
		}
	}
}
