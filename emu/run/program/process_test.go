package program

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
)

// The last words of a program are read even if the goroutine that reads them runs after the program
// was reaped.
func TestLastWordsAreReadLate(t *testing.T) {
	p, in, out, err := start([]string{"sh", "-c", "echo bye"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	closed, ended := make(chan struct{}), make(chan struct{})
	go func() {
		p.end(time.Minute, closed)
		close(ended)
	}()
	runtest.Await(t, "it is reaped", func() bool {
		_, err := os.Stat(fmt.Sprint("/proc/", p.command.Process.Pid))
		return err != nil
	})
	words, err := io.ReadAll(out)
	close(closed)
	if <-ended; err != nil || string(words) != "bye\n" {
		t.Errorf("%q, %v; want its last words", words, err)
	}
}
