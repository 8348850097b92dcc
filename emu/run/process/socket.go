package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// longestPath is the longest path of a Unix socket in bytes: sun_path of
// unix(7), less the zero at its end.
const longestPath = 107

// listener listens on a socket in a folder that it may hold open.
type listener struct {
	*net.UnixListener
	folder *os.File // or nil
}

// Close also removes the file of the socket.
func (l *listener) Close() error {
	err := l.UnixListener.Close()
	l.folder.Close() // without a folder it returns an error that means nothing
	return err
}

// ListenAt listens on a Unix socket. Results may be in any folder: if the path is too long for a
// socket, ListenAt opens the folder and reaches the socket from there. It removes a socket that a
// dead process has left there, and gives a process that still has one open endTimeout to end. Other
// users can never connect, whatever the umask is.
func ListenAt(path string) (net.Listener, error) {
	name, folder, err := reach(path)
	if err != nil {
		return nil, err
	}
	how := net.ListenConfig{Control: ownOnly}
	l, err := how.Listen(context.Background(), "unix", name)
	for limit := time.Now().Add(endTimeout); errors.Is(err, syscall.EADDRINUSE) && time.Now().Before(limit); {
		if inUse := removeDead(path); errors.Is(inUse, errLives) {
			time.Sleep(10 * time.Millisecond) // the kernel does not notify when a process closes a socket
		} else if inUse != nil {
			break
		}
		l, err = how.Listen(context.Background(), "unix", name)
	}
	if err == nil {
		err = os.Chmod(name, 0o600) // for systems that have no other means
	}
	if err != nil {
		if l != nil {
			l.Close()
		}
		folder.Close()
		return nil, err
	}
	return &listener{l.(*net.UnixListener), folder}, nil
}

// errLives reports that a process has a socket open.
var errLives = errors.New("a process listens on this socket")

// removeDead removes the socket at a path if the kernel refuses to connect to it, because then no
// process has it open. If there is no socket, it does nothing.
func removeDead(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is not a socket", path)
	}
	conn, err := DialTo(context.Background(), path)
	switch {
	case err == nil:
		conn.Close()
		return errLives
	case errors.Is(err, fs.ErrNotExist):
		return nil // its process has just ended and removed it
	case errors.Is(err, syscall.EAGAIN):
		return errLives // its queue of connections is full
	case !errors.Is(err, syscall.ECONNREFUSED):
		return err
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Tidy removes from a folder with files of parts the sockets that these name and no process has
// open, because a killed run leaves them behind. It leaves everything else.
func Tidy(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, path := range files {
		f, err := Read(path)
		if err != nil {
			continue // not ours
		}
		for _, socket := range []string{f.Status, f.Control} {
			if filepath.Dir(socket) == filepath.Clean(dir) {
				_ = removeDead(socket) // if it remains, the next ListenAt there fails
			}
		}
	}
}

// inTheWay returns advice if a file with the name of a socket already exists.
func inTheWay(err error) string {
	if errors.Is(err, syscall.EADDRINUSE) {
		return "; a process listens on it, or it is not the socket of a run: choose another folder for the results"
	}
	return ""
}

// DialTo connects to a socket of ListenAt.
func DialTo(ctx context.Context, path string) (net.Conn, error) {
	name, folder, err := reach(path)
	if err != nil {
		return nil, err
	}
	defer folder.Close() // without a folder it returns an error that means nothing
	var d net.Dialer
	return d.DialContext(ctx, "unix", name)
}

// reach returns a short enough name for a socket, and the folder that must
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
		return "", nil, fmt.Errorf("%s: the name is too long for a socket, which has a path of at most %d bytes: give the node a shorter one", path, longestPath)
	}
	return name, folder, nil
}
