package live

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// hosts are the names by which requests may call this computer. Addresses in numbers
// always may: a page of a stranger can have its own name stand for this computer (DNS
// rebinding), but then the browser says that name.
type hosts []string

// hostsOf returns those of a server that listens at host.
func hostsOf(host string) hosts {
	all := hosts{"localhost", host}
	if name, err := os.Hostname(); err == nil && !isLoopback(host) {
		all = append(all, name)
	}
	return all
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// allow reports whether a request may call this computer host, with or without a port.
func (h hosts) allow(host string) bool {
	name := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		name = n
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	for _, known := range h {
		if strings.EqualFold(known, strings.TrimSuffix(name, ".")) {
			return true
		}
	}
	return false
}

// admit returns what a request is for, or the status with which it is refused. Who has not
// the token learns nothing: not even what there is.
func (s *Server) admit(r *http.Request) (what string, status int) {
	if !s.hosts.allow(r.Host) {
		return "", http.StatusMisdirectedRequest
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return "", http.StatusForbidden
	}
	ours := slices.Contains([]string{"", "same-origin", "none"}, r.Header.Get("Sec-Fetch-Site"))
	leads := r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
	if !ours && !leads { // another page may lead to this one by a link, and do nothing else
		return "", http.StatusForbidden
	}
	token, what, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 {
		return "", http.StatusNotFound
	}
	if !strings.HasSuffix(r.URL.Path, "/") && what == "" {
		return "", http.StatusNotFound // what the page asks for is beside it
	}
	return what, 0
}
