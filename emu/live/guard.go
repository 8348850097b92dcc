package live

import (
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
)

// admit returns the thing that a request asks for, or the status with which it is refused. Without the
// token, a client learns nothing: not even which things there are.
func (s *Server) admit(r *http.Request) (what string, status int) {
	if !s.listener.Allows(r.Host) {
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
		return "", http.StatusNotFound // the page asks for things beside it
	}
	return what, 0
}
