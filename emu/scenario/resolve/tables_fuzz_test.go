package resolve_test

import (
	"os"
	"path/filepath"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
)

// FuzzTables: whatever a table of transfers and a file with a distribution hold, Load reads both or
// lists their mistakes.
func FuzzTables(f *testing.F) {
	runtest.MinimizeLittle(f)
	dir := f.TempDir()
	read := func(pattern string) (all [][]byte) {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			f.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range names {
			src, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			all = append(all, src)
		}
		return all
	}
	tables := append(read("testdata/transfers-*.csv"), []byte("workload,from,to,bytes,arrived_ps,ended_ps\nw,h1,h2,1000,5,9\n\n\"w\",h2,h4,7,6,\n"))
	sizes := append(read("testdata/sizes-*.txt"), []byte("# bytes, per cent\n0, 0\n1000\t50\n2000 100\n"))
	for i, csv := range tables {
		f.Add(csv, sizes[i%len(sizes)])
	}
	good, points := tables[len(tables)-1], sizes[len(sizes)-1]
	wrong := runtest.Seeds(runtest.Mutants(points, 100), 20)
	for i, csv := range runtest.Seeds(runtest.Mutants(good, 100), 20) {
		f.Add(csv, wrong[i])
	}
	const text = `name: tables
model: {duration: 10ms}
defaults: {link: {rate: 10Gb/s, flow-control: pfc}, switch: {kind: output-queued}}
switches: {S: {}}
endpoints: ["h[1-4]"]
links: ["h[1-4] - S"]
workload: [{name: t, over: "h[1-4]", transfers: transfers.csv}, {name: s, over: "h[1-4]", size: sizes.txt}]
`
	f.Fuzz(func(t *testing.T, csv, points []byte) {
		for name, b := range map[string][]byte{"transfers.csv": csv, "sizes.txt": points} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s, err := resolve.Load(filepath.Join(dir, "tables.yaml"), []byte(text), nil)
		if err != nil {
			if list, ok := err.(*scenario.Errors); !ok || len(list.List) == 0 || len(list.List) > 2 {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		all, err := s.Workloads[0].Listed()
		if err != nil {
			t.Fatal(err)
		}
		for from, of := range all {
			for i, a := range of {
				if a.To == from || a.To < 0 || a.To > 3 || a.Size < 1 || a.At < 0 || i > 0 && a.At < of[i-1].At {
					t.Fatalf("%d sends %+v", from, a)
				}
			}
		}
		d := s.Workloads[1].Size.Distribution()
		if d.Mean() <= 0 {
			t.Fatalf("a mean of %v", d.Mean())
		}
	})
}
