package program

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fabemu/emu/run/feedback"
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Version is the version of the protocol.
const Version = 1

// maxLine is how long a line may be, its end included.
const maxLine = 512

// maxQuoted is how much of a line that is not wanted is quoted.
const maxQuoted = 60

// mostCalls is how often a program is asked without a packet that starts, or feedback: one
// that needs to be asked again and again would never come to an end.
const mostCalls = 100_000

// Talk is a limiter or a reaction point in another program, or the reaction points of several
// flows. It belongs to one goroutine.
type Talk struct {
	Name      string    // the name that the program gives itself
	Algorithm bool      // it is a reaction point, not a limiter
	Burst     unit.Size // of a limiter: how much it may let go in addition to its rate; -1: it is not given

	in       *bufio.Reader
	out      io.WriteCloser
	peer     peer
	patience time.Duration
	windows  bool // reaction points may give windows
	watch    *time.Timer
	failed   func(*Fault)
	release  func() bool // from the context
	line     []byte      // the question
	stderr   tail
	calls    int  // without progress
	begun    bool // it has been asked
	ended    bool
	cost     Cost
	greeting []byte      // the answer to hello
	point    *Controller // the reaction point of the last hello

	mu    sync.Mutex // guards the fields below
	mute  bool       // the program did not answer in time
	fault *Fault
}

// peer is the program at the other end.
type peer interface {
	// pending reports whether there is something to read.
	pending() bool
	// cut ends it at once.
	cut()
	// end waits until it has ended by itself, for a while, ends it otherwise, and returns how
	// it ended; in time is false where it had to be ended.
	// closed is closed when the program has closed its output.
	end(patience time.Duration, closed <-chan struct{}) (how string, inTime bool)
}

// open is the start of a talk.
func (t *Talk) open(in io.Reader, out io.WriteCloser, p peer) {
	t.in, t.out, t.peer = bufio.NewReaderSize(in, maxLine), out, p
	t.watch = time.AfterFunc(time.Hour, func() {
		t.mu.Lock()
		t.mute = true
		t.mu.Unlock()
		p.cut() // reading ends
	})
	t.watch.Stop()
}

// hello asks the program whether it is a limiter or a reaction point, which is then c.
func (t *Talk) hello(c *Controller, r unit.Rate, packet unit.Size) error {
	c.begin("hello", Version, int64(r), int64(packet))
	answer, ok := t.ask()
	if !ok {
		return t.Err()
	}
	t.greeting = bytes.Clone(answer)
	const wanted = "answers its first line with something other than %q or %q"
	const limiter, algorithm = "limiter BURST NAME", "algorithm RATE DEADLINE NAME"
	words := strings.Fields(string(answer))
	switch {
	case len(words) >= 3 && words[0] == "limiter":
		burst, err := whole(words[1])
		if words[1] == "-" {
			burst, err = -1, nil
		}
		if err != nil || burst < -1 {
			t.fail(Malformed, "gives a burst that is neither a number of bytes nor -", answer)
		}
		t.Burst, t.Name = unit.Size(burst), strings.Join(words[2:], " ")
	case len(words) >= 4 && (words[0] == "algorithm" || words[0] == "law"): // law: programs for version 0.1.0
		t.Algorithm, t.Name, t.point = true, strings.Join(words[3:], " "), c
		c.state(answer, words[1], words[2], 0)
	default:
		t.fail(Malformed, fmt.Sprintf(wanted, limiter, algorithm), answer)
	}
	return t.Err()
}

// Err returns the *Fault of the program, nil if there is none.
func (t *Talk) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fault == nil {
		return nil
	}
	return t.fault
}

// Close ends the talk, and the process that was started for it. It returns the first
// *Fault.
func (t *Talk) Close() error {
	if t.ended {
		return t.Err()
	}
	t.ended = true
	t.watch.Stop()
	t.out.Close()
	var line []byte
	closed := make(chan struct{})
	go func() { // it may have more output than fits, and wait
		defer close(closed)
		first, _ := t.in.ReadSlice('\n')
		line = bytes.Clone(first[:min(len(first), maxQuoted)])
		io.Copy(io.Discard, t.in)
	}()
	how, inTime := t.peer.end(t.patience, closed)
	t.release()
	<-closed
	switch {
	case len(line) > 0:
		t.fail(Unasked, "speaks out of turn", line)
	case !inTime:
		t.fail(EndedLate, fmt.Sprintf("does not end within %v after its input has", t.patience), nil)
	case how != "":
		t.fail(EndedBadly, ending("has ended", how), nil)
	}
	return t.Err()
}

// end ends the program at once, and returns how it has ended.
func (t *Talk) end() (how string) {
	closed := make(chan struct{})
	close(closed)
	t.release()
	how, _ = t.peer.end(t.patience, closed)
	return how
}

// ending describes how a program has ended.
func ending(what, how string) string {
	if how == "" {
		return what
	}
	return what + ": " + how
}

// fail notes a fault of the program, if it is the first one, and ends the program.
func (t *Talk) fail(rule Rule, what string, line []byte) {
	t.mu.Lock()
	first := t.fault == nil
	if first {
		t.fault = &Fault{Rule: rule, What: what, Asked: strings.TrimSpace(string(t.line)),
			Line: strings.TrimRight(string(line), "\r\n")}
	}
	f := t.fault
	t.mu.Unlock()
	if !first {
		return
	}
	t.peer.cut()
	if !t.ended {
		t.ended = true
		t.watch.Stop()
		t.out.Close()
		t.end()
	}
	f.Stderr = strings.TrimSpace(string(t.stderr.text))
	if t.failed != nil {
		t.failed(f)
	}
}

// begin begins a question, of a word and numbers.
func (t *Talk) begin(word string, numbers ...int64) {
	t.line = append(t.line[:0], word...)
	for _, v := range numbers {
		t.line = strconv.AppendInt(append(t.line, ' '), v, 10)
	}
}

// ask sends the question and returns the answer, good until the next question.
func (t *Talk) ask() (answer []byte, ok bool) {
	if t.ended {
		return nil, false
	}
	if t.in.Buffered() > 0 || t.peer.pending() {
		return t.early()
	}
	if t.calls++; t.calls > mostCalls {
		t.fail(NeverStarts, fmt.Sprintf("was asked %d times without a packet that starts, and requests to be asked again",
			mostCalls), nil)
		return nil, false
	}
	t.line = append(t.line, '\n')
	t.watch.Reset(t.patience)
	began := time.Now()
	_, sent := t.out.Write(t.line)
	answer, err := t.in.ReadSlice('\n')
	if t.begun { // the first answer is late by the start of the program
		t.cost.add(time.Since(began))
	}
	t.begun = true
	t.watch.Stop()
	t.mu.Lock()
	mute := t.mute
	t.mu.Unlock()
	switch {
	case mute && len(answer) > 0:
		t.fail(NoAnswer, fmt.Sprintf("starts a line and does not end it within %v", t.patience), answer)
	case mute:
		t.fail(NoAnswer, fmt.Sprintf("sends nothing for %v", t.patience), nil)
	case errors.Is(err, bufio.ErrBufferFull):
		t.fail(Malformed, fmt.Sprintf("sends a line of more than %d bytes", maxLine), answer[:maxQuoted])
	case err != nil || sent != nil:
		t.fail(EndedEarly, ending("does not answer any more", t.end()), answer)
	default:
		return bytes.TrimSuffix(answer[:len(answer)-1], []byte("\r")), true
	}
	return nil, false
}

// early takes a line that comes before it was asked for.
func (t *Talk) early() ([]byte, bool) {
	t.watch.Reset(t.patience)
	line, err := t.in.ReadSlice('\n')
	t.watch.Stop()
	t.line = t.line[:0]
	if len(line) == 0 && err != nil {
		t.fail(EndedEarly, ending("has ended", t.end()), nil)
	} else {
		t.fail(Unasked, "speaks out of turn, before it is asked", line[:min(len(line), maxQuoted)])
	}
	return nil, false
}

// whole reads a whole number.
func whole(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

// instant reads an instant, or never.
func (t *Talk) instant(answer []byte, text string) (unit.Time, bool) {
	if text == "never" {
		return unit.Never, true
	}
	v, err := whole(text)
	switch {
	case err != nil:
		t.fail(Malformed, "gives an instant that is neither a whole number of picoseconds nor never", answer)
	case v < 0:
		t.fail(Malformed, "gives an instant that is negative", answer)
	default:
		return unit.Time(v), true
	}
	return unit.Never, false
}

// okay asks, and wants ok.
func (t *Talk) okay() {
	if answer, ok := t.ask(); ok && string(answer) != "ok" {
		t.fail(Malformed, `answers with something else than "ok"`, answer)
	}
}

func (t *Talk) Limiter() *Limiter { return &Limiter{t} }

// Limiter is a node.RateLimiter in another program.
type Limiter struct{ talk *Talk }

// Burst returns how much the program may let go in addition to its rate, 0 if it does not state
// that.
func (l *Limiter) Burst() unit.Size { return max(0, l.talk.Burst) }

// Next asks the program.
func (l *Limiter) Next(now unit.Time, n unit.Size) unit.Time {
	t := l.talk
	t.begin("next", int64(now), int64(n))
	answer, ok := t.ask()
	if !ok {
		return unit.Never
	}
	at, ok := t.instant(answer, string(answer))
	switch {
	case !ok:
		return unit.Never
	case at < now:
		t.fail(BeforeQuestion, "gives an instant that is before the one that it is asked at", answer)
		return unit.Never
	}
	return at
}

// Sent reports a packet to the program.
func (l *Limiter) Sent(now unit.Time, n unit.Size) {
	t := l.talk
	t.calls = 0
	t.begin("sent", int64(now), int64(n))
	t.okay()
}

// SetRate sends the rate to the program.
func (l *Limiter) SetRate(now unit.Time, r unit.Rate) {
	t := l.talk
	t.begin("rate", int64(now), int64(r))
	t.okay()
}

// Cost is what questions have cost, without the first one to each process.
type Cost struct {
	Questions int64
	Waited    time.Duration // for the answers, in real time
}

func (c *Cost) add(d time.Duration) { c.Questions, c.Waited = c.Questions+1, c.Waited+d }

// Controller returns the reaction point of the talk.
func (t *Talk) Controller() *Controller { return t.point }

// Controller is an rp.Controller in another program.
type Controller struct {
	talk *Talk
	flow []byte // precedes each question: "flow 7 "; empty: the process has one flow
	rate unit.Rate
	due  unit.Time

	window unit.Size // 0: there is no limit
}

// flowWord begins the questions about one of several flows.
const flowWord = "flow "

// Flow begins a flow among those that a process has, with a number, at a line of rate r, for
// packets of a length on the line.
func (t *Talk) Flow(number uint32, r unit.Rate, packet unit.Size) (*Controller, error) {
	c := &Controller{talk: t, flow: append(strconv.AppendUint([]byte(flowWord), uint64(number), 10), ' ')}
	if err := t.hello(c, r, packet); err != nil {
		return nil, err
	}
	return c, t.Reacts()
}

// End tells the program that the flow of a Controller made by Flow has ended.
func (c *Controller) End(now unit.Time) {
	c.begin("end", int64(now))
	c.talk.okay()
}

// Reacts ends the talk with a *Fault if it is not about a reaction point.
func (t *Talk) Reacts() error {
	if !t.Algorithm {
		t.fail(Malformed, `is a rate limiter, and an algorithm is wanted: "algorithm RATE DEADLINE NAME"`, t.greeting)
	}
	return t.Err()
}

// begin begins a question about the flow.
func (c *Controller) begin(word string, numbers ...int64) {
	c.talk.begin(word, numbers...)
	c.talk.line = slices.Insert(c.talk.line, 0, c.flow...)
}

// Sent reports a packet to the program.
func (c *Controller) Sent(now unit.Time, n unit.Size) {
	c.talk.calls = 0
	c.begin("sent", int64(now), int64(n))
	c.settle(now)
}

// Feedback sends a frame to the program.
func (c *Controller) Feedback(now unit.Time, f wire.Frame) {
	c.told(now, &rp.Input{Kind: rp.FrameInput, Frame: f})
}

// Acked sends an ACK with its measurements to the program.
func (c *Controller) Acked(now unit.Time, a rp.Ack) {
	in := rp.Input{Kind: rp.AckInput, Ack: a}
	in.Frame.BECN = a.Frame != nil && a.Frame.BECN
	c.told(now, &in)
}

// Lost tells the program that packets were lost, and are sent again.
func (c *Controller) Lost(now unit.Time) { c.told(now, &rp.Input{Kind: rp.LossInput}) }

// Trimmed tells the program that a packet was trimmed.
func (c *Controller) Trimmed(now unit.Time, t rp.Trim) {
	c.told(now, &rp.Input{Kind: rp.TrimInput, Trim: t})
}

// Expired tells the program that packets of n bytes were not acknowledged in time.
func (c *Controller) Expired(now unit.Time, n unit.Size) {
	c.told(now, &rp.Input{Kind: rp.ExpiryInput, Bytes: n})
}

// told sends feedback to the program.
func (c *Controller) told(now unit.Time, in *rp.Input) {
	c.talk.calls = 0
	c.begin("feedback", int64(now))
	c.talk.line = feedback.AppendInput(append(c.talk.line, ' '), in)
	c.settle(now)
}

// Reaction returns the reaction point with what it does in addition to a Controller, if it uses
// ACKs with their measurements.
func (c *Controller) Reaction(measured bool) rp.Reaction {
	if !measured {
		return rp.Reaction{Controller: c}
	}
	return rp.Reaction{Controller: c, Acknowledged: c, Trimmed: c.Trimmed, Expired: c.Expired}
}

// Window returns the last window of the program.
func (c *Controller) Window() unit.Size { return c.window }

// Advance sends the instant to the program, if its deadline has come.
func (c *Controller) Advance(now unit.Time) {
	if c.due > now {
		return
	}
	c.begin("advance", int64(now))
	c.settle(now)
}

// Rate returns the last rate of the program.
func (c *Controller) Rate() unit.Rate { return c.rate }

// Deadline returns the last deadline of the program.
func (c *Controller) Deadline() unit.Time { return c.due }

// settle asks, and takes the rate and the deadline.
func (c *Controller) settle(now unit.Time) {
	answer, ok := c.talk.ask()
	if !ok {
		c.due = unit.Never
		return
	}
	words := strings.Fields(string(answer))
	if len(words) != 2 {
		c.due = unit.Never
		c.talk.fail(Malformed, `answers with something else than "RATE DEADLINE"`, answer)
		return
	}
	c.state(answer, words[0], words[1], now)
}

// state takes a rate and a deadline, which is to be after now.
func (c *Controller) state(answer []byte, rate, deadline string, now unit.Time) {
	t := c.talk
	rate, size, windowed := strings.Cut(rate, "/")
	r, err := whole(rate)
	window := int64(0)
	var wrong error
	if windowed {
		window, wrong = whole(size)
	}
	switch {
	case windowed && !t.windows:
		t.fail(Malformed, "gives a window, which is for feedback delays or telemetry", answer)
	case wrong != nil || windowed && window <= 0 || window > math.MaxInt32:
		t.fail(Malformed, "gives a window that is not a whole number of bytes from 1 to 2147483647", answer)
	case err != nil:
		t.fail(Malformed, "gives a rate that is not a whole number of bits per second", answer)
	case r < 0:
		t.fail(Malformed, "gives a rate that is negative", answer)
	default:
		due, ok := t.instant(answer, deadline)
		if ok && due <= now && now > 0 {
			t.fail(BeforeQuestion, "gives a deadline that is not after the instant that it was sent", answer)
			ok = false
		}
		if ok {
			c.rate, c.due, c.window = unit.Rate(r), due, unit.Size(window)
			return
		}
	}
	c.due = unit.Never
}
