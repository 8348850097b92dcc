package rp_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// The source of InfiniBand's congestion control. Its rules are those of Linux's driver of the
// adapter hfi1: drivers/infiniband/hw/hfi1/rc.c, process_becn, and init.c, cca_timer_fn and
// set_link_ipg; quoted are their comments.

// timer is CCTI_Timer 150, in its units of 1.024 µs.
const timer = 150 * 1024 * unit.Nanosecond

func ccaOf(t *testing.T, change func(p *rp.CCAParams)) *rp.CCA {
	t.Helper()
	p := param.Defaults(rp.CCAParams{})
	change(&p)
	c, err := rp.NewCCA(p, rp.Site{Line: rmax, Length: packet})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func usual(*rp.CCAParams) {}

// play tells a reaction point a story, and returns its CCTI behind each word: "B" is a BECN of
// flow 1, "b" one of flow 2, "a" an ACK without; "+100" lets so many microseconds pass. The
// CCTI is what the rate says, with a table of 0:i.
func play(c *rp.CCA, story string) string {
	now, out := unit.Time(0), []string{}
	for _, word := range strings.Fields(story) {
		switch word {
		case "B", "b", "a":
			c.Feedback(now, wire.Frame{Kind: wire.Ack, BECN: word != "a", QP: map[string]uint32{"B": 1, "b": 2, "a": 1}[word]})
		default:
			var us float64
			fmt.Sscanf(word, "+%g", &us)
			end := now.Add(unit.Duration(us * float64(unit.Microsecond)))
			for d := c.Deadline(); d <= end; d = c.Deadline() {
				c.Advance(d)
			}
			now = end
		}
		out = append(out, fmt.Sprint(ccti(c)))
	}
	return strings.Join(out, " ")
}

// ccti returns the CCTI of a table of 0:i.
func ccti(c *rp.CCA) int { return int(math.Round(float64(rmax)/float64(c.Rate()))) - 1 }

func TestCCAStories(t *testing.T) {
	for _, tc := range []struct {
		name        string
		change      func(p *rp.CCAParams)
		story, want string
	}{
		{"increase CCTI (for this SL); an ACK without BECN changes nothing", usual, "B B a B", "1 2 2 3"},
		{"by the increase", func(p *rp.CCAParams) { p.Increase = 5 }, "B B", "5 10"},
		{"if it passes the limit it is the limit", func(p *rp.CCAParams) { p.Increase, p.Limit = 5, 7 }, "B B B", "5 7 7"},
		{"decrement ccti for SL, once in 153.6 us", usual, "B B B +153 +1 +153 +1 +200 +200", "1 2 3 3 2 2 1 0 0"},
		{"restart timer, unless ccti is at min value", func(p *rp.CCAParams) { p.Min = 2 }, "B B +160 +160 +1000 B +160", "3 4 3 2 2 3 2"},
		{"a BECN starts a timer that does not run, and no other", usual, "B +100 B +53 +1", "1 1 2 2 1"},
		{"timer-start becn: it restarts it", func(p *rp.CCAParams) { p.TimerStart = rp.StartBECN }, "B +100 B +53 +1 +99 +1", "1 1 2 2 2 2 1"},
		{"timer-start becn: while BECNs come sooner the CCTI only rises", func(p *rp.CCAParams) { p.TimerStart = rp.StartBECN }, "B +150 B +150 B +150 B", "1 1 2 2 3 3 4"},
		{"its own timer", func(p *rp.CCAParams) { p.Timer = 1 }, "B B +1 +0.1 +1", "1 2 2 1 0"},
		{"ccti_timer is in units of 1.024 usec", func(p *rp.CCAParams) { p.Timer = 1000 }, "B +1023.9 +0.2", "1 1 0"},
	} {
		if got := play(ccaOf(t, tc.change), tc.story); got != tc.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", tc.name, tc.story, got, tc.want)
		}
	}
}

// A timer that ran late ends when it would have: "hrtimer_forward_now".
func TestCCATimerDoesNotDrift(t *testing.T) {
	c := ccaOf(t, usual)
	for range 10 {
		c.Feedback(0, wire.Frame{Kind: wire.Ack, BECN: true})
	}
	c.Advance(unit.Time(0).Add(timer*7/2 + 1))
	if ccti(c) != 7 || c.Deadline() != unit.Time(4*timer) {
		t.Errorf("after three and a half timers the CCTI is %d, and the next ends at %v", ccti(c), c.Deadline())
	}
}

// "src = (max_pkt_time >> shift) * mult", the delay behind each packet; in the driver of the
// adapter that followed: "the IBTA spec specifies the IPG to be (Tp >> shift) * mult", so that
// the share of the link is "(2^shift)/(mult + 2^shift)".
func TestCCADelays(t *testing.T) {
	c := ccaOf(t, func(p *rp.CCAParams) { p.CCT, p.Limit = "0:0,0:1,1:1,2:1,3:1,3:8,0:16383,3:16383,2:3", 8 })
	tp := rmax.Serialise(packet)
	for i, want := range []float64{1, 1. / 2, 2. / 3, 4. / 5, 8. / 9, 1. / 2, 1. / 16384, 8. / 16391, 4. / 7} {
		if i > 0 {
			c.Feedback(0, wire.Frame{Kind: wire.Ack, BECN: true})
		}
		if got := float64(c.Rate()) / float64(rmax); math.Abs(got-want) > 1e-5*want {
			t.Errorf("entry %d: %v of the line, want %v; a packet takes %v", i, got, want, tp)
		}
	}
	if c.Target() != rmax {
		t.Errorf("it wants %v back", c.Target())
	}
}

// "if ((trigger_threshold != 0) && (ccti >= trigger_threshold)) log_cca_event".
func TestCCALog(t *testing.T) {
	for trigger, want := range map[int]string{0: "- - - -", 1: "1 - 2 3", 3: "- - - 3"} {
		c := ccaOf(t, func(p *rp.CCAParams) { p.Trigger = trigger })
		var got []string
		for _, word := range []string{"B", "a", "B", "B"} {
			play(c, word)
			if level, ok := c.Log(); ok {
				got = append(got, fmt.Sprint(level))
			} else {
				got = append(got, "-")
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("trigger threshold %d: logged %s, want %s", trigger, s, want)
		}
	}
}

// "Select the largest ccti value over all SLs to determine the intra-packet gap for the link";
// each has a timer, an increase and its own minimum.
func TestCCAPort(t *testing.T) {
	of := func(sl, increase, minimum, timer int) rp.CCAParams {
		p := param.Defaults(rp.CCAParams{})
		p.PortControl, p.SL, p.Increase, p.Min, p.Timer = rp.CCAPerPort, sl, increase, minimum, timer
		return p
	}
	c, err := rp.NewCCA(of(3, 1, 0, 150), rp.Site{Line: rmax, Length: packet})
	if err != nil {
		t.Fatal(err)
	}
	c.Join(1, of(3, 1, 0, 150))
	c.Join(2, of(5, 4, 2, 300))
	if ccti(c) != 2 || c.Target() != c.Rate() {
		t.Errorf("the lowest CCTI is %d, of which the higher one is 2", ccti(c))
	}
	// The timer of SL 5 ends after 307.2, 614.4, 921.6 and 1228.8 µs.
	if got, want := play(c, "B B B b b +160 +150 +160 +1000 B B B B"), "2 2 3 6 10 10 9 9 6 6 6 6 6"; got != want {
		t.Errorf("the highest CCTI is %s, want %s", got, want)
	}
}

// The flows of a service level, or of the port, share.
func TestCCAGroups(t *testing.T) {
	for control, want := range map[string][2]any{rp.CCAPerQP: {0, ""}, rp.CCAPerSL: {7, "port-control"}, rp.CCAPerPort: {16, "port-control"}} {
		traits := rp.CCAParams{PortControl: control, SL: 7}.Traits()
		key, by := traits.Key, traits.By
		if diff := cmp.Diff(want, [2]any{key, by}); diff != "" {
			t.Errorf("%s: %s", control, diff)
		}
	}
}

// The set that is printed for operators: "ibccconfig CACongestionSetting 1 0 0x3 150 1 0 0",
// and CongestionControlTable "127 ... 0:0 0:1 ... 0:64 0:65 ...".
func TestCCADefaults(t *testing.T) {
	p := param.Defaults(rp.CCAParams{})
	if p.Timer != 150 || p.Increase != 1 || p.Trigger != 0 || p.Min != 0 || p.Limit != 127 || p.PortControl != rp.CCAPerQP {
		t.Errorf("%+v", p)
	}
	linear := make([]string, 128)
	for i := range linear {
		linear[i] = fmt.Sprint("0:", i)
	}
	written := ccaOf(t, func(p *rp.CCAParams) { p.CCT = rp.CCT(strings.Join(linear, ",")) })
	for c := ccaOf(t, usual); ccti(c) < 127; {
		if c.Rate() != written.Rate() {
			t.Fatalf("CCTI %d: %v and %v", ccti(c), c.Rate(), written.Rate())
		}
		play(c, "B")
		play(written, "B")
	}
}

// Tables are written as opensm reads them (opts_parse_cc_cct): numbers as in strtoul with
// base 0. What it would take in silence is refused, with its entry and its column.
func TestCCTIsRead(t *testing.T) {
	form := rp.CCT("").Form()
	for text, want := range map[string]rp.CCT{"linear": "linear", "0:0": "0:0", " 0:0, 0:1 ,3:16383": "0:0,0:1,3:16383", "0x0:0x10,1 : 020": "0x0:0x10,1:020"} {
		if got, err := form.Read(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, tc := range []struct {
		text   string
		offset int
		want   string
	}{
		{"", 0, `entry 1 of the table (CCTI 0, column 1 of it), "": expected a shift and a multiplier`},
		{"0:0,0:1,", 8, `entry 3 of the table (CCTI 2, column 9 of it), "": expected a shift`},
		{"0:0, 4:1", 5, `entry 2 of the table (CCTI 1, column 6 of it), "4:1": the shift is a whole number from 0 to 3`},
		{"0:0,0:16384", 4, `the multiplier is a whole number from 0 to 16383`},
		{"0:0,0:-1", 4, `the multiplier is a whole number`},
		{"0:0,1", 4, `expected a shift and a multiplier with a colon between, such as 0:1`},
		{"0:0 0:1", 0, `the multiplier is a whole number`},
		{"0:0,x,0:2,y", 4, `and another entry is wrong`},
		{"0:0,x,0:2,y,z", 4, `and 2 more entries are wrong`},
		{strings.Repeat("0:0,", 255*64) + "0:0", 4 * 255 * 64, `a table has at most 16320 entries`},
	} {
		got, err := form.Read(tc.text)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.20q: %v, %v; want %q", tc.text, got, err, tc.want)
			continue
		}
		if at := err.(param.Misread).At; at != tc.offset {
			t.Errorf("%.20q: at %d, want %d", tc.text, at, tc.offset)
		}
	}
}

// A table, a limit and a minimum have to fit one another.
func TestCCARefuses(t *testing.T) {
	for want, change := range map[string]func(p *rp.CCAParams){
		"the limit is CCTI 128, and the table ends at CCTI 127": func(p *rp.CCAParams) { p.Limit = 128 },
		"the least CCTI is 9, and the limit 8":                  func(p *rp.CCAParams) { p.Min, p.Limit = 9, 8 },
		"entry 1 of the table":                                  func(p *rp.CCAParams) { p.CCT = "a" },
	} {
		p := param.Defaults(rp.CCAParams{})
		change(&p)
		if c, err := rp.NewCCA(p, rp.Site{Line: rmax, Length: packet}); err == nil || c != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := rp.NewCCA(param.Defaults(rp.CCAParams{}), rp.Site{Line: 10, Length: packet}); err == nil || !strings.Contains(err.Error(), "less than 1b/s") {
		t.Errorf("a rate of nothing: %v", err)
	}
}

// Sets with which sources cannot slow down as far as they must are warned about, with what
// would do. N flows at 1/N of a link send T C / (N L) packets in a timer of T, of which a share
// is marked: with fewer than 1/increase of them the CCTI falls.
func TestCCAWarnings(t *testing.T) {
	site := rp.Site{Line: rmax, Length: packet, Flows: 20, Capacity: rmax, Marked: 0.5}
	for _, tc := range []struct {
		name   string
		site   func(s *rp.Site)
		change func(p *rp.CCAParams)
		want   []string // key, then parts of the message
	}{
		{"the printed set for 20 flows", nil, usual, nil},
		{"no increase", nil, func(p *rp.CCAParams) { p.Increase = 0 }, []string{"ccti-increase", "nothing slows down"}},
		{"no limit", nil, func(p *rp.CCAParams) { p.Limit = 0 }, []string{"ccti-limit", "nothing slows down"}},
		{"20 flows at line/19", nil, func(p *rp.CCAParams) { p.Limit = 18 }, []string{"ccti-limit", "link rate over 19", "1.053 times its 1GB/s", "such as 0:19"}},
		{"20 flows at line/20", nil, func(p *rp.CCAParams) { p.Limit = 19 }, nil},
		{"on a link of twice the rate", func(s *rp.Site) { s.Capacity *= 2 }, func(p *rp.CCAParams) { p.Limit = 9 }, nil},
		{"a table that is never full speed", nil, func(p *rp.CCAParams) { p.CCT, p.Limit = "0:1,0:31", 1 }, []string{"cct", "without any BECN the flow gets 1/2 of its link rate"}},
		{"a table that turns round", nil, func(p *rp.CCAParams) { p.CCT, p.Limit = "0:0,0:31,0:30", 2 }, []string{"cct", "entry 3 of the table (CCTI 2)", "does not settle"}},
		// 75 x 1.024 µs x 1 GB/s / (20 x 2068 B) = 1.857 packets, half of them marked: 0.928
		{"a timer of 75", nil, func(p *rp.CCAParams) { p.Timer = 75 }, []string{"ccti-timer", "1.86 packets", "rises by 0.928", "a ccti-timer of at least 81"}},
		{"a timer of 81", nil, func(p *rp.CCAParams) { p.Timer = 81 }, nil},
		{"a timer of 75 and an increase of 2", nil, func(p *rp.CCAParams) { p.Timer, p.Increase = 75, 2 }, nil},
		{"one of eight is marked", func(s *rp.Site) { s.Marked = 1. / 8 }, usual, []string{"ccti-timer", "a ccti-timer of at least 324"}},
		{"a link that all fill together", func(s *rp.Site) { s.Capacity *= 20 }, func(p *rp.CCAParams) { p.Timer = 1 }, nil},
		{"the path is not known", func(s *rp.Site) { s.Flows, s.Capacity = 0, 0 }, func(p *rp.CCAParams) { p.Timer = 1 }, nil},
	} {
		p, s := param.Defaults(rp.CCAParams{}), site
		if tc.site != nil {
			tc.site(&s)
		}
		tc.change(&p)
		doubts := p.Traits().Warns(s)
		if len(doubts) != min(len(tc.want), 1) {
			t.Errorf("%s: %+v", tc.name, doubts)
			continue
		}
		for i, want := range tc.want {
			if i == 0 && doubts[0].Key != want || i > 0 && !strings.Contains(doubts[0].Why, want) {
				t.Errorf("%s: %+v, want %q", tc.name, doubts[0], want)
			}
		}
	}
}

// A reaction point that takes the place of another one keeps the CCTI within its own bounds, and
// the time until it falls: at most its own timer.
func TestCCAInherits(t *testing.T) {
	site := rp.Site{Line: unit.Rate(1e9), Length: 2048}
	at := func(change func(p *rp.CCAParams)) *rp.CCA {
		p := param.Defaults(rp.CCAParams{})
		change(&p)
		c, err := rp.NewCCA(p, site)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	old := at(func(p *rp.CCAParams) { p.Increase = 10 })
	old.Feedback(1000, wire.Frame{Kind: wire.Ack, BECN: true}) // CCTI 10 until 153.6 us later
	for _, x := range []struct {
		change func(p *rp.CCAParams)
		ccti   unit.Rate
		due    unit.Time
	}{
		{func(p *rp.CCAParams) {}, 10, 1000 + 150*1024_000},
		{func(p *rp.CCAParams) { p.Timer = 10 }, 10, 2000 + 10*1024_000},
		{func(p *rp.CCAParams) { p.Limit = 4 }, 4, 1000 + 150*1024_000},
		{func(p *rp.CCAParams) { p.Min = 12 }, 12, unit.Never},
		{func(p *rp.CCAParams) { p.Min = 10 }, 10, unit.Never},
	} {
		c := at(x.change)
		c.Inherit(2000, old)
		if want := site.Line / (1 + x.ccti); c.Rate() < want-2 || c.Rate() > want+2 || c.Deadline() != x.due {
			t.Errorf("rate %v until %v, want %v until %v", c.Rate(), c.Deadline(), want, x.due)
		}
	}
}
