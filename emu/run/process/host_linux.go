package process

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"fabemu/emu/run/lookahead"
	"fabemu/wire/unit"
)

// socketPair returns the two ends of the connection to a part.
func socketPair() (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control"), nil
}

// ownOnly takes the rights to a socket away from other users before it has a name.
func ownOnly(_, _ string, c syscall.RawConn) error {
	var err error
	failed := c.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), 0o600) })
	return errors.Join(failed, err)
}

// processors returns the processors that this process may use.
func processors() (list []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	for cpu := range len(set) * bits.UintSize {
		if set.IsSet(cpu) {
			list = append(list, cpu)
		}
	}
	return list
}

// pinTo keeps all threads of this process on some processors; with none it changes nothing. The
// threads that only serve the loop are included because they would otherwise wake another
// processor.
func pinTo(cpus []int) {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if len(cpus) == 0 {
		return
	}
	unix.SchedSetaffinity(0, &set)
	threads, _ := os.ReadDir("/proc/self/task") // without it, only this thread is pinned
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			unix.SchedSetaffinity(id, &set)
		}
	}
}

// keepThread locks a goroutine to its thread, whose sleeps then end on time; if that fails, they
// are 50 µs longer. The process runs on some processors.
func keepThread(cpus []int) (release func()) {
	runtime.LockOSThread()
	all := processors()
	pinTo(cpus)
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	return func() {
		pinTo(all)
		runtime.UnlockOSThread()
	}
}

// newMemory makes memory of this many words, whose size is sealed.
func newMemory(words int) (*memory, error) {
	fd, err := unix.MemfdCreate("fabemu-board", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memory to share: %w", err)
	}
	m := &memory{file: os.NewFile(uintptr(fd), "board")}
	if err = unix.Fallocate(fd, 0, 0, int64(8*words)); err == nil { // all of it now: a lack of memory later would be a signal
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err == nil {
		m.words, err = mapWords(fd, 8*words)
	}
	if err != nil {
		m.file.Close()
		return nil, fmt.Errorf("%d bytes of memory to share: %w", 8*words, err)
	}
	return m, nil
}

// mapWords maps a file.
func mapWords(fd, size int) ([]uint64, error) {
	b, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil || size < 8 {
		return nil, err
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), size/8), nil
}

// path returns where other processes of the same user find the memory.
func (m *memory) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), m.file.Fd()) }

// close releases the memory.
func (m *memory) close() {
	unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(&m.words[0])), 8*len(m.words)))
	m.file.Close()
}

// openMemory maps the memory of another process.
func openMemory(path string) ([]uint64, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	info, failed := f.Stat()
	if err != nil || failed != nil || seals&unix.F_SEAL_SHRINK == 0 {
		return nil, fmt.Errorf("%s is not the memory of a run", path)
	}
	return mapWords(int(f.Fd()), int(info.Size()))
}

// futexBell wakes parts that sleep on a word of their board.
type futexBell struct {
	*lookahead.Board
	beside bool // other goroutines have a processor while this one sleeps
}

// newFutexBell returns the bell of a board.
func newFutexBell(b *lookahead.Board) lookahead.Waker {
	return futexBell{b, runtime.GOMAXPROCS(0) > 1}
}

func (b futexBell) Wake(now unit.Time) { b.Board.Wake(now, b.Ring) }

func (b futexBell) Clear() { atomic.StoreUint32(b.Bell(b.Me()), 0) }

func (b futexBell) Ring(part int) {
	if w := b.Bell(part); atomic.SwapUint32(w, 1) == 0 {
		unix.RawSyscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexWake, 1)
	}
}

func (b futexBell) Sleep(ns int64) (woken bool) {
	w, timeout := b.Bell(b.Me()), unix.NsecToTimespec(max(0, ns))
	call := unix.RawSyscall6 // without Go's scheduler, which would wake a thread fifty times after each wait
	if !b.beside {
		call = unix.Syscall6
	}
	if atomic.LoadUint32(w) == 0 && ns > 0 {
		call(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexWait, 0, uintptr(unsafe.Pointer(&timeout)), 0, 0)
	}
	return atomic.LoadUint32(w) != 0
}

// The operations of futex(2).
const (
	futexWait = 0
	futexWake = 1
)
