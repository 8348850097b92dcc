package unit_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"fabemu/wire/unit"
)

// draw returns a number whose length in bits is uniform, so that small and large
// ones both come up.
func draw(r *rand.Rand) int64 { return int64(r.Uint64()>>1) >> r.IntN(63) }

func TestSerialise(t *testing.T) {
	for _, c := range []struct {
		rate unit.Rate
		n    unit.Size
		want unit.Duration
	}{
		{8e9, 2068, 2068 * unit.Nanosecond}, // HPL-2002-224, Table I: "data packet tx time 2.068 us"
		{8e9, 20, 20 * unit.Nanosecond},
		{10e9, 64, 51200},
		{10e9, 1, 800},
		{3, 1, 2666666666667}, // 8/3 s, rounded up
		{7e9, 0, 0},
		{0, 1, unit.Duration(unit.Never)},
		{-1, 1, unit.Duration(unit.Never)},
		{1, 1 << 40, unit.Duration(unit.Never)}, // 279 000 years
	} {
		if got := c.rate.Serialise(c.n); got != c.want {
			t.Errorf("%v at %v: %v, not %v", c.n, c.rate, got, c.want)
		}
	}
}

// TestSerialiseExact compares with big integers: the time is the least whole
// number of picoseconds in which the link does not exceed its rate.
func TestSerialiseExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100000 {
		rate, n := unit.Rate(draw(r)+1), unit.Size(draw(r))
		want := new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(8*int64(unit.Second)))
		want.Add(want, big.NewInt(int64(rate)-1))
		want.Quo(want, big.NewInt(int64(rate)))
		if !want.IsInt64() {
			want.SetInt64(math.MaxInt64)
		}
		if got := rate.Serialise(n); int64(got) != want.Int64() {
			t.Fatalf("%d bytes at %d b/s: %d, not %v", n, rate, got, want)
		}
	}
}

func TestRateOfExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100000 {
		n, d := unit.Size(draw(r)), unit.Duration(draw(r)+1)
		want := new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(8*int64(unit.Second)))
		want.Add(want, big.NewInt(int64(d)/2))
		want.Quo(want, big.NewInt(int64(d)))
		if !want.IsInt64() {
			want.SetInt64(math.MaxInt64)
		}
		if got := unit.RateOf(n, d); int64(got) != want.Int64() {
			t.Fatalf("%d bytes in %d ps: %d, not %v", n, d, got, want)
		}
	}
	if unit.RateOf(1, 0) != 0 || unit.RateOf(1, -1) != 0 {
		t.Error("a span that is not positive has a rate")
	}
}

// TestRateRoundTrip: the rate at which a frame takes its time is the line's, as
// far as whole picoseconds tell it.
func TestRateRoundTrip(t *testing.T) {
	for _, rate := range []unit.Rate{1e9, 8e9, 10e9, 40e9} {
		for _, n := range []unit.Size{20, 64, 2068, 4122} {
			if got := unit.RateOf(n, rate.Serialise(n)); got != rate {
				t.Errorf("%v at %v: %v", n, rate, got)
			}
		}
	}
}

func TestScale(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 100000 {
		d, num, den := unit.Duration(draw(r)), draw(r), draw(r)+1
		want := new(big.Int).Mul(big.NewInt(int64(d)), big.NewInt(num))
		want.Quo(want, big.NewInt(den))
		if !want.IsInt64() {
			if !panics(func() { d.Scale(num, den) }) {
				t.Fatalf("%d x %d / %d does not panic", d, num, den)
			}
			continue
		}
		if got := d.Scale(num, den); int64(got) != want.Int64() {
			t.Fatalf("%d x %d / %d: %d, not %v", d, num, den, got, want)
		}
	}
	for name, f := range map[string]func(){
		"a negative span":        func() { unit.Duration(-1).Scale(1, 1) },
		"a negative numerator":   func() { unit.Duration(1).Scale(-1, 1) },
		"a denominator of zero":  func() { unit.Duration(1).Scale(1, 0) },
		"a negative denominator": func() { unit.Duration(1).Scale(1, -1) },
	} {
		if !panics(f) {
			t.Errorf("%s does not panic", name)
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func TestAdd(t *testing.T) {
	for _, c := range []struct {
		at   unit.Time
		d    unit.Duration
		want unit.Time
	}{
		{0, 5, 5}, {10, -3, 7}, {unit.Never, -5, unit.Never}, {unit.Never, 5, unit.Never}, {unit.Never - 5, 5, unit.Never},
		{unit.Never - 5, 6, unit.Never}, {unit.Never - 5, 4, unit.Never - 1}, {1, unit.Duration(unit.Never), unit.Never}, {0, unit.Duration(unit.Never), unit.Never},
	} {
		if got := c.at.Add(c.d); got != c.want {
			t.Errorf("%d + %d: %d, not %d", c.at, c.d, got, c.want)
		}
	}
	if d := unit.Time(7).Sub(3); d != 4 {
		t.Errorf("7 - 3: %d", d)
	}
	if s := unit.Time(1500 * unit.Millisecond).Seconds(); s != 1.5 {
		t.Errorf("%v s", s)
	}
	if s := (250 * unit.Microsecond).Seconds(); s != 0.00025 {
		t.Errorf("%v s", s)
	}
	if b := unit.Rate(8e9).BytesPerSecond(); b != 1e9 {
		t.Errorf("%v B/s", b)
	}
}

// TestParse lists what is read, and as what it prints.
func TestParse(t *testing.T) {
	for text, want := range map[string]unit.Duration{
		"100us": 100 * unit.Microsecond, "1.5ms": 1500 * unit.Microsecond, "40 ns": 40 * unit.Nanosecond, "0s": 0, "3µs": 3 * unit.Microsecond,
		"3μs": 3 * unit.Microsecond, " 2s ": 2 * unit.Second, "0.001ns": 1, "1ps": 1, "+1ps": 1, ".5s": 500 * unit.Millisecond, "1.s": unit.Second,
		"9223372.036854775807s": math.MaxInt64, "262.144us": 262144 * unit.Nanosecond,
	} {
		if got, err := unit.ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, not %v", text, got, err, want)
		}
	}
	for text, want := range map[string]unit.Size{
		"2048B": 2048, "150KB": 150000, "4KiB": 4096, "1MiB": 1 << 20, "1GiB": 1 << 30, "2 GB": 2e9, "3MB": 3e6, "0B": 0, "1.5KiB": 1536,
	} {
		if got, err := unit.ParseSize(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, not %v", text, got, err, want)
		}
	}
	for text, want := range map[string]unit.Rate{
		"1GB/s": 8e9, "10Gb/s": 10e9, "1.6Tb/s": 1600e9, "0.5Gb/s": 5e8, "100kb/s": 1e5, "3MB/s": 24e6, "2KB/s": 16000, "1B/s": 8, "1b/s": 1, "7 Mb/s": 7e6,
	} {
		if got, err := unit.ParseRate(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, not %v", text, got, err, want)
		}
	}
}

// TestParseRefused: what is wrong is said.
func TestParseRefused(t *testing.T) {
	parse := map[string]func(string) error{
		"duration": func(s string) error { _, err := unit.ParseDuration(s); return err },
		"size":     func(s string) error { _, err := unit.ParseSize(s); return err },
		"rate":     func(s string) error { _, err := unit.ParseRate(s); return err },
	}
	for _, c := range []struct{ kind, text, message string }{
		{"duration", "", "expected a number and a unit"},
		{"duration", "soon", "expected a number and a unit"},
		{"duration", "10", "no unit"},
		{"duration", "10m", `unknown unit "m"`},
		{"duration", "10 msec", `unknown unit "msec"`},
		{"duration", "1e3us", `unknown unit "e3us"`},
		{"duration", "0x10us", `unknown unit "x10us"`},
		{"duration", "1/2us", `unknown unit "/2us"`},
		{"duration", "1_000us", `unknown unit "_000us"`},
		{"duration", "-1us", "negative"},
		{"duration", "--1us", "not a number"},
		{"duration", "1-1us", "not a number"},
		{"duration", "1.2.3us", "not a number"},
		{"duration", ".us", "not a number"},
		{"duration", "0.5ps", "too fine"},
		{"duration", "10000000s", "too large"},
		{"duration", strings.Repeat("9", 40) + "s", "not a number"},
		{"duration", "infs", "a number and a unit"},
		{"size", "10", "no unit"},
		{"size", "10kB", `unknown unit "kB"`},
		{"size", "0.5B", "too fine"},
		{"size", "-1B", "negative"},
		{"size", "99999999999GB", "too large"},
		{"rate", "10Gbps", `unknown unit "Gbps"`},
		{"rate", "1GB", `unknown unit "GB"`},
		{"rate", "0.1b/s", "too fine"},
		{"rate", "-1GB/s", "negative"},
		{"rate", "9999999999GB/s", "too large"},
	} {
		err := parse[c.kind](c.text)
		if err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s %q: %v, which does not say %q", c.kind, c.text, err, c.message)
		}
	}
}

func TestString(t *testing.T) {
	for want, got := range map[string]interface{ String() string }{
		"0s": unit.Duration(0), "100us": 100 * unit.Microsecond, "1.5ms": 1500 * unit.Microsecond, "1ps": unit.Picosecond,
		"2.068us": 2068 * unit.Nanosecond, "40.000000001s": 40*unit.Second + unit.Nanosecond, "-5ns": -5 * unit.Nanosecond,
		"never": unit.Never, "3s": unit.Time(3 * unit.Second),
		"0B": unit.Size(0), "2048B": unit.Size(2048), "4KB": 4 * unit.KB, "4096B": 4 * unit.KiB, "150KB": 150 * unit.KB, "128KiB": 128 * unit.KiB,
		"1MB": unit.MB, "16MiB": 16 * unit.MiB, "2068B": unit.Size(2068), "1GB": unit.GB, "-1KB": -unit.KB, "123457B": unit.Size(123457),
		"10Gb/s": unit.Rate(10e9), "2Tb/s": unit.Rate(2e12), "1GB/s": unit.Rate(8e9), "0b/s": unit.Rate(0), "1b/s": unit.Rate(1), "1B/s": unit.Rate(8), "500Mb/s": unit.Rate(5e8),
	} {
		if got.String() != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	for want, got := range map[string]fmt.Stringer{"13µs": 13 * unit.Microsecond, "2ms": unit.Time(2 * unit.Millisecond), "never": unit.Never} {
		if unit.Text(got) != want {
			t.Errorf("%s, not %s", unit.Text(got), want)
		}
	}
}

// TestTextRoundTrip: what prints reads back.
func TestTextRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 100000 {
		v := draw(r)
		if i%2 == 0 { // round figures, too
			v = v % 10000 * []int64{1, 1000, 1024, 1e6, 8e9, 1 << 20}[r.IntN(6)]
		}
		if got, err := unit.ParseDuration(unit.Duration(v).String()); err != nil || got != unit.Duration(v) {
			t.Fatalf("duration %d prints %v and reads %d, %v", v, unit.Duration(v), got, err)
		}
		if got, err := unit.ParseSize(unit.Size(v).String()); err != nil || got != unit.Size(v) {
			t.Fatalf("size %d prints %v and reads %d, %v", v, unit.Size(v), got, err)
		}
		if got, err := unit.ParseRate(unit.Rate(v).String()); err != nil || got != unit.Rate(v) {
			t.Fatalf("rate %d prints %v and reads %d, %v", v, unit.Rate(v), got, err)
		}
	}
	d, _ := unit.Duration(1500).MarshalText()
	s, _ := unit.Size(2048).MarshalText()
	x, _ := unit.Rate(8e9).MarshalText()
	if got := string(d) + " " + string(s) + " " + string(x); got != "1.5ns 2048B 1GB/s" {
		t.Errorf("as text: %s", got)
	}
}

// TestPrintExtremes: nothing that a type can hold prints as something else.
func TestPrintExtremes(t *testing.T) {
	for want, got := range map[string]interface{ String() string }{
		"-9223372.036854775808s": unit.Duration(math.MinInt64), "9223372.036854775807s": unit.Duration(math.MaxInt64),
		"-8589934592GiB": unit.Size(math.MinInt64),
	} {
		if got.String() != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"100us", "1.5 ms", "2048B", "4KiB", "1GB/s", "0.5Gb/s", "-1s", "1e9s", "µs", "1µs"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := unit.ParseDuration(s); err == nil {
			if back, err := unit.ParseDuration(d.String()); err != nil || back != d || d < 0 {
				t.Errorf("%q is %d, prints %v, reads %d, %v", s, d, d, back, err)
			}
		}
		if n, err := unit.ParseSize(s); err == nil {
			if back, err := unit.ParseSize(n.String()); err != nil || back != n || n < 0 {
				t.Errorf("%q is %d, prints %v, reads %d, %v", s, n, n, back, err)
			}
		}
		if r, err := unit.ParseRate(s); err == nil {
			if back, err := unit.ParseRate(r.String()); err != nil || back != r || r < 0 {
				t.Errorf("%q is %d, prints %v, reads %d, %v", s, r, r, back, err)
			}
		}
	})
}
