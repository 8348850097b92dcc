package subnet_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"fabemu/emu/watch/subnet"
)

// Folders of clients that have died are found, and no other folder with such a name.
func TestDeadClients(t *testing.T) {
	c := exec.Command("true")
	if err := c.Run(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	dead := filepath.Join(dir, subnet.ClientFolder(c.Process.Pid))
	for _, made := range []string{dead, filepath.Join(dir, subnet.ClientFolder(os.Getpid())), filepath.Join(dir, "sys-info")} {
		if err := os.MkdirAll(filepath.Join(made, "sys", "class", "infiniband"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, fmt.Sprint("sys-0", c.Process.Pid)), 0o777); err != nil {
		t.Fatal(err)
	}
	if got := subnet.DeadClients(dir); !slices.Equal(got, []string{dead}) {
		t.Errorf("%q, want %q", got, dead)
	}
}
