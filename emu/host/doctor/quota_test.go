package doctor

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// laptop makes a file system of what a kernel would show.
func laptop(files map[string]string) fs.FS {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

const mountsV2 = `24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate
`

const mountsV1 = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
38 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`

func TestQuota(t *testing.T) {
	v1 := map[string]string{
		"proc/self/mountinfo": mountsV1,
		"proc/self/cgroup":    "4:memory:/box\n3:cpuset:/box\n2:cpu,cpuacct:/box/inner\n0::/\n",
		"sys/fs/cgroup/cpu,cpuacct/box/inner/cpu.cfs_quota_us":  "-1\n",
		"sys/fs/cgroup/cpu,cpuacct/box/inner/cpu.cfs_period_us": "100000\n",
		"sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us":        "50000\n",
		"sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us":       "100000\n",
	}
	// In its own namespace a container sees its group as the root.
	inside := map[string]string{
		"proc/self/mountinfo":   mountsV2,
		"proc/self/cgroup":      "0::/\n",
		"sys/fs/cgroup/cpu.max": "200000 100000\n",
	}
	least := map[string]string{
		"proc/self/mountinfo":     mountsV2,
		"proc/self/cgroup":        "0::/a/b\n",
		"sys/fs/cgroup/a/cpu.max": "400000 100000\n", "sys/fs/cgroup/a/b/cpu.max": "300000 100000\n",
	}
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  float64
	}{
		{"version 1", v1, 0.5},
		{"inside a container", inside, 2},
		{"the least of several", least, 3},
		{"no control groups", nil, 0},
		{"no limit", map[string]string{"proc/self/mountinfo": mountsV2, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, 0},
		{"what makes no sense", map[string]string{"proc/self/mountinfo": "x\n - \n", "proc/self/cgroup": "x\n1:2\n"}, 0},
	} {
		if got := quota(laptop(tc.files)); got != tc.want {
			t.Errorf("%s: %v processors, want %v", tc.name, got, tc.want)
		}
	}
}

func TestParseMax(t *testing.T) {
	for s, want := range map[string]float64{
		"max 100000": 0, "50000 100000": 0.5, "200000 100000": 2, "-1 100000": 0,
		"": 0, "50000": 0, "a b": 0, "50000 0": 0, "1 2 3": 0,
	} {
		if got := parseMax(s); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
}

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  Figures
	}{
		{"all", map[string]string{
			"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
			"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":            "powersave\n",
			"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor":            "powersave\n",
			"sys/devices/system/cpu/cpu2/cpufreq/scaling_governor":            "performance\n",
			"proc/sys/net/core/netdev_max_backlog":                            "1000\n",
			"sys/class/net/lo/queues/rx-0/rps_cpus":                           "00000000,00000003\n",
			"sys/class/net/lo/queues/rx-1/rps_cpus":                           "00000000,00000000\n",
			"sys/class/net/eth0/queues/rx-0/rps_cpus":                         "f\n",
			"proc/self/limits":    "Max processes  10  10  processes\nMax open files  1024  4096  files\n",
			"proc/self/ns/user":   "",
			"proc/self/mountinfo": mountsV2,
			"proc/self/cgroup":    "0::/system.slice/job.service\n",
			"sys/fs/cgroup/system.slice/job.service/cpu.max": "max 100000\n",
			"sys/fs/cgroup/system.slice/cpu.max":             "150000 100000\n",
		}, Figures{ClockSource: "tsc", Governors: []string{"powersave", "performance"}, Backlog: 1000, Steering: []string{"rx-0 00000000,00000003"},
			Files: 1024, UserNamespaces: true, Quota: 1.5}},
		{"no user namespaces", map[string]string{"proc/self/ns/user": "", "proc/sys/user/max_user_namespaces": "0\n"},
			Figures{Governors: []string{}, Steering: []string{}}},
		{"nothing to see, or no sense in it", map[string]string{"proc/sys/net/core/netdev_max_backlog": "none\n", "proc/self/limits": "Max open files unlimited"},
			Figures{Governors: []string{}, Steering: []string{}}},
	} {
		var got Figures
		got.read(laptop(tc.files))
		if got.Processors < 1 {
			t.Errorf("%s: %d processors", tc.name, got.Processors)
		}
		tc.want.Processors = got.Processors
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// A real examination, whatever this machine is.
func TestExamine(t *testing.T) {
	r, err := Examine(Load{Foreign: 0.5}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := &r.Figures
	if f.Foreign != 0.5 || f.Files == 0 || f.Granted <= 0 || f.ReadNs <= 0 || len(r.Findings) < 9 {
		t.Errorf("%+v", r)
	}
}
