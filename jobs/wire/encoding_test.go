package wire

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

// kind contains functions for one type of message.
type kind struct {
	name   string
	sample []byte                              // encoded message in which every field is set
	again  func(data []byte) ([]byte, error)   // decodes and encodes a message
	value  func(data []byte) (any, any, error) // returns the decoded sample, and the sample before it was encoded
}

func kindOf[M Message](sample M) kind {
	return kind{
		name:   reflect.TypeFor[M]().Name(),
		sample: Encode(sample),
		again: func(data []byte) ([]byte, error) {
			m, err := Decode[M](data)
			if err != nil {
				return nil, err
			}
			return Encode(m), nil
		},
		value: func(data []byte) (any, any, error) {
			m, err := Decode[M](data)
			return m, sample, err
		},
	}
}

var (
	since = time.Unix(1_700_000_000, 0)

	fullReport = Report{
		Epoch: 7, Worker: "w-1", Sequence: 1, Draining: true,
		Hello: &Hello{Host: "h", PID: 4, Slots: 2, Since: since, Knows: []JobKind{{"primes", "1"}}, Storage: "s", Version: "v1.2.3", Holds: true},
		Spans: []HeldSpan{
			{ID: SpanID{7, 1}, Job: "j", Span: jobs.Span{Lo: 5, Hi: 9}, Running: true, Step: "Map", Done: 2, Slot: 2},
			{ID: SpanID{7, 3}, Job: "j", Function: Merge, Node: jobs.Node{Level: 1, Index: 4}},
		},
		LostSlots: 1, LostCalls: 2, LostAt: []int{1}, Server: "N1", Usage: Usage{Memory: 9, Items: 2, Bytes: 5, Nodes: 3, NodeBytes: 6},
		Nodes: []HeldNode{{Job: "j", Node: jobs.Node{Level: 3, Index: 1}, Size: 1 << 30, Sum: 5, Lacking: 6}},
		Jobs: []JobReport{{Job: "j", First: 3, Items: []Item{
			{Partial: &Partial{Node: jobs.Node{Level: 2, Index: 0}, Data: []byte("data"), Sum: Checksum([]byte("data"))}},
			{Partial: &Partial{Node: jobs.Leaf(4), Blob: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}},
			{Failure: &Failure{Partition: 5, Error: "bad", Permanent: true, Function: Open}},
			{Failure: &Failure{Error: "bad", Function: Merge, Node: jobs.Node{Level: 1, Index: 4}}},
			{Failure: &Failure{Error: "bad", Function: Merge, Node: jobs.Node{Level: 1, Index: 4}, Holder: "w-2"}},
			{Held: &jobs.Node{Level: 1, Index: 2}},
			{Partial: &Partial{Node: jobs.Leaf(9), Blob: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", Size: 1 << 30, Stored: true, Lacking: 6}},
			{Output: &Output{Function: Plan, Partitions: 9, Data: []byte("data"), Sum: Checksum([]byte("data"))}},
		}}},
	}
	fullReceipt = Receipt{
		Epoch: 7, Sequence: 3, Refused: "why",
		Opens: []Opening{{
			Job: "j", Kind: JobKind{"primes", "1"}, Params: jobs.Params(`{"limit":9}`),
			Priority: -2, Partitions: 100, Data: []byte{1}, InStore: true, ParamsSHA256: []byte{2},
		}},
		Assigned: []Assignment{
			{ID: SpanID{7, 2}, Job: "j", Span: jobs.Span{Lo: 9, Hi: 20}, Alone: true},
			{ID: SpanID{7, 3}, Job: "j", Call: &Call{Function: Merge, Node: jobs.Node{Level: 1}, Operands: []Partial{NewPartial(jobs.Leaf(0), []byte("l")), NewPartial(jobs.Leaf(1), nil)}}},
			{ID: SpanID{7, 4}, Job: "j", Call: &Call{Function: Merge, Node: jobs.Node{Level: 1, Index: 1}, Lacking: 6, Operands: []Partial{
				{Node: jobs.Leaf(2), Size: 1 << 30, Sum: 5, Holder: "w-2"}, {Node: jobs.Leaf(3), Blob: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", Size: 1 << 20},
			}}},
		},
		Cuts:    []Cut{{ID: SpanID{7, 1}, Hi: 8}},
		Jobs:    []JobReceipt{{Job: "j", Received: 5, Durable: 4, Ended: true, Release: []jobs.Node{{Level: 1}}, Store: []jobs.Node{{Level: 2}}, Auditors: []string{"w-2", "w-3"}}},
		Every:   time.Second,
		Storage: "s",
		Holds:   true,
	}

	kinds = []kind{
		kindOf(fullReport),
		kindOf(fullReceipt),
		kindOf(Beacon{Epoch: 7, Worker: "w", LeaseID: "l", Workers: 3, Next: time.Second, Storage: "s"}),
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
			ID: "w", Host: "h", PID: 4, Slots: 2, Leader: true, State: "idle", Since: since,
			Busy: 1, Spans: 2, Usage: Usage{Memory: 9}, Cost: 0.5, Running: []RunningSpan{{Number: 3, Job: "j", Again: true, For: time.Second, Slot: 1}}, LostAt: []int{1}, Version: "v1.2.3",
		}}, Storage: "s", Kinds: []KindCount{{"k", "1", 2}}, Totals: &Totals{
			Workers: 1, Draining: 1, Silent: 1, Slots: 2, Busy: 1, Lost: 1, Memory: 9, Rate: 0.5, Builds: []BuildCount{{"b", 1}}, OtherBuilds: 1, Versions: []VersionCount{{"v1.2.3", 1}}, OtherVersions: 1,
			Planning: 1, Running: 2, Queued: 3, Waiting: 4, Leader: LeaderInfo{Epoch: 7, Worker: "w", Host: "h", PID: 4, Since: since, Storage: "s"},
		}}),
		kindOf(JobQuery{Job: "j", Windows: []Window{{Lo: 1, Step: 2, Cells: 3}}, Recent: true}),
		kindOf(Jobs{Epoch: 7, Workers: 2, Jobs: []JobProgress{{Job: "j", State: "running", Partitions: 9, Done: 4, Executed: 5, Skipped: []uint64{3}, Rate: 0.5, Workers: 2, Trouble: "t"}}, Storage: "s", Map: &JobMap{
			Maps:    []CellMap{{Window{1, 2, 3}, []CellRun{{Repeat: 3, Cell: Cell{Held: 1}, Holder: 1}}, []jobs.Span{{Lo: 1, Hi: 2}}}},
			Holders: []string{"w"}, Total: Cell{Durable: 4}, Tree: []TreeNode{{4, true}}, Errors: []ErrorCount{{"e", 2, 3}}, OtherErrors: 1, Started: since, Checkpoint: since,
		}}),
		kindOf(Cancel{Job: "j"}),
		kindOf(AuditRequest{Opening: fullReceipt.Opens[0], Partitions: []uint64{3, 99}}),
		kindOf(AuditAnswer{Working: true, Sums: [][]byte{make([]byte, 32), make([]byte, 32)}, Failure: &Failure{Partition: 5, Error: "bad"}}),
		kindOf(Done{Error: "e", Storage: "s"}),
	}
)

func TestMessagesSurviveTheWire(t *testing.T) {
	for _, k := range kinds {
		got, want, err := k.value(k.sample)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", k.name, got, err, want)
		}
		again, err := k.again(k.sample)
		if err != nil || !bytes.Equal(again, k.sample) {
			t.Errorf("%s: encodes as %x, %v the second time, %x the first", k.name, again, err, k.sample)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, k := range kinds {
		for _, c := range []struct {
			name string
			data []byte
			want error
		}{
			{"empty", nil, ErrMalformed},
			{"next version", append([]byte{formatVersion + 1}, k.sample[1:]...), ErrUnknownVersion},
			{"version zero", append([]byte{0}, k.sample[1:]...), ErrUnknownVersion},
			{"cut short", k.sample[:len(k.sample)-1], ErrMalformed},
			{"something after it", append(bytes.Clone(k.sample), 0), ErrMalformed},
			{"text", []byte("\x01hello"), ErrMalformed},
			{"oversized", append([]byte{formatVersion}, make([]byte, MaxMessage)...), ErrMalformed},
		} {
			if _, err := k.again(c.data); !errors.Is(err, c.want) {
				t.Errorf("%s, %s: got %v, want %v", k.name, c.name, err, c.want)
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
	}{
		{"report", reports, func(data []byte) error { _, err := Decode[Report](data); return err }},
		{"workers", workers, func(data []byte) error { _, err := Decode[Workers](data); return err }},
		{"receipt", receipts, func(data []byte) error { _, err := Decode[Receipt](data); return err }},
		{"list that is not there", message([]byte{0xa1, 0x06, 0x9a, 0, 1, 0, 0}), func(data []byte) error {
			if _, err := Decode[Report](data); err == nil {
				return errors.New("accepted")
			}
			return nil
		}},
	} {
		if len(c.data) > MaxMessage {
			t.Fatalf("%s: the test's message is too long: %d bytes", c.name, len(c.data))
		}
		var err error
		got := fuzztest.Allocated(func() { err = c.decode(c.data) })
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
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
