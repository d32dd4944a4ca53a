package wire

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

// kind is one type of message.
type kind struct {
	message reflect.Type
	samples []any
	encoded [][]byte                          // the encoded samples
	decode  func(data []byte) (any, error)    // decodes a message
	again   func(data []byte) ([]byte, error) // decodes and encodes a message
}

func kindOf[M Message](samples ...M) kind {
	k := kind{
		message: reflect.TypeFor[M](),
		decode:  func(data []byte) (any, error) { return Decode[M](data) },
		again: func(data []byte) ([]byte, error) {
			m, err := Decode[M](data)
			if err != nil {
				return nil, err
			}
			return Encode(m), nil
		},
	}
	for _, m := range samples {
		k.samples, k.encoded = append(k.samples, m), append(k.encoded, Encode(m))
	}
	return k
}

var (
	since = time.Unix(1_700_000_000, 0)

	fullReport = Report{
		Epoch: 7, Worker: "w-1", Sequence: 1, Conversation: 8, Draining: true,
		Hello: &Hello{Host: "h", PID: 4, Slots: 2, Since: since, Knows: []JobKind{{"primes", "1"}}, Storage: "s", Build: "amd64/v1 go1.26.0", Version: "v1.2.3", Holds: true},
		Spans: []HeldSpan{
			{ID: SpanID{7, 1}, Job: "j", Span: engine.Span{Lo: 5, Hi: 9}, Running: true, Step: "Map", Done: 2, Slot: 2},
			{ID: SpanID{7, 3}, Job: "j", Function: Merge, Node: engine.Node{Level: 1, Index: 4}},
		},
		LostSlots: 1, LostCalls: 2, LostAt: []int{1}, Server: "N1", Usage: Usage{Memory: 9, Items: 2, Bytes: 5, Nodes: 3, NodeBytes: 6, Cores: 1.5},
		Nodes: []HeldNode{{Job: "j", Node: engine.Node{Level: 3, Index: 1}, Size: 1 << 30, Sum: 5, Lacking: 6}},
		Jobs: []JobReport{{Job: "j", First: 3, Items: []Item{
			{Partial: &Partial{Node: engine.Node{Level: 2, Index: 0}, Data: []byte("data"), Sum: Checksum([]byte("data"))}},
			{Partial: &Partial{Node: engine.Leaf(4), Blob: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}},
			{Failure: &Failure{Partition: 5, Error: "bad", Permanent: true, Function: Open, Took: time.Second}},
			{Failure: &Failure{Error: "bad", Function: Merge, Node: engine.Node{Level: 1, Index: 4}}},
			{Failure: &Failure{Error: "bad", Function: Merge, Node: engine.Node{Level: 1, Index: 4}, Holder: "w-2"}},
			{Failure: &Failure{Error: "late", Function: Plan, Slow: true}},
			{Held: &engine.Node{Level: 1, Index: 2}, Took: time.Second},
			{Partial: &Partial{Node: engine.Leaf(9), Blob: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", Size: 1 << 30, Stored: true, Lacking: 6}},
			{Partial: &Partial{Node: engine.Node{Level: 1, Index: 4}, MergedFor: 7, Data: []byte("data"), Sum: Checksum([]byte("data"))}},
			{Output: &Output{Function: Plan, Partitions: 9, Data: []byte("data"), Sum: Checksum([]byte("data")), Found: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}},
			{Output: &Output{Function: Finish, Blob: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", Epoch: 7, Lacking: 6, Continues: true, Value: 0.5, Last: true, StateSize: 100_000, StateSum: 9}},
			{Output: &Output{Function: Estimate, Partitions: 20, Data: []byte("null"), Sum: Checksum([]byte("null")), Epoch: 7, Stop: true}},
			{Failure: &Failure{Error: "bad", Function: Estimate}},
		}}},
	}
	fullReceipt = Receipt{
		Epoch: 7, Sequence: 3, Refused: "why",
		Opens: []Opening{{
			Job: "j", Kind: JobKind{"primes", "1"}, Params: jobs.Params(`{"limit":9}`),
			Priority: -2, Partitions: 100, Data: []byte{1}, InStore: true, ParamsSHA256: []byte{2}, PartitionTimeout: time.Minute, Audit: 1000, Keep: 1 << 30,
			State: []byte{3}, StateBlob: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", Rounds: true, Last: true, StateHolder: "w-2", StateSize: 100_000, StateSum: 9, Inline: 5000,
		}},
		Assigned: []Assignment{
			{ID: SpanID{7, 2}, Job: "j", Span: engine.Span{Lo: 9, Hi: 20}, Alone: true, Attempt: 3},
			{ID: SpanID{7, 3}, Job: "j", Call: &Call{Function: Merge, Node: engine.Node{Level: 1}, Operands: []Partial{NewPartial(engine.Leaf(0), []byte("l")), NewPartial(engine.Leaf(1), nil)}}},
			{ID: SpanID{7, 6}, Job: "j", Call: &Call{Function: Finish, Key: make([]byte, 32), Work: time.Minute, Operands: []Partial{NewPartial(engine.Node{Level: 2}, nil)}}},
			{ID: SpanID{7, 5}, Job: "j", Call: &Call{Function: Estimate, Prefix: 6, Operands: []Partial{NewPartial(engine.Node{Level: 2}, []byte("l")), NewPartial(engine.Node{Level: 1, Index: 2}, nil)}}},
			{ID: SpanID{7, 4}, Job: "j", Call: &Call{Function: Merge, Node: engine.Node{Level: 1, Index: 1}, Lacking: 6, Failed: 1, Within: 10 * time.Second, Operands: []Partial{
				{Node: engine.Leaf(2), Size: 1 << 30, Sum: 5, Holder: "w-2"}, {Node: engine.Leaf(3), Blob: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", Size: 1 << 20},
			}}},
		},
		Cuts:    []Cut{{ID: SpanID{7, 1}, Hi: 8}},
		Benched: "for 10s",
		Jobs:    []JobReceipt{{Job: "j", Received: 5, Durable: 4, Ended: true, Release: []engine.Node{{Level: 1}}, Store: []engine.Node{{Level: 2}}, Auditors: []string{"w-2", "w-3"}, Continues: true}},
		Every:   time.Second,
		Storage: "s",
		Holds:   true,
	}

	kinds = []kind{
		kindOf(fullReport, Report{Epoch: 7, Worker: "w-1", Sequence: 2, More: true}),
		kindOf(fullReceipt),
		kindOf(Beacon{Epoch: 7, Worker: "w", LeaseID: "l", Workers: 3, Next: time.Second, Storage: "s", Leaving: true, Failed: true}),
		kindOf(Suspicion{Epoch: 7, Worker: "w"}),
		kindOf(Ping{Epoch: 7, Storage: "s"}),
		kindOf(Pong{Epoch: 7, Worker: "w"}),
		kindOf(Nudge{Epoch: 7, Storage: "s"}),
		kindOf(Probe{Epoch: 7, Storage: "s"}),
		kindOf(ProbeAnswer{Epoch: 7, Worker: "w"}),
		kindOf(Offer{Epoch: 7, LeaseID: "l"}),
		kindOf(LeaderInfo{Epoch: 7, Worker: "w", Host: "h", PID: 4, Since: since, Storage: "s"}),
		kindOf(WorkerQuery{After: "w", Limit: 5}),
		kindOf(Workers{Epoch: 7, Workers: []WorkerInfo{{
			ID: "w", Host: "h", PID: 4, Slots: 2, Leader: true, State: "idle", Since: since, Lost: 1, Build: "amd64/v1 go1.26.0",
			Busy: 1, Spans: 2, Usage: Usage{Memory: 9, Cores: 1.5}, Cost: 0.5, Running: []RunningSpan{{Number: 3, Job: "j", Again: true, For: time.Second, Slot: 1, Reassigned: true, Lo: 4, Hi: 9}}, LostAt: []int{1}, Version: "v1.2.3",
		}}, More: 3, Storage: "s", Kinds: []KindCount{{"k", "1", 2}}, Gone: []GoneWorker{{"w0", "h", 4, "died", "partition 5 of job j", 9, time.Second}}, Totals: &Totals{
			Workers: 1, Draining: 1, Silent: 1, Slots: 2, Busy: 1, Lost: 1, Memory: 9, Rate: 0.5, Builds: []BuildCount{{"b", 1}}, OtherBuilds: 1, Versions: []VersionCount{{"v1.2.3", 1}}, OtherVersions: 1,
			Planning: 1, Running: 2, Queued: 3, Waiting: 4, Leader: LeaderInfo{Epoch: 7, Worker: "w", Host: "h", PID: 4, Since: since, Storage: "s"},
		}}),
		kindOf(JobQuery{Job: "j", Windows: []Window{{Lo: 1, Step: 2, Cells: 3}}, Recent: true, Submitted: &Submitted{Priority: -1, Spec: "17"}}),
		kindOf(Jobs{Epoch: 7, Workers: 2, Jobs: []JobProgress{{
			Job: "j", State: "running", Partitions: 9, Done: 4, Executed: 5, Skipped: []uint64{3}, Rate: 0.5, Workers: 2, Trouble: "t",
			MergesLeft: 3, Unreported: 4, HeldBytes: 5, MergedBytes: 6, MergeRate: 0.5, MergeLeft: 7, Merging: []Merging{{Node: engine.Node{Level: 1}, Worker: "w", Bytes: 8, For: time.Second}},
			SlotSeconds: 1.5, LostSeconds: 0.5, Round: 3, Earlier: 18,
			Estimates: []jobs.Estimated{{Partitions: 4, Value: []byte("0.5"), At: time.Second}}, Stopped: &jobs.Stopped{At: 5, Rung: 5, Timed: true},
		}}, More: 9, Storage: "s", Place: &Place{Before: 3, More: true}, Map: &JobMap{
			Elapsed: time.Hour, CheckpointAge: time.Second, Reassigned: 7,
			Durations: engine.Durations{Counts: []uint64{1, 2}, Slowest: []engine.SlowPartition{{Lo: 3, Hi: 4, Took: time.Second, Worker: "w"}}},
			Maps:      []CellMap{{Window{1, 2, 3}, []CellRun{{Repeat: 3, Cell: Cell{Held: 1}, Holder: 1}}, []engine.Span{{Lo: 1, Hi: 2}}}},
			Holders:   []string{"w"}, Total: Cell{Held: 1, Computed: 2, Durable: 3, Retrying: 4, Failed: 5}, Tree: []TreeNode{{4, true}}, Errors: []ErrorCount{{"e", 2, 3}}, OtherErrors: 1, Started: since, Checkpoint: since,
		}}),
		kindOf(Cancel{Job: "j"}),
		kindOf(AuditRequest{Opening: fullReceipt.Opens[0], Partitions: []uint64{3, 99}}),
		kindOf(AuditAnswer{Working: true, Sums: [][]byte{make([]byte, 32), make([]byte, 32)}, Failure: &Failure{Partition: 5, Error: "bad", Slow: true}}),
		kindOf(Done{Error: "e", Storage: "s"}),
	}
)

func TestMessagesSurviveTheWire(t *testing.T) {
	for _, k := range kinds {
		for i, sample := range k.encoded {
			got, err := k.decode(sample)
			if err != nil || !reflect.DeepEqual(got, k.samples[i]) {
				t.Errorf("%v: got %+v, %v, want %+v", k.message, got, err, k.samples[i])
			}
			again, err := k.again(sample)
			if err != nil || !bytes.Equal(again, sample) {
				t.Errorf("%v: encodes as %x, %v the second time, %x the first", k.message, again, err, sample)
			}
		}
	}
}

// TestFirstConversationSurvivesTheWire computes the number from the start time of a worker and from what its leader decodes.
func TestFirstConversationSurvivesTheWire(t *testing.T) {
	at := time.Unix(1_780_000_000, 0)
	for i := range 1000 {
		since := at.Add(time.Duration(i) * 777_777_789)
		r, err := Decode[Report](Encode(Report{Worker: "w", Epoch: 1, Conversation: 1, Sequence: 1, Hello: &Hello{PID: 1, Slots: 1, Since: since}}))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := FirstConversation(r.Hello.Since), FirstConversation(since); got != want {
			t.Fatalf("started at %v: got %d after decoding, want %d", since, got, want)
		}
	}
}

// TestEveryMessageHasSamples compares the table with the types that [Message] lists.
func TestEveryMessageHasSamples(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "encoding.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	ast.Inspect(file.Scope.Lookup("Message").Decl.(ast.Node), func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok && name.Name != "Message" {
			listed = append(listed, name.Name)
		}
		return true
	})
	var have []string
	for _, k := range kinds {
		have = append(have, k.message.Name())
	}
	slices.Sort(listed)
	slices.Sort(have)
	if !slices.Equal(have, listed) {
		t.Errorf("there are samples of %v, want %v", have, listed)
	}
}

// TestSamplesSetEveryField checks that the samples together set every field of every message, and of
// the structs in messages.
func TestSamplesSetEveryField(t *testing.T) {
	set := map[string]bool{}
	for _, k := range kinds {
		for _, sample := range k.samples {
			noteFields(reflect.ValueOf(sample), set)
		}
	}
	for _, k := range kinds {
		for _, field := range fieldsOf(k.message, nil) {
			if !set[field] {
				t.Errorf("%v: no sample sets %s", k.message, field)
			}
		}
	}
}

// noteFields records the fields of all structs in a value that are not zero.
func noteFields(v reflect.Value, set map[string]bool) {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		noteFields(v.Elem(), set)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			noteFields(v.Index(i), set)
		}
	case isRecord(v.Type()):
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				set[v.Type().String()+"."+v.Type().Field(i).Name] = true
				noteFields(v.Field(i), set)
			}
		}
	}
}

// fieldsOf returns the fields of a type, and of all structs in it that are not in the list above.
func fieldsOf(in reflect.Type, above []reflect.Type) (list []string) {
	for in.Kind() == reflect.Pointer || in.Kind() == reflect.Slice {
		in = in.Elem()
	}
	if !isRecord(in) || slices.Contains(above, in) {
		return nil
	}
	for i := range in.NumField() {
		if field := in.Field(i); field.Name != "_" {
			list = append(append(list, in.String()+"."+field.Name), fieldsOf(field.Type, append(above, in))...)
		}
	}
	return list
}

// isRecord reports whether a type is a struct of fields, in contrast to a time.
func isRecord(in reflect.Type) bool {
	return in.Kind() == reflect.Struct && in != reflect.TypeFor[time.Time]()
}

func TestDecodeRefuses(t *testing.T) {
	for _, k := range kinds {
		sample := k.encoded[0]
		for _, c := range []struct {
			name string
			data []byte
			want error
		}{
			{"empty", nil, ErrMalformed},
			{"next version", append([]byte{formatVersion + 1}, sample[1:]...), ErrUnknownVersion},
			{"version zero", append([]byte{0}, sample[1:]...), ErrUnknownVersion},
			{"cut short", sample[:len(sample)-1], ErrMalformed},
			{"something after it", append(bytes.Clone(sample), 0), ErrMalformed},
			{"text", []byte("\x01hello"), ErrMalformed},
			{"oversized", append([]byte{formatVersion}, make([]byte, MaxMessage)...), ErrMalformed},
		} {
			if _, err := k.again(c.data); !errors.Is(err, c.want) {
				t.Errorf("%v, %s: got %v, want %v", k.message, c.name, err, c.want)
			}
		}
	}
}

// TestDecodeRefusesTricks checks that Decode refuses valid CBOR that Bellwether never writes.
func TestDecodeRefusesTricks(t *testing.T) {
	nested := func(levels int) []byte { return append(bytes.Repeat([]byte{0x81}, levels), 0) }
	pairs := []byte{0xb8, 65}
	for i := range byte(65) {
		pairs = append(pairs, 0x18, 100+i, 0)
	}
	for name, body := range map[string][]byte{
		"a key twice":                  {0xa2, 1, 7, 1, 8},
		"a map without a length":       {0xbf, 1, 7, 0xff},
		"a text without a length":      {0xa2, 1, 7, 2, 0x7f, 0x61, 'w', 0xff},
		"a list without a length":      {0xa2, 1, 7, 0x18, 99, 0x9f, 0xff},
		"a tag":                        {0xa1, 1, 0xc2, 0x41, 7},
		"too deep":                     append([]byte{0xa2, 1, 7, 0x18, 99}, nested(16)...),
		"a map of too many":            pairs,
		"a list of too many":           append([]byte{0xa2, 1, 7, 0x18, 99}, list(maxElements+1, 0)...),
		"a negative number":            {0xa1, 1, 0x20},
		"a fraction":                   {0xa1, 1, 0xf9, 0x3e, 0},
		"a text that is none":          {0xa2, 1, 7, 2, 0x61, 0xff},
		"a list in place of a message": {0x82, 7, 0x61, 'w'},
		"a length beyond the end":      {0xa2, 1, 7, 2, 0x7b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	} {
		if m, err := Decode[Pong](append([]byte{formatVersion}, body...)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %+v, %v, want ErrMalformed", name, m, err)
		}
	}
	for name, body := range map[string][]byte{
		"as deep as may be": append([]byte{0xa2, 1, 7, 0x18, 99}, nested(15)...),
		"as long as may be": append([]byte{0xa2, 1, 7, 0x18, 99}, list(maxElements, 0)...),
	} {
		if m, err := Decode[Pong](append([]byte{formatVersion}, body...)); err != nil || m.Epoch != 7 {
			t.Errorf("%s: got %+v, %v", name, m, err)
		}
	}
}

func TestDecodeIgnoresFieldsOfLaterPrograms(t *testing.T) {
	// The message is the CBOR map {1: 7, 99: "new"}.
	got, err := Decode[Ping]([]byte{formatVersion, 0xa2, 0x01, 0x07, 0x18, 99, 0x63, 'n', 'e', 'w'})
	if err != nil || got.Epoch != 7 {
		t.Errorf("got %+v, %v, want epoch 7", got, err)
	}
}

// list returns a CBOR array that contains the element n times.
func list(n int, element ...byte) []byte {
	head := []byte{0x9a, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	return append(head, bytes.Repeat(element, n)...)
}

func decodeError[M Message](data []byte) error {
	_, err := Decode[M](data)
	return err
}

func TestDecodeAllocatesInProportion(t *testing.T) {
	message := func(parts ...[]byte) []byte {
		return append([]byte{formatVersion}, bytes.Join(parts, nil)...)
	}
	items := list(maxElements/4, 0xa1, 0x01, 0xa0) // each item is {1: {}}, an item with an empty partial
	job := append([]byte{0xa1, 0x03}, items...)
	reports := message([]byte{0xa2, 0x06}, list(maxElements, 0xa0), []byte{0x07}, list(15, job...))
	workers := message([]byte{0xa1, 0x02}, list(maxElements, 0xa0))
	receipts := message([]byte{0xa3, 0x04}, list(maxElements, 0xa0), []byte{0x05}, list(maxElements, 0xa0), []byte{0x07}, list(maxElements, 0xa0))
	for _, c := range []struct {
		name   string
		data   []byte
		decode func(data []byte) error
		want   string // the error
	}{
		{"report", reports, decodeError[Report], "report without an epoch"},
		{"workers", workers, decodeError[Workers], "<nil>"},
		{"receipt", receipts, decodeError[Receipt], "receipt without an epoch"},
		{"list that is not there", message([]byte{0xa1, 0x06, 0x9a, 0, 1, 0, 0}), decodeError[Report], "EOF"},
	} {
		if len(c.data) > MaxMessage {
			t.Fatalf("%s: the test's message is too long: %d bytes", c.name, len(c.data))
		}
		var err error
		got := fuzztest.Allocated(func() { err = c.decode(c.data) })
		if !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		// The constant term is for small allocations that do not depend on the length of the
		// message.
		if limit := min(256*uint64(len(c.data)), 64<<20) + 64<<10; got > limit {
			t.Errorf("%s: %d bytes made it allocate %d, limit %d", c.name, len(c.data), got, limit)
		} else {
			t.Logf("%s: %d bytes made it allocate %d", c.name, len(c.data), got)
		}
	}
	tooMany := message([]byte{0xa1, 0x06}, list(maxElements+1, 0xa0))
	if _, err := Decode[Report](tooMany); !errors.Is(err, ErrMalformed) {
		t.Errorf("a list of %d elements: got %v, want ErrMalformed", maxElements+1, err)
	}
}
