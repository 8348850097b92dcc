package report

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"fabemu/emu/metrics"
)

// fill sets the fields of an object of result.json, a struct, to the figures whose keys they have.
// A figure that has a key and no field comes into its field Figures.
func fill(object any, x metrics.At) {
	to := reflect.ValueOf(object).Elem()
	fields := map[string]int{}
	for i := range to.NumField() {
		fields[jsonKey(to.Type().Field(i))] = i
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
		case *int:
			*field = int(f.Read(x))
		case *int64:
			if v := Number(f.Read(x)); v.Known() {
				*field = int64(v)
			}
		case *Number:
			if v := Number(f.Read(x)); v.Known() || !strings.HasSuffix(to.Type().Field(i).Tag.Get("json"), ",omitempty") {
				*field = v
			}
		case *[]Count:
			*field = []Count{}
			f.Each(x, func(part string, n float64) { *field = append(*field, Count{part, int64(n)}) })
		case *[]Stall:
			*field = []Stall{}
			f.Each(x, func(part string, ps float64) { *field = append(*field, Stall{part, int64(ps)}) })
		case *Spread:
			f.Each(x, field.set)
		case **Spread:
			f.Each(x, func(part string, v float64) {
				if *field == nil {
					*field = new(Spread)
				}
				(*field).set(part, v)
			})
		case *[]Straggler:
			f.Each(x, func(part string, n float64) { *field = append(*field, Straggler{part, int(n)}) })
		default:
			panic(fmt.Sprintf("report: a figure cannot be a %T, as %s of %T is", field, f.JSON, object))
		}
	}
}

// A Value is a figure of an object of result.json, or a part of one.
type Value struct {
	Figure *metrics.Figure
	Part   string // of a figure that has parts
	Number Number
}

// Name is a name of the figure with the part: "slowdown.p99".
func (v *Value) Name(figure string) string {
	if v.Part == "" {
		return figure
	}
	return figure + "." + v.Part
}

// Values returns the figures of an object of result.json, a struct, in the order of the table, and
// then those of rows that a program has added, by their keys: what is known of such a row here is
// the key, which is its name and the head of its column.
func Values(of metrics.Object, object any) (all []Value) {
	from := reflect.ValueOf(object).Elem()
	fields := map[string]any{}
	for i := range from.NumField() {
		fields[jsonKey(from.Type().Field(i))] = from.Field(i).Interface()
	}
	for f := range metrics.Figures(of) {
		add := func(part string, n Number) { all = append(all, Value{f, part, n}) }
		switch v := fields[f.JSON].(type) {
		case int:
			add("", Number(v))
		case int64:
			add("", Number(v))
		case Number:
			add("", v)
		case []Count:
			for _, x := range v {
				add(x.Reason, Number(x.Count))
			}
		case []Stall:
			for _, x := range v {
				add(x.Cause, Number(x.TimePs))
			}
		case []Straggler:
			for _, x := range v {
				add(x.Endpoint, Number(x.Rounds))
			}
		case Spread:
			v.each(add)
		case *Spread:
			if v != nil {
				v.each(add)
			}
		}
	}
	further, _ := fields["figures"].(map[string]Number)
	for _, key := range slices.Sorted(maps.Keys(further)) {
		f := &metrics.Figure{Of: of, Name: key, JSON: key, Live: key, Columns: []metrics.Column{{Head: key}}}
		all = append(all, Value{f, "", further[key]})
	}
	return all
}

// jsonKey is the key of a field in JSON.
func jsonKey(f reflect.StructField) string {
	key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return key
}
