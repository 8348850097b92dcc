package port

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fabemu/wire/unit"
)

// reference is an independent simulation of an output whose lanes always have packets of equal
// length: it writes out who has the turn block by block, from the text of IBTA Volume 1, 7.6.9.2.
// It returns the share of each lane.
func reference(a Arbitration, lanes, blocks, packets int) []float64 {
	type entry struct{ vl, weight int }
	var tables [2][]entry
	for i, table := range [][]VLWeight{a.High, a.Low} {
		for _, e := range table {
			if int(e.VL) < lanes && e.Weight != 0 { // "a weight of 0 indicates that this entry should be skipped"
				tables[i] = append(tables[i], entry{int(e.VL), int(e.Weight)})
			}
		}
	}
	sent := make([]float64, lanes)
	var place, used [2]int
	since := 0 // blocks of high priority since the last opportunity for low priority
	for range packets {
		which := 0
		most := max(1, 64*int(a.Limit))
		if len(tables[0]) == 0 || len(tables[1]) > 0 && a.Limit != 255 && since >= most {
			which, since = 1, 0
		} else {
			since += blocks
		}
		t := tables[which]
		e := t[place[which]%len(t)]
		sent[e.vl]++
		if used[which] += blocks; used[which] >= e.weight {
			place[which]++
			used[which] = 0
		}
	}
	for vl := range sent {
		sent[vl] /= float64(packets)
	}
	return sent
}

func TestArbitrationDividesTheLinkAsTheReferenceDoes(t *testing.T) {
	for _, c := range []struct {
		high, low string
		limit     uint8
		lanes     int
		want      []float64 // nil: only the reference
	}{
		{"", "0:64,1:192", 0, 2, []float64{0.25, 0.75}},
		{"", "0:33,1:99", 0, 2, []float64{0.25, 0.75}},
		{"", "0:33,1:66,2:99,3:132", 0, 4, []float64{0.1, 0.2, 0.3, 0.4}},
		{"", "0:33,1:66,0:33", 0, 2, []float64{0.5, 0.5}},
		{"", "0:33,1:0,2:66", 0, 4, []float64{1. / 3, 0, 2. / 3, 0}},
		{"", "0:33,9:255,1:33", 0, 2, []float64{0.5, 0.5}},
		{"1:33", "0:33", 0, 2, []float64{0.5, 0.5}},
		{"1:33", "0:33", 255, 2, []float64{0, 1}},
		{"1:33", "0:33", 1, 2, []float64{1. / 3, 2. / 3}}, // two packets of 33 blocks fill 64
		{"1:33", "0:33", 10, 2, nil},
		{"3:64,2:200", "0:1,1:2,2:3", 4, 4, nil},
		{"1:33", "", 0, 2, []float64{0, 1}},
	} {
		for _, blocks := range []int{1, 5, 33, 65} {
			t.Run(fmt.Sprint(c.high, "/", c.low, "/", c.limit, "/", blocks), func(t *testing.T) {
				const packets = 100_000
				a := Arbitration{Limit: c.limit}
				var err error
				if a.High, err = ParseVLWeights(c.high); err != nil {
					t.Fatal(err)
				}
				if a.Low, err = ParseVLWeights(c.low); err != nil {
					t.Fatal(err)
				}
				r, got := NewArbiter(a, c.lanes), make([]float64, c.lanes)
				for range packets {
					lane, ok := r.Next(1<<c.lanes - 1)
					if again, _ := r.Next(1<<c.lanes - 1); !ok || again != lane {
						t.Fatalf("lane %d, %v; asked again, lane %d", lane, ok, again)
					}
					got[lane] += 1. / packets
					r.Sent(blocks)
				}
				want := reference(a, c.lanes, blocks, packets)
				if blocks == 33 && c.want != nil {
					want = c.want
				}
				for vl := range want {
					if math.Abs(got[vl]-want[vl]) > 0.01 {
						t.Errorf("VL%d has %.4f of the link; want %.4f of %v", vl, got[vl], want[vl], want)
					}
				}
			})
		}
	}
}

// A lane that has no packet or no credit loses its turn, and the others share it.
func TestArbitrationPassesOverLanesThatCannotSend(t *testing.T) {
	low, _ := ParseVLWeights("0:64,1:64,2:64")
	r := NewArbiter(Arbitration{Low: low}, 3)
	random := unit.NewRandom(1, 1)
	for range 10_000 {
		can := uint16(random.Below(1 << 4)) // lane 3 is in no table
		lane, ok := r.Next(can)
		if ok != (can&7 != 0) || ok && can>>lane&1 == 0 {
			t.Fatalf("of lanes %04b, lane %d, %v", can, lane, ok)
		}
		if ok {
			r.Sent(1 + int(random.Below(65)))
		}
	}
}

func TestTablesOfLanesAreRead(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"0:64, 1:192", "[{0 64} {1 192}]"}, {"", "[]"}, {" 14:255 ", "[{14 255}]"},
		{"0", "not a lane and a weight"}, {"15:1", "not a lane and a weight"}, {"0:256", "not a lane and a weight"}, {"0:-1", "not a lane and a weight"},
		{"0:1,", "not a lane and a weight"}, {strings.Repeat("0:1,", 64) + "1:1", "at most 64"},
	} {
		got, err := ParseVLWeights(c.text)
		if s := fmt.Sprint(got); err == nil && s != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %s, %v; want %s", c.text, s, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"0,1": "[0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1]", "3, 15": "[3 15 3 15 3 15 3 15 3 15 3 15 3 15 3 15]",
		"": "not a lane", "0,16": "not a lane", "0:1": "not a lane", strings.Repeat("0,", 16) + "0": "17 lanes",
	} {
		got, err := ParseSLToVL(text)
		if s := fmt.Sprint(got); err == nil && s != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s, %v; want %s", text, s, err, want)
		}
	}
	if got := UsualSLToVL(15); !slices.Equal(got[13:], []uint8{13, 14, 0}) {
		t.Errorf("the usual lanes of SL 13 to 15 of 15 lanes: %v", got[13:])
	}
}
