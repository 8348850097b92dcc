package rp

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// The rules of DCQCN, by preset, each with what its source says. The paper is Y. Zhu et al.,
// "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015.

// preset returns the parameters of a preset, some of them changed.
func preset(name string, change ...func(*DCQCNParams)) DCQCNParams {
	of := param.Of(DCQCNParams{})
	p := of.Build(func(p *param.Param) any {
		if p.Key == "preset" {
			return string(name)
		}
		return nil
	}, nil).(DCQCNParams)
	for _, c := range change {
		c(&p)
	}
	return p
}

func sampleDCQCN(t *testing.T, line unit.Rate, p DCQCNParams) *DCQCN {
	t.Helper()
	d, err := NewDCQCN(p, Site{Line: line, Length: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// step is what happens at an instant, and what is so behind it. Rates are in Mb/s.
type step struct {
	at     unit.Duration
	does   string // cnp; sends: a byte more than the byte counter has; nothing: what is due
	rate   float64
	target float64
	alpha  float64 // a moment later; 0: whatever it is
}

const us = unit.Microsecond

// play plays a script. What is due between two steps is done when it is due.
func play(t *testing.T, d *DCQCN, script []step) {
	t.Helper()
	for i, s := range script {
		at := unit.Time(s.at)
		for d.Deadline() < at || s.does != "cnp" && d.Deadline() == at {
			d.Advance(d.Deadline())
		}
		switch s.does {
		case "cnp":
			d.Feedback(at, wire.Frame{Kind: wire.CNP})
		case "sends":
			d.Sent(at, d.bytes+1)
		}
		if got := d.current / 1e6; math.Abs(got-s.rate) > 1e-6*s.rate {
			t.Errorf("step %d, %v %s: rate %.6f Mb/s, want %.6f", i, s.at, s.does, got, s.rate)
		}
		if got := d.target / 1e6; math.Abs(got-s.target) > 1e-6*s.target {
			t.Errorf("step %d, %v %s: target %.6f Mb/s, want %.6f", i, s.at, s.does, got, s.target)
		}
		if got, _ := d.alphaBefore(at + 1); s.alpha > 0 && math.Abs(got-s.alpha) > 1e-9 {
			t.Errorf("step %d, %v %s: alpha %.12f, want %.12f", i, s.at, s.does, got, s.alpha)
		}
	}
}

// kept is 1-g of all presets but connectx.
const kept = 255.0 / 256

// The paper, equations (1) and (2): with a CNP RT = RC, RC = RC (1 - alpha/2), alpha =
// (1-g) alpha + g, alpha being 1 in the beginning; without one for K alpha = (1-g) alpha.
// Fast recovery (3): RC = (RT + RC)/2.
func TestDCQCNOfThePaperCutsAndRecovers(t *testing.T) {
	a := kept // after the 55 us from 50 to 105 us
	play(t, sampleDCQCN(t, 40*gbps, preset("paper")), []step{
		{0, "cnp", 20000, 40000, 1},
		{50 * us, "cnp", 10000, 20000, 1},
		{104 * us, "", 10000, 20000, 1},
		{105 * us, "", 15000, 20000, a}, // T and K since the second
		{110 * us, "cnp", 15000 * (1 - a/2), 15000, a*kept + 1.0/256},
	})
}

// The paper: F = 5: fast recovery while max(T, BC) < F; hyper increase when min(T, BC) > F,
// by i x R_HAI; else additive increase, RT = RT + R_AI.
func TestDCQCNOfThePaperPhases(t *testing.T) {
	script := []step{{0, "cnp", 20000, 40000, 1}, {10 * us, "cnp", 10000, 20000, 1}}
	rate, target := 10000.0, 20000.0
	cycle := func(at unit.Duration, does string, up float64) {
		target += up
		rate = (rate + target) / 2
		script = append(script, step{at, does, rate, target, 0})
	}
	for i := range 4 {
		cycle(10*us+unit.Duration(i+1)*55*us, "", 0)
	}
	cycle(10*us+5*55*us, "", 40) // the timer is at F
	cycle(10*us+6*55*us, "", 40)
	for range 5 {
		cycle(345*us, "sends", 40) // the byte counter comes to F
	}
	cycle(346*us, "sends", 200)     // min is 6
	cycle(10*us+7*55*us, "", 200)   // still
	cycle(396*us, "sends", 2*200)   // min is 7
	cycle(10*us+8*55*us, "", 2*200) // still
	cycle(10*us+9*55*us, "", 2*200) // still
	script = append(script, step{510 * us, "cnp", rate * (1 - math.Pow(kept, 9)/2), rate, 0})
	play(t, sampleDCQCN(t, 40*gbps, preset("paper")), script)
}

// The authors' simulator: rpr_cnm_received has alpha first, "m_alpha = (1 - m_g)*m_alpha +
// m_g; //binary feedback", then the rate times (1 - m_alpha / 2); m_alpha begins at 0.5; with
// "CLAMP_TARGET_RATE 1" the target is always set. AdjustRates bounds the rate by that of the
// line, and not the target.
func TestDCQCNOfNS3RDMA(t *testing.T) {
	a1 := 0.5*kept + 1.0/256
	a2 := a1*kept + 1.0/256
	r1 := 40000 * (1 - a1/2)
	r2 := r1 * (1 - a2/2)
	script := []step{{0, "cnp", r1, 40000, a1}, {50 * us, "cnp", r2, r1, a2}}
	for i := range 4 { // "FAST_RECOVERY_TIMES 5", "RP_TIMER 60": rpr_fast_time, m_rpTimeStage < m_rpgThreshold
		r2 = (r2 + r1) / 2
		script = append(script, step{50*us + unit.Duration(i+1)*60*us, "", r2, r1, 0})
	}
	for i := range 400 { // rpr_active_time: "RATE_AI 40Mb/s"
		r1 += 40
		r2 = min((r2+r1)/2, 40000)
		script = append(script, step{50*us + unit.Duration(i+5)*60*us, "", r2, r1, 0})
		if r2 == 40000 {
			break
		}
	}
	if r1 <= 40000 {
		t.Error("the target does not go above the line")
	}
	play(t, sampleDCQCN(t, 40*gbps, preset("ns3-rdma")), script)
}

// rpr_active_select: hyper increase when both are at the threshold, found by the timer, of
// m_rhai x (min - threshold + 1); rpr_active_byte is additive all the same. In hyper increase
// cycles are half as long: "m_bc / 2", "m_rpgTimeReset / 2".
func TestDCQCNOfNS3RDMAPhases(t *testing.T) {
	d := sampleDCQCN(t, 40*gbps, preset("ns3-rdma"))
	rate, target := 0.0, 0.0
	script := []step{}
	for i := range 3 {
		a := []float64{0.5*kept + 1.0/256, 0, 0}[0]
		for range i {
			a = a*kept + 1.0/256
		}
		target = rate
		if i == 0 {
			target = 40000
		}
		rate = target * (1 - a/2)
		script = append(script, step{unit.Duration(i) * us, "cnp", rate, target, a})
	}
	cycle := func(at unit.Duration, does string, up float64) {
		target += up
		rate = (rate + target) / 2
		script = append(script, step{at, does, rate, target, 0})
	}
	for range 4 {
		cycle(3*us, "sends", 0)
	}
	cycle(3*us, "sends", 40)
	cycle(3*us, "sends", 40) // six cycles of bytes
	for i := range 4 {
		cycle(2*us+unit.Duration(i+1)*60*us, "", 40) // the timer is below 5
	}
	cycle(301*us, "sends", 40)
	cycle(302*us, "", 200) // the timer finds both at 5: (5 - 5 + 1) x 200
	cycle(303*us, "sends", 200)
	cycle(362*us, "", 2*200) // that cycle was whole
	cycle(392*us, "", 3*200) // those behind it are halves
	play(t, d, script)
	if d.bytes != 150*unit.MB {
		t.Errorf("a cycle of the byte counter has %v, want half of 300MB", d.bytes)
	}
}

// AdjustRates: in a first cycle "m_targetRate > 10 * m_rateAll" makes it "/= 8". By
// ClampTargetRate false the target is set only if a cycle of bytes has ended.
func TestDCQCNOfNS3RDMATargetReduction(t *testing.T) {
	p := preset("ns3-rdma", func(p *DCQCNParams) { p.Clamp, p.G = ClampAfterByteCycle, 1 })
	play(t, sampleDCQCN(t, 40*gbps, p), []step{
		{0, "cnp", 20000, 40000, 1},
		{1 * us, "cnp", 10000, 40000, 1},
		{2 * us, "cnp", 5000, 40000, 1},
		{3 * us, "cnp", 2500, 40000, 1},
		{63 * us, "", 3750, 5000, 0},
		{64 * us, "cnp", 1875, 5000, 0}, // the timer alone does not set it
		{65 * us, "sends", 3437.5, 5000, 0},
		{66 * us, "cnp", 1718.75, 3437.5, 0},
	})
}

// The simulator of HPCC, cnp_received_mlx: the first CNP sets alpha to 1 and starts both
// timers, alpha's first; CheckRateDecreaseMlx cuts each 4 µs if a CNP came, and sets the
// target only if a cycle of the timer has ended ("if (!m_EcnClampTgtRate) ... m_rpTimeStage
// == 0"); UpdateAlphaMlx moves alpha each 1 µs, up if a CNP came. RateIncEventMlx: stage 0 is
// fast recovery, 1 additive increase, all others hyper increase. run.py: ai = 5 bw/25, hai =
// 50 bw/25, t_alpha=1, t_dec=4, t_inc=300, g=0.00390625, "FAST_RECOVERY_TIMES 1", "MIN_RATE
// 1000Mb/s".
func TestDCQCNOfHPCC(t *testing.T) {
	a4 := math.Pow(kept, 4)                                // no CNP since the first
	a8 := ((a4*kept+1.0/256)*kept + 1.0/256) * kept * kept // CNPs at 5 µs, before alpha moves, and in the us up to 6
	r1 := 100000 * (1 - a4/2)
	r2 := r1 * (1 - a8/2)
	r3 := (r2 + 100000) / 2                                  // at 308 µs
	a312 := (a8*math.Pow(kept, 302) + 1.0/256) * kept * kept // from 8 to 312 µs, with a CNP before 310
	r4 := r3 * (1 - a312/2)
	r5 := (r4 + r3) / 2
	r6 := (r5 + r3 + 20) / 2
	r7 := (r6 + r3 + 20 + 200) / 2
	r8 := (r7 + r3 + 20 + 400) / 2
	r9 := (r8 + r3 + 20 + 600) / 2
	play(t, sampleDCQCN(t, 100*gbps, preset("hpcc")), []step{
		{0, "cnp", 100000, 100000, 1},
		{3 * us, "", 100000, 100000, math.Pow(kept, 3)},
		{4 * us, "", r1, 100000, a4},
		{5 * us, "cnp", r1, 100000, 0},
		{6*us - 1, "cnp", r1, 100000, 0},
		{8 * us, "", r2, 100000, a8}, // once, for both
		{12 * us, "", r2, 100000, a8 * math.Pow(kept, 4)},
		{308 * us, "", r3, 100000, 0},
		{310*us - 1, "cnp", r3, 100000, 0},
		{312 * us, "", r4, r3, a312},
		{612 * us, "", r5, r3, 0},
		{912 * us, "", r6, r3 + 20, 0},
		{1212 * us, "", r7, r3 + 220, 0},
		{1512 * us, "", r8, r3 + 420, 0},
		{1811 * us, "", r8, r3 + 420, 0},
		{1812 * us, "", r9, r3 + 620, 0},
	})
}

// The lowest rate of run.py, 1000 Mb/s; RateOnFirstCnp: "the fraction of rate on first CNP".
func TestDCQCNOfHPCCFloors(t *testing.T) {
	half := preset("hpcc", func(p *DCQCNParams) { p.FirstRate = 0.5 })
	d := sampleDCQCN(t, 100*gbps, half)
	play(t, d, []step{{0, "cnp", 50000, 50000, 1}, {4 * us, "", 50000 * (1 - math.Pow(kept, 4)/2), 50000, 0}})
	for i := range 100 {
		d.Feedback(unit.Time(i+5)*unit.Time(us), wire.Frame{Kind: wire.CNP})
		d.Advance(unit.Time(i+5) * unit.Time(us))
	}
	if d.Rate() != gbps {
		t.Errorf("the lowest rate is %v, want 1Gb/s", d.Rate())
	}
}

// NVIDIA, DCQCN CC Parameters, defaults of ConnectX-4 and later: initial_alpha_value 1023 and
// dce_tcp_g 1019, fixed point with 10 bits in the fraction part, dce_tcp_rtt 1 µs,
// rpg_min_dec_fac 50 % ("the maximal ratio of rate decrease in a single event"), rpg_ai_rate
// 5 and rpg_hai_rate 50 Mb/s on any line, rpg_threshold 1, rpg_time_reset 300 µs,
// rpg_min_rate 1 Mb/s.
func TestDCQCNOfConnectX(t *testing.T) {
	const kept = 1019.0 / 1024
	a := 1023.0 / 1024 * math.Pow(kept, 4)
	r1 := 100000 * (1 - a/2)
	r2 := (r1 + 100000) / 2
	a2 := (a*math.Pow(kept, 302) + 5.0/1024) * kept * kept // from 4 to 308 µs, with a CNP before 306
	r3 := r2 * (1 - a2/2)
	d := sampleDCQCN(t, 100*gbps, preset("connectx"))
	play(t, d, []step{
		{0, "cnp", 100000, 100000, 1023.0 / 1024},
		{4 * us, "", r1, 100000, a},
		{304 * us, "", r2, 100000, 0},
		{306*us - 1, "cnp", r2, 100000, 0},
		{308 * us, "", r3, r2, 0},
		{608 * us, "", (r3 + r2) / 2, r2, 0},
		{908 * us, "", ((r3+r2)/2 + r2 + 5) / 2, r2 + 5, 0},
		{1208 * us, "", (((r3+r2)/2+r2+5)/2 + r2 + 55) / 2, r2 + 55, 0},
	})
	// With rpg_gd 0 alpha would take all: half is left.
	d = sampleDCQCN(t, 100*gbps, preset("connectx", func(p *DCQCNParams) { p.Gd = 0 }))
	play(t, d, []step{{0, "cnp", 100000, 100000, 0}, {4 * us, "", 50000, 100000, 0}})
}

// Alpha that is computed when it is needed is that of a timer which goes all the time, however
// often and late the algorithm is told the time.
func TestDCQCNAlphaIsThatOfItsTimer(t *testing.T) {
	for _, name := range []string{"paper", "hpcc"} {
		p := preset(name)
		d, random := sampleDCQCN(t, 100*gbps, p), unit.NewRandom(1, 1)
		now, alpha, came := unit.Time(0), 1.0, false
		tick := unit.Never
		for n := range 3000 {
			at := now.Add(1 + random.Span(20*p.AlphaTimer))
			for tick < at {
				if alpha *= 1 - p.G; came {
					alpha += p.G
				}
				came, tick = false, tick.Add(p.AlphaTimer)
			}
			now = at
			if got, _ := d.alphaBefore(now); math.Abs(got-alpha) > 1e-9 {
				t.Fatalf("%s: at %v, %d: alpha %v, want %v", name, now, n, got, alpha)
			}
			if random.Below(3) == 0 {
				d.Advance(now)
				continue
			}
			d.Feedback(now, wire.Frame{Kind: wire.CNP})
			switch {
			case name == "paper":
				alpha, tick = (1-p.G)*alpha+p.G, now.Add(p.AlphaTimer)
			case tick == unit.Never:
				tick = now.Add(p.AlphaTimer)
			default:
				came = true
			}
		}
	}
}

// A flow that has its line again wakes for nothing, and keeps alpha.
func TestDCQCNRests(t *testing.T) {
	d := sampleDCQCN(t, 10*gbps, preset("paper"))
	d.Feedback(0, wire.Frame{Kind: wire.CNP})
	if !d.Active() {
		t.Error("it is not limited")
	}
	for d.Deadline() != unit.Never {
		d.Advance(d.Deadline())
	}
	if d.Active() || d.Rate() != 10*gbps {
		t.Errorf("it rests at %v", d.Rate())
	}
	d.Feedback(unit.Time(unit.Second), wire.Frame{Kind: wire.CNP})
	if got := d.Rate(); got < 9999*mbps || d.Target() != 10*gbps || d.Deadline() != unit.Time(unit.Second+55*us) {
		t.Errorf("after a second the CNP leaves %v of %v, until %v", got, d.Target(), d.Deadline())
	}
	before := d.Rate()
	d.Feedback(unit.Time(2*unit.Second), wire.Frame{Kind: wire.Ack})
	if d.Rate() != before || d.Refuses(0, wire.Frame{Kind: wire.Ack}) == 0 || d.Refuses(0, wire.Frame{Kind: wire.CNP}) != 0 {
		t.Error("an ACK changes the rate, or is not refused, or a CNP is")
	}
}

// Parameters that could not work are refused, with the one that is wrong.
func TestDCQCNRefuses(t *testing.T) {
	for _, tc := range []struct {
		key    string
		change func(*DCQCNParams)
	}{
		{"min-rate", func(p *DCQCNParams) { p.MinRate = 100 * gbps }},
		{"rate-timer", func(p *DCQCNParams) { p.RateTimer, p.ByteCounter = 0, 0 }},
		{"rate-timer", func(p *DCQCNParams) { *p = preset("hpcc"); p.RateTimer, p.ByteCounter = 0, 0 }},
		{"rate-timer", func(p *DCQCNParams) { p.Phases, p.RateTimer, p.ByteCounter = PhasesOfTimer, 0, 0 }},
		{"byte-counter", func(p *DCQCNParams) { p.Phases = PhasesOfTimer }},
		{"cnp-per", func(p *DCQCNParams) { p.CNPPer, p.CNPRule = PerPort, AtClock }},
		{"alpha-start", func(p *DCQCNParams) { p.AlphaStart = math.NaN() }},
		{"alpha-timer", func(p *DCQCNParams) { p.AlphaTimer = 0 }},
		{"gd: ", func(p *DCQCNParams) { p.Gd = 31 }},
	} {
		if d, err := NewDCQCN(preset("paper", tc.change), Site{Line: 40 * gbps, Length: 1000}); err == nil || !strings.Contains(err.Error(), tc.key) {
			t.Errorf("%s: %v, %v", tc.key, d, err)
		}
	}
	if _, err := NewDCQCN(preset("paper"), Site{}); err == nil {
		t.Error("a site without a line is taken")
	}
	if _, err := NewNotificationPoint(preset("paper", func(p *DCQCNParams) { p.CNPPriority = 8 }), Site{}); err == nil {
		t.Error("priority 8 is taken")
	}
}

// A key that is given replaces that of the preset; the rest is the preset's.
func TestDCQCNPresets(t *testing.T) {
	given := map[string]string{"preset": "hpcc", "threshold": "5", "byte-counter": "1MB", "phases": "paper"}
	of := param.Of(DCQCNParams{})
	p := of.Build(func(p *param.Param) any {
		text, ok := given[p.Key]
		if !ok {
			return nil
		}
		v, err := p.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}, nil).(DCQCNParams)
	want := preset("hpcc", func(p *DCQCNParams) { p.Threshold, p.ByteCounter, p.Phases = 5, unit.MB, PhasesOfPaper })
	if p != want {
		t.Errorf("%+v, want %+v", p, want)
	}
	if got := of.Find("rate-timer").Computed; got != "55us; ns3-rdma: 60us; hpcc, connectx: 300us" {
		t.Error(got)
	}
	for _, name := range of.Find("preset").Words {
		sampleDCQCN(t, 40*gbps, preset(name))
	}
}

// cnps returns when a notification point sends CNPs, for packets at some instants of which
// some are marked. It is told the time when something is due, and when a packet comes.
func cnps(n *NotificationPoint, packets []unit.Duration, marked func(i int) bool) (at []unit.Duration) {
	send := func(now unit.Time) {
		for {
			f, ok := n.Send(now)
			if !ok {
				return
			}
			if f.Kind != wire.CNP {
				panic(f)
			}
			at = append(at, unit.Duration(now))
		}
	}
	due := func(before unit.Time) {
		for n.Deadline() < before {
			send(n.Deadline())
		}
	}
	for i, p := range packets {
		due(unit.Time(p))
		n.Receive(unit.Time(p), wire.Frame{Kind: wire.Data, FECN: marked(i)})
		send(unit.Time(p))
	}
	due(unit.Time(unit.Second))
	return at
}

func newPoint(t *testing.T, beside Answerer, p DCQCNParams) *NotificationPoint {
	t.Helper()
	n, err := NewNotificationPoint(p, Site{Line: gbps, Length: 1000, Beside: beside})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// When CNPs are sent. The paper, section 3.1: a marked packet has a CNP, unless one was sent for
// its flow in the last N = 50 µs. ns3-rdma, CheckandSendQCN: begun with the first packet of a
// flow, it schedules itself each "CNP_INTERVAL 50", and sends if ecnbits were seen since.
func TestDCQCNNotifies(t *testing.T) {
	packets := []unit.Duration{20 * us, 30 * us, 35 * us, 60 * us, 75 * us, 90 * us, 300 * us, 310 * us}
	all := func(int) bool { return true }
	for _, tc := range []struct {
		name   string
		p      DCQCNParams
		marked func(int) bool
		want   []unit.Duration
	}{
		{"paper", preset("paper"), all, []unit.Duration{20 * us, 75 * us, 300 * us}},
		{"interval-end", preset("paper", func(p *DCQCNParams) { p.CNPRule = AtIntervalEnd }), all, []unit.Duration{20 * us, 70 * us, 120 * us, 300 * us, 350 * us}},
		{"paper, nothing marked", preset("paper"), func(int) bool { return false }, nil},
		{"paper, the first and the last", preset("paper"), func(i int) bool { return i == 0 || i == 7 }, []unit.Duration{20 * us, 310 * us}},
		{"ns3-rdma", preset("ns3-rdma"), all, []unit.Duration{20 * us, 70 * us, 120 * us, 320 * us}},
		{"ns3-rdma, not the first", preset("ns3-rdma"), func(i int) bool { return i > 0 }, []unit.Duration{70 * us, 120 * us, 320 * us}},
		{"hpcc", preset("hpcc"), all, packets},
		{"connectx", preset("connectx"), all, packets},
		{"connectx, 20 us", preset("connectx", func(p *DCQCNParams) { p.CNPInterval = 20 * us }), all, []unit.Duration{20 * us, 60 * us, 90 * us, 300 * us}},
		{"delayed", preset("hpcc", func(p *DCQCNParams) { p.CNPDelay = 55 * us }), all, []unit.Duration{75 * us, 85 * us, 90 * us, 115 * us, 130 * us, 145 * us, 355 * us, 365 * us}},
		{"paper, delayed", preset("paper", func(p *DCQCNParams) { p.CNPDelay = 55 * us }), all, []unit.Duration{75 * us, 130 * us, 355 * us}},
	} {
		if got := cnps(newPoint(t, nil, tc.p), packets, tc.marked); !slices.Equal(got, tc.want) {
			t.Errorf("%s: CNPs at %v, want %v", tc.name, got, tc.want)
		}
	}
}

// min_time_between_cnps of ConnectX is of the port: one flow's CNP keeps those of another one
// back.
func TestDCQCNNotifiesPerPort(t *testing.T) {
	for _, tc := range []struct {
		per  string
		want int
	}{{PerPort, 1}, {PerFlow, 2}} {
		p := preset("connectx", func(p *DCQCNParams) { p.CNPPer = tc.per })
		first := newPoint(t, nil, p)
		second := newPoint(t, first, p)
		n := 0
		for _, point := range []*NotificationPoint{first, second} {
			point.Receive(0, wire.Frame{Kind: wire.Data, FECN: true})
		}
		for _, point := range []*NotificationPoint{first, second} {
			if f, ok := point.Send(0); ok {
				n++
				if f.Lane != 6 {
					t.Errorf("a CNP has priority %d", f.Lane)
				}
			}
		}
		if n != tc.want {
			t.Errorf("per %s: %d CNPs at once, want %d", tc.per, n, tc.want)
		}
	}
}
