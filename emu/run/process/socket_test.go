package process

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Results may be in a folder whose path is too long for a socket. Other users cannot connect, even
// if the umask allows it.
func TestSocketsInAnyFolder(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	for _, folder := range []string{"short", strings.Repeat("a-long-name/", 20)} {
		dir := filepath.Join(t.TempDir(), folder)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "A.sock")
		l, err := ListenAt(path)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != fs.ModeSocket|0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		go func() {
			if c, err := l.Accept(); err == nil {
				io.WriteString(c, "hello")
				c.Close()
			}
		}()
		c, err := DialTo(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(c); string(b) != "hello" {
			t.Errorf("%q, %v", b, err)
		}
		c.Close()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
}

func TestSocketsThatCannotBe(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{filepath.Join(t.TempDir(), strings.Repeat("n", 110)+".sock"), "shorter"},
		{"/nowhere/" + strings.Repeat("a-long-name/", 20) + "A.sock", "no such file"},
		{"/nowhere/A.sock", "no such file"},
	} {
		if l, err := ListenAt(c.path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("listen at %s: %v, %v", c.path, l, err)
		}
		if _, err := DialTo(context.Background(), c.path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("connect to %s: %v", c.path, err)
		}
	}
}
