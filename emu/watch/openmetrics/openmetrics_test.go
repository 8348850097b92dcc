package openmetrics

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/mode"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/observe"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// shown runs a scenario on the virtual clock and shows its end to an observer.
func shown(t *testing.T, s *scenario.Scenario, o observe.Observer) *metrics.Collector {
	t.Helper()
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	c, err := metrics.New(f, s)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	end := observe.Func(func(s *observe.Snapshot) {
		defer close(ended)
		o.Observe(s)
	})
	h := observe.NewHub(observe.Run{Fabric: f, Collector: c, Settings: mode.Settings{Clock: mode.VirtualClock}, Requests: []observe.Request{{Observer: end, Every: time.Hour}}})
	events := trace.NewBatch(1, c, h)
	made, err := assemble.New(f, assemble.Schemes{}, events)
	if err != nil {
		t.Fatal(err)
	}
	h.Start(made, events, nil)
	if _, err := (drive.Virtual{SkipCodec: true}).Run(context.Background(), made); err != nil {
		t.Fatal(err)
	}
	c.Close(unit.Time(s.Model.Duration))
	warnings, _ := h.Stop(made.End, 0, nil, made.Watch)
	<-ended // a run waits two seconds for its observers, a busy machine may need more
	for _, w := range warnings {
		if !strings.Contains(w, "was still busy") {
			t.Fatal(w)
		}
	}
	return c
}

// textOf is what is told of a run.
func textOf(t *testing.T, s *scenario.Scenario, n Names) string {
	t.Helper()
	var b bytes.Buffer
	shown(t, s, observe.Func(func(s *observe.Snapshot) {
		if err := n.Write(&b, s); err != nil {
			t.Error(err)
		}
	}))
	return b.String()
}

// fabrics are one of InfiniBand, and one of Ethernet with QCN.
func fabrics(t *testing.T) map[string]*scenario.Scenario {
	return map[string]*scenario.Scenario{
		"infiniband": runtest.Short(t, "hpl2002/fig3b", "8ms", "flows.local.start=0us", "flows.remote.start=0us"),
		"ethernet":   runtest.Load(t, runtest.Text(t, "ethernet/pfc-hol")+"\nexpect: [{id: C1, claim: it is full, metric: root.B-BC.utilisation, during: [5ms, 10ms], low: 0.9, high: 1}]\n"),
	}
}

// Frames that a fault has lost are counted by their reason; a run without faults has no such
// counter.
func TestFaultsAreCounted(t *testing.T) {
	const name = "fabemu_fault_dropped_packets"
	s := fabrics(t)["ethernet"]
	if text := textOf(t, s, Own); strings.Contains(text, name) {
		t.Error("a run without faults has " + name)
	}
	s.Events = append(s.Events, scenario.Event{Link: s.Links[0].Name, Act: scenario.Corruption{Corruption: 1, Selection: scenario.Selection{Every: 100}}})
	text := ""
	c := shown(t, s, observe.Func(func(x *observe.Snapshot) {
		var b bytes.Buffer
		if err := Own.Write(&b, x); err != nil {
			t.Error(err)
		}
		text = b.String()
	}))
	for _, want := range []string{"fabemu_fault_begun_total 1\n", "fabemu_fault_ended_total 0\n", "fabemu_fault_active 1\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q", want)
		}
	}
	want := ""
	for _, d := range c.View().Drops() {
		if d.Reason == trace.BadFCS {
			want = fmt.Sprintf("%s_total{reason=\"fcs-error\"} %d\n", name, d.Count)
		}
	}
	if want == "" || !strings.Contains(text, want) {
		t.Errorf("the text lacks %q", want)
	}
}

// promtool runs promtool of Prometheus.
func promtool(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool (Debian: prometheus)")
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// loaded has Prometheus load a text with time stamps, and returns what it holds then.
func loaded(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "text")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	blocks := filepath.Join(dir, "blocks")
	promtool(t, "tsdb", "create-blocks-from", "openmetrics", file, blocks)
	if err := os.Mkdir(filepath.Join(blocks, "wal"), 0o777); err != nil { // which a database has
		t.Fatal(err)
	}
	return promtool(t, "tsdb", "dump", blocks)
}

var line = regexp.MustCompile(`^([a-z_]+)(\{.*\})? (\S+)$`)

// Prometheus reads all of the text, and has each sample then. Names are those of the
// conventions: counters end in _total, units are base units.
func TestPrometheusReadsTheText(t *testing.T) {
	for name, s := range fabrics(t) {
		for _, n := range []Names{Own, NodeExporter} {
			t.Run(name+"/"+string(n), func(t *testing.T) {
				text := textOf(t, s, n)
				var stamped strings.Builder
				samples, names := 0, map[string]bool{}
				for l := range strings.Lines(text) {
					l = strings.TrimSuffix(l, "\n")
					if strings.HasPrefix(l, "#") {
						fmt.Fprintln(&stamped, l)
						continue
					}
					m := line.FindStringSubmatch(l)
					if m == nil {
						t.Fatalf("not a sample: %s", l)
					}
					samples, names[m[1]] = samples+1, true
					fmt.Fprintln(&stamped, l, 1000)
				}
				if samples < 100 {
					t.Errorf("%d samples", samples)
				}
				got := loaded(t, stamped.String())
				if n := strings.Count(got, "\n"); n != samples {
					t.Errorf("Prometheus has %d of %d samples", n, samples)
				}
				wanted := []string{"fabemu_run_model_seconds_total", "fabemu_run_info"}
				switch {
				case n == NodeExporter && name == "infiniband":
					wanted = append(wanted, "node_infiniband_port_data_transmitted_bytes_total", "node_infiniband_port_transmit_wait_total")
				case n == NodeExporter:
					wanted = append(wanted, "node_infiniband_rp_cnp_packets_handled_total", "node_network_transmit_bytes_total")
				case name == "ethernet":
					wanted = append(wanted, "fabemu_port_paused_seconds_total", "fabemu_port_pause_frames_received_total", "fabemu_flow_receive_bytes_total")
				default:
					wanted = append(wanted, "fabemu_port_credit_stall_seconds_total", "fabemu_flow_rate_limit_bits_per_second")
				}
				for _, w := range wanted {
					if !names[w] {
						t.Errorf("there is no %s", w)
					}
				}
			})
		}
	}
}

// The counters are those of the run.
func TestCountersAreThoseOfTheRun(t *testing.T) {
	var text bytes.Buffer
	c := shown(t, fabrics(t)["ethernet"], observe.Func(func(s *observe.Snapshot) { Own.Write(&text, s) }))
	f, v := c.Fabric(), c.View()
	for x := range v.EachFlow {
		flow := &f.Flows[x.Flow]
		want := fmt.Sprintf("fabemu_flow_receive_bytes_total{flow=%q,group=%q} %s\n", flow.Name, flow.Group, number(metrics.Find(metrics.Flow, "bytes").Read(x)))
		if !strings.Contains(text.String(), want) {
			t.Errorf("no line %s", want)
		}
	}
	for _, h := range f.DataLinks() {
		want := fmt.Sprintf("link=%q} %v\n", f.LinkName(h), metrics.Find(metrics.Link, "frames").Read(metrics.At{View: v, Hop: h}))
		found := false
		for l := range strings.Lines(text.String()) {
			found = found || strings.HasPrefix(l, "fabemu_port_transmit_packets_total{") && strings.HasSuffix(l, want)
		}
		if !found {
			t.Errorf("no line of packets that were sent with %s", want)
		}
	}
	pauses := map[string]float64{}
	for l := range strings.Lines(text.String()) {
		if name, _, found := strings.Cut(l, "{"); found {
			v, _ := strconv.ParseFloat(strings.TrimSpace(l[strings.LastIndexByte(l, ' '):]), 64)
			pauses[name] += v
		}
	}
	if n := pauses["fabemu_port_pause_frames_received_total"]; n == 0 || n != pauses["fabemu_port_pause_frames_sent_total"] {
		t.Errorf("%v PAUSE frames came, %v were sent, in a fabric that pauses", n, pauses["fabemu_port_pause_frames_sent_total"])
	}
}

const examples = "../../../docs/examples/"

// expressions are those of the panels of the dashboard.
func expressions(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile(examples + "grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title, UID    string
		SchemaVersion int
		Templating    struct{ List []struct{ Name, Type string } }
		Panels        []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr, RefID string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	if board.Title == "" || board.UID == "" || board.SchemaVersion < 36 || len(board.Templating.List) != 1 || board.Templating.List[0].Type != "datasource" {
		t.Errorf("the dashboard is not one that Grafana imports: %+v", board)
	}
	ids := map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.Type == "" || p.Title == "" || p.GridPos.W == 0 || p.GridPos.X+p.GridPos.W > 24 || len(p.Targets) == 0 {
			t.Errorf("panel %d, %q, is not whole", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, x := range p.Targets {
			all = append(all, x.Expr)
		}
	}
	return all
}

// Prometheus understands each expression of the dashboard, and its metrics exist.
func TestDashboard(t *testing.T) {
	known := map[string]bool{}
	for _, s := range fabrics(t) {
		for l := range strings.Lines(textOf(t, s, Own)) {
			if m := line.FindStringSubmatch(strings.TrimSpace(l)); m != nil {
				known[m[1]] = true
			}
		}
	}
	for _, name := range []string{"fabemu_run_late_ratio", "fabemu_run_late_floor_ratio", "fabemu_run_dilation"} { // of the wall clock
		known[name] = true
	}
	all := expressions(t)
	if len(all) < 10 {
		t.Fatalf("%d expressions", len(all))
	}
	var b strings.Builder
	b.WriteString("groups:\n  - name: all\n    rules:\n")
	for i, x := range all {
		for _, name := range regexp.MustCompile(`fabemu[a-z_:]*`).FindAllString(x, -1) {
			if !known[name] {
				t.Errorf("%s: there is no %s", x, name)
			}
		}
		fmt.Fprintf(&b, "      - {record: \"x%d\", expr: %q}\n", i, x)
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	os.WriteFile(file, []byte(b.String()), 0o666)
	promtool(t, "check", "rules", file)
	promtool(t, "check", "config", "--syntax-only", examples+"prometheus.yml")
}

// The server answers on the loopback, those who ask for it by its own name, and continues when a
// run has ended.
func TestServer(t *testing.T) {
	s, err := Listen("0", Own)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !strings.HasPrefix(s.URL(), "http://127.0.0.1:") {
		t.Errorf("it listens at %s", s.URL())
	}
	shown(t, fabrics(t)["ethernet"], s)
	ask := func(host string) (int, string, string) {
		q, _ := http.NewRequest("GET", s.URL(), nil)
		q.Host = host
		a, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		b, _ := io.ReadAll(a.Body)
		return a.StatusCode, string(b), a.Header.Get("Content-Type")
	}
	for _, host := range []string{"", "localhost:9464", "127.0.0.1", "[::1]:9464"} {
		if code, text, kind := ask(host); code != 200 || !strings.HasSuffix(text, "# EOF\n") || kind != ContentType {
			t.Errorf("host %q: %d, %s", host, code, kind)
		}
	}
	for _, host := range []string{"evil.example", "127.0.0.1.evil.example:9464"} {
		if code, text, _ := ask(host); code != http.StatusMisdirectedRequest || strings.Contains(text, "fabemu") {
			t.Errorf("host %q: %d", host, code)
		}
	}
}

func TestListenMistakes(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		address string
		names   Names
		want    string
	}{
		{taken.Addr().String(), Own, "address already in use"}, {"127.0.0.1", Own, "--metrics"}, {"localhost:", Own, "a port, or an address"},
		{"1.2.3:4:5", Own, "a port, or an address"}, {":99999", Own, "invalid port"}, {"0", "grafana", "there are fabemu and node-exporter"},
	} {
		if s, err := Listen(c.address, c.names); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.address, err, c.want)
			if s != nil {
				s.Close()
			}
		}
	}
}

// Connections that stay and ask nothing, or half of something, keep no scrape out.
func TestServerUnderStrangers(t *testing.T) {
	s, err := Listen("0", Own)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	shown(t, fabrics(t)["ethernet"], s)
	for i := range 1000 {
		c, err := net.Dial("tcp", s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, []string{"", "GET /metrics HTTP/1.1\r\nHost: lo"}[i%2])
	}
	a, err := http.Get(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if b, err := io.ReadAll(a.Body); a.StatusCode != 200 || err != nil || !bytes.HasSuffix(b, []byte("# EOF\n")) {
		t.Errorf("%d, %v", a.StatusCode, err)
	}
}

// Readers that ask, and take nothing of a long answer, keep no scrape out.
func TestServerUnderSilentReaders(t *testing.T) {
	s, err := Listen("0", Own)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	shown(t, fabrics(t)["ethernet"], s)
	s.mu.Lock()
	s.text = append(bytes.Repeat([]byte("# filler\n"), 1<<20), s.text...) // more than a socket takes
	s.mu.Unlock()
	for range 400 {
		c, err := net.Dial("tcp", s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.(*net.TCPConn).SetReadBuffer(1)
		io.WriteString(c, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if _, err := io.ReadFull(c, make([]byte, 16)); err != nil { // the answer has begun
			t.Fatal(err)
		}
	}
	a, err := http.Get(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if b, err := io.ReadAll(a.Body); a.StatusCode != 200 || err != nil || !bytes.HasSuffix(b, []byte("# EOF\n")) {
		t.Errorf("%d, %v", a.StatusCode, err)
	}
}
