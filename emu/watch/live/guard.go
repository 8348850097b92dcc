package live

import (
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
)

// admit returns the name of the thing that a request asks for, or the status of its refusal.
// Without the token, a client learns nothing, not even the names of things.
func (s *Server) admit(r *http.Request) (thing string, status int) {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return "", http.StatusForbidden
	}
	ours := slices.Contains([]string{"", "same-origin", "none"}, r.Header.Get("Sec-Fetch-Site"))
	leads := r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
	if !ours && !leads { // another page may lead to this one by a link, and do nothing else
		return "", http.StatusForbidden
	}
	token, thing, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 {
		return "", http.StatusNotFound
	}
	if !strings.HasSuffix(r.URL.Path, "/") && thing == "" {
		return "", http.StatusNotFound // the page asks for things in addition to it
	}
	return thing, 0
}
