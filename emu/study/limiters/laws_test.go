//go:build !race

package limiters_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"fabemu/emu/study/limiters"
)

// The documents have the reaction points of this program as they come out, and all pass.
func TestFiguresOfLawsInDocuments(t *testing.T) {
	var results []*limiters.Result
	for _, s := range limiters.Laws() {
		r, err := limiters.Run(context.Background(), s, limiters.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Good() {
			t.Errorf("%s has not passed", s.Name)
		}
		results = append(results, r)
	}
	var table bytes.Buffer
	if err := limiters.WriteLawTable(&table, &table, results); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../docs/notes/limiters.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), table.String()) {
		t.Errorf("docs/notes/limiters.md does not have\n%s\ngo run -C scripts/measure/limiters . $PWD/docs/notes/limiters.md", table.String())
	}
}
