package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
)

// engine is a folder in which the commands of docs/guide/hosts.md are typed.
type engine struct {
	dir string
	env []string
}

// newEngine makes the folder, with what a reader has in it, and fabemu in PATH.
func newEngine(t *testing.T) *engine {
	t.Helper()
	docs, err := filepath.Abs("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{dir: t.TempDir(), env: append(os.Environ(), "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))}
	if err := os.Symlink(docs, filepath.Join(e.dir, "docs")); err != nil {
		t.Fatal(err)
	}
	return e
}

// run runs a command there and returns what it says.
func (e *engine) run(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command(args[0], args[1:]...)
	c.Dir, c.Env = e.dir, e.env
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// typed returns the lines of the blocks of a kind in docs/guide/hosts.md.
func typed(t *testing.T, kind string) []string {
	t.Helper()
	var lines []string
	for _, b := range blocks(t, "../../docs/guide/hosts.md") {
		if b.kind == kind {
			lines = append(lines, b.lines...)
		}
	}
	if len(lines) == 0 {
		t.Fatalf("docs/guide/hosts.md has no commands for %s", kind)
	}
	return lines
}

// whole does the cells of an export command by one call, into the folder whole.
func (e *engine) whole(t *testing.T, export string) string {
	t.Helper()
	line, _, _ := strings.Cut(export, " >")
	words := strings.Fields(line)
	if len(words) < 4 || words[2] != "export" {
		t.Fatalf("no export command: %s", export)
	}
	flags := strings.Join(words[4:], " ")
	flags = strings.Replace(flags, "--shards 8 --time 10m", "", 1)
	before, after, found := strings.Cut(flags, "--out ")
	out, after, _ := strings.Cut(after, " ")
	if !found {
		t.Fatalf("no --out: %s", export)
	}
	e.run(t, "bash", "-c", "fabemu sweep "+before+after+" --out whole-"+out)
	return out
}

// same compares what an engine has left with what one call has.
func (e *engine) same(t *testing.T, out string, cells int) {
	t.Helper()
	want := state(t, filepath.Join(e.dir, "whole-"+out))
	if len(want) < cells+2 { // sweep.csv, and a figure at least
		t.Fatalf("one call makes %d files of %d cells", len(want), cells)
	}
	got := state(t, filepath.Join(e.dir, out))
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is not what one call makes:\n%.300s\nwant\n%.300s", name, got[name], text)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("there is %s", name)
		}
	}
}

// On a Slurm of one node, what docs/guide/hosts.md has typed, of fewer seeds unless it is for soak:
// a task is killed and put back into the queue while it runs, continues where it was, and the
// table, which a job draws that waits for all, is that of one call. Another array, with its own
// gaps, tells each task its share by Slurm's variables.
func TestSlurm(t *testing.T) {
	t.Attr("depends-on", "privileges")
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	runtest.NeedTools(t, "sbatch", "scontrol", "munged", "slurmctld", "slurmd")
	t.Parallel()
	script, err := filepath.Abs("../../scripts/slurm-node.sh")
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t)
	lines := typed(t, "slurm")
	export := strings.Replace(lines[0], "$(seq -s, 40)", fmt.Sprintf("$(seq -s, %d)", slurmSeeds), 1)
	if slurmSeeds < 40 && export == lines[0] {
		t.Fatalf("%s: it has no 40 seeds", export)
	}
	// Shares that are longer leave more time to find a task in the first half.
	longer := strings.Replace(export, "model.duration=2ms", "model.duration=6ms", 1)
	if longer == export {
		t.Fatalf("%s: its runs do not have 2ms", export)
	}
	export = longer
	const cells = 25 * slurmSeeds
	share := fmt.Sprint(cells / 8)
	driver := `set -euo pipefail
` + export + `
submitted=$(` + lines[1] + `)
` + strings.Join(lines[2:], "\n") + `
auto="docs/examples/incast.yaml --set model.duration=1ms --set model.seed=1,2,3,4,5,6 --metric incast.rate --out auto"
sbatch --array=2-8:3 --output=auto-%a.log --wrap "fabemu sweep $auto --shard auto"
array=$(echo "$submitted" | sed 's/^array \([0-9]*\), table [0-9]*$/\1/')
# process prints the number of the process that does the share of a task.
process() {
	for p in /proc/[0-9]*; do
		read -r name <"$p/comm" && [ "$name" = fabemu ] && grep -qzxF "SLURM_CONF=$SLURM_CONF" "$p/environ" &&
			grep -qzxF "SLURM_ARRAY_JOB_ID=$array" "$p/environ" && grep -qzxF "SLURM_ARRAY_TASK_ID=$1" "$p/environ" || continue
		echo "${p#/proc/}"
	done 2>/dev/null
}
# runs prints how many runs of its share a task has done, by its log.
runs() {
	sed -n 's/^sweep: \([0-9]*\) of ` + share + ` runs.*/\1/p' "$1" 2>/dev/null | tail -n 1 || true
}
# The first that is in the first half of its share is put back. It is stopped for that time: scontrol may take
# longer than the rest of the share. Slurm lets it go on when it orders it to end.
task=
for i in $(seq 1500); do
	for log in sweep-incast-"${array}"_*.log; do
		n=${log##*_} n=${n%.log}
		done=$(runs "$log")
		[ "${done:-` + share + `}" -le $((` + share + ` / 2)) ] && pid=$(process "$n") && kill -STOP "$pid" 2>/dev/null || continue
		if [ "$(runs "$log")" -le $((` + share + ` / 2)) ]; then
			task=$n
			break 2
		fi
		kill -CONT "$pid" 2>/dev/null || true
	done
	sleep 0.02
done
[ -n "$task" ] || { echo "no task was in the first half of its share"; exit 1; }
id=$(scontrol show job "${array}_$task" | sed -n 's/^JobId=\([0-9]*\) .*/\1/p')
scontrol requeue "${array}_$task"
echo "$task" >task
# Slurm lets a task that is put back wait for two minutes, unless it is told not to, and
# refuses to be told when it has just begun. The wait has a reason: what the step's daemon reports at its end,
# the exit status of the first start, would count for a second start that has begun by then.
for i in $(seq 600); do
	squeue -h -r -o '%i %T' >queue
	! grep -qx "${array}_$task PENDING" queue || pgrep -f "^slurmstepd: \[$id[.]batch\]" >/dev/null ||
		scontrol update jobid="${array}_$task" StartTime=now || true
	grep -q . queue || break
	sleep 0.2
done
fabemu sweep $auto --table
for i in $(seq 8); do scontrol show job "${array}_$i"; done >jobs
scontrol show job "$(echo "$submitted" | sed 's/.* table //')" >table
`
	done := make(chan string)
	go func() {
		c := exec.Command(script, "bash", "-c", driver)
		c.Dir, c.Env = e.dir, e.env
		out, err := c.CombinedOutput()
		if err != nil {
			out = append(out, err.Error()...)
		} else {
			out = nil
		}
		done <- string(out)
	}()
	out := e.whole(t, export)
	if said := <-done; said != "" {
		t.Fatal(said)
	}
	for i, task := range []string{"2", "5", "8"} {
		log := text(t, filepath.Join(e.dir, "auto-"+task+".log"))
		if !strings.Contains(log, fmt.Sprintf("shard %d/3, 2 runs", i+1)) {
			t.Errorf("task %s of 2-8:3: %s", task, log)
		}
	}
	logs, _ := filepath.Glob(filepath.Join(e.dir, "*.log"))
	said := ""
	for _, name := range logs {
		said += name + "\n" + text(t, name)
	}
	jobs := text(t, filepath.Join(e.dir, "jobs"))
	if n := strings.Count(jobs, "JobState=COMPLETED"); n != 8 || !strings.Contains(jobs, "Restarts=1") {
		t.Errorf("%d of 8 tasks are completed, one of them begun twice:\n%s\n%s", n, jobs, said)
	}
	if !strings.Contains(text(t, filepath.Join(e.dir, "table")), "JobState=COMPLETED") {
		t.Errorf("the table:\n%s\n%s", text(t, filepath.Join(e.dir, "table")), said)
	}
	back := "sweep-incast-*_" + strings.TrimSpace(text(t, filepath.Join(e.dir, "task"))) + ".log"
	if logs, _ := filepath.Glob(filepath.Join(e.dir, back)); len(logs) != 1 ||
		!strings.Contains(text(t, logs[0]), "ended early") || !strings.Contains(text(t, logs[0]), share+" of "+share+" runs are done") {
		t.Errorf("the task that was put back: %q\n%s", logs, said)
	}
	e.same(t, out, cells)
}

// The commands of --plan, run by xargs as in docs/guide/hosts.md, leave the files of one call.
func TestPlanByXargs(t *testing.T) {
	runtest.NeedTools(t, "bash", "xargs")
	t.Parallel()
	e := newEngine(t)
	for _, line := range typed(t, "engines") {
		e.run(t, "bash", "-c", line)
	}
	plan, _, _ := strings.Cut(typed(t, "engines")[0], " --plan")
	e.run(t, "bash", "-c", strings.Replace(plan, "--out six", "--out whole-six", 1))
	e.same(t, "six", 6)
}
