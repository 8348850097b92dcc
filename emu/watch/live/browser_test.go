package live

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"fabemu/emu/scenario"
)

// chromiumPath returns the path of a browser; empty: there is none.
func chromiumPath() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	return ""
}

// chromium returns the context of a browser that all tests share, or why there is none.
var chromium = sync.OnceValues(func() (context.Context, error) {
	path := chromiumPath()
	if path == "" {
		return nil, fmt.Errorf("there is no chromium")
	}
	options := slices.Concat(chromedp.DefaultExecAllocatorOptions[:], []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(2 * time.Minute),
		chromedp.Flag("force-device-scale-factor", "1"), chromedp.Flag("font-render-hinting", "none")})
	c, wait := chromedp.NewExecAllocator(context.Background(), options...)
	c, stop := chromedp.NewContext(c)
	stopBrowser = func() { stop(); wait() }
	return c, chromedp.Do(c)
})

var stopBrowser = func() {}

func TestMain(m *testing.M) {
	status := m.Run()
	stopBrowser()
	os.Exit(status)
}

// tab is a page in a browser, and the addresses that it has asked for.
type tab struct {
	context.Context
	t     testing.TB
	mu    sync.Mutex
	asked []string
	wrong []string // what the browser complained of
}

// open opens an address in a tab of a size.
func open(t testing.TB, address string, width, height int64, dark bool) *tab {
	t.Helper()
	parent, err := chromium()
	if err != nil {
		t.Skip(err)
	}
	c, stop := chromedp.NewContext(parent)
	t.Cleanup(stop)
	c, end := context.WithTimeout(c, 5*time.Minute)
	t.Cleanup(end)
	b := &tab{Context: c, t: t}
	if err := chromedp.Listen(c, b.hear); err != nil {
		t.Fatal(err)
	}
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	b.run(chromedp.EmulateViewport(width, height), chromedp.Navigate(address))
	b.until("window.fabemu && fabemu.view >= 0 && fabemu.frames > 0")
	return b
}

func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.Context, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// call calls the browser.
func call[P, R any](b *tab, command cdp.Command[P, R], p P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.Context, command, p); err != nil {
		b.t.Fatal(err)
	}
}

// hear notes what a page asks for, and what is wrong with it.
func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.wrong = append(b.wrong, fmt.Sprintf("%s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		b.wrong = append(b.wrong, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	}
}

// value returns what a JavaScript expression is.
func value[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.Context, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits for an expression to be true.
func (b *tab) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if value[bool](b, "!!("+expression+")") {
			return
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.t.Fatalf("it does not become true that %s; the browser says: %s", expression, strings.Join(b.wrong, "; "))
}

// shot returns a picture of what is in the window.
func (b *tab) shot() []byte {
	b.t.Helper()
	png, err := chromedp.Run(b.Context, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	return png
}

// serve serves moments of a scene, of which the pages see all.
func serve(t testing.TB, c *Scene, moments []*Moment, o Options) (*Server, string) {
	t.Helper()
	s, err := New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	address, err := s.Listen(DefaultAddress)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(s) })
	for _, m := range moments {
		s.Show(m)
	}
	return s, address
}

// shut ends a server at once.
func shut(s *Server) {
	now, stop := context.WithCancel(context.Background())
	stop()
	s.Close(now)
}

// turning returns a Control whose changes are shown to a function, as lines.
func turning(turn func(change string) error) *Control {
	return &Control{Scenario: &scenario.Scenario{}, Apply: func(_ context.Context, change string) (scenario.Event, error) {
		line := strings.NewReplacer(`"`, "", ":", ": ", ",", ", ", "{", "", "}", "").Replace(change)
		return scenario.Event{}, turn(strings.ReplaceAll(line, "  ", " "))
	}}
}

// keep writes a picture to look at, where FABEMU_SHOTS names a folder.
func keep(t testing.TB, name string, png []byte) {
	if dir := os.Getenv("FABEMU_SHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
			t.Error(err)
		}
	}
}
