//go:build timing

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// pageOf starts a run with a page and returns its address.
func pageOf(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	c := exec.Command(binary, append([]string{"run", "--live", "--out", filepath.Join(t.TempDir(), "out")}, args...)...)
	said, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	in := bufio.NewReader(said)
	for {
		line, err := in.ReadString('\n')
		if address := regexp.MustCompile(`http://\S+`).FindString(line); address != "" {
			go io.Copy(io.Discard, in)
			return c, address
		}
		if err != nil {
			t.Fatalf("no address is told: %q, %v", line, err)
		}
	}
}

// momentsOf reads the moments of a page until the run ends, or the connection does.
func momentsOf(address string, each func(atPs int64, late float64)) error {
	a, err := http.Get(address + "moments")
	if err != nil {
		return err
	}
	defer a.Body.Close()
	in, event := bufio.NewReaderSize(a.Body, 1<<20), ""
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil
		}
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = strings.TrimSpace(name)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok && event == "moment" && each != nil {
			var m struct {
				At   int64   `json:"model_ps"`
				Late float64 `json:"late"`
			}
			if err := json.Unmarshal([]byte(data), &m); err != nil {
				return err
			}
			each(m.At, m.Late)
		}
	}
}

// TestWallReaders: a hundred readers of the page, and one that takes nothing, leave the share of
// late frames of the run as it is without them: of one run, parts with them and parts without
// are compared, since no two runs on a shared node are alike. Where others use the machine, few
// parts may differ by chance: then there are more, as far as the run goes.
func TestWallReaders(t *testing.T) {
	const (
		parts = 10 // half of them with readers
		most  = 3 * parts
		part  = 800 * time.Millisecond
	)
	c, address := pageOf(t, "hpl2002/fig3b", "--dilation", "400", "--verify", "off")
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var at int64
	var late float64
	go momentsOf(address, func(atPs int64, share float64) { mu.Lock(); at, late = atPs, share*float64(atPs); mu.Unlock() })
	now := func() (int64, float64) { mu.Lock(); defer mu.Unlock(); return at, late }
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if a, _ := now(); a > 0 {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("the run does not begin")
		}
	}
	shares := [2][]float64{}
	var took [2]int64
	for i := 0; ; i++ {
		var readers sync.WaitGroup
		var open []io.Closer
		if i%2 == 1 {
			slow, err := net.Dial("tcp", u.Host)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(slow, "GET %smoments HTTP/1.1\r\nHost: %s\r\n\r\n", u.Path, u.Host)
			open = append(open, slow)
			for range 100 {
				conn, err := net.Dial("tcp", u.Host)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(conn, "GET %smoments HTTP/1.1\r\nHost: %s\r\n\r\n", u.Path, u.Host)
				open = append(open, conn)
				readers.Go(func() { io.Copy(io.Discard, conn) })
			}
			time.Sleep(part / 4) // they are told what was before
		}
		from, before := now()
		time.Sleep(part)
		until, after := now()
		for _, conn := range open {
			conn.Close()
		}
		readers.Wait()
		if until <= from {
			t.Fatalf("in part %d the run stood still", i)
		}
		shares[i%2] = append(shares[i%2], (after-before)/float64(until-from))
		took[i%2] += until - from
		if (i+1)%parts != 0 {
			continue
		}
		var medians [2]float64
		for k := range shares {
			slices.Sort(shares[k])
			medians[k] = shares[k][len(shares[k])/2]
		}
		without, with, pace := medians[0], medians[1], float64(took[1])/float64(took[0])
		t.Logf("late: %.4f %% without readers, %.4f %% with 101 (medians); %v; with readers %.2f of the pace", 100*without, 100*with, shares, pace)
		// A loop that waited for readers would be late with all of its frames.
		if with <= 2*without+0.05 && pace >= 0.8 {
			break
		}
		if i+1 == most {
			t.Fatalf("with readers %.2f %% of the frames are late, without %.2f %%; the run goes at %.0f %% of its pace", 100*with, 100*without, 100*pace)
		}
	}
	c.Process.Kill()
}
