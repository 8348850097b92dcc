package observe

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"fabemu/emu/host"
)

// A Listener shows a run to others, by HTTP.
type Listener struct {
	net.Listener
	Host string // of the address to listen at

	strangers *host.Strangers // connections without a request that is admitted
	busy      *host.Strangers // connections whose request is being answered
}

// Listen listens at an address, host:port. Port 0 is a free one. An empty host is the loopback;
// "0.0.0.0" and "[::]" are all addresses.
func Listen(address string) (*Listener, error) {
	at, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%q is not an address such as 127.0.0.1:8080: %w", address, err)
	}
	at = cmp.Or(at, "127.0.0.1")
	l, err := net.Listen("tcp", net.JoinHostPort(at, port))
	return &Listener{l, at, host.NewStrangers(mostStrangers), host.NewStrangers(mostRequests)}, err
}

// Bounds of the resources that clients may take.
const (
	mostStrangers = 256             // connections without a request that is admitted
	mostRequests  = 256             // requests that are answered at a time: a new one ends the oldest
	mostHead      = 8 << 10         // bytes before the body of a request
	headTime      = 5 * time.Second // in which a request has come, with its body
	idleTime      = 2 * time.Minute // for which a connection waits for another request
	// tookNothing is how long a client may take none of the bytes sent to it. Then its connection
	// breaks, even if the kernel has room for more. It is longer than the live page's own limit, so
	// that the page counts the client.
	tookNothing = 7 * time.Second
)

// Accept is the method of net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if c, ok := c.(*net.TCPConn); ok {
		host.LimitSilence(c, tookNothing)
	}
	l.strangers.Add(c)
	return c, nil
}

// connection is the key of the connection of a request in its context.
type connection struct{}

// Server returns a server of HTTP for this listener. It refuses requests that name another host. Of
// the requests that are being answered it keeps the newest: readers that take nothing, or watch
// forever, keep no other out. A connection whose request was not passed to Admit may have to give
// way to a newer one, so handlers pass each request that they mean to answer.
func (l *Listener) Server(h http.Handler) *http.Server {
	guard := func(w http.ResponseWriter, r *http.Request) {
		if !l.allows(r.Host) {
			http.Error(w, http.StatusText(http.StatusMisdirectedRequest), http.StatusMisdirectedRequest)
			return
		}
		if c, ok := r.Context().Value(connection{}).(net.Conn); ok {
			l.busy.Add(c)
			defer l.busy.Remove(c)
		}
		h.ServeHTTP(w, r)
	}
	return &http.Server{
		Handler: http.HandlerFunc(guard), ReadTimeout: headTime, IdleTimeout: idleTime, MaxHeaderBytes: mostHead,
		ErrorLog: log.New(io.Discard, "", 0), // an address may have a token
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connection{}, c)
		},
		ConnState: func(c net.Conn, s http.ConnState) {
			switch s {
			case http.StateIdle:
				l.strangers.Add(c)
			case http.StateClosed, http.StateHijacked:
				l.strangers.Remove(c)
			}
		},
	}
}

// Admit marks a request as admitted: its connection stays until it is answered.
func (l *Listener) Admit(r *http.Request) {
	if c, ok := r.Context().Value(connection{}).(net.Conn); ok {
		l.strangers.Remove(c)
	}
}

// Address is host:port for others: the name of this machine if it listens at all addresses.
func (l *Listener) Address() string {
	host := l.Host
	if a, err := netip.ParseAddr(host); err == nil && a.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return net.JoinHostPort(host, port)
}

// allows reports whether host, with or without a port, is a name of this machine. Addresses in
// numbers always are: a stranger's page can make its own name resolve to this machine (DNS
// rebinding), but then the browser sends that name.
func (l *Listener) allows(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	known := []string{"localhost", l.Host}
	if name, err := os.Hostname(); err == nil && !l.loopback() {
		known = append(known, name)
	}
	host = strings.TrimSuffix(host, ".")
	return slices.ContainsFunc(known, func(name string) bool { return strings.EqualFold(name, host) })
}

func (l *Listener) loopback() bool {
	a, err := netip.ParseAddr(l.Host)
	return l.Host == "localhost" || err == nil && a.IsLoopback()
}
