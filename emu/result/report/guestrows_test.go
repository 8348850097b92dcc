package report_test

import (
	"reflect"
	"strings"
	"testing"

	"fabemu/emu/metrics"
	"fabemu/emu/run/guest"
)

// The counts of guests and of their adapters are rows of the table of figures, by their keys.
func TestCountsOfGuestsAreRows(t *testing.T) {
	for of, object := range map[metrics.Object]reflect.Type{
		metrics.Guest: reflect.TypeFor[guest.Counts](), metrics.Adapter: reflect.TypeFor[guest.RoCECounts](),
	} {
		rows := map[string]bool{}
		for f := range metrics.Figures(of) {
			rows[f.JSON] = true
		}
		for i := range object.NumField() {
			key, _, _ := strings.Cut(object.Field(i).Tag.Get("json"), ",")
			if !rows[key] {
				t.Errorf("no row has the key %s of %v", key, object)
			}
			delete(rows, key)
		}
		for key := range rows {
			t.Errorf("%v has no field with the key %s of a row", object, key)
		}
	}
}
