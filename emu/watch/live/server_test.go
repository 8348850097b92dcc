package live

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/wire/unit"

	"fabemu/emu/scenario"
)

// ask sends a request unchanged, and returns the status and the body of the answer.
func ask(t testing.TB, method, address, body string, header map[string]string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		if k == "Host" {
			r.Host = v
		} else {
			r.Header.Set(k, v)
		}
	}
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, _ := io.ReadAll(a.Body)
	return a.StatusCode, string(b), a.Header
}

// TestRefusals: who has not the token, who comes by another name, and pages of others are
// refused, and none of them turns a knob.
func TestRefusals(t *testing.T) {
	var turned atomic.Int32
	s, address := serve(t, sceneOf(t, "hpl2002/fig3b"), nil, Options{
		Control: turning(func(change string) error {
			turned.Add(1)
			if change == "wrong" {
				return errors.New("what is wrong with it")
			}
			return nil
		}),
	})
	u, _ := url.Parse(address)
	base := "http://" + u.Host
	other := strings.Replace(address, s.token[:5], "AAAAA", 1)
	knob := map[string]string{"Content-Type": "application/json"}
	with := func(more map[string]string) map[string]string {
		all := map[string]string{"Content-Type": "application/json"}
		for k, v := range more {
			all[k] = v
		}
		return all
	}
	change := `"link: trunk, state: down"`
	for name, tc := range map[string]struct {
		method, address, body string
		header                map[string]string
		want                  int
		turns                 bool
	}{
		"the page":                   {"GET", address, "", nil, 200, false},
		"no token":                   {"GET", base + "/", "", nil, 404, false},
		"another token":              {"GET", other, "", nil, 404, false},
		"a part of the token":        {"GET", base + "/" + s.token[:25] + "/", "", nil, 404, false},
		"more than the token":        {"GET", base + "/" + s.token + "A/", "", nil, 404, false},
		"no slash":                   {"GET", base + "/" + s.token, "", nil, 404, false},
		"events without a token":     {"GET", base + "/moments", "", nil, 404, false},
		"knob without a token":       {"POST", base + "/events", change, knob, 404, false},
		"knob with another token":    {"POST", other + "events", change, knob, 404, false},
		"nothing there":              {"GET", address + "etc/passwd", "", nil, 404, false},
		"by localhost":               {"GET", address, "", map[string]string{"Host": "localhost:1234"}, 200, false},
		"by another name (rebound)":  {"GET", address, "", map[string]string{"Host": "evil.example"}, 421, false},
		"a name that begins alike":   {"GET", address, "", map[string]string{"Host": "localhost.evil.example"}, 421, false},
		"a name that looks like one": {"GET", address, "", map[string]string{"Host": "127.0.0.1.evil.example"}, 421, false},
		"knob by another name":       {"POST", address + "events", change, with(map[string]string{"Host": "evil.example"}), 421, false},
		"knob of a page of ours":     {"POST", address + "events", change, with(map[string]string{"Origin": base, "Sec-Fetch-Site": "same-origin"}), 200, true},
		"knob of no page":            {"POST", address + "events", change, knob, 200, true},
		"knob of another page":       {"POST", address + "events", change, with(map[string]string{"Origin": "http://evil.example"}), 403, false},
		"knob of another port":       {"POST", address + "events", change, with(map[string]string{"Origin": "http://127.0.0.1:1"}), 403, false},
		"knob of a file":             {"POST", address + "events", change, with(map[string]string{"Origin": "null"}), 403, false},
		"knob of a page beside":      {"POST", address + "events", change, with(map[string]string{"Sec-Fetch-Site": "same-site"}), 403, false},
		"events of another page":     {"GET", address + "events", "", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, 403, false},
		"a frame of another page":    {"GET", address, "", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403, false},
		"a link of another page":     {"GET", address, "", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200, false},
		"may another page ask":       {"OPTIONS", address + "events", "", map[string]string{"Origin": base, "Access-Control-Request-Method": "POST"}, 405, false},
		"the page by POST":           {"POST", address, "", knob, 405, false},
		"moments by POST":            {"POST", address + "moments", "{}", knob, 405, false},
		"knob as a form":             {"POST", address + "events", "link=trunk", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415, false},
		"knob as text":               {"POST", address + "events", change, map[string]string{"Content-Type": "text/plain"}, 415, false},
		"knob that is not JSON":      {"POST", address + "events", "{", knob, 400, false},
		"knob of another form":       {"POST", address + "events", `["link", "trunk"]`, knob, 400, false},
		"knob as an object":          {"POST", address + "events", `{"link": "trunk", "state": "down"}`, knob, 200, true},
		"knob that is too long":      {"POST", address + "events", `"` + strings.Repeat("x", mostBody) + `"`, knob, 413, false},
		"knob that is wrong":         {"POST", address + "events", `"wrong"`, knob, 422, true},
		"no capture":                 {"GET", address + "moment.pcapng?from=0&until=1", "", nil, 404, false},
	} {
		before := turned.Load()
		status, body, header := ask(t, tc.method, tc.address, tc.body, tc.header)
		if status != tc.want {
			t.Errorf("%s: %d, not %d: %s", name, status, tc.want, body)
		}
		if turns := turned.Load() > before; turns != tc.turns {
			t.Errorf("%s: a knob was turned: %v", name, turns)
		}
		for key := range header {
			if strings.HasPrefix(key, "Access-Control-") {
				t.Errorf("%s: it lets others ask: %s", name, key)
			}
		}
		if slices.Contains([]int{400, 405, 413, 415, 422}, status) && !strings.HasPrefix(body, `{"error":"`) {
			t.Errorf("%s: the answer is not JSON: %s", name, body)
		}
		if status != 200 && strings.Contains(body, s.token) {
			t.Errorf("%s: the answer tells the token", name)
		}
	}
}

// TestNoKnobs: a run that takes no changes says so.
func TestNoKnobs(t *testing.T) {
	_, address := serve(t, sceneOf(t, "hpl2002/fig3b"), nil, Options{Control: &Control{Scenario: &scenario.Scenario{}}})
	if status, body, _ := ask(t, "POST", address+"events", `"link: trunk, state: down"`, map[string]string{"Content-Type": "application/json"}); status != 409 {
		t.Errorf("%d %s", status, body)
	}
}

// TestTurnsAreBounded: of many changes at a time the rest are refused.
func TestTurnsAreBounded(t *testing.T) {
	var turned int
	s := &Control{}
	now := time.Now()
	for range 2 * mostTurns {
		if s.mayTurn(now) {
			turned++
		}
	}
	if turned != mostTurns {
		t.Errorf("%d of %d at a time were made, not %d", turned, 2*mostTurns, mostTurns)
	}
	if !s.mayTurn(now.Add(2 * time.Second)) {
		t.Error("none is made any more")
	}
}

// TestListensOnTheLoopback: unless an address is given, no other machine can ask.
func TestListensOnTheLoopback(t *testing.T) {
	for _, at := range []string{DefaultAddress, ":0", "localhost:0"} {
		s, err := New(sceneOf(t, "hpl2002/fig3b"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		address, err := s.Listen(at)
		if err != nil {
			t.Fatal(err)
		}
		defer shut(s)
		u, err := url.Parse(address)
		if err != nil || u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback() {
			t.Errorf("%s is served at %s: %v", at, address, err)
		}
		if status, _, _ := ask(t, "GET", address, "", nil); status != 200 {
			t.Errorf("%s: %d", at, status)
		}
	}
	s, _ := New(sceneOf(t, "hpl2002/fig3b"), Options{})
	if _, err := s.Listen("nonsense"); err == nil {
		t.Error("nonsense is an address")
	}
	address, err := s.Listen("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer shut(s)
	u, err := url.Parse(address)
	if name, _ := os.Hostname(); err != nil || u.Hostname() != name {
		t.Errorf("for all it is at %s: %v", address, err)
	}
	byAddress := strings.Replace(address, u.Hostname(), "127.0.0.1", 1)
	for host, want := range map[string]int{u.Host: 200, u.Hostname(): 200, "192.0.2.7:80": 200, "evil.example": 421} {
		if status, _, _ := ask(t, "GET", byAddress, "", map[string]string{"Host": host}); status != want {
			t.Errorf("by the name %s: %d", host, status)
		}
	}
}

// TestTokens: each server has its own, of at least 128 bits.
func TestTokens(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		s, err := New(&Scene{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if seen[s.token] || len(s.token) < 26 { // of 32 letters
			t.Fatalf("the token %s", s.token)
		}
		seen[s.token] = true
	}
}

// TestNothingIsLogged: not even the panic of a handler writes the address with its token.
func TestNothingIsLogged(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = write
	log.SetOutput(write)
	defer log.SetOutput(stderr)
	s, address := serve(t, sceneOf(t, "hpl2002/fig3b"), nil, Options{
		Save: func(w io.Writer, _, _ unit.Time) error { panic("a mistake of ours") },
	})
	if _, err := http.Get(address + "moment.pcapng?from=0&until=1"); err == nil {
		t.Error("a handler that panics has an answer")
	}
	u, _ := url.Parse(address)
	if c, err := net.Dial("tcp", u.Host); err == nil {
		fmt.Fprintf(c, "GET /%s/ NONSENSE\r\n\r\n", s.token)
		io.ReadAll(c)
		c.Close()
	}
	os.Stderr = stderr
	write.Close()
	if said, _ := io.ReadAll(read); len(said) > 0 {
		t.Errorf("it writes %q", said)
	}
}

// stream reads the events of a server, until it ends.
func stream(t testing.TB, address string, each func(event, data string) bool) {
	t.Helper()
	a, err := http.Get(address + "moments")
	if err != nil {
		t.Error(err)
		return
	}
	defer a.Body.Close()
	if kind := a.Header.Get("Content-Type"); a.StatusCode != 200 || kind != "text/event-stream" {
		t.Errorf("%d, of type %s", a.StatusCode, kind)
		return
	}
	in := bufio.NewReaderSize(a.Body, 1<<20)
	event := ""
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = strings.TrimSpace(name)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok && !each(event, strings.TrimSuffix(data, "\n")) {
			return
		}
	}
}

// TestStream: a page hears the scene, the moments that were, those that come, and the end.
func TestStream(t *testing.T) {
	c := sceneOf(t, "hpl2002/fig3b")
	moments := script(t, c, 10)
	s, address := serve(t, c, moments[:5], Options{})
	var heard []string
	stream(t, address, func(event, data string) bool {
		if event == "moment" {
			var m Moment
			if err := json.Unmarshal([]byte(data), &m); err != nil {
				t.Fatal(err)
			}
			n := m.ModelPs / (c.EndPs / 10)
			data = fmt.Sprint(n)
			switch { // a reader that is slow misses moments: each comes when the one before is heard
			case int(n) == len(moments):
				s.End("it is over")
			case n >= 5:
				s.Show(moments[n])
			}
		}
		if event == "scene" {
			data = ""
		}
		heard = append(heard, event+" "+data)
		return true
	})
	want := []string{"scene "}
	for i := range moments {
		want = append(want, fmt.Sprint("moment ", i+1))
	}
	want = append(want, "end it is over")
	if got := strings.Join(heard, "; "); got != strings.Join(want, "; ") {
		t.Errorf("heard %s", got)
	}
	if n := s.Counts(); n.Shown != 5 || n.Skipped != 0 || n.Dropped != 0 {
		t.Errorf("%+v", n)
	}
}

// TestKeepsLittle: what the server keeps for those who come late is bounded.
func TestKeepsLittle(t *testing.T) {
	c := sceneOf(t, "hpl2002/fig3b")
	m := script(t, c, 1)[0]
	one, _ := json.Marshal(m)
	s, err := New(c, Options{Keep: 10 * len(one)})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		s.Show(m)
	}
	if len(s.kept) != 10 || s.size > s.options.Keep {
		t.Errorf("it keeps %d moments, %d bytes", len(s.kept), s.size)
	}
}

// TestManyReaders: a hundred readers and one that reads nothing do not keep Show waiting; what
// the slow one misses is counted, and in the end it is dropped.
func TestManyReaders(t *testing.T) {
	c := sceneOf(t, "hpl2002/fig3b")
	m := script(t, c, 1)[0]
	large := *m
	large.Why = strings.Repeat("long ", 4<<20) // more than a socket takes
	s, address := serve(t, c, nil, Options{Keep: 1})
	u, _ := url.Parse(address)
	slow, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	fmt.Fprintf(slow, "GET %smoments HTTP/1.1\r\nHost: %s\r\n\r\n", u.Path, u.Host)
	runtest.Await(t, "the slow reader is there", func() bool { return s.Counts().Clients == 1 })
	s.Show(&large)
	if _, err := io.ReadFull(slow, make([]byte, 1<<20)); err != nil { // the large moment is in flight
		t.Fatal(err)
	}
	slow.(*net.TCPConn).SetReadBuffer(4 << 10)
	s.Show(m)
	var readers sync.WaitGroup
	var ended atomic.Int32
	for range 100 {
		readers.Go(func() {
			stream(t, address, func(event, _ string) bool {
				if event == "end" {
					ended.Add(1)
				}
				return true
			})
		})
	}
	runtest.Await(t, "all readers are there", func() bool { return s.Counts().Clients >= 100 })
	var longest time.Duration
	begin := time.Now()
	for n := 0; n < 20 || time.Since(begin) < time.Minute && s.Counts().Dropped == 0; n++ {
		at := time.Now()
		s.Show(m)
		longest = max(longest, time.Since(at))
		time.Sleep(50 * time.Millisecond)
	}
	s.End("over")
	readers.Wait()
	n := s.Counts()
	if ended.Load() != 100 || n.Dropped != 1 || n.Skipped == 0 || n.Shown == 0 {
		t.Errorf("%d readers came to the end; %+v", ended.Load(), n)
	}
	// A moment that waited for the slow reader would have taken seconds.
	if longest > patience/2 {
		t.Errorf("to show a moment took %v", longest)
	}
	t.Logf("%+v; a moment took %v at most", n, longest)
}

// TestTooManyReaders: streams that are never read, or only at their begin, are as many as there may
// be at a time, and the oldest of them gives way to each new request.
func TestTooManyReaders(t *testing.T) {
	c := sceneOf(t, "hpl2002/fig3b")
	s, address := serve(t, c, nil, Options{})
	u, _ := url.Parse(address)
	const most = 256
	var silent []net.Conn
	for n := range 2 * most {
		conn, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		silent = append(silent, conn)
		fmt.Fprintf(conn, "GET %smoments HTTP/1.1\r\nHost: %s\r\n\r\n", u.Path, u.Host)
		if n < most {
			runtest.Await(t, "the reader is there", func() bool { return s.Counts().Clients == n+1 })
		}
	}
	if status, body, _ := ask(t, "GET", address, "", nil); status != 200 || !strings.Contains(body, "</html>") {
		t.Errorf("the page: %d, %.100q", status, body)
	}
	s.Show(script(t, c, 1)[0])
	s.End("over")
	var events []string
	stream(t, address, func(event, _ string) bool { events = append(events, event); return true })
	if want := []string{"scene", "moment", "end"}; !slices.Equal(events, want) {
		t.Errorf("a new reader sees %v", events)
	}
	silent[0].SetReadDeadline(time.Now().Add(time.Minute))
	if b, err := io.ReadAll(silent[0]); err != nil && os.IsTimeout(err) || bytes.Contains(b, []byte("event: end")) {
		t.Errorf("the oldest reader is there still: %v", err)
	}
}

// TestStrangersAreLetGo: who promises more than comes, with the token or without, and who takes
// nothing of the little that there is, does not stay.
func TestStrangersAreLetGo(t *testing.T) {
	t.Parallel()
	c := sceneOf(t, "hpl2002/fig3b")
	s, address := serve(t, c, nil, Options{Control: turning(func(string) error { return nil })})
	u, _ := url.Parse(address)
	dial := func(request string) net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.(*net.TCPConn).SetReadBuffer(1)
		fmt.Fprintf(conn, request, u.Host)
		return conn
	}
	const half = " HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 200000\r\n\r\n\"l"
	promised := map[string]net.Conn{}
	for _, path := range []string{"/", u.Path + "events"} {
		promised[path] = dial("POST " + path + half)
	}
	dial("GET " + u.Path + "moments HTTP/1.1\r\nHost: %s\r\n\r\n")
	runtest.Await(t, "the reader is there", func() bool { return s.Counts().Clients == 1 })
	m := script(t, c, 1)[0]
	runtest.Await(t, "the reader that takes nothing is gone", func() bool {
		s.Show(m)
		time.Sleep(100 * time.Millisecond)
		return s.Counts().Clients == 0
	})
	for path, conn := range promised {
		conn.SetReadDeadline(time.Now().Add(time.Minute))
		if b, err := io.ReadAll(conn); err != nil && os.IsTimeout(err) {
			t.Errorf("POST %s is held; it read %q", path, b)
		}
	}
}

// TestSave: a capture comes as a file, whole or not at all.
func TestSave(t *testing.T) {
	var fails bool
	_, address := serve(t, sceneOf(t, "hpl2002/fig3b"), nil, Options{Save: func(w io.Writer, from, until unit.Time) error {
		fmt.Fprint(w, int64(from), " ", int64(until))
		if fails {
			return errors.New("the disk is gone")
		}
		return nil
	}})
	status, body, header := ask(t, "GET", address+"moment.pcapng?from=5&until=7", "", nil)
	if status != 200 || body != "5 7" || !strings.Contains(header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%d %q %v", status, body, header)
	}
	for _, bad := range []string{"", "?from=7&until=5", "?from=-1&until=5", "?from=a&until=b"} {
		if status, _, _ := ask(t, "GET", address+"moment.pcapng"+bad, "", nil); status != 400 {
			t.Errorf("%s: %d", bad, status)
		}
	}
	fails = true
	a, err := http.Get(address + "moment.pcapng?from=5&until=7")
	if err == nil {
		_, err = io.ReadAll(a.Body)
		a.Body.Close()
	}
	if err == nil {
		t.Error("what is not whole looks whole")
	}
}

// TestClose: a server that ends says what it still has to say.
func TestClose(t *testing.T) {
	c := sceneOf(t, "hpl2002/fig3b")
	s, address := serve(t, c, script(t, c, 3), Options{})
	heard := make(chan string, 1)
	go stream(t, address, func(event, data string) bool {
		if event == "end" {
			heard <- data
		}
		return true
	})
	runtest.Await(t, "the reader is there", func() bool { return s.Counts().Clients == 1 })
	s.End("over")
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	select {
	case <-heard:
	case <-time.After(time.Minute):
		t.Error("the reader did not hear the end")
	}
}

// TestWritePage: the page as a file has its moments in it, and no text of a scenario ends the
// element that holds them.
func TestWritePage(t *testing.T) {
	c := sceneOf(t, "hpl2002/fig3b")
	c.Text = "</script><script>alert(1)</script>"
	var out bytes.Buffer
	if err := WritePage(&out, c, script(t, c, 3)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "<script>alert") || strings.Count(out.String(), "</script>") != 2 {
		t.Error("a description ends the script")
	}
}
