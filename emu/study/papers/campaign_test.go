package papers

import (
	"context"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"fabemu/emu"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/study/campaign"
)

// Figures whose runs several calls have done, in whatever order, are those of one call, but
// for the seconds that it took, which belong to no cell.
func TestModelSharesMakeTheSameFigures(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const name = "compare-schemes-short/unequal"
	o := Options{Seeds: 1, Options: emu.Options{Version: "v1"}}
	p, figures, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Do(context.Background(), p, figures, o)
	if err != nil {
		t.Fatal(err)
	}
	whole, dir := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "shared")
	want.WallSeconds = report.Missing()
	for i := range want.Runs {
		want.Runs[i].WallSeconds = report.Missing()
	}
	if err := want.WriteDir(whole, plot.Style{}); err != nil {
		t.Fatal(err)
	}

	open := func(only string) *Campaign {
		c, err := NewCampaign(name, only, o)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	all := open("").Cells()
	share := func(s campaign.Share) (cells int) {
		_, n, err := open(s.Cell).Do(context.Background(), dir, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := share(campaign.Share{Index: 2, Of: 2}); n == 0 || n >= len(all) {
		t.Fatalf("half of %d cells are %d", len(all), n)
	}
	draw := func() (missing int) {
		list, err := open("").Draw(t.Context(), dir, func(r *Result) error {
			if r.Partial != (len(r.Runs) < len(all)) {
				t.Errorf("partial: %v, with %d of %d runs", r.Partial, len(r.Runs), len(all))
			}
			return r.WriteDir(dir, plot.Style{})
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if n := draw(); n == 0 {
		t.Error("nothing is missing of a half")
	}
	mine, err := campaign.Share{Index: 1, Of: 2}.Pick(all)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range mine {
		if i == 0 { // alone, and once more
			first := readAll(t, dir)["cells/"+c.File()]
			share(campaign.Share{Cell: c.ID})
			if again := readAll(t, dir)["cells/"+c.File()]; first != "" || again == "" {
				t.Errorf("%q, then %q", first, again)
			}
		}
	}
	share(campaign.Share{Index: 1, Of: 2})
	if n := draw(); n != 0 {
		t.Errorf("%d cells are missing", n)
	}
	got := readAll(t, dir)
	for file, text := range readAll(t, whole) {
		if got[file] != text {
			t.Errorf("%s is another", file)
		}
	}

	// What changes the results of a run changes the name of its file.
	for says, change := range map[string]func(o *Options, name *string){
		"another version":  func(o *Options, _ *string) { o.Version = "v2" },
		"two seeds":        func(o *Options, _ *string) { o.Seeds = 2 },
		"more figures":     func(_ *Options, name *string) { *name = "compare-schemes-short" },
		"digests":          func(o *Options, _ *string) { o.Digest = true },
		"the bytes":        func(o *Options, _ *string) { o.Codec = true },
		"another clock":    func(o *Options, _ *string) { o.Clock = emu.WallClock },
		"another dilation": func(o *Options, _ *string) { o.Dilation = 7 },
	} {
		o, name := o, name
		change(&o, &name)
		c, err := NewCampaign(name, "", o)
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range c.Cells() {
			if _, same := got["cells/"+cell.File()]; same {
				t.Errorf("%s: %s has the same name", says, cell.Name)
			}
		}
	}
	for _, id := range []string{"000900-000000000000", "000001-000000000000"} {
		c, err := NewCampaign(name, id, o)
		if err == nil {
			_, _, err = c.Do(context.Background(), dir, campaign.Share{Cell: id}, nil)
		}
		if _, mistake := err.(*emu.Mistake); !mistake {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// readAll reads all files of a directory.
func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A number comes back from a cell's file as it was, to the last bit.
func TestFloat(t *testing.T) {
	for _, v := range []float64{0, -0.1, 1.0 / 3, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN()} {
		b, err := json.Marshal([]float{float(v)})
		var back []float
		if err == nil {
			err = json.Unmarshal(b, &back)
		}
		if err != nil || math.Float64bits(float64(back[0])) != math.Float64bits(v) && !math.IsNaN(v) || math.IsNaN(float64(back[0])) != math.IsNaN(v) {
			t.Errorf("%v: %s, %v, %v", v, b, back, err)
		}
	}
}
