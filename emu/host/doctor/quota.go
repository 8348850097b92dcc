package doctor

import (
	"bytes"
	"cmp"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// quota returns the least number of processors that a control group of this process,
// or one above it, grants; 0: no limit. It reads version 2 (cpu.max) and version 1
// (cpu.cfs_quota_us).
func quota(root fs.FS) float64 {
	mounts := map[bool]string{} // by whether the version is 2
	for line := range strings.Lines(text(root, "proc/self/mountinfo")) {
		before, after, _ := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if len(f) < 5 || len(g) == 0 {
			continue
		}
		v2, options := g[0] == "cgroup2", strings.Split(g[len(g)-1], ",")
		if v2 || g[0] == "cgroup" && slices.Contains(options, "cpu") {
			mounts[v2] = f[4]
		}
	}
	least := math.Inf(1)
	for line := range strings.Lines(text(root, "proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || parts[1] != "" && !slices.Contains(strings.Split(parts[1], ","), "cpu") {
			continue
		}
		mount, mounted := mounts[parts[1] == ""]
		// Seen from inside a namespace, a group may lie above the mount point.
		for group := path.Join("/", parts[2]); mounted; group = path.Dir(group) {
			dir := strings.TrimPrefix(path.Join(mount, group), "/")
			grant := cmp.Or(text(root, path.Join(dir, "cpu.max")),
				text(root, path.Join(dir, "cpu.cfs_quota_us"))+" "+text(root, path.Join(dir, "cpu.cfs_period_us")))
			if n := parseMax(grant); n > 0 {
				least = min(least, n)
			}
			mounted = group != "/"
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// parseMax reads "QUOTA PERIOD", both in microseconds, as a number of processors.
// "max", a negative quota and any other text are no limit: 0.
func parseMax(s string) float64 {
	f := strings.Fields(s)
	if len(f) != 2 {
		return 0
	}
	q, err := strconv.ParseFloat(f[0], 64)
	p, err2 := strconv.ParseFloat(f[1], 64)
	if err != nil || err2 != nil || q <= 0 || p <= 0 {
		return 0
	}
	return q / p
}

// text returns a file without white space around it, or nothing if it cannot be read.
func text(root fs.FS, name string) string {
	b, _ := fs.ReadFile(root, name)
	return string(bytes.TrimSpace(b))
}
