package emu

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"fabemu/emu/run/process"
)

// TestMain makes the test's own program serve a part when a run starts it again.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && (os.Args[1] == "node" || os.Args[1] == "switchd") && os.Args[3] == "--control-fd" {
		fd, err := strconv.Atoi(os.Args[4])
		if err == nil {
			err = process.Serve(context.Background(), os.Args[2], fd, "devel")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
