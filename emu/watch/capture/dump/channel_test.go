package dump_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/watch/capture/dump"
)

// captured returns the capture of the beginning of a run.
func captured(t *testing.T, name string, both bool, duration string) []byte {
	t.Helper()
	s := runtest.Load(t, runtest.Text(t, name), set(t, "model.duration="+duration))
	var b bytes.Buffer
	if _, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Capture: &emu.Capture{To: &b, Snap: 64, Both: both}}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A capture alone proves that no credit of a virtual channel was overdrawn, that CC_Updates add up,
// and that the retry of a link keeps to its sequences, its ACKs and its NACKs. Each capture is
// right, and one that was damaged on purpose is not.
func TestModelCreditAndRetryAreProved(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	everywhere := func(old, damaged string) func(string) string {
		return func(b string) string { return strings.ReplaceAll(b, old, damaged) }
	}
	at := func(n int, old, damaged string) func(string) string { // the n-th from 0 on
		return func(b string) string {
			parts := strings.Split(b, old)
			if len(parts) < n+2 {
				return b
			}
			return strings.Join(parts[:n+1], old) + damaged + strings.Join(parts[n+1:], old)
		}
	}
	// stale gives a CF_Update the counters of the one before it, as if that had come twice.
	stale := func(b string) string {
		const begin, counters = "\x88\xb5\x5c\x10", 6
		parts := strings.Split(b, begin)
		last := len(parts) - 20
		parts[last] = parts[last-1][:counters] + parts[last][counters:]
		return strings.Join(parts, begin)
	}
	for _, c := range []struct {
		name, duration string
		both           bool
		shows          dump.Kind
		damage         func(string) string
		want           string
	}{
		{"cbfc/rate", "2ms", false, dump.Credit, everywhere("limit=300", "limit=288"), "overdrawn: 294 credits are left behind this frame of 6, of 288"},
		{"cbfc/rate", "2ms", false, dump.Credit, stale, "overdrawn: 306 credits are in use with this frame of 6, of 300"},
		{"cbfc/rate", "2ms", false, dump.Credit, at(200, "credit 0 blocks", "credit 9 blocks"), "0 credits are left, and the run states 9"},
		{"cbfc/rate", "2ms", true, dump.Credit, everywhere("credit=256", "credit=128"), "the CC_Update has"},
		{"cbfc/repair", "9500us", false, dump.Credit, everywhere("limit=60", "limit=54"), "overdrawn"},
		{"cbfc/channels", "2ms", false, dump.Credit, everywhere("limit=120", "limit=102"), "overdrawn"},
		{"cbfc/retry", "2ms", false, dump.Credit, everywhere("limit=120", "limit=114"), "overdrawn"},
		{"cbfc/retry", "2ms", true, dump.Sequence, at(0, "retry 700", "retry 707"), "retry sequence 707 follows 699"},
		{"llr/replay", "100us", false, dump.Sequence, at(1, "retry 49", "retry 50"), "retry sequence 50 follows a NACK that awaits 49"},
		{"llr/pause", "210us", false, dump.Sequence, at(0, "retry 900", "retry 800"), "retry sequence 901 follows 899"},
	} {
		b := string(captured(t, c.name, c.both, c.duration))
		check := func(b string) (*dump.Summary, string) {
			var out bytes.Buffer
			sum, err := dump.Dump(&out, dump.Options{Check: true, Quiet: true}, strings.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			return sum, out.String()
		}
		if sum, out := check(b); sum.Problems() > 0 || sum.Checked[c.shows] < 90 || sum.Gaps[dump.NoCredit] > 20 {
			t.Errorf("%s: %v, %v checked, %v\n%.2000s", c.name, sum.Found, sum.Checked, sum.Gaps, out)
		}
		if sum, out := check(c.damage(b)); sum.Found[c.shows] == 0 || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v, want %q\n%.1000s", c.name, sum.Found, c.want, out)
		}
	}
}
