package observe

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
)

// A Listener is where a run is shown to others, by HTTP.
type Listener struct {
	net.Listener
	Host string // at which it was told to listen
}

// Listen listens at an address, host:port. A port of 0 is one that is free. Without a host it
// is the loopback: all addresses are "0.0.0.0" or "[::]".
func Listen(address string) (*Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%q is no address such as 127.0.0.1:8080: %w", address, err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	return &Listener{l, host}, err
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
