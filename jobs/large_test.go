package jobs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// TestVectorsAreMergedAsStreams checks that partials are merged range by range only if ranges of numbers are ranges of the
// encoding.
func TestVectorsAreMergedAsStreams(t *testing.T) {
	for _, test := range []struct {
		name   string
		codec  Codec[[]float64]
		shards Sharder[[]float64]
		want   bool
	}{
		{"vector", Vector[float64]{}, Vector[float64]{}, true},
		{"no shards", Vector[float64]{}, nil, false},
		{"other codec", nil, Vector[float64]{}, false},
		{"compressed", Zstd(Vector[float64]{}), Vector[float64]{}, false},
		{"other shards", Vector[float64]{}, backwards{}, false},
	} {
		d := shardedDefinition(growing{}, func(left, _ []float64) ([]float64, error) { return left, nil }, test.shards)
		d.Codec = test.codec
		large := MustNew(d).Engine().Large(nil)
		if got := large.Merge != nil; got != test.want || large.Finish != nil || large.Grows {
			t.Errorf("%s: %+v, want a merge: %v", test.name, large, test.want)
		}
	}
}

// TestMergeRanges merges vectors that have several ranges, and vectors of different lengths.
func TestMergeRanges(t *testing.T) {
	add := func(left, right []float64) ([]float64, error) {
		for i := range left {
			left[i] += right[i]
		}
		return left, nil
	}
	large := MustNew(shardedDefinition(growing{}, add, Vector[float64]{})).Engine().Large(nil)
	one, two := make([]float64, rangeBytes/4+1), make([]float64, rangeBytes/4+1)
	for i := range one {
		one[i], two[i] = float64(i), float64(2*i)
	}
	encode := func(numbers []float64) []byte { return must(Vector[float64]{}.Encode(numbers)) }
	want := bytes.NewReader(encode(must(add(slices.Clone(one), two))))
	var got bytes.Buffer
	err := large.Merge(t.Context(), bytes.NewReader(encode(one)), iotest.HalfReader(bytes.NewReader(encode(two))), &got)
	if err != nil || !bytes.Equal(got.Bytes(), must(io.ReadAll(want))) {
		t.Errorf("%d bytes, %v", got.Len(), err)
	}
	err = large.Merge(t.Context(), bytes.NewReader(encode(one)), bytes.NewReader(encode(two[1:])), io.Discard)
	if !IsPermanent(err) || !strings.Contains(err.Error(), "vectors of the same length") {
		t.Errorf("vectors of different lengths: %v", err)
	}
	broken := errors.New("broken")
	err = large.Merge(t.Context(), bytes.NewReader(encode(one)), iotest.ErrReader(broken), io.Discard)
	if !errors.Is(err, broken) || IsPermanent(err) {
		t.Errorf("a stream that cannot be read: %v", err)
	}
}

// lettersDefinition returns a definition whose partials are texts that are appended.
func lettersDefinition(large *Large[struct{}, string]) Definition[struct{}, []byte, string] {
	return Definition[struct{}, []byte, string]{
		Name: "letters", Version: "1", Codec: Raw{}, Large: large,
		Plan:   func(context.Context, struct{}) (Plan, error) { return Plan{Partitions: 5}, nil },
		Open:   func(context.Context, struct{}, Plan) (Mapper[[]byte], error) { return lettersMapper{}, nil },
		Merge:  func(left, right []byte) ([]byte, error) { return append(left, right...), nil },
		Finish: func(_ context.Context, _ struct{}, root []byte) (string, error) { return string(root), nil },
	}
}

type lettersMapper struct{}

func (lettersMapper) Map(_ context.Context, partition uint64) ([]byte, error) {
	return []byte{'a' + byte(partition)}, nil
}

// appendingStreams are the functions of lettersDefinition on streams.
func appendingStreams() *Large[struct{}, string] {
	return &Large[struct{}, string]{
		Has: func(struct{}) bool { return true },
		Merge: func(left, right io.Reader, merged io.Writer) error {
			_, err := io.Copy(merged, left)
			_, other := io.Copy(merged, right)
			return cmp.Or(err, other)
		},
		Finish: func(_ context.Context, _ struct{}, root *io.SectionReader) (string, error) {
			text, err := io.ReadAll(root)
			return string(text), err
		},
	}
}

// TestCheckOfLarge checks that Check compares the functions of Large with Merge and Finish.
func TestCheckOfLarge(t *testing.T) {
	for name, test := range map[string]struct {
		change func(l *Large[struct{}, string])
		want   string
	}{
		"equal": {func(*Large[struct{}, string]) {}, ""},
		"other merge": {func(l *Large[struct{}, string]) {
			l.Merge = func(left, _ io.Reader, merged io.Writer) error {
				_, err := io.Copy(merged, left)
				return err
			}
		}, causeLarge},
		"failing merge": {func(l *Large[struct{}, string]) {
			l.Merge = func(io.Reader, io.Reader, io.Writer) error { return errors.New("broken") }
		}, "as a stream: merge partials of job letters: broken"},
		"panic": {func(l *Large[struct{}, string]) {
			l.Merge = func(io.Reader, io.Reader, io.Writer) error { panic("oh") }
		}, "panic: oh"},
		"other finish": {func(l *Large[struct{}, string]) {
			l.Finish = func(context.Context, struct{}, *io.SectionReader) (string, error) { return "other", nil }
		}, causeLarge},
		"not for these parameters": {func(l *Large[struct{}, string]) {
			l.Has = func(struct{}) bool { return false }
			l.Merge, l.Finish = func(io.Reader, io.Reader, io.Writer) error { panic("called") }, func(context.Context, struct{}, *io.SectionReader) (string, error) { panic("called") }
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := appendingStreams()
			test.change(l)
			_, err := Check{Attempts: 1}.Run(t.Context(), MustNew(lettersDefinition(l)), nil)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestErrorsOfStreams checks that only errors of the definition's Merge fail the job.
func TestErrorsOfStreams(t *testing.T) {
	broken := errors.New("broken")
	failing := appendingStreams()
	failing.Merge = func(io.Reader, io.Reader, io.Writer) error { return broken }
	panicking := appendingStreams()
	panicking.Merge = func(io.Reader, io.Reader, io.Writer) error { panic(broken) }
	good := strings.NewReader("a")
	for name, test := range map[string]struct {
		large     *Large[struct{}, string]
		left      io.Reader
		merged    io.Writer
		permanent bool
	}{
		"Merge fails":             {failing, good, io.Discard, true},
		"Merge panics":            {panicking, good, io.Discard, true},
		"a stream is not read":    {appendingStreams(), iotest.ErrReader(broken), io.Discard, false},
		"a stream is not written": {appendingStreams(), strings.NewReader("a"), failingWriter{broken}, false},
	} {
		err := MustNew(lettersDefinition(test.large)).Engine().Large(nil).Merge(t.Context(), test.left, strings.NewReader("b"), test.merged)
		if err == nil || !strings.Contains(err.Error(), "merge partials of job letters: ") || IsPermanent(err) != test.permanent {
			t.Errorf("%s: %v, permanent %v, want %v", name, err, IsPermanent(err), test.permanent)
		}
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// TestIncompleteLarge checks which definitions are refused.
func TestIncompleteLarge(t *testing.T) {
	l := appendingStreams()
	l.Finish = nil
	if _, err := New(lettersDefinition(l)); err == nil || !strings.Contains(err.Error(), "want all of Has, Merge and Finish") {
		t.Errorf("without Finish: %v", err)
	}
	d := lettersDefinition(appendingStreams())
	d.Shards = rawShards{}
	if _, err := New(d); err == nil || !strings.Contains(err.Error(), "want neither Shards nor a SecondPass") {
		t.Errorf("with Shards: %v", err)
	}
}

type rawShards struct{}

func (rawShards) Split([]byte, int) [][]byte          { return nil }
func (rawShards) Join(left []byte, _ [][]byte) []byte { return left }
func (rawShards) Size([]byte) int64                   { return 0 }

// TestAttachSection checks the bytes of an attachment that is a section of a file.
func TestAttachSection(t *testing.T) {
	text := "head and body"
	section := io.NewSectionReader(strings.NewReader(text), 5, int64(len(text)-5))
	a, err := AttachSection("output", section)
	if err != nil || a.SHA256() != NewAttachment("output", []byte("and body")).SHA256() || a.complete() != nil {
		t.Fatalf("%+v, %v", a, err)
	}
	var got []string
	for piece, err := range a.Pieces(t.Context(), 3) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(piece))
	}
	if strings.Join(got, "|") != "and| bo|dy" {
		t.Errorf("pieces %q", got)
	}
	if _, err := AttachSection("output", io.NewSectionReader(failingAt{}, 0, 5)); err == nil || !strings.Contains(err.Error(), `attachment "output": broken`) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

type failingAt struct{}

func (failingAt) ReadAt([]byte, int64) (int, error) { return 0, errors.New("broken") }
