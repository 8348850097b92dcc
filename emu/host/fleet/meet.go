package fleet

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/base/terminal"
	"fabemu/emu/host"
)

// Peer is a host at the other end of a connection.
type Peer struct {
	net.Conn
	In   *bufio.Reader // reads the connection: some of it may be in its buffer
	Rank int           // for Gather of the other one, for Join of this one
	Size int           // of the fleet
	Name string        // of the other host
}

// Here returns the address that this host has on the connection: the others reach it there.
func (p *Peer) Here() netip.Addr {
	at, _ := netip.ParseAddrPort(p.LocalAddr().String()) // of another kind of connection it is not an address
	return at.Addr().Unmap()
}

const (
	// meetTimeout is how long a host may take to prove that it has the token.
	meetTimeout = 10 * time.Second
	// mostStrangers is how many may be about to do so at a time: the oldest gives way.
	mostStrangers = 256
	// lostMost is how often a host tries again whose connection is lost before rank 0 has answered.
	lostMost = 20
	// silence is how long a host may be out of reach: longer, and its connection is lost.
	silence = 10 * time.Second
)

// greeting is the first message of a host, and its answer.
type greeting struct {
	Proof   []byte `json:"proof,omitempty"`
	Refused string `json:"refused,omitempty"` // why
	Version string `json:"version,omitempty"`
	Name    string `json:"name,omitempty"`
	Rank    int    `json:"rank"` // -1: not known
	Size    int    `json:"size,omitempty"`
}

// Gathering takes in the hosts of a fleet at its rank 0.
type Gathering struct {
	fleet       *Fleet
	listener    net.Listener
	config      *tls.Config
	certificate []byte
	strangers   *host.Strangers
	crowd       sync.Once // reports once that there are too many of them

	mu     sync.Mutex
	there  map[int]*Peer // by rank
	all    chan struct{} // closed when all are there
	closed bool          // no more hosts are admitted
}

// Gather listens for the others of a fleet. Close ends it.
func Gather(f *Fleet) (*Gathering, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(365 * 24 * time.Hour),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", f.Address)
	if err != nil {
		return nil, errs.Errorf("listen for the other hosts: %w; --listen HOST:PORT names another place", err)
	}
	g := &Gathering{
		fleet: f, listener: l, certificate: certificate,
		config: &tls.Config{
			MinVersion:   tls.VersionTLS13,
			Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
		},
		strangers: host.NewStrangers(mostStrangers), there: map[int]*Peer{}, all: make(chan struct{}),
	}
	g.invite()
	go g.accept()
	return g, nil
}

// invite shows the command to start on the other hosts.
func (g *Gathering) invite() {
	f := g.fleet
	more := terminal.Count(int64(f.Size-1), "more host")
	if f.Launcher != "" {
		f.notify("waiting for %s of %s at port %d", more, f.Launcher, g.Port())
		return
	}
	host, _, err := net.SplitHostPort(f.Address)
	if at, e := netip.ParseAddr(host); err != nil || host == "" || e == nil && at.IsUnspecified() {
		host = Here()
	}
	secret := ""
	if f.Drawn {
		secret = TokenVariable + "=" + string(f.Token) + " "
	}
	f.notify("waiting for %s; the command there: %sfabemu agent --join %s",
		more, secret, net.JoinHostPort(host, fmt.Sprint(g.Port())))
}

// Port returns the port at which it listens.
func (g *Gathering) Port() int { return g.listener.Addr().(*net.TCPAddr).Port }

// Close admits no more hosts, not even one that is about to prove its token. The
// connections stay.
func (g *Gathering) Close() error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	return g.listener.Close()
}

// Wait returns the other hosts, in the order of their ranks, when all are there. It waits
// as long as the fleet does; the error names those that have not come.
func (g *Gathering) Wait(ctx context.Context) ([]*Peer, error) {
	limit := time.NewTimer(g.fleet.Wait)
	defer limit.Stop()
	var err error
	select {
	case <-g.all:
	case <-ctx.Done():
		err = ctx.Err()
	case <-limit.C:
		err = errors.New("")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []*Peer
	var missing []string
	for rank := 1; rank < g.fleet.Size; rank++ {
		if p := g.there[rank]; p != nil {
			list = append(list, p)
		} else {
			missing = append(missing, fmt.Sprint(rank))
		}
	}
	switch {
	case len(missing) == 0:
		return list, nil
	case ctx.Err() == nil:
		err = fmt.Errorf("after %v %d of %d hosts are here, without rank %s: have they been started, and do they reach port %d of this host?",
			g.fleet.Wait, len(list)+1, g.fleet.Size, strings.Join(missing, ", "), g.Port())
	}
	for _, p := range list {
		p.Close()
	}
	return nil, err
}

// accept takes in all connections.
func (g *Gathering) accept() {
	for {
		conn, err := g.listener.Accept()
		if err != nil {
			return
		}
		g.strangers.Add(conn)
		go func() {
			defer g.strangers.Remove(conn)
			refuse := func(err error) {
				if errors.Is(err, net.ErrClosed) {
					g.crowd.Do(func() {
						g.fleet.notify("more than %d connections at a time prove nothing: the oldest are closed", mostStrangers)
					})
					return
				}
				conn.Close()
				g.fleet.notify("%v was refused: %v", conn.RemoteAddr(), err)
			}
			defer errs.Catch(refuse)
			if err := g.meet(conn); err != nil {
				refuse(err)
			}
		}()
	}
}

// meet takes in the host at a connection, or sends it the reason why not.
func (g *Gathering) meet(conn net.Conn) error {
	keepWatch(conn)
	conn.SetDeadline(time.Now().Add(meetTimeout))
	session := tls.Server(conn, g.config)
	if err := session.Handshake(); err != nil {
		return fmt.Errorf("it is not an agent: %w", err)
	}
	ours, wanted, err := g.fleet.Token.proofs(session.ConnectionState(), g.certificate)
	if err != nil {
		return err
	}
	in := bufio.NewReader(session)
	var hi greeting
	if err := receive(in, &hi); err != nil {
		return fmt.Errorf("it is not an agent: %w", err)
	}
	switch {
	case !hmac.Equal(hi.Proof, wanted):
		err = errors.New("wrong token")
	case hi.Version != g.fleet.Version:
		err = fmt.Errorf("version %s of this program is on %s, and %s on %s: all hosts need the same",
			g.fleet.Version, Here(), hi.Version, hi.Name)
		fallthrough
	default:
		g.strangers.Remove(conn)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	rank := hi.Rank
	if err == nil {
		rank, err = g.takeRank(hi.Rank)
	}
	if err != nil {
		send(session, greeting{Refused: err.Error()})
		session.Close()
		return err
	}
	if err := send(session, greeting{Proof: ours, Name: Here(), Rank: rank, Size: g.fleet.Size}); err != nil {
		return err
	}
	conn.SetDeadline(time.Time{})
	g.there[rank] = &Peer{Conn: session, In: in, Rank: rank, Size: g.fleet.Size, Name: hi.Name}
	g.fleet.notify("host %d of %d is here: %s, %v", rank, g.fleet.Size, hi.Name, conn.RemoteAddr())
	if len(g.there) == g.fleet.Size-1 {
		close(g.all)
	}
	return nil
}

// takeRank returns the rank of a host that needs one, or the lowest that is free.
func (g *Gathering) takeRank(wanted int) (int, error) {
	switch {
	case g.closed:
		return 0, errors.New("too late: the run accepts no more hosts")
	case len(g.there) == g.fleet.Size-1:
		return 0, fmt.Errorf("one host too many: the run has its %d hosts already", g.fleet.Size)
	case wanted >= g.fleet.Size || wanted == 0:
		return 0, fmt.Errorf("rank %d in a run of %d hosts", wanted, g.fleet.Size)
	case g.there[wanted] != nil:
		return 0, fmt.Errorf("there is a host of rank %d already", wanted)
	case wanted > 0:
		return wanted, nil
	}
	for rank := 1; ; rank++ {
		if g.there[rank] == nil {
			return rank, nil
		}
	}
}

// Join connects to rank 0, for which it waits, and returns the connection.
func Join(ctx context.Context, f *Fleet) (*Peer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, f.Wait, errLate)
	defer cancel()
	waits, lost := false, 0
	for {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", f.Address)
		if err == nil {
			var p *Peer
			if p, err = f.meet(ctx, conn); !isLost(err) || lost == lostMost {
				return p, err
			}
			lost++ // it may have been one of too many strangers
		}
		select {
		case <-ctx.Done():
			if context.Cause(ctx) == errLate {
				return nil, fmt.Errorf("rank 0 of the run does not answer at %s after %v: %w", f.Address, f.Wait, err)
			}
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		if !waits {
			waits = true
			f.notify("waiting for rank 0 of the run at %s", f.Address)
		}
	}
}

var errLate = errors.New("hosts: late")

// isLost reports whether an error means that the other host has closed the connection.
func isLost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// meet proves to rank 0 that this host has the token, and checks the same of rank 0.
func (f *Fleet) meet(ctx context.Context, conn net.Conn) (*Peer, error) {
	keepWatch(conn)
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })()
	conn.SetDeadline(time.Now().Add(meetTimeout))
	// The certificate is checked by the proofs, which are valid only for this session.
	session := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true})
	p, err := f.prove(session)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("rank 0 at %s: %w", f.Address, err)
	}
	conn.SetDeadline(time.Time{})
	return p, nil
}

func (f *Fleet) prove(session *tls.Conn) (*Peer, error) {
	if err := session.Handshake(); err != nil {
		return nil, fmt.Errorf("it is not a run of this program: %w", err)
	}
	state := session.ConnectionState()
	wanted, ours, err := f.Token.proofs(state, state.PeerCertificates[0].Raw)
	if err != nil {
		return nil, err
	}
	if err := send(session, greeting{Proof: ours, Version: f.Version, Name: Here(), Rank: f.Rank}); err != nil {
		return nil, err
	}
	in := bufio.NewReader(session)
	var hi greeting
	switch err := receive(in, &hi); {
	case err != nil:
		return nil, fmt.Errorf("it is not a run of this program: %w", err)
	case hi.Refused != "":
		return nil, errs.Errorf("it refuses this host: %s", printable(hi.Refused))
	case !hmac.Equal(hi.Proof, wanted):
		return nil, errs.Errorf("it does not have the token: it is another run, or an attacker in the middle")
	case hi.Rank < 1 || hi.Rank >= hi.Size:
		return nil, fmt.Errorf("it gives this host the rank %d of %d", hi.Rank, hi.Size)
	}
	return &Peer{Conn: session, In: in, Rank: hi.Rank, Size: hi.Size, Name: hi.Name}, nil
}

// printable keeps the words of a stranger to one line of text.
func printable(s string) string { return terminal.Harmless(strings.Join(strings.Fields(s), " ")) }

func send(w io.Writer, g greeting) error {
	b, err := json.Marshal(g)
	if err == nil {
		_, err = w.Write(append(b, '\n'))
	}
	return err
}

// receive reads a line.
func receive(r *bufio.Reader, g *greeting) error {
	line, err := r.ReadSlice('\n') // no longer than the buffer of r
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, g); err != nil {
		return err
	}
	g.Name = printable(g.Name)
	g.Version = printable(g.Version)
	return nil
}

// keepWatch has a connection fail whose other host is out of reach for longer than silence.
func keepWatch(conn net.Conn) {
	c, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: silence / 4, Interval: silence / 4, Count: 3})
	host.LimitSilence(c, silence)
}
