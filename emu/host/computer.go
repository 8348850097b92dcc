package host

import (
	"os"
	"runtime"
	"strings"

	"fabemu/emu/base/errs"
)

// Computer is the machine that a run was made on.
type Computer struct {
	System string `json:"system,omitempty"` // operating system and kernel
	Arch   string `json:"arch,omitempty"`
	CPU    string `json:"cpu,omitempty"`
	CPUs   int    `json:"cpus,omitempty"`
	Go     string `json:"go,omitempty"`
}

// ThisComputer describes the machine that this process runs on, as far as the system shows it.
func ThisComputer() Computer {
	m := Computer{System: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version()}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.System += " " + strings.TrimSpace(string(release))
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				m.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	return m
}

// NeedsLinux returns a *errs.Mistake on another system; it names the alternative.
func NeedsLinux(feature string) error { return needsLinux(feature, runtime.GOOS) }

func needsLinux(feature, system string) error {
	if system == "linux" {
		return nil
	}
	return errs.Errorf("%s needs Linux; on %s scenarios run with --clock virtual, and on the wall clock with --link pipe",
		feature, system)
}
