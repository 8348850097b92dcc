package proc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// longestPath is how many bytes the path of a Unix socket may have: sun_path of
// unix(7), less the zero at its end.
const longestPath = 107

// listener listens on a socket in a folder that it may hold open.
type listener struct {
	net.Listener
	folder *os.File
}

// Close takes the file of the socket away, too.
func (l *listener) Close() error { return errors.Join(l.Listener.Close(), l.folder.Close()) }

// listenAt listens on a Unix socket. Results may lie in any folder; where the path
// is longer than that of a socket can be, the folder is opened and the socket
// reached from there.
func listenAt(path string) (net.Listener, error) {
	name, folder, err := reach(path)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", name)
	if err != nil {
		folder.Close()
		return nil, err
	}
	if folder == nil {
		return l, nil
	}
	return &listener{l, folder}, nil
}

// inTheWay says what to do where a file has the name of a socket already.
func inTheWay(err error) string {
	if errors.Is(err, syscall.EADDRINUSE) {
		return "; if nothing uses it, remove the file"
	}
	return ""
}

// dialTo connects to a socket of listenAt.
func dialTo(ctx context.Context, path string) (net.Conn, error) {
	name, folder, err := reach(path)
	if err != nil {
		return nil, err
	}
	defer folder.Close() // of none it is an error that says nothing
	var d net.Dialer
	return d.DialContext(ctx, "unix", name)
}

// reach returns a name for a socket that is short enough, and the folder that has to
// be open for it, or nil.
func reach(path string) (name string, folder *os.File, err error) {
	if len(path) <= longestPath {
		return path, nil, nil
	}
	folder, err = os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	name = filepath.Join("/proc/self/fd", strconv.FormatUint(uint64(folder.Fd()), 10), filepath.Base(path))
	if len(name) > longestPath {
		folder.Close()
		return "", nil, fmt.Errorf("%s: the name is too long for a socket, which has a path of at most %d bytes: give the machine a shorter one", path, longestPath)
	}
	return name, folder, nil
}
