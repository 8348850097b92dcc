package doctor

import (
	"io/fs"
	"math"
	"slices"
	"strings"
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

func TestSystem(t *testing.T) {
	bare := map[string]string{
		"proc/sys/kernel/ostype":    "Linux\n",
		"proc/sys/kernel/osrelease": "6.12.1-amd64\n",
		"proc/cpuinfo":              "processor\t: 0\nmodel name\t: AMD EPYC 9354\nflags\t\t: fpu tsc constant_tsc\n\nprocessor\t: 1\nmodel name\t: another\nflags\t\t: fpu hypervisor\n",
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":            "powersave\n",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor":            "powersave\n",
		"sys/devices/system/cpu/cpu2/cpufreq/scaling_governor":            "performance\n",
	}
	guest := map[string]string{
		"proc/sys/kernel/ostype":                         "Linux\n",
		"proc/sys/kernel/osrelease":                      "6.1.0\n",
		"proc/cpuinfo":                                   "model name : QEMU Virtual CPU\nflags : fpu hypervisor\n",
		"sys/class/dmi/id/sys_vendor":                    "QEMU\n",
		"sys/class/dmi/id/product_name":                  "Standard PC\n",
		"proc/self/mountinfo":                            mountsV2,
		"proc/self/cgroup":                               "0::/system.slice/job.service\n",
		"sys/fs/cgroup/system.slice/job.service/cpu.max": "max 100000\n",
		"sys/fs/cgroup/system.slice/cpu.max":             "150000 100000\n",
	}
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  System
	}{
		{"bare metal", bare, System{Kernel: "Linux 6.12.1-amd64", CPU: "AMD EPYC 9354", ClockSource: "tsc", Governors: []string{"powersave", "performance"}}},
		{"guest", guest, System{Kernel: "Linux 6.1.0", CPU: "QEMU Virtual CPU", Hypervisor: "QEMU Standard PC", Governors: []string{}, Quota: 1.5}},
		{"guest without a name", map[string]string{"proc/cpuinfo": "flags : hypervisor\n"}, System{Hypervisor: "unnamed", Governors: []string{}}},
		{"nothing to see", nil, System{Governors: []string{}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := system(laptop(tc.files))
			if got.Arch == "" || got.Cores < 1 {
				t.Errorf("arch %q, %d cores", got.Arch, got.Cores)
			}
			tc.want.Arch, tc.want.Cores = got.Arch, got.Cores
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestQuota(t *testing.T) {
	v1 := map[string]string{
		"proc/self/mountinfo": mountsV1,
		"proc/self/cgroup":    "4:memory:/box\n3:cpuset:/box\n2:cpu,cpuacct:/box/inner\n0::/\n",
		"sys/fs/cgroup/cpu,cpuacct/box/inner/cpu.cfs_quota_us":  "-1\n",
		"sys/fs/cgroup/cpu,cpuacct/box/inner/cpu.cfs_period_us": "100000\n",
		"sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us":        "50000\n",
		"sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us":       "100000\n",
	}
	// In a namespace of its own a container sees its group as the root.
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

func TestNetwork(t *testing.T) {
	got := network(laptop(map[string]string{
		"proc/sys/net/core/netdev_max_backlog":    "1000\n",
		"proc/sys/net/core/dev_weight":            "64\n",
		"proc/sys/net/core/rmem_max":              "212992\n",
		"proc/sys/net/core/rmem_default":          "none of your business\n",
		"sys/class/net/lo/queues/rx-0/rps_cpus":   "00000000,00000003\n",
		"sys/class/net/lo/queues/rx-1/rps_cpus":   "00000000,00000000\n",
		"sys/class/net/eth0/queues/rx-0/rps_cpus": "f\n",
	}))
	want := Network{Steering: []string{"rx-0 00000000,00000003"}, Backlog: 1000, Weight: 64, RmemMax: 212992}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := network(laptop(nil)); len(got.Steering) != 0 || got.Backlog != 0 {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestCapabilities(t *testing.T) {
	for mask, want := range map[string]string{
		"000001ffffffffff": "CAP_NET_ADMIN CAP_NET_RAW CAP_IPC_LOCK CAP_SYS_ADMIN CAP_SYS_NICE",
		"0000000000000000": "",
		"0000000000003000": "CAP_NET_ADMIN CAP_NET_RAW",
		"00000000a80425fb": "CAP_NET_RAW", // a container, as Docker starts it
		"0000000000800000": "CAP_SYS_NICE",
	} {
		got := parseCapabilities("Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t" + mask + "\nSeccomp:\t0\n")
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", mask, got, want)
		}
	}
	for _, bad := range []string{"", "CapEff:\n", "CapEff: xyz\n"} {
		if got := parseCapabilities(bad); len(got) > 0 {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func TestVersion(t *testing.T) {
	for said, want := range map[string]string{
		"TShark (Wireshark) 4.4.7.\n\nCopyright 1998-2025": "4.4.7",
		"tcpdump version 4.99.5\nlibpcap version 1.10.5":   "4.99.5",
		"ip utility, iproute2-6.15.0, libbpf 1.5.0":        "6.15.0",
		"no idea": "",
	} {
		if got := version.FindString(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

func TestShare(t *testing.T) {
	f := Floor{Late: []Late{{1000, 0.04}, {2000, 0.02}, {5000, 0.005}}}
	for ns, want := range map[float64]float64{0: 0.04, 1000: 0.04, 1500: 0.03, 2000: 0.02, 4000: 0.01, 5000: 0.005, 1e9: 0.005} {
		if got := f.Share(ns); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v ns: %v, want %v", ns, got, want)
		}
	}
	if got := (&Floor{}).Share(1); got != 0 {
		t.Errorf("an empty table says %v", got)
	}
}

func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		v    []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{9, 1, 2}, 2}} {
		before := slices.Clone(tc.v)
		if got := median(tc.v); got != tc.want || !slices.Equal(before, tc.v) {
			t.Errorf("%v: %v, want %v; then %v", before, got, tc.want, tc.v)
		}
	}
}

// Without /proc there is an error that names the remedy.
func TestNoProc(t *testing.T) {
	if _, err := limits(fstest.MapFS{}); err == nil || !strings.Contains(err.Error(), "mount -t proc proc /proc") {
		t.Error(err)
	}
}
