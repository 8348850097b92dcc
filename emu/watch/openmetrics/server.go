package openmetrics

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/watch/observe"
)

// Server serves the metrics of one run after another, under /metrics. It is an observer; on
// request it makes the text of the next snapshot.
type Server struct {
	names    Names
	listener *observe.Listener
	http     *http.Server

	closing chan struct{}
	mu      sync.Mutex
	asked   bool          // for the text of the next snapshot
	next    chan struct{} // closed when the text is ready
	text    []byte        // the last that was made
	ended   bool          // no other snapshot comes until another run begins
}

// Every is the time between snapshots for a server.
const Every = 250 * time.Millisecond

// askMost is how long a request waits for a snapshot, and answerMost how long it may take
// altogether.
const (
	askMost    = 5 * time.Second
	answerMost = 30 * time.Second
)

// Listen begins to serve at an address, "9464", ":9464" or "127.0.0.1:9464". Without a host it is
// the loopback. The user can correct an error.
func Listen(address string, names Names) (*Server, error) {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
		return nil, errs.Errorf("--metrics %s: expected a port, or an address such as 127.0.0.1:9464", address)
	}
	if err := errs.Unknown("metrics-as", names, Own, NodeExporter); err != nil {
		return nil, err
	}
	l, err := observe.Listen(address)
	if err != nil {
		return nil, errs.Errorf("--metrics: %w; 127.0.0.1:0 takes a port that is free", err)
	}
	s := &Server{names: names, listener: l, next: make(chan struct{}), closing: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", s.serve)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		l.Admit(r)
		fmt.Fprint(w, "The metrics of this run are at /metrics.\n")
	})
	s.http = l.Server(mux)
	s.http.WriteTimeout = answerMost
	go s.http.Serve(l) // until Close
	return s, nil
}

// URL is the address of the metrics.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/metrics" }

// Observe makes the text, if a request waits for it. It is the method of observe.Observer.
func (s *Server) Observe(x *observe.Snapshot) {
	s.mu.Lock()
	wanted, ready := s.asked || x.Last, s.next
	s.ended = x.Last
	if wanted {
		s.asked, s.next = false, make(chan struct{})
	}
	s.mu.Unlock()
	if !wanted {
		return
	}
	var b bytes.Buffer
	s.names.Write(&b, x) // memory does not refuse
	s.mu.Lock()
	s.text = b.Bytes()
	s.mu.Unlock()
	close(ready)
}

// serve answers with the next snapshot, or with the last if none comes in time.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.listener.Admit(r)
	s.mu.Lock()
	next, ended := s.next, s.ended
	s.asked = true
	s.mu.Unlock()
	if !ended {
		select {
		case <-next:
		case <-time.After(askMost):
		case <-r.Context().Done():
		case <-s.closing:
		}
	}
	s.mu.Lock()
	text := s.text
	s.mu.Unlock()
	if text == nil {
		http.Error(w, "no run has started yet", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", ContentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Write(text)
}

// Close ends the server. Requests that wait are answered.
func (s *Server) Close() {
	close(s.closing)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		s.http.Close()
	}
}
