package doctor

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"fabemu/emu/base/terminal"
)

// healthy are the figures of a computer on which all is well.
func healthy() *Figures {
	return &Figures{
		System: System{Kernel: "Linux 6.12.1", Arch: "amd64", CPU: "AMD EPYC 9354", Cores: 32, ClockSource: "tsc", Governors: []string{"performance"}},
		Load:   Load{Foreign: 0.02, Mean: 0.1},
		Speed: Speed{
			Floor:     Floor{Late: []Late{{10_000, 0.001}, {50_000, 0.0002}}, Windows: 12, WatchedNs: 600_000_000, ReadNs: 35, GapMaxNs: 60_000},
			Sleep:     Sleep{AskedNs: 200_000, P50Ns: 60_000, P99Ns: 900_000},
			Datagrams: []Datagram{{LargeDatagram, 1000, 1e6}, {SmallDatagram, 800, 1.25e6}},
			Inline:    1,
		},
		Limits:  Limits{Files: 65536, FilesHard: 65536, Asked: 131072, Granted: 131072},
		Network: Network{Backlog: 1000, Weight: 64, RmemMax: 212992, RmemDef: 212992},
		Rights:  Rights{Root: true, Capabilities: []string{"CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_SYS_NICE"}, NetworkNamespaces: true, UserNamespaces: true, TUN: true},
		Tools:   []Tool{{"tshark", "/usr/bin/tshark", "4.4.7"}, {"ip", "/sbin/ip", "6.15.0"}, {"tc", "/sbin/tc", ""}},
	}
}

func TestJudge(t *testing.T) {
	for _, tc := range []struct {
		finding string
		change  func(f *Figures)
		want    Grade
		says    string // part of the value or of the advice
	}{
		{"lateness", func(f *Figures) {}, Good, "0.10 %"},
		{"lateness", func(f *Figures) { f.Speed.Floor.Late[0].Share = 0.03 }, Warning, "3.0 %"},
		{"lateness", func(f *Figures) { f.Speed.Floor.Late = []Late{{10_000, 0.3}, {50_000, 0.29}} }, Bad, "more than 50 us 29.0 %"},
		{"stalls", func(f *Figures) {}, Good, "none in 600 ms"},
		{"stalls", func(f *Figures) {
			f.Speed.Floor.Stalls, f.Speed.Floor.StalledNs, f.Speed.Floor.GapMaxNs = 1, 20_000_000, 20_000_000
		}, Warning, "1 stall of more than 5 ms in 600 ms, the longest gap 20 ms"},
		{"stalls", func(f *Figures) { f.Speed.Floor.Stalls, f.Speed.Floor.StalledNs = 9, 90_000_000 }, Bad, "9 stalls"},
		{"other load", func(f *Figures) {}, Good, "0.02 of 32 processors"},
		{"other load", func(f *Figures) { f.Load.Foreign = 3 }, Warning, "end other work"},
		{"other load", func(f *Figures) { f.Load.Foreign = 31.5 }, Bad, "end other work"},
		{"other load", func(f *Figures) { f.Load.Foreign, f.System.Cores = 1.4, 2 }, Bad, "1.40 of 2"},
		{"stolen time", func(f *Figures) { f.System.Hypervisor = "QEMU" }, Good, "0 %"},
		{"stolen time", func(f *Figures) { f.Load.Stolen = 0.02 }, Warning, "2.0 %"},
		{"stolen time", func(f *Figures) { f.Load.Stolen = 0.2 }, Bad, "20.0 %"},
		{"sleep", func(f *Figures) {}, Good, "200 us asked of the system come 60 us late"},
		{"clock", func(f *Figures) {}, Good, "tsc, 35 ns"},
		{"clock", func(f *Figures) { f.System.ClockSource, f.Speed.Floor.ReadNs = "hpet", 900 }, Warning, "clocksource"},
		{"clock", func(f *Figures) { f.System.ClockSource = "" }, Good, "unknown source"},
		{"cost", func(f *Figures) {}, Good, "2138 bytes 1.00 us (1.00 million a second), 70 bytes 0.80 us"},
		{"cost", func(f *Figures) { f.Speed.Datagrams[0].Ns = 4000 }, Warning, "4.00 us"},
		{"cost", func(f *Figures) { f.Speed.Datagrams[1].Ns = 40_000 }, Bad, "40.00 us"},
		{"delivery", func(f *Figures) {}, Good, "100 %"},
		{"delivery", func(f *Figures) { f.Speed.Inline = 0.5 }, Warning, "50.0 %"},
		{"delivery", func(f *Figures) { f.Speed.LostDatagrams = 3 }, Bad, "3 were lost"},
		{"packet steering", func(f *Figures) {}, Good, "off"},
		{"packet steering", func(f *Figures) { f.Network.Steering = []string{"rx-0 3"} }, Warning, "on for lo: rx-0 3"},
		{"backlog", func(f *Figures) {}, Good, "1000 packets may wait, 64"},
		{"backlog", func(f *Figures) { f.Network.Backlog = 100 }, Warning, "netdev_max_backlog"},
		{"socket buffers", func(f *Figures) {}, Good, "128 KiB granted of 128 KiB"},
		{"socket buffers", func(f *Figures) { f.Limits.Granted = 65536 }, Bad, "sysctl -w net.core.rmem_max=131072"},
		{"open files", func(f *Figures) {}, Good, "enough for 32760 links"},
		{"open files", func(f *Figures) { f.Limits.Files = 256 }, Warning, "enough for 120 links"},
		{"processors", func(f *Figures) {}, Good, "32, AMD EPYC 9354"},
		{"processors", func(f *Figures) { f.System.Cores, f.System.CPU = 1, "" }, Bad, "1, amd64"},
		{"virtual", func(f *Figures) {}, Good, "no"},
		{"virtual", func(f *Figures) { f.System.Hypervisor = "QEMU" }, Good, "QEMU"},
		{"virtual", func(f *Figures) { f.System.Hypervisor, f.Speed.Floor.Late[0].Share = "QEMU", 0.02 }, Warning, "QEMU"},
		{"CPU quota", func(f *Figures) {}, Good, "none"},
		{"CPU quota", func(f *Figures) { f.System.Quota = 1.5 }, Bad, "1.5 processors"},
		{"CPU quota", func(f *Figures) { f.System.Quota = 32 }, Warning, "32 processors"},
		{"frequency", func(f *Figures) {}, Good, "performance"},
		{"frequency", func(f *Figures) { f.System.Governors = []string{"powersave"} }, Warning, "powersave"},
		{"kernel", func(f *Figures) {}, Good, "Linux 6.12.1"},
		{"privileges", func(f *Figures) {}, Good, "root"},
		{"privileges", func(f *Figures) { f.Rights.Root, f.Rights.Capabilities = false, []string{"CAP_NET_RAW"} }, Warning, "missing are CAP_SYS_NICE (a higher priority), CAP_NET_ADMIN"},
		{"namespaces", func(f *Figures) {}, Good, "can be made"},
		{"namespaces", func(f *Figures) { f.Rights.NetworkNamespaces = false }, Warning, "unshare"},
		{"real hosts", func(f *Figures) {}, Good, "can be opened"},
		{"real hosts", func(f *Figures) { f.Rights.TUN = false }, Warning, "modprobe tun"},
		{"real hosts", func(f *Figures) { f.Rights.NetworkNamespaces = false }, Warning, "need both"},
		{"captures", func(f *Figures) {}, Good, "tshark 4.4.7"},
		{"captures", func(f *Figures) { f.Tools = nil }, Warning, "install wireshark"},
		{"iproute2", func(f *Figures) {}, Good, "ip 6.15.0, tc"},
		{"iproute2", func(f *Figures) { f.Tools = nil }, Warning, "install iproute2"},
	} {
		f := healthy()
		tc.change(f)
		found := judge(f)
		i := slices.IndexFunc(found, func(x Finding) bool { return x.Name == tc.finding })
		if i < 0 {
			t.Errorf("%s: there is no such finding", tc.finding)
			continue
		}
		got := found[i]
		if got.Grade != tc.want || !strings.Contains(got.Value+"\n"+got.Advice, tc.says) {
			t.Errorf("%s: %+v, want %s, and %q in it", tc.finding, got, tc.want, tc.says)
		}
	}
}

// Each finding that is not good has advice, and only such. Names are unique.
func TestFindingsAreComplete(t *testing.T) {
	sick := &Figures{System: System{Hypervisor: "unnamed", Quota: 0.5, Governors: []string{"powersave"}}, Speed: Speed{LostDatagrams: 1, Floor: Floor{ReadNs: 5000, Stalls: 1, Late: []Late{{1, 1}}}}, Load: Load{Foreign: 1, Stolen: 1}, Limits: Limits{Asked: 1}, Network: Network{Steering: []string{"x"}}}
	for name, f := range map[string]*Figures{"healthy": healthy(), "sick": sick, "nothing": {}} {
		seen := map[string]bool{}
		for _, x := range judge(f) {
			if seen[x.Name] {
				t.Errorf("%s: %s twice", name, x.Name)
			}
			seen[x.Name] = true
			if (x.Advice == "") != (x.Grade == Good) {
				t.Errorf("%s: %s is %s, with the advice %q", name, x.Name, x.Grade, x.Advice)
			}
		}
		if name == "healthy" && slices.ContainsFunc(judge(f), func(x Finding) bool { return x.Grade != Good }) {
			t.Errorf("a healthy computer: %+v", judge(f))
		}
	}
}

func TestText(t *testing.T) {
	sick := healthy()
	sick.Limits.Granted = 1
	sick.Rights = Rights{}
	for _, tc := range []struct {
		name  string
		f     *Figures
		color bool
		last  string
	}{
		{"healthy", healthy(), false, "All is well"},
		{"sick", sick, false, "1 thing in the way of runs, 3 warnings"},
		{"in colours", healthy(), true, "\x1b[32mAll is well\x1b[0m"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := (&Report{Figures: *tc.f, Findings: judge(tc.f)}).WriteText(&b, terminal.Look{Color: tc.color}); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			if strings.Contains(text, "\x1b") != tc.color {
				t.Errorf("colours: %v", !tc.color)
			}
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			if lines[len(lines)-1] != tc.last {
				t.Errorf("the last line is %q, want %q", lines[len(lines)-1], tc.last)
			}
			for _, l := range lines {
				if n := utf8.RuneCountInString(l); !tc.color && n > 100 || strings.TrimRight(l, " ") != l {
					t.Errorf("%d columns, or spaces at the end: %q", n, l)
				}
			}
			for _, title := range []string{"Timing", "Datagrams", "Computer", "Rights", "Tools"} {
				if strings.Count(text, title) != 1 {
					t.Errorf("%d parts %s", strings.Count(text, title), title)
				}
			}
			for _, f := range judge(tc.f) {
				if !strings.Contains(text, f.Name) {
					t.Errorf("%s is missing", f.Name)
				}
			}
			t.Logf("\n%s", text)
		})
	}
}

func TestPrinting(t *testing.T) {
	for share, want := range map[float64]string{0: "0 %", 0.00001: "below 0.01 %", 0.0012: "0.12 %", 0.031: "3.1 %", 0.9994: "99.9 %", 0.9997: "99.97 %", 0.999999: "99.99 %", 1: "100 %"} {
		if got := Percent(share); got != want {
			t.Errorf("%v: %q, want %q", share, got, want)
		}
	}
	for ns, want := range map[int64]string{7: "7 ns", 1500: "1.5 us", 20_000_000: "20 ms", 1_250_000_000: "1.25 s"} {
		if got := span(ns); got != want {
			t.Errorf("%d: %q, want %q", ns, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1000: "1000 B", 2048: "2 KiB", 4 << 20: "4 MiB"} {
		if got := size(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for files, want := range map[uint64]uint64{0: 0, 16: 0, 1024: 504} {
		if got := linksFor(files); got != want {
			t.Errorf("%d files: %d links, want %d", files, got, want)
		}
	}
}
