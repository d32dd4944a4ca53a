package machine

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/bellwether-compute/bellwether/deploy/local/scripttest"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestScripts runs the scripts in testdata, one for each thing that can fail. The flag -rewrite
// updates the expected output of the scripts. The scripts contain these commands:
//
//	new [id=W] [storage=S] [exclusive] [no-peers]
//	                                    makes the machine of a worker, by default w1
//	wait [D]                            lets time pass, with a tick whenever one is due; without D, until the next tick
//	sleep D                             lets time pass while the process is suspended
//	answer [OUTCOME] [to=N] [after=D]   answers the last question, by default with ok,
//	    [epoch=N holder=W lease=L free]     with this record after a Read or an Acquire,
//	    [times=N]                           and the next N-1 questions as they come
//	beacon W EPOCH [lease=L] [workers=N] [storage=S] [leaving=yes] [failed=yes], suspicion W EPOCH, offer EPOCH lease=L
//	disconnected, reconnected
//	beat, deposed EPOCH, returned [successor=W] [failed], stop
//
// A command with after=D first waits for D. Lease IDs that the machine draws are printed as own-1,
// own-2 and so on. Each line of output is a log line or an action with its time; the last line says
// what the machine waits for.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{}
		datadriven.RunTest(t, path, s.run)
	})
}

type script struct {
	scripttest.Command
	machine *Machine
	now     time.Duration
	out     strings.Builder
	asked   Action // the last question
	drawn   []string
}

// outcomes are the results that a script can give a call.
var outcomes = map[string]error{
	"ok": nil, "held": ErrHeld, "lost": ErrLost, "unavailable": errors.New("lease storage unavailable"),
	"no-responders": ErrNoResponders, "no-answer": errors.New("timeout"),
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	s.Command = scripttest.Command{T: t, D: d}
	s.out.Reset()
	if d.Cmd == "new" {
		*s = script{Command: s.Command}
		s.machine = s.newMachine()
		return s.waitsFor()
	}
	if after := s.Text("after", ""); after != "" {
		scripttest.Wait(s.machine, &s.now, s.Duration(after), s.tick)
	}
	switch d.Cmd {
	case "wait":
		s.WaitCommand(s.machine, &s.now, never, s.tick)
	case "sleep":
		s.now += s.Duration(s.Word(0))
	case "answer":
		s.step(s.answer())
		for range s.Number(s.Text("times", "1")) - 1 {
			scripttest.Wait(s.machine, &s.now, s.machine.Due()-s.now, s.tick)
			scripttest.Wait(s.machine, &s.now, s.Duration(s.Text("after", "0s")), s.tick)
			s.step(s.answer())
		}
	case "beacon":
		s.step(BeaconHeard{wire.Beacon{
			Worker: s.Word(0), Epoch: s.Number(s.Word(1)), LeaseID: s.leaseID(),
			Workers: int(s.Number(s.Text("workers", "4"))), Storage: s.Text("storage", ""),
			Leaving: s.Text("leaving", "") != "", Failed: s.Text("failed", "") != "",
		}})
	case "suspicion":
		s.step(SuspicionHeard{wire.Suspicion{Worker: s.Word(0), Epoch: s.Number(s.Word(1))}})
	case "offer":
		s.step(OfferReceived{wire.Offer{Epoch: s.Number(s.Word(0)), LeaseID: s.leaseID()}})
	case "disconnected":
		s.step(Disconnected{})
	case "reconnected":
		s.step(Reconnected{})
	case "beat":
		s.step(Beat{})
	case "deposed":
		s.step(Deposed{HigherEpoch(s.Number(s.Word(0)))})
	case "returned":
		s.step(s.returned())
	case "stop":
		s.step(Stop{})
	default:
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	return s.out.String() + s.waitsFor()
}

func (s *script) newMachine() *Machine {
	log := slog.New(slog.NewTextHandler(&s.out, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch {
			case a.Key == slog.TimeKey:
				return slog.Duration("at", s.now.Round(time.Millisecond))
			case a.Value.Kind() == slog.KindDuration:
				return slog.Duration(a.Key, a.Value.Duration().Round(time.Millisecond))
			}
			return a
		},
	}))
	make := New
	if s.D.HasArg("no-peers") {
		make = NewWithoutPeers
	}
	m, err := make(Config{
		ID: s.Text("id", "w1"), Storage: s.Text("storage", ""), Exclusive: s.D.HasArg("exclusive"),
		Rand: rand.New(rand.NewPCG(1, 2)), Logger: log,
	})
	if err != nil {
		s.T.Fatal(err)
	}
	return m
}

func (s *script) tick() { s.step(Tick{}) }

// step passes an input to the machine and prints its actions.
func (s *script) step(in Input) {
	for _, a := range s.machine.Step(s.now, in) {
		if q := questionOf(a); q.Number > 0 {
			s.asked = a
		}
		fmt.Fprintf(&s.out, "%v %s\n", s.now.Round(time.Millisecond), s.brief(a))
	}
}

// answer returns an answer to the last question, or to the question that the script names.
func (s *script) answer() Answer {
	outcome := "ok"
	if len(s.D.CmdArgs) > 0 && len(s.D.CmdArgs[0].Vals) == 0 {
		outcome = s.D.CmdArgs[0].Key
	}
	if s.asked == nil {
		s.D.Fatalf(s.T, "there is no question")
	}
	a := Answer{To: questionOf(s.asked).Number}
	if to := s.Text("to", ""); to != "" {
		a.To = s.Number(to)
	}
	err, ok := outcomes[outcome]
	if !ok {
		s.D.Fatalf(s.T, "unknown outcome %s", outcome)
	}
	if a.Err = err; err != nil {
		return a
	}
	switch q := s.asked.(type) {
	case Acquire:
		a.Record = Record{Epoch: s.Number(s.Text("epoch", "")), Holder: q.Claim.Holder, LeaseID: q.Claim.LeaseID, Held: true}
	case Read:
		a.Record = Record{Epoch: s.Number(s.Text("epoch", "")), Holder: s.Text("holder", ""), LeaseID: s.leaseID()}
		a.Record.Held = a.Record.Holder != "" && !s.D.HasArg("free")
	}
	return a
}

func (s *script) returned() Returned {
	r := Returned{Successor: s.Text("successor", "")}
	if s.D.HasArg("failed") {
		r.Err = errors.New("cannot lead")
	}
	return r
}

// questionOf returns the question in an action, or the zero Question.
func questionOf(a Action) Question {
	switch a := a.(type) {
	case Ping:
		return a.Question
	case Read:
		return a.Question
	case Acquire:
		return a.Question
	case Renew:
		return a.Question
	case Transfer:
		return a.Question
	case Offer:
		return a.Question
	case Release:
		return a.Question
	}
	return Question{}
}

// brief describes an action in one line.
func (s *script) brief(a Action) string {
	var text string
	switch a := a.(type) {
	case Ping:
		text = fmt.Sprintf("ping epoch %d", a.Epoch)
	case Read:
		text = "read"
	case Acquire:
		text = fmt.Sprintf("acquire as %s", a.Claim.LeaseID)
		if a.Claim.Replaces != "" {
			text += " over " + a.Claim.Replaces
		}
	case Renew:
		text = fmt.Sprintf("renew epoch %d, %s", a.Held.Epoch, a.Held.LeaseID)
	case Transfer:
		text = fmt.Sprintf("transfer from %s to %s", a.Held.LeaseID, a.LeaseID)
	case Offer:
		text = fmt.Sprintf("offer %s to %s after epoch %d", a.Offer.LeaseID, a.Worker, a.Offer.Epoch)
	case Release:
		text = fmt.Sprintf("release %s", a.Held.LeaseID)
	case SendSuspicion:
		text = fmt.Sprintf("send suspicion of epoch %d", a.Epoch)
	case Lead:
		text = fmt.Sprintf("lead epoch %d: %s, predecessor %q with %d workers, deadline %v", a.Record.Epoch, a.Cause, a.Predecessor, a.Workers, a.Deadline.Round(time.Millisecond))
	case SetDeadline:
		text = fmt.Sprintf("set deadline %v, cause: %v", a.Deadline.Round(time.Millisecond), a.Cause)
	case EndTerm:
		text = fmt.Sprintf("end term: %v", a.Cause)
	case AwaitBeat:
		text = "await a beat"
	case StopLeading:
		text = "stop leading"
	case Done:
		text = "done"
	default:
		s.T.Fatalf("unknown action %T", a)
	}
	if q := questionOf(a); q.Number > 0 {
		text = fmt.Sprintf("#%d %s, within %v", q.Number, text, q.Within)
	}
	return s.renamed(text)
}

var leaseIDForm = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)

// renamed replaces random lease IDs with names that a reader can distinguish.
func (s *script) renamed(text string) string {
	return leaseIDForm.ReplaceAllStringFunc(text, func(id string) string {
		i := slices.Index(s.drawn, id)
		if i < 0 {
			i = len(s.drawn)
			s.drawn = append(s.drawn, id)
		}
		return fmt.Sprintf("own-%d", i+1)
	})
}

// states lists the names of the states in doc.go.
var states = map[state]string{
	searching: "searching", following: "following", confirming: "confirming", claiming: "claiming", leading: "leading",
	transferring: "transferring", offering: "offering", releasing: "releasing", stopped: "stopped",
}

func (s *script) waitsFor() string {
	m := s.machine
	text := states[m.state]
	if m.question.open {
		text += fmt.Sprintf(", asked #%d", m.question.number)
	}
	if due := m.Due(); due < never {
		text += fmt.Sprintf(", until %v", due.Round(time.Millisecond))
	}
	return text + "\n"
}

// leaseID returns the argument lease; own-1 means the first ID that the machine drew.
func (s *script) leaseID() string {
	text := s.Text("lease", "")
	if own, ok := strings.CutPrefix(text, "own-"); ok {
		return s.drawn[s.Number(own)-1]
	}
	return text
}
