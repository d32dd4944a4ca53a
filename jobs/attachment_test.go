package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

type attached struct {
	Sum   uint64 `json:"sum"`
	Inner struct {
		Table Attachment `json:"table,omitzero"`
	} `json:"inner"`
}

func attachingJob(finish func(root uint64) (attached, error)) Job {
	return MustNew(Definition[struct{}, uint64, attached]{
		Name: "attaches", Version: "1",
		Plan: func(context.Context, struct{}) (Plan, error) { return Plan{Partitions: 4}, nil },
		Open: func(context.Context, struct{}, Plan) (Mapper[uint64], error) {
			return funcMapperOf(func(p uint64) uint64 { return p }), nil
		},
		Merge:  func(left, right uint64) (uint64, error) { return left + right, nil },
		Finish: func(_ context.Context, _ struct{}, root uint64) (attached, error) { return finish(root) },
	})
}

type funcMapperOf func(partition uint64) uint64

func (f funcMapperOf) Map(_ context.Context, partition uint64) (uint64, error) {
	return f(partition), nil
}

func TestAttachment(t *testing.T) {
	job := attachingJob(func(root uint64) (r attached, err error) {
		r.Sum = root
		r.Inner.Table = NewAttachment("table.bin", []byte("123456"))
		return r, nil
	})
	if !job.Attaches() {
		t.Error("the job has no attachment")
	}
	const want = `{"sum":6,"inner":{"table":{"attachment":"table.bin","size":6,"sha256":"8d969eef6ecad3c29a3a629280e686cf0c3f5d5a86aff3ca12020c923adc6c92"}}}`
	for name, run := range map[string]func() (LocalResult, error){
		"run": func() (LocalResult, error) { return Local{}.Run(context.Background(), job, Params(`{}`)) },
		"check": func() (LocalResult, error) {
			checked, err := Check{}.Run(context.Background(), job, Params(`{}`))
			return checked.LocalResult, err
		},
	} {
		got, err := run()
		if err != nil || string(got.Result) != want || string(got.Attachment.Data()) != "123456" {
			t.Errorf("%s: got %s with %q, %v, want %s", name, got.Result, got.Attachment.Data(), err, want)
		}
	}
	found, ok := FindAttachment(json.RawMessage(want))
	if !ok || found.Name() != "table.bin" || found.Size() != 6 || found.Data() != nil {
		t.Errorf("found %+v, %v", found, ok)
	}
	var decoded attached
	if err := json.Unmarshal([]byte(want), &decoded); err != nil || decoded.Inner.Table.SHA256() != found.SHA256() {
		t.Errorf("decoded %+v, %v", decoded, err)
	}
}

func TestNoAttachment(t *testing.T) {
	job := attachingJob(func(root uint64) (attached, error) { return attached{Sum: root}, nil })
	got, err := Local{}.Run(context.Background(), job, Params(`{}`))
	if err != nil || string(got.Result) != `{"sum":6,"inner":{}}` || got.Attachment.Name() != "" {
		t.Errorf("got %s with %+v, %v", got.Result, got.Attachment, err)
	}
	for _, result := range []string{
		``, `null`, `6`, `"attachment"`, `{"attachment":"a"}`, `{"attachment":"a","size":-1,"sha256":""}`,
		`{"attachment":"a","size":1,"sha256":"00"}`, `{"attachment":`, `[{"attachment":"a"}]`,
	} {
		if a, ok := FindAttachment(json.RawMessage(result)); ok {
			t.Errorf("%s: found %+v", result, a)
		}
	}
}

func TestFinishRefusesAttachments(t *testing.T) {
	for want, a := range map[string]Attachment{
		"want a name":   NewAttachment("a/b", nil),
		"of its 3 byte": {name: "a", size: 3},
		"attachment \"": NewAttachment("", []byte("no name")),
	} {
		job := attachingJob(func(root uint64) (r attached, err error) {
			r.Inner.Table = a
			return r, nil
		})
		if _, err := (Local{}).Run(context.Background(), job, Params(`{}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", a, err, want)
		}
	}
}

type hidesAttachment struct{ Table Attachment }

func (hidesAttachment) MarshalJSON() ([]byte, error) { return []byte(`{}`), nil }

func TestNewRefusesHiddenAttachments(t *testing.T) {
	type two struct{ A, B Attachment }
	define := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	for want, err := range map[string]string{
		"several fields": define(defineResult[two]()),
		"in a slice":     define(defineResult[[]Attachment]()),
		"a map":          define(defineResult[map[string]Attachment]()),
		"a pointer":      define(defineResult[struct{ A *Attachment }]()),
	} {
		if !strings.Contains(err, want) {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	if err := defineResult[Attachment](); err != nil {
		t.Error(err)
	}
	job := MustNew(Definition[struct{}, int, hidesAttachment]{
		Name: "hides", Version: "1",
		Plan:  func(context.Context, struct{}) (Plan, error) { return Plan{Partitions: 1}, nil },
		Open:  func(context.Context, struct{}, Plan) (Mapper[int], error) { return nil, nil },
		Merge: func(left, right int) (int, error) { return left, nil },
		Finish: func(context.Context, struct{}, int) (hidesAttachment, error) {
			return hidesAttachment{NewAttachment("a", nil)}, nil
		},
	})
	if _, err := finish(context.Background(), job, Params(`{}`), must(cborCodec[int]{}.Encode(1))); err == nil || !strings.Contains(err.Error(), "does not contain it") {
		t.Errorf("got %v", err)
	}
}

func defineResult[R any]() error {
	_, err := New(Definition[struct{}, int, R]{
		Name: "results", Version: "1",
		Plan:   func(context.Context, struct{}) (Plan, error) { return Plan{Partitions: 1}, nil },
		Open:   func(context.Context, struct{}, Plan) (Mapper[int], error) { return nil, nil },
		Merge:  func(left, right int) (int, error) { return left, nil },
		Finish: func(context.Context, struct{}, int) (r R, err error) { return r, nil },
	})
	return err
}

// FuzzFindAttachment checks that an attachment that FindAttachment returned is returned again for
// the attachment's JSON.
func FuzzFindAttachment(f *testing.F) {
	f.Add([]byte(`{"a":{"attachment":"t","size":0,"sha256":"` + strings.Repeat("0", 64) + `"}}`))
	f.Add([]byte(`{"attachment":1}`))
	f.Add([]byte(`{"a":[{"attachment":"t"}]}`))
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		a, ok := FindAttachment(data)
		if !ok {
			corpus.Refused()
			return
		}
		corpus.Taken()
		text := must(json.Marshal(a))
		if again, ok := FindAttachment(text); !ok || !bytes.Equal(must(json.Marshal(again)), text) {
			t.Errorf("%q: found %s, then %+v", data, text, again)
		}
	})
}
