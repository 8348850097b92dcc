package observe

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"fabemu/emu/host"
)

// A Listener is where a run is shown to others, by HTTP.
type Listener struct {
	net.Listener
	Host string // at which it was told to listen

	strangers *host.Strangers
}

// Listen listens at an address, host:port. A port of 0 is one that is free. Without a host it
// is the loopback: all addresses are "0.0.0.0" or "[::]".
func Listen(address string) (*Listener, error) {
	at, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%q is no address such as 127.0.0.1:8080: %w", address, err)
	}
	if at == "" {
		at = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(at, port))
	return &Listener{l, at, host.NewStrangers(mostStrangers)}, err
}

// Bounds of what clients may have of the computer.
const (
	mostStrangers = 256             // connections without a request that is admitted
	mostHead      = 8 << 10         // bytes before the body of a request
	headTime      = 5 * time.Second // in which a request has come, with its body
	idleTime      = 2 * time.Minute // for which a connection waits for another request
	// tookNothing is for how long a client may take nothing of the bytes sent to it: its connection is
	// lost then, even where the kernel has room for more. It is longer than the time after which the live
	// page drops a client, and counts it.
	tookNothing = 7 * time.Second
)

// Accept is that of net.Listener.
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

// Server returns a server of HTTP for this listener. A connection whose request was not handed to
// Admit may have to give way to a newer one, so handlers hand over each request that they mean to answer.
func (l *Listener) Server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadTimeout: headTime, IdleTimeout: idleTime, MaxHeaderBytes: mostHead,
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

// Admit takes a request as one that is wanted: its connection stays until it is answered.
func (l *Listener) Admit(r *http.Request) {
	if c, ok := r.Context().Value(connection{}).(net.Conn); ok {
		l.strangers.Remove(c)
	}
}

// Address is host:port by which others find it: the name of this computer where it listens at
// all addresses.
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

// Allows reports whether a request may call this computer host, with or without a port.
// Addresses in numbers always may: a page of a stranger can have its own name stand for this
// computer (DNS rebinding), but then the browser says that name.
func (l *Listener) Allows(host string) bool {
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
	for _, name := range known {
		if strings.EqualFold(name, strings.TrimSuffix(host, ".")) {
			return true
		}
	}
	return false
}

func (l *Listener) loopback() bool {
	a, err := netip.ParseAddr(l.Host)
	return l.Host == "localhost" || err == nil && a.IsLoopback()
}
