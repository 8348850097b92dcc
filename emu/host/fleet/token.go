package fleet

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
)

// TokenVariable is the environment variable that a token is taken from.
const TokenVariable = "FABEMU_TOKEN"

// Token is a secret that all hosts of a run share.
type Token string

// leastToken is how many characters a token has at least: 16 letters drawn at random have
// 75 bits and more.
const leastToken = 16

// ReadToken reads a token from a file that no other user may read.
func ReadToken(path string) (Token, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the file of the token: %w", err)
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("the file of the token: other users may read %s: chmod 600 %s", path, path)
	}
	if err != nil {
		return "", err
	}
	return Token(strings.TrimSpace(string(b))), nil
}

// Check refuses a token that can be guessed.
func (t Token) Check() error {
	if len(t) < leastToken {
		return fmt.Errorf("a token of %d characters: it needs at least %d random ones, for example from: head -c 18 /dev/urandom | base64",
			len(t), leastToken)
	}
	return nil
}

// role is a side of a connection. Their proofs differ, so that none can be sent back.
type role string

const (
	conductor role = "conductor"
	agent     role = "agent"
)

// exporter is the label of the keying material.
const exporter = "EXPORTER-fabemu-hosts-1"

// proofs returns the proofs that the sides of a TLS session have the token.
func (t Token) proofs(s tls.ConnectionState, certificate []byte) (ofConductor, ofAgent []byte, err error) {
	ofConductor, err = t.proof(conductor, &s, certificate)
	if err == nil {
		ofAgent, err = t.proof(agent, &s, certificate)
	}
	return ofConductor, ofAgent, err
}

// proof returns the proof that one side of a TLS session has the token.
func (t Token) proof(who role, s *tls.ConnectionState, certificate []byte) ([]byte, error) {
	if s.Version != tls.VersionTLS13 {
		return nil, errors.New("the connection is not of TLS 1.3")
	}
	key, err := s.ExportKeyingMaterial(exporter, nil, sha256.Size)
	if err != nil {
		return nil, err
	}
	seen := sha256.Sum256(certificate)
	m := hmac.New(sha256.New, []byte(t))
	m.Write([]byte(who))
	m.Write(key)
	m.Write(seen[:])
	return m.Sum(nil), nil
}
