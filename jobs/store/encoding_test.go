package store

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
)

var update = flag.Bool("update", false, "write the golden files of formats that have none")

// The encoding cuts the nanoseconds of someTime and drops its time zone.
var someTime = time.Date(2026, 3, 1, 12, 30, 0, 123456789, time.FixedZone("", 3600))

const (
	someID  = "0123456789abcdev"
	otherID = "0123456789abcdf0"
)

func someSpec() Spec {
	return Spec{
		ID: someID, Job: "primes", Version: "1", Params: jobs.Params(`{"limit":1000}`),
		Priority: -3, MaxAttempts: 5, MaxSkipped: 7, Submitted: someTime,
	}
}

func somePlan() Plan { return Plan{Plan: jobs.Plan{Partitions: 1 << 40, Data: []byte{0, 1, 2}}} }

func someManifest() Manifest {
	return Manifest{
		Epoch: 3, Sequence: 1 << 60, State: Failed, Error: "partition 7: no", Partitions: 1 << 40,
		Nodes: []StoredNode{
			{Node: engine.Node{Level: 20, Index: 0}, Data: []byte("partial")},
			{Node: engine.Node{Level: 3, Index: 1 << 17}, Blob: strings.Repeat("ab", 32)},
			{Node: engine.Leaf(1<<20 + 8), Empty: true},
		},
		Work: Work{
			Workers:       []Contributor{{"host-1", 17}, {"host-2", 1 << 33}},
			Executed:      1<<20 + 12,
			Skipped:       []uint64{1<<20 + 8},
			Attempts:      []Attempt{{Partition: 1<<20 + 9, Failed: 2, Error: "no"}},
			CrashSuspects: []CrashSuspect{{Span: engine.Span{Lo: 1 << 30, Hi: 1<<30 + 5}, Deaths: 1}},
		},
		Epochs:  []uint64{1, 3},
		Started: someTime, Finished: someTime.Add(90 * time.Second),
		SHA256: strings.Repeat("cd", 32),
	}
}

func someTerm() TermRecord {
	return TermRecord{
		Epoch: 4, Worker: "host-2", Cause: "the leader's process died", At: someTime,
		Detect: 2 * time.Millisecond, Elect: 7 * time.Millisecond, Fence: 9 * time.Millisecond,
		Resume: 12 * time.Millisecond, FirstAssignment: new(15 * time.Millisecond), FirstResult: new(time.Second),
	}
}

func someJournal() JournalPage {
	return JournalPage{Dropped: 3, Lines: []JournalLine{
		{At: someTime, Source: FromLeader, Worker: "host-1", Text: "Worker died"},
		{At: someTime, Source: FromStderr, Worker: "host-2", Partition: new(uint64(0)), Attempt: 2, Text: "no\tdisk"},
	}}
}

func somePoisoned() Poisoned {
	return Poisoned{Reason: "no submission", Deliveries: 6, Job: someID, Body: []byte{0xff}, At: someTime}
}

// formats lists all formats of records. Decoding an encoded value must return the value with its
// times cut to microseconds.
var formats = []testedFormat{
	format("spec", encodeSpec, decodeSpec, someSpec(), Spec{ID: otherID, Job: "a", Version: "0", Params: jobs.Params("{}"), MaxAttempts: 1},
		Spec{ID: otherID, Job: "a", Version: "0", Params: jobs.Params("{}"), MaxAttempts: 1, Estimates: true, StopAfter: time.Minute},
		Spec{ID: otherID, Job: "a", Version: "0", Params: jobs.Params("{}"), MaxAttempts: 1, Name: "nightly-2026-11-25", Labels: map[string]string{"team": "ads", "env": "prod"}}),
	format("plan", encodePlan, decodePlan, somePlan(), Plan{Plan: jobs.Plan{Partitions: 1}}, Plan{jobs.Plan{Partitions: 2}, strings.Repeat("ab", 32)}),
	format("manifest", encodeManifest, decodeManifest, someManifest(), Manifest{State: Queued},
		Manifest{State: Running, Nodes: []StoredNode{{Node: engine.Leaf(4), Empty: true}}, Whole: []StoredNode{{Node: engine.Leaf(5), Data: []byte("x")}}, Work: Work{Skipped: []uint64{4}}},
		Manifest{State: Running, Nodes: []StoredNode{{Node: engine.Leaf(4), Blob: strings.Repeat("ab", 32), Large: true, Size: 1 << 30}}, Work: Work{Uncounted: true, PartitionTime: 1500 * time.Millisecond}},
		Manifest{State: Running, Work: Work{Attempts: []Attempt{{Partition: 4, Failed: 1}}, Errors: []ErrorText{{"no disk", 9, 4}}, OtherErrors: 3, Skipped: []uint64{5}, SkipReasons: []ErrorText{{"partition 5 failed once: no", 1, 5}}}},
		Manifest{State: Running, Work: Work{
			Deaths: 3, WorkerTime: time.Hour, CrashSuspects: []CrashSuspect{{Span: engine.Span{Lo: 4, Hi: 5}, Deaths: 3, Alone: time.Minute}},
			Calls: []CallRecord{{Function: "Plan", Deaths: 2, Alone: time.Second}},
		}},
		Manifest{State: Running, Partitions: 9, Work: Work{Judged: []jobs.Estimated{{Partitions: 1, Value: []byte(`"x"`), At: time.Second}, {Partitions: 2, Value: []byte("null")}}, Stopped: &jobs.Stopped{At: 2, Rung: 2, Timed: true}}},
		Manifest{State: Running, Samples: []Sample{{At: time.Second, Epoch: 3, Done: 9, Executed: 10, Failing: 1, Workers: 2, Cells: []byte{0, 255}}}, Work: Work{Retried: []engine.Span{{Lo: 4, Hi: 6}}}},
		Manifest{State: Running, Work: Work{Durations: engine.Durations{Counts: []uint64{0, 5}, Slowest: []engine.SlowPartition{{Lo: 3, Hi: 4, Took: time.Second, Worker: "w"}}}}}),
	format("journal", encodeJournal, decodeJournal, someJournal(), JournalPage{},
		JournalPage{Lines: []JournalLine{{At: time.UnixMicro(5).UTC(), Source: FromLeader, Worker: "w", Text: "Worker died", Kind: DeathEvent, Host: "h"}}}),
	format("term", encodeTerm, decodeTerm, someTerm(), TermRecord{}, TermRecord{FirstAssignment: new(time.Duration(0))}),
	format("poison", encodePoisoned, decodePoisoned, somePoisoned(), Poisoned{}),
	format("submission", encodeSubmission, decodeSubmission, submissionRecord{ID: someID}, submissionRecord{someID, "17"}),
	format("identity", encodeIdentity, decodeIdentity, strings.Repeat("0f", 16)),
}

type testedFormat struct {
	name   string
	values []any
	encode func(any) []byte
	decode func([]byte) (any, error)
}

func format[T any](name string, encode func(T) []byte, decode func([]byte) (T, error), values ...T) (f testedFormat) {
	f.name = name
	for _, v := range values {
		f.values = append(f.values, v)
	}
	f.encode = func(v any) []byte { return encode(v.(T)) }
	f.decode = func(data []byte) (any, error) { return decode(data) }
	return f
}

func TestRecordsRoundTrip(t *testing.T) {
	for _, f := range formats {
		for _, v := range f.values {
			got, err := f.decode(f.encode(v))
			if err != nil {
				t.Errorf("%s: %v", f.name, err)
			}
			if want := cutTimes(v); !reflect.DeepEqual(got, want) {
				t.Errorf("%s reads back as\n%+v, want\n%+v", f.name, got, want)
			}
		}
	}
}

// cutTimes returns a copy of a record whose times are cut to microseconds.
func cutTimes(record any) any {
	cut := func(t *time.Time) {
		if !t.IsZero() {
			*t = t.Truncate(time.Microsecond).UTC()
		}
	}
	switch r := record.(type) {
	case Spec:
		cut(&r.Submitted)
		return r
	case Manifest:
		cut(&r.Started)
		cut(&r.Finished)
		return r
	case JournalPage:
		for i := range r.Lines {
			cut(&r.Lines[i].At)
		}
		return r
	case TermRecord:
		cut(&r.At)
		return r
	case Poisoned:
		cut(&r.At)
		return r
	}
	return record
}

// TestGolden reads records that the first version of the program wrote. If TestGolden fails, the
// files must not be changed, because stored records cannot be changed either.
func TestGolden(t *testing.T) {
	for _, f := range formats {
		file := filepath.Join("testdata", f.name+".v1")
		want := f.encode(f.values[0])
		if _, err := os.Stat(file); *update && errors.Is(err, os.ErrNotExist) {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.decode(data)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if want := cutTimes(f.values[0]); !reflect.DeepEqual(got, want) {
			t.Errorf("%s reads as\n%+v, want\n%+v", file, got, want)
		}
		if !bytes.Equal(want, data) {
			t.Errorf("%s: the encoding has changed: let a new field be omitted where it is empty, or raise formatVersion", file)
		}
	}
}

// TestSpecOfJudgedJob checks that a program without estimates leaves the spec of a job with estimates to later versions.
// It would complete all partitions of the job.
func TestSpecOfJudgedJob(t *testing.T) {
	spec := someSpec()
	spec.Estimates, spec.StopAfter = true, time.Minute
	want := cutTimes(spec)
	golden, err := os.ReadFile(filepath.Join("testdata", "spec.v2"))
	if err != nil {
		t.Fatal(err)
	}
	if data := encodeSpec(spec); !bytes.Equal(data, golden) {
		t.Errorf("the encoding has changed: %x", data)
	}
	if _, err := decode[specRecord](golden); !errors.Is(err, ErrNewer) {
		t.Errorf("a program without estimates reads the spec: %v", err)
	}
	for what, data := range map[string][]byte{"stored": golden, "stored by the first version with estimates": encode(specRecord{spec, micros(spec.Submitted)})} {
		if got, err := decodeSpec(data); err != nil || !reflect.DeepEqual(any(got), want) {
			t.Errorf("%s: read %+v, %v, want %+v", what, got, err, want)
		}
	}
	later := append([]byte{guardedVersion + 1}, golden[1:]...)
	if _, err := decodeSpec(later); !errors.Is(err, ErrNewer) {
		t.Errorf("a spec of a later version: %v", err)
	}
	if _, err := decodeSpec(append([]byte{guardedVersion}, encodeSpec(someSpec())[1:]...)); !errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNewer) {
		t.Errorf("a job without estimates in the format of a job with estimates: %v", err)
	}
	rounds := someSpec()
	rounds.Rounds, rounds.Measure = 9, "loss"
	data := encodeSpec(rounds)
	if got, err := decodeSpec(data); err != nil || !reflect.DeepEqual(any(got), cutTimes(rounds)) {
		t.Errorf("a job with rounds: read %+v, %v", got, err)
	}
	if _, err := decode[specRecord](data); !errors.Is(err, ErrNewer) {
		t.Errorf("a program without rounds reads the spec: %v", err)
	}
}

func TestDamagedRecords(t *testing.T) {
	for _, f := range formats {
		good := f.encode(f.values[0])
		bad := map[string][]byte{
			"empty":                {},
			"version 0":            append([]byte{0}, good[1:]...),
			"version 2":            append([]byte{2}, good[1:]...),
			"no body":              good[:1],
			"half":                 good[:len(good)/2],
			"trailing byte":        append(bytes.Clone(good), 0),
			"not a map":            {1, 0x01},
			"indefinite length":    {1, 0xbf, 0xff},
			"JSON":                 []byte(`{"a":1}`),
			"huge array announced": {1, 0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		}
		for what, data := range bad {
			if _, err := f.decode(data); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s, %s: %v, want ErrCorrupt", f.name, what, err)
			}
		}
	}
}

// TestImpossibleRecords checks that well-formed records with invalid values are refused.
func TestImpossibleRecords(t *testing.T) {
	for what, decode := range map[string]func() error{
		"state":           func() error { _, err := decodeManifest(encodeManifest(Manifest{State: "asleep"})); return err },
		"no partitions":   func() error { _, err := decodePlan(encodePlan(Plan{})); return err },
		"many partitions": func() error { _, err := decodePlan(encodePlan(Plan{Plan: jobs.Plan{Partitions: 1 << 63}})); return err },
		"ID submitted":    func() error { _, err := decodeSubmission(encodeSubmission(submissionRecord{ID: "x"})); return err },
		"identity":        func() error { _, err := decodeIdentity(encodeIdentity("x")); return err },
	} {
		if err := decode(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", what, err)
		}
	}
}

// TestImpossibleSpecs checks that invalid specs are refused, because other programs may write specs
// without the checks of Submit. The errors must be short, because the entry of the poison list
// contains them.
func TestImpossibleSpecs(t *testing.T) {
	long := strings.Repeat("n", 480_000)
	for what, change := range map[string]func(*Spec){
		"ID":              func(s *Spec) { s.ID = "../x" },
		"long ID":         func(s *Spec) { s.ID = long },
		"no name":         func(s *Spec) { s.Job = "" },
		"long name":       func(s *Spec) { s.Job = long },
		"form of name":    func(s *Spec) { s.Job = "Primes\n" },
		"no version":      func(s *Spec) { s.Version = "" },
		"long version":    func(s *Spec) { s.Version = long },
		"no parameters":   func(s *Spec) { s.Params = nil },
		"list":            func(s *Spec) { s.Params = jobs.Params("[]") },
		"half an object":  func(s *Spec) { s.Params = jobs.Params(`{"n":1`) },
		"long parameters": func(s *Spec) { s.Params = jobs.Params(long) },
		"low priority":    func(s *Spec) { s.Priority = -1001 },
		"high priority":   func(s *Spec) { s.Priority = 1001 },
		"no attempts":     func(s *Spec) { s.MaxAttempts = 0 },
		"many skipped":    func(s *Spec) { s.MaxSkipped = MaxSkipped + 1 },
	} {
		spec := someSpec()
		change(&spec)
		if spec.check() == nil {
			t.Errorf("%s: Submit accepts the spec", what)
		}
		if _, err := decodeSpec(encodeSpec(spec)); !errors.Is(err, ErrCorrupt) || len(err.Error()) > 300 {
			t.Errorf("%s: %.400v, want a short ErrCorrupt", what, err)
		}
	}
}

// TestUnknownFieldsArePassedOver checks that a record with a field of a later version can be read.
func TestUnknownFieldsArePassedOver(t *testing.T) {
	data := encode(struct {
		Epoch uint64 `cbor:"1,keyasint"`
		State State  `cbor:"3,keyasint"`
		New   []int  `cbor:"200,keyasint"`
	}{9, Running, []int{1, 2}})
	m, err := decodeManifest(data)
	if err != nil || m.Epoch != 9 || m.State != Running {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestManifestKeepsNewerFields checks that changes to a manifest of a later version, such as
// fencing, keep the later version's fields.
func TestManifestKeepsNewerFields(t *testing.T) {
	type newerNode struct {
		StoredNode
		Holder string `cbor:"99,keyasint"`
	}
	type newerRecord struct {
		manifestRecord
		Nodes []newerNode       `cbor:"6,keyasint,omitempty"`
		Tries map[string]uint64 `cbor:"100,keyasint"`
		Note  string            `cbor:"101,keyasint"`
	}
	m := someManifest()
	wrote := newerRecord{
		manifestRecord{m, micros(m.Started), micros(m.Finished)},
		[]newerNode{{m.Nodes[0], "host-7"}},
		map[string]uint64{"plan": 3, "finish": 1},
		"later",
	}
	next, err := decodeManifest(encode(wrote))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // fences the manifest twice
		next.Epoch++
		next.Sequence++
		next.Epochs = append(slices.Clone(next.Epochs), next.Epoch)
		wrote.Epoch, wrote.Sequence, wrote.Epochs = next.Epoch, next.Sequence, next.Epochs
		data := encodeManifest(next)
		if want := encode(wrote); !bytes.Equal(data, want) {
			t.Fatalf("the fenced manifest is\n%x, want\n%x", data, want)
		}
		if next, err = decodeManifest(data); err != nil {
			t.Fatal(err)
		}
	}
	next.Nodes, next.Error = nil, "" // a final manifest has no nodes
	wrote.Nodes, wrote.Error = nil, ""
	if data, want := encodeManifest(next), encode(wrote); !bytes.Equal(data, want) {
		t.Fatalf("the final manifest is\n%x, want\n%x", data, want)
	}
}
