package session

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/bellwether-compute/bellwether/deploy/local/scripttest"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestScripts runs the scripts in testdata, one per thing that can fail. The flag -rewrite updates
// the expected output of the scripts. The scripts contain these commands:
//
//	new [slots=N] [max-kept=BYTES] [storage=S]
//	                                   a session of worker w; 2 slots by default; jobs have 1000 partitions
//	connected, disconnected, drain
//	leader EPOCH, nudge EPOCH [storage=S]  a beacon, or an answer to who leads; a nudge
//	record EPOCH [followed=EPOCH]      the record in storage has EPOCH; the session asked while it followed the last asked epoch
//	receipt [exchange=N] [epoch=N] [sequence=N] [every=D] [refused=TEXT] [benched=TEXT] [storage=S]
//	    [assign=(JOB,LO,HI)] [alone=(JOB,LO,HI)] [call=(JOB,FUNCTION)] [beside=(JOB,FUNCTION)] [cut=(NUMBER,HI)] [received=(JOB,N)] [durable=(JOB,N)] [ended=JOB]
//	    [holds] [release=(JOB,NODE)] [store=(JOB,NODE)] [auditors=(JOB,WORKER...)]
//	                                   by default of the last report; keys may be repeated; the opening
//	                                   of a call of Plan has no plan; a merge is of node 1/0, and with a
//	                                   third value its operands are held by the worker and the other worker
//	no-responders [exchange=N]         by default of the last report
//	opened JOB, open-failed JOB
//	announce JOB FUNCTION, announced   the span of the job that runs alone comes to a function
//	take [slot=N]                      a slot takes a span; slot 1 by default
//	auditors [slot=N]                  the workers that may audit its span
//	run N [slot=N]                     it claims and runs N partitions
//	deliver [slot=N] [size=BYTES] [held|blob]  it delivers what it has run; items have one byte by default; held: they
//	                                   are large, and the worker holds them; blob: they are in storage
//	hand-over [slot=N]                 up to where a slot that goes on would deliver
//	stored JOB NODE, lost JOB NODE     a held partial is in storage, or lost
//	release [slot=N]                   it gives its span back
//	lose [slot=N]                      its code does not return
//	take-call [call=N]                 a call begins; call 1 by default
//	return [call=N] [failed|abandoned|held|blob] it ends
//	lose-call [call=N]                 its code does not return
//	wait [D]                           time passes, with a tick whenever one is due; without D, until one is
//
// A command with after=D first waits for D. After a direct call, the script calls Step if NeedsStep
// returns true. Each line of output is an action with its time, or the result of a slot's call; the
// last line says what the session waits for and what it holds.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{}
		datadriven.RunTest(t, path, s.run)
	})
}

type script struct {
	scripttest.Command
	session *Session
	now     time.Duration
	out     strings.Builder
	sent    SendReport // last SendReport
	asked   ReadRecord // last ReadRecord
	spans   uint64     // number of spans assigned so far
	slots   map[string]*scriptSlot
	calls   map[string]*HeldCall     // running calls
	stores  map[string]wire.HeldNode // partials that are written to storage, by job and node
}

type scriptSlot struct {
	span *HeldSpan
	done engine.Span // partitions that were run and not delivered
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	s.Command = scripttest.Command{T: t, D: d}
	s.out.Reset()
	if d.Cmd == "new" {
		s.begin()
		return s.state()
	}
	if after := s.Text("after", ""); after != "" {
		scripttest.Wait(s.session, &s.now, s.Duration(after), s.tick)
	}
	switch d.Cmd {
	case "connected":
		s.step(Connected{})
	case "disconnected":
		s.step(Disconnected{})
	case "drain":
		s.step(Drain{})
	case "leader":
		s.step(LeaderHeard{s.Number(s.Word(0)), s.Text("storage", "")})
	case "nudge":
		s.step(Nudged{s.Number(s.Word(0)), s.Text("storage", "")})
	case "record":
		s.step(RecordRead{Followed: s.Number(s.Text("followed", strconv.FormatUint(s.asked.Followed, 10))), Epoch: s.Number(s.Word(0))})
	case "receipt":
		s.step(s.receipt())
	case "no-responders":
		s.step(NoResponders{s.exchange()})
	case "wait":
		s.WaitCommand(s.session, &s.now, never, s.tick)
	default:
		s.call()
		if s.session.NeedsStep() {
			s.step(Tick{})
		}
	}
	return s.out.String() + s.state()
}

func (s *script) begin() {
	t, d := s.T, s.D
	*s = script{Command: s.Command, slots: map[string]*scriptSlot{}, calls: map[string]*HeldCall{}, stores: map[string]wire.HeldNode{}}
	session, err := New(Config{
		Worker:  "w",
		Hello:   wire.Hello{Slots: int(s.Number(s.Text("slots", "2"))), Storage: s.Text("storage", ""), Holds: d.HasArg("holds")},
		MaxKept: int(s.Number(s.Text("max-kept", "0"))),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.session = session
}

func (s *script) tick() { s.step(Tick{}) }

// step passes an input to the session and prints its actions.
func (s *script) step(in Input) {
	for _, a := range s.session.Step(s.now, in) {
		if sent, ok := a.(SendReport); ok {
			s.sent = sent
			if err := sent.Report.Validate(); err != nil {
				s.T.Errorf("report: %v", err)
			}
		}
		if asked, ok := a.(ReadRecord); ok {
			s.asked = asked
		}
		if store, ok := a.(StoreNode); ok {
			s.stores[fmt.Sprint(store.Held.Job, " ", store.Held.Node)] = store.Held
		}
		s.printf("%v %s", s.now, brief(a))
	}
}

// call makes a direct call, like slots and tasks.
func (s *script) call() {
	switch s.D.Cmd {
	case "opened":
		s.session.Opened(s.Word(0))
	case "open-failed":
		s.session.OpenFailed(s.Word(0), wire.Failure{Error: "cannot open", Function: wire.Open})
	case "announce":
		s.printf("%s must wait: %t", s.Word(1), s.session.Announce(s.session.Alone(s.Word(0)), s.Word(1)))
	case "announced":
		s.printf("the leader knows: %t", s.session.Announced(s.session.work.alone.span))
	case "take-call":
		s.takeCall(s.Text("call", "1"))
	case "return", "lose-call":
		s.endCall(s.Text("call", "1"))
	case "stored":
		if !s.session.NodeStored(s.stores[s.Word(0)+" "+s.Word(1)], strings.Repeat("00", 32)) {
			s.printf("the leader is not told")
		}
	case "lost":
		s.session.NodeLost(s.Word(0), s.Node(s.Word(1)))
	default:
		s.callSlot(s.Text("slot", "1"))
	}
}

// callSlot makes a direct call of a slot.
func (s *script) callSlot(name string) {
	if s.slots[name] == nil {
		s.slots[name] = &scriptSlot{}
	}
	slot := s.slots[name]
	switch s.D.Cmd {
	case "take":
		slot.span = s.session.Take()
		if slot.span == nil {
			s.printf("slot %s gets nothing", name)
			return
		}
		slot.done = engine.Span{Lo: slot.span.claimed, Hi: slot.span.claimed}
		s.printf("slot %s gets %v of %s", name, slot.span.id, slot.span.Job())
	case "auditors":
		s.printf("auditors of slot %s: %v", name, s.session.Auditors(slot.span))
	case "run":
		claim := s.session.Claim(slot.span, s.Number(s.Word(0)), false)
		if claim.Empty() {
			s.printf("slot %s must release its span", name)
			return
		}
		slot.done.Hi = claim.Hi
		s.printf("slot %s runs %v", name, claim)
	case "deliver":
		items, held := s.items(slot)
		if err := s.session.Deliver(slot.span, slot.done.Hi, slot.done.Hi, items, held...); err != nil {
			s.printf("%v", err)
			return
		}
		slot.done.Lo = slot.done.Hi
	case "hand-over":
		s.printf("slot %s delivers up to %d, may hold: %v", name, s.session.HandOver(slot.span, slot.done.Hi), s.session.MayHold(0))
	case "release":
		s.session.Release(slot.span)
		slot.span = nil
	case "lose":
		s.session.Lose(slot.span, wire.Failure{Partition: slot.done.Hi - 1, Error: "did not return"})
	default:
		s.D.Fatalf(s.T, "unknown command %s", s.D.Cmd)
	}
}

func (s *script) takeCall(name string) {
	h := s.session.TakeCall()
	if h == nil {
		s.printf("no call begins")
		return
	}
	s.calls[name] = h
	s.printf("call %s is %v, %v of %s, assigned by the leader of epoch %d", name, h.id, h.Call().Function, h.Opening().Job, h.Epoch())
}

func (s *script) endCall(name string) {
	h := s.calls[name]
	call := h.Call()
	failure := wire.Failure{Error: "no disk", Function: call.Function, Node: call.Node}
	var item wire.Item
	kept := false
	switch {
	case s.D.Cmd == "lose-call":
		s.session.LoseCall(h, failure)
		return
	case s.D.HasArg("abandoned"):
		s.session.AbandonCall(h)
		return
	case s.D.HasArg("held"):
		kept = s.session.ReturnHeld(h, wire.HeldNode{Node: call.Node, Size: 1000, Lacking: s.Number(s.Text("lacking", "0"))})
	case s.D.HasArg("failed"):
		item.Failure = &failure
	case s.D.HasArg("blob"):
		item.Partial = storedPartial(call.Node)
	case call.Function == wire.Merge:
		partial := wire.NewPartial(call.Node, []byte("merged"))
		item.Partial = &partial
	default:
		output := wire.NewOutput(call.Function, 1000, []byte("output"))
		item.Output = &output
	}
	blobs := blobsOf(item)
	if s.D.HasArg("wrote") {
		blobs = append(blobs, s.Text("wrote", ""))
	}
	if !kept && (item == wire.Item{} || !s.session.Return(h, item, blobs)) {
		s.printf("what call %s returned is dropped", name)
	}
	delete(s.calls, name)
}

func (s *script) items(slot *scriptSlot) (items []wire.Item, held []wire.HeldNode) {
	for _, n := range slot.span.job.tree.Cover(slot.done) {
		if s.D.HasArg("held") {
			items = append(items, wire.Item{Held: &n})
			held = append(held, wire.HeldNode{Node: n, Size: 1000})
			continue
		}
		if s.D.HasArg("blob") {
			items = append(items, wire.Item{Partial: storedPartial(n)})
			continue
		}
		p := wire.NewPartial(slot.span.job.tree.Lift(n), make([]byte, s.Number(s.Text("size", "1"))))
		items = append(items, wire.Item{Partial: &p})
	}
	return items, held
}

// storedPartial returns the partial of a node whose data is in a blob.
func storedPartial(n engine.Node) *wire.Partial {
	return &wire.Partial{Node: n, Blob: fmt.Sprintf("%064x", n.Index), Size: 1000}
}

// receipt makes a receipt, by default for the last report.
func (s *script) receipt() ReceiptHeard {
	r := wire.Receipt{Epoch: s.sent.Report.Epoch, Sequence: s.sent.Report.Sequence, Storage: s.Text("storage", ""), Holds: s.D.HasArg("holds")}
	job := func(id string) *wire.JobReceipt {
		i := slices.IndexFunc(r.Jobs, func(j wire.JobReceipt) bool { return j.Job == id })
		if i < 0 {
			i, r.Jobs = len(r.Jobs), append(r.Jobs, wire.JobReceipt{Job: id})
		}
		return &r.Jobs[i]
	}
	for _, a := range s.D.CmdArgs {
		if len(a.Vals) == 0 {
			continue
		}
		name := a.Vals[0]
		switch a.Key {
		case "epoch":
			r.Epoch = s.Number(name)
		case "sequence":
			r.Sequence = s.Number(name)
		case "every":
			r.Every = s.Duration(name)
		case "refused":
			r.Refused = name
		case "benched":
			r.Benched = name
		case "assign", "alone":
			s.assign(&r, name, 1000, wire.Assignment{Span: engine.Span{Lo: s.Number(a.Vals[1]), Hi: s.Number(a.Vals[2])}, Alone: a.Key == "alone"})
		case "call", "beside":
			s.assignCall(&r, a.Vals)
			if a.Key == "beside" {
				r.Assigned[len(r.Assigned)-1].Call.Within = 10 * time.Second
			}
		case "cut":
			r.Cuts = append(r.Cuts, wire.Cut{ID: wire.SpanID{Epoch: r.Epoch, Number: s.Number(name)}, Hi: s.Number(a.Vals[1])})
		case "received":
			job(name).Received = s.Number(a.Vals[1])
		case "durable":
			job(name).Durable, job(name).Received = s.Number(a.Vals[1]), s.Number(a.Vals[1])
		case "ended":
			job(name).Ended = true
		case "auditors":
			job(name).Auditors = a.Vals[1:]
		case "release":
			job(name).Release = append(job(name).Release, s.Node(a.Vals[1]))
		case "store":
			job(name).Store = append(job(name).Store, s.Node(a.Vals[1]))
		}
	}
	return ReceiptHeard{Exchange: s.exchange(), Receipt: r}
}

// assign adds the next assignment and the opening of its job to a receipt.
func (s *script) assign(r *wire.Receipt, job string, partitions uint64, a wire.Assignment) {
	s.spans++
	a.ID, a.Job = wire.SpanID{Epoch: r.Epoch, Number: s.spans}, job
	r.Opens = append(r.Opens, wire.Opening{Job: job, Partitions: partitions})
	r.Assigned = append(r.Assigned, a)
}

// assignCall adds a call to a receipt: the job, the function and, if the worker holds the left operand
// of a merge, the worker that holds the right one.
func (s *script) assignCall(r *wire.Receipt, values []string) {
	function, _ := s.Call(values[1])
	partitions, call := uint64(1000), wire.Call{Function: function}
	left, right := wire.NewPartial(engine.Leaf(0), nil), wire.NewPartial(engine.Leaf(1), nil)
	switch {
	case call.Function == wire.Plan:
		partitions = 0
	case call.Function == wire.Finish:
		call.Operands = []wire.Partial{left}
	case len(values) > 2:
		left, right = wire.Partial{Node: left.Node, Size: 1000, Holder: "w"}, wire.Partial{Node: right.Node, Size: 1000, Holder: values[2]}
		fallthrough
	default:
		call.Node, call.Operands = engine.Node{Level: 1}, []wire.Partial{left, right}
	}
	s.assign(r, values[0], partitions, wire.Assignment{Call: &call})
}

func (s *script) exchange() uint64 {
	return s.Number(s.Text("exchange", strconv.FormatUint(s.sent.Exchange, 10)))
}

// brief describes an action in one line.
func brief(a Action) string {
	switch a := a.(type) {
	case SendReport:
		return fmt.Sprintf("send report #%d: %s", a.Exchange, briefReport(a.Report))
	case ResendReport:
		return fmt.Sprintf("resend report #%d", a.Exchange)
	case AskLeader:
		return "ask who leads"
	case ReadRecord:
		return fmt.Sprintf("read the record, while following epoch %d", a.Followed)
	case CollectFromSlots:
		return "collect from slots"
	case OpenJob:
		return "open job " + a.Opening.Job
	case EndJob:
		if len(a.Blobs) > 0 {
			return fmt.Sprintf("end job %s, remove %d blobs", a.Job, len(a.Blobs))
		}
		return "end job " + a.Job
	case DropNode:
		return fmt.Sprintf("drop node %v of %s", a.Node, a.Job)
	case StoreNode:
		return fmt.Sprintf("store node %v of %s", a.Held.Node, a.Held.Job)
	case WakeSlots:
		return "wake slots"
	case CancelRunning:
		return fmt.Sprintf("cancel %d running", a.Running)
	case Leave:
		return fmt.Sprintf("leave: %s; %d items, %d running", a.Reason, a.Items, a.Running)
	case Following:
		if a.Epoch < a.Was {
			return fmt.Sprintf("notice: following epoch %d instead of %d", a.Epoch, a.Was)
		}
		return fmt.Sprintf("notice: following epoch %d", a.Epoch)
	case ReportAnswered:
		return fmt.Sprintf("notice: answered after %v", a.Took)
	case ReportRefused:
		return fmt.Sprintf("notice: refused by epoch %d: %s; wait %v", a.Epoch, a.Reason, a.Wait)
	case Benched:
		return fmt.Sprintf("notice: benched by epoch %d: %s", a.Epoch, a.Reason)
	case ReceiptDropped:
		return fmt.Sprintf("notice: dropped: %v", a.Err)
	case OrderIgnored:
		return fmt.Sprintf("notice: ignored: %v", a.Err)
	case MemoryFull:
		return fmt.Sprintf("notice: memory is full: %d bytes", a.Bytes)
	case DrainBegun:
		return fmt.Sprintf("notice: drain begins, %d running", a.Running)
	}
	return fmt.Sprintf("unknown action %T", a)
}

func briefReport(r wire.Report) string {
	list := []string{fmt.Sprintf("epoch %d sequence %d", r.Epoch, r.Sequence)}
	if r.Hello != nil {
		list = append(list, "hello")
	}
	if r.Draining {
		list = append(list, "draining")
	}
	for _, j := range r.Jobs {
		if len(j.Items) == 0 {
			list = append(list, "has "+j.Job)
			continue
		}
		list = append(list, fmt.Sprintf("items %d to %d of %s", j.First, j.First+uint64(len(j.Items))-1, j.Job))
	}
	if r.More {
		list = append(list, "more follows")
	}
	if r.LostSlots+r.LostCalls > 0 {
		list = append(list, fmt.Sprintf("lost %d slots and %d calls", r.LostSlots, r.LostCalls))
	}
	if len(r.Spans) > 0 {
		list = append(list, "holds "+held(r))
	}
	for _, n := range r.Nodes {
		list = append(list, fmt.Sprintf("node %v of %s", n.Node, n.Job))
	}
	return strings.Join(list, ", ")
}

// state describes what the session waits for and what it holds.
func (s *script) state() string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	session := s.session
	switch due := session.Due(); {
	case session.drain.left:
		return "left\n"
	case due == never:
		add("waits")
	default:
		add("due %v", due)
	}
	if !session.leader.connected {
		add("disconnected")
	}
	if session.conversation.inFlight {
		add("in flight #%d", session.schedule.exchange)
	}
	if session.schedule.collecting {
		add("awaits %d slots", session.work.awaited)
	}
	if session.leader.gone {
		add("leader gone")
	}
	if items, _ := session.Kept(); items+session.work.held+session.work.busy > 0 {
		add("holds %d spans, %d busy, %d items", session.work.held, session.work.busy, items)
	}
	if nodes, _ := session.Held(); nodes > 0 {
		add("%d nodes", nodes)
	}
	if session.work.calling+session.work.lostSlots > 0 {
		add("%d calls run, lost %d slots and %d calls", session.work.calling, session.work.lostSlots, session.work.lostCalls)
	}
	return strings.Join(list, "; ") + "\n"
}

func (s *script) printf(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }
