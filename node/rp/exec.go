package rp

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"fabemu/wire"
	"fabemu/wire/param"
)

// ExecParams are the parameters of an algorithm in another program.
type ExecParams struct {
	// Program, in a file relative to the scenario. It answers questions, a line each:
	// docs/guide/limiters.md.
	Program Word `key:"program" also:"exec"`
	// Its arguments, separated by spaces.
	Arguments Words `key:"arguments" omit:"usual" computed:"none" also:"args"`
	// per-flow: each flow has a process. shared: all flows with this program and these arguments
	// have one; "flow QP" precedes each question. Workloads need a shared one.
	Process Process `key:"process" def:"per-flow" words:"per-flow|shared"`
	// Frames that the algorithm needs. acks: ACKs with marks; notifications: those of switches;
	// cnps: RoCEv2's, at most one in 50us. delays: each ACK of RoCEv2 or UET with its round trip,
	// and the program may give a window. telemetry: the same with the state of each output on the
	// path (the exact telemetry of HPCC). It receives other frames about the flow as well.
	Feedback ExecFeedback `key:"feedback" def:"acks" words:"acks|notifications|cnps|delays|telemetry"`
	// Whether it is asked after each packet that starts. Without these questions a run takes less
	// time.
	Starts bool `key:"starts" def:"true"`
}

// Process is how a program has processes.
type Process string

// The words of Process.
const (
	ProcessPerFlow Process = "per-flow"
	ProcessShared  Process = "shared"
)

// ExecFeedback is the feedback that a program needs.
type ExecFeedback string

// The words of ExecFeedback.
const (
	ExecAcks          ExecFeedback = "acks"
	ExecNotifications ExecFeedback = "notifications"
	ExecCNPs          ExecFeedback = "cnps"
	ExecDelays        ExecFeedback = "delays"
	ExecTelemetry     ExecFeedback = "telemetry"
)

// ExecAlgorithm returns the row of the algorithms that are in other programs. Its New is nil:
// whoever runs a scenario starts the programs, and makes the reaction points (package
// emu/run/program).
func ExecAlgorithm() Algorithm {
	return Algorithm{Name: "exec", Doc: "is in a program of your own, in any language", Params: ExecParams{}}
}

// Adapt gives a row the feedback that the program needs.
func (p ExecParams) Adapt(l *Algorithm) {
	switch p.Feedback {
	case ExecNotifications:
		l.Feedback = Notifications
	case ExecCNPs:
		l.Feedback = Marks
		l.Answer = func(_ any, s Site) (Answerer, error) {
			return NewNotificationPoint(param.Defaults(DCQCNParams{}), s)
		}
	case ExecDelays, ExecTelemetry:
		l.Feedback = Delays
	default:
		l.Feedback = Echoes
	}
}

// Measured reports whether the program receives each ACK with what was measured (Acknowledged), and
// may give a window.
func (p ExecParams) Measured() bool {
	return p.Feedback == ExecDelays || p.Feedback == ExecTelemetry
}

// Traits returns the telemetry that the program needs.
func (p ExecParams) Traits() Traits {
	if p.Feedback == ExecTelemetry {
		return Traits{Telemetry: wire.Exact}
	}
	return Traits{}
}

// CheckSite refuses parameters without a program.
func (p ExecParams) CheckSite(Site) (string, error) {
	if p.Program == "" {
		return "program", errors.New("algorithm exec needs program, the path of a file such as ./aimd.py")
	}
	return "", nil
}

// Word is a text in one line, such as the path of a file.
type Word string

// Form describes the texts (param.Formed).
func (Word) Form() param.Form {
	return param.Form{Wanted: "the path of a program such as ./aimd.py",
		Read: func(text string) (any, error) {
			text = strings.TrimSpace(text)
			return Word(text), plain(text)
		}}
}

// Words are words with spaces between, such as the arguments of a program.
type Words string

// Form describes the texts (param.Formed).
func (Words) Form() param.Form {
	return param.Form{Wanted: "arguments such as --gain 0.5",
		Read: func(text string) (any, error) {
			text = strings.Join(strings.Fields(text), " ")
			return Words(text), plain(text)
		}}
}

// longestText bounds the length of a Word, and of Words.
const longestText = 4096

// plain refuses a text that is too long, or has more than a line.
func plain(text string) error {
	switch {
	case len(text) > longestText:
		return fmt.Errorf("a text of %d bytes: at most %d are allowed", len(text), longestText)
	case strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("%q has a control character", text)
	}
	return nil
}
