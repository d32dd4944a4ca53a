package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// shelf is a collection of kept partials in memory, which may lose partials.
type shelf struct {
	mu   sync.Mutex
	list map[jobs.Key]jobs.KeptPartial
	lost map[jobs.Key]bool // partials that Has reports and Get has not
}

func newShelf() *shelf {
	return &shelf{list: map[jobs.Key]jobs.KeptPartial{}, lost: map[jobs.Key]bool{}}
}

func (s *shelf) Has(key jobs.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.list[key]
	return ok
}

func (s *shelf) Get(_ context.Context, key jobs.Key) (jobs.KeptPartial, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost[key] {
		delete(s.list, key)
	}
	p, ok := s.list[key]
	return p, ok
}

func (s *shelf) Keep(_ context.Context, key jobs.Key, p jobs.KeptPartial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list[key] = p
}

// wordParams are the parameters of a job that joins words.
type wordParams struct {
	Words string `json:"words"` // words with commas between them; each is the input of a partition
	Style string `json:"style"` // a number lets the job have estimates, and stop at the first rung from this number on
}

// stop returns the number of words that suffice. It returns false if the job has no estimates.
func (p wordParams) stop() (uint64, bool) {
	n, err := strconv.ParseUint(p.Style, 10, 64)
	return n, err == nil
}

// work is how long a partition takes, so that its partial is worth its bytes.
const work = 50 * time.Microsecond

// words maps each word to itself in parentheses, and counts how often it does so.
type words struct {
	list   []string
	style  string
	mapped *atomic.Uint64
}

func (w words) Map(_ context.Context, partition uint64) (string, error) {
	for began := time.Now(); time.Since(began) < work; {
	}
	w.mapped.Add(1)
	return w.style + w.list[partition], nil
}

// keyed is a mapper with keys: a word that begins with ? has none.
type keyed struct{ words }

func (w keyed) Key(_ context.Context, partition uint64) []byte {
	word := w.list[partition]
	switch {
	case strings.HasPrefix(word, "?"):
		return nil
	case strings.HasPrefix(word, "!"):
		panic("a key that panics")
	}
	return []byte(word)
}

// streaming is like keyed, but yields the values of a span.
type streaming struct{ keyed }

func (w streaming) Stream(ctx context.Context, span jobs.Span) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for p := span.Lo; p < span.Hi; p++ {
			if !yield(w.Map(ctx, p)) {
				return
			}
		}
	}
}

// wordJob returns a job whose partials show the shape of the tree.
func wordJob(version string, mapper func(words) jobs.Mapper[string], mapped *atomic.Uint64) jobs.Job {
	return jobs.MustNew(jobs.Definition[wordParams, string, string]{
		Name: "words", Version: version, Summary: "joins words",
		Plan: func(_ context.Context, p wordParams) (jobs.Plan, error) {
			return jobs.Plan{Partitions: uint64(strings.Count(p.Words, ",")) + 1, Data: []byte(p.Words)}, nil
		},
		Open: func(_ context.Context, p wordParams, plan jobs.Plan) (jobs.Mapper[string], error) {
			return mapper(words{strings.Split(string(plan.Data), ","), p.Style, mapped}), nil
		},
		Merge:  func(left, right string) (string, error) { return "(" + left + " " + right + ")", nil },
		Finish: func(_ context.Context, _ wordParams, root string) (string, error) { return root, nil },
		Stop: func(_ context.Context, p wordParams, _ string, n uint64) (bool, error) {
			suffices, _ := p.stop()
			return n >= suffices, nil
		},
		NoEstimates: func(p wordParams) bool {
			_, has := p.stop()
			return !has
		},
		NoReuse: func(p wordParams) string {
			if p.Style == "refused" {
				return "its style is refused"
			}
			return ""
		},
	})
}

func withKeys(w words) jobs.Mapper[string] { return keyed{w} }

// family returns the family of the job without the words, which stand for the content of the input.
func family(t rapid.TB, job jobs.Job, style string) jobs.Key {
	t.Helper()
	params, err := job.Params(nil, "style="+style)
	if err != nil {
		t.Fatal(err)
	}
	key, err := job.Family(params, "a build")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func runWords(t rapid.TB, job jobs.Job, style string, list []string, kept jobs.Kept) jobs.LocalResult {
	t.Helper()
	params, err := job.Params(nil, "style="+style, "words="+strings.Join(list, ","))
	if err != nil {
		t.Fatal(err)
	}
	local := jobs.Local{Slots: 3, Attempts: 1}
	if kept != nil {
		local.Reuse = jobs.Reuse{Family: family(t, job, style), Kept: kept}
	}
	result, err := local.Run(context.Background(), job, params)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func numbered(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint("w", i))
	}
	return list
}

// TestReuse checks how much a job computes after a change of its input.
func TestReuse(t *testing.T) {
	before := numbered(365)
	for _, c := range []struct {
		name   string
		change func() []string
		mapped uint64
	}{
		{"nothing", func() []string { return before }, 0},
		{"one more", func() []string { return append(slices.Clone(before), "new") }, 1},
		{"one changed in the middle", func() []string {
			list := slices.Clone(before)
			list[180] = "new"
			return list
		}, 1},
		{"one inserted in the middle", func() []string { return slices.Insert(slices.Clone(before), 180, "new") }, 1},
		{"one removed", func() []string { return slices.Delete(slices.Clone(before), 100, 101) }, 0},
		{"one that has no key", func() []string { return append(slices.Clone(before), "?") }, 1},
	} {
		for _, kind := range []struct {
			name, style string
			mapper      func(words) jobs.Mapper[string]
		}{
			{"Map", "", withKeys},
			{"Stream", "", func(w words) jobs.Mapper[string] { return streaming{keyed{w}} }},
			{"estimates", "1000", withKeys},
		} {
			t.Run(c.name+"/"+kind.name, func(t *testing.T) {
				var mapped atomic.Uint64
				job, kept, style := wordJob("1", kind.mapper, &mapped), newShelf(), kind.style
				if r := runWords(t, job, style, before, kept); r.Reused.Partitions != 0 {
					t.Errorf("the first run reused %d partitions", r.Reused.Partitions)
				}
				after := c.change()
				want := string(runWords(t, job, style, after, nil).Result)
				mapped.Store(0)
				got := runWords(t, job, style, after, kept)
				if string(got.Result) != want {
					t.Errorf("the result differs from a run without kept partials")
				}
				if mapped.Load() != c.mapped || got.Reused.Partitions != uint64(len(after))-c.mapped {
					t.Errorf("%d partitions were mapped and %d reused, want %d of %d mapped", mapped.Load(), got.Reused.Partitions, c.mapped, len(after))
				}
				if got.Reused.Work < time.Duration(got.Reused.Partitions)*work {
					t.Errorf("saved %v, want at least %v for each partition", got.Reused.Work, work)
				}
			})
		}
	}
}

// TestReuseIsExact changes the input at random, and loses and damages kept partials. The results must be
// those of runs without kept partials.
func TestReuseIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var mapped atomic.Uint64
		job, kept := wordJob("1", withKeys, &mapped), newShelf()
		random := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		list, style := numbered(random.IntN(70)+1), rapid.SampledFrom([]string{"", "1000", "20"}).Draw(t, "style")
		for range 4 {
			at := random.IntN(len(list))
			switch random.IntN(4) {
			case 0:
				list = slices.Insert(list, at, numbered(random.IntN(9))...)
			case 1:
				list = slices.Delete(slices.Clone(list), at, len(list)-random.IntN(len(list)-at))
			case 2:
				list = append(slices.Clone(list), "?", fmt.Sprint("x", random.IntN(9)))
			}
			if len(list) == 0 {
				list = numbered(1)
			}
			for key := range kept.list {
				if random.IntN(5) == 0 {
					kept.lost[key] = true
				}
			}
			want := string(runWords(t, job, style, list, nil).Result)
			got := runWords(t, job, style, list, kept)
			if string(got.Result) != want {
				t.Fatalf("%q: got %s, want %s", list, got.Result, want)
			}
		}
	})
}

// TestReuseOfAStoppedJob checks that a stopped job counts only what it has reused below the stop.
func TestReuseOfAStoppedJob(t *testing.T) {
	var mapped atomic.Uint64
	job, kept, list := wordJob("1", withKeys, &mapped), newShelf(), numbered(365)
	first := runWords(t, job, "50", list, kept)
	mapped.Store(0)
	again := runWords(t, job, "50", list, kept)
	if first.Stopped == nil || again.Stopped == nil || *again.Stopped != *first.Stopped || string(again.Result) != string(first.Result) {
		t.Fatalf("got %s, stopped %+v, want %s, %+v", again.Result, again.Stopped, first.Result, first.Stopped)
	}
	if again.Stopped.At != 56 || again.Reused.Partitions != 56 || again.Reused.Work < 56*work {
		t.Errorf("stopped at %d, reused %+v, want 56 of 56", again.Stopped.At, again.Reused)
	}
}

// TestReuseWithoutKeyer checks that a job whose mapper is no Keyer is recognised as a whole only.
func TestReuseWithoutKeyer(t *testing.T) {
	var mapped atomic.Uint64
	job, kept := wordJob("1", func(w words) jobs.Mapper[string] { return w }, &mapped), newShelf()
	list := numbered(50)
	runWords(t, job, "", list, kept)
	mapped.Store(0)
	if runWords(t, job, "", list, kept); mapped.Load() != 0 {
		t.Errorf("the same job mapped %d partitions", mapped.Load())
	}
	if runWords(t, job, "", append(list, "new"), kept); mapped.Load() != 51 {
		t.Errorf("a job with another plan mapped %d partitions, want all", mapped.Load())
	}
}

// TestFamily checks that nothing of another version, of other parameters or of another build is reused.
func TestFamily(t *testing.T) {
	var mapped atomic.Uint64
	job := wordJob("1", withKeys, &mapped)
	params, err := job.Params(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := job.Family(params, "a build")
	if err != nil {
		t.Fatal(err)
	}
	if other, err := job.Family(params, "another build"); err != nil || other == key {
		t.Errorf("another build: %v, the same key: %v", err, other == key)
	}
	if family(t, job, "") != key || family(t, job, "other") == key || family(t, wordJob("2", withKeys, &mapped), "") == key {
		t.Error("the parameters or the version do not determine the key")
	}
	kept, list := newShelf(), numbered(20)
	runWords(t, job, "", list, kept)
	for name, run := range map[string]func(){
		"version":    func() { runWords(t, wordJob("2", withKeys, &mapped), "", list, kept) },
		"parameters": func() { runWords(t, job, "other", list, kept) },
	} {
		if mapped.Store(0); mapped.Load() != 0 {
			t.Fatal("not reset")
		}
		if run(); mapped.Load() != 20 {
			t.Errorf("another %s: %d partitions mapped, want 20", name, mapped.Load())
		}
	}
	refused, err := job.Params(nil, "style=refused")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Family(refused, "a build"); err == nil || !strings.Contains(err.Error(), "its style is refused") {
		t.Errorf("NoReuse: %v", err)
	}
}

// TestReuseAfterAFailure checks that a job that has failed leaves its partials to the next.
func TestReuseAfterAFailure(t *testing.T) {
	var mapped atomic.Uint64
	broken := true
	job := wordJob("1", func(w words) jobs.Mapper[string] { return failing{keyed{w}, &broken} }, &mapped)
	kept, list := newShelf(), numbered(40)
	params, err := job.Params(nil, "words="+strings.Join(list, ","))
	if err != nil {
		t.Fatal(err)
	}
	local := jobs.Local{Slots: 1, Attempts: 1, Reuse: jobs.Reuse{Family: family(t, job, ""), Kept: kept}}
	if _, err := local.Run(t.Context(), job, params); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	broken = false
	mapped.Store(0)
	if r := runWords(t, job, "", list, kept); mapped.Load() != 10 || r.Reused.Partitions != 30 {
		t.Errorf("mapped %d and reused %d partitions, want 10 and 30", mapped.Load(), r.Reused.Partitions)
	}
}

// failing fails from partition 30 on while it is broken.
type failing struct {
	keyed
	broken *bool
}

func (f failing) Map(ctx context.Context, partition uint64) (string, error) {
	if *f.broken && partition >= 30 {
		return "", io.ErrUnexpectedEOF
	}
	return f.keyed.Map(ctx, partition)
}

// TestKeyThatPanics checks that a panic of Key is an error of the job and does not end the process.
func TestKeyThatPanics(t *testing.T) {
	var mapped atomic.Uint64
	job := wordJob("1", withKeys, &mapped)
	params, err := job.Params(nil, "words=a,!,b")
	if err != nil {
		t.Fatal(err)
	}
	local := jobs.Local{Slots: 1, Attempts: 1, Reuse: jobs.Reuse{Family: family(t, job, ""), Kept: newShelf()}}
	if _, err := local.Run(t.Context(), job, params); err == nil || !strings.Contains(err.Error(), "a key that panics") {
		t.Errorf("got %v", err)
	}
}

// TestMissing checks that Missing counts what Run would compute, and computes nothing.
func TestMissing(t *testing.T) {
	var mapped atomic.Uint64
	job, kept, list := wordJob("1", withKeys, &mapped), newShelf(), numbered(40)
	runWords(t, job, "", list, kept)
	mapped.Store(0)
	params, err := job.Params(nil, "words="+strings.Join(append(list, "new", "?"), ","))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := job.Plan(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	missing, err := jobs.Local{Reuse: jobs.Reuse{Family: family(t, job, ""), Kept: kept}}.Missing(t.Context(), job, params, plan, nil, true)
	if want := (jobs.Missing{Partitions: 2, Uncertain: 1}); err != nil || !reflect.DeepEqual(missing, want) || mapped.Load() != 0 {
		t.Errorf("%+v are missing, %v, and %d were mapped; want %+v and none", missing, err, mapped.Load(), want)
	}
}

// named has mappers whose words are objects, such as a:1 for version 1 of the object a.
type named struct{ keyed }

func (n named) Inputs(partition uint64) []jobs.InputObject {
	name, version, _ := strings.Cut(n.keyed.words.list[partition], ":")
	return []jobs.InputObject{{Name: name, Version: version}}
}

// describedShelf is a shelf that notes the objects of the last job.
type describedShelf struct {
	*shelf
	objects []jobs.InputObject
	noted   int
}

func (d *describedShelf) Describe(objects iter.Seq[jobs.InputObject]) {
	d.objects, d.noted = slices.Collect(objects), d.noted+1
}

// TestMissingSaysWhy checks that Missing counts and names new and changed objects beside an earlier job, once each and
// only those of partitions that are not kept.
func TestMissingSaysWhy(t *testing.T) {
	var mapped atomic.Uint64
	job, kept := wordJob("1", func(w words) jobs.Mapper[string] { return named{keyed{w}} }, &mapped), &describedShelf{shelf: newShelf()}
	params, err := job.Params(nil, "words=a:1,b:1,c:1,e:1")
	if err != nil {
		t.Fatal(err)
	}
	reuse := jobs.Reuse{Family: family(t, job, ""), Kept: kept}
	for range 2 { // the second run computes nothing, so it has nothing to describe
		if _, err := (jobs.Local{Slots: 1, Attempts: 1, Reuse: reuse}).Run(t.Context(), job, params); err != nil {
			t.Fatal(err)
		}
	}
	if len(kept.objects) != 4 || kept.noted != 1 {
		t.Fatalf("the objects %v were noted %d times", kept.objects, kept.noted)
	}
	for list, want := range map[string]jobs.Missing{
		"a:1,b:1,c:1,e:1":         {Compared: true},
		"a:1,b:1,c:1,e:1,f:1":     {Compared: true, Partitions: 1, New: 1, Names: []string{"f"}},
		"a:1,b:2,c:1,e:1":         {Compared: true, Partitions: 1, Changed: 1, Names: []string{"b"}},
		"a:1,b:2,d:1,d:1,e:1,c:1": {Compared: true, Partitions: 3, New: 1, Changed: 1, Names: []string{"b", "d"}},
		"a:1,?":                   {Compared: true, Partitions: 1, Uncertain: 1, New: 1, Names: []string{"?"}},
	} {
		params, err := job.Params(nil, "words="+list)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := job.Plan(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		got, err := jobs.Local{Reuse: reuse}.Missing(t.Context(), job, params, plan, kept.objects, true)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", list, got, err, want)
		}
		lost := jobs.Reuse{Family: reuse.Family, Kept: newShelf()}
		if got, err = (jobs.Local{Reuse: lost}).Missing(t.Context(), job, params, plan, kept.objects, true); err != nil || got.Unexplained != plan.Partitions-want.Partitions {
			t.Errorf("%s: %d partitions are unexplained after a drop, %v; want %d", list, got.Unexplained, err, plan.Partitions-want.Partitions)
		}
	}
}

// TestKeyOf checks that the key of a node depends on the order and the shape of what is below, and on each
// child.
func TestKeyOf(t *testing.T) {
	a, b, c := engine.NewKey([]byte("a")), engine.NewKey([]byte("b")), engine.NewKey([]byte("c"))
	seen := map[jobs.Key]string{}
	for name, key := range map[string]jobs.Key{
		"a": a, "b": b, "ab": engine.KeyOf(a, b), "ba": engine.KeyOf(b, a),
		"(ab)c": engine.KeyOf(engine.KeyOf(a, b), c), "a(bc)": engine.KeyOf(a, engine.KeyOf(b, c)),
		"two parts": engine.NewKey([]byte("a"), []byte("b")), "one part": engine.NewKey([]byte("ab")), "an empty part": engine.NewKey([]byte("ab"), nil),
	} {
		if other, ok := seen[key]; ok {
			t.Errorf("%s and %s have the same key", name, other)
		}
		seen[key] = name
	}
	if engine.KeyOf(a, jobs.Key{}) != (jobs.Key{}) || engine.KeyOf(jobs.Key{}, a) != (jobs.Key{}) {
		t.Error("a node above a partition without a key has a key")
	}
}

// openWords opens the job with a list of words.
func openWords(t *testing.T, job jobs.Job, list []string) engine.Task {
	t.Helper()
	params, err := job.Params(nil, "words="+strings.Join(list, ","))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := job.Plan(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	task, err := job.Engine().Open(t.Context(), params, plan.Partitions, plan.Data)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// TestFind keeps the partials of slots that report often, as in a cluster, and finds and merges them.
func TestFind(t *testing.T) {
	var mapped atomic.Uint64
	job, kept, list := wordJob("1", withKeys, &mapped), newShelf(), numbered(37)
	reuse := jobs.Reuse{Family: family(t, job, ""), Kept: kept}
	task := openWords(t, job, list)
	task.Keep(reuse)
	for lo := uint64(0); lo < 37; lo += 5 {
		hi, stack := min(lo+5, 37), task.NewStack()
		if _, err := stack.Run(t.Context(), jobs.Span{Lo: lo, Hi: hi}, new(atomic.Bool)); err != nil {
			t.Fatal(err)
		}
		if _, err := stack.Drain(hi); err != nil {
			t.Fatal(err)
		}
	}
	want := runWords(t, job, "", list, nil).Result
	mapped.Store(0)
	all, err := openWords(t, job, list).Find(t.Context(), reuse)
	if err != nil || len(all.Nodes) != 1 || all.Partitions != 37 || all.Work < 37*work || mapped.Load() > 0 {
		t.Fatalf("found %d partitions in %d nodes, %v of work, %v; mapped %d", all.Partitions, len(all.Nodes), all.Work, err, mapped.Load())
	}
	params, err := job.Params(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := job.Engine().Finish(t.Context(), params, engine.Operand{Data: all.Nodes[0].Data}); err != nil || string(got) != string(want) {
		t.Errorf("the result is %s, %v, want %s", got, err, want)
	}
	if !kept.Has(all.Root) {
		t.Error("the merged root is not kept under its key")
	}

	more, err := openWords(t, job, append(slices.Insert(slices.Clone(list), 20, "new"), "?")).Find(t.Context(), reuse)
	if err != nil || more.Partitions != 37 || more.Root != (jobs.Key{}) {
		t.Errorf("after an insertion: found %d partitions, %v; has a root: %v", more.Partitions, err, more.Root != jobs.Key{})
	}
	for key := range kept.list {
		kept.lost[key] = true
	}
	if none, err := openWords(t, job, list).Find(t.Context(), reuse); err != nil || len(none.Nodes) > 0 || none.Partitions > 0 || none.Root != all.Root {
		t.Errorf("after a loss: found %d partitions in %d nodes, %v", none.Partitions, len(none.Nodes), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if none, err := openWords(t, job, list).Find(ctx, reuse); err != nil || len(none.Nodes) > 0 || none.Root != (jobs.Key{}) {
		t.Errorf("after the end of the context: found %d nodes, %v", len(none.Nodes), err)
	}
}

// TestFindPanics checks that a panic of Key or Merge is an error.
func TestFindPanics(t *testing.T) {
	var mapped atomic.Uint64
	job := wordJob("1", withKeys, &mapped)
	task := openWords(t, job, []string{"a", "!"})
	if _, err := task.Find(t.Context(), jobs.Reuse{Family: family(t, job, ""), Kept: newShelf()}); err == nil || !strings.Contains(err.Error(), "a key that panics") {
		t.Errorf("got %v", err)
	}
}

// TestKeepWithinLimit checks that no level is kept whose nodes do not fit in the limit.
func TestKeepWithinLimit(t *testing.T) {
	var mapped atomic.Uint64
	job, kept, list := wordJob("1", withKeys, &mapped), newShelf(), numbered(64)
	task := openWords(t, job, list)
	task.Keep(jobs.Reuse{Family: family(t, job, ""), Kept: kept, Limit: 100})
	stack := task.NewStack()
	if _, err := stack.Run(t.Context(), jobs.Span{Hi: 64}, new(atomic.Bool)); err != nil {
		t.Fatal(err)
	}
	for _, p := range kept.list {
		if uint64(len(p.Data))*(64/p.Partitions) > 100 {
			t.Errorf("a node of %d partitions with %d bytes is kept", p.Partitions, len(p.Data))
		}
	}
}

// TestVerify computes kept partials again, and finds the one that was changed.
func TestVerify(t *testing.T) {
	var mapped atomic.Uint64
	job, kept, list := wordJob("1", withKeys, &mapped), newShelf(), numbered(40)
	want := runWords(t, job, "", list, kept).Result
	params, err := job.Params(nil, "words="+strings.Join(list, ","))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := job.Plan(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	local := jobs.Local{Slots: 2, Attempts: 1, Reuse: jobs.Reuse{Family: family(t, job, ""), Kept: kept}}
	before := len(kept.list)
	verify := func(share uint32) jobs.Verified {
		t.Helper()
		v, err := local.Verify(t.Context(), job, params, plan, jobs.Audit{Share: share, Seed: "a seed"})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := verify(jobs.MaxAudit); v.Nodes != 40 || v.All != 40 || v.Partitions != 40 || len(v.Wrong) > 0 || v.Lacking > 0 || string(v.Result) != string(want) {
		t.Errorf("verified %+v, want 40 nodes and %s", v, want)
	}
	if v := verify(1); v.Nodes != 1 {
		t.Errorf("the smallest sample has %d nodes, want 1", v.Nodes)
	}
	if len(kept.list) != before {
		t.Errorf("%d partials are kept, want %d as before", len(kept.list), before)
	}
	for key, p := range kept.list {
		if p.Partitions == 1 && strings.Contains(string(p.Data), "w7") {
			kept.list[key] = jobs.KeptPartial{Data: []byte("\x62x7"), Partitions: 1, Work: p.Work}
		}
	}
	if v := verify(jobs.MaxAudit); !slices.Equal(v.Wrong, []jobs.Span{{Lo: 7, Hi: 8}}) {
		t.Errorf("wrong are %v, want partition 7", v.Wrong)
	}
	kept.list = map[jobs.Key]jobs.KeptPartial{}
	if v := verify(jobs.MaxAudit); v.All != 0 || v.Lacking != 40 || v.Result != nil {
		t.Errorf("without kept partials: %+v", v)
	}
}
