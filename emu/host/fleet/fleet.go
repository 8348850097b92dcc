package fleet

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// DefaultPort is the port at which rank 0 listens by default. The steps of
// Slurm have one of the 900 below it.
const DefaultPort = 20999

// Fleet describes the hosts that run one fabric, from the side of one of them.
type Fleet struct {
	Rank     int    // of this one; 0 conducts. -1: rank 0 decides
	Size     int    // how many there are; 0: rank 0 has the number
	Launcher string // the program that has started them: "srun"; empty: a user by hand
	Address  string // HOST:PORT at which rank 0 listens, or by which the others reach it
	Token    Token
	Drawn    bool          // the token was made here: the user has to see it
	Wait     time.Duration // how long hosts wait for each other
	Version  string        // of this program; all have the same
	// Notify receives messages for the user of this host before the run: hosts that are
	// awaited, hosts that were refused. It may be nil.
	Notify func(text string)
}

// Wanted is a user's description of a fleet. Find fills in empty fields.
type Wanted struct {
	// Number of hosts (default: from the launcher).
	Size int `flag:"hosts" group:"Hosts" arg:"N" needs:"placement=hosts" low:"0" high:"65536"`
	// Address at which rank 0 listens for the others (default: port 20999 of all addresses).
	Listen string `flag:"listen" arg:"HOST:PORT" needs:"placement=hosts"`
	// Address at which rank 0 of the run listens; fabemu run needs it only if the launcher does not
	// pass it on.
	Join string `flag:"join" arg:"HOST:PORT" needs:"placement=hosts"`
	// How long hosts wait for each other.
	Wait    time.Duration `flag:"wait" arg:"TIME" needs:"placement=hosts" def:"1m"`
	Token   Token
	Version string
}

// DefaultWait is how long hosts wait for each other by default.
const DefaultWait = time.Minute

func (f *Fleet) notify(format string, args ...any) {
	if f.Notify != nil {
		f.Notify(fmt.Sprintf(format, args...))
	}
}

// Find returns the fleet of this process, by the variables that a launcher has put into its
// environment. Without a launcher, the process is rank 0 of a fleet that is started by hand. name
// is the name of this host.
func (w Wanted) Find(variable func(string) string, name string) (*Fleet, error) {
	at, err := launched(variable, name)
	if err != nil {
		return nil, err
	}
	f := w.fleet(variable)
	f.Rank, f.Size, f.Launcher = at.rank, cmp.Or(w.Size, at.size), at.launcher
	switch {
	case at.launcher == "" && w.Join != "":
		return nil, errors.New("--join is for hosts that a launcher started with their ranks; by hand, start the others with: fabemu agent --join HOST:PORT")
	case f.Size < 2:
		return nil, fmt.Errorf("placement hosts needs at least 2 hosts, not %d: give their number with --hosts N, or start it by srun or mpirun; for one, --placement domain",
			f.Size)
	case at.size > 0 && w.Size > 0 && at.size != w.Size:
		return nil, fmt.Errorf("--hosts %d, but %s has started %d", w.Size, at.launcher, at.size)
	case f.Rank >= f.Size:
		return nil, fmt.Errorf("this host has rank %d by %s, of %d: ranks count from 0", f.Rank, at.launcher, f.Size)
	case f.Launcher != "" && f.Token == "":
		return nil, fmt.Errorf("all hosts need one token: set %s before %s, for example by: export %s=$(head -c 18 /dev/urandom | base64)",
			TokenVariable, at.launcher, TokenVariable)
	case f.Token == "":
		f.Token, f.Drawn = Token(rand.Text()), true
	}
	if err := f.Token.Check(); err != nil {
		return nil, err
	}
	port := cmp.Or(at.port, DefaultPort)
	if f.Rank > 0 {
		if cmp.Or(w.Join, at.first) == "" {
			return nil, fmt.Errorf("%s does not give the address of rank 0: --join HOST:PORT does, for all hosts alike",
				at.launcher)
		}
		f.Address, err = withPort(cmp.Or(w.Join, at.first), port)
		return f, err
	}
	if _, wanted, e := net.SplitHostPort(w.Join); e == nil && w.Listen == "" {
		w.Listen = ":" + wanted // the same call on all hosts
	}
	f.Address, err = withPort(w.Listen, port)
	return f, err
}

// fleet returns one as far as nothing has to be found out.
func (w Wanted) fleet(variable func(string) string) *Fleet {
	token := cmp.Or(w.Token, Token(variable(TokenVariable)))
	return &Fleet{Token: token, Wait: cmp.Or(w.Wait, DefaultWait), Version: w.Version}
}

// Agent returns the fleet that a host joins whose rank is chosen by rank 0.
func (w Wanted) Agent(variable func(string) string) (*Fleet, error) {
	f := w.fleet(variable)
	f.Rank = -1
	if f.Token == "" {
		return nil, fmt.Errorf("the token of the run is missing: pass the one that fabemu run --placement hosts prints, in %s or with --token-file",
			TokenVariable)
	}
	if err := f.Token.Check(); err != nil {
		return nil, err
	}
	if w.Join == "" {
		return nil, errors.New("the address at which rank 0 listens is missing: pass --join HOST:PORT")
	}
	var err error
	f.Address, err = withPort(w.Join, DefaultPort)
	return f, err
}

// withPort completes an address that may have no port.
func withPort(address string, port int) (string, error) {
	host, p, err := net.SplitHostPort(address)
	if err != nil {
		host, p = strings.Trim(address, "[]"), strconv.Itoa(port)
	}
	if n, e := strconv.Atoi(p); e != nil || n < 0 || n > 65535 || strings.ContainsAny(host, " /") {
		return "", fmt.Errorf("%q is not an address: expected HOST:PORT", address)
	}
	return net.JoinHostPort(host, p), nil
}

// launch is the place that a launcher gives a process in its environment.
type launch struct {
	launcher   string
	rank, size int    // size 0: it is not given
	first      string // the host of rank 0; empty: it is not given
	port       int    // of this process; 0: none
}

// launched reads the variables of a launcher. One launcher may have started
// another: mpirun in a job of Slurm keeps srun's variables, with the ranks of its
// own daemons, so the variables of MPI come first.
func launched(variable func(string) string, name string) (launch, error) {
	var wrong []error
	number := func(key string) int {
		n, err := strconv.Atoi(variable(key))
		if err != nil || n < 0 {
			wrong = append(wrong, fmt.Errorf("%s=%q in the environment: expected a whole number of 0 or more",
				key, variable(key)))
		}
		return n
	}
	node := func(key string) string {
		name, err := firstNode(variable(key))
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s in the environment: %w", key, err))
		}
		return name
	}
	mpi := func(rank, size, local string) launch {
		l := launch{launcher: "mpirun", rank: number(rank), size: number(size), first: node("SLURM_JOB_NODELIST")}
		if variable(local) == variable(size) {
			l.first = "localhost"
		}
		return l
	}
	var l launch
	switch {
	case variable("OMPI_COMM_WORLD_RANK") != "":
		l = mpi("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")
	case variable("PMI_RANK") != "" && variable("PMI_SIZE") != "":
		l = mpi("PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS")
	case variable("SLURM_PROCID") != "" && variable("SLURM_STEP_NODELIST") != "":
		l = launch{launcher: "srun", rank: number("SLURM_PROCID"), size: number("SLURM_NTASKS"), first: node("SLURM_STEP_NODELIST")}
	case variable("JOB_COMPLETION_INDEX") != "":
		// The hostname of a pod of an Indexed Job is the job's name and the index. Its service
		// has the name of the job, unless --join names another.
		index := variable("JOB_COMPLETION_INDEX")
		job := strings.TrimSuffix(name, "-"+index)
		l = launch{launcher: "the Job", rank: number("JOB_COMPLETION_INDEX"), first: job + "-0." + job}
	}
	if id := variable("SLURM_JOB_ID"); id != "" && l.launcher != "" {
		job, _ := strconv.Atoi(id)
		step, _ := strconv.Atoi(variable("SLURM_STEP_ID"))
		l.port = DefaultPort - 1 - (job*7+step)%900 // steps of jobs that share a node do not meet
	}
	return l, errors.Join(wrong...)
}

// Here returns the name of this host.
func Here() string {
	name, err := os.Hostname()
	if err != nil {
		return "a host without a name"
	}
	return name
}

// firstNode returns the first of the names that a list of Slurm stands for, as "scontrol show
// hostnames" prints them: names with commas between, in which brackets hold numbers and ranges of
// numbers, "rack[1-2]n[08-10,12],login".
func firstNode(list string) (string, error) {
	first := regexp.MustCompile(`^([^][,\s/]|\[[0-9]+([-,][0-9]+)*\])+`).FindString(list)
	if rest := list[len(first):]; list != "" && (first == "" || rest != "" && rest[0] != ',') {
		return "", fmt.Errorf("the list of nodes %q does not start with a name, such as rack[1-2]n[08-10,12]", list)
	}
	return regexp.MustCompile(`\[([0-9]+)[^]]*\]`).ReplaceAllString(first, "$1"), nil
}
