package campaign

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fabemu/emu/emutest/golden"

	"github.com/google/go-cmp/cmp"
)

func TestParseShare(t *testing.T) {
	slurm := map[string]string{"SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_MIN": "3", "SLURM_ARRAY_TASK_MAX": "9", "SLURM_ARRAY_TASK_STEP": "2", "SLURM_ARRAY_TASK_COUNT": "4"}
	with := func(e map[string]string, more ...string) map[string]string {
		all := map[string]string{}
		for k, v := range e {
			all[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	sge := map[string]string{"SGE_TASK_ID": "5", "SGE_TASK_FIRST": "1", "SGE_TASK_LAST": "9", "SGE_TASK_STEPSIZE": "4"}
	for _, c := range []struct {
		cell, shard string
		environment map[string]string
		want        Share
		wrong       []string
	}{
		{},
		{cell: "000017-9f3a1c02b4d5", want: Share{Cell: "000017-9f3a1c02b4d5"}},
		{shard: "2/3", want: Share{Index: 2, Of: 3}},
		{shard: "auto", environment: slurm, want: Share{Index: 3, Of: 4}},
		{shard: "auto/4", environment: slurm, want: Share{Index: 3, Of: 4}},
		{shard: "auto", environment: sge, want: Share{Index: 2, Of: 3}},
		{shard: "auto/8", environment: map[string]string{"JOB_COMPLETION_INDEX": "0"}, want: Share{Index: 1, Of: 8}},
		{shard: "auto/8", environment: map[string]string{"JOB_COMPLETION_INDEX": "7", "SGE_TASK_ID": "undefined"}, want: Share{Index: 8, Of: 8}},
		{shard: "auto/8", environment: map[string]string{"PBS_ARRAY_INDEX": "8"}, want: Share{Index: 8, Of: 8}},

		{cell: "17", wrong: []string{`"17" is not the ID of a cell`}},
		{cell: "17-9f3a1c02b4d5", wrong: []string{"is not the ID"}},
		{cell: "000017-9f3a1c02b4d", wrong: []string{"is not the ID"}},
		{cell: "000000-9f3a1c02b4d5", wrong: []string{"is not the ID"}},
		{cell: "x", shard: "5/3", wrong: []string{`"x" is not the ID`, "--shard 5/3: shards are counted from 1 to 3"}},
		{shard: "0/3", wrong: []string{"counted from 1 to 3"}},
		{shard: "-1/3", wrong: []string{"counted from 1 to 3"}},
		{shard: "1/0", wrong: []string{`"0" shards: expected a whole number of 1 or more`}},
		{shard: "2", wrong: []string{"expected the number of a shard"}},
		{shard: "a/3", wrong: []string{"expected the number of a shard"}},
		{shard: "1/3/4", wrong: []string{`"3/4" shards`}},
		{shard: "auto", wrong: []string{"not a task of an array job: none of SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, PBS_ARRAY_INDEX, SGE_TASK_ID is set"}},
		{shard: "auto", environment: map[string]string{"JOB_COMPLETION_INDEX": "0"}, wrong: []string{"Kubernetes does not give the number of tasks"}},
		{shard: "auto", environment: map[string]string{"PBS_ARRAY_INDEX": "1"}, wrong: []string{"PBS does not give the number of tasks"}},
		{shard: "auto/3", environment: map[string]string{"PBS_ARRAY_INDEX": "0"}, wrong: []string{"the tasks for 3 shards start with 1"}},
		{shard: "auto/3", environment: map[string]string{"JOB_COMPLETION_INDEX": "3"}, wrong: []string{"the tasks for 3 shards start with 0"}},
		{shard: "auto/5", environment: slurm, wrong: []string{"Slurm's array has 4 tasks, not 5"}},
		{shard: "auto", environment: with(slurm, "SLURM_ARRAY_TASK_COUNT", "3"), wrong: []string{"has 3 tasks from 3 to 9, with gaps"}},
		{shard: "auto", environment: with(slurm, "JOB_COMPLETION_INDEX", "1"), wrong: []string{"SLURM_ARRAY_TASK_ID and JOB_COMPLETION_INDEX are set"}},
		{shard: "auto", environment: with(sge, "SGE_TASK_FIRST", "", "SGE_TASK_LAST", "x"), wrong: []string{`SGE_TASK_FIRST is ""`, `SGE_TASK_LAST is "x"`}},
	} {
		got, err := ParseShare(c.cell, c.shard, func(name string) string { return c.environment[name] })
		if len(c.wrong) == 0 {
			if err != nil || got != c.want {
				t.Errorf("%+v: %+v, %v", c, got, err)
			}
			continue
		}
		for _, want := range c.wrong {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q %q: %v, want %q", c.cell, c.shard, err, want)
			}
		}
	}
}

func cells(costs ...float64) []Cell {
	var list []Cell
	for i, cost := range costs {
		list = append(list, Cell{Number: i + 1, ID: NewID(i+1, "part", fmt.Sprint(cost)), Name: fmt.Sprint("cell ", i+1), Cost: cost})
	}
	return list
}

// Every cell is in exactly one shard, the shards cost about the same, and where all cells
// do, or it is not known, they have the same number.
func TestShards(t *testing.T) {
	for _, c := range []struct {
		costs []float64
		of    int
		most  float64
	}{
		{[]float64{1, 1, 1, 1, 1, 1, 1}, 3, 3},
		{[]float64{0, 0, 0, 0, 0, 0, 0, 0}, 4, 0},
		{[]float64{9, 1, 1, 1, 3, 3, 1, 2, 3}, 3, 9},
		{[]float64{5, 1}, 4, 5},
	} {
		all := cells(c.costs...)
		seen := map[string]int{}
		for i := range c.of {
			mine, err := Share{Index: i + 1, Of: c.of}.Pick(all)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for k, x := range mine {
				sum += x.Cost
				seen[x.ID]++
				if k > 0 && x.Number < mine[k-1].Number {
					t.Errorf("%v: out of order: %v", c, mine)
				}
			}
			if sum > c.most {
				t.Errorf("%v: shard %d costs %v", c, i+1, sum)
			}
			if most := (len(all) + c.of - 1) / c.of; c.costs[0] == c.costs[1] && len(mine) > most {
				t.Errorf("%v: shard %d has %d cells", c, i+1, len(mine))
			}
		}
		for _, x := range all {
			if seen[x.ID] != 1 {
				t.Errorf("%v: cell %d is in %d shards", c, x.Number, seen[x.ID])
			}
		}
	}
}

// The ID of a cell is the same in every release, and another if anything about it is.
func TestIDs(t *testing.T) {
	id := NewID(17, "a", "bc")
	if id != "000017-018e0d1d09e2" {
		t.Errorf("the ID is %s", id)
	}
	for _, other := range []string{NewID(18, "a", "bc"), NewID(17, "ab", "c"), NewID(17, "a", "bd"), NewID(17, "abc")} {
		if other[7:] == id[7:] && other[:6] == id[:6] {
			t.Errorf("%s twice", id)
		}
	}
	if n, err := numberOf(id); n != 17 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	all := cells(1, 1)
	for id, want := range map[string]string{
		"000003-000000000000": "there is no cell 000003-000000000000: the plan has 2",
		"000002-000000000000": "cell 2 of this plan is " + all[1].ID,
	} {
		if _, err := (Share{Cell: id}).Pick(all); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if one, err := (Share{Cell: all[1].ID}).Pick(all); err != nil || len(one) != 1 || one[0].Number != 2 {
		t.Errorf("%v, %v", one, err)
	}
}

// A shell takes a line apart into the words that it was made of.
func TestQuote(t *testing.T) {
	words := []string{"a", "", "it's", "$HOME", "a b", `\`, `"`, "*", "#x", "~", "a=b,c", "!1", "`id`", "é", "a;b", "&", "{1,2}", "\t"}
	for _, shell := range []string{"sh", "bash"} {
		out, err := exec.Command(shell, "-c", `printf '%s\n' `+Quote(words...)).CombinedOutput()
		if d := cmp.Diff(strings.Join(words, "\n")+"\n", string(out)); err != nil || d != "" {
			t.Errorf("%s: %v %s", shell, err, d)
		}
	}
}

// plan is one of cells that do nothing.
func plan(name string, n int) *Plan {
	p := &Plan{What: "trial", Files: []string{"table"}}
	for i := range n {
		p.Cells = append(p.Cells, Cell{Number: i + 1, ID: NewID(i+1, name, fmt.Sprint(i)), Name: "it"})
	}
	return p
}

// do does a share of a plan.
func do(dir string, p *Plan, s Share) error {
	mode := Part
	if s.All() {
		mode = Everything
	}
	d, err := Claim(dir, p, mode)
	if err != nil {
		return err
	}
	defer d.Close()
	mine, err := s.Pick(p.Cells)
	if err != nil {
		return err
	}
	_, err = Do(context.Background(), d, mine, Options{}, func(_ context.Context, c *Cell) (*int, error) { return &c.Number, nil })
	return err
}

// Many calls begin in a directory that is not there yet, some of them with the same cells, and one
// of another plan: all succeed, and leave what a single call of each plan does.
func TestManyCallsAtOnce(t *testing.T) {
	const rounds, shards, n = 10, 8, 40
	whole := filepath.Join(t.TempDir(), "whole")
	for _, name := range []string{"a", "b"} {
		if err := do(whole, plan(name, n), Share{}); err != nil {
			t.Fatal(err)
		}
	}
	names, err := filepath.Glob(filepath.Join(whole, "*", "*"))
	if err != nil || len(names) != 2*n {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for round := range rounds {
		dir := filepath.Join(t.TempDir(), "new", fmt.Sprint(round))
		var wait sync.WaitGroup
		for i := range 2 * shards {
			wait.Go(func() {
				if err := do(dir, plan("a", n), Share{Index: i%shards + 1, Of: shards}); err != nil {
					t.Errorf("round %d, shard %d: %v", round, i%shards+1, err)
				}
			})
		}
		wait.Go(func() {
			if err := do(dir, plan("b", n), Share{Index: 1, Of: 1}); err != nil {
				t.Errorf("round %d, another plan: %v", round, err)
			}
		})
		wait.Wait()
		for _, name := range names {
			rel, _ := filepath.Rel(whole, name)
			want, _ := os.ReadFile(name)
			if got, err := os.ReadFile(filepath.Join(dir, rel)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %v\n%s", rel, err, got)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Errorf("there is %q", left)
		}
	}
}

// A file that was cut short counts as missing, and is written again. One that is whole and does not
// have the result of its cell was changed: it is named.
func TestDamagedCells(t *testing.T) {
	dir, p := t.TempDir(), plan("a", 5)
	if err := do(dir, p, Share{}); err != nil {
		t.Fatal(err)
	}
	path := func(i int) string { return filepath.Join(dir, CellsDir, p.Cells[i].File()) }
	other, err := os.ReadFile(path(4))
	if err != nil {
		t.Fatal(err)
	}
	for i, damaged := range [][]byte{nil, other[:len(other)/2], make([]byte, 9)} {
		if err := os.WriteFile(path(i), damaged, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Claim(dir, p, Everything)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	before := -1
	all, err := Do(t.Context(), d, p.Cells, Options{Progress: func(s Status) { before = s.Before }}, func(_ context.Context, c *Cell) (*int, error) { return &c.Number, nil })
	if err != nil || before != 2 {
		t.Errorf("%v; %d cells are taken over, want the last two", err, before)
	}
	for i, n := range all {
		if *n != i+1 {
			t.Errorf("cell %d has the result %d", i+1, *n)
		}
	}
	for what, text := range map[string][]byte{
		"null": []byte("null"), "that of another cell": other,
		"its number is changed": bytes.Replace(other, []byte("5"), []byte("6"), 1),
	} {
		right, err := os.ReadFile(path(1))
		if err == nil {
			err = os.WriteFile(path(1), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Results[int](d, p.Cells); err == nil || !strings.Contains(err.Error(), path(1)) {
			t.Errorf("%s: %v", what, err)
		}
		if err := os.WriteFile(path(1), right, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Results[int](d, p.Cells); err != nil {
		t.Error(err)
	}
}

// A call that does all cells is alone; shares are together, and have what is there drawn.
func TestWhoIsWithWhom(t *testing.T) {
	dir := t.TempDir()
	share, err := Claim(dir, plan("a", 3), Part)
	if err != nil {
		t.Fatal(err)
	}
	for mode, together := range map[Mode]bool{Part: true, Drawing: true, Everything: false, Anew: false} {
		d, err := Claim(dir, plan("a", 3), mode)
		if together != (err == nil) || err != nil && !strings.Contains(err.Error(), "another run is active there") {
			t.Errorf("next to a share, mode %d: %v", mode, err)
		}
		if err == nil {
			d.Close()
		}
	}
	// What another has begun is not tidied up while it may be at it.
	begun := filepath.Join(dir, CellsDir, "."+plan("a", 3).Cells[0].File()+"-77")
	if err := os.WriteFile(begun, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	drawing, err := Claim(dir, plan("a", 3), Drawing)
	if err != nil {
		t.Fatal(err)
	}
	drawing.Close()
	if _, err := os.Stat(begun); err != nil {
		t.Error("what another has begun is gone")
	}
	share.Close()

	alone, err := Claim(dir, plan("a", 3), Everything)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(begun); err == nil {
		t.Error("a file that no cell continues is still there")
	}
	if _, err := Claim(dir, plan("a", 3), Part); err == nil {
		t.Error("a share next to a call that does all")
	}
	alone.Close()
	if _, err := Claim(filepath.Join(dir, "none"), plan("a", 3), Drawing); err == nil || !strings.Contains(err.Error(), "has nothing of this trial") {
		t.Errorf("nothing to draw: %v", err)
	}
}

// A file that is removed while it is written is written again.
func TestWriteAgain(t *testing.T) {
	dir := t.TempDir()
	d, err := Claim(dir, plan("a", 1), Part)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	tries := 0
	err = d.Write("table", func(w io.Writer) error {
		if tries++; tries == 1 {
			begun, _ := filepath.Glob(filepath.Join(dir, ".table-*"))
			for _, name := range begun {
				os.Remove(name)
			}
		}
		_, err := w.Write([]byte("all"))
		return err
	})
	if b, _ := os.ReadFile(filepath.Join(dir, "table")); err != nil || tries != 2 || string(b) != "all" {
		t.Errorf("%v after %d tries: %q", err, tries, b)
	}
}

func job() *Job {
	return &Job{
		Kind: "sweep", Name: "two words.yaml", Command: []string{"/opt/fabemu", "sweep", "two words.yaml", "--set", "a={it's} $(b)", "--out", "/results/x"},
		Dir: "/home/me", Out: "/results/x", Workers: "--jobs", Table: "sweep.csv", Cells: cells(1, 2, 3), Shards: 2, CPUs: 1, Memory: 1024,
		Time: 90 * time.Minute, Image: "registry.example/fabemu:1", Claim: "results",
		Files: []File{{Path: "/scenario/two.yaml", Text: "name: two\nmodel:\n  {}\n"}},
	}
}

// What engines take is kept: they have been shown these files (scripts/k8scheck for
// Kubernetes' types; the tests of the command for the others).
func TestExport(t *testing.T) {
	for _, of := range []string{"", "-wall", "-rounds"} {
		for _, e := range Engines() {
			j := job()
			name := string(e) + of
			switch of {
			case "-wall":
				j.Wall, j.Time, j.Files = true, 0, nil
			case "-rounds":
				j.Rounds = 3
				j.Files = append(j.Files, File{Path: "/scenario/best.yaml", Text: "scheme: swift\nset: {}\n"})
			}
			var b bytes.Buffer
			if err := Export(&b, e, j); err != nil {
				t.Fatal(err)
			}
			golden.File(t, filepath.Join("testdata", name), b.Bytes())
		}
	}
}

// All mistakes are told at once.
func TestExportMistakes(t *testing.T) {
	j := job()
	j.Shards, j.CPUs, j.Memory, j.Time, j.Image, j.Claim = 4, 0, 0, time.Second, "", "a b"
	j.Dir, j.Files = "a\nb", []File{{Path: "/scenario/a b.yaml"}, {Path: "/scenario/c.yaml"}, {Path: "/scenario/c.yaml", Text: strings.Repeat("x", 1<<20)}}
	err := Export(&bytes.Buffer{}, Kubernetes, j)
	for _, want := range []string{"--shards 4: expected 1 to 3", "--cpus 0", "--memory", "--time 1s", "--image", `--claim "a b"`, "line break", "cannot be a key of a ConfigMap",
		"two files have the name c.yaml", "the files have 1048576 bytes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	j = job()
	want := `there is no engine "slrm"; there are slurm and k8s`
	if err := Export(&bytes.Buffer{}, "slrm", j); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestLabel(t *testing.T) {
	for name, want := range map[string]string{
		"hpl2002/fig3b": "sweep-hpl2002-fig3b", "Ein Übel.yaml": "sweep-ein--bel",
		strings.Repeat("x", 100): "sweep-" + strings.Repeat("x", 34),
	} {
		if got := (&Job{Kind: "sweep", Name: name}).Label(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
