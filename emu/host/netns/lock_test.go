package netns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// No other user can open, and so lock, the file of a run: not even in a folder that an
// earlier version has made.
func TestLocksAreForTheirOwnerAlone(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needRights(t)
	if err := os.MkdirAll(runDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(runDir, 0o755); err != nil {
		t.Fatal(err)
	}
	l := newLiving(t)
	dead := rand.Uint32()
	held, err := seize(t.Context(), dead)
	if err != nil {
		t.Fatal(err)
	}
	defer held.end(nil)
	for path, want := range map[string]fs.FileMode{runDir: fs.ModeDir | 0o700, lockName(l.run): 0o600, lockName(dead): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}

// While runs begin and end, no process finds the file of one without its lock and takes it for a
// dead one.
func TestFilesOfRunsThatBegin(t *testing.T) {
	needRights(t)
	l, err := ownLabel(rand.Uint32())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		var err error
		for range 2000 {
			var held *lock
			if held, err = claim(l); err != nil {
				break
			}
			if err = held.end(nil); err != nil {
				break
			}
		}
		ended <- err
	}()
	for seen := 0; ; {
		select {
		case err := <-ended:
			if err != nil || seen == 0 {
				t.Errorf("%v; it was seen %d times", err, seen)
			}
			return
		default:
		}
		there, held, found, err := inspect(l.run)
		if err != nil || there && (!held || found != l) {
			t.Fatalf("there %v, held %v, label %v, %v", there, held, found, err)
		}
		if there {
			seen++
		}
	}
}

// Two processes that remove the same dead run do not fail: the second waits for the first.
func TestTwoRemoveTheSameRun(t *testing.T) {
	needRights(t)
	run := rand.Uint32()
	if err := (another{Run: run, KillAt: 4}).start(t).Run(); err == nil {
		t.Fatal("not killed")
	}
	first, err := seize(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	removed := make(chan error)
	go func() { removed <- (&Run{ID: run}).Remove(t.Context()) }()
	time.Sleep(50 * time.Millisecond)
	if err := first.release(); err != nil {
		t.Fatal(err)
	}
	if err := <-removed; err != nil {
		t.Error(err)
	}
	for _, name := range traces(t, run) {
		if err := removeNamespace(run, filepath.Base(name), true); err != nil {
			t.Error(err)
		}
	}
}

// A lock of who only reads does not keep a dead run alive. What the dead run has left is
// removed when that lock is gone; until then there is an error that says whose it is.
func TestLockOfAReader(t *testing.T) {
	needRights(t)
	run := rand.Uint32()
	if err := (another{Run: run, KillAt: 4}).start(t).Run(); err == nil {
		t.Fatal("not killed")
	}
	reader, err := os.Open(lockName(run))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := unix.FcntlFlock(reader.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK, Whence: io.SeekStart}); err != nil {
		t.Fatal(err)
	}
	runs, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	var r *Run
	for _, x := range runs {
		if x.ID == run {
			r = x
		}
	}
	if r == nil || r.Lives {
		t.Fatalf("it is found as %+v", r)
	}
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s has been locked for %v by process %d (%s)", lockName(run), lockWait, os.Getpid(), bytes.TrimSpace(comm))
	if err := r.Remove(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	if len(traces(t, run)) == 0 {
		t.Error("it is removed all the same")
	}
	reader.Close()
	if err := r.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	noTraces(t, run)
}

// A lock on the folder of namespaces does not keep a run from building once the folder
// is a mount. Before, there is an error that names the holder, and a call that is ended
// does not wait.
func TestLockOnTheFolder(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needRights(t)
	if err := prepareDir(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(namespaceDir)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	newLiving(t)

	other, err := os.CreateTemp(filepath.Dir(runDir), "lock-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(other.Name())
	defer other.Close()
	mine, err := os.Open(other.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	fd := int(other.Fd())
	if err := unix.Flock(fd, unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	lock := func() error { return unix.Flock(int(mine.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
	if err, want := await(t.Context(), mine, lock), fmt.Sprintf(" by process %d (", os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, stop)
	if err := await(ctx, mine, lock); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that is ended: %v", err)
	}
	time.AfterFunc(20*time.Millisecond, func() { unix.Flock(fd, unix.LOCK_UN) })
	if err := await(t.Context(), mine, lock); err != nil {
		t.Errorf("a lock that goes: %v", err)
	}
}
