package jobs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// Check tests whether a job is deterministic. Check runs the job several times in this process,
// each time with another number of slots and another division into spans, and compares the partials
// and the results byte by byte. One run encodes and decodes the partial of each node, and another
// run only the partial of the root, because runs in a cluster differ in which partials are encoded.
//
// A job that cannot be audited ([Definition].NoAudit) cannot be checked. A check takes about the time of four runs.
// If the job has estimates, two further runs judge its prefixes, each prefix twice. If one of them suffices, the
// other four runs compute only the partitions of this prefix. A check finds results that depend on the order of
// calls, the time, random numbers or the iteration order of a map, and data that the codec loses. A
// check does not find results that depend on the machine or the build.
type Check struct {
	Slots    int // maximum number of slots of a run; less than 4 means 4
	Attempts int // number of attempts per partition, without pauses; at least 1
	Grant    Grant
	Memory   int64 // as in Local

	// Progress, if not nil, is called with the number of finished partitions and the number of all partitions.
	// The two numbers are sums over the four runs whose partials are compared, and over the rounds so far. Progress is called from several goroutines.
	Progress func(done, all uint64)
}

// CheckResult is the result of a check whose runs gave the same bytes.
type CheckResult struct {
	LocalResult
	Runs []string // descriptions of the runs whose results were compared
}

// DifferenceError is the error for a job that is not deterministic.
type DifferenceError struct {
	What  string // the value that differs, such as "node 2/1, partitions [4,8)"
	Runs  string // descriptions of the runs, or of the calls, that gave different bytes
	Cause string // possible causes of the difference
}

func (e *DifferenceError) Error() string {
	return fmt.Sprintf("%s: %s give different bytes: %s", e.What, e.Runs, e.Cause)
}

const (
	causePlan     = "Plan depends on more than the parameters, such as the time or random numbers"
	causeFinish   = "Finish depends on more than its operands, such as the time, random numbers or the order of a map"
	causeMerge    = "Merge depends on more than its operands, such as the time, random numbers or the order of a map"
	causeEstimate = "Estimate or Stop depends on more than its arguments, such as the time, random numbers or the order of a map"
	causePrefix   = "the result of Stop or Finish depends on more than the prefix, or Map on the number of calls before it"
	causeCodec    = "the codec loses a part of the value, or depends on the order of a map"
	causeShards   = "Merge uses more of a partial than one shard, such as a number at the front or the length of a vector, or the vectors of the job differ in length; want a definition without Shards"
	causeLarge    = "the functions of Large do not return what Merge and Finish return"
	causeEncoded  = "Merge differs for partials that were encoded and decoded, because the codec loses a part of the value, or Merge depends on more than its operands, or Fill on what its spare value contains"
	causeShared   = "Map or Merge depends on which calls came before it or run at the same time, such as by memory that slots share, or Fill on what its spare value contains"
)

// checkRun is the configuration of one run of a check.
type checkRun struct {
	name   string
	slots  int
	joins  bool     // the job is opened for each round
	pieces []uint64 // for each span, the first partition after which the stack is drained; nil if the stack is drained after each partition
}

// piecesPerSlot is the number of spans per slot in runs with random cuts.
const piecesPerSlot = 16

// Run runs the job several times. If the runs differ, the error is a *[DifferenceError]. Any other
// error comes from the job. The params are in the stored form.
func (c Check) Run(ctx context.Context, job Job, params Params) (CheckResult, error) {
	ctx, release := WithGrant(withMemory(ctx, c.Memory), c.Grant)
	defer release()
	ctx, dropSpills := withTempSpills(ctx)
	defer dropSpills()
	if err := job.CheckAudit(params); err != nil {
		return CheckResult{}, err
	}
	plan, err := planTwice(ctx, job, params)
	if err != nil {
		return CheckResult{}, err
	}
	most := max(c.Slots, 4)
	judged, judges, err := c.judge(ctx, job, params, plan, most)
	if err != nil {
		return CheckResult{}, err
	}
	needed := plan.Partitions
	if judged.Stopped != nil {
		needed = judged.Stopped.At
	}
	tree, err := engine.NewTree(needed)
	if err != nil {
		return CheckResult{}, err
	}
	runs := []checkRun{
		{name: "run 1 (1 slot, each partial encoded)", slots: 1},
		{name: "run 2 (1 slot, only the root encoded)", slots: 1, pieces: []uint64{0}},
		{name: "run 3 (2 slots, random cuts)", slots: 2, pieces: randomCuts(3, needed, 2)},
		{name: fmt.Sprintf("run 4 (%d slots, other random cuts)", most), slots: most, pieces: randomCuts(4, needed, most), joins: true},
	}
	k := &checker{
		job: job, params: params, plan: plan, tree: tree, attempts: c.Attempts,
		reference: runs[0].name, digests: make(map[engine.Node]engine.SHA256),
		progress: func(uint64) {},
	}
	for subtrees(tree, k.lowest) > maxDigests {
		k.lowest++
	}
	if c.Progress != nil {
		var done atomic.Uint64
		pass := needed * uint64(len(runs)) // in each round of a job with rounds
		k.progress = func(n uint64) {
			finished := done.Add(n)
			c.Progress(finished, pass*((finished-1)/pass+1))
		}
	}
	result := CheckResult{LocalResult: LocalResult{Partitions: plan.Partitions, Stopped: judged.Stopped}}
	for _, r := range runs {
		result.Runs = append(result.Runs, r.name)
	}
	root, rounds, err := k.root(ctx, runs)
	if err != nil {
		return CheckResult{}, err
	}
	result.Rounds = rounds
	if result.Result, result.Attachment, err = job.finish(ctx, params, engine.Operand{Data: root}); err != nil {
		return CheckResult{}, err
	}
	finished, _, err := job.finish(ctx, params, engine.Operand{Data: root})
	if err != nil {
		return CheckResult{}, err
	}
	if !bytes.Equal(result.Result, finished) {
		return CheckResult{}, &DifferenceError{"result", "two calls of Finish", causeFinish}
	}
	if large := job.binding.Large(params); large.Finish != nil {
		if finished, _, err = large.Finish(ctx, io.NewSectionReader(bytes.NewReader(root), 0, int64(len(root)))); err != nil {
			return CheckResult{}, err
		}
		if !bytes.Equal(result.Result, finished) {
			return CheckResult{}, &DifferenceError{"result", "Finish and the Finish of Large", causeLarge}
		}
	}
	if len(judges) > 0 && !bytes.Equal(result.Result, judged.Result) {
		return CheckResult{}, &DifferenceError{"result", runs[0].name + " and " + judges[0], causePrefix}
	}
	result.Runs = append(result.Runs, judges...)
	return result, nil
}

// judge runs a job with estimates twice and compares the estimates and stops. For other jobs it does nothing.
func (c Check) judge(ctx context.Context, job Job, params Params, plan Plan, slots int) (judged LocalResult, runs []string, err error) {
	if !job.Estimates(params) {
		return judged, nil, nil
	}
	var estimates [2][]Estimated
	var results [2]LocalResult
	for i, n := range []int{1, slots} {
		runs = append(runs, fmt.Sprintf("run %d (%d slots, each prefix judged twice)", 5+i, n))
		local := Local{Slots: n, Attempts: c.Attempts, Grant: c.Grant, twice: true}
		local.Estimated = func(e Estimated) { estimates[i] = append(estimates[i], e) }
		if results[i], err = local.Run(ctx, job, params); err != nil {
			return judged, nil, fmt.Errorf("%s: %w", runs[i], err)
		}
	}
	for i, e := range estimates[0] {
		if i < len(estimates[1]) && !bytes.Equal(e.Value, estimates[1][i].Value) {
			return judged, nil, &DifferenceError{fmt.Sprintf("estimate of the first %d partitions", e.Partitions), strings.Join(runs, " and "), causeShared}
		}
	}
	if len(estimates[0]) != len(estimates[1]) {
		return judged, nil, &DifferenceError{"prefix that suffices", strings.Join(runs, " and "), causeEstimate}
	}
	return results[0], runs, nil
}

// planTwice plans the job twice, and returns an error if the plans differ.
func planTwice(ctx context.Context, job Job, params Params) (Plan, error) {
	plan, err := job.Plan(ctx, params)
	if err != nil {
		return plan, err
	}
	again, err := job.Plan(ctx, params)
	if err == nil && (plan.Partitions != again.Partitions || !bytes.Equal(plan.Data, again.Data)) {
		err = &DifferenceError{"plan", "two calls of Plan", causePlan}
	}
	return plan, err
}

// randomCuts returns the first partitions of spans, in a random order. Each check gets the same
// spans, so that a difference is reproducible.
func randomCuts(seed, partitions uint64, slots int) []uint64 {
	random := rand.New(rand.NewPCG(seed, partitions))
	cuts := []uint64{0}
	for range slots * piecesPerSlot {
		cuts = append(cuts, random.Uint64N(partitions))
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	random.Shuffle(len(cuts), func(i, j int) { cuts[i], cuts[j] = cuts[j], cuts[i] })
	return cuts
}

// maxDigests is the largest number of nodes of one level whose digests are kept, which bounds memory. Nodes on
// lower levels are compared only as parts of the nodes above them.
const maxDigests = 1 << 17

type checker struct {
	job       Job
	params    Params
	plan      Plan
	tree      engine.Tree
	attempts  int
	reference string // description of the first run, with which the other runs are compared
	lowest    uint8  // lowest level of the tree whose nodes are compared
	digests   map[engine.Node]engine.SHA256
	open      func(ctx context.Context, r checkRun) (openTask, error)
	recording bool // true during the reference run
	progress  func(partitions uint64)
}

// root returns the operand of Finish, and the number of rounds of a job with rounds.
func (k *checker) root(ctx context.Context, runs []checkRun) (root []byte, rounds uint64, err error) {
	if k.job.MaxRounds(k.params) > 0 {
		return k.rounds(ctx, runs)
	}
	k.open = func(ctx context.Context, _ checkRun) (openTask, error) {
		return k.job.binding.open(ctx, k.params, k.plan)
	}
	root, err = k.compare(ctx, runs)
	return root, 0, err
}

// compare runs the job, or one round of it, several times and returns the root's partial.
func (k *checker) compare(ctx context.Context, runs []checkRun) (root []byte, err error) {
	clear(k.digests)
	for i, r := range runs {
		k.recording = i == 0
		if root, err = k.run(ctx, r); err != nil {
			return nil, err
		}
	}
	return root, nil
}

// run runs the job once and returns the root's partial.
func (k *checker) run(ctx context.Context, r checkRun) (root []byte, err error) {
	task, err := k.open(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	defer func() {
		if closeErr := task.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("%s: close job %s: %w", r.name, k.job.Name(), closeErr)
		}
	}()
	pieces, span := k.tree.Partitions(), func(i uint64) Span { return Span{Lo: i, Hi: i + 1} }
	if r.pieces != nil {
		ends := append(slices.Sorted(slices.Values(r.pieces)), k.tree.Partitions())
		pieces, span = uint64(len(r.pieces)), func(i uint64) Span {
			at, _ := slices.BinarySearch(ends, r.pieces[i])
			return Span{Lo: ends[at], Hi: ends[at+1]}
		}
	}
	f := checkForest{checker: k, ctx: ctx, run: r.name, waiting: make(map[engine.Node][]byte)}
	local := Local{Slots: r.slots, Attempts: k.attempts}
	err = local.each(ctx, task, pieces, span, func(i uint64, s engine.Stack) error {
		partials, err := s.Drain(span(i).Hi)
		if err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, p := range partials {
			if err := f.add(k.tree.Lift(p.Node), p.Data); err != nil {
				return err
			}
		}
		k.progress(span(i).Len())
		return nil
	})
	var differs *nodeDiffers
	var difference *DifferenceError
	switch {
	case errors.As(err, &differs):
		return nil, k.explain(ctx, task, r, differs.node)
	case errors.As(err, &difference):
		return nil, difference
	case err != nil:
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	if changed, err := stateChanged(task); changed || err != nil {
		return nil, cmp.Or(err, error(&DifferenceError{"state", "the state before and after " + r.name, causeState}))
	}
	return f.waiting[k.tree.Root()], nil
}

// checkForest merges the partials of a run, in any order.
type checkForest struct {
	*checker
	ctx     context.Context
	run     string
	mu      sync.Mutex
	waiting map[engine.Node][]byte
}

func (f *checkForest) add(n engine.Node, data []byte) error { return f.merge(n, data, f.check) }

// merge adds a node, and calls check with the node and with each node that is merged from it.
func (f *checkForest) merge(n engine.Node, data []byte, check func(engine.Node, []byte) error) error {
	for {
		if err := check(n, data); err != nil {
			return err
		}
		sibling, ok := f.waiting[n.Sibling()]
		if n == f.tree.Root() || !ok {
			f.waiting[n] = data
			return nil
		}
		delete(f.waiting, n.Sibling())
		left, right := sibling, data
		if !n.IsRight() {
			left, right = data, sibling
		}
		n = f.tree.Lift(n.Parent())
		var err error
		if data, err = f.job.binding.Merge(f.ctx, f.params, engine.Operand{Data: left}, engine.Operand{Data: right}); err != nil {
			return err
		}
		if !f.recording {
			continue
		}
		again, err := f.job.binding.Merge(f.ctx, f.params, engine.Operand{Data: left}, engine.Operand{Data: right})
		if err != nil {
			return err
		}
		if !bytes.Equal(data, again) {
			return &DifferenceError{f.describe(n), "two merges of its children", causeMerge}
		}
		if err := cmp.Or(f.checkShards(n, left, right, data), f.checkLarge(n, left, right, data)); err != nil {
			return err
		}
	}
}

// checkShards compares a merge with merges of shards. Nodes differ in their number of shards, from 2 to 8.
func (f *checkForest) checkShards(n engine.Node, left, right, merged []byte) error {
	differs, err := f.job.binding.checkShards(left, right, merged, 2+int((uint64(n.Level)+n.Index)%7))
	switch {
	case err != nil:
		return fmt.Errorf("%s, in shards: %w", f.describe(n), err)
	case differs != "":
		return &DifferenceError{f.describe(n), "its merge and merges of its children's shards (" + differs + ")", causeShards}
	}
	return nil
}

// checkLarge compares a merge with one that reads and writes streams.
func (f *checkForest) checkLarge(n engine.Node, left, right, merged []byte) error {
	large := f.job.binding.Large(f.params)
	if large.Merge == nil {
		return nil
	}
	var again bytes.Buffer
	if err := large.Merge(f.ctx, bytes.NewReader(left), bytes.NewReader(right), &again); err != nil {
		return fmt.Errorf("%s, as a stream: %w", f.describe(n), err)
	}
	if !bytes.Equal(again.Bytes(), merged) {
		return &DifferenceError{f.describe(n), "its merge and the Merge of Large", causeLarge}
	}
	return nil
}

// nodeDiffers is the error for a node whose partial differs from the reference's
// partial.
type nodeDiffers struct{ node engine.Node }

func (e *nodeDiffers) Error() string { return fmt.Sprintf("node %v differs", e.node) }

// check records a node's partial or compares it with the partial of the reference.
func (k *checker) check(n engine.Node, data []byte) error {
	if k.recording {
		again, err := k.job.binding.recode(data)
		if err != nil {
			return fmt.Errorf("%s: decode and encode: %w", k.describe(n), err)
		}
		if !bytes.Equal(data, again) {
			return &DifferenceError{k.describe(n), "its partial and the same partial after decoding and encoding", causeCodec}
		}
	}
	if n.Level < k.lowest && n != k.tree.Root() {
		return nil
	}
	digest := engine.Digest(data)
	if k.recording {
		k.digests[n] = digest
	} else if k.digests[n] != digest {
		return &nodeDiffers{n}
	}
	return nil
}

// explain finds the cause of a difference at node n. explain computes node n and its descendants
// separately, without encoding partials below the computed node, and looks for the lowest node that
// still differs from the reference.
func (k *checker) explain(ctx context.Context, task openTask, r checkRun, n engine.Node) error {
	runs := k.reference + " and " + r.name
	differs, err := k.differsAlone(ctx, task, n)
	if err != nil {
		return err
	}
	if !differs {
		return &DifferenceError{k.describe(n), runs, causeShared}
	}
	for differs && k.tree.Span(n).Len() > 1 {
		left, right := k.tree.Children(n)
		differs = false
		for _, child := range []engine.Node{left, right} {
			if child.Level < k.lowest {
				continue
			}
			if differs, err = k.differsAlone(ctx, task, child); err != nil {
				return err
			}
			if differs {
				n = child
				break
			}
		}
	}
	if k.tree.Span(n).Len() == 1 {
		return &DifferenceError{k.describe(n), runs, engine.CauseMap}
	}
	return &DifferenceError{k.describe(n), runs, causeEncoded}
}

// differsAlone runs a node's partitions on a new stack and reports whether the node's partial
// differs from the reference.
func (k *checker) differsAlone(ctx context.Context, task openTask, n engine.Node) (bool, error) {
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	span := k.tree.Span(n)
	var partials []engine.Partial
	s := task.NewStack()
	err := Local{Attempts: k.attempts}.runSpan(ctx, s, span, &stop)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err == nil {
		partials, err = s.Drain(span.Hi)
	}
	if err != nil {
		return false, fmt.Errorf("run %s again: %w", k.describe(n), err)
	}
	f := checkForest{checker: k, ctx: ctx, waiting: make(map[engine.Node][]byte)}
	for _, p := range partials { // several, if the job has estimates
		if err := f.merge(k.tree.Lift(p.Node), p.Data, func(engine.Node, []byte) error { return nil }); err != nil {
			return false, err
		}
	}
	return k.check(n, f.waiting[n]) != nil, nil
}

func (k *checker) describe(n engine.Node) string {
	if span := k.tree.Span(n); span.Len() > 1 {
		return fmt.Sprintf("node %v, partitions %v", n, span)
	}
	return fmt.Sprintf("node %v, partition %d", n, k.tree.Span(n).Lo)
}
