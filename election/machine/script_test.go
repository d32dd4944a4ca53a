package machine

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

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
//	beacon W EPOCH [lease=L] [workers=N] [storage=S] [leaving=yes], suspicion W EPOCH, offer EPOCH lease=L
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
	t       *testing.T
	d       *datadriven.TestData
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
	s.t, s.d = t, d
	s.out.Reset()
	if d.Cmd == "new" {
		*s = script{t: t, d: d}
		s.machine = s.newMachine()
		return s.waitsFor()
	}
	if after := s.text("after", ""); after != "" {
		s.wait(s.duration(after))
	}
	switch d.Cmd {
	case "wait":
		switch due := s.machine.Due(); {
		case len(d.CmdArgs) > 0:
			s.wait(s.duration(s.word(0)))
		case due == never:
			d.Fatalf(t, "nothing is due")
		default:
			s.wait(due - s.now)
		}
	case "sleep":
		s.now += s.duration(s.word(0))
	case "answer":
		s.step(s.answer())
		for range s.number(s.text("times", "1")) - 1 {
			s.wait(s.machine.Due() - s.now)
			s.wait(s.duration(s.text("after", "0s")))
			s.step(s.answer())
		}
	case "beacon":
		s.step(BeaconHeard{wire.Beacon{
			Worker: s.word(0), Epoch: s.number(s.word(1)), LeaseID: s.leaseID(),
			Workers: int(s.number(s.text("workers", "4"))), Storage: s.text("storage", ""),
			Leaving: s.text("leaving", "") != "",
		}})
	case "suspicion":
		s.step(SuspicionHeard{wire.Suspicion{Worker: s.word(0), Epoch: s.number(s.word(1))}})
	case "offer":
		s.step(OfferReceived{wire.Offer{Epoch: s.number(s.word(0)), LeaseID: s.leaseID()}})
	case "disconnected":
		s.step(Disconnected{})
	case "reconnected":
		s.step(Reconnected{})
	case "beat":
		s.step(Beat{})
	case "deposed":
		s.step(Deposed{HigherEpoch(s.number(s.word(0)))})
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
	if s.d.HasArg("no-peers") {
		make = NewWithoutPeers
	}
	m, err := make(Config{
		ID: s.text("id", "w1"), Storage: s.text("storage", ""), Exclusive: s.d.HasArg("exclusive"),
		Rand: rand.New(rand.NewPCG(1, 2)), Logger: log,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// wait advances the time and sends the ticks that are due.
func (s *script) wait(d time.Duration) {
	until := s.now + d
	for due := s.machine.Due(); due <= until; due = s.machine.Due() {
		s.now = max(s.now, due)
		s.step(Tick{})
	}
	s.now = until
}

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
	if len(s.d.CmdArgs) > 0 && len(s.d.CmdArgs[0].Vals) == 0 {
		outcome = s.d.CmdArgs[0].Key
	}
	if s.asked == nil {
		s.d.Fatalf(s.t, "there is no question")
	}
	a := Answer{To: questionOf(s.asked).Number}
	if to := s.text("to", ""); to != "" {
		a.To = s.number(to)
	}
	err, ok := outcomes[outcome]
	if !ok {
		s.d.Fatalf(s.t, "unknown outcome %s", outcome)
	}
	if a.Err = err; err != nil {
		return a
	}
	switch q := s.asked.(type) {
	case Acquire:
		a.Record = Record{Epoch: s.number(s.text("epoch", "")), Holder: q.Claim.Holder, LeaseID: q.Claim.LeaseID, Held: true}
	case Read:
		a.Record = Record{Epoch: s.number(s.text("epoch", "")), Holder: s.text("holder", ""), LeaseID: s.leaseID()}
		a.Record.Held = a.Record.Holder != "" && !s.d.HasArg("free")
	}
	return a
}

func (s *script) returned() Returned {
	r := Returned{Successor: s.text("successor", "")}
	if s.d.HasArg("failed") {
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
		text = fmt.Sprintf("lead epoch %d: %s, predecessor %q, deadline %v", a.Record.Epoch, a.Cause, a.Predecessor, a.Deadline.Round(time.Millisecond))
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
		s.t.Fatalf("unknown action %T", a)
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

// word returns the i-th argument.
func (s *script) word(i int) string {
	if i >= len(s.d.CmdArgs) {
		s.d.Fatalf(s.t, "too few arguments")
	}
	return s.d.CmdArgs[i].Key
}

// text returns the value of a named argument.
func (s *script) text(name, otherwise string) string {
	for _, a := range s.d.CmdArgs {
		if a.Key == name && len(a.Vals) == 1 {
			return a.Vals[0]
		}
	}
	return otherwise
}

// leaseID returns the argument lease; own-1 means the first ID that the machine drew.
func (s *script) leaseID() string {
	text := s.text("lease", "")
	if own, ok := strings.CutPrefix(text, "own-"); ok {
		return s.drawn[s.number(own)-1]
	}
	return text
}

func (s *script) number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		s.d.Fatalf(s.t, "%v", err)
	}
	return n
}

func (s *script) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.d.Fatalf(s.t, "%v", err)
	}
	return d
}
