package campaign

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// array names the variables in which a batch system gives a task of an array its place.
type array struct {
	engine            string
	task              string // which it is
	begin             int    // the first task, where first is empty
	first, last, step string // of the tasks; empty: not given
	count             string // of tasks, which may have gaps between them
}

// arrays returns the batch systems. Sources: sbatch(1), "OUTPUT ENVIRONMENT VARIABLES";
// Kubernetes' documentation of Jobs, completion mode Indexed; PBS Professional's User's
// Guide, "Job Arrays" (qsub -J); Grid Engine's qsub(1), "ENVIRONMENTAL VARIABLES".
func arrays() []array {
	return []array{
		{
			engine: "Slurm", task: "SLURM_ARRAY_TASK_ID", count: "SLURM_ARRAY_TASK_COUNT",
			first: "SLURM_ARRAY_TASK_MIN", last: "SLURM_ARRAY_TASK_MAX", step: "SLURM_ARRAY_TASK_STEP",
		},
		{engine: "Kubernetes", task: "JOB_COMPLETION_INDEX"},
		{engine: "PBS", task: "PBS_ARRAY_INDEX", begin: 1},
		{
			engine: "Grid Engine", task: "SGE_TASK_ID",
			first: "SGE_TASK_FIRST", last: "SGE_TASK_LAST", step: "SGE_TASK_STEPSIZE",
		},
	}
}

// shardOfTask returns the shard of this process, which is a task of an array. of is the stated
// number of shards, or 0.
func shardOfTask(of int, environment func(string) string) (index, shards int, err error) {
	var mine []array
	var names, set []string
	for _, a := range arrays() {
		names = append(names, a.task)
		if v := environment(a.task); v != "" && v != "undefined" { // as Grid Engine has it outside of arrays
			mine, set = append(mine, a), append(set, a.task)
		}
	}
	switch {
	case len(mine) == 0:
		return 0, 0, fmt.Errorf("this is not a task of an array job: none of %s is set; give the shard and their number, such as 1/4",
			strings.Join(names, ", "))
	case len(mine) > 1:
		return 0, 0, fmt.Errorf("%s are set: give the shard and their number, such as 1/4", strings.Join(set, " and "))
	}
	return mine[0].shard(of, environment)
}

func (a *array) shard(of int, environment func(string) string) (index, shards int, err error) {
	var wrong []error
	number := func(name string) int {
		n, err := strconv.Atoi(environment(name))
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s is %q: expected a whole number", name, environment(name)))
		}
		return n
	}
	begin := a.begin
	index = number(a.task) - begin + 1
	if a.first != "" {
		first, last, step := number(a.first), number(a.last), number(a.step)
		if len(wrong) > 0 {
			return 0, 0, errors.Join(wrong...)
		}
		step = max(1, step)
		tasks := (last-first)/step + 1
		if a.count != "" && number(a.count) != tasks {
			return 0, 0, fmt.Errorf("%s's array has %s tasks from %d to %d, with gaps: give the shard and their number, "+
				"such as \"$%s/%d\"", a.engine, environment(a.count), first, last, a.task, last)
		}
		if of != 0 && of != tasks {
			return 0, 0, fmt.Errorf("%s's array has %d tasks, not %d", a.engine, tasks, of)
		}
		of, index, begin = tasks, (number(a.task)-first)/step+1, first
	}
	switch {
	case len(wrong) > 0:
		return 0, 0, errors.Join(wrong...)
	case of == 0:
		return 0, 0, fmt.Errorf("%s does not give the number of tasks of its array: add it, auto/N", a.engine)
	case index < 1 || index > of:
		return 0, 0, fmt.Errorf("%s is %s, but the tasks for %d shards start with %d", a.task, environment(a.task), of, begin)
	}
	return index, of, nil
}
