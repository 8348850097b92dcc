package live

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"fabemu/emu/watch/observe"
	"fabemu/wire/unit"
)

// Options are the actions of a page. All functions may be called from several
// goroutines.
type Options struct {
	// Control answers programs, and makes changes. Nil: nothing continues, and there are no knobs.
	Control *Control
	// Save writes a capture of a part of model time. Nil: there is none.
	Save func(w io.Writer, from, until unit.Time) error
	// Keep is how many bytes of moments are kept for pages that come late; 0 means 8 MB.
	Keep int
}

// Bounds of the resources that readers may take.
const (
	patience = 5 * time.Second  // for which a client may take nothing
	loading  = time.Minute      // in which it takes the page
	beat     = 15 * time.Second // after which a silent stream sends a sign of life
)

// Bounds of a request at a socket of the file system.
const (
	requestTime = 5 * time.Second // in which it has come
	mostHead    = 8 << 10         // bytes before its body
)

// Counts counts moments and clients.
type Counts struct {
	Clients int   // streams that are open
	Shown   int64 // moments that were written to streams
	Skipped int64 // moments that a stream was too slow for
	Dropped int64 // clients that took nothing for too long
}

// Server serves the page of one run.
type Server struct {
	token    string
	began    time.Time
	options  Options
	scene    []byte
	servers  []served          // one for each listener
	listener *observe.Listener // nil: it does not listen for browsers
	text     func() (text, policy string)

	mu     sync.Mutex
	kept   [][]byte // moments, the oldest first
	size   int      // of those
	last   int64    // number of the newest; from 1 on
	ended  bool
	end    string
	fresh  chan struct{} // closed when there is something new
	counts Counts
}

// New makes a server for a scene, or without a page, only for programs, if that is nil. Its token
// is a new one each time.
func New(scene *Scene, o Options) (*Server, error) {
	var b []byte
	if scene != nil {
		var err error
		scene.Knobs, scene.Saves = o.Control != nil && o.Control.Apply != nil, o.Save != nil
		if b, err = json.Marshal(scene); err != nil {
			return nil, err
		}
	}
	o.Keep = cmp.Or(o.Keep, 8<<20)
	s := &Server{token: rand.Text(), began: time.Now(), options: o, scene: b, fresh: make(chan struct{})}
	s.text = sync.OnceValues(page)
	return s, nil
}

// DefaultAddress is the loopback, at a free port.
const DefaultAddress = "127.0.0.1:0"

// Listen begins to serve at an address, host:port, and returns the address of the page. Port 0 is
// a free one. An empty host is the loopback; "0.0.0.0" and "[::]" are all addresses.
func (s *Server) Listen(address string) (page string, err error) {
	if s.listener, err = observe.Listen(address); err != nil {
		return "", err
	}
	s.begin(s.listener.Server(http.HandlerFunc(s.admitted)), s.listener)
	return "http://" + s.listener.Address() + "/" + s.token + "/", nil
}

// Serve serves those who can connect to a listener, such as a socket of the file system, without a
// token.
func (s *Server) Serve(l net.Listener) {
	s.begin(&http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.serve(w, r, strings.TrimPrefix(r.URL.Path, "/"))
		}),
		ReadTimeout: requestTime, MaxHeaderBytes: mostHead, ErrorLog: log.New(io.Discard, "", 0),
	}, l)
}

// served is a server of HTTP and its listener.
type served struct {
	http     *http.Server
	listener net.Listener
}

func (s *Server) begin(h *http.Server, l net.Listener) {
	s.servers = append(s.servers, served{h, l})
	go h.Serve(l)
}

// Show sends a moment to all pages. It does not wait for them, but encodes some kilobytes: its
// caller must have time for that.
func (s *Server) Show(m *Moment) {
	b, err := json.Marshal(m)
	if err != nil {
		return // JSON has every kind of figure in a Moment
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept, s.size, s.last = append(s.kept, b), s.size+len(b), s.last+1
	for s.size > s.options.Keep && len(s.kept) > 1 {
		s.size -= len(s.kept[0])
		s.kept[0] = nil
		s.kept = s.kept[1:]
	}
	s.wake()
}

// End notifies all pages and programs, present and future, that no more moments come, with a line
// of text. The first words are kept.
func (s *Server) End(words string) {
	if s.options.Control != nil {
		s.options.Control.End()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended, s.end = true, words
		s.wake()
	}
}

func (s *Server) wake() {
	close(s.fresh)
	s.fresh = make(chan struct{})
}

// Close ends the server. Answers that have begun are finished, unless ctx is done first.
func (s *Server) Close(ctx context.Context) (err error) {
	for _, x := range s.servers {
		err = errors.Join(err, x.http.Shutdown(ctx), x.http.Close())
		x.listener.Close() // where the server has not begun with it
	}
	return err
}

// admitted answers a request of a browser, if it is admitted.
func (s *Server) admitted(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	thing, status := s.admit(r)
	if status != 0 {
		http.Error(w, http.StatusText(status), status)
		return
	}
	s.listener.Admit(r)
	s.serve(w, r, thing)
}

// things are the things that a server has, with their methods.
func (s *Server) things() map[string]http.HandlerFunc {
	all := map[string]http.HandlerFunc{}
	if s.scene != nil {
		all["GET "], all["GET still"], all["GET moments"], all["GET moment.pcapng"] = s.servePage, s.serveStill, s.stream, s.save
		all["GET clock"] = s.serveClock
	}
	if c := s.options.Control; c != nil {
		all["GET status"], all["GET events"], all["POST events"] = c.serveStatus, c.serveEvents, c.serveChange
	}
	return all
}

// serve answers a request for a thing.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, thing string) {
	all := s.things()
	var methods []string
	for _, m := range []string{http.MethodGet, http.MethodPost} {
		if all[m+" "+thing] != nil {
			methods = append(methods, m)
		}
	}
	switch answer := all[r.Method+" "+thing]; {
	case answer != nil:
		answer(w, r)
	case methods == nil:
		refuse(w, http.StatusNotFound, "there is no %q: a run has status and events", thing)
	default:
		w.Header().Set("Allow", strings.Join(methods, ", "))
		refuse(w, http.StatusMethodNotAllowed, "%q takes %s, and not %s", thing, strings.Join(methods, " and "), r.Method)
	}
}

// servePage sends the page with the moments that are kept, so that it is complete as soon as it is
// loaded. It asks for the others.
func (s *Server) servePage(w http.ResponseWriter, _ *http.Request) {
	moments, last := s.history()
	s.sendPage(w, &data{Scene: s.scene, Moments: moments, After: &last})
}

// serveStill sends the page as it is now, and it stays so. A program that waits until a page asks
// for nothing any more, to make a picture of it, would wait for the end of the run.
func (s *Server) serveStill(w http.ResponseWriter, _ *http.Request) {
	moments, _ := s.history()
	s.sendPage(w, &data{Scene: s.scene, Moments: moments, Still: true})
}

// serveClock answers with the wall time since the start, in ms.
func (s *Server) serveClock(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintln(w, time.Since(s.began).Milliseconds())
}

func (s *Server) sendPage(w http.ResponseWriter, d *data) {
	text, policy := s.text()
	text, err := d.put(text)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy)
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(loading))
	io.WriteString(w, text)
}

// history returns the moments that are kept, and the number of the last one.
func (s *Server) history() (moments []json.RawMessage, last int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.kept {
		moments = append(moments, b)
	}
	return moments, s.last
}

// stream writes the scene, the moments that are kept, and each one that comes, until the end. To a
// page that has moments up to a number it writes those after it.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	after := int64(-1)
	if text := r.URL.Query().Get("after"); text != "" {
		var err error
		if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < 0 {
			http.Error(w, "after is the number of a moment", http.StatusBadRequest)
			return
		}
	}
	s.mu.Lock()
	s.counts.Clients++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.counts.Clients--
		s.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	out.SetReadDeadline(time.Time{}) // no more bytes come: the reader stays
	next := int64(math.MaxInt64)     // the first moment that is not written; none is missed before the scene
	write := func(event string, data []byte) bool {
		out.SetWriteDeadline(time.Now().Add(patience))
		_, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, data)
		if err == nil {
			err = out.Flush()
		}
		if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
			s.mu.Lock()
			s.counts.Dropped++
			s.counts.Skipped += max(0, s.last+1-next)
			s.mu.Unlock()
		}
		return err == nil
	}
	if after < 0 && !write("scene", s.scene) {
		return
	}
	history, last := s.history()
	next = last + 1
	for _, b := range history[min(max(0, int64(len(history))-last+after), int64(len(history))):] {
		if !write("moment", b) {
			return
		}
	}
	quiet := time.NewTimer(beat)
	defer quiet.Stop()
	for {
		s.mu.Lock()
		fresh, ended, words := s.fresh, s.ended, s.end
		var b []byte
		if s.last >= next {
			b = s.kept[len(s.kept)-1]
			s.counts.Skipped += s.last - next
			s.counts.Shown++
			next = s.last + 1
		}
		s.mu.Unlock()
		switch {
		case b != nil:
			if !write("moment", b) {
				return
			}
			continue
		case ended:
			write("end", []byte(words))
			return
		}
		quiet.Reset(beat)
		select {
		case <-fresh:
		case <-quiet.C:
			if !write("beat", nil) {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// save sends a capture of a part of model time.
func (s *Server) save(w http.ResponseWriter, r *http.Request) {
	from, err1 := strconv.ParseInt(r.URL.Query().Get("from"), 10, 64)
	until, err2 := strconv.ParseInt(r.URL.Query().Get("until"), 10, 64)
	switch {
	case s.options.Save == nil:
		http.NotFound(w, r)
		return
	case err1 != nil || err2 != nil || from < 0 || until < from:
		http.Error(w, "from and until are instants of model time in ps", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/vnd.tcpdump.pcap")
	w.Header().Set("Content-Disposition", `attachment; filename="moment.pcapng"`)
	if err := s.options.Save(w, unit.Time(from), unit.Time(until)); err != nil {
		panic(http.ErrAbortHandler) // the answer is incomplete: the connection breaks off
	}
}
