package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/host/netns"

	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts in testdata/script run the command as a user would.
//
//	exits STATUS COMMAND...       the command ends with this status
//	interrupt SIGNAL COMMAND...   the command is sent the signal half a second after it has said something,
//	                              and ends with status 3
//	occupy                        a UDP port is in use: $PORT
//
// The condition namespaces holds where network namespaces can be made.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+env.Getenv("PATH"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "namespaces" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			return netns.Missing() == nil, nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":     exits,
			"interrupt": interrupt,
			"occupy":    occupy,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := status(ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("status %d, want %d", got, want)
	}
}

// status returns the exit status that an error of a command means.
func status(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	default:
		return -1
	}
}

func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: interrupt SIGNAL COMMAND...")
	}
	c := exec.Command(binary, args[1:]...)
	c.Dir = ts.Getenv("WORK")
	out, err := os.Create(filepath.Join(c.Dir, "interrupted"))
	ts.Check(err)
	defer out.Close()
	c.Stdout, c.Stderr = out, out
	ts.Check(c.Start())
	for range 1200 { // on a busy machine it begins late
		if info, err := out.Stat(); err == nil && info.Size() > 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		if fmt.Sprint(s) == args[0] {
			ts.Check(c.Process.Signal(s))
		}
	}
	if got := status(c.Wait()); got != exitFailed {
		said, _ := os.ReadFile(out.Name())
		ts.Fatalf("status %d, want %d\n%s", got, exitFailed, said)
	}
}

func occupy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: occupy")
	}
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	ts.Check(err)
	_, port, err := net.SplitHostPort(c.LocalAddr().String())
	ts.Check(err)
	ts.Setenv("PORT", port)
	ts.Defer(func() { c.Close() })
}
