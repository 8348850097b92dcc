package fleet

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The first name that a list stands for is the first that "scontrol show hostnames LIST" prints.
func TestFirstNode(t *testing.T) {
	for list, want := range map[string]string{
		"": "", "login": "login", "a,b": "a", "node[08-10,12],login": "node08", "rack[1-2]n[1-2]": "rack1n1",
		"n[3]-ib.cluster": "n3-ib.cluster", "n[099-101]": "n099", "n[7,3]": "n7",
	} {
		if got, err := firstNode(list); got != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", list, got, err, want)
		}
	}
	for _, list := range []string{"n[", "n[]", "n[1", "n]", ",a", "n[a]", "n[-1]", "a b", "n[1-2", "n[[1]]", "n[1-]", " a", "[", "a/b"} {
		if got, err := firstNode(list); err == nil {
			t.Errorf("%q begins with %q", list, got)
		}
	}
}

func FuzzFirstNode(f *testing.F) {
	f.Add("rack[1-2]n[08-10,12],login")
	f.Fuzz(func(t *testing.T, list string) {
		first, err := firstNode(list)
		if err != nil || list == "" {
			return
		}
		if again, err := firstNode(first + ",b"); err != nil || again != first || strings.ContainsAny(first, "[], /") {
			t.Errorf("%q: %q, %q, %v", list, first, again, err)
		}
	})
}

const token = "0123456789abcdef"

func TestFind(t *testing.T) {
	slurm := map[string]string{"SLURM_PROCID": "1", "SLURM_NTASKS": "3", "SLURM_STEP_NODELIST": "node[07-09]", "SLURM_JOB_ID": "3", "SLURM_STEP_ID": "2", "FABEMU_TOKEN": token}
	with := func(base map[string]string, pairs ...string) map[string]string {
		m := map[string]string{}
		for k, v := range base {
			m[k] = v
		}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for _, x := range []struct {
		name      string
		wanted    Wanted
		variables map[string]string
		want      Fleet  // Rank, Size, Launcher, Address, Drawn
		wrong     string // or a part of the error
	}{
		{"by hand", Wanted{Size: 2}, nil, Fleet{Size: 2, Address: ":20999", Drawn: true}, ""},
		{"by hand, an address", Wanted{Size: 2, Listen: "10.0.0.1:7"}, map[string]string{"FABEMU_TOKEN": token}, Fleet{Size: 2, Address: "10.0.0.1:7"}, ""},
		{"by hand, IPv6", Wanted{Size: 2, Listen: "::1"}, nil, Fleet{Size: 2, Address: "[::1]:20999", Drawn: true}, ""},
		{"srun", Wanted{}, slurm, Fleet{Rank: 1, Size: 3, Launcher: "srun", Address: "node07:20975"}, ""},
		{"srun, rank 0", Wanted{}, with(slurm, "SLURM_PROCID", "0"), Fleet{Size: 3, Launcher: "srun", Address: ":20975"}, ""},
		{"a batch script, without srun", Wanted{Size: 2}, map[string]string{"SLURM_PROCID": "0", "SLURM_NTASKS": "3"}, Fleet{Size: 2, Address: ":20999", Drawn: true}, ""},
		{"Open MPI in a job of Slurm", Wanted{}, with(slurm, "OMPI_COMM_WORLD_RANK", "2", "OMPI_COMM_WORLD_SIZE", "4", "SLURM_JOB_NODELIST", "a[1-2]"),
			Fleet{Rank: 2, Size: 4, Launcher: "mpirun", Address: "a1:20975"}, ""},
		{"Open MPI, one computer", Wanted{}, map[string]string{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "FABEMU_TOKEN": token},
			Fleet{Rank: 1, Size: 2, Launcher: "mpirun", Address: "localhost:20999"}, ""},
		{"MPICH", Wanted{Join: "a:9"}, map[string]string{"PMI_RANK": "1", "PMI_SIZE": "2", "FABEMU_TOKEN": token}, Fleet{Rank: 1, Size: 2, Launcher: "mpirun", Address: "a:9"}, ""},
		{"MPICH, rank 0", Wanted{Join: "a:9"}, map[string]string{"PMI_RANK": "0", "PMI_SIZE": "2", "FABEMU_TOKEN": token}, Fleet{Size: 2, Launcher: "mpirun", Address: ":9"}, ""},
		{"Kubernetes", Wanted{Size: 3}, map[string]string{"JOB_COMPLETION_INDEX": "2", "FABEMU_TOKEN": token}, Fleet{Rank: 2, Size: 3, Launcher: "the Job", Address: "fab-0.fab:20999"}, ""},

		{"no number", Wanted{}, nil, Fleet{}, "--hosts N"},
		{"one host", Wanted{Size: 1}, nil, Fleet{}, "at least 2 hosts"},
		{"no token", Wanted{}, with(slurm, "FABEMU_TOKEN", ""), Fleet{}, "set FABEMU_TOKEN before srun"},
		{"a short token", Wanted{Size: 2, Token: "secret"}, nil, Fleet{}, "a token of 6 characters"},
		{"no address", Wanted{}, map[string]string{"PMI_RANK": "1", "PMI_SIZE": "2", "FABEMU_TOKEN": token}, Fleet{}, "--join HOST:PORT"},
		{"--join by hand", Wanted{Size: 2, Join: "a"}, nil, Fleet{}, "fabemu agent --join"},
		{"two sizes", Wanted{Size: 2}, slurm, Fleet{}, "--hosts 2, but srun has started 3"},
		{"a rank too high", Wanted{}, with(slurm, "SLURM_PROCID", "3"), Fleet{}, "rank 3 by srun, of 3"},
		{"no rank", Wanted{}, with(slurm, "SLURM_PROCID", "x"), Fleet{}, `SLURM_PROCID="x"`},
		{"a list that is none", Wanted{}, with(slurm, "SLURM_STEP_NODELIST", "n[1"), Fleet{}, "SLURM_STEP_NODELIST in the environment"},
		{"a port that is none", Wanted{Size: 2, Listen: "a:http"}, nil, Fleet{}, "expected HOST:PORT"},
	} {
		t.Run(x.name, func(t *testing.T) {
			f, err := x.wanted.Find(func(key string) string { return x.variables[key] }, "fab-2")
			if x.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), x.wrong) {
					t.Errorf("%+v, %v, want %q", f, err, x.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Token) < leastToken || f.Wait != DefaultWait {
				t.Errorf("token %q, wait %v", f.Token, f.Wait)
			}
			got := Fleet{Rank: f.Rank, Size: f.Size, Launcher: f.Launcher, Address: f.Address, Drawn: f.Drawn}
			if diff := cmp.Diff(x.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadToken(path); got != token || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadToken(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("others may read it: %v", err)
	}
	if _, err := ReadToken(path + "x"); err == nil {
		t.Error("a file that is not there was read")
	}
}

// said keeps what a host tells its user.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) tell(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.WriteString(text + "\n")
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// wants checks that a host says something, within a minute: it does so after it has refused.
func (s *said) wants(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(s.String(), want); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("rank 0 says\n%swant %q", s, want)
			return
		}
	}
}

// gather has rank 0 of a fleet listen, and returns what another host joins with.
func gather(t *testing.T, size int, wait time.Duration) (*Gathering, Fleet, *said) {
	t.Helper()
	var heard said
	g, err := Gather(&Fleet{Size: size, Address: "127.0.0.1:0", Token: token, Wait: wait, Version: "v1", Notify: heard.tell})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g, Fleet{Rank: -1, Address: g.listener.Addr().String(), Token: token, Wait: time.Minute, Version: "v1"}, &heard
}

// Hosts that know the token meet, in the order of their ranks, and what one says the other
// hears. Who comes then is told that it is too many.
func TestHostsMeet(t *testing.T) {
	g, f, heard := gather(t, 3, time.Minute)
	second := f
	second.Rank = 2
	for _, f := range []Fleet{second, f} {
		p, err := Join(context.Background(), &f)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if want := max(1, f.Rank); p.Rank != want || p.Size != 3 || p.Here().String() != "127.0.0.1" {
			t.Errorf("rank %d of %d, at %v", p.Rank, p.Size, p.Here())
		}
		if _, err := p.Write([]byte{byte(p.Rank)}); err != nil {
			t.Error(err)
		}
	}
	all, err := g.Wait(context.Background())
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	for i, p := range all {
		defer p.Close()
		if b, err := p.In.ReadByte(); int(b) != i+1 || err != nil || p.Name != Here() {
			t.Errorf("host %d of name %q says %d, %v", i+1, p.Name, b, err)
		}
	}
	if _, err := Join(context.Background(), &f); err == nil || !strings.Contains(err.Error(), "one host too many: the run has its 3 hosts already") {
		t.Errorf("a fourth host: %v", err)
	}
	heard.wants(t, "one host too many")
	heard.wants(t, "host 2 of 3 is here")
}

// Who does not know the token, or is of another version, is refused, and both sides say why;
// the run waits on.
func TestHostsAreRefused(t *testing.T) {
	g, f, heard := gather(t, 2, time.Minute)
	for _, x := range []struct {
		change func(*Fleet)
		want   string
	}{
		{func(f *Fleet) { f.Token = "fedcba9876543210" }, "wrong token"},
		{func(f *Fleet) { f.Version = "v2" }, "version v1 of this program is on " + Here() + ", and v2 on " + Here()},
		{func(f *Fleet) { f.Rank = 2 }, "rank 2 in a run of 2 hosts"},
		{func(f *Fleet) { f.Rank = 0 }, "rank 0 in a run of 2 hosts"},
	} {
		other := f
		x.change(&other)
		if p, err := Join(context.Background(), &other); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v, %v; want %q", p, err, x.want)
		}
		heard.wants(t, x.want)
	}
	stranger, err := net.Dial("tcp", f.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	io.WriteString(stranger, "GET / HTTP/1.1\r\n\r\n")
	io.Copy(io.Discard, stranger)
	p, err := Join(context.Background(), &f)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	if _, err := g.Wait(context.Background()); err != nil {
		t.Error(err)
	}
}

// Connections that prove nothing, before a host comes and while it does, do not keep it out.
func TestHostMeetsUnderStrangers(t *testing.T) {
	g, f, heard := gather(t, 2, time.Minute)
	crowd := func() {
		for range 1000 {
			c, err := net.Dial("tcp", f.Address)
			if err != nil {
				return // rank 0 accepts no more hosts
			}
			t.Cleanup(func() { c.Close() })
		}
	}
	crowd()
	var more sync.WaitGroup
	more.Go(crowd)
	p, err := Join(context.Background(), &f)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := g.Wait(context.Background()); err != nil {
		t.Error(err)
	}
	heard.wants(t, "the oldest are closed")
	more.Wait()
}

// A host that never comes is waited for as long as was said, and named.
func TestHostThatNeverComes(t *testing.T) {
	g, f, _ := gather(t, 3, 300*time.Millisecond)
	f.Rank = 1
	p, err := Join(context.Background(), &f)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := g.Wait(context.Background()); err == nil || !strings.Contains(err.Error(), "after 300ms 2 of 3 hosts are here, without rank 2") {
		t.Errorf("%v", err)
	}
	if _, err := p.In.ReadByte(); err == nil {
		t.Error("the host that has come is not let go")
	}
	g.Close()
	f.Wait = 300 * time.Millisecond
	if _, err := Join(context.Background(), &f); err == nil || !strings.Contains(err.Error(), "does not answer at "+f.Address+" after 300ms") {
		t.Errorf("rank 0 never comes: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Join(ctx, &f); !errors.Is(err, context.Canceled) {
		t.Errorf("a host that is told to end: %v", err)
	}
}

// A host that has connected, and comes to prove what it knows when rank 0 waits for no more hosts,
// is refused, because its connection would never be closed.
func TestHostThatComesTooLate(t *testing.T) {
	g, f, heard := gather(t, 2, time.Minute)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	far, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	near, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
	met := make(chan error, 1)
	go func() { met <- g.meet(near) }()
	if p, err := f.meet(context.Background(), far); err == nil || !strings.Contains(err.Error(), "too late") {
		t.Errorf("%v, %v; want too late", p, err)
	}
	if err := <-met; err == nil || heard.String() == "" {
		t.Errorf("rank 0 has taken it in, and said %q", heard)
	}
}

// A man in the middle who passes on everything is noticed: the two sessions have
// different keying material, although both sides know the token.
func TestManInTheMiddle(t *testing.T) {
	g, f, heard := gather(t, 2, time.Minute)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	rank0 := f.Address
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		near := tls.Server(conn, g.config) // even with the key of rank 0
		far, err := tls.Dial("tcp", rank0, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return
		}
		go io.Copy(far, near)
		io.Copy(near, far)
		near.Close()
	}()
	f.Address = l.Addr().String()
	if _, err := Join(context.Background(), &f); err == nil || !strings.Contains(err.Error(), "wrong token") {
		t.Errorf("%v", err)
	}
	heard.wants(t, "wrong token")
	// Nor can one who does not know the token be rank 0.
	other := Fleet{Size: 2, Address: "127.0.0.1:0", Token: "fedcba9876543210", Wait: time.Minute, Version: "v1"}
	session := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			session <- err
			return
		}
		s := tls.Server(conn, g.config)
		err = s.Handshake()
		state := s.ConnectionState()
		proof, _ := other.Token.proof(conductor, &state, g.certificate)
		send(s, greeting{Proof: proof, Rank: 1, Size: 2})
		session <- err
	}()
	if _, err := Join(context.Background(), &f); err == nil || !strings.Contains(err.Error(), "does not have the token") {
		t.Errorf("%v", err)
	}
	if err := <-session; err != nil {
		t.Error(err)
	}
}
