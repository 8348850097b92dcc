package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// stampsOf returns the arrivals of frames with the given gaps, in ns, behind those
// that do not count.
func stampsOf(gaps ...int64) []int64 {
	at := int64(1_700_000_000_000_000_000)
	stamps := []int64{at}
	for range skipped {
		at += 5_000 // a burst at the begin
		stamps = append(stamps, at)
	}
	for _, g := range gaps {
		at += g
		stamps = append(stamps, at)
	}
	return stamps
}

func TestMeasures(t *testing.T) {
	f := figures{name: "x"}
	f.add(arrivals{sent: 105, stamps: stampsOf(gapNs, gapNs+1000, gapNs-3000, gapNs)})
	f.add(arrivals{sent: 103, stamps: stampsOf(gapNs+10_000, gapNs)})
	f.add(arrivals{sent: 50, stamps: stampsOf()[:40]}) // too few to tell
	if f.gaps != 6 || f.sent != 258 || f.came != 105+103+40 {
		t.Errorf("%+v", f)
	}
	var b bytes.Buffer
	if err := write(&b, []figures{f}, 3, time.Second); err != nil {
		t.Fatal(err)
	}
	line := strings.Fields(strings.Split(b.String(), "\n")[3])
	// Errors 0 0 0 1 3 10 us; six gaps took 8 us too long, those of the second round
	// alone 10 us.
	want := []string{"x", "1.00", "10.00", "10.0", "10", "10", "-0.641", "-2.361", "248", "10"}
	if strings.Join(line, " ") != strings.Join(want, " ") {
		t.Errorf("got  %v\nwant %v\n%s", line, want, b.String())
	}
	if empty := (&figures{}).at(0.5); !math.IsNaN(empty) {
		t.Errorf("the median of nothing is %v", empty)
	}
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		args   string
		rounds int
		length time.Duration
	}{
		{"", 5, time.Second}, {"3", 3, time.Second}, {"2 0.5", 2, 500 * time.Millisecond}, {"1 60", 1, time.Minute},
		{"0", 0, 0}, {"x", 0, 0}, {"1 0", 0, 0}, {"1 NaN", 0, 0}, {"1 61", 0, 0}, {"1 1s", 0, 0}, {"1 1 1", 0, 0},
	} {
		rounds, length, err := parse(strings.Fields(tc.args))
		var usage usageError
		if (err != nil) != (tc.rounds == 0) || err != nil && !errors.As(err, &usage) || rounds != tc.rounds || length != tc.length {
			t.Errorf("%q: %d, %v, %v", tc.args, rounds, length, err)
		}
	}
}

func TestStampOf(t *testing.T) {
	control := make([]byte, syscall.CmsgSpace(16))
	h := (*syscall.Cmsghdr)(unsafe.Pointer(&control[0]))
	h.Level, h.Type = syscall.SOL_SOCKET, syscall.SCM_TIMESTAMPNS
	h.SetLen(syscall.CmsgLen(16))
	binary.NativeEndian.PutUint64(control[syscall.CmsgLen(0):], 12)
	binary.NativeEndian.PutUint64(control[syscall.CmsgLen(0)+8:], 345)
	if got, err := stampOf(control); got != 12_000_000_345 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	h.Type = syscall.SCM_RIGHTS
	for _, bad := range [][]byte{nil, control, control[:4]} {
		if got, err := stampOf(bad); err == nil {
			t.Errorf("%v: %d", bad, got)
		}
	}
}
