package report

import (
	"fmt"
	"reflect"

	"fabemu/emu/metrics"
)

// fill sets the fields of an object of result.json, a struct, to the figures whose keys they have.
// A figure that has a key and no field comes into its field Figures.
func fill(object any, x metrics.At) {
	to := reflect.ValueOf(object).Elem()
	fields := map[string]int{}
	for i := range to.NumField() {
		fields[to.Type().Field(i).Tag.Get("json")] = i
	}
	for f := range x.Figures(x.Of) {
		if f.JSON == "" {
			continue
		}
		i, known := fields[f.JSON]
		if !known {
			more := to.FieldByName("Figures").Addr().Interface().(*map[string]Number)
			if *more == nil {
				*more = map[string]Number{}
			}
			(*more)[f.JSON] = Number(f.Read(x))
			continue
		}
		switch field := to.Field(i).Addr().Interface().(type) {
		case *int64:
			*field = int64(f.Read(x))
		case *Number:
			*field = Number(f.Read(x))
		case *[]Count:
			*field = []Count{}
			f.Each(x, func(part string, n float64) { *field = append(*field, Count{part, int64(n)}) })
		case *[]Stall:
			*field = []Stall{}
			f.Each(x, func(part string, ps float64) { *field = append(*field, Stall{part, int64(ps)}) })
		default:
			panic(fmt.Sprintf("report: a figure cannot be a %T, as %s of %T is", field, f.JSON, object))
		}
	}
}
