package live

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"fabemu/emu/observe"
	"fabemu/wire/unit"
)

// Options are the actions of a page. All functions may be called from several
// goroutines.
type Options struct {
	// Turn makes a change of the run: an event of a scenario without its time, as a line,
	// "link: trunk, state: down". Its error is sent to the page that asked. Nil: there are no knobs.
	Turn func(change string) error
	// Save writes a capture of a part of model time. Nil: there is none.
	Save func(w io.Writer, from, until unit.Time) error
	// Keep is how many bytes of moments are kept for pages that come late; 0 means 8 MB.
	Keep int
}

// Bounds of the resources that readers may take.
const (
	mostClients = 256              // streams at a time
	mostBody    = 4 << 10          // bytes of a change
	mostTurns   = 32               // changes in a second
	patience    = 5 * time.Second  // for which a client may take nothing
	beat        = 15 * time.Second // after which a silent stream sends a sign of life
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
	options  Options
	scene    []byte
	http     *http.Server // nil: it does not listen
	listener *observe.Listener
	text     func() (text, policy string)

	mu     sync.Mutex
	kept   [][]byte // moments, the oldest first
	size   int      // of those
	last   int64    // number of the newest; from 1 on
	ended  bool
	end    string
	fresh  chan struct{} // closed when there is something new
	counts Counts
	turns  []time.Time // of the last changes
}

// New makes a server for a scene. Its token is a new one each time.
func New(scene *Scene, o Options) (*Server, error) {
	scene.Knobs, scene.Saves = o.Turn != nil, o.Save != nil
	b, err := json.Marshal(scene)
	if err != nil {
		return nil, err
	}
	if o.Keep == 0 {
		o.Keep = 8 << 20
	}
	s := &Server{token: rand.Text(), options: o, scene: b, fresh: make(chan struct{})}
	s.text = sync.OnceValues(func() (string, string) { return page("") })
	return s, nil
}

// DefaultAddress is the loopback, at a port that is free.
const DefaultAddress = "127.0.0.1:0"

// Listen begins to serve at an address, host:port, and returns where the page is. A port of
// 0 is one that is free. Without a host it is the loopback: all addresses are "0.0.0.0" or
// "[::]".
func (s *Server) Listen(address string) (page string, err error) {
	if s.listener, err = observe.Listen(address); err != nil {
		return "", err
	}
	s.http = s.listener.Server(http.HandlerFunc(s.serve))
	go s.http.Serve(s.listener)
	return "http://" + s.listener.Address() + "/" + s.token + "/", nil
}

// Show sends a moment to all pages. It does not wait for them: it costs the writing of some
// kilobytes, and is to be called from a goroutine that has the time.
func (s *Server) Show(m *Moment) {
	b, err := json.Marshal(m)
	if err != nil {
		return // it does not fail: JSON has every kind of figure in a Moment
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

// End notifies all pages, present and future, that no more moments come, in a line of words. The
// first words stand.
func (s *Server) End(words string) {
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

// Close ends the server: at the latest when ctx is done. Answers that have begun are finished.
func (s *Server) Close(ctx context.Context) error {
	if s.http == nil {
		return nil
	}
	err := s.http.Shutdown(ctx)
	return errors.Join(err, s.http.Close())
}

// serve answers a request of one who may ask.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	what, status := s.admit(r)
	if status != 0 {
		http.Error(w, http.StatusText(status), status)
		return
	}
	s.listener.Admit(r)
	method := http.MethodGet
	if what == "knob" {
		method = http.MethodPost
	}
	if r.Method != method {
		h.Set("Allow", method)
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	switch what {
	case "":
		text, policy := s.text()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		io.WriteString(w, text)
	case "events":
		s.stream(w, r)
	case "knob":
		s.turn(w, r)
	case "moment.pcapng":
		s.save(w, r)
	default:
		http.NotFound(w, r)
	}
}

// stream writes the scene, the moments that are kept, and each one that comes, until the end.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	full := s.counts.Clients >= mostClients
	if !full {
		s.counts.Clients++
	}
	s.mu.Unlock()
	if full {
		http.Error(w, "there are too many readers", http.StatusServiceUnavailable)
		return
	}
	defer func() {
		s.mu.Lock()
		s.counts.Clients--
		s.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	out.SetReadDeadline(time.Time{}) // nothing else is to come: the reader stays
	next := int64(math.MaxInt64)     // the first moment that is not written; before the scene is, none is missed
	write := func(event string, data []byte) bool {
		out.SetWriteDeadline(time.Now().Add(patience))
		_, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, data)
		if err == nil {
			err = out.Flush()
		}
		if errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
			s.mu.Lock()
			s.counts.Dropped++
			s.counts.Skipped += max(0, s.last+1-next)
			s.mu.Unlock()
		}
		return err == nil
	}
	if !write("scene", s.scene) {
		return
	}
	s.mu.Lock()
	history := slices.Clone(s.kept)
	next = s.last + 1
	s.mu.Unlock()
	for _, b := range history {
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

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// turn makes a change of the run.
func (s *Server) turn(w http.ResponseWriter, r *http.Request) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		http.Error(w, "a change is JSON", http.StatusUnsupportedMediaType)
		return
	}
	if s.options.Turn == nil {
		http.Error(w, "This run takes no changes: it does not go on, or not on the wall clock.", http.StatusConflict)
		return
	}
	if !s.mayTurn(time.Now()) {
		http.Error(w, "There are too many changes at a time.", http.StatusTooManyRequests)
		return
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if long := (*http.MaxBytesError)(nil); errors.As(err, &long) {
		http.Error(w, "The change is too long.", http.StatusRequestEntityTooLarge)
		return
	}
	var change string
	if err != nil || json.Unmarshal(b, &change) != nil {
		http.Error(w, "A change is a JSON string, such as \"link: trunk, state: down\".", http.StatusBadRequest)
		return
	}
	if err := s.options.Turn(change); err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// mayTurn reports whether another change may be made now, and counts it.
func (s *Server) mayTurn(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.turns) > 0 && now.Sub(s.turns[0]) > time.Second {
		s.turns = s.turns[1:]
	}
	if len(s.turns) >= mostTurns {
		return false
	}
	s.turns = append(s.turns, now)
	return true
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
