package study_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fabemu/emu"
	"fabemu/emu/result/report"
	"fabemu/emu/run/guest/netstack"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/study"
)

// Each scenario that comes with the program passes its own checks with its own seed, whole and
// short, and its fabric breaks no promise. What takes long is left to -tags soak, but for short
// runs of the notifications of switches and of TCP; so are guests, who need root. Short runs on the
// wall clock are left to scripts/soak.sh.
func TestModelScenariosPassTheirChecks(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	ran := 0
	for _, e := range builtin.List() {
		for _, form := range []string{"whole", "short"} {
			if e.Guests || form == "short" && e.Short.Duration == 0 {
				continue
			}
			open := emu.Open
			if form == "short" {
				open = emu.OpenShort
			}
			s, err := open(e.Name)
			if err != nil {
				t.Fatal(err)
			}
			family, _, _ := strings.Cut(e.Name, "/")
			always := form == "short" && slices.Contains([]string{"qcn", "bcn", "e2cm", "tcp"}, family)
			if study.Cost(s) > costliest && !always {
				continue
			}
			ran++
			t.Run(e.Name+"/"+form, func(t *testing.T) {
				t.Parallel()
				begin := time.Now()
				r, err := emu.Run(t.Context(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, NewStack: netstack.New})
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("cost %.3g, %.2f s", study.Cost(s), time.Since(begin).Seconds())
				if n := r.Verdict.Violations; n != 0 {
					t.Errorf("%d violations", n)
				}
				for _, c := range r.Checks {
					if c.Outcome != report.Pass && c.Outcome != report.Differs {
						t.Errorf("%s is %v, wanted is %v to %v: %s. %s", c.ID, c.Value, c.Low, c.High, c.Outcome, c.Reason)
					}
				}
			})
		}
	}
	if ran < 80 {
		t.Errorf("%d forms were run", ran)
	}
}
