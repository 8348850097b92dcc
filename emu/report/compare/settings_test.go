package compare

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiffering(t *testing.T) {
	got, err := differing([][]byte{
		[]byte("model: {duration: 1ms, seed: 1}\nflows: [{name: f, rate: 1, law: a}, {name: g, rate: 1, law: a}, {name: h, law: x}]\n"),
		[]byte("model: {duration: 1ms, seed: 2}\nflows: [{name: f, rate: 3, law: b}, {name: g, rate: 2, law: b}, {name: h, law: x}]\n"),
		[]byte("model: {duration: 1ms, seed: 3}\nflows: [{name: f, rate: 1, law: b}, {name: g, rate: 1, law: b}]\n"),
	})
	want := []setting{
		{[]string{"model", "seed"}, []string{"1", "2", "3"}},
		{[]string{"flows", "f", "rate"}, []string{"1", "3", "1"}},
		{[]string{"flows", "*", "law"}, []string{"a", "b", "b"}},
		{[]string{"flows", "g", "rate"}, []string{"1", "2", "1"}},
		{[]string{"flows", "h", "name"}, []string{"h", "h", "-"}},
		{[]string{"flows", "h", "law"}, []string{"x", "x", "-"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(setting{})); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
