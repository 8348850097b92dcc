package doctor

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"fabemu/emu/base/terminal"
	"fabemu/emu/host"
)

// healthy are the figures of a machine on which all is well.
func healthy() *Figures {
	return &Figures{
		Load:       Load{Foreign: 0.02},
		Processors: 32, Governors: []string{"performance"}, ClockSource: "tsc", ReadNs: 35,
		Backlog: 1000, Asked: askedBuffer, Granted: askedBuffer, Files: 65536,
		NetworkNamespaces: true, UserNamespaces: true, TUN: true, Captures: []string{"tshark", "tcpdump"},
	}
}

func TestJudge(t *testing.T) {
	for _, tc := range []struct {
		finding string
		change  func(f *Figures)
		want    Grade
		says    string // part of the value or of the advice
	}{
		{"processors", func(f *Figures) {}, Good, "32 processors"},
		{"processors", func(f *Figures) { f.Processors = 1 }, Bad, "use at least two"},
		{"other load", func(f *Figures) {}, Good, "0.02 of 32 processors"},
		{"other load", func(f *Figures) { f.Foreign = 3 }, Warning, "end other work"},
		{"other load", func(f *Figures) { f.Foreign = 31.5 }, Bad, "end other work"},
		{"other load", func(f *Figures) { f.Foreign, f.Processors = 1.4, 2 }, Bad, "1.40 of 2"},
		{"stolen time", func(f *Figures) {}, Good, "0.0 %"},
		{"stolen time", func(f *Figures) { f.Stolen = 0.02 }, Warning, "2.0 %"},
		{"stolen time", func(f *Figures) { f.Stolen = 0.2 }, Bad, "20.0 %"},
		{"CPU quota", func(f *Figures) {}, Good, "none"},
		{"CPU quota", func(f *Figures) { f.Quota = 1.5 }, Bad, "1.5 processors"},
		{"CPU quota", func(f *Figures) { f.Quota = 32 }, Warning, "32 processors"},
		{"frequency", func(f *Figures) {}, Good, "performance"},
		{"frequency", func(f *Figures) { f.Governors = []string{"powersave"} }, Warning, "powersave"},
		{"clock", func(f *Figures) {}, Good, "tsc, 35 ns"},
		{"clock", func(f *Figures) { f.ClockSource, f.ReadNs = "hpet", 900 }, Warning, "clocksource"},
		{"clock", func(f *Figures) { f.ClockSource = "" }, Good, "unknown source"},
		{"packet steering", func(f *Figures) {}, Good, "off"},
		{"packet steering", func(f *Figures) { f.Steering = []string{"rx-0 3"} }, Warning, "on for lo: rx-0 3"},
		{"backlog", func(f *Figures) {}, Good, "1000 packets may wait"},
		{"backlog", func(f *Figures) { f.Backlog = 100 }, Warning, "netdev_max_backlog"},
		{"socket buffers", func(f *Figures) {}, Good, "128KiB granted of 128KiB"},
		{"socket buffers", func(f *Figures) { f.Granted = 65536 }, Bad, "sysctl -w net.core.rmem_max=131072"},
		{"open files", func(f *Figures) {}, Good, "enough for 32760 links"},
		{"open files", func(f *Figures) { f.Files = 256 }, Warning, "enough for 120 links"},
		{"namespaces", func(f *Figures) {}, Good, "can be made"},
		{"namespaces", func(f *Figures) { f.NetworkNamespaces = false }, Warning, "unshare"},
		{"real guests", func(f *Figures) {}, Good, "can be opened"},
		{"real guests", func(f *Figures) { f.TUN = false }, Warning, "modprobe tun"},
		{"captures", func(f *Figures) {}, Good, "tshark, tcpdump"},
		{"captures", func(f *Figures) { f.Captures = nil }, Warning, "install wireshark"},
		{"optional programs", func(f *Figures) {}, Good, "all are there"},
		{"optional programs", func(f *Figures) { f.Missing = []Missing{{host.Containers, true, []string{"docker", "podman"}}} }, Warning, "guests in containers: docker.io or podman"},
		{"the scenario's programs", func(f *Figures) {}, Good, "nothing is missing"},
		{"the scenario's programs", func(f *Figures) { f.Lacking = []string{"there is no command x"} }, Bad, "there is no command x"},
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
	sick := &Figures{Load: Load{1, 1}, Quota: 0.5, Governors: []string{"powersave"}, ReadNs: 5000, Asked: 1, Steering: []string{"x"}}
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
			t.Errorf("a healthy machine: %+v", judge(f))
		}
	}
}

func TestText(t *testing.T) {
	sick := healthy()
	sick.Granted, sick.NetworkNamespaces, sick.TUN = 1, false, false
	for _, tc := range []struct {
		name  string
		f     *Figures
		color bool
		last  string
	}{
		{"healthy", healthy(), false, "All is well"},
		{"sick", sick, false, "1 thing in the way of runs, 2 warnings"},
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
			for _, title := range []string{"Timing", "Datagrams", "Rights and tools"} {
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

func TestLinksFor(t *testing.T) {
	for files, want := range map[uint64]uint64{0: 0, 16: 0, 1024: 504} {
		if got := linksFor(files); got != want {
			t.Errorf("%d files: %d links, want %d", files, got, want)
		}
	}
}
