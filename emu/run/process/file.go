package process

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"fabemu/emu/base/files"
	"fabemu/emu/run/mode"
)

// File describes one part of a run. It is written as JSON, so that a user can read it and start the
// part by hand.
type File struct {
	Fabemu   string   `json:"fabemu"`   // version of the program that wrote it; the part must have the same
	Part     string   `json:"part"`     // the name of its switch, or of its only node
	Nodes    []string `json:"nodes"`    // the nodes that it runs
	Scenario string   `json:"scenario"` // path of the complete scenario, from the directory of this file
	Run      uint32   `json:"run"`      // a number that the datagrams of this run carry
	mode.Settings
	Readings int64  `json:"readings,omitempty"` // actual timing: how many readings of the clock are recorded
	Fixed    bool   `json:"fixed,omitempty"`    // the run clock is never held
	CPUs     []int  `json:"cpus,omitempty"`     // the processors of its loop; none: any
	Spread   bool   `json:"spread,omitempty"`   // parts do events at the same time, on all processors
	Board    string `json:"board,omitempty"`    // memory that all parts of this machine share; empty: there is none
	Control  string `json:"control"`            // socket of the conductor, from the directory of this file
	Status   string `json:"status"`             // socket on which the part reports its state
	Links    []End  `json:"links"`

	// Frames lists the frames that the conductor wants: by a word such as data-sent, the ports,
	// 2*wire+end.
	Frames map[string][]int `json:"frames,omitempty"`
}

// End is one end of a link at a node of the part. It is a socket that was passed to the process, or
// one to open.
type End struct {
	Link string `json:"link"` // its name
	Wire int    `json:"wire"` // its index in the fabric
	End  int    `json:"end"`  // 0 or 1
	FD   int    `json:"fd,omitempty"`
	Kind string `json:"kind"` // "udp", "unix" or "veth"; on several hosts "udp" if both ends are on this host, else "hosts"
	Port int    `json:"port,omitempty"`
	Peer int    `json:"peer,omitempty"`

	Address     string `json:"address,omitempty"`      // hosts: the address and port that it is bound to
	PeerAddress string `json:"peer_address,omitempty"` // veth: hardware address of the other end; hosts: the address and port of the other end
}

// Write writes f to a file.
func (f *File) Write(path string) error {
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return files.Replace(path, append(b, '\n'))
}

// Read reads the file of a part. It makes the paths in it valid from the current directory.
func Read(path string) (*File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the file of a part: %w; fabemu run --placement process --dry-run --out DIR writes such files", err)
	}
	f := &File{}
	if err := json.Unmarshal(b, f); err != nil {
		return nil, fmt.Errorf("%s: not the file of a part: %w", path, err)
	}
	if f.Part == "" || len(f.Nodes) == 0 || f.Scenario == "" || f.Dilation < 1 {
		return nil, fmt.Errorf("%s: not the file of a part: part, nodes, scenario and dilation are required", path)
	}
	dir := filepath.Dir(path)
	for _, p := range []*string{&f.Scenario, &f.Control, &f.Status} {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
	return f, nil
}
